//! What can go wrong, and what can be wrong with a stored file?

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptx_store::EntryKey;

/// Why a store could not be opened, or could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DiskError {
    /// The file system refused an operation. The store works without it and retries later.
    #[error("cannot {operation} `{}`", path.display())]
    Storage {
        /// The operation.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        #[source]
        cause: Arc<io::Error>,
    },
    /// An earlier failure turned this part of the store off for a while.
    #[error(
        "the store at `{}` is off for a while after an earlier failure, and retries by itself", root.display()
    )]
    Degraded {
        /// The store's directory.
        root: PathBuf,
    },
    /// Another process is trimming the store.
    #[error(
        "another process is trimming the store at `{}`: retry when it is done",
        root.display()
    )]
    Trimming {
        /// The store's directory.
        root: PathBuf,
    },
    /// The store is off, read-only, or has no directory.
    #[error("the store is off or read-only: set PTX_CACHE=rw, and PTX_CACHE_DIR to a directory")]
    NotWritable,
    /// Writing would leave others too little of the disk.
    #[error(
        "only {available} bytes are free at `{}`, where {reserve} stay free for others and {bytes} are \
         wanted: make room, or lower PTX_CACHE_FREE_BYTES", root.display()
    )]
    NoRoom {
        /// The store's directory.
        root: PathBuf,
        /// Free bytes.
        available: u64,
        /// What the store leaves free.
        reserve: u64,
        /// What was to be written.
        bytes: u64,
    },
    /// The store's path is a file.
    #[error("the store's path `{}` is not a directory: name another path, or move the file away", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file is no bundle that this release reads.
    #[error("`{}` is not a bundle, is damaged, or is of a newer release: export it again", path.display())]
    NotABundle {
        /// The file.
        path: PathBuf,
    },
    /// Another user owns the store's directory and can put code into it.
    #[error(
        "the store's directory `{}` belongs to another user: name another directory, or allow sharing \
         if you trust everyone who can write there", path.display()
    )]
    OwnedByAnother {
        /// The directory.
        path: PathBuf,
    },
    /// Every user of the machine can write the store's directory and put code into it.
    #[error(
        "every user can write the store's directory `{}`: remove that right (chmod o-w), name \
         another directory, or allow sharing if you trust everyone", path.display()
    )]
    WritableByAll {
        /// The directory.
        path: PathBuf,
    },
    /// A setting has an invalid value.
    #[error("the setting {name}=`{value}` cannot be used: {expected}")]
    BadSetting {
        /// The variable or field.
        name: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An entry is larger than the store keeps.
    #[error(
        "{key} has {bytes} bytes, more than the {most} that this store keeps in one entry: raise \
         PTX_CACHE_ENTRY_BYTES"
    )]
    TooLarge {
        /// The entry's key.
        key: EntryKey,
        /// Its bytes.
        bytes: u64,
        /// The most that are kept.
        most: u64,
    },
    /// An entry's attributes are more or longer than the format allows.
    #[error("the attributes of {key} do not fit into a header: give fewer or shorter ones")]
    AttributesTooLong {
        /// The entry's key.
        key: EntryKey,
    },
    /// An entry of a bundle is damaged. An entry of a store is quarantined instead.
    #[error("the entry of {key} in `{}` cannot be used: export the bundle again", path.display())]
    Damaged {
        /// The bundle.
        path: PathBuf,
        /// The entry's key.
        key: EntryKey,
        /// What is wrong with it.
        #[source]
        damage: Damage,
    },
}

impl DiskError {
    pub(crate) fn storage(operation: &'static str, path: &Path, cause: io::Error) -> Self {
        Self::Storage { operation, path: path.to_owned(), cause: Arc::new(cause) }
    }
}

/// Shows an error and its sources in one line, for a warning that nobody asks for its sources.
pub(crate) struct WithSources<'a>(pub(crate) &'a dyn Error);

impl fmt::Display for WithSources<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// Adds the operation and the path to an error.
pub(crate) trait OnPath<T> {
    fn on(self, operation: &'static str, path: &Path) -> Result<T, DiskError>;
}

impl<T> OnPath<T> for io::Result<T> {
    fn on(self, operation: &'static str, path: &Path) -> Result<T, DiskError> {
        self.map_err(|error| DiskError::storage(operation, path, error))
    }
}

/// What is wrong with a stored file. The file is quarantined, and the artifact is computed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// A link, a directory, a pipe or the like has the file's name.
    #[error("it is not a regular file")]
    NotAFile,
    /// It does not begin as an entry does.
    #[error("it is no entry of a store")]
    NotAnEntry,
    /// It ends too early.
    #[error("it is cut short")]
    CutShort,
    /// Its payload has another length than its header says.
    #[error("its length is not what its header says")]
    Length,
    /// Its header does not match its digest, or has values that no release writes.
    #[error("its header is damaged")]
    Header,
    /// It is larger than this store reads.
    #[error("it is larger than the store allows")]
    TooLarge,
    /// It is the entry of another key.
    #[error("it belongs to another key")]
    WrongKey,
    /// Its stored bytes do not match their digest.
    #[error("its payload is damaged")]
    Payload,
    /// Its stored bytes do not decode to what the header says.
    #[error("its payload does not decode")]
    Decoding,
    /// It is no UTF-8, which PTX text must be.
    #[error("its text is not UTF-8")]
    NotText,
    /// The medium cannot read its bytes.
    #[error("the medium cannot read it")]
    Medium,
}
