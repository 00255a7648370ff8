//! A header that is read is written back as the same bytes, and arbitrary bytes never panic.
//!
//! Magic, version, length and digest would turn nearly every input away, so each is tried a second
//! time as what stands between them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::format::{FORMAT_VERSION, Header, LONGEST_HEADER, MAGIC};
use ptx_key::Digest;

fn read(bytes: &[u8]) {
    if let Ok((header, payload)) = Header::read(bytes) {
        let written = header.to_bytes().expect("what was read can be written");
        assert_eq!([written.as_slice(), payload].concat(), bytes);
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let Some(([kind, encoding], fields)) = bytes.split_first_chunk() else { return };
    let length = 16 + fields.len() + 32;
    if length > LONGEST_HEADER {
        return;
    }
    let mut sealed = MAGIC.to_vec();
    sealed.extend(FORMAT_VERSION.to_le_bytes());
    // Small ones, of which some are known.
    sealed.extend([kind % 4, encoding % 4]);
    sealed.extend(u32::try_from(length).expect("it is a megabyte at most").to_le_bytes());
    sealed.extend(fields);
    let digest = Digest::of_bytes(&sealed);
    sealed.extend(digest.as_bytes());
    read(&sealed);
});
