//! Arbitrary stored payloads decode to the length that was said, or not at all; what was encoded
//! decodes to the same, and with bytes changed to that length or not at all.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::format::Encoding;
use ptx_disk::{Compression, Kind};

/// The number of the dictionary that the crate ships.
const DICTIONARY: u32 = 1_876_794_469;

/// A length, bytes, a level, and changes: places and what is there instead.
type Input<'a> = (u32, &'a [u8], i8, Vec<(u16, u8)>);

fn decodes(encoding: Encoding, stored: &[u8], length: u64) {
    if let Ok(Some(content)) = encoding.decode(stored, length) {
        assert_eq!(content.len() as u64, length);
    }
}

fuzz_target!(|input: Input<'_>| {
    let (length, bytes, level, changes) = input;
    let length = u64::from(length % (1 << 20));
    let with_dictionary = Encoding::ZstdDictionary(DICTIONARY);
    for encoding in [Encoding::Plain, Encoding::Zstd, with_dictionary, Encoding::Lz4] {
        decodes(encoding, bytes, length);
    }
    // Levels above these take a context of many megabytes each.
    let compression = Compression::Zstd { level: i32::from(level % 6) };
    let content = bytes.repeat(3);
    for kind in [Kind::Ptx, Kind::Cubin] {
        let (encoding, stored) = compression.encode(kind, &content);
        let mut stored = stored.into_owned();
        let length = content.len() as u64;
        assert_eq!(encoding.decode(&stored, length), Ok(Some(content.clone())));
        for (at, to) in &changes {
            let places = stored.len().max(1);
            if let Some(byte) = stored.get_mut(usize::from(*at) % places) {
                *byte = *to;
            }
        }
        decodes(encoding, &stored, length);
        decodes(encoding, &stored, length + 1);
    }
});
