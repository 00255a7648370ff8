//! What do a policy's misses cost on a trace?

use std::time::Duration;

use ptx_cache::{Cache, CacheError, Computed, Config, Size, Source, Weigh};
use ptx_key::{Digest, PtxKey};

use crate::peers::{Lru, Moka, Quick, S3Fifo, Score, Scored, Sieve};
use crate::policy::{Policy, Request};
use crate::traces::Trace;

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

fn policy(name: &str, budget: Size, trace: &Trace) -> Option<Box<dyn Policy>> {
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

/// The real cache, which is told what each lowering cost.
struct Ours {
    cache: Cache<PtxKey, Text>,
    keys: Vec<PtxKey>,
    families: Vec<Digest>,
}

/// The size of a text. Nothing reads the text.
#[derive(Clone)]
struct Text(u64);

impl Weigh for Text {
    fn weight(&self) -> u64 {
        self.0
    }
}

impl Ours {
    fn new(budget: Size, trace: &Trace) -> Self {
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
        let lower = || {
            Ok::<_, CacheError>(Computed {
                cost: Some(Duration::from_secs_f64(request.cost)),
                family: Some(self.families[object]),
                ..Computed::from(Text(request.bytes))
            })
        };
        self.cache
            .get_or_compute(self.keys[object], lower)
            .is_ok_and(|served| served.source == Source::Memory)
    }
}

/// The result of one replay.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Seconds that misses cost.
    pub(crate) seconds: f64,
    /// The part of these seconds that loading from the lower tier takes.
    pub(crate) loading: f64,
    pub(crate) object_hit_ratio: f64,
    pub(crate) byte_hit_ratio: f64,
}

/// Seconds that the lower tier takes for `bytes`: an open, a read, a digest.
fn load(bytes: u64) -> f64 {
    100e-6 + bytes as f64 * 1e-9
}

/// Replays `trace` through the policy `name`. Returns `None` if there is no such policy.
pub(crate) fn replay(name: &str, budget: Size, trace: &Trace, has_tier: bool) -> Option<Outcome> {
    let mut policy = policy(name, budget, trace)?;
    let next = next_requests(trace);
    let mut in_lower_tier = vec![false; trace.objects.len()];
    let (mut outcome, mut hits, mut hit_bytes, mut bytes) = (Outcome::default(), 0, 0, 0);
    for (now, (&object, next)) in trace.requests.iter().zip(next).enumerate() {
        let about = trace.objects[object as usize];
        bytes += about.bytes;
        let loads = has_tier && std::mem::replace(&mut in_lower_tier[object as usize], true);
        let cost = if has_tier { load(about.bytes) } else { about.lowering };
        if policy.request(&Request { object, bytes: about.bytes, cost, now, next }) {
            hits += 1;
            hit_bytes += about.bytes;
        } else {
            outcome.seconds += if loads { load(about.bytes) } else { about.lowering };
            outcome.loading += if loads { load(about.bytes) } else { 0.0 };
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
