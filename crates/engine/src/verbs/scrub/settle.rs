//! Has sessions, cursors and placements stand on the new chains, and old ids lead to the new ones.
//!
//! Redirects come first: from then on an interrupted scrub knows what is left to remove.

use std::collections::HashSet;

use stemmata_model::{CommitId, RulesHash};
use stemmata_runtimes::adapter::Shape;
use stemmata_store::{Session, SessionKey, SessionOrigin, StoreError, Write};

use super::rewrite::Made;
use crate::capture::cursor::{Cursor, Provisional, SplitterState};
use crate::capture::lines::split_lines;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::verbs::scan::Rulers;

/// Redirects of one batch.
const REDIRECTS_MAX: usize = 4_000;

impl Engine {
    pub(super) fn settle(&self, made: &Made, sessions: &[Session]) -> Result<()> {
        let at = self.clock.now();
        let mut all: Vec<(CommitId, CommitId)> = made.map.iter().map(|(from, to)| (*from, *to)).collect();
        all.sort();
        for page in all.chunks(REDIRECTS_MAX) {
            let redirect = |(from, to): &(CommitId, CommitId)| Write::Redirect { from: *from, to: *to, at };
            self.commit_batch(page.iter().map(redirect).collect())?;
        }
        let mut rulers = Rulers::new(self);
        for session in sessions {
            let Some(mut batch) = self.session_batch(&session.key, made, &mut rulers)? else { continue };
            if let Some(placement) = self.store.placement(&session.key.machine, &session.key.path)? {
                let ctx = made.new_of(placement.ctx);
                batch.push(Write::Placement(Box::new(stemmata_store::Placement { ctx, ..placement })));
            }
            match self.commit_batch(batch) {
                Err(StoreError::CursorMoved { .. }) => return Err(grown(&session.key.path)),
                done => done?,
            };
        }
        Ok(())
    }

    /// Returns what moves a session as it is now; none where it is gone.
    fn session_batch(
        &self,
        key: &SessionKey,
        made: &Made,
        by: &mut Rulers<'_>,
    ) -> Result<Option<Vec<Write>>> {
        // The cursor first: what is captured behind it is found by its value when the batch is written.
        let stored = self.store.cursor(key)?;
        let Some(old) = self.store.session(key)? else { return Ok(None) };
        let cursor = stored.as_deref().and_then(Cursor::decode);
        let ends = old.tip.into_iter().chain(cursor.iter().flat_map(Cursor::commits));
        for end in ends.collect::<Vec<_>>() {
            if !made.map.contains_key(&end) && self.goes_on_from(end, made)? {
                return Err(grown(&key.path));
            }
        }
        let mut session = old.clone();
        session.tip = old.tip.map(|tip| made.new_of(tip));
        if let SessionOrigin::Placed(from) = old.origin {
            session.origin = SessionOrigin::Placed(made.new_of(from));
        }
        if let Some(tip) = session.tip
            && let Some(commit) = self.store.commit(tip)?
        {
            session.bytes = commit.cumulative_bytes;
        }
        let rules = match session.tip {
            Some(tip) => by.of(tip)?,
            None => self.scrubber()?.clone(),
        };
        if let Some(title) = &old.title {
            let title = made.titles.get(title).cloned().unwrap_or_else(|| title.clone());
            let title = rules.scrub_text(&title)?.text.into_owned();
            session.title = Some(title).filter(|title| !title.is_empty());
        }
        for text in [&mut session.cwd, &mut session.git_branch, &mut session.version].into_iter().flatten() {
            *text = rules.scrub_text(text)?.text.into_owned();
        }
        let mut batch = Vec::new();
        if let Some(cursor) = cursor {
            batch.push(Write::ExpectCursor { key: key.clone(), value: stored });
            let moved = self.moved(cursor, &session, made, RulesHash(rules.rules_hash()))?;
            // One that says nothing has the transcript read from its start.
            let value = moved.map(|cursor| cursor.encode(&session)).unwrap_or_default();
            batch.push(Write::Cursor { key: key.clone(), value });
        }
        batch.push(Write::Session(Box::new(session)));
        Ok(Some(batch))
    }

    /// Returns whether a commit continues an old chain: it came while the chain was rewritten.
    fn goes_on_from(&self, id: CommitId, made: &Made) -> Result<bool> {
        let mut walk = Walk::new(self.store.as_ref(), Some(id));
        while let Some(commit) = walk.next()? {
            if made.map.contains_key(&commit.id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns a cursor that stands at the same byte of its file and on the new chain; none where that cannot be said,
    /// because something before was forgotten: then the file is read from its start again.
    fn moved(&self, old: Cursor, session: &Session, made: &Made, rules: RulesHash) -> Result<Option<Cursor>> {
        let tip = old.tip.map(|tip| made.new_of(tip));
        let bytes =
            |id: CommitId| -> Result<_> { Ok(self.store.commit(id)?.ok_or(StoreError::CommitMissing(id))?) };
        let mut provisional = Vec::new();
        let mut known: HashSet<CommitId> = HashSet::new();
        for one in &old.provisional {
            let commit = made.new_of(one.commit);
            if known.insert(commit) {
                provisional.push(Provisional { commit, bytes: bytes(commit)?.native_bytes });
            }
        }
        let mut totals = old.totals;
        if let Some(tip) = tip {
            totals.bytes = bytes(tip)?.cumulative_bytes;
        }
        let placed = match session.origin {
            SessionOrigin::Placed(from) => Some(from),
            SessionOrigin::Imported | SessionOrigin::Api => None,
        };
        let Some(splitter) = self.splitter_at(&old, tip, placed)? else { return Ok(None) };
        let splitter = SplitterState::Whole(splitter);
        Ok(Some(Cursor { rules: rules.into(), earlier_bytes: 0, tip, splitter, provisional, totals, ..old }))
    }

    /// Reads a chain again, as far as it came from the file, and returns what the splitter knows at its end.
    fn splitter_at(
        &self,
        cursor: &Cursor,
        tip: Option<CommitId>,
        placed: Option<CommitId>,
    ) -> Result<Option<Vec<u8>>> {
        let Ok(format) = stemmata_model::FormatId::new(cursor.format.as_str()) else { return Ok(None) };
        let Ok(adapter) = Self::adapter(&format, FormatUse::Read) else { return Ok(None) };
        let mut splitter = adapter.splitter(cursor.granularity, None);
        let mut chain = Vec::new();
        let mut walk = Walk::new(self.store.as_ref(), tip);
        while let Some(commit) = walk.next()? {
            if Some(commit.id) == placed {
                break;
            }
            if commit.closure == stemmata_model::Closure::Forgotten || commit.core.format != format {
                return Ok(None);
            }
            chain.push(commit);
        }
        if adapter.shape() == Shape::Document {
            chain.truncate(1);
        }
        for commit in chain.iter().rev() {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            if adapter.shape() == Shape::Document {
                splitter.line(&bytes, &mut Vec::new());
                continue;
            }
            for line in split_lines(&bytes) {
                splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
            }
        }
        Ok(Some(splitter.state()))
    }
}

/// What is said where a transcript grew while its chain was rewritten.
fn grown(path: &str) -> EngineError {
    let reason = format!("{path} was captured or forgotten meanwhile; run it again");
    EngineError::Refused { what: Refusal::ScrubSession, reasons: vec![reason] }
}
