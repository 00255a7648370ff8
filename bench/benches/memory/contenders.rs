//! Which caches are compared? Ours, its peers and a floor.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ptx_cache::{Cache, Computed, Config, Size};
use ptx_key::{KeyHasher, PtxKey};

/// A cache that the bench measures. A hit returns the text's first byte: that reads the text, and
/// the time includes the drop of a clone.
pub(crate) trait Contender: Sync {
    fn hit(&self, key: &PtxKey) -> Option<u8>;

    /// Prepares many hits in a row.
    fn session(&self) -> impl Fn(&PtxKey) -> Option<u8> + '_ {
        |key| self.hit(key)
    }

    fn insert(&self, key: PtxKey, text: Arc<str>);
}

fn first_byte(text: &str) -> u8 {
    text.as_bytes()[0]
}

pub(crate) struct OursOwned(pub(crate) Cache<PtxKey, Arc<str>>);

pub(crate) struct OursBorrowed(pub(crate) Cache<PtxKey, Arc<str>>);

pub(crate) fn ours(capacity: usize) -> Cache<PtxKey, Arc<str>> {
    Cache::new(Config::with_budget(Size { entries: capacity as u64, bytes: 1 << 32 }))
}

impl Contender for OursOwned {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.get(key).map(|text| first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.insert(key, Computed::from(text));
    }
}

impl Contender for OursBorrowed {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.with(key, |text| first_byte(text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.insert(key, Computed::from(text));
    }
}

/// Ours, pinned once for many hits.
pub(crate) struct OursPinned(pub(crate) Cache<PtxKey, Arc<str>>);

impl Contender for OursPinned {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.with(key, |text| first_byte(text))
    }

    fn session(&self) -> impl Fn(&PtxKey) -> Option<u8> + '_ {
        let pinned = self.0.pin();
        move |key| pinned.get(key).map(|text| first_byte(text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.insert(key, Computed::from(text));
    }
}

/// The usual design: a map of sharded locks, a fast hash over all 32 bytes, and global counters that
/// each hit increments by compare-exchange. It evicts by a scan.
pub(crate) struct Usual {
    map: dashmap::DashMap<PtxBytes, (Arc<str>, AtomicU64), fxhash::FxBuildHasher>,
    hits: AtomicU64,
    capacity: usize,
}

/// A key that hashes all of its 32 bytes.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PtxBytes([u8; 32]);

impl Usual {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { map: dashmap::DashMap::default(), hits: AtomicU64::new(0), capacity }
    }
}

fn saturating_increment(counter: &AtomicU64) {
    let grown = |count: u64| Some(count.saturating_add(1));
    let _ = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
}

impl Contender for Usual {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        let entry = self.map.get(&PtxBytes(*key.as_bytes()))?;
        saturating_increment(&entry.1);
        let text = Arc::clone(&entry.0);
        drop(entry);
        saturating_increment(&self.hits);
        Some(first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        // The habit when full: keep the most used half.
        if self.map.len() >= self.capacity {
            let mut uses: Vec<u64> =
                self.map.iter().map(|entry| entry.1.load(Ordering::Relaxed)).collect();
            let middle = uses.len() / 2;
            let (_, median, _) = uses.select_nth_unstable(middle);
            let (median, mut excess) = (*median, middle);
            self.map.retain(|_, entry| {
                let keep = entry.1.load(Ordering::Relaxed) > median || excess == 0;
                excess -= usize::from(!keep);
                keep
            });
        }
        self.map.insert(PtxBytes(*key.as_bytes()), (text, AtomicU64::new(0)));
    }
}

pub(crate) struct Moka(pub(crate) moka::sync::Cache<PtxKey, Arc<str>, KeyHasher>);

pub(crate) fn moka(capacity: usize) -> Moka {
    let builder = moka::sync::Cache::builder().max_capacity(capacity as u64);
    Moka(builder.build_with_hasher(KeyHasher::default()))
}

impl Contender for Moka {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.get(key).map(|text| first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.insert(key, text);
    }
}

type QuickInner = quick_cache::sync::Cache<PtxKey, Arc<str>, quick_cache::UnitWeighter, KeyHasher>;

pub(crate) struct Quick(pub(crate) QuickInner);

pub(crate) fn quick(capacity: usize) -> Quick {
    Quick(quick_cache::sync::Cache::with(
        capacity,
        capacity as u64,
        quick_cache::UnitWeighter,
        KeyHasher::default(),
        quick_cache::sync::DefaultLifecycle::default(),
    ))
}

impl Contender for Quick {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.get(key).map(|text| first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.insert(key, text);
    }
}

/// Unbounded: a map, not a cache.
pub(crate) struct Papaya(pub(crate) papaya::HashMap<PtxKey, Arc<str>, KeyHasher>);

impl Contender for Papaya {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.pin().get(key).cloned().map(|text| first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        self.0.pin().insert(key, text);
    }
}

/// Unbounded: a map, not a cache.
pub(crate) struct Scc(pub(crate) scc::HashIndex<PtxKey, Arc<str>, KeyHasher>);

impl Contender for Scc {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.peek_with(key, |_, text| Arc::clone(text)).map(|text| first_byte(&text))
    }

    fn insert(&self, key: PtxKey, text: Arc<str>) {
        // It refuses to insert a resident key, so a replacement removes it first.
        if let Err((key, text)) = self.0.insert_sync(key, text) {
            self.0.remove_sync(&key);
            let _ = self.0.insert_sync(key, text);
        }
    }
}

/// The floor, without a clone.
pub(crate) struct FloorBorrowed(pub(crate) HashMap<PtxKey, Arc<str>, KeyHasher>);

impl Contender for FloorBorrowed {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.get(key).map(|text| first_byte(text))
    }

    fn insert(&self, _key: PtxKey, _text: Arc<str>) {}
}

/// The floor: a read-only map without synchronisation, counters or bounds.
pub(crate) struct Floor(pub(crate) HashMap<PtxKey, Arc<str>, KeyHasher>);

impl Contender for Floor {
    fn hit(&self, key: &PtxKey) -> Option<u8> {
        self.0.get(key).cloned().map(|text| first_byte(&text))
    }

    fn insert(&self, _key: PtxKey, _text: Arc<str>) {}
}
