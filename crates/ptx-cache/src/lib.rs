//! In-memory PTX cache: lock-free hits, one lowering per key, exact byte accounting.
