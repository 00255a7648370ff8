//! Trains the dictionary that the crate ships: `cargo run --release --example train_dictionary --
//! DIRECTORY FILE`, where DIRECTORY holds PTX files and FILE is the dictionary to write.
//!
//! Of the file names in order, those at even positions are trained on; the others are held out,
//! so that what `examples/measure_compression.rs` says of them can be believed. The same files
//! give the same dictionary.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

/// Bytes of the dictionary: zstd's own default, beyond which PTX gains little.
const SIZE: usize = 112_640;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let (Some(directory), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("give the directory of PTX files and the file to write".into());
    };
    let mut paths = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<PathBuf>, std::io::Error>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    let samples = paths.iter().step_by(2).map(fs::read).collect::<Result<Vec<_>, _>>()?;
    let dictionary = zstd::dict::from_samples(&samples, SIZE)?;
    println!("{} of {} files, {} bytes", samples.len(), paths.len(), dictionary.len());
    fs::write(file, dictionary)?;
    Ok(())
}
