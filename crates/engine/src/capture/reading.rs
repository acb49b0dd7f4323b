//! What is known of a transcript before it is read: the rules for its secrets, what was read of it before, and where to begin.
//!
//! What is read becomes commits in `ingest`; of a transcript whose secrets cannot be replaced, only that it is there is kept.

use std::path::{Path, PathBuf};

use stemmata_model::{
    Closure, CommitId, CommitType, Counts, FormatId, Granularity, Note, NoteCode, SessionId, Timestamp,
    to_u64,
};
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::{Adapter, Shape};
use stemmata_runtimes::registry;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{Placement, Session, SessionKey, SessionOrigin, StoreError, Write};

use crate::capture::cursor::{Cursor, Provisional, Relation, WINDOW_BYTES, Windows, relate};
use crate::capture::earlier::Earlier;
use crate::capture::ingest::{ChainTotals, Start};
use crate::capture::options::CaptureOptions;
use crate::capture::transcript_file::{Transcript, key_path};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::scrubbing::is_document;
use crate::verbs::place::record::keyed;

/// Why a transcript that was read before is read again from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// It was rewritten, replaced or cut.
    Rewritten,
    /// Secrets were replaced by other rules then.
    Rules,
    /// Somebody asked for it.
    Asked,
    /// How far it was read is not known any more.
    Forgotten,
}

/// A transcript and what was known of it, before it is read.
pub(crate) struct Prepared<'t> {
    pub adapter: &'static dyn Adapter,
    pub key: SessionKey,
    pub transcript: &'t mut Transcript,
    /// What replaces its secrets.
    pub scrubber: Scrubber,
    /// Bytes of it that keep what the shipped rules before made of them.
    pub earlier_bytes: u64,
    /// The cursor as it is stored.
    pub stored: Option<Vec<u8>>,
    pub cursor: Option<Cursor>,
    pub relation: Option<Relation>,
    pub again: Option<Again>,
    pub previous: Option<Session>,
    /// What we placed there, where a file that is read from its start still begins with it.
    pub placement: Option<Placement>,
    /// The version of its format that it names and that is not known.
    pub unknown_version: Option<String>,
}

impl Prepared<'_> {
    /// Says whether all of a file of this length was captured before, up to its last byte.
    pub(crate) fn was_seen_whole(&self) -> bool {
        let is_same = |cursor: &Cursor| {
            cursor.seen_bytes == cursor.stamp.length && cursor.stamp.length == self.transcript.stamp().length
        };
        self.cursor.as_ref().is_some_and(is_same)
    }

    /// Returns the cursor, where reading goes on from it.
    pub(crate) fn goes_on(&self) -> Option<&Cursor> {
        self.cursor.as_ref().filter(|_| self.relation == Some(Relation::Grown))
    }

    /// Returns how the session came to be known.
    pub(crate) fn origin(&self) -> SessionOrigin {
        let placed = self.placement.as_ref().map(|placement| SessionOrigin::Placed(placement.ctx));
        let known = self.previous.as_ref().map(|known| known.origin);
        placed.or(known).unwrap_or(SessionOrigin::Imported)
    }

    /// Says what a second reading did not find again.
    pub(crate) fn note_left(&self, newest: CommitId, granularity: Granularity) -> Note {
        let before = self.previous.as_ref().map(|known| known.granularity);
        let reason = match (self.again, before) {
            (Some(Again::Rules), _) => {
                "the file was read under other redaction rules before, which replaced other bytes".to_owned()
            }
            (Some(Again::Asked), Some(before)) if before != granularity => {
                format!("commits end at other places now (`{granularity}`, before `{before}`)")
            }
            _ => "the file was rewritten since it was last read".to_owned(),
        };
        Note::new(NoteCode::Rewritten, format!("{reason}; {newest} keeps what it held before"))
    }
}

impl Engine {
    /// Opens a transcript that may be captured.
    ///
    /// # Errors
    /// `HeldBack` where it is excluded or capture is paused, as [`Transcript::open`].
    pub(crate) fn open_transcript(&self, path: &Path) -> Result<Transcript> {
        let mut opened = Transcript::open(path);
        // By its path alone a file is excluded too that cannot be opened.
        match self.held_back(path, opened.as_mut().ok())? {
            Some(reason) => Err(EngineError::HeldBack { path: path.to_owned(), reason }),
            None => opened,
        }
    }

    /// Returns the key of the session that a transcript on this machine is: one file is one session, however
    /// it was named.
    pub(crate) fn session_key(&self, path: &Path) -> SessionKey {
        SessionKey { machine: self.identity.machine.clone(), path: key_path(path) }
    }

    /// Returns the key of the session that an open transcript is.
    pub(crate) fn key_of(&self, transcript: &Transcript) -> SessionKey {
        SessionKey { machine: self.identity.machine.clone(), path: transcript.key().to_owned() }
    }

    /// Looks up what was read of a transcript, and loads its bytes where they are needed.
    pub(crate) fn prepare<'t>(
        &self,
        transcript: &'t mut Transcript,
        options: &CaptureOptions,
    ) -> Result<Prepared<'t>> {
        let key = self.key_of(transcript);
        let stored = self.store.cursor(&key)?;
        let previous = self.store.session(&key)?;
        if previous.as_ref().is_some_and(Session::is_sidecar) {
            let (path, is_bundle) = (transcript.path().to_owned(), false);
            let reason = "it was captured with the transcript that it is beside".to_owned();
            return Err(EngineError::NotATranscript { path, reason, is_bundle });
        }
        let known = previous.as_ref().and_then(|known| known.cwd.as_deref());
        let scrubber = self.scrubber_for(transcript, known, options.cwd.as_deref())?;
        let cursor = stored.as_deref().and_then(Cursor::decode);
        let cursor = cursor.and_then(|cursor| cursor.unpacked(previous.as_ref()));
        let mut again = match &cursor {
            None => (stored.is_some() || previous.is_some()).then_some(Again::Forgotten),
            Some(_) if options.full => Some(Again::Asked),
            Some(cursor) if cursor.earlier_under(&scrubber).is_none() => Some(Again::Rules),
            Some(cursor) if adapter_of(cursor).is_none() => Some(Again::Forgotten),
            Some(_) => None,
        };
        let seen =
            cursor.as_ref().filter(|cursor| again.is_none() && cursor.seen_bytes == cursor.stamp.length);
        transcript.load(seen.map(|cursor| &cursor.stamp))?;
        let mut relation = match &cursor {
            Some(cursor) if again.is_none() => {
                Some(relate(transcript, cursor, &self.store.identity()?.secret)?)
            }
            _ => None,
        };
        if relation == Some(Relation::Rewritten) {
            again = Some(Again::Rewritten);
        }
        // What retention let go is read again when there is more of it.
        if relation == Some(Relation::Grown) && !self.has_tip(cursor.as_ref())? {
            (relation, again) = (Some(Relation::Rewritten), Some(Again::Forgotten));
        }
        let known = cursor.as_ref().map(|cursor| (cursor, again.is_some()));
        let mut earlier_bytes = self.earlier_bytes(transcript, known, &scrubber)?;
        let known = cursor.as_ref().and_then(adapter_of).filter(|_| again.is_none());
        let adapter = match known {
            Some(adapter) => adapter,
            None => match options.format.as_ref().and_then(registry::by_format) {
                Some(given) => given,
                None => transcript.detected()?.0,
            },
        };
        if adapter.shape() == Shape::Document {
            // It is read whole each time, and what it was before is what it goes on from.
            relation = relation.filter(|relation| *relation == Relation::Unchanged);
            (again, earlier_bytes) = (again.filter(|again| *again == Again::Rules), 0);
        }
        let mut prepared = Prepared {
            adapter,
            key,
            transcript,
            scrubber,
            earlier_bytes,
            stored,
            cursor,
            relation,
            again,
            previous,
            placement: None,
            unknown_version: None,
        };
        let is_as_seen = prepared.relation == Some(Relation::Unchanged);
        if !(is_as_seen && prepared.cursor.as_ref().is_some_and(|cursor| cursor.is_version_known)) {
            prepared.unknown_version = prepared.transcript.unknown_version()?;
        }
        if prepared.relation.is_none_or(|relation| relation == Relation::Rewritten) {
            prepared.placement = self.placement_in(&mut prepared)?;
        }
        Ok(prepared)
    }

    /// Returns how many bytes of a file keep what the shipped rules before made of them: read again from its start it becomes what
    /// it was, where it still begins with what was read.
    fn earlier_bytes(
        &self,
        transcript: &Transcript,
        known: Option<(&Cursor, bool)>,
        scrubber: &Scrubber,
    ) -> Result<u64> {
        let Some((cursor, is_again)) = known else { return Ok(0) };
        let bytes = cursor.earlier_under(scrubber).unwrap_or(0);
        if bytes == 0 || !is_again {
            return Ok(bytes);
        }
        let windows = Windows::before(transcript, cursor.seen_bytes)?;
        let is_same = windows.hashes(&self.store.identity()?.secret) == (cursor.head, cursor.tail);
        Ok(if is_same { bytes } else { 0 })
    }

    /// Returns what we placed in a file, where the file still begins with all of it.
    fn placement_in(&self, prepared: &mut Prepared<'_>) -> Result<Option<Placement>> {
        let known = match self.store.placement(&prepared.key.machine, &prepared.key.path)? {
            None if prepared.previous.is_none() => {
                let session = prepared.transcript.session_name(prepared.adapter)?;
                self.moved_placement(&prepared.key, &session)?
            }
            known => known,
        };
        let Some(placement) = known else { return Ok(None) };
        if prepared.transcript.stamp().length < placement.placed_bytes {
            return Ok(None);
        }
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < placement.placed_bytes {
            let wanted = (placement.placed_bytes - at).min(WINDOW_BYTES);
            let bytes = prepared.transcript.range(at, wanted)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            hasher.update(&bytes);
            at += to_u64(bytes.len());
        }
        let found = keyed(&self.store.identity()?.secret, *hasher.finalize().as_bytes());
        Ok((found == placement.keyed_hash).then_some(placement))
    }

    /// Returns where reading begins.
    pub(crate) fn start_of(&self, prepared: &Prepared<'_>) -> Result<Start> {
        if prepared.adapter.shape() == Shape::Document {
            return self.start_of_document(prepared);
        }
        if let Some(cursor) = prepared.goes_on() {
            return Ok(Start {
                parent: cursor.tip.map(|tip| self.parent(tip)).transpose()?,
                raw_bytes: cursor.closed_bytes,
                line: cursor.closed_line,
                totals: cursor.totals,
                provisional: self.that_are_there(&cursor.provisional)?,
                redacted_bytes: cursor.redacted_bytes,
                unread: cursor.unread.closed.clone(),
            });
        }
        let Some(placement) = &prepared.placement else {
            return Ok(Start { line: 1, ..Start::default() });
        };
        Ok(Start {
            parent: Some(self.parent(placement.ctx)?),
            raw_bytes: placement.taken_bytes,
            line: 1 + lines_before(prepared.transcript, placement.taken_bytes)?,
            totals: self.totals_of(placement.ctx)?,
            ..Start::default()
        })
    }

    /// Returns what a document goes on from: the state before, or what was placed there; nothing where secrets are
    /// replaced by other rules now.
    fn start_of_document(&self, prepared: &Prepared<'_>) -> Result<Start> {
        let first = Start { line: 1, ..Start::default() };
        let known = prepared.cursor.as_ref().and_then(|cursor| cursor.tip);
        let known = known.or(prepared.previous.as_ref().and_then(|previous| previous.tip));
        let Some(tip) = known.filter(|_| prepared.again.is_none()) else { return Ok(first) };
        let Some(commit) = self.store.commit(tip)? else { return Ok(first) };
        let parent = Some((tip, commit.core.created_at));
        Ok(Start { parent, totals: self.totals_of(tip)?, ..first })
    }

    fn has_tip(&self, cursor: Option<&Cursor>) -> Result<bool> {
        match cursor.and_then(|cursor| cursor.tip) {
            Some(tip) => Ok(self.store.commit(tip)?.is_some()),
            None => Ok(true),
        }
    }

    /// Returns the provisional commits that are there: retention may have let some go.
    fn that_are_there(&self, provisional: &[Provisional]) -> Result<Vec<Provisional>> {
        let mut there = Vec::new();
        for known in provisional {
            if self.store.commit(known.commit)?.is_some() {
                there.push(known.clone());
            }
        }
        Ok(there)
    }

    fn parent(&self, id: CommitId) -> Result<(CommitId, stemmata_model::Timestamp)> {
        let commit = self.store.commit(id)?.ok_or(StoreError::CommitMissing(id))?;
        Ok((id, commit.core.created_at))
    }

    /// Returns what a chain holds, up to and with a commit.
    pub(crate) fn totals_of(&self, ctx: CommitId) -> Result<ChainTotals> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut totals = ChainTotals::default();
        let mut is_counted = true;
        while let Some(commit) = walk.next()? {
            let Counts { messages, entries, .. } = commit.counts;
            totals.commits += 1;
            if is_counted {
                totals.messages += messages;
                totals.entries += entries;
                totals.bytes += commit.native_bytes;
            }
            // A document stands for all of its states before.
            let is_whole = matches!(commit.core.commit_type, CommitType::Snapshot { .. })
                && is_document(&commit.core.format);
            is_counted &= !is_whole;
        }
        Ok(totals)
    }

    /// Returns what an earlier reading left, where this one does not go on from it.
    pub(crate) fn earlier(&self, prepared: &Prepared<'_>) -> Result<Option<Earlier>> {
        if prepared.again.is_none() {
            return Ok(None);
        }
        if let Some(cursor) = &prepared.cursor {
            if !self.has_tip(Some(cursor))? {
                return Ok(None);
            }
            return Ok(Some(Earlier::new(cursor.tip, self.that_are_there(&cursor.provisional)?)));
        }
        let Some(tip) = prepared.previous.as_ref().and_then(|known| known.tip) else { return Ok(None) };
        let Some(commit) = self.store.commit(tip)? else { return Ok(None) };
        let is_placed = prepared.placement.as_ref().is_some_and(|placement| placement.ctx == tip);
        // A hole may have been either; a closed one is met as what the commit begins with.
        let may_be_open = matches!(commit.closure, Closure::Provisional | Closure::Forgotten);
        if is_placed || !may_be_open {
            return Ok(Some(Earlier::new(Some(tip), Vec::new())));
        }
        let open = Provisional { commit: tip, bytes: commit.native_bytes };
        Ok(Some(Earlier::new(commit.core.parent, vec![open])))
    }
}

impl Engine {
    /// Keeps what is known of a transcript whose content cannot be scrubbed: that it is there, whose session it is, and
    /// when it was written. Nothing of what it says.
    pub(crate) fn keep_metadata(&self, transcript: &mut Transcript) -> Result<()> {
        let key = self.key_of(transcript);
        let is_forgotten = !self.store.tombstones(&[Tombstone::Transcript(key.clone())])?.is_empty();
        if self.store.session(&key)?.is_some() || is_forgotten {
            return Ok(());
        }
        transcript.load(None)?;
        let (adapter, _) = transcript.detected()?;
        let session = transcript.session_name(adapter)?;
        let row = self.unread_session(transcript, adapter, session)?;
        self.commit_batch(vec![Write::Session(Box::new(row))])?;
        Ok(())
    }

    /// Returns the row of a session of which nothing was read.
    pub(crate) fn unread_session(
        &self,
        transcript: &Transcript,
        adapter: &dyn Adapter,
        session: SessionId,
    ) -> Result<Session> {
        let format = adapter.format();
        let written = i64::try_from(transcript.stamp().modified_ns / 1_000).ok();
        Ok(Session {
            key: self.key_of(transcript),
            session,
            parent_session: None,
            principal: self.identity.principal(runtime_of(&format))?,
            template: adapter.splitter(Granularity::Turn, None).template(),
            format,
            granularity: Granularity::Turn,
            origin: SessionOrigin::Imported,
            title: None,
            cwd: None,
            git_branch: None,
            version: None,
            started_at: None,
            last_at: written.map(Timestamp::from_micros),
            tip: None,
            commits: 0,
            messages: 0,
            bytes: 0,
        })
    }

    /// Returns what replaces secrets in a transcript, by what the store knows of its session.
    pub(crate) fn scrubber_of_file(&self, transcript: &mut Transcript) -> Result<Scrubber> {
        let known = self.store.session(&self.key_of(transcript))?.and_then(|known| known.cwd);
        self.scrubber_for(transcript, known.as_deref(), None)
    }

    /// Returns what replaces secrets in a transcript: by the directory that its records name, else by what is `known` of the
    /// session, else by what is `given`. One that is known and whose bytes are costly is not looked into.
    pub(crate) fn scrubber_for(
        &self,
        transcript: &mut Transcript,
        known: Option<&str>,
        given: Option<&str>,
    ) -> Result<Scrubber> {
        let is_looked_into = known.is_none() || !transcript.is_costly();
        let named = if is_looked_into { transcript.first_cwd()? } else { None };
        let cwd = named.or_else(|| known.or(given).map(PathBuf::from));
        self.scrubber_at(cwd.as_deref())
    }
}

fn adapter_of(cursor: &Cursor) -> Option<&'static dyn Adapter> {
    registry::by_format(&FormatId::new(cursor.format.as_str()).ok()?)
}

/// Counts the lines before an offset.
fn lines_before(transcript: &Transcript, offset: u64) -> Result<u64> {
    let mut lines = 0;
    let mut at = 0;
    while at < offset {
        let bytes = transcript.range(at, (offset - at).min(WINDOW_BYTES))?;
        if bytes.is_empty() {
            break;
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        at += to_u64(bytes.len());
    }
    Ok(to_u64(lines))
}
