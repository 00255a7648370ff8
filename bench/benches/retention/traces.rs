//! Which requests are replayed? The corpus's launches in four orders, and synthetic traces.

use std::collections::{BTreeMap, HashMap};

use fastrand::Rng;
use ptx_tests::{Corpus, CorpusError};

/// An object that can be cached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) bytes: u64,
    /// Seconds that lowering it takes.
    pub(crate) lowering: f64,
    /// Variants of a program have the same family.
    pub(crate) family: u32,
}

/// Objects and requests for them.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) name: &'static str,
    pub(crate) objects: Vec<Object>,
    pub(crate) requests: Vec<u32>,
}

const TIMES_OVER: usize = 5;

/// The launches whose PTX is in the corpus, each model five times. The cost of a kernel is the time
/// of `ptxas` for the first file of its name.
///
/// # Errors
///
/// Fails if the corpus cannot be read.
pub(crate) fn real(corpus: &Corpus) -> Result<Vec<Trace>, CorpusError> {
    let mut files = HashMap::new();
    for file in corpus.ptx_files()? {
        files.entry(file.name.clone()).or_insert(file);
    }
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut objects = Vec::new();
    let mut models: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for launch in corpus.launches()? {
        let Some(file) = files.get(&launch.kernel) else { continue };
        let number = *numbers.entry(launch.kernel).or_insert_with(|| {
            let family = u32::try_from(objects.len()).unwrap_or(u32::MAX);
            let bytes = file.text.len() as u64;
            objects.push(Object { bytes, lowering: file.ptxas_ms / 1e3, family });
            family
        });
        models.entry(launch.model).or_default().push(number);
    }
    let models: Vec<Vec<u32>> = models.into_values().collect();
    let repeated: Vec<Vec<u32>> = models.iter().map(|model| model.repeat(TIMES_OVER)).collect();
    // Two models at a time. Each pair alternates by whole runs.
    let phases = models.chunks(2).flat_map(|pair| pair.concat().repeat(TIMES_OVER)).collect();
    let trace = |name, requests| Trace { name, objects: objects.clone(), requests };
    Ok(vec![
        trace("one model after another", repeated.concat()),
        trace("round robin", models.concat().repeat(TIMES_OVER)),
        trace("interleaved at random", interleaved(repeated, &mut Rng::with_seed(1))),
        trace("in phases of two models", phases),
    ])
}

/// Merges parts: each request is the next one of a random part.
fn interleaved(mut parts: Vec<Vec<u32>>, random: &mut Rng) -> Vec<u32> {
    for part in &mut parts {
        part.reverse();
    }
    let mut requests = Vec::new();
    while !parts.is_empty() {
        let part = random.usize(..parts.len());
        match parts[part].pop() {
            Some(request) => requests.push(request),
            None => drop(parts.swap_remove(part)),
        }
    }
    requests
}

/// Objects with sizes and costs as in the corpus: 4 KB to 512 KB, 20 ms to 2 s, loosely related.
fn objects(count: u32, random: &mut Rng) -> Vec<Object> {
    (0..count)
        .map(|family| {
            let size = random.f64() * random.f64() * 7.0;
            let bytes = (4_096 + random.u64(..4_096)) << (size as u64);
            let lowering = 0.02 * (size * random.f64()).exp2() * (1.0 + random.f64());
            Object { bytes, lowering, family }
        })
        .collect()
}

/// `count` draws of ranks below `ranks`, rank `r` with weight `1 / (r + 1)^skew`.
fn zipf(ranks: u32, skew: f64, count: usize, random: &mut Rng) -> Vec<u32> {
    let mut sums = Vec::new();
    let mut sum = 0.0;
    for rank in 0..ranks {
        sum += f64::from(rank + 1).powf(-skew);
        sums.push(sum);
    }
    let last = sums.len() - 1;
    let draw = |at: f64| sums.partition_point(|&below| below < at).min(last) as u32;
    (0..count).map(|_| draw(random.f64() * sum)).collect()
}

/// Twelve traces of some ten thousand requests, the same in every run.
pub(crate) fn synthetic() -> Vec<Trace> {
    let random = &mut Rng::with_seed(7);
    let mut traces = Vec::new();
    let mut add = |name, objects, requests| traces.push(Trace { name, objects, requests });

    let hot = objects(600, random);
    add("Zipf 0.8", hot.clone(), zipf(600, 0.8, 12_000, random));
    add("Zipf 1.1", hot.clone(), zipf(600, 1.1, 12_000, random));
    let uniform = (0..12_000).map(|_| random.u32(..600)).collect();
    add("uniform", hot.clone(), uniform);
    let cycle: Vec<u32> = (0..600).collect();
    add("loop longer than the cache", hot.clone(), cycle.repeat(16));

    // Every fifth request is for an object that has no other request.
    let many = objects(3_000, random);
    let mut next = 600;
    let scanned = zipf(600, 1.0, 12_000, random).into_iter().enumerate().map(|(step, hot)| {
        if step % 5 == 0 {
            next += 1;
            next - 1
        } else {
            hot
        }
    });
    add("Zipf with one-hit requests", many.clone(), scanned.collect());
    let mut bursts = Vec::new();
    for burst in 0..8 {
        bursts.extend(zipf(600, 1.0, 1_200, random));
        bursts.extend(600 + burst * 300..900 + burst * 300);
    }
    add("Zipf with scans", many, bursts);

    let shifted = (0..6).flat_map(|phase| {
        let shift = phase * 97;
        zipf(600, 1.0, 2_000, random).into_iter().map(move |rank| (rank + shift) % 600)
    });
    let shifted = shifted.collect();
    add("phase shifts", hot.clone(), shifted);
    let drifting = zipf(300, 0.9, 12_000, random).into_iter().enumerate();
    let drifting = drifting.map(|(step, rank)| (rank + step as u32 / 40) % 600).collect();
    add("drifting popularity", hot.clone(), drifting);

    // A training step launches the same kernels in the same order. Each epoch ends in an evaluation.
    let mut training = Vec::new();
    for epoch in 0..10 {
        training.extend((0..240).collect::<Vec<u32>>().repeat(4));
        training.extend(240..if epoch % 2 == 0 { 420 } else { 330 });
    }
    add("training and evaluation", hot.clone(), training);

    let programs = zipf(75, 0.9, 12_000, random);
    let variants = programs.iter().map(|program| {
        let variant = (random.f64() * random.f64() * 8.0) as u32;
        program * 8 + variant
    });
    let variants = variants.collect();
    let mut families = hot.clone();
    for (number, object) in (0..).zip(&mut families) {
        object.family = number / 8;
    }
    add("variants of families", families, variants);

    let loops =
        [(0..150).collect::<Vec<u32>>().repeat(32), (150..500).collect::<Vec<_>>().repeat(14)];
    add("two loops interleaved", hot.clone(), interleaved(loops.into(), random));
    let mix = vec![cycle.repeat(10), zipf(600, 1.1, 6_000, random)];
    add("Zipf and a loop interleaved", hot, interleaved(mix, random));
    traces
}
