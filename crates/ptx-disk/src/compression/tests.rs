use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn levels() -> impl Strategy<Value = Compression> {
    prop_oneof![Just(Compression::Off), (-5_i32..=12).prop_map(|level| Compression::Zstd { level })]
}

proptest! {
    #[test]
    fn content_comes_back(unit in vec(any::<u8>(), 0..40), times in 0_usize..60, how in levels()) {
        let content = unit.repeat(times);
        let (encoding, stored) = encode(&content, how);
        prop_assert!(stored.len() <= content.len());
        let decoded = decode(encoding, &stored, content.len() as u64);
        prop_assert_eq!(decoded, Ok(Some(Cow::Borrowed(content.as_slice()))));
    }

    #[test]
    fn arbitrary_frames_never_panic(mut bytes in vec(any::<u8>(), 0..200), length in 0_u64..1 << 20) {
        let _ = decode(Encoding::Zstd, &bytes, length);
        bytes.splice(0..0, [0x28, 0xB5, 0x2F, 0xFD]);
        let _ = decode(Encoding::Zstd, &bytes, length);
    }
}

#[test]
fn a_length_that_is_not_the_frames_is_refused_before_anything_is_allocated() {
    let content = vec![b'x'; 1000];
    let (encoding, stored) = encode(&content, Compression::default());
    assert_eq!(encoding, Encoding::Zstd);
    for lie in [0, 999, 1001, u64::MAX] {
        let decoded = decode(encoding, &stored, lie);
        assert_eq!(decoded, Err(Damage::Decoding), "{lie}");
    }
}

#[test]
fn what_does_not_shrink_is_stored_plain() {
    let mut random = fastrand::Rng::with_seed(1);
    let content: Vec<u8> = (0..1000).map(|_| random.u8(..)).collect();
    assert_eq!(encode(&content, Compression::default()).0, Encoding::Plain);
    assert_eq!(encode(&[], Compression::default()).0, Encoding::Plain);
}
