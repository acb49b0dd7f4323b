//! A transcript that was opened: its bytes, its stamp, its format and what its first records say.
//!
//! It is opened once. Exclusions, rules for secrets, the session's name and the commits are all made from this open file,
//! because its name may stand for another file a moment later: rules chosen from one file and applied to the bytes of another
//! would let secrets through. How far it was read before is `cursor`'s, and what becomes of it is `ingest`'s.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use stemmata_model::{Granularity, Note, NoteCode, SessionId, to_u64};
use stemmata_runtimes::adapter::{
    Adapter, DETECT_BYTES_MAX, Detection, FIRST_RECORD_BYTES_MAX, SessionFacts, Shape,
};
use stemmata_runtimes::registry;

use crate::bundle::is_bundle;
use crate::capture::cursor::FileStamp;
use crate::capture::database::SESSION;
use crate::capture::document::DOCUMENT_BYTES_MAX;
use crate::capture::events;
use crate::capture::kept::Kept;
use crate::capture::lines::{Lines, split_lines};
use crate::capture::source::{RawBytes, file_of, is_packed, look, plain_name, unpack, unpack_head};
use crate::error::{EngineError, Result};

/// Bytes that are read at once behind the beginning of a long first record.
const RECORD_CHUNK_BYTES: usize = 1024 * 1024;

/// An open transcript.
pub(crate) struct Transcript {
    path: PathBuf,
    key: String,
    source: Source,
    /// Its bytes; empty until [`Transcript::load`] where they have to be unpacked or extracted.
    bytes: RawBytes,
    stamp: FileStamp,
    is_loaded: bool,
    /// The first [`DETECT_BYTES_MAX`] bytes, once they were read.
    beginning: Option<Vec<u8>>,
    /// All of a first record that is longer than that, once it was asked for.
    first_record: Option<Vec<u8>>,
    detected: Option<(&'static dyn Adapter, Detection)>,
    document: Option<Vec<u8>>,
    /// What its extraction found that is not as it should be.
    notes: Vec<Note>,
}

/// Where a transcript's bytes come from.
enum Source {
    /// They are the file's.
    Plain,
    /// They are compressed in this file.
    Packed(File, Metadata),
    /// They are put together from a database or from folders of records.
    Kept,
    /// They are the lines of a folder of events.
    Events,
}

impl Transcript {
    /// Opens a transcript, and reads nothing yet. Only a regular file is opened: a pipe or a device could keep its reader
    /// waiting for ever.
    ///
    /// # Errors
    /// `NotATranscript` for what is no regular file, `Io`.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        // Its client may have compressed it since it was known.
        let found = events::folder_in(path).unwrap_or_else(|| file_of(path));
        let path = found.as_path();
        let looked = std::fs::metadata(path);
        let key = key_of(path, looked.is_ok());
        if kept_at(path).is_some() {
            return Ok(Self::costly(path, key, Source::Kept));
        }
        let metadata = looked.map_err(EngineError::io("read", path))?;
        if metadata.is_dir() && events::is_folder(path) {
            return Ok(Self::costly(path, key, Source::Events));
        }
        check_regular(path, &metadata)?;
        let file = File::open(path).map_err(EngineError::io("open", path))?;
        // Of the file that is open: since the first look another one may have taken its name.
        let metadata = file.metadata().map_err(EngineError::io("read", path))?;
        if is_packed(path) {
            return Ok(Self::costly(path, key, Source::Packed(file, metadata)));
        }
        let opened = Self::costly(path, key, Source::Plain);
        Ok(Self { bytes: RawBytes::File(file), stamp: FileStamp::of(&metadata), is_loaded: true, ..opened })
    }

    /// Opens a transcript and loads all of its bytes.
    ///
    /// # Errors
    /// As [`Transcript::open`] and [`Transcript::load`].
    pub(crate) fn open_whole(path: &Path) -> Result<Self> {
        let mut opened = Self::open(path)?;
        opened.load(None)?;
        Ok(opened)
    }

    fn costly(path: &Path, key: String, source: Source) -> Self {
        Self {
            path: path.to_owned(),
            key,
            source,
            bytes: RawBytes::none(),
            stamp: FileStamp { device: 0, inode: 0, length: 0, modified_ns: 0 },
            is_loaded: false,
            beginning: None,
            first_record: None,
            detected: None,
            document: None,
            notes: Vec::new(),
        }
    }

    /// Makes its bytes readable. Where they have to be unpacked or extracted and it is as it was `known`, they are not needed
    /// and there are none.
    ///
    /// # Errors
    /// `Io`; of a database `Busy`, `NotFound`, `NotATranscript`, `DocumentTooLong`; `Refused` beyond a bound.
    pub(crate) fn load(&mut self, known: Option<&FileStamp>) -> Result<()> {
        if self.is_loaded {
            return Ok(());
        }
        (self.bytes, self.stamp) = match &self.source {
            Source::Plain => return Ok(()),
            Source::Packed(file, metadata) => {
                unpack(rewound(file, &self.path)?, &self.path, metadata, known)?
            }
            Source::Kept => {
                let kept = kept_at(&self.path).ok_or_else(|| self.is_gone())?;
                let read = kept.read(known)?;
                self.notes = read.notes;
                (RawBytes::Unpacked(read.document.unwrap_or_default().into()), read.stamp)
            }
            Source::Events => {
                let (lines, stamp) = events::read(&self.path, known)?;
                (RawBytes::Unpacked(lines.into()), stamp)
            }
        };
        self.is_loaded = true;
        Ok(())
    }

    /// Returns the first gap in a folder of events.
    pub(crate) fn gap(&self) -> Option<events::Gap> {
        if matches!(self.source, Source::Events) { events::gap(&self.path) } else { None }
    }

    /// Returns what to say of how it is kept: a gap in a folder of events, what a database lacks.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let gap = self.gap().map(|gap| Note::new(NoteCode::Degraded, gap.message()));
        self.notes.iter().cloned().chain(gap).collect()
    }

    fn is_gone(&self) -> EngineError {
        EngineError::io("read", &self.path)(std::io::ErrorKind::NotFound.into())
    }

    /// Returns the path that it was opened by, for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path by which it is known, however it was named.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns what it was when it was opened, or when its bytes were extracted.
    pub(crate) const fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// Returns whether its bytes are made by unpacking or extracting it.
    pub(crate) const fn is_costly(&self) -> bool {
        !matches!(self.source, Source::Plain)
    }

    /// Returns whether it is kept in a database or in folders of records.
    pub(crate) const fn is_kept(&self) -> bool {
        matches!(self.source, Source::Kept)
    }

    /// Returns whether it is as it was, without unpacking or extracting it.
    pub(crate) fn still_is(&self, known: &FileStamp) -> bool {
        match &self.source {
            Source::Plain => self.stamp == *known,
            Source::Packed(_, metadata) => known.still_is(&self.path, metadata),
            Source::Kept => kept_at(&self.path).is_some_and(|kept| kept.still_is(known)),
            Source::Events => events::stamp(&self.path, known.length).is_ok_and(|stamp| stamp == *known),
        }
    }

    /// Returns a range of its bytes, less where it ends before.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn range(&self, offset: u64, length: u64) -> Result<Vec<u8>> {
        self.bytes.range(&self.path, offset, length)
    }

    /// Returns its lines from an offset on, which is the start of the line of that number (1 = first), up to the length that
    /// it had when it was opened.
    ///
    /// # Errors
    /// `Io`.
    pub(crate) fn lines(&self, offset: u64, number: u64) -> Result<Lines> {
        let bytes = self.bytes.try_clone().map_err(EngineError::io("open", &self.path))?;
        Lines::of(bytes, &self.path, (offset, number), self.stamp.length)
    }

    /// Returns all of it as one document. It is read once: name, folder and content are of the same bytes.
    ///
    /// # Errors
    /// `DocumentTooLong`, `Shrank`, as [`Transcript::load`].
    pub(crate) fn document(&mut self) -> Result<Vec<u8>> {
        self.read_document()?;
        Ok(self.document.take().unwrap_or_default())
    }

    fn read_document(&mut self) -> Result<&[u8]> {
        self.load(None)?;
        let length = self.stamp.length;
        if self.document.is_none() {
            if length > DOCUMENT_BYTES_MAX {
                let (path, bound_bytes) = (self.path.clone(), DOCUMENT_BYTES_MAX);
                return Err(EngineError::DocumentTooLong { path, bytes: length, bound_bytes });
            }
            let bytes = self.range(0, length)?;
            let found = to_u64(bytes.len());
            if found < length {
                return Err(EngineError::Shrank { path: self.path.clone(), expected: length, found });
            }
            self.document = Some(bytes);
        }
        Ok(self.document.as_deref().unwrap_or_default())
    }
}

/// What its first records say.
impl Transcript {
    /// Returns the format that its beginning is of, and what else that tells.
    ///
    /// # Errors
    /// `NotATranscript` for a file of no known format, as [`Transcript::load`].
    pub(crate) fn detected(&mut self) -> Result<(&'static dyn Adapter, &Detection)> {
        if self.detected.is_none() {
            self.detected = Some(self.detect()?);
        }
        let (adapter, detection) = self.detected.as_ref().ok_or_else(|| self.is_gone())?;
        Ok((*adapter, detection))
    }

    fn detect(&mut self) -> Result<(&'static dyn Adapter, Detection)> {
        let beginning = self.beginning()?;
        let (is_empty, is_cut) = (beginning.is_empty(), is_first_record_cut(beginning));
        let is_bundle = is_bundle(beginning);
        let found = match registry::detect(beginning) {
            // Most formats know themselves by the beginning of a long record; only for the others is more of it read.
            None if is_cut => registry::detect(self.first_records()?),
            found => found,
        };
        found.ok_or_else(|| {
            let reason = match (is_empty, is_bundle) {
                (true, _) => "it is empty",
                (_, true) => "it is a bundle",
                (false, false) => "no known client writes such a beginning",
            };
            EngineError::NotATranscript { path: self.path.clone(), reason: reason.to_owned(), is_bundle }
        })
    }

    /// Returns its first [`DETECT_BYTES_MAX`] bytes; of a compressed one no more is unpacked.
    fn beginning(&mut self) -> Result<&[u8]> {
        if self.beginning.is_none() {
            let bytes = match &self.source {
                Source::Packed(file, _) if !self.is_loaded => {
                    unpack_head(rewound(file, &self.path)?, &self.path, DETECT_BYTES_MAX)?
                }
                Source::Plain | Source::Packed(..) | Source::Kept | Source::Events => {
                    self.load(None)?;
                    self.range(0, to_u64(DETECT_BYTES_MAX))?
                }
            };
            self.beginning = Some(bytes);
        }
        Ok(self.beginning.as_deref().unwrap_or_default())
    }

    /// Says which version of its format it names that is not known; none for what is no transcript. Of a database the tables say
    /// so.
    ///
    /// # Errors
    /// As [`Transcript::load`].
    pub(crate) fn unknown_version(&mut self) -> Result<Option<String>> {
        if self.is_kept() {
            return Ok(None);
        }
        match self.detected() {
            Ok((adapter, _)) => Ok(adapter.unknown_version(self.first_records()?)),
            Err(EngineError::NotATranscript { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns its first records: [`DETECT_BYTES_MAX`] bytes, or where these are less than one record, that record, up to
    /// [`FIRST_RECORD_BYTES_MAX`]. A header may hold a whole system prompt, and nothing is known of a file without it.
    fn first_records(&mut self) -> Result<&[u8]> {
        if self.first_record.is_none() && is_first_record_cut(self.beginning()?) {
            let begun = match &self.source {
                Source::Packed(file, _) if !self.is_loaded => {
                    let head = unpack_head(rewound(file, &self.path)?, &self.path, FIRST_RECORD_BYTES_MAX)?;
                    RawBytes::Unpacked(head.into())
                }
                Source::Plain | Source::Packed(..) | Source::Kept | Source::Events => {
                    self.bytes.try_clone().map_err(EngineError::io("open", &self.path))?
                }
            };
            self.first_record = Some(first_record(&begun, &self.path)?);
        }
        if self.first_record.is_none() {
            return self.beginning();
        }
        Ok(self.first_record.as_deref().unwrap_or_default())
    }

    /// Reads the first records until `found` has what it looks for.
    fn find_in<T>(
        adapter: &dyn Adapter,
        records: &[u8],
        mut found: impl FnMut(&SessionFacts) -> Option<T>,
    ) -> Option<T> {
        let mut splitter = adapter.splitter(Granularity::Turn, None);
        split_lines(records).filter_map(|line| line.strip_suffix(b"\n")).find_map(|line| {
            splitter.line(line, &mut Vec::new());
            found(splitter.facts())
        })
    }

    /// Returns the first working directory that the first records name, by which the rules for secrets are chosen: whatever is
    /// appended, it stays. None for what is no transcript.
    ///
    /// # Errors
    /// As [`Transcript::load`].
    pub(crate) fn first_cwd(&mut self) -> Result<Option<PathBuf>> {
        self.beginning()?;
        let Ok((adapter, _)) = self.detected() else { return Ok(None) };
        let records = match adapter.shape() {
            Shape::Lines => self.first_records()?,
            // It is one record; where it is short all of it is here.
            Shape::Document => self.beginning()?,
        };
        Ok(Self::find_in(adapter, records, |facts| facts.cwd.as_ref().map(PathBuf::from)))
    }

    /// Returns all working directories that the first records name, in their order; none for what is no transcript.
    ///
    /// # Errors
    /// As [`Transcript::load`], and [`Transcript::document`] for a document.
    pub(crate) fn cwds(&mut self) -> Result<Vec<PathBuf>> {
        let found = self.all_cwds();
        // A database that cannot be read now still holds the session, and the session may be excluded by its directory.
        let is_none = !self.is_kept() && matches!(found, Err(EngineError::NotATranscript { .. }));
        if is_none { Ok(Vec::new()) } else { found }
    }

    fn all_cwds(&mut self) -> Result<Vec<PathBuf>> {
        if self.is_kept() {
            let directory = kept_at(&self.path).map(|kept| kept.directory()).transpose()?.flatten();
            return Ok(directory.into_iter().collect());
        }
        let (adapter, _) = self.detected()?;
        if adapter.shape() == Shape::Document {
            let mut splitter = adapter.splitter(Granularity::Turn, None);
            splitter.line(self.read_document()?, &mut Vec::new());
            return Ok(splitter.facts().cwd.iter().map(PathBuf::from).collect());
        }
        let records = self.first_records()?;
        let mut found: Vec<PathBuf> = Vec::new();
        Self::find_in(adapter, records, |facts| {
            let cwd = facts.cwd.as_ref().map(PathBuf::from);
            found.extend(cwd.filter(|cwd| found.last() != Some(cwd)));
            None::<()>
        });
        Ok(found)
    }

    /// Names its session: clients go by the file's name where it is shaped like an id, else the records tell.
    ///
    /// # Errors
    /// As [`Transcript::load`]; `Id` for a name that is none.
    pub(crate) fn session_name(&mut self, adapter: &'static dyn Adapter) -> Result<SessionId> {
        // A conversation that is a folder of events goes by the folder around it.
        let named = match self.source {
            Source::Events => self.path.parent().unwrap_or(&self.path),
            Source::Plain | Source::Packed(..) | Source::Kept => plain_name(&self.path),
        };
        let stem = named.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if let Some(session) = adapter.session_of_name(&stem) {
            return Ok(SessionId::new(session)?);
        }
        let told = if adapter.shape() == Shape::Document {
            let mut splitter = adapter.splitter(Granularity::Turn, None);
            splitter.line(self.read_document()?, &mut Vec::new());
            splitter.facts().session.clone()
        } else {
            Self::find_in(adapter, self.first_records()?, |facts| facts.session.clone())
        };
        told.map_or_else(|| SessionId::new(stem).map_err(EngineError::from), Ok)
    }
}

/// Takes the path of a session that is no file of its own apart. Nearly all names say at once that theirs is one.
fn kept_at(path: &Path) -> Option<Kept<'_>> {
    let name = path.file_name().and_then(|name| name.to_str());
    if name.is_some_and(|name| name.starts_with(SESSION)) { Kept::of(path) } else { None }
}

/// Returns the path by which a transcript on this machine is known.
pub(crate) fn key_path(path: &Path) -> String {
    key_of(path, std::fs::metadata(path).is_ok())
}

fn key_of(path: &Path, is_there: bool) -> String {
    let there = if is_there { Some(path.to_owned()) } else { look(path).map(|(there, _)| there) };
    let there = there.and_then(|there| there.canonicalize().ok());
    let real = there.or_else(|| std::path::absolute(path).ok()).unwrap_or_else(|| path.to_owned());
    let real = plain_name(&real);
    match real.to_str() {
        Some(text) => text.to_owned(),
        // Two names that are no text look alike once their odd bytes are replaced.
        None => {
            format!("{}#{}", real.display(), blake3::hash(real.as_os_str().as_encoded_bytes()).to_hex())
        }
    }
}

/// Returns when a transcript was written last, in nanoseconds since 1970; none where nothing is there. Nothing of it is
/// read.
pub(crate) fn modified_ns(path: &Path) -> Option<i128> {
    if let Some(kept) = kept_at(path) {
        return kept.modified_ns();
    }
    if path.is_dir() {
        return events::stamp(path, 0).ok().map(|stamp| stamp.modified_ns);
    }
    look(path).map(|(_, metadata)| FileStamp::of(&metadata).modified_ns)
}

/// Returns whether a transcript's bytes are made by unpacking or extracting it, from its name.
pub(crate) fn is_costly(path: &Path) -> bool {
    is_packed(path) || kept_at(path).is_some() || path.is_dir()
}

/// Refuses what is no regular file.
pub(crate) fn check_regular(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let reason = if metadata.is_dir() { "it is a folder" } else { "it is not a regular file" };
    Err(EngineError::NotATranscript { path: path.to_owned(), reason: reason.to_owned(), is_bundle: false })
}

/// Returns a handle to the beginning of a file that was read before.
fn rewound(file: &File, path: &Path) -> Result<File> {
    use std::io::{Seek as _, SeekFrom};
    let mut file = file.try_clone().map_err(EngineError::io("open", path))?;
    file.seek(SeekFrom::Start(0)).map_err(EngineError::io("seek in", path))?;
    Ok(file)
}

fn first_record(bytes: &RawBytes, path: &Path) -> Result<Vec<u8>> {
    let mut head = bytes.range(path, 0, to_u64(DETECT_BYTES_MAX))?;
    while is_first_record_cut(&head) {
        let room = FIRST_RECORD_BYTES_MAX.saturating_sub(head.len()).min(RECORD_CHUNK_BYTES);
        let more = bytes.range(path, to_u64(head.len()), to_u64(room))?;
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
