//! Which names and files are there?

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::storage::{Access, FileIdentity, FileKind, Metadata};

#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) names: BTreeMap<PathBuf, u64>,
    pub(super) synced_names: BTreeMap<PathBuf, u64>,
    pub(super) files: HashMap<u64, Node>,
    pub(super) locks: HashMap<u64, u64>,
    pub(super) last_number: u64,
    pub(super) operations: u64,
    pub(super) stop_after: Option<u64>,
    pub(super) room: Option<(u64, u64)>,
}

#[derive(Clone)]
pub(super) struct Node {
    pub(super) directory: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) synced_bytes: Vec<u8>,
    pub(super) modified: SystemTime,
}

impl State {
    pub(super) fn new_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn new_node(&mut self, directory: bool) -> u64 {
        let number = self.new_number();
        let modified = SystemTime::now();
        let node = Node { directory, bytes: Vec::new(), synced_bytes: Vec::new(), modified };
        self.files.insert(number, node);
        number
    }

    /// Counts an operation. Fails once the process is dead.
    pub(super) fn operation(&mut self) -> io::Result<()> {
        self.operations += 1;
        match self.stop_after {
            Some(last) if self.operations > last => Err(io::Error::other("the process is dead")),
            _ => Ok(()),
        }
    }

    pub(super) fn dies_in_this_operation(&self) -> bool {
        self.stop_after.is_some_and(|last| self.operations == last + 1)
    }

    pub(super) fn number(&self, path: &Path) -> io::Result<u64> {
        self.names.get(path).copied().ok_or_else(|| {
            let parent = path.parent().and_then(|parent| self.names.get(parent));
            match parent.and_then(|number| self.files.get(number)) {
                Some(node) if !node.directory => io::ErrorKind::NotADirectory.into(),
                _ => io::ErrorKind::NotFound.into(),
            }
        })
    }

    pub(super) fn node(&mut self, number: u64) -> io::Result<&mut Node> {
        self.files.get_mut(&number).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn add(&mut self, path: &Path, directory: bool) -> io::Result<u64> {
        if self.names.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.directory(path.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        let number = self.new_node(directory);
        self.names.insert(path.to_owned(), number);
        Ok(number)
    }

    pub(super) fn directory(&mut self, path: &Path) -> io::Result<()> {
        let number = self.number(path)?;
        if self.node(number)?.directory { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let from_number = self.number(from)?;
        self.directory(to.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
        if let Some(number) = self.names.get(to).copied() {
            // As on a real system, which replaces only empty directories, by directories.
            match (self.node(from_number)?.directory, self.node(number)?.directory) {
                (false, false) => {}
                (false, true) => return Err(io::ErrorKind::IsADirectory.into()),
                (true, false) => return Err(io::ErrorKind::NotADirectory.into()),
                (true, true) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            }
        }
        let moved: Vec<PathBuf> =
            self.names.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            let behind = path.strip_prefix(from).map_err(io::Error::other)?;
            let new = if behind.as_os_str().is_empty() { to.to_owned() } else { to.join(behind) };
            if let Some(number) = self.names.remove(&path) {
                self.names.insert(new, number);
            }
        }
        Ok(())
    }

    pub(super) fn exchange(&mut self, one: &Path, other: &Path) -> io::Result<()> {
        let numbers = [self.number(one)?, self.number(other)?];
        for number in numbers {
            if self.node(number)?.directory {
                return Err(io::ErrorKind::IsADirectory.into());
            }
        }
        let [first, second] = numbers;
        self.names.insert(one.to_owned(), second);
        self.names.insert(other.to_owned(), first);
        Ok(())
    }

    pub(super) fn metadata(&mut self, number: u64) -> io::Result<Metadata> {
        let node = self.node(number)?;
        Ok(Metadata {
            kind: if node.directory { FileKind::Directory } else { FileKind::File },
            length: node.bytes.len() as u64,
            modified: node.modified,
            identity: FileIdentity { device: 1, inode: number },
            access: Access { mine: true, writable_by_all: false },
        })
    }
}
