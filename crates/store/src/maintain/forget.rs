//! Forgetting: what is to go, and what went.
//!
//! Who may forget what, and what else holds the same entries, is the engine's.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, CommitId, EventSeq, LedgerId, Principal, SessionId, Timestamp};

use crate::error::StoreError;
use crate::write::{AuditRecord, SessionKey};

/// A record of what was said of a commit, and what stands in its place from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reworded {
    /// The commit. It stays what it is: no id depends on what is said of it.
    pub commit: CommitId,
    /// The record as it is; where there is none like it any more, nothing happens.
    pub from: AuditRecord,
    /// The record as it is to be.
    pub to: AuditRecord,
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Forget {
    /// Commits that are no roots any more: each goes unless something else needs it. The whole of what a session
    /// holds, or a single commit.
    pub unroot: Vec<CommitId>,
    /// Commits whose contents go whatever needs them. Where something does, the commit stays as a hole.
    pub cut: Vec<CommitId>,
    /// Sessions whose row, cursor and placement go too. What they saw of a commit does not keep it.
    pub sessions: Vec<SessionKey>,
    /// Ledgers all of whose events lose what they say, and whose saved states go but for cursors. Places, times and hashes
    /// stay.
    pub ledgers: Vec<LedgerId>,
    /// Events that lose what they say, by their ledgers: what stands beside a commit that goes, and in no commit.
    pub events: Vec<(LedgerId, BTreeSet<EventSeq>)>,
    /// Of the events whose lines are in what goes, those that go with it: these lines, and what is said in the others stays.
    /// Without it, all of them, unless it is a session that goes.
    pub lines: Option<BTreeSet<ArtifactId>>,
    /// Sessions that stay and lose their cursor: it may hold words of what goes, and their transcripts are read again
    /// from the start.
    pub unread: Vec<SessionKey>,
    /// Sessions that stay and lose their title: it was in what goes.
    pub untitled: Vec<SessionKey>,
    /// Words that were said of commits that stay, which others replace.
    pub reworded: Vec<Reworded>,
    /// Whether no sighting keeps a commit of `unroot`: somebody named that very commit.
    pub even_sighted: bool,
    /// Whether pins, tags, tickets and threads keep nothing.
    pub even_pinned: bool,
    /// Whether tombstones are left, so that nothing that is imported later brings it back.
    pub is_final: bool,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Principal,
    /// What a dry run said: where anything else would go by now, nothing does, and it fails with `PlanMoved`.
    pub expect: Option<Forgotten>,
    /// Find out what would happen, and change nothing.
    pub dry_run: bool,
}

/// Why a commit stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Keep {
    /// A commit that stays continues it.
    Child,
    /// It is pinned.
    Pin,
    /// It has a tag.
    Tag,
    /// A ticket or a thread refers to it.
    Ticket,
    /// Another session went through it, or ends at it.
    Session,
}

impl Keep {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A commit that stays, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kept {
    /// The commit.
    pub commit: CommitId,
    /// The first reason that was found.
    pub because: Keep,
}

/// What was forgotten, or what would be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// Commits that are gone, children before parents.
    pub removed: Vec<CommitId>,
    /// Commits that are holes now.
    pub cut: Vec<CommitId>,
    /// Commits that nobody asked to cut, and that are holes because they name the same content.
    pub cut_too: Vec<CommitId>,
    /// Commits of `cut` that were holes before, and that nothing may fill from now on.
    pub sealed: Vec<CommitId>,
    /// Commits that were to go and stay.
    pub kept: Vec<Kept>,
    /// Sessions that are gone.
    pub sessions: u64,
    /// Commits of which something else is said now.
    pub reworded: u64,
    /// Events that lost what they said: of the sessions, and those whose line was in what went, with the snapshots after
    /// them.
    pub events: u64,
    /// Contents whose bytes are gone.
    pub contents: u64,
    /// Bytes of them, uncompressed.
    pub bytes: u64,
    /// Ranges of them that other contents have, and that were copied out before.
    pub copied_out: u64,
    /// What is left to do on disk, where something stood in the way; the next opening of the store does it.
    pub unfinished: Option<String>,
}

impl Forgotten {
    /// Adds what is left to do.
    pub fn left(&mut self, more: Option<String>) {
        let reasons: Vec<String> = self.unfinished.take().into_iter().chain(more).collect();
        self.unfinished = (!reasons.is_empty()).then(|| reasons.join("; "));
    }
}

impl Forget {
    /// A forgetting of nothing, to which a caller adds what is to go.
    pub const fn new(at: Timestamp, by: Principal) -> Self {
        Self {
            unroot: Vec::new(),
            cut: Vec::new(),
            sessions: Vec::new(),
            ledgers: Vec::new(),
            events: Vec::new(),
            lines: None,
            unread: Vec::new(),
            untitled: Vec::new(),
            reworded: Vec::new(),
            even_sighted: false,
            even_pinned: false,
            is_final: true,
            at,
            by,
            expect: None,
            dry_run: false,
        }
    }

    /// Refuses what is not what was planned. Asked within the transaction.
    ///
    /// # Errors
    /// `PlanMoved`.
    pub fn checked(&self, done: Forgotten) -> Result<Forgotten, StoreError> {
        let is_planned = self.expect.as_ref().is_none_or(|expect| *expect == done);
        if is_planned { Ok(done) } else { Err(StoreError::PlanMoved) }
    }
}

/// How the names of saved states begin that may hold words of any commit: each forgetting drops them, in all ledgers.
pub const MEMORY_STATES: &str = "memory";

/// Returns the ids of sessions that their keys tell: those without a transcript.
pub fn api_sessions(wish: &Forget) -> impl Iterator<Item = SessionId> {
    let named = wish.sessions.iter().filter_map(|key| key.path.strip_prefix("api:"));
    named.filter_map(|name| SessionId::new(name).ok())
}

/// What commits became when they were scrubbed: the id of then, and the one of now.
pub type Redirects = Vec<(CommitId, CommitId)>;

/// What is kept from being taken in again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tombstone {
    /// A commit.
    Commit(CommitId),
    /// A session of any machine and path.
    Session(SessionId),
    /// A transcript.
    Transcript(SessionKey),
}
