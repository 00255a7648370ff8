//! Measures compression on files that the dictionary was not trained on: `cargo run --release
//! --example measure_compression -- FOLDER`, where FOLDER holds the corpus's PTX files.
//!
//! One line a level: how many times smaller, and megabytes of text a second both ways, one thread,
//! the best of several rounds over all files.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use ptx_disk::{Compression, Kind};

const ROUNDS: usize = 5;
const LEVELS: [i32; 9] = [-1, 1, 3, 5, 6, 7, 9, 12, 19];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os().nth(1).ok_or("give the folder of PTX files")?;
    let mut paths = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    let held_out = paths.iter().skip(1).step_by(2).map(fs::read);
    let texts = held_out.collect::<Result<Vec<_>, _>>()?;
    let bytes: usize = texts.iter().map(Vec::len).sum();
    println!("{} files held out, {bytes} bytes", texts.len());
    println!("{:>6} {:>8} {:>14} {:>14}", "level", "smaller", "encode MB/s", "decode MB/s");
    for (kind, name) in [(Kind::Ptx, "with the dictionary"), (Kind::Cubin, "without")] {
        println!("{name}");
        for level in LEVELS {
            measure(&texts, bytes, kind, level);
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
fn measure(texts: &[Vec<u8>], bytes: usize, kind: Kind, level: i32) {
    let compression = Compression::Zstd { level };
    let (mut encode, mut decode) = (Duration::MAX, Duration::MAX);
    let mut stored_bytes = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let stored: Vec<_> = texts.iter().map(|text| compression.encode(kind, text)).collect();
        encode = encode.min(start.elapsed());
        stored_bytes = stored.iter().map(|(_, frame)| frame.len()).sum();
        let start = Instant::now();
        for ((encoding, frame), text) in stored.iter().zip(texts) {
            let _ = black_box(encoding.decode(frame, text.len() as u64));
        }
        decode = decode.min(start.elapsed());
    }
    let speed = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let ratio = bytes as f64 / stored_bytes as f64;
    println!("{level:>6} {ratio:>8.2} {:>14.0} {:>14.0}", speed(encode), speed(decode));
}
