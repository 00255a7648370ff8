//! What is the digest of bytes, of a file, of a directory?

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::encoding::{Domain, hash};
use crate::{Digest, KeyError};

/// Deeper directories are refused: no tree of headers nests so deep, and the walk is recursive.
const MAX_DEPTH: usize = 64;
/// Bytes of a file that are in memory at once.
const CHUNK: usize = 64 * 1024;

impl Digest {
    /// Digests bytes with plain SHA-256, as `sha256sum` does.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_bytes(Sha256::digest(bytes).into())
    }

    /// Digests the bytes of a file with plain SHA-256. It reads the file as a stream.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] if the file cannot be opened or read, or `path` is a directory, a
    /// pipe or a device.
    pub fn of_file(path: &Path) -> Result<Self, KeyError> {
        sha256_of_file(path).map_err(|source| unreadable(path, source))
    }

    /// Digests every file below a directory: its path from that directory and its content.
    ///
    /// Names are joined by `/` on every platform. The directory's own path, times, permissions and
    /// empty directories do not count. Links are followed.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] if a directory or a file cannot be read, a name is not UTF-8, a
    /// link leads back to a directory that contains it, or directories nest more than 64 deep.
    pub fn of_directory(path: &Path) -> Result<Self, KeyError> {
        let mut files = Vec::new();
        list_files(path, "", &mut Vec::new(), &mut files)?;
        files.sort();
        let contents = files
            .into_iter()
            .map(|(name, file)| Ok((name, Self::of_file(&file)?)))
            .collect::<Result<Vec<_>, KeyError>>()?;
        Ok(hash(Domain::Directory, |directory| {
            for (name, content) in &contents {
                directory.str(name);
                directory.digest(content);
            }
        }))
    }
}

pub(crate) fn sha256_of_file(path: &Path) -> io::Result<Digest> {
    // Asked before opening: to open a pipe waits for a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut file = File::open(path)?;
    let mut state = Sha256::new();
    let mut chunk = Vec::with_capacity(CHUNK);
    while file.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)? > 0 {
        state.update(&chunk);
        chunk.clear();
    }
    Ok(Digest::from_bytes(state.finalize().into()))
}

/// Adds the files below `directory` to `files`, each by its name from the first directory and its
/// path. `parents` holds the real paths of the directories that contain this one.
fn list_files(
    directory: &Path,
    prefix: &str,
    parents: &mut Vec<PathBuf>,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), KeyError> {
    let here = directory.canonicalize().map_err(|source| unreadable(directory, source))?;
    let refused = |reason| Err(unreadable(directory, io::Error::other(reason)));
    if parents.contains(&here) {
        return refused("this link leads back to a directory that contains it");
    }
    if parents.len() > MAX_DEPTH {
        return refused("directories nest more than 64 deep");
    }
    parents.push(here);
    for entry in directory.read_dir().map_err(|source| unreadable(directory, source))? {
        let entry = entry.map_err(|source| unreadable(directory, source))?;
        let path = entry.path();
        let name = entry
            .file_name()
            .into_string()
            .map_err(|_| unreadable(&path, io::Error::other("the name is not UTF-8")))?;
        let name = format!("{prefix}{name}");
        let metadata = path.metadata().map_err(|source| unreadable(&path, source))?;
        if metadata.is_dir() {
            list_files(&path, &format!("{name}/"), parents, files)?;
        } else {
            files.push((name, path));
        }
    }
    parents.pop();
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> KeyError {
    KeyError::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
