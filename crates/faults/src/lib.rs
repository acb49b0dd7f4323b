//! Shows that a store loses nothing: a scripted workload, faults at every one of its operations, and a look at what
//! is left.
//!
//! Not part of the product. `cargo xtask faults` runs all of it; the tests of this crate run a sample.
//!
//! Guide: docs/guide/faults.md.

pub mod check;
pub mod dump;
pub mod ledger;
#[cfg(target_os = "linux")]
pub mod mount;
pub mod parts;
pub mod report;
pub mod script;
pub mod stage;
