use std::hash::{BuildHasher, Hash, Hasher};

use proptest::prelude::*;

use crate::{Digest, KeyError, KeyHasher, ModuleKey, PtxKey};

/// Records what a `Hash` implementation writes.
#[derive(Default)]
struct Recorder(Vec<u64>);

impl Hasher for Recorder {
    fn write(&mut self, _: &[u8]) {
        panic!("a key writes one u64 and nothing else");
    }

    fn write_u64(&mut self, value: u64) {
        self.0.push(value);
    }

    fn finish(&self) -> u64 {
        0
    }
}

proptest! {
    #[test]
    fn digits_parse_to_the_same_key(bytes in any::<[u8; 32]>()) {
        let key = PtxKey::from_bytes(bytes);
        let digits = key.to_string();
        prop_assert_eq!(digits.len(), 64);
        prop_assert_eq!(digits.parse::<PtxKey>().unwrap(), key);
        prop_assert_eq!(digits.to_uppercase().parse::<PtxKey>().unwrap(), key);
        prop_assert_eq!(format!("{key:.12}"), &digits[..12]);
        let module: ModuleKey = digits.parse().unwrap();
        prop_assert_eq!(module.as_bytes(), &bytes);
    }

    #[test]
    fn keys_sort_by_their_bytes_and_hash_to_the_first_eight(
        left in any::<[u8; 32]>(),
        right in any::<[u8; 32]>(),
    ) {
        let (one, two) = (PtxKey::from_bytes(left), PtxKey::from_bytes(right));
        prop_assert_eq!(one.cmp(&two), left.cmp(&right));
        let mut recorder = Recorder::default();
        one.hash(&mut recorder);
        prop_assert_eq!(recorder.0, [one.prefix()]);
        prop_assert_eq!(KeyHasher::default().hash_one(one), one.prefix());
        prop_assert_eq!(&one.prefix().to_le_bytes()[..], &left[..8]);
    }

    #[test]
    fn other_texts_are_refused(text in ".{0,100}") {
        prop_assume!(text.len() != 64 || !text.bytes().all(|it| it.is_ascii_hexdigit()));
        let error = text.parse::<PtxKey>().unwrap_err();
        let is_not_hex = matches!(error, KeyError::NotHex { .. });
        prop_assert!(is_not_hex);
    }
}

#[test]
fn debug_output_is_short() {
    let debug = format!("{:?}", Digest::from_bytes([0xab; 32]));
    assert_eq!(debug, "Digest(abababababab…)");
}
