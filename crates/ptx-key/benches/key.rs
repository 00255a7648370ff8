//! What does a key cost for a configuration, and for a program by its size?
//!
//! `cargo bench -p ptx-key --bench key` prints the median of eleven rounds, in nanoseconds.

#![allow(missing_docs, reason = "a benchmark has no public API")]

use std::hint::black_box;
use std::time::Instant;

use ptx_key::{
    CompilerOption, Configuration, Contract, Digest, DispatchPolicy, Feature, FeatureFlags,
    Identity, KeyBuilder, KeyError, Lanes, ProgramDigests, Toolchain,
};

const ROUNDS: usize = 11;
/// Bytes that one statement of [`Statements`] writes to a lane.
const STATEMENT: usize = 57;

/// A program of many small tokens, as a walk of an IR writes them.
struct Statements(usize);

impl Identity for Statements {
    fn identify(&self, lanes: &mut Lanes) {
        for number in 0..self.0 as u64 {
            // The open token has 14 bytes, the values 9, 13, 9 and 11, the close token 1.
            lanes.record("store", |lanes| {
                lanes.u64(number);
                lanes.str("f32x");
                lanes.u64(7);
                lanes.str("ab");
            });
        }
    }
}

/// A program of one text.
struct Text(String);

impl Identity for Text {
    fn identify(&self, lanes: &mut Lanes) {
        lanes.str(&self.0);
    }
}

/// Nanoseconds for one call: the median of rounds of about two milliseconds.
fn nanoseconds<T>(mut call: impl FnMut() -> T) -> f64 {
    let start = Instant::now();
    black_box(call());
    let calls = (2_000_000 / start.elapsed().as_nanos().max(1)).clamp(1, 100_000) as u32;
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(call());
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn main() -> Result<(), KeyError> {
    let plain = Configuration {
        contract: Contract::new("back-end", 1),
        target: "sm_90a".parse()?,
        isa: "8.0".parse()?,
        subgroup_size: 32,
        policy: DispatchPolicy::default(),
        features: FeatureFlags::of([Feature::SubgroupOps, Feature::F16]),
        toolchain: None,
    };
    let toolchain = Toolchain::new("nvcc", "13.0.88", Digest::of_bytes(b"nvcc"))
        .option(CompilerOption::flag("-O3")?)
        .option_in_any_order(CompilerOption::flag("--use_fast_math")?)
        .content("cuda_fp16.h", Digest::of_bytes(b"header"));
    let with_toolchain = Configuration { toolchain: Some(toolchain), ..plain.clone() };

    println!("| step | ns |\n| --- | --- |");
    for (name, configuration) in [("plain", &plain), ("with a toolchain", &with_toolchain)] {
        let cost = nanoseconds(|| KeyBuilder::new(configuration));
        println!("| digest a configuration, {name} | {cost:.0} |");
    }
    let keys = KeyBuilder::new(&plain)?;
    let digests = ProgramDigests::from(&Statements(1));
    println!("| key of program digests | {:.0} |", nanoseconds(|| keys.key(digests)));

    println!(
        "\n| program | size of a lane | ns for a key | ns for a KB |\n| --- | --- | --- | --- |"
    );
    // 4, 20 and 877 KB are the smallest, median and largest of the corpus.
    for kilobytes in [1_u32, 4, 20, 877] {
        let bytes = kilobytes as usize * 1024;
        let statements = Statements(bytes / STATEMENT);
        let text = Text("x".repeat(bytes));
        let per = |cost: f64| cost / f64::from(kilobytes);
        for (name, cost) in [
            ("statements", nanoseconds(|| keys.key(&statements))),
            ("statements, normalized lane alone", {
                nanoseconds(|| keys.key(ProgramDigests::normalized_of(&statements)))
            }),
            ("one text", nanoseconds(|| keys.key(&text))),
        ] {
            println!("| {name} | {kilobytes} KB | {cost:.0} | {:.0} |", per(cost));
        }
    }
    Ok(())
}
