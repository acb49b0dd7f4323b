//! Maintenance: what keeps a store small and alive over years, beside the reads and writes of every day.
//!
//! Only what callers ask for and are told; how a backend does it is the backend's.
//!
//! What expires and when: docs/guide/keeping-and-forgetting.md.

pub mod backup;
pub mod collect;
pub mod costs;
pub mod forget;
pub mod migrate;
pub(crate) mod pack;
pub mod repair;
pub mod surroundings;
