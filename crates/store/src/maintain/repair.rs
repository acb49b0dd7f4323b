//! Repairs: where sound copies are looked for, what was mended from where, and what is left.
//!
//! Nothing is replaced before what replaces it was held to its hash.

use std::path::PathBuf;

use crate::seam::{Damage, Store, Verified};

/// Where sound copies of damaged contents may be.
pub struct RepairSource<'a> {
    /// Its name, for people.
    pub name: String,
    /// A store that may have them.
    pub store: &'a dyn Store,
    /// A folder that may have whole pack files.
    pub packs: Option<PathBuf>,
}

/// One thing that was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// The content, the pack or the part of the database, as text.
    pub object: String,
    /// Where the sound bytes came from, or how it was recomputed.
    pub from: String,
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepairOutcome {
    /// What was mended, in order.
    pub repaired: Vec<Repaired>,
    /// What is still wrong.
    pub remaining: Vec<Damage>,
    /// What was recomputed afterwards.
    pub verified: Verified,
}
