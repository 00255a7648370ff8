//! Digests of what files hold, for tools and for the files that an option names.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::encoding::Domain;
use crate::{Digest, Encoder, KeyError};

/// Folders below a folder whose digest is taken. Deeper is refused.
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
    /// [`KeyError::Unreadable`] when the file cannot be opened or read, or is no file (a pipe or a
    /// device has no content that stays).
    pub fn of_file(path: &Path) -> Result<Self, KeyError> {
        digest_of_file(path)
    }

    /// A digest of every file below a folder: the paths from the folder on, with `/` between
    /// names, and the content of each. Where the folder lies, times, permissions and empty
    /// folders do not count. Links are followed.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unreadable`] when a folder or file cannot be read, a name is not UTF-8, a link
    /// leads back to a folder that it is in, or folders nest more than 64 deep.
    pub fn of_folder(path: &Path) -> Result<Self, KeyError> {
        let mut files = Vec::new();
        list_files(path, "", &mut Vec::new(), &mut files)?;
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
        // Asked before opening: to open a pipe waits for a writer.
        if !path.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
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
    read().map_err(|error| unreadable(path, error))
}

/// Adds the files below `folder` to `files`, each by its name from the first folder on and its
/// path. `above` holds the folders that this one is in, by their real paths.
fn list_files(
    folder: &Path,
    prefix: &str,
    above: &mut Vec<PathBuf>,
    files: &mut Vec<(String, PathBuf)>,
) -> Result<(), KeyError> {
    let here = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
    if above.contains(&here) {
        let again = io::Error::other("it is a link to a folder that it is in");
        return Err(unreadable(folder, again));
    }
    if above.len() > DEEPEST {
        return Err(unreadable(folder, io::Error::other("folders nest more than 64 deep")));
    }
    above.push(here);
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
            list_files(&path, &format!("{name}/"), above, files)?;
        } else {
            files.push((name, path));
        }
    }
    above.pop();
    Ok(())
}

fn unreadable(path: &Path, source: io::Error) -> KeyError {
    KeyError::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests;
