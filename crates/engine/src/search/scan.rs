//! A walk over what was said, the newest sessions first and each commit once: what search does without an index.

use std::collections::HashSet;
use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitId};
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter, SessionKey};

use super::feed::is_of_content;
use super::filter::Scoped;
use super::overlay::{DecodedCommit, Overlay};
use super::{SearchStep, StepUnit};
use crate::chain::path::entries_of;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Sessions that are read at once.
const PAGE_SESSIONS: usize = 128;

/// Sessions that are walked at most; more have never been seen on one machine.
const SESSIONS_MAX: u64 = 1_000_000;

/// A longer commit is no conversation, and would have to be held whole.
pub(crate) const COMMIT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How much is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanBounds {
    pub(crate) entries_max: usize,
    pub(crate) bytes_max: u64,
}

impl ScanBounds {
    /// For words without an index: about a second.
    pub(crate) const WORDS: Self = Self { entries_max: 65_536, bytes_max: 64 * 1024 * 1024 };
    /// For texts and expressions: some seconds, with progress.
    pub(crate) const TEXT: Self = Self { entries_max: usize::MAX, bytes_max: 512 * 1024 * 1024 };
}

/// What is read of a commit.
pub(crate) enum Decoded {
    /// Its entries.
    Entries(Box<DecodedCommit>),
    /// Nothing: it was forgotten, is covered, is too long, or has a format that nobody reads.
    Unsearched,
    /// Nothing: its content is damaged.
    Damaged,
}

/// How a scan went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) end: ScanEnd,
    /// Commits whose content is damaged.
    pub(crate) damaged: usize,
    /// Bytes that were scanned.
    pub(crate) bytes: u64,
}

/// How a scan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanEnd {
    /// Everything was looked at.
    Whole,
    /// The visitor had enough, or was cancelled.
    Stopped,
    /// A bound was reached.
    Cut,
}

impl Engine {
    /// Walks commits of sessions that pass, the newest first, and hands out each once.
    ///
    /// # Errors
    /// Store errors, and those of `visit`. What cannot be decoded is passed over, and counted if it is damaged.
    pub(crate) fn scan_newest(
        &self,
        scoped: &Scoped<'_>,
        bounds: ScanBounds,
        step: &mut SearchStep<'_>,
        visit: &mut dyn FnMut(DecodedCommit) -> Result<ControlFlow<()>>,
    ) -> Result<Scanned> {
        let mut damaged = 0;
        let mut seen: HashSet<CommitId> = HashSet::new();
        let (mut bytes, mut entries) = (0_u64, 0_usize);
        let mut take = |commit: Commit, key: &SessionKey| -> Result<Option<ScanEnd>> {
            let mut decoded = match self.decoded(commit)? {
                Decoded::Entries(decoded) => *decoded,
                Decoded::Unsearched => return Ok(None),
                Decoded::Damaged => {
                    damaged += 1;
                    return Ok(None);
                }
            };
            bytes = bytes.saturating_add(decoded.commit.native_bytes);
            entries = entries.saturating_add(decoded.entries.len());
            decoded.sessions = vec![key.clone()];
            if step(StepUnit::Bytes, bytes, None).is_break() || visit(decoded)?.is_break() {
                return Ok(Some(ScanEnd::Stopped));
            }
            Ok((bytes >= bounds.bytes_max || entries >= bounds.entries_max).then_some(ScanEnd::Cut))
        };
        let mut skip = 0;
        let end = 'all: loop {
            if skip >= SESSIONS_MAX {
                break ScanEnd::Cut;
            }
            let page = Page { skip, rows_max: PAGE_SESSIONS.min(PAGE_ROWS_MAX) };
            let sessions = self.store.sessions(&SessionFilter::default(), page)?;
            if sessions.is_empty() {
                break ScanEnd::Whole;
            }
            skip += sessions.len() as u64;
            for session in sessions.iter().filter(|session| scoped.admits_session(session)) {
                let mut walk = Walk::new(self.store.as_ref(), self.tip_of(session)?);
                while let Some(commit) = walk.next()? {
                    if !seen.insert(commit.id) {
                        // Its ancestors were seen with it.
                        break;
                    }
                    if let Some(end) = take(on_chain(commit), &session.key)? {
                        break 'all end;
                    }
                }
                // What the session left behind when its transcript was rewritten.
                let mut beside = Vec::new();
                self.each_seen(&session.key, &mut |commit| {
                    if seen.insert(commit.id) {
                        beside.push(commit);
                    }
                })?;
                for commit in beside.into_iter().rev() {
                    if let Some(end) = take(commit, &session.key)? {
                        break 'all end;
                    }
                }
            }
        };
        Ok(Scanned { end, damaged, bytes })
    }

    /// Returns what is found by words without an index.
    ///
    /// # Errors
    /// As [`Engine::scan_newest`].
    pub(crate) fn overlay_of_newest(
        &self,
        scoped: &Scoped<'_>,
        step: &mut SearchStep<'_>,
    ) -> Result<(Overlay, Scanned)> {
        let mut newest = Vec::new();
        let end = self.scan_newest(scoped, ScanBounds::WORDS, step, &mut |decoded| {
            newest.push(decoded);
            Ok(ControlFlow::Continue(()))
        })?;
        let mut overlay = Overlay::default();
        // Parents before what continues them.
        newest.iter().rev().for_each(|decoded| overlay.add(decoded, &|_| false));
        Ok((overlay, end))
    }

    /// Reads a commit's entries.
    ///
    /// # Errors
    /// Store errors that are not of this commit's content.
    pub(crate) fn decoded(&self, commit: Commit) -> Result<Decoded> {
        if !is_searched(&commit) {
            return Ok(Decoded::Unsearched);
        }
        if Self::adapter(&commit.core.format, FormatUse::Read).is_err() {
            return Ok(Decoded::Unsearched);
        }
        let bytes = match read_whole(self, commit.core.native_artifact()) {
            Ok(bytes) => bytes,
            Err(error) if is_of_content(&error) => return Ok(Decoded::Damaged),
            Err(error) => return Err(error),
        };
        let entries = entries_of(&commit, &bytes)?;
        let restated = self.said_before(&commit)?;
        Ok(Decoded::Entries(Box::new(DecodedCommit { commit, entries, restated, sessions: Vec::new() })))
    }

    pub(crate) fn tip_of(&self, session: &Session) -> Result<Option<CommitId>> {
        // A tip that was forgotten whole is named still.
        let Some(tip) = session.tip else { return Ok(None) };
        Ok(self.store.commit(tip)?.map(|commit| commit.id))
    }
}

/// Returns a commit of a session's chain as one that is searched: it may be covered by another session's turn, which is not in
/// this chain.
pub(crate) fn on_chain(commit: Commit) -> Commit {
    match commit.closure {
        Closure::Covered => Commit { closure: Closure::Provisional, ..commit },
        Closure::Closed | Closure::Provisional | Closure::Forgotten => commit,
    }
}

/// Says whether a commit's entries are searched: not those of one that was forgotten, is covered, or is too long.
pub(crate) fn is_searched(commit: &Commit) -> bool {
    matches!(commit.closure, Closure::Closed | Closure::Provisional)
        && commit.native_bytes <= COMMIT_BYTES_MAX
}
