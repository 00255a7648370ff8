use super::*;

#[test]
fn every_accessor_returns_what_was_set() {
    let mut attributes = Attributes::default();
    let name = |asked: &str, emitted: &str| EntryName {
        asked: asked.to_owned(),
        emitted: emitted.to_owned(),
    };
    let names = [name("add<float>", "_Z3addIfEvv"), name("", "\0"), name("é", "x")];
    attributes.set_entry_names(&names);
    assert_eq!(attributes.entry_names().as_deref(), Some(&names[..]));
    let shape = LaunchShape { grid: [1, 2, 3], block: [u32::MAX, 5, 6] };
    attributes.set_launch_shape(shape);
    assert_eq!(attributes.launch_shape(), Some(shape));
    attributes.set_shared_bytes(49_152);
    assert_eq!(attributes.shared_bytes(), Some(49_152));
    let created = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_765_000_000_123_456_789);
    attributes.set_created(created);
    assert_eq!(attributes.created(), Some(created));
    assert_eq!(attributes.len(), 4);
    let bytes = attributes.iter().map(|(name, value)| name.len() + value.len());
    assert_eq!(attributes.bytes(), bytes.sum::<usize>() as u64);
    assert_eq!(attributes.take_created(), Some(created));
    assert_eq!((attributes.take_created(), attributes.len()), (None, 3));
}

#[test]
fn bytes_of_another_shape_are_no_value() {
    let mut attributes = Attributes::default();
    assert_eq!(attributes.entry_names(), None);
    let mut names = Attributes::default();
    names.set_entry_names(&[EntryName { asked: "a".into(), emitted: "bc".into() }]);
    let whole = names.get(ENTRY_NAMES).unwrap();
    // A cut within a name, a length, or a number; a length that no memory holds.
    for length in 1..whole.len() {
        attributes.set(ENTRY_NAMES, &whole[..length]);
        assert_eq!(attributes.entry_names(), None, "{length}");
    }
    attributes.set(ENTRY_NAMES, [0xff; 16]);
    assert_eq!(attributes.entry_names(), None);
    for (name, length) in [(LAUNCH_SHAPE, 24), (SHARED_BYTES, 4), (CREATED, 8)] {
        for wrong in [0, length - 1, length + 1] {
            attributes.set(name, vec![1; wrong]);
        }
        assert_eq!(attributes.launch_shape(), None);
        assert_eq!(attributes.shared_bytes(), None);
        assert_eq!(attributes.created(), None);
    }
    attributes.set(Attributes::LOG, [0xff]);
    assert_eq!(attributes.text(Attributes::LOG), None);
}

#[test]
fn times_that_a_u64_cannot_say_become_the_nearest() {
    let mut attributes = Attributes::default();
    attributes.set_created(SystemTime::UNIX_EPOCH - Duration::from_secs(1));
    assert_eq!(attributes.created(), Some(SystemTime::UNIX_EPOCH));
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
    attributes.set_created(far);
    let most = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::MAX);
    assert_eq!(attributes.created(), Some(most));
}
