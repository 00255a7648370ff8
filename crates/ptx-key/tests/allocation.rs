//! Computing a key allocates nothing, for a program of any size.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::hint::black_box;

use ptx_key::{Configuration, Contract, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, Lanes};

/// A program of about `bytes` bytes, with every kind of token but digests.
struct Program {
    bytes: usize,
}

impl Identity for Program {
    fn identify(&self, lanes: &mut Lanes) {
        // Each statement writes 100 bytes or a little more.
        for number in 0..(self.bytes / 100) as u64 {
            lanes.record("statement", |lanes| {
                lanes.u64(number);
                lanes.i64(-1);
                lanes.f64(0.5);
                lanes.bool(true);
                lanes.absent();
                lanes.str("a text");
                lanes.bytes(b"bytes of some length");
                lanes.exact_only(|exact| exact.u64(number));
            });
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
        features: FeatureFlags::default(),
        toolchain: None,
    };
    let keys = KeyBuilder::new(&configuration).unwrap();
    let counting = allocation_counter::measure(|| drop(black_box(vec![0_u8; 64])));
    assert_eq!(counting.bytes_total, 64, "the counter does not count");
    // The first use detects the features of the processor.
    keys.key(&Program { bytes: 1_000 });
    for bytes in [1_000, 10_000_000] {
        let counted = allocation_counter::measure(|| {
            black_box(keys.key(&Program { bytes }));
        });
        assert_eq!(counted.bytes_total, 0, "for a program of {bytes} bytes");
    }
}
