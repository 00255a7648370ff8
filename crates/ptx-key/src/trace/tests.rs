use proptest::prelude::*;

use crate::{
    Configuration, Contract, DispatchPolicy, FeatureFlags, Identity, KeyBuilder, KeyTrace, Lanes,
    ProgramDigests,
};

struct Named(String);

impl Identity for Named {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str(&self.0);
    }
}

fn trace(program: &str, features: &[String], exact: bool) -> KeyTrace {
    let configuration = Configuration {
        contract: Contract::new("back-end", 1),
        target: "sm_90".parse().unwrap(),
        isa: "8.0".parse().unwrap(),
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: features.iter().fold(FeatureFlags::new(), |all, name| all.with_named(name)),
        toolchain: None,
    };
    let program = Named(program.to_owned());
    let digests =
        if exact { ProgramDigests::of(&program) } else { ProgramDigests::normalized_of(&program) };
    KeyBuilder::new(&configuration).unwrap().trace_of(digests)
}

fn any_trace() -> impl Strategy<Value = KeyTrace> {
    (".{0,8}", prop::collection::vec(".{0,6}", 0..4), any::<bool>())
        .prop_map(|(program, features, exact)| trace(&program, &features, exact))
}

proptest! {
    #[test]
    fn a_stored_trace_reads_back(trace in any_trace()) {
        let read = KeyTrace::from_bytes(&trace.to_bytes()).unwrap();
        prop_assert_eq!(read.key(), trace.key());
        prop_assert_eq!(read, trace);
    }

    #[test]
    fn no_change_of_its_bytes_goes_unnoticed(
        trace in any_trace(),
        place in any::<prop::sample::Index>(),
        flip in 1_u8..=255,
    ) {
        let mut bytes = trace.to_bytes();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        // Either it is no trace any more, or it is one of another key.
        if let Ok(read) = KeyTrace::from_bytes(&bytes) {
            prop_assert_ne!(read.key(), trace.key());
        }
        bytes.truncate(place);
        if let Ok(read) = KeyTrace::from_bytes(&bytes) {
            prop_assert_ne!(read.key(), trace.key());
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let framed = [b"ptxtrac1".as_slice(), &bytes].concat();
        for bytes in [&bytes, &framed] {
            if let Ok(trace) = KeyTrace::from_bytes(bytes) {
                prop_assert_eq!(&trace.to_bytes(), bytes, "two spellings of one trace");
            }
        }
    }

    #[test]
    fn traces_differ_just_where_keys_do(left in any_trace(), right in any_trace()) {
        prop_assert_eq!(left.differences(&right).is_empty(), left.key() == right.key());
        prop_assert_eq!(left.differences(&right).len(), right.differences(&left).len());
    }
}

#[test]
fn a_damaged_trace_says_what_is_wrong_and_what_to_do() {
    let error = KeyTrace::from_bytes(b"ptxtrac0").unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("made anew"), "{error}");
}
