//! Which policies do we compare with? Those of well-kept libraries, and some without one.

use std::num::NonZeroUsize;

use ptx_cache::Size;

use crate::policy::{Policy, Request};

/// Whether an entry of `bytes` fits into a cache that holds `entries` entries of `held` bytes.
fn fits(budget: Size, entries: usize, held: u64, bytes: u64) -> bool {
    (entries as u64) < budget.entries && held + bytes <= budget.bytes
}

/// The crate `lru`.
pub(crate) struct Lru {
    cache: lru::LruCache<u32, u64>,
    held: u64,
    budget: Size,
}

impl Lru {
    pub(crate) fn new(budget: Size) -> Self {
        Self { cache: lru::LruCache::unbounded(), held: 0, budget }
    }
}

impl Policy for Lru {
    fn request(&mut self, request: &Request) -> bool {
        if self.cache.get(&request.object).is_some() {
            return true;
        }
        if request.bytes <= self.budget.bytes {
            while !fits(self.budget, self.cache.len(), self.held, request.bytes) {
                let Some((_, bytes)) = self.cache.pop_lru() else { break };
                self.held -= bytes;
            }
            self.cache.put(request.object, request.bytes);
            self.held += request.bytes;
        }
        false
    }
}

/// The crate `sieve-cache`.
pub(crate) struct Sieve {
    cache: sieve_cache::SieveCache<u32, u64>,
    held: u64,
    budget: Size,
}

impl Sieve {
    pub(crate) fn new(budget: Size) -> Option<Self> {
        let cache = sieve_cache::SieveCache::new(1 << 16).ok()?;
        Some(Self { cache, held: 0, budget })
    }
}

impl Policy for Sieve {
    fn request(&mut self, request: &Request) -> bool {
        if self.cache.get(&request.object).is_some() {
            return true;
        }
        if request.bytes <= self.budget.bytes {
            while !fits(self.budget, self.cache.len(), self.held, request.bytes) {
                let Some(bytes) = self.cache.evict() else { break };
                self.held -= bytes;
            }
            self.cache.insert(request.object, request.bytes);
            self.held += request.bytes;
        }
        false
    }
}

/// Whether the capacity counts bytes, and the capacity. It counts entries if these are capped.
fn capacity(budget: Size) -> (bool, u64) {
    let by_bytes = budget.entries == Size::UNBOUNDED.entries;
    (by_bytes, if by_bytes { budget.bytes } else { budget.entries })
}

pub(crate) struct Moka(moka::sync::Cache<u32, u64>);

impl Moka {
    pub(crate) fn new(budget: Size) -> Self {
        let (by_bytes, capacity) = capacity(budget);
        let weigher = move |_: &u32, &bytes: &u64| {
            if by_bytes { u32::try_from(bytes).unwrap_or(u32::MAX) } else { 1 }
        };
        Self(moka::sync::Cache::builder().max_capacity(capacity).weigher(weigher).build())
    }
}

impl Policy for Moka {
    fn request(&mut self, request: &Request) -> bool {
        let hit = self.0.get(&request.object).is_some();
        if !hit {
            self.0.insert(request.object, request.bytes);
        }
        // Otherwise its policy lags behind, by how much depends on the machine.
        self.0.run_pending_tasks();
        hit
    }
}

#[derive(Clone)]
pub(crate) struct ByBytes(bool);

impl quick_cache::Weighter<u32, u64> for ByBytes {
    fn weight(&self, _: &u32, bytes: &u64) -> u64 {
        if self.0 { *bytes } else { 1 }
    }
}

pub(crate) struct Quick(quick_cache::unsync::Cache<u32, u64, ByBytes>);

impl Quick {
    pub(crate) fn new(budget: Size, objects: usize) -> Self {
        let (by_bytes, capacity) = capacity(budget);
        Self(quick_cache::unsync::Cache::with_weighter(objects, capacity, ByBytes(by_bytes)))
    }
}

impl Policy for Quick {
    fn request(&mut self, request: &Request) -> bool {
        let hit = self.0.get(&request.object).is_some();
        if !hit {
            self.0.insert(request.object, request.bytes);
        }
        hit
    }
}

/// One resident of [`Scored`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) object: u32,
    pub(crate) bytes: u64,
    /// Seconds that the next miss would cost.
    pub(crate) cost: f64,
    pub(crate) uses: f64,
    /// The place of its next request in the trace.
    pub(crate) next: usize,
    /// [`Scored::age`] at the last use.
    pub(crate) age: f64,
}

impl Resident {
    /// Seconds that it saves for each byte, or for each entry if these are capped.
    fn density(&self, by_bytes: bool) -> f64 {
        if by_bytes { self.cost / self.bytes as f64 } else { self.cost }
    }
}

/// How [`Scored`] scores residents. It evicts the lowest score first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Score {
    /// Uses since its insertion. Among equals the least recently used is the victim.
    Lfu,
    /// GreedyDual-Size-Frequency (Cherkasova, HP Laboratories report 98-69, 1998).
    Gdsf,
    /// Uses × cost ÷ bytes, or ÷ entries if these are capped, without ageing.
    NoAgeing,
    /// The common habit: a full cache keeps the most used half.
    TopK,
    /// Knows the next request of each: evicts the largest distance × bytes ÷ cost first.
    Offline,
}

/// Scores every resident for each eviction: slow, short and exact.
pub(crate) struct Scored {
    score: Score,
    residents: Vec<Resident>,
    held: u64,
    budget: Size,
    /// The score of the last victim.
    age: f64,
}

impl Scored {
    pub(crate) fn new(score: Score, budget: Size) -> Self {
        Self { score, residents: Vec::new(), held: 0, budget, age: 0.0 }
    }

    fn score(&self, resident: &Resident, now: usize) -> f64 {
        let density = resident.density(capacity(self.budget).0);
        match self.score {
            Score::Lfu | Score::TopK => resident.uses,
            Score::Gdsf => resident.age + resident.uses * density,
            Score::NoAgeing => resident.uses * density,
            Score::Offline => density / (resident.next - now) as f64,
        }
    }

    fn evict_one(&mut self, now: usize) {
        let scores = self.residents.iter().map(|resident| self.score(resident, now));
        // Residents are in the order of their last use: the first of equals is the oldest.
        let least = scores.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((position, score)) = least else { return };
        if self.score == Score::Gdsf {
            self.age = score;
        }
        self.held -= self.residents.remove(position).bytes;
    }

    fn make_room(&mut self, bytes: u64, now: usize) {
        while !fits(self.budget, self.residents.len(), self.held, bytes) {
            self.evict_one(now);
            let half = Size { entries: self.budget.entries / 2, bytes: self.budget.bytes / 2 };
            while self.score == Score::TopK
                && !fits(half, self.residents.len(), self.held, 0)
                && !self.residents.is_empty()
            {
                self.evict_one(now);
            }
        }
    }
}

impl Policy for Scored {
    fn request(&mut self, request: &Request) -> bool {
        let Request { object, bytes, cost, next, now } = *request;
        let found = self.residents.iter().position(|resident| resident.object == object);
        let hit = found.map(|position| self.residents.remove(position));
        let uses = hit.map_or(0.0, |resident| resident.uses) + 1.0;
        let is_hit = hit.is_some();
        // The offline bound does not keep what is never requested again.
        let useless = self.score == Score::Offline && next == usize::MAX;
        if is_hit {
            self.held -= bytes;
        } else if bytes > self.budget.bytes || useless {
            return false;
        }
        if self.score == Score::Offline && useless {
            return is_hit;
        }
        if !is_hit {
            self.make_room(bytes, now);
        }
        self.residents.push(Resident { object, bytes, cost, uses, next, age: self.age });
        self.held += bytes;
        is_hit
    }
}

/// S3-FIFO (Yang and others, SOSP 2023): a small queue for new entries, a main queue with second
/// chances, and a ghost queue of what the small queue evicted. No library offers it with a cap on
/// bytes.
pub(crate) struct S3Fifo {
    small: std::collections::VecDeque<u32>,
    main: std::collections::VecDeque<u32>,
    ghosts: lru::LruCache<u32, ()>,
    /// Bytes and uses up to three.
    residents: std::collections::HashMap<u32, (u64, u8)>,
    small_held: u64,
    held: u64,
    budget: Size,
}

impl S3Fifo {
    pub(crate) fn new(budget: Size, objects: usize) -> Self {
        let ghosts = (objects as u64).min(budget.entries).max(1);
        let ghosts = usize::try_from(ghosts).ok().and_then(NonZeroUsize::new);
        Self {
            small: std::collections::VecDeque::new(),
            main: std::collections::VecDeque::new(),
            ghosts: lru::LruCache::new(ghosts.unwrap_or(NonZeroUsize::MIN)),
            residents: std::collections::HashMap::new(),
            small_held: 0,
            held: 0,
            budget,
        }
    }

    fn evict_one(&mut self) {
        let small_is_full = self.small_held * 10 >= self.budget.bytes
            || self.small.len() as u64 * 10 >= self.budget.entries;
        if let Some(object) = small_is_full.then(|| self.small.pop_front()).flatten() {
            let (bytes, uses) = self.residents.get(&object).copied().unwrap_or_default();
            self.small_held -= bytes;
            if uses > 1 {
                self.residents.insert(object, (bytes, 0));
                self.main.push_back(object);
            } else {
                self.ghosts.put(object, ());
                self.residents.remove(&object);
                self.held -= bytes;
            }
            return;
        }
        while let Some(object) = self.main.pop_front() {
            let (bytes, uses) = self.residents.get(&object).copied().unwrap_or_default();
            if uses > 0 {
                self.residents.insert(object, (bytes, uses - 1));
                self.main.push_back(object);
            } else {
                self.residents.remove(&object);
                self.held -= bytes;
                return;
            }
        }
        // The main queue is empty: the small queue evicts its oldest, full or not.
        if let Some(object) = self.small.pop_front() {
            let (bytes, _) = self.residents.remove(&object).unwrap_or_default();
            self.small_held -= bytes;
            self.held -= bytes;
            self.ghosts.put(object, ());
        }
    }
}

impl Policy for S3Fifo {
    fn request(&mut self, request: &Request) -> bool {
        if let Some((_, uses)) = self.residents.get_mut(&request.object) {
            *uses = (*uses + 1).min(3);
            return true;
        }
        if request.bytes > self.budget.bytes {
            return false;
        }
        while !fits(self.budget, self.residents.len(), self.held, request.bytes) {
            self.evict_one();
        }
        if self.ghosts.pop(&request.object).is_some() {
            self.main.push_back(request.object);
        } else {
            self.small.push_back(request.object);
            self.small_held += request.bytes;
        }
        self.residents.insert(request.object, (request.bytes, 0));
        self.held += request.bytes;
        false
    }
}
