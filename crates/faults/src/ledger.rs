//! What a workload was promised: commits that must be there with their bytes, and commits that must be gone.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anyhow::Context as _;
use stemmata_engine::Engine;
use stemmata_model::{Closure, CommitId};
use stemmata_store::Annotations;

use crate::stage::Stage;

/// What must hold after a step of the workload returned.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// Commits with the BLAKE3 hash of their native bytes, from the root of their chain.
    pub commits: BTreeMap<CommitId, [u8; 32]>,
    /// What is noted on commits.
    pub annotations: BTreeMap<CommitId, Annotations>,
    /// Other stores of the disk by their folders, with what must be in them.
    pub stores: BTreeMap<&'static str, BTreeMap<CommitId, [u8; 32]>>,
    /// Bundles of the disk that must be whole.
    pub bundles: BTreeSet<&'static str>,
    /// Commits that were forgotten: nothing of them may be read.
    pub gone: BTreeSet<CommitId>,
    /// How many events the workload's ledger has.
    pub events: u64,
    /// Whether those of one session are forgotten.
    pub events_forgotten: bool,
    /// Commits that later steps need, by the script's own names; of a chain the tip is the first.
    pub names: BTreeMap<String, Vec<CommitId>>,
}

/// What a step says that it did.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Tips whose chains must be there.
    pub tips: Vec<CommitId>,
    /// Commits that later steps need.
    pub names: Vec<(&'static str, Vec<CommitId>)>,
    /// Commits that are gone.
    pub gone: Vec<CommitId>,
    /// How many events there are now, where that changed.
    pub events: Option<u64>,
    /// Whether the events of one session were forgotten.
    pub events_forgotten: bool,
    /// Other stores of the disk that are complete, by their folders.
    pub stores: Vec<&'static str>,
    /// Bundles that are written, by their names.
    pub bundles: Vec<&'static str>,
    /// Damages that were mended.
    pub repaired: u64,
}

/// Ancestors that are looked at of one tip at most: more than any chain of the workload has.
pub const CHAIN_MAX: usize = 10_000;

impl Ledger {
    /// Adds what a step did to what was promised before, with hashes read from a store without faults.
    ///
    /// # Errors
    /// Where that store cannot be read.
    pub fn after(&self, done: &Done, stage: &Stage, day: u32) -> anyhow::Result<Self> {
        let engine = &stage.engine(day)?;
        let mut ledger = self.clone();
        for (name, id) in &done.names {
            ledger.names.insert((*name).to_owned(), id.clone());
        }
        for tip in &done.tips {
            for commit in engine.store().ancestors(*tip, CHAIN_MAX).context("the chain of a tip")? {
                if let Entry::Vacant(free) = ledger.commits.entry(commit.id) {
                    free.insert(native_hash(engine, commit.id)?);
                }
            }
        }
        for id in &done.gone {
            ledger.commits.remove(id);
            ledger.gone.insert(*id);
        }
        for name in &done.stores {
            let other = stage.engine_of(name, day)?;
            let mut there = BTreeMap::new();
            let commits = other.store().commits_after(None, CHAIN_MAX)?;
            for commit in commits.iter().filter(|commit| commit.closure != Closure::Forgotten) {
                there.insert(commit.id, native_hash(&other, commit.id)?);
            }
            anyhow::ensure!(!there.is_empty(), "`{name}` is empty");
            ledger.stores.insert(name, there);
        }
        ledger.events = done.events.unwrap_or(ledger.events);
        ledger.events_forgotten |= done.events_forgotten;
        ledger.bundles.extend(&done.bundles);
        ledger.annotations.clear();
        for id in ledger.commits.keys() {
            let noted = engine.store().annotations(*id).context("annotations")?;
            if noted != Annotations::default() {
                ledger.annotations.insert(*id, noted);
            }
        }
        Ok(ledger)
    }
}

/// Hashes the native bytes of a chain.
///
/// # Errors
/// Where they cannot be read.
pub fn native_hash(engine: &Engine, id: CommitId) -> anyhow::Result<[u8; 32]> {
    let mut hasher = Hasher(blake3::Hasher::new());
    engine.native(id, &mut hasher).with_context(|| format!("native of {id}"))?;
    Ok(*hasher.0.finalize().as_bytes())
}

struct Hasher(blake3::Hasher);

impl Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
