use proptest::prelude::*;

use crate::{
    Configuration, Contract, DIGEST_BYTES, DispatchPolicy, FeatureFlags, Identity, KeyBuilder,
    KeyTrace, Lanes, ProgramDigests,
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
        features: FeatureFlags {
            named: features.iter().cloned().collect(),
            ..FeatureFlags::default()
        },
        toolchain: None,
    };
    let program = Named(program.to_owned());
    let digests = if exact {
        ProgramDigests::from(&program)
    } else {
        ProgramDigests::normalized_of(&program)
    };
    KeyBuilder::new(&configuration).unwrap().trace(digests)
}

fn any_trace() -> impl Strategy<Value = KeyTrace> {
    (".{0,8}", prop::collection::vec(".{0,6}", 0..4), any::<bool>())
        .prop_map(|(program, features, exact)| trace(&program, &features, exact))
}

proptest! {
    #[test]
    fn a_stored_trace_decodes_to_the_same(trace in any_trace()) {
        let decoded = KeyTrace::from_bytes(&trace.to_bytes()).unwrap();
        prop_assert_eq!(decoded.key(), trace.key());
        prop_assert_eq!(decoded, trace);
    }

    #[test]
    fn every_change_of_its_bytes_is_noticed(trace in any_trace(), flip in 1_u8..=255) {
        let whole = trace.to_bytes();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= flip;
            // Either the bytes are not a trace, or the trace has another key.
            for bytes in [&changed, &whole[..place]] {
                if let Ok(other) = KeyTrace::from_bytes(bytes) {
                    prop_assert_ne!(other.key(), trace.key());
                    prop_assert!(!other.differences(&trace).is_empty());
                }
            }
        }
    }

    #[test]
    fn any_bytes_decode_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let framed = [b"ptxtrac1".as_slice(), &bytes].concat();
        for bytes in [&bytes, &framed] {
            if let Ok(trace) = KeyTrace::from_bytes(bytes) {
                prop_assert_eq!(&trace.to_bytes(), bytes, "two spellings of one trace");
            }
        }
    }

    #[test]
    fn traces_differ_exactly_if_their_keys_do(left in any_trace(), right in any_trace()) {
        prop_assert_eq!(left.differences(&right).is_empty(), left.key() == right.key());
        let forward = left.differences(&right);
        let mut backward = right.differences(&left);
        for difference in &mut backward {
            std::mem::swap(&mut difference.before, &mut difference.after);
        }
        prop_assert_eq!(&forward, &backward);
        prop_assert!(forward.is_sorted_by(|a, b| a.field < b.field));
    }
}

#[test]
fn differences_print_as_added_removed_and_changed() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let left = trace("one", &names(&["a", "b"]), true);
    let right = trace("two", &names(&["b", "c"]), false);
    let said: Vec<String> = left.differences(&right).iter().map(ToString::to_string).collect();
    let expected = [
        "feature/named/a removed",
        "feature/named/c added",
        "program/exact removed",
        "program/normalized changed",
    ];
    assert_eq!(said, expected);
    assert_eq!(left.differences(&left), []);
}

#[test]
fn a_name_of_any_length_is_stored() {
    let trace = trace("x", &["n".repeat(100_000)], true);
    assert_eq!(KeyTrace::from_bytes(&trace.to_bytes()).unwrap(), trace);
}

#[test]
fn bytes_that_no_trace_encodes_to_are_refused() {
    let whole = trace("x", &[], false).to_bytes();
    let digest = [7; DIGEST_BYTES];
    let field = |name: &str| {
        [(name.len() as u64).to_le_bytes().as_slice(), name.as_bytes(), &digest].concat()
    };
    let (lanes, _) = whole.split_at(b"ptxtrac1".len() + digest.len() + 1);
    let (zz, zzz) = (field("zz"), field("zzz"));
    let read = |parts: &[&[u8]]| KeyTrace::from_bytes(&parts.concat());
    assert!(read(&[lanes, &zz, &zzz]).is_ok());
    let refused: [(&[&[u8]], &str); 8] = [
        (&[lanes, &zzz, &zz], "not in order"),
        (&[lanes, &zz, &zz], "not in order"),
        (&[lanes, &field("program/exact")], "name of a lane"),
        (&[&lanes[..lanes.len() - 1], &[2]], "neither present nor absent"),
        (&[&lanes[..lanes.len() - 1], &[1]], "cut short"),
        (&[lanes, &[0xff; 8]], "cut short"),
        (&[lanes, &1_u64.to_le_bytes(), &[0xff], &digest], "not UTF-8"),
        (&[b"ptxtrac2", &lanes[8..]], "does not start"),
    ];
    for (parts, reason) in refused {
        let error = read(parts).unwrap_err().to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
}

#[test]
fn a_damaged_trace_says_what_is_wrong_and_what_to_do() {
    let error = KeyTrace::from_bytes(b"ptxtrac0").unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("lower the program again"), "{error}");
}
