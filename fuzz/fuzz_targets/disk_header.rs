//! A header that is read is written back as the same bytes, and arbitrary bytes never panic.
//!
//! The digest would turn nearly every input away, so each is tried a second time with a digest
//! that fits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::format::{Header, LONGEST_HEADER};
use ptx_key::Digest;

fn read(bytes: &[u8]) {
    if let Ok((header, payload)) = Header::read(bytes) {
        let written = header.to_bytes().expect("what was read can be written");
        assert_eq!([written.as_slice(), payload].concat(), bytes);
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    if let Some(length) = bytes.get(12..16).and_then(|length| length.try_into().ok()) {
        let length = u32::from_le_bytes(length) as usize;
        if (48..=LONGEST_HEADER.min(bytes.len())).contains(&length) {
            let mut sealed = bytes.to_vec();
            let digest = Digest::of_bytes(&sealed[..length - 32]);
            sealed[length - 32..length].copy_from_slice(digest.as_bytes());
            read(&sealed);
        }
    }
});
