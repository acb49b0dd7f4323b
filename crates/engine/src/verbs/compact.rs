//! `compact` and `uncompact`: a summary that stands for the beginning of a context, and the way back.
//!
//! What is compacted is decided in `plan`, the summary is made in `make`, its commit in `made`. A session of ours moves to its
//! compaction; how that is one transaction with its events is decided where turns are.

mod digest;
mod made;
mod make;
mod plan;
mod summary;

use stemmata_api::v1::Diff;
use stemmata_model::{
    Bytes, Closure, Commit, CommitId, CommitType, FormatId, Note, Reasons, SessionId, Tokens,
};
use stemmata_prompt::compact::Summarizer;
use stemmata_prompt::compact::summary::Size;
use stemmata_prompt::window::KeepRecent;
use stemmata_store::{Session, SessionKey, SessionOrigin, StoreError};

pub(crate) use self::made::MadeCompaction;
pub(crate) use self::plan::recent_of;
pub use self::summary::pinned_before;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Absent, EngineError, Refusal, Result, Wanted};
use crate::ledger::TurnOf;

/// Children of a commit among which a compaction is looked for.
const CHILDREN_MAX: usize = 256;

/// Sightings of a commit among which a session of ours is looked for.
const SIGHTINGS_MAX: usize = 64;

/// What to compact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactOf {
    /// The context of a commit. If the commit is the newest one of a session that this program keeps, the session goes on from
    /// the compaction.
    Commit(CommitId),
    /// The context of a commit, on a branch: no session moves.
    Branch(CommitId),
    /// A session of turns, with what it has said since its last commit.
    Session(TurnOf),
}

/// Where the summary comes from.
#[derive(Clone, Copy)]
pub enum CompactWith<'a> {
    /// The caller wrote it.
    Given(&'a str),
    /// There is none: only what is pinned is said, and where everything can be read.
    Off,
    /// Rules: the same context gives the same summary.
    Heuristic,
    /// A model writes it: what may be used of its answer stands above the summary that rules make. If it fails, theirs stands
    /// alone, and a note says so.
    By(&'a dyn Summarizer),
}

impl CompactWith<'_> {
    /// The name of a summary of which a model wrote a part.
    pub(crate) const MODEL: &'static str = "model";

    /// Returns the name used in JSON and in events.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Given(_) => "given",
            Self::Off => "off",
            Self::Heuristic => "heuristic",
            Self::By(_) => Self::MODEL,
        }
    }
}

/// How to compact.
#[derive(Clone)]
pub struct CompactWanted<'a> {
    /// Where the summary comes from.
    pub with: CompactWith<'a>,
    /// Only the entries from the first to before the second: ids, or `@N`. Everything before the kept part where absent.
    pub range: Option<(&'a str, &'a str)>,
    /// What stays as it is at the end, where the format can keep something. With a range, everything behind it stays.
    pub keep: KeepRecent,
    /// An earlier compaction of the same context: without a range, what it covered is covered again, instead of all before what
    /// `keep` says. If it kept nothing behind its summary, `keep` says it after all.
    pub like: Option<CommitId>,
    /// The size of a summary that the caller did not write. Absent: a tenth of the chain from its root, but at most an eighth of
    /// the window and a quarter of the tokens that the summary stands for, so that a long chain's summary fits the window.
    pub size: Option<Size>,
    /// Tokens that the model takes. Absent: what the session's client reported or is known of its model.
    pub window: Option<Tokens>,
    /// The session that is meant, where one is: a compaction beside its chain is found as its. Absent: the first one that the
    /// compacted commit was seen in.
    pub session: Option<&'a SessionId>,
    /// Whether such a summary leaves out what users said.
    pub excludes_user: bool,
    /// What such a summary should look at.
    pub focus: Option<&'a str>,
    /// Visible results of tools in what is kept: the oldest above it are archived, and a digest stands for them. 0 archives none.
    /// With a range, and in formats of clients, all of them stay.
    pub tool_call_cutoff: i64,
    /// The rules by which it was due: its sighting and the events of a session's compaction carry them.
    pub reasons: Reasons,
}

impl<'a> CompactWanted<'a> {
    /// Compacts all but the recent turns.
    pub const fn new(with: CompactWith<'a>) -> Self {
        Self {
            with,
            range: None,
            keep: KeepRecent::Tokens(KEEP_RECENT_TOKENS),
            like: None,
            size: None,
            window: None,
            session: None,
            excludes_user: false,
            focus: None,
            tool_call_cutoff: TOOL_CALL_CUTOFF,
            reasons: Reasons::NONE,
        }
    }
}

/// Tokens at the end of a context that a compaction keeps where nobody says otherwise (seed 003).
pub const KEEP_RECENT_TOKENS: Tokens = Tokens(20_000);

/// Visible results of tools that a compaction leaves in what it keeps where nobody says otherwise (seed 003).
const TOOL_CALL_CUTOFF: i64 = 10;

/// The newest compaction of a chain or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewestCompaction {
    /// The compaction commit.
    pub id: CommitId,
    /// The commit before it.
    pub before: CommitId,
    /// Whether it is on a branch beside the session's chain.
    pub is_beside: bool,
}

impl NewestCompaction {
    /// Returns a commit as what it is, if it is a compaction.
    fn of(commit: &Commit, is_beside: bool) -> Option<Self> {
        let before = commit.core.parent.filter(|_| commit.core.commit_type == CommitType::Compaction)?;
        Some(Self { id: commit.id, before, is_beside })
    }
}

/// A compaction that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compacted {
    /// The compaction commit.
    pub id: CommitId,
    /// The commit before it: `uncompact` gives its context.
    pub parent: CommitId,
    /// The session that goes on from it, where one does.
    pub moved: Option<SessionId>,
    /// Estimated tokens of the context before.
    pub tokens_before: u64,
    /// Estimated tokens of the context after.
    pub tokens_after: u64,
    /// The format of both.
    pub format: FormatId,
    /// The context after, in its format.
    pub after: Vec<u8>,
    /// Bytes of the summary's record.
    pub bytes: Bytes,
    /// Who wrote the summary: `given`, `off`, `heuristic` or `model`.
    pub with: &'static str,
    /// Entries that stay as they are.
    pub kept_entries: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Puts a summary in the place of what stands before the recent turns. Nothing is deleted: the chain still has everything.
    ///
    /// # Errors
    /// `Refused` for an empty summary, one that saves nothing, where nothing stands before what is kept, for a range that
    /// splits a tool group, and for a session that is written without end; as [`Engine::materialize`].
    pub fn compact(&self, of: &CompactOf, wanted: &CompactWanted<'_>) -> Result<Compacted> {
        match of {
            CompactOf::Session(turn) => self.compact_session(turn, wanted),
            CompactOf::Branch(ctx) => self.compact_branch(self.newest_of(*ctx)?, wanted),
            CompactOf::Commit(ctx) => {
                let ctx = self.newest_of(*ctx)?;
                // A placed copy may end where a session of ours does: the one that is meant moves, no other.
                let is_meant = |own: &Session| wanted.session.is_none_or(|meant| *meant == own.session);
                let Some(session) = self.own_session_at(ctx)?.filter(is_meant) else {
                    return self.compact_branch(ctx, wanted);
                };
                match self.turn_of_session(&session)? {
                    Some(turn) => self.compact_session(&turn, wanted),
                    None => self.compact_unrecorded(ctx, session, wanted),
                }
            }
        }
    }

    /// Makes a compaction and compares the contexts before and after it, and stores no compaction. A model that is to write the
    /// summary is asked. Of the newest commit of a session of ours, what its open turn has said since is part of it: it is read
    /// as a provisional commit, as `current` reads it.
    ///
    /// # Errors
    /// As [`Engine::compact`].
    pub fn compact_dry(&self, ctx: CommitId, wanted: &CompactWanted<'_>) -> Result<(Compacted, Diff)> {
        let ctx = self.newest_of(ctx)?;
        let open = self.own_session_at(ctx)?.map(|session| self.commit_open_turn(&session)).transpose()?;
        let ctx = open.flatten().unwrap_or(ctx);
        let parent = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let made = self.made_compaction(&parent, wanted)?;
        let (id, after) = (made.core(&parent).id(), made.entries_after()?);
        let diff = self.diff_between((id, ctx), &self.entries_of(ctx)?, &after)?;
        Ok((made.into_compacted(id, &parent, None), diff))
    }

    /// Compacts with a summary that the caller wrote, and all else as it is by default.
    ///
    /// # Errors
    /// As [`Engine::compact`].
    pub fn compact_given(&self, ctx: CommitId, summary: &str) -> Result<Compacted> {
        self.compact(&CompactOf::Commit(ctx), &CompactWanted::new(CompactWith::Given(summary)))
    }

    /// Finds the newest compaction of the chain that ends at `tip`; with a session, also one that was made beside its chain, as
    /// `compact` makes them of a client's session.
    ///
    /// # Errors
    /// `NotFound` when nothing of the chain was compacted.
    pub fn newest_compaction(&self, tip: CommitId, session: Option<&SessionId>) -> Result<NewestCompaction> {
        let mut above: Option<Commit> = None;
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        while let Some(commit) = walk.next()? {
            let found = match session {
                Some(session) => self.compaction_of(commit.id, above.as_ref(), session)?,
                None => NewestCompaction::of(&commit, false),
            };
            if let Some(found) = found {
                return Ok(found);
            }
            above = Some(commit);
        }
        Err(EngineError::NothingThere { what: Absent::Compaction, place: tip.to_string() })
    }

    /// Returns the newest compaction of a commit: `above`, the next commit of the session's chain, or one that was made beside it.
    fn compaction_of(
        &self,
        commit: CommitId,
        above: Option<&Commit>,
        session: &SessionId,
    ) -> Result<Option<NewestCompaction>> {
        let is_beside = |child: &Commit| above.is_none_or(|above| above.id != child.id);
        let mut children = self.store.children(commit, CHILDREN_MAX)?;
        children.retain(is_beside);
        // A compaction of a provisional commit stands beside the commit that covers it.
        let is_cut = |child: &&Commit| matches!(child.closure, Closure::Provisional | Closure::Covered);
        let cut: Vec<CommitId> = children.iter().filter(is_cut).map(|child| child.id).collect();
        for child in cut {
            children.extend(self.store.children(child, CHILDREN_MAX)?);
        }
        // The chain's own counts however many children there are.
        children.splice(0..0, above.cloned());
        children.retain(|child| NewestCompaction::of(child, false).is_some());
        children.sort_by_key(|child| child.core.created_at);
        for child in children.iter().rev() {
            let is_beside = is_beside(child);
            if is_beside && (child.closure == Closure::Forgotten || !self.is_made_of(child.id, session)?) {
                continue;
            }
            return Ok(NewestCompaction::of(child, is_beside));
        }
        Ok(None)
    }

    /// Fails where a session is neither known to the store nor one that a commit was seen in: nothing is to be written in its name.
    ///
    /// # Errors
    /// `NotFound` for such a session, store errors.
    pub fn check_session(&self, ctx: CommitId, session: &SessionId) -> Result<()> {
        let is_seen = || -> Result<bool> {
            Ok(self.store.sightings(ctx, SIGHTINGS_MAX)?.iter().any(|seen| seen.session == *session))
        };
        if self.store.sessions_of(session, 1)?.is_empty() && !is_seen()? {
            return Err(EngineError::NotFound { what: Wanted::Session, text: session.to_string() });
        }
        Ok(())
    }

    /// Returns how many prompts of a session that ends at `tip` the context of an earlier commit does not have.
    ///
    /// # Errors
    /// As [`Engine::numbered_prompts`].
    pub fn prompts_since(&self, before: CommitId, tip: CommitId) -> Result<usize> {
        Ok(self.numbered_prompts(tip)?.len().saturating_sub(self.numbered_prompts(before)?.len()))
    }

    /// Returns whether a commit was made here of a session, rather than read from a transcript.
    fn is_made_of(&self, ctx: CommitId, session: &SessionId) -> Result<bool> {
        let seen = self.store.sightings(ctx, SIGHTINGS_MAX)?;
        Ok(seen.iter().all(|seen| seen.source.is_none()) && seen.iter().any(|seen| seen.session == *session))
    }

    /// Returns the session of ours whose newest commit this is. A client's session never moves: its file knows nothing of what
    /// is made here.
    pub(crate) fn own_session_at(&self, ctx: CommitId) -> Result<Option<Session>> {
        for sighting in self.store.sightings(ctx, SIGHTINGS_MAX)? {
            let key = SessionKey { machine: sighting.machine, path: format!("api:{}", sighting.session) };
            let session = self.store.session(&key)?;
            let is_own = |session: &Session| session.origin == SessionOrigin::Api && session.tip == Some(ctx);
            if let Some(session) = session.filter(is_own) {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }

    fn compact_branch(&self, ctx: CommitId, wanted: &CompactWanted<'_>) -> Result<Compacted> {
        let parent = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let made = self.made_compaction(&parent, wanted)?;
        let id = self.put_compaction(&parent, &made, wanted.session)?;
        Ok(made.into_compacted(id, &parent, None))
    }
}

pub(crate) fn refused(what: Refusal, reason: impl Into<String>) -> EngineError {
    EngineError::Refused { what, reasons: vec![reason.into()] }
}
