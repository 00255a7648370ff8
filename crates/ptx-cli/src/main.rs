//! The binary `ptx`.
fn main() {}
