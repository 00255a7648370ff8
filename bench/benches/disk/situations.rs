//! What is measured of a store?

use std::fs;
use std::hint::black_box;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptx_bench::{Cell, Report, Spread, in_turn};
use ptx_disk::{Compression, Config, DiskStore};
use ptx_key::{Digest, PtxKey};
use ptx_tests::PtxFile;
use tempfile::TempDir;

use crate::contenders::{CONTENDERS, Contender, IN_BUNDLE, Outcome, Store};

/// Publishes of one sample: so many that each sample has its share of trims and sweeps.
const PUBLISHES: u32 = 256;
const OPENS: u32 = 20;

type Entries = Vec<(PtxKey, Arc<str>)>;

pub(crate) struct Settings {
    pub(crate) rounds: usize,
    /// How many entries the stores have that are opened and written to.
    pub(crate) sizes: &'static [u64],
}

pub(crate) struct Bench {
    pub(crate) corpus: Entries,
    pub(crate) settings: Settings,
    pub(crate) wanted: Vec<String>,
}

/// A store on disk. Drop deletes it.
struct Filled {
    contender: Contender,
    directory: TempDir,
    most: u64,
}

impl Filled {
    fn new(contender: Contender, entries: &Entries, most: u64) -> Outcome<Self> {
        let filled = Self { contender, directory: tempfile::tempdir()?, most };
        filled.open()?.fill(entries)?;
        Ok(filled)
    }

    fn open(&self) -> Outcome<Box<dyn Store>> {
        (self.contender.open)(&self.directory.path().join("store"), self.most)
    }
}

pub(crate) fn entries(files: &[PtxFile]) -> Entries {
    let entry = |file: &PtxFile| (key(file.text.as_bytes()), Arc::clone(&file.text));
    files.iter().map(entry).collect()
}

fn key(content: &[u8]) -> PtxKey {
    PtxKey::from_bytes(*Digest::of_bytes(content).as_bytes())
}

/// Distinct entries of the smallest PTX: they measure what an entry costs beside its bytes.
fn small_entries(numbers: std::ops::Range<u64>) -> Entries {
    let text = |n| format!(".version 8.0\n.target sm_90\n.entry k{n}() {{ ret; }}\n");
    numbers.map(|n| (key(&n.to_le_bytes()), text(n).into())).collect()
}

fn micros(elapsed: Duration, operations: f64) -> f64 {
    elapsed.as_secs_f64() * 1e6 / operations
}

fn load_all(store: &dyn Store, entries: &Entries) -> Outcome {
    for (key, _) in entries {
        black_box(store.load(key)?.ok_or("a published entry is missing")?);
    }
    Ok(())
}

impl Bench {
    fn is_wanted(&self, situation: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|part| situation.contains(part.as_str()))
    }

    /// Runs a situation. `run` returns one sample of the contender with the given number.
    fn measure(
        &self,
        report: &mut Report,
        situation: &str,
        names: &[&str],
        mut run: impl FnMut(usize) -> Outcome<f64>,
    ) -> Outcome {
        let mut failure = None;
        let spreads = in_turn(names.len(), self.settings.rounds, |contender| {
            run(contender).unwrap_or_else(|error| {
                failure = Some(error);
                f64::NAN
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let figures = names.iter().map(|name| (*name).to_owned()).zip(spreads).collect();
        print!("{}", report.add(Cell { situation: situation.to_owned(), figures }));
        Ok(())
    }

    /// Measures a load that opens its store, loads of the corpus by an open store, and by one whose
    /// files are not in the page cache.
    pub(crate) fn loads(&self, report: &mut Report) -> Outcome {
        let situations =
            ["cold load of one", "warm load of the corpus", "load of the corpus from the medium"];
        if !situations.iter().any(|situation| self.is_wanted(situation)) {
            return Ok(());
        }
        let [cold, warm, medium] = situations;
        let fill = |contender| Filled::new(contender, &self.corpus, u64::MAX);
        let mut stores = CONTENDERS.into_iter().map(fill).collect::<Outcome<Vec<_>>>()?;
        let mut names: Vec<&str> = CONTENDERS.iter().map(|contender| contender.name).collect();
        // The store after `ptx trim`, which takes the time to compress harder.
        let trimmed = fill(CONTENDERS[0])?;
        let ours = DiskStore::open(Config::new(trimmed.directory.path().join("store")))?;
        ours.recompress(Compression::Zstd { level: 9 })?;
        let bundled = tempfile::tempdir()?;
        ours.export(&bundled.path().join("bundle"), "corpus", |_| true)?;
        stores.push(trimmed);
        names.push("ptx-disk, trimmed");
        stores.push(Filled { contender: IN_BUNDLE, directory: bundled, most: u64::MAX });
        names.push(IN_BUNDLE.name);
        if self.is_wanted(cold) {
            let mut next = 0;
            self.measure(report, cold, &names, |contender| {
                const LOADS: u32 = 40;
                let mut elapsed = Duration::ZERO;
                for _ in 0..LOADS {
                    next = (next + 7) % self.corpus.len();
                    let started = Instant::now();
                    let store = stores[contender].open()?;
                    black_box(
                        store.load(&self.corpus[next].0)?.ok_or("a published entry is missing")?,
                    );
                    elapsed += started.elapsed();
                }
                Ok(micros(elapsed, f64::from(LOADS)))
            })?;
        }
        if self.is_wanted(warm) {
            let open = stores.iter().map(Filled::open).collect::<Outcome<Vec<_>>>()?;
            self.measure(report, warm, &names, |contender| {
                let started = Instant::now();
                load_all(&*open[contender], &self.corpus)?;
                Ok(micros(started.elapsed(), 1.0))
            })?;
        }
        if self.is_wanted(medium) {
            self.measure(report, medium, &names, |contender| {
                forget(stores[contender].directory.path())?;
                let started = Instant::now();
                load_all(&*stores[contender].open()?, &self.corpus)?;
                Ok(micros(started.elapsed(), 1.0))
            })?;
        }
        Ok(())
    }

    /// Measures how long a new store takes to publish the corpus.
    pub(crate) fn publish_all(&self, report: &mut Report) -> Outcome {
        let situation = "publish of the corpus";
        if !self.is_wanted(situation) {
            return Ok(());
        }
        let names = CONTENDERS.map(|contender| contender.name);
        // ext4 is slow to find an inode after many were freed, so none is freed here.
        let mut directories = Vec::new();
        self.measure(report, situation, &names, |contender| {
            let directory = tempfile::tempdir()?;
            let started = Instant::now();
            let mut store =
                (CONTENDERS[contender].open)(&directory.path().join("store"), u64::MAX)?;
            self.corpus.iter().try_for_each(|(key, text)| store.publish(key, text))?;
            let sample = micros(started.elapsed(), 1.0);
            directories.push(directory);
            Ok(sample)
        })
    }

    /// Measures opening stores of several sizes, and one more publish to each. Only ours has a cap,
    /// and is always at it.
    pub(crate) fn sizes(&self, report: &mut Report) -> Outcome {
        // For entries this small, compression and checks make no difference.
        let is_other = |one: &Contender| !matches!(one.name, "ptx-disk, plain" | "bare files");
        let contenders: Vec<Contender> = CONTENDERS.into_iter().filter(is_other).collect();
        let names: Vec<&str> = contenders.iter().map(|contender| contender.name).collect();
        // ext4 is slow to find an inode after many were freed, so none is freed before the end.
        let mut kept = Vec::new();
        for size in std::iter::once(&0).chain(self.settings.sizes) {
            let opening = format!("open, {size} entries");
            let publishing = format!("one publish, {size} entries");
            if !self.is_wanted(&opening) && !self.is_wanted(&publishing) {
                continue;
            }
            let entries = small_entries(0..*size);
            let cap = if *size == 0 { u64::MAX } else { *size };
            let fill = |contender| Filled::new(contender, &entries, cap);
            let stores = contenders.iter().copied().map(fill).collect::<Outcome<Vec<_>>>()?;
            self.measure(report, &opening, &names, |contender| {
                let started = Instant::now();
                for _ in 0..OPENS {
                    black_box(stores[contender].open()?);
                }
                Ok(micros(started.elapsed(), f64::from(OPENS)))
            })?;
            if *size == 0 {
                kept.push(stores);
                continue;
            }
            let mut next = *size;
            let mut open = stores.iter().map(Filled::open).collect::<Outcome<Vec<_>>>()?;
            self.measure(report, &publishing, &names, |contender| {
                let more = small_entries(next..next + u64::from(PUBLISHES));
                next += u64::from(PUBLISHES);
                let started = Instant::now();
                more.iter().try_for_each(|(key, text)| open[contender].publish(key, text))?;
                Ok(micros(started.elapsed(), f64::from(PUBLISHES)))
            })?;
            kept.push(stores);
        }
        Ok(())
    }

    /// Measures the space that the corpus takes.
    pub(crate) fn space(&self, space: &mut Report, inodes: &mut Report) -> Outcome {
        let situation = "space of the corpus";
        if !self.is_wanted(situation) {
            return Ok(());
        }
        let mut taken = Vec::new();
        for contender in CONTENDERS {
            let filled = Filled::new(contender, &self.corpus, u64::MAX)?;
            taken.push((contender.name.to_owned(), size_of(filled.directory.path())?));
            if contender.name == "ptx-disk" {
                let ours = DiskStore::open(Config::new(filled.directory.path().join("store")))?;
                ours.recompress(Compression::Zstd { level: 9 })?;
                taken.push(("ptx-disk, trimmed".to_owned(), size_of(filled.directory.path())?));
                let bundle = filled.directory.path().join("bundle");
                ours.export(&bundle, "corpus", |_| true)?;
                let bytes = fs::metadata(&bundle)?.len();
                taken.push(("ptx-disk, a bundle".to_owned(), (bytes, bytes, 1)));
            }
        }
        let figures = |pick: fn(&(u64, u64, u32)) -> f64| {
            let figure = |(name, size): &(String, _)| (name.clone(), Spread::of(vec![pick(size)]));
            taken.iter().map(figure).collect()
        };
        let cell = |situation: &str, figures| Cell { situation: situation.to_owned(), figures };
        let bytes = figures(|(bytes, ..)| kibibytes(*bytes));
        print!("{}", space.add(cell("bytes in files", bytes)));
        let blocks = figures(|(_, blocks, _)| kibibytes(*blocks));
        print!("{}", space.add(cell("blocks on disk", blocks)));
        let count = figures(|(.., inodes)| f64::from(*inodes));
        print!("{}", inodes.add(cell(situation, count)));
        Ok(())
    }
}

/// Removes the contents of all files below a directory from the page cache. Metadata stays.
fn forget(directory: &Path) -> Outcome {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            forget(&entry.path())?;
        } else {
            let file = fs::File::open(entry.path())?;
            // The cache cannot drop what is not on the medium.
            file.sync_data()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a few digits are shown")]
fn kibibytes(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// The bytes in files, the bytes in blocks, and the inodes below a directory.
fn size_of(directory: &Path) -> Outcome<(u64, u64, u32)> {
    let mut sum = (0, 0, 0);
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let within =
            if metadata.is_dir() { size_of(&entry.path())? } else { (metadata.len(), 0, 0) };
        sum = (sum.0 + within.0, sum.1 + within.1 + metadata.blocks() * 512, sum.2 + within.2 + 1);
    }
    Ok(sum)
}
