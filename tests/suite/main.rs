//! Suites that cross crates, in files named by the property they prove.

mod corpus_is_whole;
mod disk_processes;
mod emitted_ptx_assembles;
