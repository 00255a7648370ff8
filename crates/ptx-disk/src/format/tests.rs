use proptest::collection::vec;
use proptest::prelude::*;

use ptx_store::Kind;

use super::Encoding;
use super::compression::Compression;
use super::dictionary::{DICTIONARY, DICTIONARY_NUMBER};
use crate::Damage;

fn levels() -> impl Strategy<Value = Compression> {
    prop_oneof![Just(Compression::Off), (-5_i32..=12).prop_map(|level| Compression::Zstd { level })]
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Ptx), Just(Kind::Cubin)]
}

proptest! {
    #[test]
    fn content_comes_back(
        unit in vec(any::<u8>(), 0..40),
        times in 0_usize..60,
        how in levels(),
        kind in kinds(),
    ) {
        let content = unit.repeat(times);
        let (encoding, stored) = how.encode(kind, &content);
        prop_assert!(stored.len() <= content.len());
        let decoded = encoding.decode(&stored, content.len() as u64);
        prop_assert_eq!(decoded, Ok(Some(content)));
    }

    #[test]
    fn arbitrary_frames_never_panic(mut bytes in vec(any::<u8>(), 0..200), length in 0_u64..1 << 20) {
        let with_dictionary = Encoding::ZstdDictionary(DICTIONARY_NUMBER.unwrap());
        let _ = Encoding::Zstd.decode(&bytes, length);
        let _ = Encoding::Lz4.decode(&bytes, length);
        bytes.splice(0..0, [0x28, 0xB5, 0x2F, 0xFD]);
        let _ = Encoding::Zstd.decode(&bytes, length);
        let _ = with_dictionary.decode(&bytes, length);
    }
}

#[test]
fn a_length_that_is_not_the_frames_is_refused_before_anything_is_allocated() {
    let content = vec![b'x'; 1000];
    for kind in [Kind::Ptx, Kind::Cubin] {
        let (encoding, stored) = Compression::default().encode(kind, &content);
        assert_ne!(encoding, Encoding::Plain);
        for lie in [0, 999, 1001, u64::MAX] {
            assert_eq!(encoding.decode(&stored, lie), Err(Damage::Decoding), "{lie}");
        }
    }
}

/// The longest that a block can stand for: the bound that is checked before is never too low.
#[test]
fn a_long_run_fits_its_block() {
    for length in [100, 1000, 1 << 20, 5 << 20] {
        let content = vec![7; length];
        let (encoding, stored) = Compression::default().encode(Kind::Cubin, &content);
        assert_eq!(encoding, Encoding::Lz4, "{length}");
        assert_eq!(encoding.decode(&stored, length as u64), Ok(Some(content)));
    }
}

#[test]
fn what_does_not_shrink_is_stored_plain() {
    let mut random = fastrand::Rng::with_seed(1);
    let content: Vec<u8> = (0..1000).map(|_| random.u8(..)).collect();
    for content in [content.as_slice(), &[]] {
        assert_eq!(Compression::default().encode(Kind::Ptx, content).0, Encoding::Plain);
    }
}

#[test]
fn text_is_stored_with_the_dictionary_and_needs_it() {
    let text = b".version 9.0\n.target sm_90a\n.address_size 64\n";
    let (encoding, stored) = Compression::default().encode(Kind::Ptx, text);
    assert_eq!(encoding, Encoding::ZstdDictionary(1_876_794_469));
    let without = zstd::bulk::compress(text, 1).unwrap();
    assert!(stored.len() < without.len(), "{} and {} bytes", stored.len(), without.len());
    let length = text.len() as u64;
    assert_eq!(Encoding::Zstd.decode(&stored, length), Err(Damage::Decoding));
    assert_eq!(Encoding::ZstdDictionary(7).decode(&stored, length), Ok(None));
}

/// Entries that are on disks need exactly these bytes.
#[test]
fn the_dictionary_has_not_changed() {
    let digest = ptx_key::Digest::of_bytes(DICTIONARY).to_string();
    assert_eq!(digest, "c103681f126280437e4a0a45860ad2380bcaa9f71d1c8d7f3c45868cf5cc0e3a");
}
