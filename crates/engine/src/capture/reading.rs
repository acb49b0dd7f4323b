//! What is known of a transcript before it is read: the open file, what was read of it before, and where to begin.
//!
//! Changes nothing; what is read becomes commits in `ingest`.

use std::fs::File;
use std::path::{Path, PathBuf};

use stemmata_model::{
    Closure, CommitId, CommitType, Counts, FormatId, Granularity, Note, NoteCode, RulesHash,
};
use stemmata_redact::Scrubber;
use stemmata_runtimes::adapter::{Adapter, DETECT_BYTES_MAX, Detection, FIRST_RECORD_BYTES_MAX, Shape};
use stemmata_runtimes::registry;
use stemmata_store::{Placement, Session, SessionKey, SessionOrigin, StoreError};

use crate::capture::cursor::{Cursor, FileStamp, OpenFile, Provisional, Relation, WINDOW_BYTES, relate};
use crate::capture::earlier::Earlier;
use crate::capture::events;
use crate::capture::ingest::{ChainTotals, Start};
use crate::capture::kept::Kept;
use crate::capture::lines::split_lines;
use crate::capture::source::{RawBytes, is_packed, look, unpack, unpack_head};
use crate::capture::transcript::CaptureOptions;
use crate::chain::walk::Walk;
use crate::engine::{Engine, known_formats};
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::place::record::keyed;

/// Bytes that are read at once behind the beginning of a long first record.
const RECORD_CHUNK_BYTES: usize = 1024 * 1024;

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

/// A file and what was known of it, before it is read.
pub(crate) struct Prepared {
    pub adapter: &'static dyn Adapter,
    pub key: SessionKey,
    pub file: RawBytes,
    pub stamp: FileStamp,
    /// What replaces its secrets.
    pub scrubber: Scrubber,
    /// The cursor as it is stored.
    pub stored: Option<Vec<u8>>,
    pub cursor: Option<Cursor>,
    pub relation: Option<Relation>,
    pub again: Option<Again>,
    pub previous: Option<Session>,
    /// What we placed there, where a file that is read from its start still begins with it.
    pub placement: Option<Placement>,
}

impl Prepared {
    /// Says whether all of a file of this length was captured before, up to its last byte.
    pub(crate) fn was_seen_whole(&self) -> bool {
        let is_same = |cursor: &Cursor| {
            cursor.seen_bytes == cursor.stamp.length && cursor.stamp.length == self.stamp.length
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
    /// Opens a transcript and looks up what was read of it. Everything that follows looks at this open file: by
    /// its name it could be another one by then.
    pub(crate) fn prepare(&self, path: &Path, options: &CaptureOptions) -> Result<Prepared> {
        let key = self.session_key(path);
        let stored = self.store.cursor(&key)?;
        let previous = self.store.session(&key)?;
        let known = || Ok(previous.as_ref().and_then(|known| known.cwd.clone()));
        let scrubber = self.scrubber_for(path, known, options.cwd.as_deref())?;
        let cursor = stored.as_deref().and_then(Cursor::decode);
        let cursor = cursor.and_then(|cursor| cursor.unpacked(previous.as_ref()));
        let mut again = match &cursor {
            None => (stored.is_some() || previous.is_some()).then_some(Again::Forgotten),
            Some(_) if options.full => Some(Again::Asked),
            Some(cursor) if cursor.rules != RulesHash(scrubber.rules_hash()).into() => Some(Again::Rules),
            Some(cursor) if adapter_of(cursor).is_none() => Some(Again::Forgotten),
            Some(_) => None,
        };
        let seen =
            cursor.as_ref().filter(|cursor| again.is_none() && cursor.seen_bytes == cursor.stamp.length);
        let (file, stamp) = open_known(path, seen.map(|cursor| &cursor.stamp))?;
        let relation = match &cursor {
            Some(cursor) if again.is_none() => {
                let file = OpenFile { file: &file, path };
                Some(relate(file, stamp, cursor, &self.store.identity()?.secret)?)
            }
            _ => None,
        };
        let mut relation = relation;
        if relation == Some(Relation::Rewritten) {
            again = Some(Again::Rewritten);
        }
        // What retention let go is read again when there is more of it.
        if relation == Some(Relation::Grown) && !self.has_tip(cursor.as_ref())? {
            (relation, again) = (Some(Relation::Rewritten), Some(Again::Forgotten));
        }
        let known = cursor.as_ref().and_then(adapter_of).filter(|_| again.is_none());
        let adapter = match known {
            Some(adapter) => adapter,
            None => match options.format.as_ref().and_then(registry::by_format) {
                Some(given) => given,
                None => detect(OpenFile { file: &file, path })?,
            },
        };
        if adapter.shape() == Shape::Document {
            // It is read whole each time, and what it was before is what it goes on from.
            relation = relation.filter(|relation| *relation == Relation::Unchanged);
            again = again.filter(|again| *again == Again::Rules);
        }
        let mut prepared = Prepared {
            adapter,
            key,
            file,
            stamp,
            scrubber,
            stored,
            cursor,
            relation,
            again,
            previous,
            placement: None,
        };
        if prepared.relation.is_none_or(|relation| relation == Relation::Rewritten) {
            prepared.placement = self.placement_in(path, &prepared)?;
        }
        Ok(prepared)
    }

    /// Returns what we placed in a file, where the file still begins with all of it.
    fn placement_in(&self, path: &Path, prepared: &Prepared) -> Result<Option<Placement>> {
        let Some(placement) = self.store.placement(&prepared.key.machine, &prepared.key.path)? else {
            return Ok(None);
        };
        if prepared.stamp.length < placement.placed_bytes {
            return Ok(None);
        }
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < placement.placed_bytes {
            let wanted = (placement.placed_bytes - at).min(WINDOW_BYTES);
            let bytes = OpenFile { file: &prepared.file, path }.range(at, wanted)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            hasher.update(&bytes);
            at += u64::try_from(bytes.len()).expect("a length fits 64 bits");
        }
        let found = keyed(&self.store.identity()?.secret, *hasher.finalize().as_bytes());
        Ok((found == placement.keyed_hash).then_some(placement))
    }

    /// Returns where reading begins.
    pub(crate) fn start_of(&self, path: &Path, prepared: &Prepared) -> Result<Start> {
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
            });
        }
        let Some(placement) = &prepared.placement else {
            return Ok(Start { line: 1, ..Start::default() });
        };
        Ok(Start {
            parent: Some(self.parent(placement.ctx)?),
            raw_bytes: placement.taken_bytes,
            line: 1 + lines_before(OpenFile { file: &prepared.file, path }, placement.taken_bytes)?,
            totals: self.totals_of(placement.ctx)?,
            ..Start::default()
        })
    }

    /// Returns what a document goes on from: the state before, or what was placed there; nothing where secrets are
    /// replaced by other rules now.
    fn start_of_document(&self, prepared: &Prepared) -> Result<Start> {
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
                && Self::adapter(&commit.core.format, FormatUse::Read)
                    .is_ok_and(|adapter| adapter.shape() == Shape::Document);
            is_counted &= !is_whole;
        }
        Ok(totals)
    }

    /// Returns what an earlier reading left, where this one does not go on from it.
    pub(crate) fn earlier(&self, prepared: &Prepared) -> Result<Option<Earlier>> {
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
    /// Returns the hash of the rules by which a transcript is read.
    pub(crate) fn rules_of(&self, path: &Path) -> Result<RulesHash> {
        let known = || Ok(self.store.session(&self.session_key(path))?.and_then(|known| known.cwd));
        Ok(RulesHash(self.scrubber_for(path, known, None)?.rules_hash()))
    }

    /// Returns what replaces secrets in a transcript: by the directory that its records name, else by what is `known` of the
    /// session, else by what is `given`. Of a compressed one that is known the bytes are not unpacked.
    pub(crate) fn scrubber_for(
        &self,
        path: &Path,
        known: impl Fn() -> Result<Option<String>>,
        given: Option<&str>,
    ) -> Result<Scrubber> {
        if is_costly(path)
            && let Some(cwd) = known()?
        {
            return self.scrubber_at(Some(Path::new(&cwd)));
        }
        let file = open_head(path)?;
        let cwd = match first_cwd(OpenFile { file: &file, path }) {
            Some(cwd) => Some(cwd),
            None => known()?.or_else(|| given.map(str::to_owned)).map(PathBuf::from),
        };
        self.scrubber_at(cwd.as_deref())
    }
}

/// Returns when a transcript was written last, in nanoseconds since 1970; none where nothing is there. Nothing of it is
/// read.
pub(crate) fn modified_ns(path: &Path) -> Option<i128> {
    if let Some(kept) = Kept::of(path) {
        return kept.modified_ns();
    }
    if path.is_dir() {
        return events::stamp(path, 0).ok().map(|stamp| stamp.modified_ns);
    }
    look(path).map(|(_, metadata)| FileStamp::of(&metadata).modified_ns)
}

/// Returns whether a transcript's bytes are made by unpacking or extracting it.
pub(crate) fn is_costly(path: &Path) -> bool {
    is_packed(path) || Kept::of(path).is_some() || path.is_dir()
}

/// Opens a regular file. Anything else could keep its reader waiting without end, so it is not even opened.
pub(crate) fn open(path: &Path) -> Result<(RawBytes, FileStamp)> {
    open_known(path, None)
}

/// Opens a transcript for its first [`DETECT_BYTES_MAX`] bytes: of a compressed one no more is unpacked.
pub(crate) fn open_head(path: &Path) -> Result<RawBytes> {
    if !is_packed(path) {
        return open(path).map(|(file, _)| file);
    }
    let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
    check_regular(path, &metadata)?;
    let unpacked = |bytes_max| {
        let file = File::open(path).map_err(EngineError::io("open", path))?;
        unpack_head(file, path, bytes_max)
    };
    let begun = unpacked(DETECT_BYTES_MAX)?;
    let head = OpenFile { file: &begun, path }.range(0, length_of(DETECT_BYTES_MAX))?;
    if is_first_record_cut(&head) { unpacked(FIRST_RECORD_BYTES_MAX) } else { Ok(begun) }
}

/// Opens a transcript as [`open`] does; of a compressed one that is as it is `known` the bytes are not unpacked.
fn open_known(path: &Path, known: Option<&FileStamp>) -> Result<(RawBytes, FileStamp)> {
    if let Some(kept) = Kept::of(path) {
        let (document, stamp) = kept.read(known)?;
        return Ok((RawBytes::Unpacked(document.unwrap_or_default().into()), stamp));
    }
    let metadata = std::fs::metadata(path).map_err(EngineError::io("read", path))?;
    if metadata.is_dir() && events::is_folder(path) {
        let (lines, stamp) = events::read(path, known)?;
        return Ok((RawBytes::Unpacked(lines.into()), stamp));
    }
    check_regular(path, &metadata)?;
    let file = File::open(path).map_err(EngineError::io("open", path))?;
    let metadata = file.metadata().map_err(EngineError::io("read", path))?;
    if is_packed(path) {
        return unpack(file, path, &metadata, known);
    }
    Ok((RawBytes::File(file), FileStamp::of(&metadata)))
}

/// Refuses what is no regular file.
pub(crate) fn check_regular(path: &Path, metadata: &std::fs::Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let reason = if metadata.is_dir() { "it is a folder" } else { "it is not a regular file" };
    Err(EngineError::NotATranscript { path: path.to_owned(), reason: reason.to_owned() })
}

fn adapter_of(cursor: &Cursor) -> Option<&'static dyn Adapter> {
    registry::by_format(&FormatId::new(cursor.format.as_str()).ok()?)
}

/// Returns the first working directory that the first records of a transcript name: whatever is appended, it stays.
fn first_cwd(file: OpenFile<'_>) -> Option<PathBuf> {
    let adapter = detect(file).ok()?;
    let bytes = match adapter.shape() {
        Shape::Lines => first_records(file).ok()?,
        // It is one record; where it is short all of it is here.
        Shape::Document => file.range(0, length_of(DETECT_BYTES_MAX)).ok()?,
    };
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    split_lines(&bytes).filter_map(|line| line.strip_suffix(b"\n")).find_map(|line| {
        splitter.line(line, &mut Vec::new());
        splitter.facts().cwd.as_ref().map(PathBuf::from)
    })
}

/// Counts the lines before an offset.
fn lines_before(file: OpenFile<'_>, offset: u64) -> Result<u64> {
    let mut lines = 0;
    let mut at = 0;
    while at < offset {
        let bytes = file.range(at, (offset - at).min(WINDOW_BYTES))?;
        if bytes.is_empty() {
            break;
        }
        lines += bytes.iter().filter(|byte| **byte == b'\n').count();
        at += u64::try_from(bytes.len()).expect("a length fits 64 bits");
    }
    Ok(u64::try_from(lines).expect("a count fits 64 bits"))
}

/// Returns the first records of a file: [`DETECT_BYTES_MAX`] bytes, or where these are less than one record, that record,
/// up to [`FIRST_RECORD_BYTES_MAX`]. A header may hold a whole system prompt, and nothing is known of a file without it.
pub(crate) fn first_records(file: OpenFile<'_>) -> Result<Vec<u8>> {
    let mut head = file.range(0, length_of(DETECT_BYTES_MAX))?;
    while is_first_record_cut(&head) {
        let room = FIRST_RECORD_BYTES_MAX.saturating_sub(head.len()).min(RECORD_CHUNK_BYTES);
        let more = file.range(length_of(head.len()), length_of(room))?;
        if more.is_empty() {
            break;
        }
        let has_end = memchr::memchr(b'\n', &more);
        head.extend_from_slice(more.get(..has_end.map_or(more.len(), |at| at + 1)).unwrap_or_default());
    }
    Ok(head)
}

/// Returns whether the first bytes of a file are JSON that goes on behind them, without the end of a line.
fn is_first_record_cut(head: &[u8]) -> bool {
    let record = head.trim_ascii_start();
    head.len() >= DETECT_BYTES_MAX
        && matches!(record.first(), Some(b'{' | b'['))
        && memchr::memchr(b'\n', record).is_none()
}

fn length_of(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("a bound fits 64 bits")
}

/// Finds the adapter that knows a file.
pub(crate) fn detect(file: OpenFile<'_>) -> Result<&'static dyn Adapter> {
    detect_version(file).map(|(adapter, _)| adapter)
}

/// Finds the adapter that knows a file, and what it knows of it.
pub(crate) fn detect_version(file: OpenFile<'_>) -> Result<(&'static dyn Adapter, Detection)> {
    let head = file.range(0, length_of(DETECT_BYTES_MAX))?;
    let no_transcript = |reason: String| EngineError::NotATranscript { path: file.path.to_owned(), reason };
    if head.is_empty() {
        return Err(no_transcript("it is empty".to_owned()));
    }
    if let Some(found) = registry::detect(&head) {
        return Ok(found);
    }
    // Most formats know themselves by the beginning of a long record; only for the others is more of it read.
    let found = if is_first_record_cut(&head) { registry::detect(&first_records(file)?) } else { None };
    found.ok_or_else(|| {
        no_transcript(format!("its beginning fits none of the known formats ({})", known_formats()))
    })
}

/// Finds the adapter that knows the file of a name.
pub(crate) fn detect_at(path: &Path) -> Result<&'static dyn Adapter> {
    let file = open_head(path)?;
    detect(OpenFile { file: &file, path })
}
