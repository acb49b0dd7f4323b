//! A ledger of files under faults: a scripted workload, and what must hold after anything went wrong with it.
//!
//! The tests of the store run a sample, `cargo xtask faults ledger` all of it. The store's own engine of ledgers is not
//! tried here.

pub mod faults;
pub mod kills;
pub mod script;

use stemmata_store::Finding;

/// What came of a run.
#[derive(Debug, Clone, Default)]
pub struct Tried {
    /// Operations that faults were placed at, or appends that were acknowledged.
    pub operations: u64,
    /// Faults that came.
    pub faults: u64,
    /// Ledgers that were opened and looked through.
    pub states: u64,
    /// What was promised and is not there.
    pub lost: Vec<String>,
    /// What cannot be read or done.
    pub unreadable: Vec<String>,
    /// Errors that do not say what is wrong.
    pub unclear: Vec<String>,
}

impl Tried {
    /// Returns all that is wrong.
    pub fn wrong(&self) -> Vec<&String> {
        self.lost.iter().chain(&self.unreadable).chain(&self.unclear).collect()
    }

    /// Adds what came of another run.
    pub fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.faults += other.faults;
        self.states += other.states;
        self.lost.extend(other.lost);
        self.unreadable.extend(other.unreadable);
        self.unclear.extend(other.unclear);
    }
}

/// Says whether a crash may leave what was found: no damage, and nothing that a person has to look at.
pub const fn is_harmless(finding: &Finding) -> bool {
    matches!(finding, Finding::TornLine { .. } | Finding::TornBatch { .. } | Finding::ForeignSession { .. })
}
