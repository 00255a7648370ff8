//! What is retired does not pile up. Alone in its process, since all caches of one share its epochs:
//! a thread of another test that stays pinned would keep values alive here.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use ptx_cache::{Cache, Computed, Config, Size, Weigh};
use ptx_key::PtxKey;

fn key(number: u8) -> PtxKey {
    PtxKey::from_bytes([number; 32])
}

static ALIVE_BYTES: AtomicU64 = AtomicU64::new(0);

/// A value that stands for one of a mebibyte.
#[derive(Clone)]
struct Large(Arc<Mebibyte>);

struct Mebibyte;

impl Large {
    const BYTES: u64 = 1 << 20;

    fn made() -> Computed<Self> {
        ALIVE_BYTES.fetch_add(Self::BYTES, Ordering::SeqCst);
        Computed::from(Self(Arc::new(Mebibyte)))
    }
}

impl Weigh for Large {
    fn weight(&self) -> u64 {
        Self::BYTES + size_of_val(&*self.0) as u64
    }
}

impl Drop for Mebibyte {
    fn drop(&mut self) {
        ALIVE_BYTES.fetch_sub(Large::BYTES, Ordering::SeqCst);
    }
}

fn excess(cache: &Cache<PtxKey, Large>) -> u64 {
    ALIVE_BYTES.load(Ordering::SeqCst) - cache.snapshot().resident.bytes
}

/// The largest excess of what is alive over what is resident, in the best of some windows of
/// insertions: a thread of another test that is pinned for a while may spoil several of them.
fn excess_over(cache: &Cache<PtxKey, Large>, key_of: impl Fn(u8) -> PtxKey) -> u64 {
    let window = |_| {
        thread::yield_now();
        let insert = |number: u8| {
            cache.insert(key_of(number), Large::made());
            excess(cache)
        };
        (0..250).map(insert).max()
    };
    (0..50).filter_map(window).min().unwrap_or(0)
}

#[test]
fn large_values_do_not_pile_up_when_they_are_retired_or_replaced() {
    let cache = Cache::new(Config::with_budget(Size { entries: 100, bytes: 16 << 20 }));
    let retired = excess_over(&cache, key);
    assert!(retired <= 2 << 20, "{retired} bytes more than the cache holds");
    let replaced = excess_over(&cache, |_| key(1));
    assert!(replaced <= 2 << 20, "{replaced} bytes more than the cache holds");
}
