//! Bundles, layers, and what looks at every entry.

use std::fs;
use std::path::Path;

use ptx_disk::{
    Artifact, Attributes, Bundle, Compression, Config, DiskError, DiskStore, Mode, Size,
};
use ptx_key::ModuleKey;

use crate::fixture::{Details as _, Write, config, entry, key, loaded, path_of, store, text};

fn filled(root: &Path, numbers: impl Iterator<Item = u32>) -> DiskStore {
    let store = DiskStore::open(config(root).0).unwrap();
    for number in numbers {
        let mut entry = entry(number);
        entry.attributes.set_created(std::time::SystemTime::UNIX_EPOCH);
        let _ = store.write(&key(number), &entry);
    }
    store
}

fn with_layers(root: &Path, layers: &[&Path]) -> (DiskStore, Vec<String>) {
    let (config, warnings) = config(root);
    let layers = layers.iter().map(|layer| (*layer).to_owned()).collect();
    let store = DiskStore::open(Config { layers, ..config }).unwrap();
    let warnings = warnings.lock().unwrap().clone();
    (store, warnings)
}

#[test]
fn a_bundle_is_read_in_place_and_holds_what_was_exported() {
    let directory = tempfile::tempdir().unwrap();
    let store = filled(&directory.path().join("store"), 0..20);
    let module = ModuleKey::from_bytes([9; 32]);
    let _ = store.write(&module, &Artifact::new(&b"\x7fELF"[..]));
    let path = directory.path().join("bundle");
    assert_eq!(store.export(&path, "shipped", |_| true).unwrap(), 21);
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!((bundle.name(), bundle.keys().len()), ("shipped", 21));
    for number in 0..20 {
        let found = bundle.load(&key(number)).unwrap().unwrap();
        assert_eq!(*found.payload, *text(number));
    }
    assert_eq!(*bundle.load(&module).unwrap().unwrap().payload, *b"\x7fELF");
    assert!(matches!(bundle.load(&key(20)), Ok(None)));
    assert_eq!(store.export(&path, "few", |key| key.as_bytes()[0] < 5).unwrap(), 5);
    assert_eq!(Bundle::open(&path).unwrap().keys().len(), 5);
}

#[test]
fn the_same_entries_give_the_same_bytes() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let _ = filled(&at("one"), 0..30).export(&at("a"), "name", |_| true).unwrap();
    let _ = filled(&at("two"), (0..30).rev()).export(&at("b"), "name", |_| true).unwrap();
    assert_eq!(fs::read(at("a")).unwrap(), fs::read(at("b")).unwrap());
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 4, "nothing else is left there");
}

#[test]
#[cfg(unix)]
fn a_bundle_is_found_through_the_links_that_lead_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let _ = filled(&at("other"), 0..3).export(&at("bundle"), "app", |_| true).unwrap();
    std::os::unix::fs::symlink(at("bundle"), at("current")).unwrap();
    assert_eq!(Bundle::open(&at("current")).unwrap().keys().len(), 3);
    let (store, warnings) = with_layers(&at("own"), &[&at("current")]);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(loaded(&store, 2).is_some());
}

#[test]
fn verifying_a_bundle_finds_what_is_damaged_in_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bundle");
    let _ = filled(&directory.path().join("store"), 0..5).export(&path, "app", |_| true).unwrap();
    assert_eq!(Bundle::open(&path).unwrap().verify().whole, 5);
    let mut bytes = fs::read(&path).unwrap();
    bytes[200] ^= 1;
    fs::write(&path, bytes).unwrap();
    let verified = Bundle::open(&path).unwrap().verify();
    assert_eq!((verified.whole, verified.damaged), (4, 1));
}

#[test]
fn an_exported_bundle_survives_a_power_cut() {
    use ptx_disk::storage::{MemoryStorage, Survival};
    let storage = MemoryStorage::new();
    let store = crate::fixture::store_on(storage.clone());
    let _ = store.write(&key(1), &entry(1));
    assert_eq!(store.export(Path::new("/bundle"), "name", |_| true).unwrap(), 1);
    let next = storage.after_power_cut(Survival::Synced);
    assert!(Bundle::open_on(&next, Path::new("/bundle")).unwrap().load(&key(1)).unwrap().is_some());
}

#[test]
fn layers_serve_what_the_store_lacks_and_are_never_changed() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let system = filled(&at("system"), 0..10);
    let _ = filled(&at("other"), 10..20).export(&at("bundle"), "app", |_| true).unwrap();
    fs::write(path_of(&at("system"), 3), "damaged").unwrap();
    let (store, warnings) = with_layers(&at("own"), &[&at("system"), &at("bundle")]);
    assert!(warnings.is_empty(), "{warnings:?}");
    for number in (0..20).filter(|number| *number != 3) {
        assert!(loaded(&store, number).is_some(), "{number}");
    }
    assert!(loaded(&store, 3).is_none());
    assert!(path_of(&at("system"), 3).exists(), "whoever owns the layer repairs it");
    let statistics = store.statistics();
    assert_eq!((statistics.hits, statistics.layer_hits, statistics.misses), (19, 19, 1));
    assert!(
        matches!(store.write(&key(0), &entry(0)), Write::Published),
        "the own one stands over it"
    );
    drop(system);
}

#[test]
fn layers_serve_a_store_that_has_no_directory_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let _ = filled(&at("other"), 0..3).export(&at("bundle"), "app", |_| true).unwrap();
    let (config, _) = config(&at("own"));
    let layers = vec![at("bundle")];
    let nowhere = Config { root: None, layers: layers.clone(), ..config.clone() };
    assert!(loaded(&DiskStore::open(nowhere).unwrap(), 1).is_some());
    let off = Config { mode: Mode::Off, layers, ..config };
    assert!(loaded(&DiskStore::open(off).unwrap(), 1).is_none());
}

#[test]
fn a_layer_that_cannot_be_used_is_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("text"), "text").unwrap();
    let (store, warnings) = with_layers(&at("own"), &[&at("text"), &at("missing")]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("is not a bundle"), "{warnings:?}");
    assert!(matches!(store.write(&key(0), &entry(0)), Write::Published));
}

#[test]
fn imported_entries_remember_where_they_came_from_and_give_way() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let _ = filled(&at("other"), 0..10).export(&at("bundle"), "app 1.2", |_| true).unwrap();
    let bundle = Bundle::open(&at("bundle")).unwrap();
    let store = DiskStore::open(config(&at("own")).0).unwrap();
    let local = Artifact::from("another lowering");
    let _ = store.write(&key(0), &local);
    let _ = store.write(&key(1), &entry(1));
    let imported = store.import(&bundle).unwrap();
    assert_eq!((imported.added, imported.already_there, imported.kept), (8, 1, 1));
    let found = store.read(&key(5)).hit().unwrap();
    assert_eq!(found.attributes.text(Attributes::ORIGIN), Some("app 1.2"));
    assert_eq!(store.read(&key(0)).hit().unwrap().payload, local.payload);
    assert!(matches!(store.write(&key(5), &local), Write::PublishedOverImported));
    assert_eq!(store.import(&bundle).unwrap().added, 0);
    let (config, _) = config(&at("own"));
    let reader = DiskStore::open(Config { mode: Mode::ReadOnly, ..config }).unwrap();
    assert!(matches!(reader.import(&bundle), Err(DiskError::NotWritable)));
}

#[test]
fn a_damaged_bundle_never_gives_wrong_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bundle");
    let store = filled(&directory.path().join("store"), 0..3);
    let _ = store.export(&path, "name", |_| true).unwrap();
    let whole = fs::read(&path).unwrap();
    let never_wrong = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let Ok(bundle) = Bundle::open(&path) else { return };
        let whole = (0..3)
            .filter(|number| match bundle.load(&key(*number)) {
                Ok(Some(entry)) => {
                    assert_eq!(*entry.payload, *text(*number), "{what}");
                    true
                }
                _ => false,
            })
            .count();
        assert!(whole < 3, "{what}: not noticed");
    };
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xFF;
        never_wrong(&flipped, &format!("byte {at} flipped"));
    }
    for length in 0..whole.len() {
        never_wrong(&whole[..length], &format!("cut to {length}"));
    }
    for foreign in [vec![], b"text".to_vec(), vec![0xFF; 1000], ptx_disk::format::MAGIC.repeat(50)]
    {
        fs::write(&path, &foreign).unwrap();
        assert!(matches!(Bundle::open(&path), Err(DiskError::NotABundle { .. })));
    }
    assert!(matches!(Bundle::open(directory.path()), Err(DiskError::NotABundle { .. })));
}

#[test]
fn verify_finds_damaged_entries_and_quarantines_them() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = filled(&root, 0..10);
    fs::write(path_of(&root, 4), "damaged").unwrap();
    fs::write(path_of(&root, 5).with_extension("other-entry"), "of another release").unwrap();
    // Stored bytes that are sound and decode, but not to the content that was meant.
    let bytes = fs::read(path_of(&root, 6)).unwrap();
    let (mut header, payload) = ptx_disk::format::Header::read(&bytes).unwrap();
    header.content_digest = ptx_key::Digest::of_bytes(b"other");
    fs::write(path_of(&root, 6), [&header.to_bytes().unwrap(), payload].concat()).unwrap();
    let verified = store.verify().unwrap();
    assert_eq!((verified.whole, verified.damaged, verified.left_alone), (8, 2, 0));
    assert_eq!(store.verify().unwrap().damaged, 0);
    assert_eq!(store.keys().unwrap().len(), 8);
    assert_eq!(store.statistics().quarantined, 2);
}

#[test]
fn entries_are_stored_smaller_later_and_stay_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let (config, _) = config(&root);
    let store = DiskStore::open(Config { compression: Compression::Off, ..config }).unwrap();
    let taken = || -> u64 {
        (0..10).map(|number| fs::metadata(path_of(&root, number)).unwrap().len()).sum()
    };
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(1_000_000);
    for number in 0..10 {
        let _ = store.write(&key(number), &entry(number));
        fs::File::open(path_of(&root, number)).unwrap().set_modified(long_ago).unwrap();
    }
    let (before, first) = (taken(), fs::read(path_of(&root, 0)).unwrap());
    let saved = store.recompress(Compression::Zstd { level: 9 }).unwrap();
    assert_eq!((saved.entries, saved.bytes), (10, before - taken()));
    assert!(taken() < before * 2 / 3);
    let modified = fs::metadata(path_of(&root, 0)).unwrap().modified().unwrap();
    assert!(modified <= long_ago, "the last use is still the last use");
    let again = fs::read(path_of(&root, 0)).unwrap();
    let header = |bytes: &[u8]| ptx_disk::format::Header::read(bytes).unwrap().0;
    let (first, again) = (header(&first), header(&again));
    assert_eq!(first.content_digest, again.content_digest);
    assert_eq!((first.created_nanos, first.attributes), (again.created_nanos, again.attributes));
    assert!((0..10).all(|number| loaded(&store, number).is_some()));
    assert_eq!(store.recompress(Compression::Zstd { level: 9 }).unwrap().entries, 0);
}

fn header_of(path: &Path) -> ptx_disk::format::Header {
    ptx_disk::format::Header::read(&fs::read(path).unwrap()).unwrap().0
}

#[test]
fn an_entry_on_which_a_level_was_tried_is_not_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = filled(&root, 0..3);
    // A writer that took the time for a high level, and made little of it.
    let whole = fs::read(path_of(&root, 1)).unwrap();
    let (mut header, _) = ptx_disk::format::Header::read(&whole).unwrap();
    header.encoding = ptx_disk::format::Encoding::Plain;
    header.stored_digest = header.content_digest;
    header.stored_bytes = header.content_bytes;
    header.level = 12;
    let plain = [header.to_bytes().unwrap(), text(1).into_bytes()].concat();
    fs::write(path_of(&root, 1), &plain).unwrap();
    let _ = store.recompress(Compression::Zstd { level: 12 }).unwrap();
    assert!(fs::read(path_of(&root, 1)).unwrap() == plain, "it was compressed again");
    assert_eq!(store.recompress(Compression::Zstd { level: 13 }).unwrap().entries, 1);
    assert_eq!(header_of(&path_of(&root, 1)).level, 13);
}

#[test]
fn an_entry_that_gains_nothing_remembers_that_it_was_tried() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = DiskStore::open(config(&root).0).unwrap();
    let noise: String = (0..3000).map(|_| fastrand::alphanumeric()).collect();
    let _ = store.write(&key(1), &Artifact::from(noise));
    assert_eq!(header_of(&path_of(&root, 1)).level, 1);
    let before = store.read(&key(1)).hit();
    for _ in 0..2 {
        let saved = store.recompress(Compression::Zstd { level: 9 }).unwrap();
        assert_eq!((saved.entries, saved.bytes), (0, 0));
        assert_eq!(header_of(&path_of(&root, 1)).level, 9);
        assert_eq!(store.read(&key(1)).hit(), before);
    }
    assert_eq!(store.verify().unwrap().whole, 1);
}

#[test]
fn storing_entries_smaller_removes_none() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let (config, _) = config(&root);
    let store =
        DiskStore::open(Config { compression: Compression::Off, ..config.clone() }).unwrap();
    let texts = (0..20).map(|n| (n, Artifact::from(text(n).repeat(20))));
    for (number, entry) in texts {
        let _ = store.write(&key(number), &entry);
    }
    let budget = ptx_disk::Size { entries: 4, ..Size::UNBOUNDED };
    let bounded = DiskStore::open(Config { budget, ..config }).unwrap();
    assert_eq!(bounded.recompress(Compression::Zstd { level: 9 }).unwrap().entries, 20);
    assert_eq!(store.keys().unwrap().len(), 20);
    assert_eq!(bounded.trim().unwrap().entries, 16, "that is what trimming says of itself");
}

#[test]
fn an_entry_with_no_room_for_its_origin_stops_no_import() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let full = DiskStore::open(config(&at("other")).0).unwrap();
    let mut crowded = entry(1);
    (1..ptx_disk::format::MOST_ATTRIBUTES)
        .for_each(|n| crowded.attributes.set(n.to_string(), vec![]));
    for (number, entry) in [(0, &entry(0)), (1, &crowded), (2, &entry(2))] {
        assert!(matches!(full.write(&key(number), entry), Write::Published));
    }
    let _ = full.export(&at("bundle"), "app", |_| true).unwrap();
    let store = DiskStore::open(config(&at("own")).0).unwrap();
    let imported = store.import(&Bundle::open(&at("bundle")).unwrap()).unwrap();
    assert_eq!((imported.added, imported.unusable), (2, 1));
}

#[test]
fn a_cubin_keeps_its_encoding_at_any_level() {
    let (store, directory) = store();
    let module = ptx_key::ModuleKey::from_bytes([7; 32]);
    let _ = store.write(&module, &Artifact::new(vec![7; 3000]));
    let path = directory.path().join(format!("store/entries-1/07/{module}.cubin-entry"));
    let before = fs::read(&path).unwrap();
    let (header, _) = ptx_disk::format::Header::read(&before).unwrap();
    assert_eq!(header.encoding, ptx_disk::format::Encoding::Lz4);
    assert_eq!(store.recompress(Compression::Zstd { level: 19 }).unwrap().entries, 0);
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn an_entry_whose_dictionary_is_of_a_newer_release_is_not_called_whole() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("store");
    let store = filled(&root, 0..2);
    let whole = fs::read(path_of(&root, 1)).unwrap();
    let (mut header, payload) = ptx_disk::format::Header::read(&whole).unwrap();
    header.encoding = ptx_disk::format::Encoding::ZstdDictionary(2);
    fs::write(path_of(&root, 1), [&header.to_bytes().unwrap(), payload].concat()).unwrap();
    let verified = store.verify().unwrap();
    assert_eq!((verified.whole, verified.left_alone), (1, 1));
}

#[test]
fn an_export_that_fails_leaves_nothing() {
    let (store, directory) = store();
    let _ = store.write(&key(1), &entry(1));
    assert!(store.export(&directory.path().join("none/bundle"), "name", |_| true).is_err());
    let error = store.export(&directory.path().join("bundle"), &"n".repeat(256), |_| true);
    assert!(matches!(error, Err(DiskError::BadSetting { .. })));
    assert!(store.export(directory.path(), "name", |_| true).is_err(), "over a directory");
    let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn an_export_replaces_only_a_bundle() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let store = filled(&at("store"), 0..3);
    let export = |name: &str| store.export(&at(name), "app", |_| true);
    assert!(!DiskStore::exists(&at("none")).unwrap() && DiskStore::exists(&at("store")).unwrap());
    for content in [b"mine".as_slice(), b"", b"\x89PTB\r\n\x1a"] {
        std::fs::write(at("file"), content).unwrap();
        let error = export("file").unwrap_err();
        assert!(matches!(error, DiskError::Storage { operation: "replace", .. }), "{error}");
        assert_eq!(std::fs::read(at("file")).unwrap(), content);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        assert!(export("link").is_err());
        assert_eq!(std::fs::read_link(at("link")).unwrap(), at("file"));
    }
    assert_eq!(export("bundle").unwrap(), 3);
    assert_eq!(export("bundle").unwrap(), 3);

    // The caller chose this file.
    let file = std::fs::File::create(at("file")).unwrap();
    assert_eq!(store.export_to(file, &at("file"), "app", |_| true).unwrap(), 3);
    assert_eq!(std::fs::read(at("file")).unwrap(), std::fs::read(at("bundle")).unwrap());
}
