//! What can stand where an entry should be.

use std::fs;
use std::path::Path;

use ptx_disk::{Claim, Compression, DiskStore, Store as _};

use crate::fixture::{
    Details as _, Read, Write, damage_of, entry, key, loaded, path_of, store, store_with,
};

/// The damaged file misses, and is quarantined, so the entry can be written and read again.
fn heals(store: &DiskStore, root: &Path, number: u32, what: &str) -> String {
    let before = store.statistics().quarantined;
    let damage = damage_of(&store.read(&key(number)));
    let damage = damage.unwrap_or_else(|| panic!("{what}: not noticed"));
    assert_eq!(store.statistics().quarantined, before + 1, "{what}: not quarantined");
    assert!(fs::symlink_metadata(path_of(root, number)).is_err(), "{what}: still there");
    assert!(matches!(store.write(&key(number), &entry(number)), Write::Published), "{what}");
    assert!(loaded(store, number).is_some(), "{what}: not written again");
    damage
}

#[test]
fn every_flipped_byte_and_every_cut_is_noticed_and_heals() {
    for compression in [Compression::Off, Compression::default()] {
        let (store, directory) = store_with(compression);
        let root = directory.path().join("store");
        let path = path_of(&root, 1);
        let _ = store.write(&key(1), &entry(1));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0xFF;
            fs::write(&path, &flipped).unwrap();
            heals(&store, &root, 1, &format!("byte {at} flipped"));
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            heals(&store, &root, 1, &format!("cut to {length}"));
        }
        for more in [1, 5000] {
            let mut longer = whole.clone();
            longer.extend(vec![0; more]);
            fs::write(&path, &longer).unwrap();
            let damage = heals(&store, &root, 1, &format!("{more} more"));
            assert_eq!(damage, "its length is not what its header says");
        }
    }
}

#[test]
fn swapped_files_are_noticed() {
    let (store, directory) = store();
    let root = directory.path().join("store");
    for number in [1, 2] {
        let _ = store.write(&key(number), &entry(number));
    }
    let (one, two) = (path_of(&root, 1), path_of(&root, 2));
    let aside = root.join("aside");
    fs::rename(&one, &aside).unwrap();
    fs::rename(&two, &one).unwrap();
    fs::rename(&aside, &two).unwrap();
    let damage = damage_of(&store.read(&key(1)));
    assert_eq!(damage.as_deref(), Some("it belongs to another key"));
    heals(&store, &root, 2, "swapped");
}

#[test]
fn foreign_files_are_noticed() {
    let foreign: [(&str, Vec<u8>); 6] = [
        ("empty", vec![]),
        ("text", b".version 8.0\n.target sm_90\n".to_vec()),
        ("zeros", vec![0; 5000]),
        ("the magic alone", b"\x89PTX\r\n\x1a\n".to_vec()),
        (
            "the magic and a header that never ends",
            b"\x89PTX\r\n\x1a\n\x01\0\x01\0\xff\xff\xff\xff".repeat(99),
        ),
        ("a magic whose line ends were changed", b"\x89PTX\n\x1a\n".repeat(99)),
    ];
    let (store, directory) = store();
    let root = directory.path().join("store");
    let _ = store.write(&key(1), &entry(1));
    for (what, bytes) in foreign {
        fs::write(path_of(&root, 1), bytes).unwrap();
        heals(&store, &root, 1, what);
    }
}

#[test]
fn a_file_that_claims_to_be_enormous_takes_no_memory() {
    let (store, directory) = store();
    let root = directory.path().join("store");
    let _ = store.write(&key(1), &entry(1));
    let file = fs::OpenOptions::new().write(true).open(path_of(&root, 1)).unwrap();
    file.set_len(1 << 40).unwrap();
    heals(&store, &root, 1, "a terabyte");
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_neither_followed_nor_waited_for() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let (store, directory) = store();
    let root = directory.path().join("store");
    let path = path_of(&root, 1);
    let _ = store.write(&key(1), &entry(1));
    let whole = directory.path().join("whole");
    fs::rename(&path, &whole).unwrap();

    symlink(&whole, &path).unwrap();
    heals(&store, &root, 1, "a link to a good file");
    fs::remove_file(&path).unwrap();
    symlink("/nowhere/at/all", &path).unwrap();
    heals(&store, &root, 1, "a link to nothing");
    fs::remove_file(&path).unwrap();
    symlink("/dev/zero", &path).unwrap();
    heals(&store, &root, 1, "a link to a device");
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    heals(&store, &root, 1, "a pipe");
    fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path);
    if listener.is_ok() {
        heals(&store, &root, 1, "a socket");
        fs::remove_file(&path).unwrap();
    } else {
        eprintln!("skipped: the path is too long for a socket");
    }
    fs::create_dir(&path).unwrap();
    fs::write(path.join("file"), "in the way").unwrap();
    heals(&store, &root, 1, "a directory");
    assert_eq!(fs::read(&whole).unwrap().first(), Some(&0x89), "what a link named is untouched");
}

#[test]
fn a_file_in_the_place_of_any_directory_of_the_store_is_quarantined() {
    // The second directory of entries is not the one that is written to.
    for obstructed in ["entries-1", "entries-1/01", "entries-1/00", "tmp", "claims", "quarantine"] {
        let (store, directory) = store();
        let root = directory.path().join("store");
        let obstacle = root.join(obstructed);
        fs::create_dir_all(obstacle.parent().unwrap()).unwrap();
        fs::write(&obstacle, "in the way").unwrap();
        assert!(loaded(&store, 1).is_none(), "{obstructed}");
        assert!(matches!(store.claim(&key(1)), Ok(Claim::Held(_))), "{obstructed}");
        assert!(matches!(store.write(&key(1), &entry(1)), Write::Published), "{obstructed}");
        assert!(loaded(&store, 1).is_some(), "{obstructed}");
        fs::write(path_of(&root, 1), "damaged").unwrap();
        heals(&store, &root, 1, obstructed);
        assert_eq!(store.statistics().degraded, 0, "{obstructed}");
    }
}

#[test]
fn whatever_stands_in_the_place_of_the_stores_own_files_is_quarantined() {
    let claim = format!("claims/01/{}.ptx", key(1));
    for name in ["totals-1", "trimmer", &claim] {
        for kind in ["directory", "link", "pipe"] {
            let (store, directory) = store();
            let obstacle = directory.path().join("store").join(name);
            fs::create_dir_all(obstacle.parent().unwrap()).unwrap();
            match kind {
                "directory" => fs::create_dir(&obstacle).unwrap(),
                #[cfg(unix)]
                "link" => std::os::unix::fs::symlink("/nowhere/at/all", &obstacle).unwrap(),
                #[cfg(unix)]
                "pipe" => rustix::fs::mknodat(
                    rustix::fs::CWD,
                    &obstacle,
                    rustix::fs::FileType::Fifo,
                    rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
                    0,
                )
                .unwrap(),
                _ => continue,
            }
            let what = format!("a {kind} as {name}");
            assert!(matches!(store.claim(&key(1)), Ok(Claim::Held(_))), "{what}");
            assert!(matches!(store.write(&key(1), &entry(1)), Write::Published), "{what}");
            assert!(store.trim().is_ok(), "{what}");
            assert_eq!(store.statistics().degraded, 0, "{what}");
            assert!(fs::symlink_metadata(&obstacle).unwrap().is_file(), "{what}");
        }
    }
}

#[test]
fn what_looks_at_every_entry_passes_by_a_file_in_the_place_of_a_directory() {
    let (store, directory) = store();
    let _ = store.write(&key(1), &entry(1));
    fs::write(directory.path().join("store/entries-1/77"), "in the way").unwrap();
    assert_eq!(store.verify().unwrap().whole, 1);
    assert_eq!(store.keys().unwrap().len(), 1);
    assert_eq!(store.trim().unwrap().entries, 0);
    assert_eq!(store.sweep().unwrap(), 0);
}

#[test]
fn a_directory_in_the_place_of_an_entry_is_quarantined_though_quarantine_is_full() {
    let (store, directory) = store();
    let root = directory.path().join("store");
    let _ = store.write(&key(1), &entry(1));
    fs::create_dir(root.join("quarantine")).unwrap();
    for place in 0..64 {
        fs::write(root.join(format!("quarantine/{place:02}")), "damaged before").unwrap();
    }
    fs::remove_file(path_of(&root, 1)).unwrap();
    fs::create_dir(path_of(&root, 1)).unwrap();
    heals(&store, &root, 1, "a directory");
}

#[test]
fn a_store_works_on_after_its_directory_is_removed() {
    let (store, directory) = store();
    let _ = store.write(&key(1), &entry(1));
    fs::remove_dir_all(directory.path().join("store")).unwrap();
    assert!(loaded(&store, 1).is_none());
    assert!(matches!(store.write(&key(1), &entry(1)), Write::Published));
    assert!(loaded(&store, 1).is_some());
}

#[test]
fn text_that_is_no_utf_8_is_never_loaded() {
    let (store, directory) = store_with(Compression::Off);
    let root = directory.path().join("store");
    let _ = store.write(&key(1), &entry(1));
    // A writer that is sound in everything but this.
    let whole = fs::read(path_of(&root, 1)).unwrap();
    let (mut header, payload) = ptx_disk::format::Header::read(&whole).unwrap();
    let mut payload = payload.to_vec();
    payload[10] = 0xFF;
    header.stored_digest = ptx_key::Digest::of_bytes(&payload);
    header.content_digest = header.stored_digest;
    fs::write(path_of(&root, 1), [header.to_bytes().unwrap(), payload].concat()).unwrap();
    heals(&store, &root, 1, "not UTF-8");
}

#[test]
fn a_file_of_a_newer_release_stays_and_misses() {
    let (store, directory) = store();
    let root = directory.path().join("store");
    let _ = store.write(&key(1), &entry(1));
    let mut newer = fs::read(path_of(&root, 1)).unwrap();
    newer[8] = 2;
    let end = u32::from_le_bytes(newer[12..16].try_into().unwrap()) as usize - 32;
    let digest = ptx_key::Digest::of_bytes(&newer[..end]);
    newer[end..end + 32].copy_from_slice(digest.as_bytes());
    fs::write(path_of(&root, 1), &newer).unwrap();

    assert!(matches!(store.read(&key(1)), Read::Miss));
    assert!(matches!(store.write(&key(1), &entry(1)), Write::KeptNewer));
    assert_eq!(fs::read(path_of(&root, 1)).unwrap(), newer);
    let statistics = store.statistics();
    assert_eq!((statistics.left_alone, statistics.quarantined), (2, 0));
}

#[test]
fn an_entry_larger_than_the_settings_allow_stays_for_those_who_allow_it() {
    let (large, directory) = store();
    let root = directory.path().join("store");
    let _ = large.write(&key(1), &entry(1));
    let (config, _) = crate::fixture::config(&root);
    let small = DiskStore::open(ptx_disk::Config { most_entry_bytes: 100, ..config }).unwrap();
    assert!(matches!(small.read(&key(1)), Read::Miss));
    assert!(matches!(
        small.write(&key(2), &entry(2)),
        Write::Failed(ptx_disk::DiskError::TooLarge { .. })
    ));
    assert!(loaded(&large, 1).is_some());
}
