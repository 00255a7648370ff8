//! Tasks and threads that want the same text share one lowering.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use pollster::block_on;
use ptx_cache::{CacheError, Config, PtxCache};
use ptx_key::PtxKey;

fn main() -> Result<(), CacheError> {
    let cache = PtxCache::new(Config::default());
    let key = PtxKey::from_bytes([7; 32]);
    let lowerings = AtomicU32::new(0);
    let lower = || {
        lowerings.fetch_add(1, Ordering::Relaxed);
        thread::sleep(Duration::from_millis(50));
        Ok::<_, std::fmt::Error>(".version 8.0\n.target sm_90\n")
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| cache.get_or_lower(&key, lower).map(|served| served.source));
            // On any runtime: here a small one for each task.
            scope.spawn(|| block_on(cache.get_or_lower_async(&key, async || lower())).map(drop));
        }
    });
    let served = cache.get_or_lower(&key, lower)?;
    println!(
        "{} lowering for 9 requests; the last came from {}",
        lowerings.into_inner(),
        served.source
    );
    Ok(())
}
