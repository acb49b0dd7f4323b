//! Captures one transcript file: decides from the cursor where to read on, and reads.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use stemmata_model::{
    CommitId, Counts, FormatId, Granularity, Note, NoteCode, SessionId, Sighting, Source, Template, ThreadId,
    TicketId, Timestamp, Trigger,
};
use stemmata_runtimes::adapter::{Adapter, DETECT_BYTES_MAX, SegmentFacts};
use stemmata_runtimes::registry;
use stemmata_store::{Link, LinkKind, Session, SessionKey, SessionOrigin, Write};

use crate::capture::cursor::{Cursor, FileStamp, Relation, relate, windows};
use crate::capture::ingest::{Earlier, Ingest, Start};
use crate::capture::lines::Lines;
use crate::chain::walk::Walk;
use crate::engine::{Engine, known_formats, runtime_of};
use crate::error::{EngineError, Result};

/// How to capture a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureOptions {
    /// How often closed commits are made; what a session began with stays unless `full` is set.
    pub granularity: Granularity,
    /// What makes the checkpoint happen, for the provisional commit at the end.
    pub trigger: Trigger,
    /// Read from the start even where the cursor fits.
    pub full: bool,
    /// Keep an unfinished last line too; live capture leaves it for the next time.
    pub torn_tail: bool,
    /// A ticket to record with what is new.
    pub ticket: Option<TicketId>,
    /// A thread to record with what is new.
    pub thread: Option<ThreadId>,
    /// A configured name for the kind of agent.
    pub template_alias: Option<Template>,
}

impl CaptureOptions {
    /// Returns what `stemma import` does.
    pub const fn import() -> Self {
        Self {
            granularity: Granularity::Turn,
            trigger: Trigger::Explicit,
            full: false,
            torn_tail: true,
            ticket: None,
            thread: None,
            template_alias: None,
        }
    }

    /// Returns what a hook does: complete lines only.
    pub fn live(trigger: Trigger) -> Self {
        Self { torn_tail: false, trigger, ..Self::import() }
    }
}

/// What a capture found and did.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// The session as it is now.
    pub session: Session,
    /// Entries of the chain, the provisional leaf included.
    pub entries: u64,
    /// Bytes of the transcript.
    pub bytes_in: u64,
    /// Bytes of it that were replaced.
    pub bytes_redacted: u64,
    /// Bytes that the store took for what is new.
    pub bytes_stored: u64,
    /// Commits that are new.
    pub new_commits: u64,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// A file and what was known of it, before it is read.
struct Prepared {
    adapter: &'static dyn Adapter,
    key: SessionKey,
    stamp: FileStamp,
    cursor: Option<Cursor>,
    relation: Option<Relation>,
    previous: Option<Session>,
}

impl Engine {
    /// Captures what a transcript holds beyond what is stored. Idempotent; resumes where it was interrupted.
    ///
    /// # Errors
    /// `NotATranscript` for a file of no known format, `Io` and `LineTooLong` with the place, store errors.
    /// What was handed to the store before an error stays, and the next capture goes on from there.
    pub fn capture(&self, path: &Path, options: &CaptureOptions) -> Result<Captured> {
        let prepared = self.prepare(path, options)?;
        if let (Some(Relation::Unchanged), Some(cursor), Some(session)) =
            (prepared.relation, &prepared.cursor, &prepared.previous)
        {
            return Ok(unchanged(session, cursor, prepared.stamp));
        }
        self.read(path, options, prepared)
    }

    fn prepare(&self, path: &Path, options: &CaptureOptions) -> Result<Prepared> {
        let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
        let stamp = FileStamp::of(&metadata);
        let key = self.session_key(path);
        let previous = self.store.session(&key)?;
        let cursor = self.store.cursor(&key)?.and_then(|bytes| Cursor::decode(&bytes));
        let usable = cursor.filter(|cursor| {
            !options.full && cursor.rules == self.rules().0 && registry::by_format(&format(cursor)).is_some()
        });
        let relation = match &usable {
            Some(cursor) => Some(relate(path, stamp, cursor, &self.store.identity()?.secret)?),
            None => None,
        };
        let adapter = match (&usable, relation) {
            (Some(cursor), Some(Relation::Unchanged | Relation::Grown)) => {
                Self::adapter(&format(cursor), "read")?
            }
            _ => detect(path)?,
        };
        Ok(Prepared { adapter, key, stamp, cursor: usable, relation, previous })
    }

    fn read(&self, path: &Path, options: &CaptureOptions, prepared: Prepared) -> Result<Captured> {
        let goes_on = (prepared.relation == Some(Relation::Grown)).then(|| prepared.cursor.clone()).flatten();
        let granularity = match (&goes_on, options.full, &prepared.previous) {
            (Some(cursor), ..) => cursor.granularity,
            (None, false, Some(previous)) => previous.granularity,
            (None, ..) => options.granularity,
        };
        let state = goes_on.as_ref().map(|cursor| cursor.splitter.clone());
        let splitter = prepared.adapter.splitter(granularity, state.as_deref());
        let start = match &goes_on {
            Some(cursor) => self.start_from(cursor)?,
            None => Start { line: 1, ..Start::default() },
        };
        let mut lines = Lines::open(path, start.raw_bytes, start.line, prepared.stamp.length)?;
        let sighting = self.sighting(path, options, &prepared)?;
        let left = if goes_on.is_none() { prepared.cursor.as_ref() } else { None };
        let earlier = left.map(|cursor| Earlier {
            tip: cursor.tip,
            provisional: cursor.provisional.clone(),
            met: false,
            replaced: None,
        });
        let ingest = Ingest::new(self, prepared.adapter, splitter, sighting, start).expect(earlier);
        let mut run = Run { ingest, prepared, granularity, goes_on: goes_on.is_some() };
        let mut batch_number = 0_u32;
        while let Some(line) = lines.next()? {
            if line.complete {
                run.ingest.line(line.bytes)?;
            } else if options.torn_tail {
                run.ingest.torn_tail(line.bytes)?;
            } else {
                break;
            }
            if run.ingest.is_batch_full() && run.ingest.first_closed().is_some() {
                batch_number += 1;
                let progress = run.progress(self, path, None)?;
                run.ingest.flush(progress)?;
            }
        }
        tracing::debug!(path = %path.display(), batches = batch_number, lines = lines.next_number() - 1, "read");
        self.finish(path, run)
    }

    fn finish(&self, path: &Path, mut run: Run<'_>) -> Result<Captured> {
        let leaf = run.ingest.provisional()?;
        let open = leaf.map(|_| run.ingest.splitter().open());
        let mut last = run.progress(self, path, leaf.zip(open))?;
        if let Some(old) = run.ingest.left_behind() {
            run.ingest.note(Note::new(
                NoteCode::Rewritten,
                format!("the file was rewritten since it was last read; {old} keeps what it held before"),
            ));
            let root = run.ingest.first_closed().or(leaf);
            last.extend(self.derived(root, old)?.map(Write::Link));
        }
        run.ingest.flush(last)?;
        let session = self
            .store
            .session(&run.prepared.key)?
            .ok_or_else(|| EngineError::NotFound { what: "session", text: run.prepared.key.path.clone() })?;
        let outcome = run.ingest.outcome();
        Ok(Captured {
            session,
            entries: run.ingest.closed().totals.entries + open.map_or(0, |facts| facts.counts.entries),
            bytes_in: run.prepared.stamp.length,
            bytes_redacted: run.ingest.redacted_bytes(),
            bytes_stored: outcome.stored_bytes,
            new_commits: outcome.new_commits,
            notes: run.ingest.take_notes(),
        })
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

    fn start_from(&self, cursor: &Cursor) -> Result<Start> {
        let parent = match cursor.tip {
            None => None,
            Some(tip) => {
                let commit = self.store.commit(tip)?.ok_or(stemmata_store::StoreError::CommitMissing(tip))?;
                Some((tip, commit.core.created_at))
            }
        };
        Ok(Start {
            parent,
            raw_bytes: cursor.closed_bytes,
            line: cursor.closed_line,
            totals: cursor.totals,
            provisional: cursor.provisional.clone(),
            redacted_bytes: cursor.redacted_bytes,
        })
    }

    fn sighting(&self, file: &Path, options: &CaptureOptions, prepared: &Prepared) -> Result<Sighting> {
        let path = prepared.key.path.clone();
        let session = match &prepared.previous {
            Some(previous) => previous.session.clone(),
            None => session_name(file, prepared.adapter)?,
        };
        Ok(Sighting {
            principal: self.identity.principal(runtime_of(&prepared.adapter.format()))?,
            machine: self.identity.machine.clone(),
            session,
            trigger: options.trigger,
            ticket: options.ticket.clone(),
            thread: options.thread.clone(),
            template_alias: options.template_alias.clone(),
            observed_at: self.clock.now(),
            source: Some(Source { path, offset: 0, length: 0 }),
        })
    }

    /// Returns the key of the session that a transcript on this machine is: one file is one session, however
    /// it was named.
    pub(crate) fn session_key(&self, path: &Path) -> SessionKey {
        let real = path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned());
        SessionKey { machine: self.identity.machine.clone(), path: real.to_string_lossy().into_owned() }
    }
}

/// A capture under way.
struct Run<'e> {
    ingest: Ingest<'e>,
    prepared: Prepared,
    granularity: Granularity,
    goes_on: bool,
}

impl Run<'_> {
    /// Returns the session and the cursor as they are at the last closed boundary, or at the leaf.
    fn progress(
        &self,
        engine: &Engine,
        path: &Path,
        leaf: Option<(CommitId, SegmentFacts)>,
    ) -> Result<Vec<Write>> {
        let closed = self.ingest.closed();
        let tip = leaf.map(|(id, _)| id).or(closed.parent.map(|(id, _)| id));
        let seen = if leaf.is_some() { self.ingest.seen_bytes() } else { closed.raw_bytes };
        let (head, tail) = windows(path, seen, &engine.store.identity()?.secret)?;
        let cursor = Cursor {
            format: self.ingest.adapter().format().to_string(),
            rules: self.ingest.rules(),
            granularity: self.granularity,
            closed_bytes: closed.raw_bytes,
            closed_line: closed.line,
            tip: closed.parent.map(|(id, _)| id),
            splitter: self.ingest.splitter().state(),
            seen_bytes: seen,
            provisional: closed.provisional.clone(),
            stamp: self.prepared.stamp,
            head,
            tail,
            redacted_bytes: closed.redacted_bytes,
            totals: closed.totals,
            seen_entries: closed.totals.entries + leaf.map_or(0, |(_, facts)| facts.counts.entries),
            seen_redacted_bytes: self.ingest.redacted_bytes(),
        };
        let session = self.session(tip, leaf.map(|(_, facts)| facts));
        Ok(vec![
            Write::Session(Box::new(session)),
            Write::Cursor { key: self.prepared.key.clone(), value: cursor.encode() },
        ])
    }

    fn session(&self, tip: Option<CommitId>, leaf: Option<SegmentFacts>) -> Session {
        let facts = self.ingest.splitter().facts();
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
                .or_else(|| previous.and_then(|known| known.parent_session.clone())),
            session,
            format: self.ingest.adapter().format(),
            template: self.ingest.splitter().template(),
            principal: self.ingest.sighting().principal.clone(),
            granularity: self.granularity,
            origin: previous.map_or(SessionOrigin::Imported, |known| known.origin),
            title: self.title(facts.title.as_ref()),
            cwd: facts.cwd.clone().or_else(|| previous.and_then(|known| known.cwd.clone())),
            git_branch: facts
                .git_branch
                .clone()
                .or_else(|| previous.and_then(|known| known.git_branch.clone())),
            version: facts.version.clone().or_else(|| previous.and_then(|known| known.version.clone())),
            started_at: earliest(previous.and_then(|known| known.started_at), facts.first_timestamp),
            last_at: facts.last_timestamp.max(previous.and_then(|known| known.last_at)),
            tip,
            commits: totals.commits + u64::from(leaf.is_some()),
            messages: totals.messages + counts.messages,
            bytes: totals.bytes + leaf.map_or(0, |_| self.ingest.open_bytes()),
        }
    }
}

impl Run<'_> {
    /// A session that goes on keeps its title: what was read now may not have held the first prompt.
    fn title(&self, now: Option<&String>) -> Option<String> {
        let before = self.prepared.previous.as_ref().and_then(|known| known.title.as_ref());
        if self.goes_on { before.or(now).cloned() } else { now.or(before).cloned() }
    }
}

fn earliest(left: Option<Timestamp>, right: Option<Timestamp>) -> Option<Timestamp> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (known, None) | (None, known) => known,
    }
}

fn format(cursor: &Cursor) -> FormatId {
    FormatId::new(cursor.format.as_str())
        .unwrap_or_else(|_| FormatId::new("unknown").expect("a constant name is a name"))
}

fn unchanged(session: &Session, cursor: &Cursor, stamp: FileStamp) -> Captured {
    Captured {
        session: session.clone(),
        entries: cursor.seen_entries,
        bytes_in: stamp.length,
        bytes_redacted: cursor.seen_redacted_bytes,
        bytes_stored: 0,
        new_commits: 0,
        notes: Vec::new(),
    }
}

/// Returns the first bytes of a file.
fn head(path: &Path) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let limit = u64::try_from(DETECT_BYTES_MAX).expect("the bound fits");
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut head))
        .map_err(EngineError::io("read", path))?;
    Ok(head)
}

/// Finds the adapter that knows a file.
pub(crate) fn detect(path: &Path) -> Result<&'static dyn Adapter> {
    let head = head(path)?;
    if head.is_empty() {
        return Err(EngineError::NotATranscript { path: path.to_owned(), reason: "it is empty".to_owned() });
    }
    registry::detect(&head).map(|(adapter, _)| adapter).ok_or_else(|| EngineError::NotATranscript {
        path: path.to_owned(),
        reason: format!("its beginning fits none of the known formats ({})", known_formats()),
    })
}

/// Names a session: clients go by the file's name where it is shaped like an id, else the records tell.
fn session_name(path: &Path, adapter: &'static dyn Adapter) -> Result<SessionId> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let is_id = stem.len() == 36 && stem.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_id || stem.starts_with("agent-") {
        return Ok(SessionId::new(stem)?);
    }
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    for line in head(path)?.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        splitter.line(line.strip_suffix(b"\n").unwrap_or(line), &mut Vec::new());
        if let Some(session) = &splitter.facts().session {
            return Ok(session.clone());
        }
    }
    Ok(SessionId::new(stem)?)
}
