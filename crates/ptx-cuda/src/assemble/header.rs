//! What the first lines of a PTX text say.

use ptx_key::{ComputeCapability, PtxIsa, Target, Variant};

/// What the first lines of a PTX text say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PtxHeader {
    /// The version of the PTX instruction set that the text uses.
    pub isa: PtxIsa,
    /// The line of `.version`, counted from 1.
    pub isa_line: u32,
    /// The architecture that the text was lowered for. [Others](PtxHeader::runs_on) may run it too.
    pub target: Target,
    /// The line of `.target`, counted from 1.
    pub target_line: u32,
    /// The bits of an address, where the text says.
    pub address_size: Option<u32>,
}

impl PtxHeader {
    /// Returns true if a device of this compute capability runs code for [`target`](Self::target).
    ///
    /// PTX for `sm_80` runs on it and on all later devices, for `sm_90a` on 9.0 alone, and for
    /// `sm_100f` on the later devices of the same major number (PTX ISA, `.target`).
    pub fn runs_on(&self, device: ComputeCapability) -> bool {
        let number = u32::from(self.target.number);
        let (major, minor) = (u32::from(device.major), u32::from(device.minor));
        let device = major * 10 + minor;
        match self.target.variant {
            Variant::Base => number <= device,
            Variant::ArchSpecific => number == device,
            Variant::FamilySpecific => number <= device && number / 10 == major,
        }
    }
}
