//! Measures compression: `cargo run --release --example measure_compression -- PTX [CUBINS]`.
//!
//! PTX is a directory with the corpus's files, of which those are taken that the dictionary was not
//! trained on, and CUBINS one with what `ptxas` made of some. One line a way: how many times
//! smaller, and megabytes of content a second both ways, one thread, the best of several rounds
//! over all files. The store's own ways stand beside plain zstd.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use ptx_disk::{Compression, Kind};
use zstd::bulk::{Compressor, Decompressor};

const ROUNDS: usize = 5;
const LEVELS: [i32; 9] = [-1, 1, 3, 5, 6, 7, 9, 12, 19];

fn main() -> Result<(), Box<dyn Error>> {
    let directories: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let texts = contents(directories.first().ok_or("give the directory of PTX files")?, "ptx")?;
    let held_out: Vec<Vec<u8>> = texts.into_iter().skip(1).step_by(2).collect();
    title("texts held out", &held_out);
    for level in LEVELS {
        ours(&format!("with the dictionary, {level}"), &held_out, Kind::Ptx, level);
        theirs(&held_out, level)?;
    }
    if let Some(directory) = directories.get(1) {
        let cubins = contents(directory, "cubin")?;
        title("cubins", &cubins);
        ours("LZ4", &cubins, Kind::Cubin, 1);
        for level in LEVELS {
            theirs(&cubins, level)?;
        }
    }
    Ok(())
}

/// The files with this extension, in the order of their names.
fn contents(directory: &Path, extension: &str) -> io::Result<Vec<Vec<u8>>> {
    let paths = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    paths.iter().map(fs::read).collect()
}

fn title(what: &str, contents: &[Vec<u8>]) {
    let bytes: usize = contents.iter().map(Vec::len).sum();
    println!("{} {what}, {bytes} bytes", contents.len());
    println!("{:<24} {:>8} {:>12} {:>12}", "", "smaller", "encode MB/s", "decode MB/s");
}

fn ours(name: &str, contents: &[Vec<u8>], kind: Kind, level: i32) {
    let encode = |content: &[u8]| {
        let (encoding, stored) = Compression::Zstd { level }.encode(kind, content);
        (encoding, stored.into_owned())
    };
    measure(
        name,
        contents,
        encode,
        |(_, stored)| stored.len(),
        |(encoding, stored), length| {
            drop(black_box(encoding.decode(stored, length as u64)));
        },
    );
}

fn theirs(contents: &[Vec<u8>], level: i32) -> io::Result<()> {
    let (mut compressor, mut decompressor) = (Compressor::new(level)?, Decompressor::new()?);
    let encode = |content: &[u8]| compressor.compress(content).unwrap_or_default();
    measure(&format!("zstd, {level}"), contents, encode, Vec::len, |stored, length| {
        drop(black_box(decompressor.decompress(stored, length)));
    });
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
fn measure<S>(
    name: &str,
    contents: &[Vec<u8>],
    mut encode: impl FnMut(&[u8]) -> S,
    length: impl Fn(&S) -> usize,
    mut decode: impl FnMut(&S, usize),
) {
    let (mut encoding, mut decoding) = (Duration::MAX, Duration::MAX);
    let mut stored_bytes = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let stored: Vec<S> = contents.iter().map(|content| encode(content)).collect();
        encoding = encoding.min(start.elapsed());
        stored_bytes = stored.iter().map(&length).sum();
        let start = Instant::now();
        for (stored, content) in stored.iter().zip(contents) {
            decode(stored, content.len());
        }
        decoding = decoding.min(start.elapsed());
    }
    let bytes = contents.iter().map(Vec::len).sum::<usize>() as f64;
    let speed = |time: Duration| bytes / 1e6 / time.as_secs_f64();
    let ratio = bytes / stored_bytes as f64;
    println!("{name:<24} {ratio:>8.2} {:>12.0} {:>12.0}", speed(encoding), speed(decoding));
}
