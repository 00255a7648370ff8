//! What a CUDA driver does: the trait, the real driver, and one that records.

mod build;
mod code;
#[cfg(feature = "cuda")]
mod cust;
mod interface;
mod recording;

pub use build::DriverBuild;
pub use code::{DriverCode, DriverVersion};
#[cfg(feature = "cuda")]
pub use cust::{
    Argument, CustContext, CustDriver, CustFunction, CustModule, Entered, LaunchStream,
};
pub use interface::{
    Assembled, ContextId, DeviceFacts, DevicePointer, Driver, Failure, Global, Image, Loaded,
};
pub use recording::{
    Call, Operation, RecordedContext, RecordedFunction, RecordedModule, RecordingDriver,
};
