//! Does emitted text compute the right values? Without a GPU: a small machine runs the PTX.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "64-bit registers hold narrower values, and PTX converts as Rust does"
)]
#![allow(clippy::float_cmp, reason = "PTX compares so")]

#[cfg(feature = "arbitrary")]
mod generated;
mod integers;
#[cfg(feature = "arbitrary")]
mod interpret;
mod machine;
mod memory;
mod operation;
mod persistence;
mod precision;
mod program;
mod reference_kernels;

use std::collections::HashMap;

use ptx_ir::reference::Work;
use ptx_ir::{CONTRACT_VERSION, Interface, Kernel, Parameter, lower};
use ptx_key::{Configuration, Contract, DispatchPolicy, Feature, FeatureFlags};

use crate::machine::{Machine, Order};
use crate::memory::GlobalMemory;
use crate::program::Program;

fn configuration(features: &[Feature]) -> Configuration {
    Configuration {
        contract: Contract::new("ptx-ir", CONTRACT_VERSION),
        target: "sm_90".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of(features.iter().copied()),
        toolchain: None,
    }
}

/// The number of elements of a buffer, and its bytes.
type Content = (u32, Vec<u8>);

/// A launch of a kernel that was lowered under `configuration`.
struct Launch<'k> {
    kernel: &'k Kernel,
    configuration: &'k Configuration,
    work: Work,
    /// The number of workgroups if they are persistent.
    persistent: u32,
    order: Order,
}

impl Launch<'_> {
    /// Returns what the buffers hold after the launch, in the order of slots.
    fn run(&self, before: &[Content]) -> Vec<Vec<u8>> {
        let interface = Interface::of(self.kernel, self.configuration).unwrap();
        let program = Program::parse(&lower(self.kernel, self.configuration).unwrap());
        assert_eq!(program.threads, interface.workgroup);
        let [x, y] = self.work.workgroups(&interface);
        let (mut buffers, mut lengths) = (0.., before.iter().map(|(length, _)| *length));
        let value = |parameter: &Parameter| match parameter {
            Parameter::Address(_) => GlobalMemory::address(buffers.next().unwrap()),
            Parameter::Length(_) => lengths.next().unwrap().into(),
            Parameter::WorkgroupsX => x.into(),
            Parameter::WorkgroupsY => y.into(),
        };
        let values: Vec<u64> = interface.parameters.iter().map(value).collect();
        assert_eq!(values.len(), program.parameters.len());
        let parameters: HashMap<_, _> = program.parameters.iter().cloned().zip(values).collect();
        let buffers = before.iter().map(|(_, bytes)| bytes.clone()).collect();
        let mut machine = Machine::new(&program, &parameters, GlobalMemory { buffers });
        let grid = if interface.persistent { [self.persistent, 1, 1] } else { [x, y, 1] };
        machine.launch(grid, self.order);
        machine.global.buffers
    }
}
