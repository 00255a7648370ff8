//! A real disk that is really full.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ptx_cache::{Artifact, PtxArtifact, PtxCache, Store, Stored};
use ptx_disk::{Compression, Config, DiskStore, Times};
use ptx_key::{Digest, PtxKey};

/// A file system of one megabyte.
struct TinyDisk(PathBuf);

impl TinyDisk {
    /// `None` after saying why the test is skipped.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).ok()?;
        let options = "size=1m,mode=0700";
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tiny"]).arg(at).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            _ => {
                eprintln!("skipped: this user may not mount a file system");
                None
            }
        }
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn key(number: u32) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(&number.to_le_bytes()).as_bytes())
}

fn entry(number: u32) -> PtxArtifact {
    Artifact::from(format!("// kernel {number}\n").repeat(1000))
}

fn without_a_reserve(root: &Path) -> Config {
    Config {
        compression: Compression::Off,
        // Nothing is left to others, so that writing itself meets the end of the disk.
        free_bytes: 0,
        times: Times { first_pause: Duration::ZERO, ..Times::STANDARD },
        ..Config::new(root)
    }
}

#[test]
fn every_request_is_served_while_the_disk_fills_and_when_it_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = TinyDisk::mount(&folder.path().join("disk")) else { return };
    let config = without_a_reserve(&disk.0.join("store"));
    for _ in 0..2 {
        let store = Arc::new(DiskStore::open(config.clone()).unwrap());
        let tier: Arc<dyn Store<PtxKey>> = Arc::<DiskStore>::clone(&store);
        let cache = PtxCache::with_tiers(
            ptx_cache::Config::default(),
            vec![tier],
            ptx_cache::WritePolicy::Ignore,
        );
        for number in 0..200 {
            let text = entry(number).payload;
            let served =
                cache.get_or_lower(&key(number), || Ok::<_, std::fmt::Error>(text.clone()));
            assert_eq!(served.unwrap().payload, text);
        }
        drop(cache);
        assert!(store.statistics().write_failures > 0, "the disk was never full");
    }
}

#[test]
fn a_full_disk_keeps_what_it_has_and_takes_more_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = TinyDisk::mount(&folder.path().join("disk")) else { return };
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&warnings);
    let store = DiskStore::open(Config {
        on_warning: Some(Arc::new(move |warning| said.lock().unwrap().push(warning.to_string()))),
        ..without_a_reserve(&disk.0.join("store"))
    })
    .unwrap();

    let kept: Vec<u32> = (0..200)
        .filter(|number| matches!(store.store(&key(*number), &entry(*number)), Ok(Stored::Written)))
        .collect();
    assert!((20..100).contains(&kept.len()), "{} entries of 17 KB in a megabyte", kept.len());
    for number in 0..200 {
        let found = store.load(&key(number)).unwrap().map(|found| found.payload);
        let expected = kept.contains(&number).then(|| entry(number).payload);
        assert!(found == expected, "{number}");
    }
    assert!(store.statistics().write_failures > 0);
    assert!(warnings.lock().unwrap().iter().any(|said| said.contains("No space left on device")));
    let unpublished = fs::read_dir(disk.0.join("store/tmp")).unwrap().count();
    assert_eq!(unpublished, 0, "a write that failed leaves nothing");

    for number in &kept {
        assert!(store.remove(&key(*number)).unwrap());
    }
    assert!(matches!(store.store(&key(500), &entry(500)), Ok(Stored::Written)));
    let found = store.load(&key(500)).unwrap().unwrap().payload;
    assert_eq!(found, "// kernel 500\n".repeat(1000).into());
}
