//! When a session was active last: its latest record that can be one.
//!
//! A record may carry any time: a machine's clock was wrong, or a client wrote nonsense. Listings begin with the session that was
//! active last, so one record of a time to come would put its session first for good. Such records keep their times and order
//! nothing.

use stemmata_model::{CommitId, Timestamp};
use stemmata_store::{Page, Session, SessionFilter, StoreError, Write};

use crate::capture::cursor::Cursor;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// How far ahead of ours another machine's clock may be, in microseconds: five minutes.
const CLOCK_SLACK_MICROS: i64 = 5 * 60 * 1_000_000;

/// Commits of a chain that are read, the newest first, to find a record that does not lie in the future.
const COMMITS_MAX: usize = 256;

/// Bytes of them at most.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Sessions that are looked at for a time to come in one go: the listing begins with all of them.
const SESSIONS_MAX: usize = 256;

impl Engine {
    /// Returns the latest moment that a record can be of.
    pub(crate) fn latest_possible(&self) -> Timestamp {
        Timestamp::from_micros(self.clock.now().as_micros().saturating_add(CLOCK_SLACK_MICROS))
    }

    /// Returns the latest moment that a record of a file can be of, which was written last at `written` and whose records begin at
    /// `first`: what is in a file was there when it was written. A file that says to be older than all that it holds was given its
    /// time by something else, and says nothing.
    pub(crate) fn latest_in(&self, written: Option<Timestamp>, first: Option<Timestamp>) -> Timestamp {
        let latest = self.latest_possible();
        let written =
            written.map(|at| Timestamp::from_micros(at.as_micros().saturating_add(CLOCK_SLACK_MICROS)));
        written.filter(|at| first.is_some_and(|first| first <= *at)).map_or(latest, |at| at.min(latest))
    }

    /// Returns the time of the latest record of a chain, without records that are later than they can be. Only the newest commits are
    /// read: if all their records are, there is no such time.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn last_record(&self, tip: Option<CommitId>, latest: Timestamp) -> Result<Option<Timestamp>> {
        let mut walk = Walk::new(self.store.as_ref(), tip);
        let mut bytes_left = BYTES_MAX;
        for _ in 0..COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            let Some(left) = bytes_left.checked_sub(commit.native_bytes) else { break };
            bytes_left = left;
            // What is forgotten or of a format that is not known says no time.
            let Ok(adapter) = Self::adapter(&commit.core.format, FormatUse::Read) else { continue };
            let Ok(bytes) = read_whole(self, commit.core.native_artifact()) else { continue };
            let times = adapter.decode(&bytes).entries.into_iter().filter_map(|entry| entry.timestamp);
            let last = times.filter(|time| *time <= latest).max();
            if last.is_some() {
                return Ok(last);
            }
        }
        Ok(None)
    }

    /// Gives sessions a time of what they hold that were stored with one to come: earlier versions took any. They are the first ones
    /// of the listing, so that where there is none one look-up says so.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn mend_times_to_come(&self) -> Result<()> {
        let page = Page { skip: 0, rows_max: SESSIONS_MAX };
        let latest = self.latest_possible();
        let first = self.store.sessions(&SessionFilter::default(), page)?;
        for session in first.into_iter().take_while(|session| session.last_at > Some(latest)) {
            let last_at =
                self.last_record(session.tip, latest)?.or(session.started_at).filter(|at| *at <= latest);
            // Somebody reads its transcript at this moment, and knows the rule.
            match self.mend_time(session, last_at.unwrap_or(Timestamp::EPOCH)) {
                Err(crate::EngineError::Store(StoreError::CursorMoved { .. })) => {}
                mended => mended?,
            }
        }
        Ok(())
    }

    fn mend_time(&self, session: Session, last_at: Timestamp) -> Result<()> {
        let mended = Session { last_at: Some(last_at), ..session.clone() };
        let value = self.store.cursor(&session.key)?;
        let cursor =
            value.as_deref().and_then(Cursor::decode).and_then(|known| known.unpacked(Some(&session)));
        let key = session.key;
        let mut batch =
            vec![Write::ExpectCursor { key: key.clone(), value }, Write::Session(Box::new(mended.clone()))];
        // A cursor refers to its session's row.
        batch.extend(cursor.map(|cursor| Write::Cursor { key, value: cursor.encode(&mended) }));
        self.commit_batch(batch)?;
        Ok(())
    }
}
