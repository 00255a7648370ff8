use std::cell::Cell;
use std::collections::BTreeSet;

use crate::encoding::Domain;
use crate::{Digest, Encoder, Identity, Lanes, ProgramDigests};

struct Written<F>(F);

impl<F: Fn(&mut Lanes)> Identity for Written<F> {
    fn identify(&self, lanes: &mut Lanes) {
        self.0(lanes);
    }
}

fn digests(write: impl Fn(&mut Lanes)) -> ProgramDigests {
    ProgramDigests::of(&Written(write))
}

#[test]
fn each_method_writes_its_token_into_both_lanes() {
    let digest = Digest::from_bytes([7; 32]);
    let written = digests(|lanes| {
        lanes.bool(true);
        lanes.u64(1);
        lanes.i64(-1);
        lanes.f64(0.5);
        lanes.str("é");
        lanes.bytes(b"\0");
        lanes.digest(&digest);
        lanes.absent();
        lanes.record("r", |lanes| lanes.u64(2));
    });
    let lane = |domain| {
        let mut lane = Encoder::new(domain);
        lane.bool(true);
        lane.u64(1);
        lane.i64(-1);
        lane.f64(0.5);
        lane.str("é");
        lane.bytes(b"\0");
        lane.digest(&digest);
        lane.absent();
        lane.record("r", |lane| lane.u64(2));
        lane.finish()
    };
    assert_eq!(written.normalized, lane(Domain::NormalizedLane));
    assert_eq!(written.exact, Some(lane(Domain::ExactLane)));
}

#[test]
fn what_is_exact_only_stands_at_its_place_in_the_exact_lane_alone() {
    let plain = digests(|lanes| lanes.u64(1));
    let first = digests(|lanes| {
        lanes.exact_only(|exact| exact.u64(1));
        lanes.u64(1);
    });
    let between = digests(|lanes| {
        lanes.record("r", |lanes| lanes.exact_only(|exact| exact.u64(1)));
    });
    let behind = digests(|lanes| {
        lanes.record("r", |_| ());
        lanes.exact_only(|exact| exact.u64(1));
    });
    assert_eq!(plain.normalized, first.normalized);
    assert_eq!(between.normalized, behind.normalized);
    let exact: BTreeSet<_> = [plain, first, between, behind].map(|it| it.exact.unwrap()).into();
    assert_eq!(exact.len(), 4);
}

#[test]
fn the_normalized_lane_alone_is_the_same_and_asks_for_no_more() {
    let asked = Cell::new(0);
    let program = Written(|lanes: &mut Lanes| {
        lanes.str("program");
        lanes.exact_only(|exact| {
            asked.set(asked.get() + 1);
            exact.absent();
        });
    });
    let alone = ProgramDigests::normalized_of(&program);
    assert_eq!((alone.exact, asked.get()), (None, 0));
    let both = ProgramDigests::of(&program);
    assert_eq!((both.normalized, asked.get()), (alone.normalized, 1));
}

#[test]
fn a_program_may_be_behind_a_trait_object() {
    let program: &dyn Identity = &Written(|lanes: &mut Lanes| lanes.u64(1));
    assert_eq!(ProgramDigests::of(program), digests(|lanes| lanes.u64(1)));
}
