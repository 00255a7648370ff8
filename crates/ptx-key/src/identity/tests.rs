use std::cell::Cell;
use std::collections::BTreeSet;

use crate::encoding::{Domain, hash};
use crate::{Digest, Identity, Lanes, ProgramDigests};

struct Written<F>(F);

impl<F: Fn(&mut Lanes)> Identity for Written<F> {
    fn identify(&self, lanes: &mut Lanes) {
        self.0(lanes);
    }
}

fn digests(write: impl Fn(&mut Lanes)) -> ProgramDigests {
    ProgramDigests::from(&Written(write))
}

#[test]
fn each_method_writes_its_token_to_both_lanes() {
    let digest = Digest::from_bytes([7; 32]);
    let write = |lanes: &mut Lanes| {
        lanes.bool(true);
        lanes.u64(1);
        lanes.i64(-1);
        lanes.f64(0.5);
        lanes.str("é");
        lanes.bytes(b"\0");
        lanes.digest(&digest);
        lanes.absent();
        lanes.record("r", |lanes| lanes.u64(2));
    };
    let both = digests(write);
    assert_eq!(both.normalized, hash(Domain::NormalizedLane, write));
    assert_eq!(both.exact, Some(hash(Domain::ExactLane, write)));
    // The same walk inside `exact_only` leaves the normalized lane empty.
    let exact_only = digests(|lanes| lanes.exact_only(write));
    assert_eq!(exact_only.normalized, hash(Domain::NormalizedLane, |_| ()));
    assert_eq!(exact_only.exact, both.exact);
}

#[test]
fn exact_only_tokens_keep_their_position_in_the_exact_lane_alone() {
    let plain = digests(|lanes| lanes.u64(1));
    let first = digests(|lanes| {
        lanes.exact_only(|exact| exact.u64(1));
        lanes.u64(1);
    });
    let between = digests(|lanes| {
        lanes.record("r", |lanes| lanes.exact_only(|exact| exact.u64(1)));
    });
    let after = digests(|lanes| {
        lanes.record("r", |_| ());
        lanes.exact_only(|exact| exact.u64(1));
    });
    assert_eq!(plain.normalized, first.normalized);
    assert_eq!(between.normalized, after.normalized);
    let exact: BTreeSet<_> = [plain, first, between, after].map(|it| it.exact.unwrap()).into();
    assert_eq!(exact.len(), 4);
}

#[test]
fn exact_only_nests_and_ends_with_the_outermost() {
    let nested = digests(|lanes| {
        lanes.exact_only(|exact| {
            exact.exact_only(|exact| exact.u64(1));
            exact.u64(2);
        });
        lanes.u64(3);
    });
    assert_eq!(nested.normalized, digests(|lanes| lanes.u64(3)).normalized);
    let flat = digests(|lanes| [1, 2, 3].into_iter().for_each(|value| lanes.u64(value)));
    assert_eq!(nested.exact, flat.exact);
}

#[test]
fn the_normalized_lane_alone_is_the_same_and_skips_exact_only_content() {
    let calls = Cell::new(0);
    let program = Written(|lanes: &mut Lanes| {
        lanes.str("program");
        lanes.exact_only(|exact| {
            calls.set(calls.get() + 1);
            exact.absent();
        });
    });
    let alone = ProgramDigests::normalized_of(&program);
    assert_eq!((alone.exact, calls.get()), (None, 0));
    let both = ProgramDigests::from(&program);
    assert_eq!((both.normalized, calls.get()), (alone.normalized, 1));
}

#[test]
fn a_program_may_be_a_trait_object() {
    let program: &dyn Identity = &Written(|lanes: &mut Lanes| lanes.u64(1));
    assert_eq!(ProgramDigests::from(program), digests(|lanes| lanes.u64(1)));
}
