//! What does a miss of many threads cost hits on other keys? Sixty-four threads request a key whose
//! lowering takes 50 ms, while another thread hits keys of the same shard.

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use ptx_bench::Report;
use ptx_cache::{Computed, Source};
use ptx_key::PtxKey;

use crate::contenders::ours;
use crate::workload::text;

const REQUESTERS: u64 = 64;
const LOWERING: Duration = Duration::from_millis(50);
const KEYS: u64 = 256;

/// A key of one shard: the bytes that choose the shard are the same in all.
fn neighbour(number: u64) -> PtxKey {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&number.to_le_bytes()[..2]);
    bytes[7] = number.to_le_bytes()[0];
    PtxKey::from_bytes(bytes)
}

/// Reports the median and high percentiles of a hit, with and without a concurrent lowering.
pub(crate) fn report(report: &mut Report, rounds: usize) {
    let (mut alone, mut concurrent) = (Vec::new(), Vec::new());
    let (mut lowered, mut coalesced) = (0, 0);
    for _ in 0..rounds {
        let cache = ours(1024);
        for number in 0..KEYS {
            cache.insert(neighbour(number), Computed::from(text(number)));
        }
        let hits = |until: Instant, nanos: &mut Vec<u64>| {
            for number in (0..KEYS).cycle() {
                let began = Instant::now();
                black_box(cache.with(&neighbour(number), |text| text.as_bytes()[0]));
                let ended = Instant::now();
                nanos.push(u64::try_from((ended - began).as_nanos()).unwrap_or(u64::MAX));
                if ended > until {
                    break;
                }
            }
        };
        hits(Instant::now() + LOWERING, &mut alone);
        let start = Barrier::new(usize::try_from(REQUESTERS).unwrap_or(usize::MAX) + 1);
        thread::scope(|scope| {
            let requesters: Vec<_> = (0..REQUESTERS)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let lower = || {
                            thread::sleep(LOWERING);
                            Ok::<_, std::fmt::Error>(Computed::from(text(KEYS)))
                        };
                        cache.get_or_compute(neighbour(KEYS), lower).map(|served| served.source)
                    })
                })
                .collect();
            start.wait();
            hits(Instant::now() + LOWERING, &mut concurrent);
            for source in
                requesters.into_iter().filter_map(|requester| requester.join().ok()).flatten()
            {
                lowered += u64::from(source == Source::Computed);
                coalesced += u64::from(source == Source::Shared);
            }
        });
    }
    report.note(format!(
        "single flight: {REQUESTERS} threads request one key, {rounds} times: {lowered} lowerings, \
         {coalesced} coalesced"
    ));
    for (name, mut nanos) in [("without", alone), ("with", concurrent)] {
        nanos.sort_unstable();
        let at = |share: usize| nanos.get(nanos.len().saturating_sub(1) * share / 1000);
        report.note(format!(
            "single flight: a hit in the same shard, {name} a lowering: median {} ns, p99 {} ns, \
             p99.9 {} ns, including two readings of the clock",
            at(500).unwrap_or(&0),
            at(990).unwrap_or(&0),
            at(999).unwrap_or(&0),
        ));
    }
}
