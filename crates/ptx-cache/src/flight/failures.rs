//! Which failures are remembered? A request for such a key gets the same error for a while, and
//! nothing is lowered.

use std::collections::{TryReserveError, VecDeque};
use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use crate::CacheError;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// Which failures are remembered, for how long, and how many. In memory only.
///
/// Whatever `is_deterministic` says, an error in whose chain of sources there is a
/// [`std::io::Error`] or a [`TryReserveError`] is not remembered: the next attempt may find the
/// file, the memory or the time. A panic, a refused wait and a tier's failure are never remembered,
/// even if a lowering passes on such an error.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use ptx_cache::{Config, FailureMemory, PtxCache};
/// use ptx_key::PtxKey;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("the program uses what the target does not have")]
/// struct Unsupported;
///
/// let failures = FailureMemory {
///     lasts: Duration::from_secs(60),
///     most: 1024,
///     is_deterministic: Arc::new(|error| error.is::<Unsupported>()),
/// };
/// let cache = PtxCache::new(Config { failures: Some(failures), ..Config::default() });
/// let key = PtxKey::from_bytes([7; 32]);
/// assert!(cache.get_or_lower(&key, || Err::<String, _>(Unsupported)).is_err());
/// // For a minute no lowering of this key is tried.
/// let again = cache.get_or_lower(&key, || -> Result<String, Unsupported> { unreachable!() });
/// assert!(again.unwrap_err().lowering_error::<Unsupported>().is_some());
/// ```
#[derive(Clone)]
pub struct FailureMemory {
    /// How long a failure is remembered.
    pub lasts: Duration,
    /// Most failures that are remembered; the oldest goes first.
    pub most: usize,
    /// Whether lowering the same key again is sure to fail again, from the lowering's own error.
    pub is_deterministic: Arc<IsDeterministic>,
}

type IsDeterministic = dyn Fn(&(dyn Error + Send + Sync + 'static)) -> bool + Send + Sync;

impl fmt::Debug for FailureMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FailureMemory")
            .field("lasts", &self.lasts)
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

/// The failures of one cache.
///
/// **Bounded.** `order` holds the keys of `of_key`, each once, and is cut to the most that are
/// remembered before one is added.
#[derive(Debug)]
pub(crate) struct Failures<K, S> {
    /// Whether there are any: all that a miss reads where there are none.
    any: AtomicBool,
    remembered: Mutex<Remembered<K, S>>,
}

#[derive(Debug)]
struct Remembered<K, S> {
    of_key: HashMap<K, (CacheError, Instant), S>,
    /// The oldest first.
    order: VecDeque<K>,
}

impl<K, S> Failures<K, S>
where
    K: Copy + Eq + Hash,
    S: BuildHasher,
{
    pub(crate) fn new(hasher: S) -> Self {
        let remembered =
            Remembered { of_key: HashMap::with_hasher(hasher), order: VecDeque::new() };
        Self { any: AtomicBool::new(false), remembered: Mutex::new(remembered) }
    }

    /// The failure of `key`, if it is remembered at `now`.
    pub(crate) fn recall(&self, key: &K, now: Instant) -> Option<CacheError> {
        // Relaxed: who misses a failure that is being remembered lowers once more.
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        {
            let remembered = lock(&self.remembered);
            let (error, until) = remembered.of_key.get(key)?;
            if now < *until {
                return Some(error.clone());
            }
        }
        self.forget(key);
        None
    }

    /// Remembers `error` from `now` on, if it is one to remember.
    pub(crate) fn remember(
        &self,
        key: K,
        error: &CacheError,
        memory: &FailureMemory,
        now: Instant,
    ) {
        let CacheError::Lowering(source) = error else { return };
        let Some(until) = now.checked_add(memory.lasts) else { return };
        if memory.most == 0 || may_pass(&***source) || !(memory.is_deterministic)(&***source) {
            return;
        }
        self.forget(&key);
        // Dropped after the lock: an error's drop is the caller's code.
        let mut forgotten = Vec::new();
        let mut remembered = lock(&self.remembered);
        let Remembered { of_key, order } = &mut *remembered;
        while let Some(oldest) = order.front() {
            let is_over = of_key.get(oldest).is_none_or(|(_, until)| *until <= now);
            if order.len() < memory.most && !is_over {
                break;
            }
            forgotten.extend(of_key.remove(oldest));
            order.pop_front();
        }
        order.push_back(key);
        of_key.insert(key, (error.clone(), until));
        self.any.store(true, Ordering::Relaxed);
        drop(remembered);
    }

    pub(crate) fn forget(&self, key: &K) {
        if !self.any.load(Ordering::Relaxed) {
            return;
        }
        let mut remembered = lock(&self.remembered);
        let forgotten = remembered.of_key.remove(key);
        if forgotten.is_some() {
            remembered.order.retain(|other| other != key);
            self.any.store(!remembered.order.is_empty(), Ordering::Relaxed);
        }
        // An error's drop is the caller's code.
        drop(remembered);
    }

    pub(crate) fn clear(&self) {
        let mut remembered = lock(&self.remembered);
        remembered.order.clear();
        self.any.store(false, Ordering::Relaxed);
        let errors: Vec<_> = remembered.of_key.drain().collect();
        drop(remembered);
        drop(errors);
    }
}

/// Whether the cause may be gone at the next attempt.
fn may_pass(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let of_the_cache = error.downcast_ref::<CacheError>();
        if error.is::<std::io::Error>()
            || error.is::<TryReserveError>()
            || of_the_cache.is_some_and(|error| !matches!(error, CacheError::Lowering(_)))
        {
            return true;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests;
