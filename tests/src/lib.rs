//! What the suites share: the corpus, real tools, child processes, and how a test says that it
//! was skipped.
//!
//! ```no_run
//! use ptx_tests::Corpus;
//!
//! let Some(corpus) = Corpus::find() else { return };
//! for file in corpus.ptx_files().unwrap() {
//!     assert!(file.text.contains(".target"));
//! }
//! ```
//!
//! `lzma-rust2` and `tar` unpack the corpus, `serde_json` reads its manifest, `sha2` checks it,
//! `tempfile` holds what `ptxas` reads and writes.

mod child;
mod corpus;
mod ptxas;
mod requirement;

pub use child::Role;
pub use corpus::{Corpus, CorpusError, Launch, PtxFile};
pub use ptxas::{AssemblyError, Ptxas};
pub use requirement::{Requirement, python3};
