//! Chains, stores and readings that the tests of this crate share.
//!
//! What a store must do is in the conformance suite of the crate itself.

use std::path::Path;

use stemmata_model::{CommitId, MachineId, Sighting, Source};
use stemmata_store::conformance::builders;
use stemmata_store::{NewContent, SqliteOptions, SqliteStore, Store, StoreError, Write};

pub(crate) use stemmata_store::conformance::builders::{commit as new_commit, damages, read, session};

pub(crate) fn open(dir: &Path) -> SqliteStore {
    try_open(dir).expect("a store")
}

pub(crate) fn try_open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(dir, SqliteOptions { busy_timeout_ms: 50, ..SqliteOptions::default() })
}

/// Lines that look like a turn and compress like one.
pub(crate) fn turn(seed: u64, bytes: usize) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "build",
        "cache",
        "error",
        "src/main.rs",
        "result",
        "because",
        "session",
        "update",
        "returns",
        "check",
        "value",
        "never",
    ];
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut text =
        format!("{{\"type\":\"assistant\",\"uuid\":\"{:016x}{:016x}\",\"text\":\"", next(), next());
    while text.len() < bytes {
        text.push_str(WORDS[usize::try_from(next() % 12).expect("small")]);
        text.push(' ');
    }
    text.push_str("\"}\n");
    text.into_bytes()
}

/// Everything that one checkpoint of a session writes.
pub(crate) fn checkpoint(
    name: &str,
    parent: Option<CommitId>,
    step: u64,
    bytes: usize,
) -> (CommitId, Vec<Write>) {
    let seed = name.bytes().fold(step, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let content = NewContent::literal(turn(seed, bytes));
    let micros = 1_790_000_000_000_000 + i64::try_from(step).expect("small") * 7_000_000;
    let commit = new_commit(parent, content.id(), micros);
    let id = commit.core.id();
    let mut listed = session(name, "/work/app", Some(micros));
    listed.tip = Some(id);
    listed.commits = step + 1;
    let captured =
        Write::Sighting { commit: id, sighting: Box::new(sighting(name, micros + 900, step * 2000)) };
    let cursor = Write::Cursor { key: listed.key.clone(), value: step.to_le_bytes().repeat(20) };
    let batch = vec![
        Write::Content(content),
        Write::Commit(commit),
        captured,
        Write::Session(Box::new(listed)),
        cursor,
    ];
    (id, batch)
}

/// Stores a session of so many checkpoints and returns their ids from the root.
pub(crate) fn chain(store: &dyn Store, name: &str, length: u64, bytes: usize) -> Vec<CommitId> {
    let mut ids: Vec<CommitId> = Vec::new();
    for step in 0..length {
        let (id, batch) = checkpoint(name, ids.last().copied(), step, bytes);
        store.commit_batch(batch).expect("a batch that can be applied");
        ids.push(id);
    }
    ids
}

pub(crate) fn machine() -> MachineId {
    builders::machine("m1")
}

pub(crate) fn sighting(session: &str, observed: i64, offset: u64) -> Sighting {
    let source = Source { path: builders::key(session).path, offset, length: 2000 };
    Sighting { source: Some(source), ..builders::sighting(session, observed) }
}
