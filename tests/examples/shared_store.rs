//! Two processes share a store: one lowers, the other waits for it and loads the text.

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ptx_cache::{Config, PtxCache, WritePolicy};
use ptx_disk::DiskStore;
use ptx_key::{Digest, PtxKey};

/// What each process does. Returns where its text came from.
fn work(store: &Path) -> Result<String, Box<dyn Error>> {
    let disk = Arc::new(DiskStore::open(ptx_disk::Config::new(store))?);
    let cache = PtxCache::with_tiers(Config::default(), vec![disk], WritePolicy::Ignore);
    let key = PtxKey::from_bytes(*Digest::of_bytes(b"add").as_bytes());
    let served = cache.get_or_lower(&key, || {
        std::thread::sleep(Duration::from_millis(300));
        Ok::<_, std::fmt::Error>(".version 8.0\n.target sm_90\n")
    })?;
    Ok(served.source.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(store) = env::args_os().nth(1) {
        println!("{}", work(Path::new(&store))?);
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let store = directory.path().join("store");
    let start = || {
        let mut process = Command::new(env::current_exe()?);
        process.arg(&store).stdout(Stdio::piped()).spawn()
    };
    let processes = [start()?, start()?];
    let outputs = processes.map(Child::wait_with_output);
    for (number, output) in outputs.into_iter().enumerate() {
        let source = String::from_utf8(output?.stdout)?;
        println!("process {number}: from {}", source.trim());
    }
    Ok(())
}
