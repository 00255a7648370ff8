//! Crash-safe, self-healing, bounded directory of compiled artifacts shared by processes.

pub mod storage;
