//! The row of a session, as its transcript and what was known of it say.

use stemmata_model::{CommitId, Counts, Timestamp};
use stemmata_runtimes::adapter::SegmentFacts;
use stemmata_store::{Session, SessionOrigin};

use super::Run;
use crate::chain::rest::Rest;
use crate::engine::Engine;
use crate::error::Result;

impl Run<'_> {
    /// Returns when the session was active last.
    pub(super) fn last_at(&mut self, engine: &Engine, tip: Option<CommitId>) -> Result<Option<Timestamp>> {
        let written = i64::try_from(self.prepared.transcript.stamp().modified_ns / 1_000).ok();
        let written = written.map(Timestamp::from_micros);
        let facts = self.ingest.facts();
        let (first, last) = (facts.first_timestamp, facts.last_timestamp);
        // What a client keeps in a database or in folders has no time of its own that says when a record came.
        let is_file = !self.prepared.transcript.is_kept();
        let latest = engine.latest_in(written.filter(|_| is_file), first);
        let before = self.prepared.previous.as_ref().and_then(|known| known.last_at);
        let before = before.filter(|at| *at <= latest);
        if last.is_none_or(|last| last <= latest) {
            return Ok(last.max(before));
        }
        // The commits are read, so they have to be there.
        self.ingest.flush(Vec::new())?;
        Ok(engine.last_record(tip, latest)?.max(before).or(written.map(|at| at.min(latest))))
    }

    /// Returns the newest commit of the session. A placed copy in which its client only wrote that it was opened is where it was
    /// placed from still: nobody went on with it.
    pub(super) fn tip_gone_on_to(
        &self,
        engine: &Engine,
        tip: Option<CommitId>,
        leaf: Option<SegmentFacts>,
    ) -> Result<Option<CommitId>> {
        let SessionOrigin::Placed(from) = self.prepared.origin() else { return Ok(tip) };
        let was_idle = self.prepared.previous.as_ref().is_none_or(Session::is_unused);
        if !was_idle || tip.is_none() || tip == Some(from) {
            return Ok(tip);
        }
        let messages = self.ingest.closed().totals.messages + leaf.map_or(0, |leaf| leaf.counts.messages);
        Ok(if messages == engine.totals_of(from)?.messages { Some(from) } else { tip })
    }

    pub(super) fn session(
        &self,
        tip: Option<CommitId>,
        (leaf, last_at): (Option<SegmentFacts>, Option<Timestamp>),
        title: Option<String>,
    ) -> Session {
        let facts = self.ingest.facts();
        let totals = self.ingest.closed().totals;
        let counts = leaf.map_or(Counts::default(), |facts| facts.counts);
        let previous = self.prepared.previous.as_ref();
        let session = self.ingest.sighting().session.clone();
        Session {
            key: self.prepared.key.clone(),
            parent_session: facts
                .agent
                .as_ref()
                .and(facts.session.clone())
                .or_else(|| facts.parent.clone())
                .or_else(|| previous.and_then(|known| known.parent_session.clone())),
            session,
            format: self.ingest.adapter().format(),
            template: self.ingest.template(),
            principal: self.ingest.sighting().principal.clone(),
            granularity: self.granularity,
            origin: self.prepared.origin(),
            title: self.title(title),
            cwd: bounded(facts.cwd.as_ref())
                .or_else(|| previous.and_then(|known| known.cwd.clone()))
                .or_else(|| bounded(self.cwd.as_ref())),
            git_branch: bounded(facts.git_branch.as_ref())
                .or_else(|| previous.and_then(|known| known.git_branch.clone())),
            version: bounded(facts.version.as_ref())
                .or_else(|| previous.and_then(|known| known.version.clone())),
            started_at: earliest(previous.and_then(|known| known.started_at), facts.first_timestamp),
            last_at,
            tip,
            commits: totals.commits + u64::from(leaf.is_some()),
            messages: totals.messages + counts.messages,
            bytes: totals.bytes + leaf.map_or(0, |_| self.ingest.open_bytes()),
        }
    }

    /// A placed session keeps the title of what it continues: its own first prompt is not where it began.
    fn title(&self, now: Option<String>) -> Option<String> {
        let before = self.prepared.previous.as_ref().and_then(|known| known.title.clone());
        match self.prepared.origin() {
            SessionOrigin::Placed(_) => before.or(now),
            // The title before may be made of what was forgotten. If a commit cannot be read, it stays: `forget` clears such titles.
            SessionOrigin::Imported | SessionOrigin::Api => {
                let is_unknown = self.rest.as_ref().is_some_and(Rest::has_unreadable);
                now.or(before.filter(|_| is_unknown || !self.ingest.met_forgotten()))
                    .or_else(|| self.named.clone())
            }
        }
    }
}

/// Bytes of a directory, a branch or a version that a session's listing holds at most, as the store bounds them.
const LISTED_BYTES_MAX: usize = 4096;

/// Returns a text that a listing can hold: foreign records may say anything.
pub(super) fn bounded(text: Option<&String>) -> Option<String> {
    text.filter(|text| text.len() <= LISTED_BYTES_MAX).cloned()
}

/// Returns the earlier of two points in time, where there are any.
fn earliest(left: Option<Timestamp>, right: Option<Timestamp>) -> Option<Timestamp> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (known, None) | (None, known) => known,
    }
}
