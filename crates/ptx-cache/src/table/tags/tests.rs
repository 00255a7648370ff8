use super::*;
use proptest::prelude::*;

const EMPTY: u8 = 0;

fn tag() -> impl Strategy<Value = u8> {
    prop_oneof![Just(EMPTY), Just(DEAD), 0x80_u8..=0xff]
}

proptest! {
    #[test]
    fn searches_agree_with_a_byte_by_byte_scan(
        tags in prop::array::uniform8(tag()),
        wanted in 0x80_u8..=0xff,
    ) {
        let word = u64::from_le_bytes(tags);
        let found: Vec<usize> = matches(word, wanted).collect();
        for (position, tag) in tags.iter().enumerate() {
            if *tag == wanted {
                prop_assert!(found.contains(&position));
            } else if found.contains(&position) {
                prop_assert_eq!(*tag, wanted ^ 1, "a match that was never written");
            }
        }
        let alive: Vec<usize> = (0..GROUP).filter(|i| tags[*i] >= 0x80).collect();
        prop_assert_eq!(live(word).collect::<Vec<_>>(), alive);
        prop_assert_eq!(has_empty(word), tags.contains(&EMPTY));
        prop_assert_eq!(first_empty(word), tags.iter().position(|tag| *tag == EMPTY));
    }

    #[test]
    fn with_tag_changes_one_position(
        tags in prop::array::uniform8(tag()),
        position in 0..GROUP,
        new in tag(),
    ) {
        let mut expected = tags;
        expected[position] = new;
        let word = with_tag(u64::from_le_bytes(tags), position, new);
        prop_assert_eq!(word, u64::from_le_bytes(expected));
    }
}
