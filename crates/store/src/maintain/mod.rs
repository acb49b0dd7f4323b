//! Maintenance: what keeps a store alive over years, beside the reads and writes of every day.
//!
//! Only what callers ask for and are told; how a backend does it is the backend's.

pub mod collect;
pub mod forget;
pub(crate) mod pack;
