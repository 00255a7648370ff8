//! How does a test let storage operations fail?

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use super::{FileSystem, Metadata, Storage, StorageFile};

/// The operations of [`Storage`] and [`StorageFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named as the method it stands for")]
pub enum Operation {
    CreateDirectory,
    CreateFile,
    OpenFile,
    OpenOrCreateFile,
    Metadata,
    Rename,
    RenameNew,
    Exchange,
    RemoveFile,
    List,
    SyncDirectory,
    FileSystem,
    FileMetadata,
    ReadAt,
    WriteAt,
    Sync,
    SetModified,
    TryLock,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::CreateDirectory,
        Self::CreateFile,
        Self::OpenFile,
        Self::OpenOrCreateFile,
        Self::Metadata,
        Self::Rename,
        Self::RenameNew,
        Self::Exchange,
        Self::RemoveFile,
        Self::List,
        Self::SyncDirectory,
        Self::FileSystem,
        Self::FileMetadata,
        Self::ReadAt,
        Self::WriteAt,
        Self::Sync,
        Self::SetModified,
        Self::TryLock,
    ];
}

/// Called before each operation. An error fails the operation.
type Plan = dyn Fn(Operation) -> Option<io::Error> + Send + Sync;

/// Another storage, some of whose operations fail. For tests.
#[derive(Clone)]
pub struct FaultyStorage {
    inner: Arc<dyn Storage>,
    plan: Arc<Plan>,
    longest_transfer: usize,
}

impl FaultyStorage {
    /// A storage like `inner`, except that `plan` fails operations.
    pub fn new(
        inner: Arc<dyn Storage>,
        plan: impl Fn(Operation) -> Option<io::Error> + Send + Sync + 'static,
    ) -> Self {
        Self { inner, plan: Arc::new(plan), longest_transfer: usize::MAX }
    }

    /// Transfers at most `bytes` in one read or write, as a system may.
    #[must_use]
    pub fn with_short_transfers(mut self, bytes: usize) -> Self {
        self.longest_transfer = bytes.max(1);
        self
    }

    fn ask(&self, operation: Operation) -> io::Result<()> {
        (self.plan)(operation).map_or(Ok(()), Err)
    }

    fn wrap(&self, inner: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        Box::new(FaultyFile { inner, storage: self.clone() })
    }
}

impl Storage for FaultyStorage {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.ask(Operation::CreateDirectory)?;
        self.inner.create_directory(path)
    }

    fn create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.ask(Operation::CreateFile)?;
        Ok(self.wrap(self.inner.create_file(path)?))
    }

    fn open_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.ask(Operation::OpenFile)?;
        Ok(self.wrap(self.inner.open_file(path)?))
    }

    fn open_or_create_file(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        self.ask(Operation::OpenOrCreateFile)?;
        Ok(self.wrap(self.inner.open_or_create_file(path)?))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.ask(Operation::Metadata)?;
        self.inner.metadata(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Operation::Rename)?;
        self.inner.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.ask(Operation::RenameNew)?;
        self.inner.rename_new(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        self.ask(Operation::Exchange)?;
        self.inner.exchange(one, other)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.ask(Operation::RemoveFile)?;
        self.inner.remove_file(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        self.ask(Operation::List)?;
        self.inner.list(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.ask(Operation::SyncDirectory)?;
        self.inner.sync_directory(directory)
    }

    fn file_system(&self, directory: &Path) -> io::Result<FileSystem> {
        self.ask(Operation::FileSystem)?;
        self.inner.file_system(directory)
    }
}

struct FaultyFile {
    inner: Box<dyn StorageFile>,
    storage: FaultyStorage,
}

impl StorageFile for FaultyFile {
    fn metadata(&self) -> io::Result<Metadata> {
        self.storage.ask(Operation::FileMetadata)?;
        self.inner.metadata()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.storage.ask(Operation::ReadAt)?;
        let length = buffer.len().min(self.storage.longest_transfer);
        self.inner.read_at(buffer.get_mut(..length).unwrap_or_default(), offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.storage.ask(Operation::WriteAt)?;
        let length = bytes.len().min(self.storage.longest_transfer);
        self.inner.write_at(bytes.get(..length).unwrap_or_default(), offset)
    }

    fn sync(&self, everything: bool) -> io::Result<()> {
        self.storage.ask(Operation::Sync)?;
        self.inner.sync(everything)
    }

    fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.storage.ask(Operation::SetModified)?;
        self.inner.set_modified(time)
    }

    fn try_lock(&self) -> io::Result<bool> {
        self.storage.ask(Operation::TryLock)?;
        self.inner.try_lock()
    }
}

impl fmt::Debug for FaultyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyStorage").field("inner", &self.inner).finish_non_exhaustive()
    }
}
