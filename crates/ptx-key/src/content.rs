//! Digests of what files hold, for tools and for the files that an option names.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::encoding::Domain;
use crate::{Digest, Encoder, KeyError};

/// Folders below a folder whose digest is taken: deeper is refused, which also ends a loop.
const DEEPEST: usize = 64;

impl Digest {
    /// The plain SHA-256 of `bytes`, as `sha256sum` prints it.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self::from_bytes(Sha256::digest(bytes).into())
    }

    /// The plain SHA-256 of the bytes in a file, read as a stream.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] when the file cannot be opened or read.
    pub fn of_file(path: &Path) -> Result<Self, KeyError> {
        digest_of_file(path)
    }

    /// A digest of every file below a folder: the paths from the folder on, with `/` between
    /// names, and the content of each. Where the folder lies, times and permissions do not
    /// count. Links are followed.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] when a folder or file cannot be read, a name is not UTF-8, or
    /// folders nest more than 64 deep (as a link to its own parent does).
    pub fn of_folder(path: &Path) -> Result<Self, KeyError> {
        let mut files = Vec::new();
        list_files(path, "", 0, &mut files)?;
        files.sort();
        let mut folder = Encoder::new(Domain::Folder);
        for (name, file) in files {
            folder.str(&name);
            folder.digest(&digest_of_file(&file)?);
        }
        Ok(folder.finish())
    }
}

pub(crate) fn digest_of_file(path: &Path) -> Result<Digest, KeyError> {
    let read = || {
        let mut file = File::open(path)?;
        let mut state = Sha256::new();
        let mut chunk = vec![0_u8; 64 * 1024];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Ok(Digest::from_bytes(state.finalize().into())),
                Ok(count) => state.update(chunk.get(..count).unwrap_or(&chunk)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    };
    read().map_err(|source| KeyError::Unreadable { path: path.to_owned(), source })
}

fn list_files(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), KeyError> {
    let unreadable = |path: &Path, source| KeyError::Unreadable { path: path.to_owned(), source };
    if depth > DEEPEST {
        let deep = io::Error::other("folders nest more than 64 deep");
        return Err(unreadable(folder, deep));
    }
    for entry in folder.read_dir().map_err(|error| unreadable(folder, error))? {
        let entry = entry.map_err(|error| unreadable(folder, error))?;
        let path = entry.path();
        let name = entry
            .file_name()
            .into_string()
            .map_err(|_| unreadable(&path, io::Error::other("the name is not UTF-8")))?;
        let name = format!("{prefix}{name}");
        let metadata = path.metadata().map_err(|error| unreadable(&path, error))?;
        if metadata.is_dir() {
            list_files(&path, &format!("{name}/"), depth + 1, files)?;
        } else if metadata.is_file() {
            files.push((name, path));
        } else {
            let odd = io::Error::other("neither a file nor a folder");
            return Err(unreadable(&path, odd));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
