//! What the file system, other programs and the death of processes may do to a store, and that
//! none of it gives wrong text, a panic or a hang.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod accounting;
mod bounds;
mod bundles;
mod claims;
mod conflicts;
mod conformance;
mod crash;
mod damage;
mod degradation;
mod faults;
mod fixture;
mod location;
mod races;
mod reader;
