//! Captures one transcript file: decides from the cursor where to read on, and reads.

mod row;

use std::path::Path;

use stemmata_model::{CommitId, Granularity, Note, NoteCode, SessionId, Sighting, Source};
use stemmata_runtimes::adapter::{SegmentFacts, Shape, with_title_of};
use stemmata_runtimes::clients::of_format;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{Link, LinkKind, Placement, Session, SessionOrigin, StoreError, Write};

use self::row::bounded;
use crate::capture::captured::{Captured, UnreadSoFar, unchanged};
use crate::capture::cursor::{Cursor, Relation, SplitterState, Windows};
use crate::capture::ingest::Ingest;
use crate::capture::namesakes::Replaced;
use crate::capture::options::CaptureOptions;
use crate::capture::reading::{Again, Prepared};
use crate::chain::rest::Rest;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result, Wanted};

/// Readings of one transcript that are tried while other processes read it too: each time, one of them gets on.
const ATTEMPTS_MAX: usize = 8;

impl Engine {
    /// Captures what a transcript holds beyond what is stored. Idempotent; resumes where it was interrupted.
    ///
    /// # Errors
    /// `HeldBack` where it is excluded or capture is paused, `NotATranscript` for a file of no known format, `Io`,
    /// `LineTooLong` and `DocumentTooLong` with the place, `Torn` for a document that is cut, store errors.
    /// What was handed to the store before an error stays, and the next capture goes on from there.
    pub fn capture(&self, path: &Path, options: &CaptureOptions) -> Result<Captured> {
        self.capture_or_wait(path, options, false)
    }

    /// The same; it `waits`, with `CommitMissing`, where a conversion was placed from a commit that is not here and may come.
    ///
    /// # Errors
    /// As [`Engine::capture`], and `CommitMissing`.
    pub(crate) fn capture_or_wait(
        &self,
        path: &Path,
        options: &CaptureOptions,
        waits: bool,
    ) -> Result<Captured> {
        for _ in 1..ATTEMPTS_MAX {
            match self.capture_once(path, options, waits) {
                // Another process read the transcript, or forgot something of it, since this reading looked at the store. The
                // next one opens it anew and sees both.
                Err(EngineError::Store(StoreError::CursorMoved { .. } | StoreError::Forgotten(_))) => {}
                done => return done,
            }
        }
        self.capture_once(path, options, waits)
    }

    fn capture_once(&self, path: &Path, options: &CaptureOptions, waits: bool) -> Result<Captured> {
        let mut transcript = self.open_transcript(path)?;
        let prepared = self.prepare(&mut transcript, options);
        if let Ok(new) = &prepared
            && self.recognize_placed(new, waits)?
        {
            return self.capture_once(path, options, waits);
        }
        let captured = prepared.and_then(|prepared| self.capture_prepared(prepared, options));
        if matches!(captured, Err(EngineError::Rules(_) | EngineError::Scrub(_))) {
            self.keep_metadata(&mut transcript)?;
        }
        captured
    }

    /// Says of a transcript that was forgotten what it is, and stores nothing of it.
    fn left_alone(
        &self,
        prepared: &Prepared<'_>,
        session: &SessionId,
        options: &CaptureOptions,
        what: &str,
    ) -> Result<Captured> {
        let session = match prepared.previous.clone() {
            Some(previous) => Session { tip: None, commits: 0, messages: 0, bytes: 0, ..previous },
            None => Session {
                origin: prepared.origin(),
                granularity: options.granularity,
                cwd: bounded(options.cwd.as_ref()),
                ..self.unread_session(prepared.transcript, prepared.adapter, session.clone())?
            },
        };
        let again = &session.session;
        let note = format!(
            "{what} was forgotten, so this transcript is left alone; `stemma forget --undo {again}` lets it be \
             imported again"
        );
        let notes = vec![Note::new(NoteCode::Forgotten, note)];
        Ok(Captured { notes, ..Captured::nothing_of(session, prepared.transcript.stamp().length) })
    }

    /// Returns whether a transcript, or the session that it is, was forgotten.
    fn is_forgotten(&self, prepared: &Prepared<'_>, session: &SessionId) -> Result<bool> {
        if prepared.previous.is_some() {
            return Ok(false);
        }
        let tombstones = [Tombstone::Transcript(prepared.key.clone()), Tombstone::Session(session.clone())];
        Ok(!self.store.tombstones(&tombstones)?.is_empty())
    }

    /// Captures what a transcript holds beyond what is stored, from what is known of it, and what its client keeps beside it.
    pub(crate) fn capture_prepared(
        &self,
        prepared: Prepared<'_>,
        options: &CaptureOptions,
    ) -> Result<Captured> {
        let key = prepared.key.clone();
        let unknown_version = prepared.unknown_version.clone();
        let mut captured = match self.capture_news(prepared, options) {
            Err(error @ EngineError::LineTooLong { .. }) => {
                // What stands before that line is a session all the same.
                if let Some(session) = self.store.session(&key)? {
                    self.capture_sidecars(&session)?;
                }
                return Err(error);
            }
            captured => captured?,
        };
        // Files may have come since its last line, so also where the transcript is as it was.
        let (sidecars, notes) = self.capture_sidecars(&captured.session)?;
        captured.unknown_version = unknown_version;
        captured.sidecars = sidecars;
        captured.notes.extend(notes);
        Ok(captured)
    }

    fn capture_news(&self, mut prepared: Prepared<'_>, options: &CaptureOptions) -> Result<Captured> {
        if let (Some(Relation::Unchanged), Some(cursor), Some(session)) =
            (prepared.relation, &prepared.cursor, &prepared.previous)
        {
            return Ok(unchanged(session, cursor, prepared.transcript.stamp()));
        }
        let sighting = self.sighting(&mut prepared, options)?;
        if self.is_forgotten(&prepared, &sighting.session)? {
            return self.left_alone(&prepared, &sighting.session, options, "this session");
        }
        self.read(prepared, sighting, options)
    }

    fn read(&self, prepared: Prepared<'_>, sighting: Sighting, options: &CaptureOptions) -> Result<Captured> {
        let goes_on = prepared.goes_on();
        let granularity = match (goes_on, options.full, &prepared.previous) {
            (Some(cursor), ..) => cursor.granularity,
            (None, false, Some(previous)) => previous.granularity,
            (None, ..) => options.granularity,
        };
        let splitter = prepared.adapter.splitter(granularity, goes_on.map(|cursor| cursor.splitter.whole()));
        let start = self.start_of(&prepared)?;
        if prepared.adapter.shape() == Shape::Document
            && let Some(forgotten) = self.forgotten_state(&start)?
        {
            return self.left_alone(&prepared, &sighting.session, options, &forgotten.to_string());
        }
        let lines = prepared.transcript.lines(start.raw_bytes, start.line)?;
        let windows = Windows::before(prepared.transcript, start.raw_bytes)?;
        let earlier = self.earlier(&prepared)?;
        // Commits are only looked up among what was forgotten where anything was.
        let is_careful = self.store.has_tombstones()?;
        let looks = if is_careful { Some(self.forgotten_looks(&sighting.session)?) } else { None };
        let begun = (start, prepared.scrubber.clone());
        let ingest = Ingest::new(self, prepared.adapter, splitter, sighting, begun);
        let ingest = looks.into_iter().fold(ingest, Ingest::careful).expect(earlier);
        let expected = prepared.stored.clone();
        let (cwd, named) = (options.cwd.clone(), options.title.clone());
        let mut run = Run { ingest, prepared, granularity, windows, cwd, named, expected, rest: None };
        let captured = match run.read_lines(self, options, lines) {
            Ok(()) => self.finish(&mut run, options.leaf),
            // What stands before the line is kept as what stands before the end of a file is, and the cursor says where it ends.
            Err(error @ EngineError::LineTooLong { .. }) => {
                self.finish(&mut run, options.leaf).and(Err(error))
            }
            Err(error) => {
                run.keep_what_is_closed(self, &error);
                Err(error)
            }
        };
        match captured {
            // Nothing of it is there to go on from. A hole would be one that another process made since it was looked up:
            // then a second reading goes on behind it.
            Err(EngineError::Store(StoreError::Forgotten(commit)))
                if is_careful && self.is_gone(commit)? =>
            {
                self.left_alone(&run.prepared, &run.ingest.sighting().session, options, &commit.to_string())
            }
            captured => captured,
        }
    }

    fn finish(&self, run: &mut Run<'_>, is_leaf_wanted: bool) -> Result<Captured> {
        // What was kept once is never behind what a listing says, and what is read again is compared with what was there.
        let goes_on = !run.ingest.closed().provisional.is_empty() || run.prepared.again.is_some();
        let leaf = if is_leaf_wanted || goes_on { run.ingest.provisional()? } else { None };
        let open = leaf.map(|_| run.ingest.open());
        // A cursor's windows are of what was seen, which ends at a boundary where nothing else was kept.
        let windows = if leaf.is_some() || is_leaf_wanted {
            run.windows.clone()
        } else {
            Windows::before(run.prepared.transcript, run.ingest.closed().raw_bytes)?
        };
        let replaced = self.replaced_by(run, leaf)?;
        if replaced.iter().any(|write| matches!(write, Write::Session(_))) {
            // Another conversation has nothing of the one whose place it took.
            run.prepared.previous = None;
        }
        let mut last = run.progress(self, &windows, leaf.zip(open))?;
        last.extend(replaced);
        if let Some(placed) =
            run.prepared.placement.as_ref().filter(|placed| placed.path != run.prepared.key.path)
        {
            let path = run.prepared.key.path.clone();
            last.push(Write::Placement(Box::new(Placement { path, ..placed.clone() })));
        }
        run.prepared.transcript.notes().into_iter().for_each(|note| run.ingest.note(note));
        run.ingest.flush(last)?;
        // After the commits, so that of two captures at once the later one sees the other's.
        let copies = self.link_copies(run.ingest.news())?;
        let session = self.store.session(&run.prepared.key)?.ok_or_else(|| EngineError::NotFound {
            what: Wanted::Session,
            text: run.prepared.key.path.clone(),
        })?;
        if run.prepared.previous.is_none() || run.prepared.again.is_some() {
            self.leave_namesakes(&session)?;
        }
        tracing::debug!(path = %run.prepared.transcript.path().display(), tip = ?session.tip, "captured");
        let outcome = run.ingest.outcome();
        Ok(Captured {
            entries: run.ingest.closed().totals.entries + open.map_or(0, |facts| facts.counts.entries),
            bytes_held: if leaf.is_some() { run.ingest.seen_bytes() } else { run.ingest.closed().raw_bytes },
            bytes_redacted: run.ingest.redacted_bytes(),
            redacted: run.ingest.redacted_kinds(),
            bytes_stored: outcome.stored_bytes,
            new_commits: outcome.new_commits,
            copies,
            unread: run.ingest.unread(),
            notes: run.ingest.take_notes(),
            ..Captured::nothing_of(session, run.prepared.transcript.stamp().length)
        })
    }

    /// Returns what records that a reading did not find again what was read before: a link to it, and the row of a conversation that
    /// another one was written over.
    fn replaced_by(&self, run: &mut Run<'_>, leaf: Option<CommitId>) -> Result<Vec<Write>> {
        let mut writes = Vec::new();
        let Some(left) = run.ingest.left_behind() else { return self.document_replaced_by(run) };
        let note = run.prepared.note_left(left.newest, run.granularity);
        run.ingest.note(note);
        let root = run.ingest.first_closed().or(leaf).filter(|_| left.may_be_apart);
        let derived = self.derived(root, left.origin)?;
        if run.prepared.again == Some(Again::Rewritten)
            && let Some(before) = &run.prepared.previous
        {
            // What is read now is compared as it is kept.
            run.ingest.flush(Vec::new())?;
            let now = leaf.or(run.ingest.closed().parent.map(|(tip, _)| tip));
            let anchored = run.ingest.news().anchored();
            let was_unreadable =
                run.prepared.cursor.as_ref().map_or(0, |cursor| cursor.unread.seen.unreadable);
            let is_damaged = run.ingest.unread_so_far().unreadable > was_unreadable;
            let replaced = Replaced { before, newest: left.newest, now, anchored, is_damaged };
            writes.extend(self.taken_place_of(&replaced, derived.is_some())?);
        }
        writes.extend(derived.map(Write::Link));
        Ok(writes)
    }

    /// Returns the row of what a client's document said before, where it says that no longer. A database is no file that another
    /// conversation takes, and what stands before a compaction is in the document's chain.
    fn document_replaced_by(&self, run: &mut Run<'_>) -> Result<Vec<Write>> {
        let (adapter, now) = (run.prepared.adapter, run.ingest.closed().parent.map(|(tip, _)| tip));
        let is_file = of_format(&adapter.format()).is_some() && !run.prepared.transcript.is_kept();
        let before = run.prepared.previous.as_ref().filter(|_| adapter.shape() == Shape::Document && is_file);
        let Some((before, newest)) = before.and_then(|before| Some((before, before.tip?))) else {
            return Ok(Vec::new());
        };
        if now == Some(newest) {
            return Ok(Vec::new());
        }
        run.ingest.flush(Vec::new())?;
        let replaced = Replaced { before, newest, now, anchored: &[], is_damaged: false };
        Ok(self.taken_place_of(&replaced, false)?.into_iter().collect())
    }

    /// Links a chain to the one that stood in its file before, where the two share nothing.
    fn derived(&self, root: Option<CommitId>, old: CommitId) -> Result<Option<Link>> {
        let Some(root) = root else { return Ok(None) };
        let mut walk = Walk::new(self.store.as_ref(), Some(old));
        while let Some(commit) = walk.next()? {
            if commit.id == root {
                return Ok(None);
            }
        }
        Ok(Some(Link { from: root, kind: LinkKind::DerivedFrom, to: old, entry: None }))
    }

    fn sighting(&self, prepared: &mut Prepared<'_>, options: &CaptureOptions) -> Result<Sighting> {
        let path = prepared.key.path.clone();
        let session = match &prepared.previous {
            Some(previous) => previous.session.clone(),
            None => prepared.transcript.session_name(prepared.adapter)?,
        };
        Ok(Sighting {
            principal: self.identity.principal(runtime_of(&prepared.adapter.format()))?,
            machine: self.identity.machine.clone(),
            session,
            trigger: options.trigger,
            ticket: options.ticket.clone(),
            thread: options.thread.clone(),
            reasons: stemmata_model::Reasons::NONE,
            template_alias: options.template_alias.clone(),
            observed_at: self.clock.now(),
            source: Some(Source { path, offset: 0, length: 0 }),
        })
    }
}

/// A capture under way.
pub(super) struct Run<'e> {
    pub(super) ingest: Ingest<'e>,
    pub(super) prepared: Prepared<'e>,
    granularity: Granularity,
    pub(super) windows: Windows,
    /// Where the session works, where its records do not say.
    cwd: Option<String>,
    /// What the session is called, where its records do not say.
    named: Option<String>,
    /// The cursor that the store has, unless another process read the transcript too.
    expected: Option<Vec<u8>>,
    /// What gives the title, once something that was forgotten was met.
    rest: Option<Rest>,
}

impl Run<'_> {
    pub(super) fn read_document(&mut self) -> Result<()> {
        let bytes = self.prepared.transcript.document()?;
        let previous = self.prepared.previous.as_ref().and_then(|previous| previous.tip);
        if let Some(reason) = self.ingest.document(&bytes, previous)? {
            return Err(EngineError::Torn { path: self.prepared.transcript.path().to_owned(), reason });
        }
        self.windows.push(&bytes);
        Ok(())
    }

    /// Hands what is closed to the store, with a cursor to go on from.
    pub(super) fn flush_closed(&mut self, engine: &Engine) -> Result<()> {
        let mut progress = Vec::new();
        if self.ingest.is_settled() {
            let windows = Windows::before(self.prepared.transcript, self.ingest.closed().raw_bytes)?;
            progress = self.progress(engine, &windows, None)?;
        }
        self.ingest.flush(progress)
    }

    /// Keeps what stands before the place where reading failed: it is good, and what comes next goes on there.
    fn keep_what_is_closed(&mut self, engine: &Engine, error: &EngineError) {
        if matches!(error, EngineError::Store(_)) || self.ingest.first_closed().is_none() {
            return;
        }
        if let Err(second) = self.flush_closed(engine) {
            // The first error is the one to tell: without it there would have been no second.
            let path = self.prepared.transcript.path().display();
            tracing::warn!(%path, error = %second, "what is closed was not kept");
        }
    }

    /// Returns the session and the cursor as they are at the last closed boundary, or at the leaf.
    fn progress(
        &mut self,
        engine: &Engine,
        windows: &Windows,
        leaf: Option<(CommitId, SegmentFacts)>,
    ) -> Result<Vec<Write>> {
        let (head, tail) = windows.hashes(&engine.store.identity()?.secret);
        let closed_tip = self.ingest.closed().parent.map(|(id, _)| id);
        let tip = leaf.map(|(id, _)| id).or(closed_tip);
        let mut state = self.ingest.splitter_state();
        let mut title = self.ingest.facts().title.clone();
        if self.ingest.met_forgotten() {
            // The splitter has read what was forgotten too, so its title may be made of that.
            self.ingest.flush(Vec::new())?;
            let rest = self.rest();
            state = with_title_of(&state, rest.read_to(engine, closed_tip)?);
            title.clone_from(&rest.read_to(engine, tip)?.title);
            if let Some(note) = rest.note() {
                self.ingest.note(note);
            }
        }
        if let (SessionOrigin::Placed(from), None) = (self.prepared.origin(), &self.prepared.previous) {
            // Its transcript was moved since it was placed, so that its row is another one.
            title = engine.title_of(from)?.or(title);
        }
        let closed = self.ingest.closed();
        let cursor = Cursor {
            format: self.ingest.adapter().format().to_string(),
            rules: self.ingest.rules().into(),
            earlier_bytes: self.prepared.earlier_bytes,
            granularity: self.granularity,
            closed_bytes: closed.raw_bytes,
            closed_line: closed.line,
            tip: closed_tip,
            splitter: SplitterState::Whole(state),
            seen_bytes: if leaf.is_some() { self.ingest.seen_bytes() } else { closed.raw_bytes },
            provisional: closed.provisional.clone(),
            stamp: self.prepared.transcript.stamp(),
            head,
            tail,
            redacted_bytes: closed.redacted_bytes,
            totals: closed.totals,
            seen_entries: closed.totals.entries + leaf.map_or(0, |(_, facts)| facts.counts.entries),
            seen_redacted_bytes: self.ingest.redacted_bytes(),
            is_version_known: self.prepared.unknown_version.is_none(),
            unread: UnreadSoFar {
                closed: closed.unread.clone(),
                seen: if leaf.is_some() { self.ingest.unread_so_far() } else { closed.unread.clone() },
            },
        };
        let last_at = self.last_at(engine, tip)?;
        let leaf = leaf.map(|(_, facts)| facts);
        let session = self.session(self.tip_gone_on_to(engine, tip, leaf)?, (leaf, last_at), title);
        let key = self.prepared.key.clone();
        let value = cursor.encode(&session);
        let said_remote = self.ingest.facts().remote.as_deref();
        let learnt = session.cwd.as_deref().map(|cwd| engine.learn_folder(cwd, said_remote)).transpose()?;
        let mut writes = vec![
            Write::ExpectCursor { key: key.clone(), value: self.expected.replace(value.clone()) },
            Write::Session(Box::new(session)),
            Write::Cursor { key, value },
        ];
        writes.extend(learnt.flatten());
        Ok(writes)
    }

    fn rest(&mut self) -> &mut Rest {
        let adapter = self.prepared.adapter;
        self.rest.get_or_insert_with(|| match self.prepared.goes_on() {
            Some(cursor) => Rest::behind(adapter, self.granularity, cursor.splitter.whole(), cursor.tip),
            None => Rest::of(adapter, self.prepared.origin()),
        })
    }
}
