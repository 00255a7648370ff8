//! An index that is read is written back as the same bytes, and arbitrary bytes never panic.
//!
//! Magic, counts and digest would turn nearly every input away, so each is tried a second time as
//! the name and the lines between them. The first byte says where the input is parted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_disk::Index;
use ptx_key::Digest;

const LINE: usize = 48;

/// Whether it was read.
fn read(head: &[u8], tail: &[u8]) -> bool {
    let Some(index) = Index::read(head, tail) else { return false };
    let (written_head, written_tail) = index.to_bytes().expect("what was read can be written");
    assert!(head.starts_with(&written_head));
    assert_eq!(written_tail, tail);
    true
}

fn length(line: &[u8]) -> u64 {
    u64::from_le_bytes(line[32..40].try_into().expect("a line has 48 bytes"))
}

fuzz_target!(|input: &[u8]| {
    let Some((at, bytes)) = input.split_first() else { return };
    let (name, lines) = bytes.split_at(usize::from(*at).min(bytes.len()));
    read(name, lines);
    let mut lines: Vec<[u8; LINE]> = lines.as_chunks().0.to_vec();
    for line in &mut lines {
        line[40] = line[40] % 2 + 1;
        line[41..].fill(0);
    }
    let in_order = lines.is_sorted_by(|a, b| (&a[..32], a[40]) < (&b[..32], b[40]));
    let first = (32 + name.len()) as u64;
    let behind = lines.iter().try_fold(first, |sum, line| sum.checked_add(length(line)));
    let mut head = b"\x89PTB\r\n\x1a\n\x01\0".to_vec();
    head.extend(u16::try_from(name.len()).expect("a byte says where it ends").to_le_bytes());
    head.extend([0; 4]);
    head.extend((lines.len() as u64).to_le_bytes());
    head.extend(behind.unwrap_or(u64::MAX).to_le_bytes());
    head.extend(name);
    let mut tail = lines.concat();
    let digest = Digest::of_bytes(&[head.as_slice(), &tail].concat());
    tail.extend(digest.as_bytes());
    // What the specification allows is read, and nothing else.
    let allowed = in_order && behind.is_some() && str::from_utf8(name).is_ok();
    assert_eq!(read(&head, &tail), allowed);
});
