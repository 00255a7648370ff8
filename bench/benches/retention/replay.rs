//! Replays a trace through a policy and adds up what its misses cost.

use std::time::Duration;

use ptx_cache::{Budget, Cache, CacheError, Config, Made, Origin, Weigh};
use ptx_key::{Digest, PtxKey};

use crate::peers::{Lru, Moka, Quick, S3Fifo, Score, Scored, Sieve};
use crate::traces::Trace;

/// One request as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) object: u32,
    pub(crate) bytes: u64,
    /// Seconds that the next miss would cost.
    pub(crate) cost: f64,
    /// Its place in the trace.
    pub(crate) now: usize,
    /// Where the same object is asked for next; for the offline bound alone.
    pub(crate) next: usize,
}

/// A cache of a bounded size.
pub(crate) trait Policy {
    /// Whether `request` hits. One that does not is kept, if the policy wants.
    fn request(&mut self, request: &Request) -> bool;
}

/// The names of the policies, ours first and the offline bound last.
pub(crate) const NAMES: [&str; 11] = [
    "ours",
    "moka",
    "quick_cache",
    "LRU",
    "LFU",
    "GDSF",
    "S3-FIFO",
    "SIEVE",
    "top-k habit",
    "no ageing",
    "offline",
];

fn policy(name: &str, budget: Budget, trace: &Trace) -> Option<Box<dyn Policy>> {
    let objects = trace.objects.len();
    let scored = |score| Some(Box::new(Scored::new(score, budget)) as Box<dyn Policy>);
    match name {
        "ours" => Some(Box::new(Ours::new(budget, trace))),
        "moka" => Some(Box::new(Moka::new(budget))),
        "quick_cache" => Some(Box::new(Quick::new(budget, objects))),
        "LRU" => Some(Box::new(Lru::new(budget))),
        "LFU" => scored(Score::Lfu),
        "GDSF" => scored(Score::Gdsf),
        "S3-FIFO" => Some(Box::new(S3Fifo::new(budget, objects))),
        "SIEVE" => Some(Box::new(Sieve::new(budget)?)),
        "top-k habit" => scored(Score::TopK),
        "no ageing" => scored(Score::NoAgeing),
        "offline" => scored(Score::Offline),
        _ => None,
    }
}

/// The real cache, told what each making cost.
struct Ours {
    cache: Cache<PtxKey, Text>,
    keys: Vec<PtxKey>,
    families: Vec<Digest>,
}

/// Text that is not there.
#[derive(Clone)]
struct Text(u64);

impl Weigh for Text {
    fn weight(&self) -> u64 {
        self.0
    }
}

impl Ours {
    fn new(budget: Budget, trace: &Trace) -> Self {
        let digest = |number: u32| Digest::of_bytes(&number.to_le_bytes());
        let numbers = 0..u32::try_from(trace.objects.len()).unwrap_or(u32::MAX);
        Self {
            cache: Cache::new(Config::with_budget(budget)),
            keys: numbers.map(|number| PtxKey::from_bytes(*digest(number).as_bytes())).collect(),
            families: trace.objects.iter().map(|object| digest(!object.family)).collect(),
        }
    }
}

impl Policy for Ours {
    fn request(&mut self, request: &Request) -> bool {
        let object = request.object as usize;
        let made = || {
            Ok::<_, CacheError>(Made {
                cost: Some(Duration::from_secs_f64(request.cost)),
                family: Some(self.families[object]),
                ..Made::new(Text(request.bytes))
            })
        };
        self.cache
            .get_or_make(self.keys[object], made)
            .is_ok_and(|served| served.origin == Origin::Memory)
    }
}

/// What one replay came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Seconds that misses cost.
    pub(crate) seconds: f64,
    /// The part of these seconds that the tier beneath took.
    pub(crate) loading: f64,
    pub(crate) object_hit_ratio: f64,
    pub(crate) byte_hit_ratio: f64,
}

/// Seconds that the tier beneath takes for `bytes`: an open, a read, a digest.
fn load(bytes: u64) -> f64 {
    100e-6 + bytes as f64 * 1e-9
}

/// What `name` pays for `trace`; `None` for a policy that there is not.
pub(crate) fn replay(name: &str, budget: Budget, trace: &Trace, has_tier: bool) -> Option<Outcome> {
    let mut policy = policy(name, budget, trace)?;
    let next = next_requests(trace);
    let mut is_below = vec![false; trace.objects.len()];
    let (mut outcome, mut hits, mut hit_bytes, mut bytes) = (Outcome::default(), 0, 0, 0);
    for (now, (&object, next)) in trace.requests.iter().zip(next).enumerate() {
        let about = trace.objects[object as usize];
        bytes += about.bytes;
        let below = has_tier && std::mem::replace(&mut is_below[object as usize], true);
        let cost = if has_tier { load(about.bytes) } else { about.lowering };
        if policy.request(&Request { object, bytes: about.bytes, cost, now, next }) {
            hits += 1;
            hit_bytes += about.bytes;
        } else {
            outcome.seconds += if below { load(about.bytes) } else { about.lowering };
            outcome.loading += if below { load(about.bytes) } else { 0.0 };
        }
    }
    outcome.object_hit_ratio = f64::from(hits) / trace.requests.len() as f64;
    outcome.byte_hit_ratio = hit_bytes as f64 / bytes as f64;
    Some(outcome)
}

fn next_requests(trace: &Trace) -> Vec<usize> {
    let mut coming = vec![usize::MAX; trace.objects.len()];
    let mut next = vec![usize::MAX; trace.requests.len()];
    for (now, &object) in trace.requests.iter().enumerate().rev() {
        next[now] = std::mem::replace(&mut coming[object as usize], now);
    }
    next
}
