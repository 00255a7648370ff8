//! A key is made without an allocation, however large the program.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use ptx_key::{Configuration, Contract, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, Lanes};

struct Long(usize);

impl Identity for Long {
    fn identify(&self, lanes: &mut Lanes) {
        for number in 0..self.0 as u64 {
            lanes.record("statement", |lanes| lanes.u64(number));
        }
    }
}

#[test]
fn a_key_allocates_nothing() {
    let configuration = Configuration {
        contract: Contract::new("back-end", 1),
        target: "sm_90".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::new(),
        toolchain: None,
    };
    let keys = KeyBuilder::new(&configuration).unwrap();
    // The first use finds out what the processor can do.
    keys.key(&Long(1));
    for statements in [30, 300_000] {
        let counted = allocation_counter::measure(|| {
            keys.key(&Long(statements));
        });
        assert_eq!(counted.count_total, 0, "for {statements} statements");
    }
}
