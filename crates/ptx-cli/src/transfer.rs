//! How do entries get to another machine, or to tools that know no store?

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Read, Seek as _, Write};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use ptx_cuda::Cubin;
use ptx_disk::{Bundle, DiskError, DiskStore, EntryKey};
use ptx_key::{ModuleKey, Target};
use ptx_store::{ArtifactKey, Payload as _};

use crate::destination::{Destination, is_stream};
use crate::{output, store};

/// As many bytes as tell a bundle from other files.
const START: u64 = 8;

/// Writes all entries into one file, or all texts and the cubins for these architectures. The same
/// entries under the same name give the same bytes.
pub(crate) fn export(
    out: &mut dyn Write,
    to: &Path,
    force: bool,
    name: &str,
    architectures: &[Target],
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let store = store::open(directory)?;
    let wanted: Vec<String> =
        architectures.iter().map(|target| format!("sm_{}", target.number)).collect();
    let is_wanted = |key: &EntryKey| {
        let EntryKey::Cubin(key) = key else { return true };
        wanted.is_empty() || architecture(&store, key).is_some_and(|its| wanted.contains(&its))
    };
    let destination = Destination::find(to, force, |file| Ok(Bundle::is_start(&start_of(file)?)))?;
    let named = || format!("cannot write `{}`", to.display());
    let entries = match destination {
        Destination::NewFile | Destination::OldFile => destination.write_file(to, |file| {
            let file = file.as_file().try_clone().with_context(named)?;
            Ok(store.export_to(file, to, name, is_wanted)?)
        })?,
        Destination::Output => {
            ensure!(
                !io::stdout().is_terminal(),
                "a bundle is not for a terminal: redirect the output, or name a file"
            );
            let (entries, mut bundle) = spooled(&store, to, name, is_wanted)?;
            io::copy(&mut bundle, out)?;
            output::tell(format_args!("{entries} entries on standard output"));
            return Ok(());
        }
        Destination::Stream => {
            let mut stream = OpenOptions::new().write(true).open(to).with_context(named)?;
            let found = stream.metadata().with_context(named)?;
            ensure!(is_stream(found.file_type()), "`{}` was replaced meanwhile", to.display());
            let (entries, mut bundle) = spooled(&store, to, name, is_wanted)?;
            io::copy(&mut bundle, &mut stream).with_context(named)?;
            entries
        }
    };
    writeln!(out, "{entries} entries in `{}`", to.display())?;
    Ok(())
}

/// Writes the bundle into a temporary file, since its first bytes depend on all entries. Returns
/// the number of entries and the file, at its start.
fn spooled(
    store: &DiskStore,
    to: &Path,
    name: &str,
    is_wanted: impl Fn(&EntryKey) -> bool,
) -> anyhow::Result<(u64, File)> {
    let mut file = tempfile::tempfile().context(SPOOL)?;
    let entries = store.export_to(file.try_clone().context(SPOOL)?, to, name, is_wanted)?;
    file.rewind().context(SPOOL)?;
    Ok((entries, file))
}

const SPOOL: &str = "cannot use a temporary file: set TMPDIR to a directory with room";

fn start_of(stream: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    stream.take(START).read_to_end(&mut start)?;
    Ok(start)
}

fn architecture(store: &DiskStore, key: &ModuleKey) -> Option<String> {
    let cubin = store::load(store, key).ok()??;
    Some(Cubin::new(cubin.payload).ok()?.architecture())
}

/// Writes each payload into a separate file, `KEY.ptx` or `KEY.cubin`, without the store's header.
pub(crate) fn export_text(
    out: &mut dyn Write,
    to: &Path,
    force: bool,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let store = store::open(directory)?;
    fs::create_dir_all(to)
        .with_context(|| format!("cannot create the directory `{}`", to.display()))?;
    let (mut written, mut left_out) = (0_u64, 0_u64);
    for key in store.keys()? {
        let path = to.join(format!("{key}.{}", key.kind()));
        let is_written = match key {
            EntryKey::Ptx(key) => write_payload(&store, &key, &path, force)?,
            EntryKey::Cubin(key) => write_payload(&store, &key, &path, force)?,
        };
        *if is_written { &mut written } else { &mut left_out } += 1;
    }
    writeln!(out, "{written} files in `{}`; {left_out} entries could not be read", to.display())?;
    Ok(())
}

/// Writes the payload of `key` into the file `path`. Returns false if it cannot be read.
fn write_payload<K: ArtifactKey>(
    store: &DiskStore,
    key: &K,
    path: &Path,
    force: bool,
) -> anyhow::Result<bool> {
    let Ok(Some(artifact)) = store::load(store, key) else { return Ok(false) };
    let payload = artifact.payload.as_bytes();
    let is_same = |file: &mut File| {
        let mut found = Vec::new();
        file.take(payload.len() as u64 + 1).read_to_end(&mut found)?;
        Ok(found == payload)
    };
    let destination = Destination::find(path, force, is_same)?;
    let is_file = matches!(destination, Destination::NewFile | Destination::OldFile);
    ensure!(is_file, "`{}` is not a regular file, and stays: name another path", path.display());
    let named = || format!("cannot write `{}`", path.display());
    destination.write_file(path, |file| file.write_all(payload).with_context(named))?;
    Ok(true)
}

/// Opens a bundle. `-` is standard input. That, a fifo and a device are copied first, since a
/// bundle is not read in order.
pub(crate) fn open_bundle(from: &Path) -> anyhow::Result<Bundle> {
    let shown = from.display();
    let named = || format!("cannot read `{shown}`");
    let mut stream: Box<dyn Read> = if from == Path::new("-") {
        Box::new(io::stdin().lock())
    } else if fs::metadata(from).is_ok_and(|found| is_stream(found.file_type())) {
        Box::new(File::open(from).with_context(named)?)
    } else {
        return Ok(Bundle::open(from)?);
    };
    let no_bundle = || format!("what `{shown}` gives is not a bundle: name one of `ptx export`");
    let start = start_of(&mut stream).with_context(named)?;
    // Before the copy, since a device may never end.
    ensure!(Bundle::is_start(&start), no_bundle());
    let mut copy = tempfile::NamedTempFile::new().context(SPOOL)?;
    copy.write_all(&start).context(SPOOL)?;
    io::copy(&mut stream, &mut copy).with_context(|| format!("cannot copy `{shown}`"))?;
    match Bundle::open(copy.path()) {
        Err(DiskError::NotABundle { .. }) => bail!(no_bundle()),
        opened => Ok(opened?),
    }
}

/// Copies the entries of a bundle into the store.
pub(crate) fn import(
    out: &mut dyn Write,
    bundle: &Path,
    directory: Option<&Path>,
) -> anyhow::Result<()> {
    let bundle = open_bundle(bundle)?;
    let imported = store::create_writable(directory)?.import(&bundle)?;
    writeln!(out, "from `{}`: {} entries added", bundle.name().escape_debug(), imported.added)?;
    writeln!(out, "{} were there already", imported.already_there)?;
    writeln!(out, "{} are there with other content, which stays", imported.kept)?;
    writeln!(out, "{} are damaged, of a newer release, or too large", imported.unusable)?;
    Ok(())
}
