//! How does a test cut the power?

mod state;
mod survival;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

pub use survival::Survival;

use super::{FileSystem, Metadata, Storage, StorageFile};
use state::State;

/// A file system in memory, for tests. Clones share it.
///
/// It keeps two states. Every process sees the live one, which outlives a killed process. Only what
/// was synced outlives a power cut. [`stop_after`](Self::stop_after) kills the process within a
/// chosen operation, and [`after_power_cut`](Self::after_power_cut) gives what the next start
/// finds.
#[derive(Clone, Default)]
pub struct MemoryStorage {
    state: Arc<Mutex<State>>,
}

impl MemoryStorage {
    /// An empty file system, with the directory `/`.
    pub fn new() -> Self {
        let storage = Self::default();
        {
            let mut state = storage.state();
            let root = state.new_node(true);
            state.names.insert(PathBuf::from("/"), root);
            state.synced_names.insert(PathBuf::from("/"), root);
        }
        storage
    }

    /// The number of operations so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Kills the process within the operation after the next `count`: half of a write is done, and
    /// nothing of any other operation. All later operations fail.
    pub fn stop_after(&self, count: u64) {
        let mut state = self.state();
        state.stop_after = Some(state.operations.saturating_add(count));
    }

    /// Sets how much of the medium is free and how large it is, in bytes. Writes do not change it.
    pub fn set_room(&self, available: u64, total: u64) {
        self.state().room = Some((available, total));
    }

    /// Returns true if the process was killed.
    pub fn stopped(&self) -> bool {
        let state = self.state();
        state.stop_after.is_some_and(|last| state.operations > last)
    }

    /// What the next process finds after this one was killed.
    #[must_use]
    pub fn after_kill(&self) -> Self {
        self.after_power_cut(Survival::Everything)
    }

    /// What the next start of the machine finds.
    #[must_use]
    pub fn after_power_cut(&self, survival: Survival) -> Self {
        let mut state = self.state().clone();
        state.stop_after = None;
        state.locks.clear();
        survival.apply(&mut state);
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// All files with their bytes.
    pub fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        let file = |(path, number): (&PathBuf, &u64)| {
            let node = state.files.get(number).filter(|node| !node.directory)?;
            Some((path.clone(), node.bytes.clone()))
        };
        state.names.iter().filter_map(file).collect()
    }

    /// The number of locked files.
    pub fn locked_files(&self) -> usize {
        self.state().locks.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, state: &mut State, number: u64) -> Box<dyn StorageFile> {
        let opening = state.new_number();
        Box::new(MemoryFile { storage: self.clone(), number, opening })
    }
}

impl Storage for MemoryStorage {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        state.add(path, true).map(drop)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.state();
        state.operation()?;
        let number = state.add(path, false)?;
        Ok(self.open(&mut state, number))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.state();
        state.operation()?;
        let number = state.number(path)?;
        Ok(self.open(&mut state, number))
    }

    fn open_or_create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        let mut state = self.state();
        state.operation()?;
        let number = match state.number(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => state.add(path, false)?,
            found => found?,
        };
        if state.node(number)?.directory {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(self.open(&mut state, number))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let mut state = self.state();
        state.operation()?;
        let number = state.number(path)?;
        state.metadata(number)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        state.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        if state.names.contains_key(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        state.exchange(one, other)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        let number = state.number(path)?;
        if state.node(number)?.directory {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        state.names.remove(path);
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let mut state = self.state();
        state.operation()?;
        state.directory(directory)?;
        let within = state.names.keys().filter(|path| path.parent() == Some(directory));
        Ok(within.filter_map(|path| path.file_name()).map(OsString::from).collect())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.operation()?;
        state.directory(directory)?;
        let within = |path: &Path| path.parent() == Some(directory);
        state.synced_names.retain(|path, _| !within(path));
        let live: Vec<(PathBuf, u64)> = state
            .names
            .iter()
            .filter(|(path, _)| within(path))
            .map(|(path, number)| (path.clone(), *number))
            .collect();
        state.synced_names.extend(live);
        Ok(())
    }

    fn file_system(&self, _directory: &Path) -> io::Result<FileSystem> {
        let mut state = self.state();
        state.operation()?;
        let (available, total) = state.room.unwrap_or((u64::MAX, u64::MAX));
        Ok(FileSystem { available, total, network: None })
    }
}

struct MemoryFile {
    storage: MemoryStorage,
    number: u64,
    opening: u64,
}

impl StorageFile for MemoryFile {
    fn metadata(&self) -> io::Result<Metadata> {
        let mut state = self.storage.state();
        state.operation()?;
        state.metadata(self.number)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.storage.state();
        state.operation()?;
        let node = state.node(self.number)?;
        if node.directory {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = node.bytes.get(start..).unwrap_or(&[]);
        let count = rest.len().min(buffer.len());
        buffer.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        Ok(count)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let mut state = self.storage.state();
        let outcome = state.operation();
        let done = match outcome {
            Ok(()) => bytes,
            Err(_) if state.dies_in_this_operation() => &bytes[..bytes.len() / 2],
            Err(error) => return Err(error),
        };
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::FileTooLarge)?;
        let node = state.node(self.number)?;
        let end = start.checked_add(done.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        if node.bytes.len() < end {
            node.bytes.resize(end, 0);
        }
        node.bytes.splice(start..end, done.iter().copied());
        node.modified = SystemTime::now();
        outcome.map(|()| done.len())
    }

    fn sync(&self, _everything: bool) -> io::Result<()> {
        let mut state = self.storage.state();
        state.operation()?;
        let node = state.node(self.number)?;
        node.synced_bytes.clone_from(&node.bytes);
        Ok(())
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        let mut state = self.storage.state();
        state.operation()?;
        state.node(self.number)?.modified = time;
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        let mut state = self.storage.state();
        state.operation()?;
        let opening = self.opening;
        let holder = *state.locks.entry(self.number).or_insert(opening);
        Ok(holder == opening)
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        let mut state = self.storage.state();
        if state.locks.get(&self.number) == Some(&self.opening) {
            state.locks.remove(&self.number);
        }
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("MemoryStorage").field("names", &state.names.len()).finish_non_exhaustive()
    }
}
