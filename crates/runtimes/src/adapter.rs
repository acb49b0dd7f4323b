//! The seam between the engine and a runtime's transcript format.
//!
//! An adapter is a set of pure functions over bytes. It never opens a file and never keeps a session: the
//! engine feeds it lines and contents, and does what the returned plans say.

mod plans;

use std::sync::Arc;

use stemmata_model::{
    CommitType, Counts, Entry, FormatId, Granularity, Note, SessionId, Template, Timestamp,
};

pub use crate::lines::facts::{TitleRank, with_title_of};
use crate::placing::{Apart, Verbatim, unplaced};
use crate::readable::Readable;
pub use crate::reading::Reading;
use crate::repair::{Document, is_uuid_shaped};
pub use crate::shape::Shape;
pub use plans::{CompactionPlan, ContextPlan, DocumentCompaction, Keeping, Keeps, PlanStop};

/// How sure an adapter is that bytes are of its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The shape fits, and another format's could too.
    Possible,
    /// Marks of this format only.
    Certain,
}

/// What `detect` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detection {
    /// The format of the bytes.
    pub format: FormatId,
    /// The version of the runtime that wrote them, where they say so.
    pub version: Option<String>,
    /// How sure the adapter is.
    pub confidence: Confidence,
}

/// What is known about a segment: the bytes between two closed boundaries, or after the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentFacts {
    /// The type of the commit that the segment is.
    pub commit_type: CommitType,
    /// The greatest record timestamp in it.
    pub timestamp: Option<Timestamp>,
    /// Entries (lines that are not blank), messages (user, assistant and tool-result records that a model sees)
    /// and estimated tokens (characters of what a model sees, divided by four; images by `IMAGE_TOKENS`).
    pub counts: Counts,
}

/// Where closed boundaries lie around one complete line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cut {
    /// The bytes before this line close as this segment.
    pub before: Option<SegmentFacts>,
    /// The bytes up to and with this line close as this segment.
    pub after: Option<SegmentFacts>,
}

/// What a session's own bytes say about it; grows as lines are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionFacts {
    /// The runtime's session id, as the first line that has one says.
    pub session: Option<SessionId>,
    /// For a subagent whose session is its own: the session that started it.
    pub parent: Option<SessionId>,
    /// For a subagent: its own id within the session.
    pub agent: Option<String>,
    /// The kind of agent, hashed into commits: from the first record that tells.
    pub template: Option<Template>,
    /// The last working directory.
    pub cwd: Option<String>,
    /// The last git branch.
    pub git_branch: Option<String>,
    /// The remote of the working directory's repository, as the client wrote it down.
    pub remote: Option<String>,
    /// The last version of the runtime that wrote to it.
    pub version: Option<String>,
    /// A title: the runtime's or the user's own, else the first prompt, cut to 200 characters.
    pub title: Option<String>,
    /// What gave the title.
    pub title_rank: TitleRank,
    /// The greatest record timestamp so far.
    pub last_timestamp: Option<Timestamp>,
    /// The smallest record timestamp so far.
    pub first_timestamp: Option<Timestamp>,
}

/// Reads a transcript line by line and says where commits end.
///
/// Deterministic and monotone: a transcript that grows never moves a boundary.
pub trait Splitter: Send {
    /// Takes the next complete line, without its newline, after secrets were replaced.
    ///
    /// Never fails: a line that cannot be read is part of whatever commit it stands in, and gives a note.
    fn line(&mut self, line: &[u8], notes: &mut Vec<Note>) -> Cut;

    /// Returns what is known about the session so far.
    fn facts(&self) -> &SessionFacts;

    /// Returns the template to hash into commits; the runtime's main agent until a record tells.
    fn template(&self) -> Template;

    /// Returns what a provisional commit of the bytes since the last closed boundary would be. An incomplete compaction is a delta.
    fn open(&self) -> SegmentFacts;

    /// Returns everything that decides future cuts, at the last closed boundary. Bounded: at most 4 KiB.
    fn state(&self) -> Vec<u8>;

    /// Returns the types of records that are unknown and carried as they are, each with how many this splitter took.
    fn unknown(&self) -> &[(String, u64)] {
        &[]
    }

    /// Returns how many lines this splitter took that are no records at all.
    fn unreadable(&self) -> u64 {
        0
    }
}

/// What an id says of the record that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdKind {
    /// The record's own id.
    Entry,
    /// The id of a message or a tool call, as the model's side gave it: every copy of the record has it.
    Call,
    /// The id of the record that this one says it was copied from.
    Origin,
}

/// A piece of an output: bytes of one segment of a chain, with replacements inside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Which segment, as the source numbers them (0 = the segment asked for first, the newest).
    pub segment: usize,
    /// Bytes from the start of that segment's bytes.
    pub offset: u64,
    /// Bytes to take, newline included.
    pub length: u64,
    /// Replacements, ascending by offset, in bytes of this piece.
    pub edits: Vec<Edit>,
}

/// A replacement of some bytes of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// Bytes from the start of the piece.
    pub offset: u64,
    /// Bytes to leave out.
    pub length: u64,
    /// Bytes to put there.
    pub with: Vec<u8>,
}

/// One commit of a chain, as a planner sees it.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The commit's type.
    pub commit_type: CommitType,
    /// The transcript's own bytes of this commit, shared with who emits them.
    pub native: Arc<Vec<u8>>,
    /// For a compaction or a snapshot: the artifact that stands for everything before.
    pub prefix: Option<Arc<Vec<u8>>>,
    /// Whether materializing ends here when the caller asked for this ancestor.
    pub is_stop: bool,
    /// The latest time in the records of the commit and of those before it; the epoch where it is no stored one.
    pub created_at: Timestamp,
}

/// Which bytes of a segment a piece is of: `Piece::segment` counts these.
///
/// Segment `n` of the source has number `2 n` for its native bytes and `2 n + 1` for its prefix.
pub const fn segment_number(position: usize, prefix: bool) -> usize {
    position * 2 + if prefix { 1 } else { 0 }
}

/// Why a segment could not be had; carried through a planner unchanged.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// A chain, newest commit first.
pub trait Segments {
    /// Returns the next older commit, none after the root.
    ///
    /// # Errors
    /// Whatever the chain's storage says.
    fn next(&mut self) -> Result<Option<Segment>, SourceError>;
}

/// What a decode gives: entries in the order of the bytes, and what was odd.
#[derive(Debug, Clone, Default)]
pub struct Decoded {
    /// The entries. Their spans cover every byte of every line that is not blank.
    pub entries: Vec<Entry>,
    /// What was odd, with line numbers.
    pub notes: Vec<Note>,
}

/// What `place` needs to know of the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceRequest {
    /// The new session id: never one that exists.
    pub session: SessionId,
    /// The directory that the agent will work in, absolute.
    pub cwd: String,
    /// The home directory of the session's origin, where it is known: paths below it are mapped to `home`.
    pub origin_cwd: Option<String>,
    /// The version of the client that will load it, where it is known.
    pub client_version: Option<String>,
    /// When it is placed: some clients name files by it.
    pub at: Timestamp,
    /// Made up ids are derived from this, so that placing is a pure function.
    pub seed: [u8; 32],
}

/// Rewrites the structural fields of a transcript, line by line.
pub trait Placer: Send {
    /// Takes one line with or without its newline, and appends what to write.
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>);

    /// Appends what closes the transcript: a missing newline, marked results for open calls.
    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note>;
}

/// Rewrites a transcript for another place, and checks what it writes in the same reading.
pub trait Placing: Placer {
    /// Returns what a [`Validator`] would make of all that was written. Called after [`Placer::finish`].
    fn verdict(&mut self) -> Validation;
}

/// Where a client looks for a session, relative to its own configuration directory, and how to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientPlace {
    /// Path components below the client's configuration directory.
    pub relative_path: Vec<String>,
    /// The client's own command line that resumes the session, program first.
    pub resume_command: Vec<String>,
    /// The client's own command line that takes the file in, program first; the file's path is its last argument. None
    /// where the client finds the file by itself.
    pub import_command: Option<Vec<String>>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The loader copes; nothing is lost.
    Info,
    /// Something is lost or made up, and the rest arrives.
    Warning,
    /// The loader would refuse, or silently lose history.
    Fatal,
}

/// One thing that a runtime's loader would stumble over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name of the check.
    pub check: &'static str,
    /// Line of the transcript (1 = first), where it is about one.
    pub line: Option<u64>,
    /// One sentence without a final stop.
    pub message: String,
}

/// What a loader would make of a transcript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validation {
    /// What it would stumble over, in the order of the lines.
    pub findings: Vec<Finding>,
    /// Messages of `messages_present` that the loader would send to the model.
    pub messages_sent: u64,
    /// Messages of the conversation: of its active path, since its last compaction.
    pub messages_present: u64,
}

impl Validation {
    /// Returns whether the loader would take it with nothing lost.
    pub fn is_accepted(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity < Severity::Fatal)
    }
}

/// Checks a transcript as the runtime's loader would read it.
pub trait Validator: Send {
    /// Takes the next line, with or without its newline.
    fn line(&mut self, line: &[u8]);

    /// Takes the next line of the file that the history begins in (`clients::Forks`), ahead of the transcript's own lines.
    fn base_line(&mut self, _line: &[u8]) {}

    /// Says what became of the file that the history begins in, behind its lines and ahead of the transcript's own.
    fn base(&mut self, _base: Base) {}

    /// Returns the verdict.
    fn finish(&mut self) -> Validation;
}

/// The file that a transcript's history begins in, as its client finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// It is there, up to where the transcript goes on.
    There,
    /// The client would refuse the transcript, or load another history; the reason, as a sentence without a final stop.
    Unusable(String),
}

/// One runtime's transcript format. Stateless, shared between threads.
pub trait Adapter: Send + Sync {
    /// Returns the format that this adapter writes.
    fn format(&self) -> FormatId;

    /// Returns how it is read: most formats share their reading with others, and say otherwise where they differ.
    fn reading(&self) -> Reading;

    /// Returns what a transcript of it is.
    fn shape(&self) -> Shape {
        self.reading().shape()
    }

    /// Joins what commits that follow each other hold, oldest first, into one transcript: lines follow each other, lists
    /// become one list. None where these bytes cannot be joined. One alone stays as it is.
    fn join(&self, contents: &[&[u8]]) -> Option<Vec<u8>> {
        self.reading().join(contents)
    }

    /// Returns what has to stand behind the first `keep` bytes of a transcript, which end an entry, so that they are one
    /// by themselves.
    fn closing(&self, bytes: &[u8], keep: usize) -> Vec<u8> {
        self.reading().closing(bytes, keep)
    }

    /// Returns what has to stand at the beginning of the first `keep` bytes of a transcript, and instead of how many of
    /// them, so that they are one by themselves: where the beginning says how much follows. Most say nothing of that.
    fn opening(&self, _bytes: &[u8], _keep: usize) -> (usize, Vec<u8>) {
        (0, Vec::new())
    }

    /// Returns whether bytes between the entries of a document only hold it together. In JSON that is white space,
    /// brackets, commas and colons.
    fn is_frame(&self, between: &[u8]) -> bool {
        between.iter().all(|byte| byte.is_ascii_whitespace() || b"[]{},:".contains(byte))
    }

    /// Returns the texts of a document that is no text, for whoever looks for secrets; none where its bytes are read as
    /// they are.
    fn readable(&self, _bytes: &[u8]) -> Option<Readable> {
        None
    }

    /// Returns the document whose [`readable`](Self::readable) form became this JSON, all else as it was. None where it
    /// cannot be made.
    fn rewritten(&self, _bytes: &[u8], _json: &str) -> Option<Vec<u8>> {
        None
    }

    /// Looks at the first bytes of a file (at most [`DETECT_BYTES_MAX`], or all of the first record up to
    /// [`FIRST_RECORD_BYTES_MAX`]) and says whether they are its own.
    fn detect(&self, head: &[u8]) -> Option<Detection>;

    /// Says, of first bytes that [`detect`](Self::detect) claims, which version of the format they name that is not known. Such a
    /// file is read as far as it is like a known one, and its user is told.
    fn unknown_version(&self, _head: &[u8]) -> Option<String> {
        None
    }

    /// Returns the session that a file's name says, where the runtime names files so; `stem` is the name without its
    /// ending.
    fn session_of_name<'n>(&self, stem: &'n str) -> Option<&'n str> {
        is_uuid_shaped(stem).then_some(stem)
    }

    /// Returns the id that a new session of the client's gets: the one that was drawn for it, where the client takes any.
    fn new_session(&self, drawn: &SessionId, _at: Timestamp) -> SessionId {
        drawn.clone()
    }

    /// Returns the part of a session's id by which its client names files, where that is not all of it: no two sessions of
    /// a home may share it.
    fn short_name<'n>(&self, _session: &'n str) -> Option<&'n str> {
        None
    }

    /// Starts reading a transcript from its beginning, or from a closed boundary with the state left there.
    /// A state that cannot be read is treated as none.
    fn splitter(&self, granularity: Granularity, state: Option<&[u8]>) -> Box<dyn Splitter> {
        self.reading().splitter(granularity, state)
    }

    /// Turns bytes into entries. Never panics, never loses a byte: what it does not know becomes `Opaque`.
    fn decode(&self, bytes: &[u8]) -> Decoded {
        self.reading().decode(bytes)
    }

    /// Replaces an entry whose line lists several messages by these messages, where no line of the commit says them alone; their
    /// bytes are within that line. `entries` are those that `bytes` decode to; `is_first` says whether this is the first commit
    /// of its session. Most formats have no such lines.
    fn said_alone(&self, entries: Vec<Entry>, _bytes: &[u8], _is_first: bool) -> Vec<Entry> {
        entries
    }

    /// Turns a whole context into entries for another runtime: also with what only all of its bytes tell.
    fn told(&self, bytes: &[u8]) -> Decoded {
        self.decode(bytes)
    }

    /// Hands out the ids of one line, with or without its newline, by which copies of it are known; the record's
    /// own first. None for a line that cannot be read. Whether an id is unique is for the caller to judge.
    fn ids(&self, line: &[u8], found: &mut dyn FnMut(IdKind, &str)) {
        self.reading().ids(line, found);
    }

    /// Turns entries into bytes that the runtime's loader accepts.
    fn encode(&self, entries: &[Entry]) -> Vec<u8>;

    /// Turns a session in another format of the same runtime into this one, field by field: everything that was said, and
    /// everything that no model sees, stays. None where the formats have no such way.
    fn upgrade(&self, _from: &FormatId, _bytes: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Finds the records that a compaction of the runtime's own keeps; `earlier` starts at its parent. In a document a
    /// compaction is whole in its own bytes.
    ///
    /// # Errors
    /// What the chain's storage says.
    fn plan_compaction(
        &self,
        native: &[u8],
        earlier: &mut dyn Segments,
    ) -> Result<CompactionPlan, SourceError> {
        self.reading().plan_compaction(native, earlier)
    }

    /// Returns how a compaction of ours keeps what was said last of this context, so that the client's loader finds it.
    fn keeping(&self, _context: &[u8]) -> Keeping {
        Keeping::Nothing
    }

    /// Encodes a summary as the runtime's own compaction record, to follow `keeps.last` on a chain. The default is the only
    /// entry of a document.
    fn encode_compaction(&self, summary: &str, keeps: &Keeps<'_>, at: Timestamp) -> Vec<u8> {
        let _ = keeps;
        self.encode(&[crate::document::summary_entry(summary, at)])
    }

    /// Returns the compactions that an API or a client made within a document, oldest first: they become commits of their
    /// own. Formats of lines have none: there a compaction is a line.
    fn compactions(&self, document: &[u8]) -> Vec<DocumentCompaction> {
        self.reading().compactions(document)
    }

    /// Plans a context: the active path from the newest segment's last entry down to the stop.
    ///
    /// # Errors
    /// What the chain's storage says.
    fn plan_context(&self, chain: &mut dyn Segments, stop: PlanStop) -> Result<ContextPlan, SourceError> {
        self.reading().plan_context(chain, stop)
    }

    /// Returns whether a client loads this format, so that sessions can be placed in it.
    fn is_placeable(&self) -> bool {
        true
    }

    /// Starts rewriting structural fields for a new place. What nobody loads stays as it is.
    fn placer(&self, _request: &PlaceRequest) -> Box<dyn Placer> {
        Box::new(Verbatim)
    }

    /// Starts rewriting and checking: as [`placer`](Self::placer) and [`validator`](Self::validator) do one after the other.
    fn placing(&self, request: &PlaceRequest) -> Box<dyn Placing> {
        let validator = self.validator(request.client_version.as_deref());
        Box::new(Apart { placer: self.placer(request), validator, shape: self.shape() })
    }

    /// Says where the client looks for that session and how to start it, or how a file would be called that none looks for.
    fn client_place(&self, request: &PlaceRequest) -> ClientPlace {
        unplaced(request, if self.shape() == Shape::Lines { ".jsonl" } else { ".json" })
    }

    /// Mends what a loader of that version of the client would stumble over, and changes nothing else: every text of a
    /// user or an assistant stays, signatures are not touched, what is not known is kept. It is called again until it
    /// finds nothing. Formats that no client loads have nothing to mend.
    fn mend(&self, _document: &mut Document, _client_version: Option<&str>) {}

    /// Starts checking a transcript for a version of the client (newest known where none is given).
    fn validator(&self, client_version: Option<&str>) -> Box<dyn Validator>;
}

/// Bytes at the start of a file that `detect` is given at most: enough for the first records of every format.
pub const DETECT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a first record that `detect` is given at most: twice the longest that a client was seen to write.
pub const FIRST_RECORD_BYTES_MAX: usize = 32 * 1024 * 1024;
