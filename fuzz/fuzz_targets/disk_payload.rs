//! Arbitrary stored payloads decode to the length that was said, or not at all.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::format::Encoding;

/// The number of the dictionary that the crate ships.
const DICTIONARY: u32 = 1_876_794_469;

fuzz_target!(|input: (u32, &[u8])| {
    let (length, stored) = input;
    let length = u64::from(length % (1 << 20));
    for encoding in [Encoding::Plain, Encoding::Zstd, Encoding::ZstdDictionary(DICTIONARY)] {
        if let Ok(Some(content)) = encoding.decode(stored, length) {
            assert_eq!(content.len() as u64, length);
        }
    }
});
