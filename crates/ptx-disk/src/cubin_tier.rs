//! The store as a tier of machine code.

use ptx_cache::{CubinStore, StoreError, StoredCubin};
use ptx_key::ModuleKey;

use crate::tier::{claimed, found, kept};
use crate::{DiskStore, Entry, Payload};

impl CubinStore for DiskStore {
    #[expect(clippy::unnecessary_literal_bound, reason = "the trait's own signature")]
    fn name(&self) -> &str {
        "disk"
    }

    fn load(&self, key: &ModuleKey) -> Result<Option<StoredCubin>, StoreError> {
        found(DiskStore::load(self, key), cubin)
    }

    fn store(&self, key: &ModuleKey, cubin: &StoredCubin) -> Result<(), StoreError> {
        kept(DiskStore::store(self, key, &Entry::cubin(cubin.image.clone(), cubin.cost)))
    }

    fn is_writable(&self) -> bool {
        DiskStore::is_writable(self)
    }

    fn remove_refused(&self, key: &ModuleKey, refused: &[u8]) -> Result<bool, StoreError> {
        // Another process may put a new one there between the look and the removal. Then that one
        // is assembled once more.
        match DiskStore::load(self, key).hit() {
            Some(entry) if entry.payload.as_bytes() == refused => Ok(DiskStore::remove(self, key)?),
            _ => Ok(false),
        }
    }

    fn claim(&self, key: &ModuleKey) -> Result<ptx_cache::Claim<StoredCubin>, StoreError> {
        Ok(claimed(DiskStore::claim(self, key), cubin))
    }
}

/// `None` for a text, which no key of a module names.
fn cubin(entry: Entry) -> Option<StoredCubin> {
    let Payload::Cubin(image) = entry.payload else { return None };
    Some(StoredCubin { image, cost: entry.cost })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::storage::MemoryStorage;
    use crate::{Config, Mode};

    const KEY: ModuleKey = ModuleKey::from_bytes([7; 32]);

    fn store(mode: Mode) -> Box<dyn CubinStore> {
        let config = Config { mode, ..Config::new("/store") };
        Box::new(DiskStore::open_on(Arc::new(MemoryStorage::new()), config).unwrap())
    }

    fn stored(image: &[u8]) -> StoredCubin {
        StoredCubin { image: image.into(), cost: Duration::from_millis(20) }
    }

    #[test]
    fn a_cubin_comes_back_with_what_it_cost() {
        let store = store(Mode::ReadWrite);
        assert!(store.is_writable());
        assert_eq!(store.load(&KEY).unwrap(), None);
        assert!(matches!(store.claim(&KEY).unwrap(), ptx_cache::Claim::Held(_)));
        store.store(&KEY, &stored(b"image")).unwrap();
        assert_eq!(store.load(&KEY).unwrap(), Some(stored(b"image")));
        assert!(matches!(store.claim(&KEY).unwrap(), ptx_cache::Claim::Published(_)));
    }

    #[test]
    fn only_what_was_refused_is_taken_out() {
        let store = store(Mode::ReadWrite);
        store.store(&KEY, &stored(b"better")).unwrap();
        assert!(!store.remove_refused(&KEY, b"refused").unwrap());
        assert!(store.remove_refused(&KEY, b"better").unwrap());
        assert!(!store.remove_refused(&KEY, b"better").unwrap());
        assert_eq!(store.load(&KEY).unwrap(), None);
    }

    #[test]
    fn a_store_that_is_off_or_read_only_is_no_failure() {
        for mode in [Mode::Off, Mode::ReadOnly] {
            let store = store(mode);
            store.store(&KEY, &stored(b"image")).unwrap();
            assert!(!store.is_writable());
            assert_eq!(store.load(&KEY).unwrap(), None);
            assert!(matches!(store.claim(&KEY).unwrap(), ptx_cache::Claim::Unheld));
        }
    }
}
