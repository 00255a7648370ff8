use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;

fn any_index() -> impl Strategy<Value = Index> {
    let entries = btree_map((any::<[u8; 2]>(), any::<bool>()), 0_u64..1 << 40, 0..30);
    ("[ -~é]{0,40}", entries).prop_map(|(name, entries)| Index {
        name,
        entries: entries
            .into_iter()
            .map(|((prefix, cubin), length)| {
                let mut bytes = [7; 32];
                bytes[..2].copy_from_slice(&prefix);
                let kind = if cubin { Kind::Cubin } else { Kind::Ptx };
                (EntryKey::from_bytes(kind, bytes), length)
            })
            .collect(),
    })
}

proptest! {
    #[test]
    fn an_index_reads_back_as_it_was_written(index in any_index(), behind in vec(any::<u8>(), 0..20)) {
        let (mut head, tail) = index.to_bytes().unwrap();
        head.extend(behind);
        prop_assert_eq!(Index::read(&head, &tail), Some(index));
    }

    #[test]
    fn any_other_spelling_is_refused(index in any_index(), at in any::<usize>(), flip in 1_u8..) {
        let (head, tail) = index.to_bytes().unwrap();
        let at = at % (head.len() + tail.len());
        let mut both = [head.clone(), tail].concat();
        both[at] ^= flip;
        let (head, tail) = both.split_at(head.len());
        prop_assert_eq!(Index::read(head, tail), None);
    }

    #[test]
    fn arbitrary_bytes_never_panic(head in vec(any::<u8>(), 0..80), tail in vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(Index::read(&head, &tail), None);
    }
}

#[test]
fn what_the_format_cannot_say_is_not_written() {
    let key = |byte| EntryKey::from_bytes(Kind::Ptx, [byte; 32]);
    let written = |name: &str, entries: &[(EntryKey, u64)]| {
        Index { name: name.to_owned(), entries: entries.to_vec() }.to_bytes().is_some()
    };
    assert!(written("", &[]));
    assert!(!written(&"n".repeat(256), &[]));
    assert!(!written("", &[(key(2), 1), (key(1), 1)]), "out of order");
    assert!(!written("", &[(key(1), 1), (key(1), 1)]), "twice");
    assert!(!written("", &[(key(1), u64::MAX), (key(2), 1)]), "longer than any file");
    let both = EntryKey::from_bytes(Kind::Cubin, [1; 32]);
    assert!(written("", &[(key(1), 1), (both, 1)]), "one key of each kind");
}
