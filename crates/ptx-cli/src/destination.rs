//! Where does an export go, and what may it replace?

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context as _, bail};
use tempfile::NamedTempFile;

/// What a path that the caller named leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Standard output: `-`, or a link to it such as `/dev/stdout`.
    Output,
    /// A fifo or a character device, which takes bytes in order.
    Stream,
    /// Nothing is there.
    NewFile,
    /// A regular file that may be replaced.
    OldFile,
}

impl Destination {
    /// Looks at what is at `to`. Replaces what `is_ours` says of an open file, and with `force` any
    /// regular file, but never a link, a directory, a socket or a disk.
    ///
    /// # Errors
    ///
    /// If what is there must stay.
    pub(crate) fn find(
        to: &Path,
        force: bool,
        is_ours: impl FnOnce(&mut File) -> io::Result<bool>,
    ) -> anyhow::Result<Self> {
        if to == Path::new("-") {
            return Ok(Self::Output);
        }
        let shown = to.display();
        let found = match fs::symlink_metadata(to) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::NewFile),
            Err(error) => return Err(error).with_context(|| format!("cannot look at `{shown}`")),
        };
        let kind = found.file_type();
        if kind.is_symlink() {
            return match fs::metadata(to) {
                Ok(target) if is_standard_output(&target) => Ok(Self::Output),
                Ok(target) if is_stream(target.file_type()) => Ok(Self::Stream),
                _ => bail!("`{shown}` is a link, which stays: name the file that it leads to"),
            };
        }
        if is_stream(kind) {
            return Ok(Self::Stream);
        }
        if kind.is_dir() {
            bail!("`{shown}` is a directory: name a file in it");
        }
        if !kind.is_file() {
            bail!("`{shown}` is not a regular file, and stays: name another path");
        }
        let is_ours = || File::open(to).and_then(|mut file| is_ours(&mut file));
        if force || is_ours().with_context(|| format!("cannot read `{shown}`"))? {
            return Ok(Self::OldFile);
        }
        bail!("`{shown}` is another file: name another path, or replace it with --force")
    }

    /// Writes the file `to` in one step. What was there stays if `write` fails. The permissions
    /// follow the umask.
    pub(crate) fn write_file<T>(
        self,
        to: &Path,
        write: impl FnOnce(&mut NamedTempFile) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let named = || format!("cannot write `{}`", to.display());
        let directory = to.parent().filter(|directory| !directory.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ptx-export-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let directory = directory.unwrap_or(Path::new("."));
        let mut file = builder.tempfile_in(directory).with_context(named)?;
        let written = write(&mut file)?;
        match self {
            Self::OldFile => file.persist(to),
            // Another program may have created the file meanwhile.
            _ => file.persist_noclobber(to),
        }
        .map_err(|error| error.error)
        .with_context(named)?;
        Ok(written)
    }
}

/// Returns true for a fifo and a character device, which have no content to keep.
#[cfg(unix)]
pub(crate) fn is_stream(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    kind.is_fifo() || kind.is_char_device()
}

#[cfg(not(unix))]
pub(crate) fn is_stream(_: FileType) -> bool {
    false
}

/// Returns true if standard output is this file.
#[cfg(unix)]
fn is_standard_output(target: &Metadata) -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let output = io::stdout().as_fd().try_clone_to_owned();
    let output = output.and_then(|output| File::from(output).metadata());
    output.is_ok_and(|output| (output.dev(), output.ino()) == (target.dev(), target.ino()))
}

#[cfg(not(unix))]
fn is_standard_output(_: &Metadata) -> bool {
    false
}
