//! An index that is read is written back as the same bytes, and arbitrary bytes never panic.
//!
//! The first byte says where the input is parted into what stands before the entries and what
//! stands behind them. Each input is tried a second time with a digest that fits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::Index;
use ptx_key::Digest;

fn read(head: &[u8], tail: &[u8]) {
    if let Some(index) = Index::read(head, tail) {
        let (written_head, written_tail) = index.to_bytes().expect("what was read can be written");
        assert!(head.starts_with(&written_head));
        assert_eq!(written_tail, tail);
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((at, bytes)) = input.split_first() else { return };
    let (head, tail) = bytes.split_at(usize::from(*at).min(bytes.len()));
    read(head, tail);
    if let Some(end) = tail.len().checked_sub(32) {
        let digest = Digest::of_bytes(&[head, &tail[..end]].concat());
        read(head, &[&tail[..end], digest.as_bytes()].concat());
    }
});
