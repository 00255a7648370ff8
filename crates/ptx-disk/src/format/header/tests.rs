use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn header() -> Header {
    let mut attributes = Attributes::default();
    attributes.set(Attributes::KERNEL, "saxpy");
    attributes.set(Attributes::TARGET, "sm_90a");
    Header {
        key: EntryKey::from_bytes(Kind::Ptx, [7; 32]),
        encoding: Encoding::Plain,
        stored_digest: Digest::of_bytes(b"payload"),
        content_digest: Digest::of_bytes(b"payload"),
        stored_bytes: 7,
        content_bytes: 7,
        cost_nanos: 12_000_000,
        created_nanos: 1_700_000_000_000_000_000,
        level: -5,
        producer: "a back end 1.4".to_owned(),
        attributes,
    }
}

/// Lets a changed header pass its digest again, to reach the checks behind.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - DIGEST_BYTES;
    let digest = Digest::of_bytes(&bytes[..end]);
    bytes[end..].copy_from_slice(digest.as_bytes());
    bytes
}

fn any_header() -> impl Strategy<Value = Header> {
    let encoding = prop_oneof![
        Just(Encoding::Plain),
        Just(Encoding::Zstd),
        Just(Encoding::Lz4),
        any::<u32>().prop_map(Encoding::ZstdDictionary)
    ];
    let kind = prop_oneof![Just(Kind::Ptx), Just(Kind::Cubin)];
    let attributes = btree_map("[a-zé/]{1,20}", vec(any::<u8>(), 0..200), 0..8);
    let numbers = (0..=LONGEST_PAYLOAD, 0..=LONGEST_PAYLOAD, any::<[u64; 2]>(), any::<i32>());
    let digests = any::<[[u8; 32]; 3]>();
    (kind, encoding, digests, numbers, "[ -~é]{0,60}", attributes).prop_map(
        |(kind, encoding, digests, numbers, producer, named)| {
            let mut attributes = Attributes::default();
            for (name, value) in named {
                attributes.set(name, value);
            }
            Header {
                key: EntryKey::from_bytes(kind, digests[0]),
                encoding,
                stored_digest: Digest::from_bytes(digests[1]),
                content_digest: Digest::from_bytes(digests[2]),
                stored_bytes: numbers.0,
                content_bytes: numbers.1,
                cost_nanos: numbers.2[0],
                created_nanos: numbers.2[1],
                level: numbers.3,
                producer,
                attributes,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_header_reads_back_as_it_was_written(header in any_header(), payload in vec(any::<u8>(), 0..50)) {
        let mut bytes = header.to_bytes().unwrap();
        bytes.extend(&payload);
        prop_assert_eq!(Header::read(&bytes), Ok((header, payload.as_slice())));
    }

    #[test]
    fn nothing_that_is_read_has_a_second_spelling(header in any_header(), at in any::<usize>(), to in any::<u8>()) {
        let mut bytes = header.to_bytes().unwrap();
        let at = at % (bytes.len() - DIGEST_BYTES);
        bytes[at] = to;
        let bytes = sealed(bytes);
        if let Ok((read, [])) = Header::read(&bytes) {
            prop_assert_eq!(read.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..400), with_magic: bool) {
        let mut bytes = bytes;
        if with_magic && bytes.len() > 8 {
            bytes[..8].copy_from_slice(&MAGIC);
        }
        prop_assert!(Header::read(&bytes).is_err());
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let bytes = header().to_bytes().unwrap();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(Header::read(&flipped), Err(Unreadable::Damaged(_))), "bit {bit}");
    }
    for length in 0..bytes.len() {
        assert_eq!(Header::read(&bytes[..length]), Err(Damage::CutShort.into()));
    }
}

#[test]
fn what_only_a_newer_release_knows_is_newer_and_not_damaged() {
    let bytes = header().to_bytes().unwrap();
    for (at, value) in [(8, 2), (9, 1), (10, 3), (11, 4)] {
        let mut newer = bytes.clone();
        newer[at] = value;
        assert_eq!(Header::read(&sealed(newer)), Err(Unreadable::Newer), "byte {at}");
    }
    // A newer header may be as short as its envelope.
    let mut short = bytes[..16].to_vec();
    short[8] = 9;
    short[12..16].copy_from_slice(&48_u32.to_le_bytes());
    short.extend([0; 32]);
    assert_eq!(Header::read(&sealed(short)), Err(Unreadable::Newer));
}

#[test]
fn a_sealed_header_that_contradicts_itself_is_damaged() {
    let bytes = header().to_bytes().unwrap();
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        assert_eq!(Header::read(&sealed(changed)), Err(Damage::Header.into()));
    };
    damaged(&|bytes| bytes[144] = 1); // a dictionary for a plain payload
    damaged(&|bytes| bytes[119] = 1); // more stored bytes than any payload has
    damaged(&|bytes| bytes[127] = 1); // the same for the content
    damaged(&|bytes| bytes[152] = 200); // a producer that reaches over the attributes
    damaged(&|bytes| bytes[154] = 1); // fewer attributes than there are
    damaged(&|bytes| bytes[154] = 3); // more
    damaged(&|bytes| bytes[155] = 0xff); // far more
    damaged(&|bytes| bytes[156] = 0xff); // a producer that is not UTF-8
    damaged(&|bytes| bytes[176] = b'z'); // attributes out of order
    damaged(&|bytes| bytes[193..199].copy_from_slice(b"kernel")); // a name twice
}

#[test]
fn what_does_not_fit_is_not_written() {
    let mut header = header();
    header.producer = "é".repeat(200);
    let (read, _) = Header::read(&header.to_bytes().unwrap()).unwrap();
    assert_eq!(read.producer, "é".repeat(127), "cut at a character");

    let with = |name: &str, value: Vec<u8>| {
        let mut header = header.clone();
        header.attributes.set(name, value);
        header.to_bytes()
    };
    assert!(with("name", vec![0; 1000]).is_some());
    assert!(with("name", vec![0; LONGEST_HEADER]).is_none());
    assert!(with("", vec![]).is_none());
    assert!(with(&"n".repeat(256), vec![]).is_none());
    (0..=MOST_ATTRIBUTES).for_each(|n| header.attributes.set(format!("{n}"), vec![]));
    assert!(header.to_bytes().is_none());
}

/// The drawing in `FORMAT.md`, byte for byte.
#[test]
fn the_fields_stand_where_the_specification_says() {
    let bytes = header().to_bytes().unwrap();
    assert_eq!(&bytes[..8], b"\x89PTX\r\n\x1a\n");
    assert_eq!(bytes[8..12], [1, 0, 1, 0]);
    assert_eq!(bytes[12..16], u32::try_from(bytes.len()).unwrap().to_le_bytes());
    assert_eq!(bytes[16..48], [7; 32]);
    assert_eq!(&bytes[48..80], Digest::of_bytes(b"payload").as_bytes());
    assert_eq!(&bytes[80..112], Digest::of_bytes(b"payload").as_bytes());
    assert_eq!(bytes[112..120], 7_u64.to_le_bytes());
    assert_eq!(bytes[120..128], 7_u64.to_le_bytes());
    assert_eq!(bytes[128..136], 12_000_000_u64.to_le_bytes());
    assert_eq!(bytes[136..144], 1_700_000_000_000_000_000_u64.to_le_bytes());
    assert_eq!(bytes[144..156], [0, 0, 0, 0, 0xFB, 0xFF, 0xFF, 0xFF, 14, 0, 2, 0]);
    assert_eq!(&bytes[156..170], b"a back end 1.4");
    assert_eq!(&bytes[170..187], b"\x06\0\x05\0\0\0kernelsaxpy");
    assert_eq!(&bytes[187..205], b"\x06\0\x06\0\0\0targetsm_90a");
    assert_eq!(bytes.len(), 205 + 32);
}
