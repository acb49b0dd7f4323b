//! What is derived from transcripts' commits, made anew once for stores of earlier versions: counts of commits, and the titles,
//! messages and times of sessions.
//!
//! An earlier version may have read a line otherwise. No id and no content depends on what is derived, so that only rows change.
//! Done by imports, so much at once, until all sessions were read. What the index is made of has a version of its own.

use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitId, CommitType, Counts, Timestamp};
use stemmata_runtimes::adapter::{SessionFacts, Shape, with_title_of};
use stemmata_store::{Session, SessionFilter, SessionKey, SessionOrigin, StoreError, Write};

use crate::capture::captured::{UnreadRecords, UnreadSoFar};
use crate::capture::cursor::{Cursor, FileStamp, SplitterState};
use crate::capture::ingest::ChainTotals;
use crate::capture::namesakes::overwritten;
use crate::chain::rest::is_of_content;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::count::LineCounter;

/// The version of what is derived. Raised with every change of what a line counts as, or of which line gives a title.
const VERSION: u8 = 1;

/// The place of the version among what the engine remembers of transcripts: no transcript has such a path.
const VERSION_PATH: &str = "stemma:derived";

/// Bytes that are read at once: a few seconds of one import.
const BYTES_MAX: u64 = 512 * 1024 * 1024;

/// A session as it is read anew.
struct Anew {
    writes: Vec<Write>,
    facts: SessionFacts,
    totals: ChainTotals,
    unread: UnreadRecords,
    /// All at the commit that the cursor goes on from.
    closed: Option<(SessionFacts, ChainTotals, UnreadRecords)>,
    bytes: u64,
}

impl Engine {
    /// Reads the sessions of this machine anew, in the order of their paths, and goes on the next time where this one ends. Nothing of
    /// a store that was empty before the import was derived by an earlier version.
    ///
    /// # Errors
    /// Store errors; a session that cannot be read keeps what it has.
    pub(crate) fn derive_anew(&self, was_empty: bool) -> Result<()> {
        let key = self.derived_key();
        let done = self.store.cursor(&key)?;
        let after = match done.as_deref().and_then(<[u8]>::split_first) {
            Some((&VERSION, [])) => return Ok(()),
            Some((&VERSION, path)) => path.to_vec(),
            _ if was_empty => {
                self.commit_batch(vec![Write::Cursor { key, value: vec![VERSION] }])?;
                return Ok(());
            }
            _ => Vec::new(),
        };
        let mut sessions = Vec::new();
        self.each_session(&SessionFilter::default(), &mut |session, _| {
            if session.key.machine == self.identity.machine && session.key.path.as_bytes() > after.as_slice()
            {
                sessions.push(session.key);
            }
            ControlFlow::Continue(())
        })?;
        sessions.sort();
        let mut bytes_left = BYTES_MAX;
        for session in sessions {
            bytes_left = bytes_left.saturating_sub(self.derive_session(&session)?);
            if bytes_left == 0 {
                let value = [&[VERSION], session.path.as_bytes()].concat();
                self.commit_batch(vec![Write::Cursor { key, value }])?;
                return Ok(());
            }
        }
        self.commit_batch(vec![Write::Cursor { key, value: vec![VERSION] }])?;
        Ok(())
    }

    fn derived_key(&self) -> SessionKey {
        SessionKey { machine: self.identity.machine.clone(), path: VERSION_PATH.to_owned() }
    }

    /// Reads one session anew, and returns how many bytes that took.
    fn derive_session(&self, key: &SessionKey) -> Result<u64> {
        let value = self.store.cursor(key)?;
        let Some(session) = self.store.session(key)? else { return Ok(0) };
        let cursor = value.as_deref().and_then(Cursor::decode);
        let cursor = cursor.and_then(|cursor| cursor.unpacked(Some(&session)));
        let Some(anew) = self.read_anew(&session, cursor.as_ref().and_then(|cursor| cursor.tip))? else {
            return Ok(0);
        };
        let title = match session.origin {
            SessionOrigin::Imported => anew.facts.title.clone().or_else(|| session.title.clone()),
            // A placed session has the title of what it continues.
            SessionOrigin::Placed(_) | SessionOrigin::Api => session.title.clone(),
        };
        let (started_at, last_at) = self.times_anew(&session, &anew.facts)?;
        let row = Session { title, messages: anew.totals.messages, started_at, last_at, ..session.clone() };
        let mut batch = vec![Write::ExpectCursor { key: key.clone(), value: value.clone() }];
        batch.extend(anew.writes);
        if row != session {
            batch.push(Write::Session(Box::new(row.clone())));
        }
        if let Some((cursor, (facts, totals, closed))) = cursor.zip(anew.closed) {
            let seen = cursor.seen_entries != anew.totals.entries;
            let unread = UnreadSoFar { closed, seen: anew.unread };
            let mut next = Cursor { totals, seen_entries: anew.totals.entries, unread, ..cursor.clone() };
            if session.origin == SessionOrigin::Imported {
                next.splitter = SplitterState::Whole(with_title_of(cursor.splitter.whole(), &facts));
            }
            // A cursor refers to its session's row.
            if seen || next != cursor || row != session {
                batch.push(Write::Cursor { key: key.clone(), value: next.encode(&row) });
            }
        }
        if batch.len() > 1 {
            match self.commit_batch(batch) {
                // Somebody reads its transcript at this moment, and goes on from what there was.
                Err(StoreError::CursorMoved { .. }) => {}
                done => drop(done?),
            }
        }
        Ok(anew.bytes)
    }

    /// Returns when a session began and when it was active last. Earlier versions gave a conversation that was written over another one
    /// the times of that one, and took any record's time that had passed.
    fn times_anew(
        &self,
        session: &Session,
        facts: &SessionFacts,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>)> {
        let path = &session.key.path;
        let is_intruder = overwritten(path).is_none() && !self.held_before(&session.key, session)?.is_empty();
        let (started_at, last_at) = if is_intruder {
            (facts.first_timestamp, facts.last_timestamp)
        } else {
            (session.started_at, session.last_at)
        };
        let file = std::fs::metadata(path).ok().filter(|file| file.is_file() && overwritten(path).is_none());
        let written = file.map(|file| FileStamp::of(&file).modified_ns / 1_000);
        let written = written.and_then(|at| i64::try_from(at).ok()).map(Timestamp::from_micros);
        let latest = self.latest_in(written, facts.first_timestamp);
        if last_at.is_none_or(|last| last <= latest) {
            return Ok((started_at, last_at));
        }
        Ok((started_at, self.last_record(session.tip, latest)?.or(written).or(last_at)))
    }

    /// Reads a session's transcript again, out of the commits that hold it, and counts it anew. Returns `None` if these commits
    /// cannot say all that the transcript said: one lost its content, or the format is not one of lines.
    fn read_anew(&self, session: &Session, closed_tip: Option<CommitId>) -> Result<Option<Anew>> {
        let Ok(adapter) = Self::adapter(&session.format, FormatUse::Read) else { return Ok(None) };
        if adapter.shape() == Shape::Document || session.origin == SessionOrigin::Api {
            return Ok(None);
        }
        let Some(commits) = self.own_commits(session)? else { return Ok(None) };
        let mut counter = LineCounter::new(adapter);
        let base = match session.origin {
            SessionOrigin::Placed(from) => self.totals_of(from)?,
            SessionOrigin::Imported | SessionOrigin::Api => ChainTotals::default(),
        };
        let facts = counter.facts().clone();
        let unread = UnreadRecords::default();
        let mut anew = Anew { writes: Vec::new(), facts, totals: base, unread, closed: None, bytes: 0 };
        for commit in commits.iter().rev() {
            let before = counter.so_far();
            match self.read_into(&mut counter, commit) {
                Err(EngineError::Store(error)) if is_of_content(&error) => return Ok(None),
                read => read?,
            }
            let own = if counter.is_between_lines() {
                between(before, counter.so_far())
            } else {
                // The last line has no end yet. What capture counted of it is not known here.
                commit.counts
            };
            if own != commit.counts {
                anew.writes.push(Write::Counts { commit: commit.id, counts: own });
            }
            anew.totals.commits += 1;
            anew.totals.messages += own.messages;
            anew.totals.entries += own.entries;
            anew.totals.bytes += commit.native_bytes;
            anew.bytes += commit.native_bytes;
            if Some(commit.id) == closed_tip {
                anew.closed = Some((counter.facts().clone(), anew.totals, counter.unread()));
            }
        }
        anew.facts = counter.facts().clone();
        anew.unread = counter.unread();
        Ok(Some(anew))
    }

    /// Returns the commits of a session, the newest first. Returns `None` if one of them is gone, or came from anything else than
    /// a transcript of the session's format.
    fn own_commits(&self, session: &Session) -> Result<Option<Vec<Commit>>> {
        let from = match session.origin {
            SessionOrigin::Placed(from) => Some(from),
            SessionOrigin::Imported | SessionOrigin::Api => None,
        };
        let mut walk = Walk::new(self.store.as_ref(), session.tip.filter(|tip| Some(*tip) != from));
        let mut commits: Vec<Commit> = Vec::new();
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == from {
                break;
            }
            let is_read = match commit.core.commit_type {
                CommitType::Delta => true,
                CommitType::Compaction => commit.core.native.is_some(),
                CommitType::Snapshot { .. } => false,
            };
            if !is_read || commit.closure == Closure::Forgotten || commit.core.format != session.format {
                return Ok(None);
            }
            commits.push(commit);
        }
        let is_whole = commits.last().is_some_and(|first| first.core.parent == from);
        Ok(is_whole.then_some(commits))
    }

    fn read_into(&self, counter: &mut LineCounter, commit: &Commit) -> Result<()> {
        self.store.read_content(commit.core.native_artifact(), None, &mut |piece| {
            counter.bytes(piece);
            Ok(())
        })?;
        Ok(())
    }
}

fn between(before: Counts, after: Counts) -> Counts {
    Counts {
        messages: after.messages.saturating_sub(before.messages),
        entries: after.entries.saturating_sub(before.entries),
        tokens: after.tokens.saturating_sub(before.tokens),
    }
}
