//! The corpus: real PTX files and a real launch trace, kept outside the repository.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lzma_rust2::XzReader;
use serde_json::Value;

use crate::Requirement;

/// The folder that holds the corpus, by `PTX_CORPUS` or `../shared/corpus` beside the repository.
#[derive(Clone, Debug)]
pub struct Corpus {
    folder: PathBuf,
}

/// One file of the corpus.
#[derive(Clone, Debug)]
pub struct PtxFile {
    /// Hexadecimal SHA-256 of the text, as the manifest gives it.
    pub sha256: String,
    /// The kernel's name.
    pub name: String,
    /// The text.
    pub text: Arc<str>,
    /// Bytes of the cubin that `ptxas` made of it.
    pub cubin_bytes: u64,
    /// What `ptxas` took, in milliseconds, once, on a shared machine.
    pub ptxas_ms: f64,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The model that ran.
    pub model: String,
    /// `compiled` or `eager`.
    pub mode: String,
    /// Start in microseconds.
    pub start_us: f64,
    /// The kernel's name.
    pub kernel: String,
}

/// What is wrong with the corpus.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file could not be read.
    #[error("cannot read the corpus file `{}`: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// A file does not hold what the corpus's README says.
    #[error("the corpus file `{}` is not as its README says: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl Corpus {
    /// The corpus, or `None` after saying that the test is skipped.
    pub fn find() -> Option<Self> {
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus");
        let folder = std::env::var_os("PTX_CORPUS").map_or(beside, PathBuf::from);
        if folder.join("manifest.json").is_file() {
            Some(Self { folder })
        } else {
            let why = format!("no corpus in `{}`; set PTX_CORPUS", folder.display());
            Requirement::Corpus.skip(&why)
        }
    }

    /// Every PTX file, sorted by digest.
    ///
    /// # Errors
    ///
    /// Where the archive or the manifest cannot be read or do not fit each other.
    pub fn ptx_files(&self) -> Result<Vec<PtxFile>, CorpusError> {
        let mut texts = self.texts()?;
        let (path, manifest) = self.manifest()?;
        let malformed = |what: String| CorpusError::Malformed { path: path.clone(), what };
        let entries = manifest.get("ptx").and_then(Value::as_array);
        let mut files = Vec::new();
        for entry in entries.ok_or_else(|| malformed("no list `ptx`".to_owned()))? {
            let text_of = |name| entry.get(name).and_then(Value::as_str);
            let (Some(sha256), Some(name), Some(cubin_bytes), Some(ptxas_ms)) = (
                text_of("sha256"),
                text_of("name"),
                entry.get("cubin_bytes").and_then(Value::as_u64),
                entry.get("ptxas_ms").and_then(Value::as_f64),
            ) else {
                return Err(malformed(format!("an entry lacks a field: {entry}")));
            };
            let text = sha256.get(..24).and_then(|stem| texts.remove(stem));
            let text = text.ok_or_else(|| malformed(format!("no file for {sha256}")))?;
            files.push(PtxFile {
                sha256: sha256.to_owned(),
                name: name.to_owned(),
                text,
                cubin_bytes,
                ptxas_ms,
            });
        }
        if let Some(stem) = texts.keys().next() {
            return Err(malformed(format!("it does not list the archive's `{stem}.ptx`")));
        }
        files.sort_by(|a, b| a.sha256.cmp(&b.sha256));
        Ok(files)
    }

    /// Every launch, in start order within its model.
    ///
    /// # Errors
    ///
    /// Where the trace cannot be read.
    pub fn launches(&self) -> Result<Vec<Launch>, CorpusError> {
        let path = self.folder.join("launch_trace.tsv.xz");
        let unreadable = |source| CorpusError::Unreadable { path: path.clone(), source };
        let mut text = String::new();
        let file = File::open(&path).map_err(unreadable)?;
        XzReader::new(file, true).read_to_string(&mut text).map_err(unreadable)?;
        let launch = |line: &str| {
            let mut fields = line.split('\t');
            Some(Launch {
                model: fields.next()?.to_owned(),
                mode: fields.next()?.to_owned(),
                start_us: fields.next()?.parse().ok()?,
                kernel: fields.next()?.to_owned(),
            })
        };
        let parsed = text.lines().map(|line| {
            launch(line).ok_or_else(|| CorpusError::Malformed {
                path: path.clone(),
                what: format!("not a launch: {line}"),
            })
        });
        parsed.collect()
    }

    fn manifest(&self) -> Result<(PathBuf, Value), CorpusError> {
        let path = self.folder.join("manifest.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|source| CorpusError::Unreadable { path: path.clone(), source })?;
        match serde_json::from_str(&text) {
            Ok(manifest) => Ok((path, manifest)),
            Err(error) => Err(CorpusError::Malformed { path, what: error.to_string() }),
        }
    }

    /// Texts by file stem.
    fn texts(&self) -> Result<BTreeMap<String, Arc<str>>, CorpusError> {
        let path = self.folder.join("ptx.tar.xz");
        let unreadable = |source| CorpusError::Unreadable { path: path.clone(), source };
        let file = File::open(&path).map_err(unreadable)?;
        let mut archive = tar::Archive::new(XzReader::new(file, true));
        let mut texts = BTreeMap::new();
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            let name = entry.path().map_err(unreadable)?.into_owned();
            if name.extension().is_some_and(|extension| extension == "ptx") {
                let mut text = String::new();
                entry.read_to_string(&mut text).map_err(unreadable)?;
                let stem = name.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                texts.insert(stem, text.into());
            }
        }
        Ok(texts)
    }
}

#[cfg(test)]
mod tests;
