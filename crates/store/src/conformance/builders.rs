//! Small commits, sightings and sessions: for the checks, and for other tests of stores.
//!
//! Nothing here looks like a real transcript: stores do not read what they keep.

use stemmata_model::{
    ArtifactId, Closure, CommitCore, CommitId, CommitType, Counts, FormatId, Granularity, MachineId,
    Principal, RulesHash, SessionId, Sighting, Source, Template, Timestamp, Trigger,
};

use crate::error::StoreError;
use crate::seam::{BatchOutcome, Commits, Damage, Page, Upkeep};
use crate::write::{NewCommit, NewContent, Session, SessionKey, SessionOrigin, Write};

/// Asks for all rows that a check makes.
pub const ALL: Page = Page { skip: 0, rows_max: 100 };

/// Names a time.
pub fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

/// Names a machine.
pub fn machine(name: &str) -> MachineId {
    MachineId::new(name).expect("a short name")
}

/// Names a principal.
pub fn principal(name: &str) -> Principal {
    Principal::new(name).expect("a short name")
}

/// Names a session.
pub fn session_id(name: &str) -> SessionId {
    SessionId::new(name).expect("a short name")
}

/// Makes a closed commit of some content.
pub fn commit(parent: Option<CommitId>, artifact: ArtifactId, micros: i64) -> NewCommit {
    NewCommit {
        core: CommitCore {
            parent,
            commit_type: CommitType::Delta,
            artifact,
            native: None,
            format: FormatId::new("claude-code-v1").expect("a short name"),
            template: Template::new("claude-code/main").expect("a short name"),
            created_at: at(micros),
        },
        rules: RulesHash([7; 32]),
        closure: Closure::Closed,
        counts: Counts { messages: 2, entries: 5, tokens: 300 },
    }
}

/// The writes of a commit with its own content, and the commit's id.
pub fn checkpoint(parent: Option<CommitId>, bytes: &str, micros: i64) -> (CommitId, Vec<Write>) {
    let content = NewContent::literal(bytes.as_bytes().to_vec());
    let commit = commit(parent, content.id(), micros);
    let id = commit.core.id();
    (id, vec![Write::Content(content), Write::Commit(commit)])
}

/// Stores a commit with its own content.
pub fn put(store: &dyn Commits, parent: Option<CommitId>, bytes: &str, micros: i64) -> CommitId {
    let (id, writes) = checkpoint(parent, bytes, micros);
    write(store, writes);
    id
}

/// Stores a chain from the root and returns its ids from the root.
pub fn chain(store: &dyn Commits, name: &str, length: usize) -> Vec<CommitId> {
    let mut ids: Vec<CommitId> = Vec::new();
    for step in 0..length {
        let micros = i64::try_from(step).expect("a short chain") * 10;
        let id = put(store, ids.last().copied(), &format!("{name} {step}\n"), micros);
        ids.push(id);
    }
    ids
}

/// Applies a batch.
pub fn write(store: &dyn Commits, batch: Vec<Write>) -> BatchOutcome {
    store.commit_batch(batch).expect("a batch that can be applied")
}

/// Returns why a batch is not applied.
pub fn refused(store: &dyn Commits, batch: Vec<Write>) -> StoreError {
    store.commit_batch(batch).expect_err("a batch that cannot be applied")
}

/// Makes a sighting in a session of machine `m1`.
pub fn sighting(session: &str, observed: i64) -> Sighting {
    Sighting {
        principal: principal("ann@box/claude-code"),
        machine: machine("m1"),
        session: session_id(session),
        trigger: Trigger::TurnBoundary,
        ticket: None,
        thread: None,
        reasons: stemmata_model::Reasons::NONE,
        template_alias: None,
        observed_at: at(observed),
        source: Some(Source { path: format!("/home/ann/{session}.jsonl"), offset: 10, length: 20 }),
    }
}

/// The write of a sighting.
pub fn see(commit: CommitId, sighting: Sighting) -> Write {
    Write::Sighting { commit, sighting: Box::new(sighting) }
}

/// Names a session's file on machine `m1`.
pub fn key(name: &str) -> SessionKey {
    SessionKey { machine: machine("m1"), path: format!("/home/ann/{name}.jsonl") }
}

/// Makes a listed session of machine `m1`.
pub fn session(name: &str, cwd: &str, last: Option<i64>) -> Session {
    Session {
        key: key(name),
        session: session_id(name),
        parent_session: None,
        format: FormatId::new("claude-code-v1").expect("a short name"),
        template: Template::new("claude-code/main").expect("a short name"),
        principal: principal("ann@box/claude-code"),
        granularity: Granularity::Every(3),
        origin: SessionOrigin::Imported,
        title: Some("fix the törtchen".to_owned()),
        cwd: Some(cwd.to_owned()),
        git_branch: Some("main".to_owned()),
        version: Some("2.1.330".to_owned()),
        started_at: Some(at(5)),
        last_at: last.map(at),
        tip: None,
        commits: 3,
        messages: 9,
        bytes: 1234,
    }
}

/// Reads a content whole.
///
/// # Errors
/// As [`Commits::read_content`].
pub fn read(store: &dyn Commits, id: ArtifactId) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    store.read_content(id, None, &mut |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

/// Returns what is damaged.
pub fn damages(store: &dyn Upkeep) -> Vec<Damage> {
    let mut found = Vec::new();
    store.verify(&mut |damage| found.push(damage)).expect("a store that can be looked at");
    found
}

/// Reads a content that is there.
pub fn bytes_of(store: &dyn Commits, id: ArtifactId) -> Vec<u8> {
    read(store, id).expect("a content that is there")
}
