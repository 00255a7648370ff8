use super::*;
use std::sync::Arc;

#[test]
fn an_entry_of_the_ptx_cache_fills_one_cache_line() {
    assert_eq!(size_of::<Slot<ptx_key::PtxKey, Arc<str>>>(), 64);
}
