//! What can be written: the items of a batch, and the records they carry.

use stemmata_model::{
    ArtifactId, Closure, CommitCore, CommitId, Counts, FormatId, Granularity, LedgerId, MachineId, Principal,
    RulesHash, SessionId, Sighting, SummarySource, Template, Timestamp, artifact_id,
};

pub use stemmata_model::{Link, LinkKind};

use crate::ledger::{Append, Coverage, LedgerChange, SavedState};

/// A part of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPart {
    /// Bytes, at most `PART_BYTES_MAX`.
    Bytes(Vec<u8>),
    /// Bytes of another content, which must be stored or stand earlier in the same batch.
    Slice {
        /// The other content.
        of: ArtifactId,
        /// Bytes from its start.
        offset: u64,
        /// Bytes of the range.
        length: u64,
    },
}

/// A content to store: an id and the parts whose concatenation has that hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContent {
    id: ArtifactId,
    parts: Vec<ContentPart>,
    /// Whether the id was computed here, of the only part.
    is_hashed: bool,
}

impl NewContent {
    /// Names and takes bytes that are kept in one part. At most `PART_BYTES_MAX`.
    pub fn literal(bytes: Vec<u8>) -> Self {
        Self { id: artifact_id(&bytes), parts: vec![ContentPart::Bytes(bytes)], is_hashed: true }
    }

    /// Takes parts whose concatenation has the hash `id`; reads and `verify` hold the caller to it.
    pub fn composed(id: ArtifactId, parts: Vec<ContentPart>) -> Self {
        Self { id, parts, is_hashed: false }
    }

    /// Returns the id.
    pub const fn id(&self) -> ArtifactId {
        self.id
    }

    /// Returns the hash of the only part where it was computed: what a caller says of parts is not believed.
    pub(crate) fn known_hash(&self) -> Option<ArtifactId> {
        self.is_hashed.then_some(self.id)
    }

    /// Returns the parts, in order.
    pub fn parts(&self) -> &[ContentPart] {
        &self.parts
    }

    /// Gives the parts up, in order.
    pub fn into_parts(self) -> Vec<ContentPart> {
        self.parts
    }
}

/// A commit to store. Its id, depth and lengths are computed by the backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommit {
    /// What is hashed. Artifacts and the parent must be stored or stand earlier in the batch.
    pub core: CommitCore,
    /// The redaction rules that the bytes went through.
    pub rules: RulesHash,
    /// `Closed` or `Provisional`. Storing a provisional commit again as closed closes it; a closed or covered
    /// one never opens again.
    pub closure: Closure,
    /// Derived counts.
    pub counts: Counts,
}

/// A commit to store without its contents, which were forgotten elsewhere: its children can be stored then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewHole {
    /// What is hashed. The parent must be stored or stand earlier in the batch; the artifacts need not.
    pub core: CommitCore,
    /// The redaction rules that the bytes went through.
    pub rules: RulesHash,
    /// Derived counts.
    pub counts: Counts,
    /// Bytes that the artifact had, at most [`HOLE_BYTES_MAX`](crate::HOLE_BYTES_MAX).
    pub artifact_bytes: u64,
    /// Bytes that the native artifact had, as many at most; without one it means nothing.
    pub native_bytes: u64,
    /// A commit that was forgotten and that this one holds: it is forgotten with it, and comes back with it.
    pub holds: Option<CommitId>,
}

/// Where a session lives: one transcript on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    /// The machine.
    pub machine: MachineId,
    /// The transcript's absolute path, or `api:<session>` for a session without a file. At most 4,096 bytes.
    pub path: String,
}

/// How a session came to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SessionOrigin {
    /// Read from a transcript.
    Imported,
    /// Placed by us from this commit.
    Placed(CommitId),
    /// Made by checkpoints of a program.
    Api,
}

/// What a listing shows of a session. Upserted whole; derived from commits and so rebuildable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Where it lives.
    pub key: SessionKey,
    /// The runtime's own id.
    pub session: SessionId,
    /// For a subagent: the session that it belongs to.
    pub parent_session: Option<SessionId>,
    /// The format of its transcript.
    pub format: FormatId,
    /// The kind of agent.
    pub template: Template,
    /// Who ran it.
    pub principal: Principal,
    /// How often closed commits are made.
    pub granularity: Granularity,
    /// How it came to be known.
    pub origin: SessionOrigin,
    /// A title, at most 200 characters.
    pub title: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
    /// The version of the runtime that wrote it last.
    pub version: Option<String>,
    /// The earliest record.
    pub started_at: Option<Timestamp>,
    /// The latest record.
    pub last_at: Option<Timestamp>,
    /// The newest commit.
    pub tip: Option<CommitId>,
    /// Commits of the chain from the root to the tip.
    pub commits: u64,
    /// Messages in the chain.
    pub messages: u64,
    /// Bytes of the chain.
    pub bytes: u64,
}

impl Session {
    /// Says whether it was placed, and nobody has gone on with it: it holds nothing of its own.
    pub fn is_unused(&self) -> bool {
        matches!(self.origin, SessionOrigin::Placed(from) if self.tip == Some(from))
    }
}

/// The format of a file that a client keeps beside a transcript: its bytes, whatever they are.
pub const SIDECAR_FORMAT: &str = "sidecar-v1";

impl Session {
    /// Returns whether it is no conversation but a file that a client keeps beside the transcript of another session. Lists of
    /// sessions and of tips, look-ups by a part of an id and by time, and counts of sessions leave these out.
    pub fn is_sidecar(&self) -> bool {
        self.format.as_str() == SIDECAR_FORMAT
    }
}

/// A transcript that we wrote where a client looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The machine.
    pub machine: MachineId,
    /// The file's absolute path.
    pub path: String,
    /// The session id that it was placed under.
    pub session: SessionId,
    /// The commit that it was placed from.
    pub ctx: CommitId,
    /// Bytes of the file that came from the commit; what follows is new.
    pub taken_bytes: u64,
    /// Bytes of the whole file as placed.
    pub placed_bytes: u64,
    /// The BLAKE3 hash of the whole file as placed, hashed once more with the store's secret as the key.
    pub keyed_hash: [u8; 32],
    /// When it was placed.
    pub placed_at: Timestamp,
}

/// One change of a commit's mutable metadata.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Annotation {
    /// Replaces the summary (at most 64 KiB), or removes it.
    Summary {
        /// The text; none removes it.
        text: Option<String>,
        /// Who wrote it. A less trusted source never replaces a more trusted one.
        source: SummarySource,
    },
    /// Adds a tag (1 to 128 bytes).
    AddTag(String),
    /// Removes a tag.
    RemoveTag(String),
    /// Adds a note (at most 64 KiB).
    AddNote(String),
    /// Protects from collection.
    Pin,
    /// Ends the protection.
    Unpin,
}

/// A commit's mutable metadata as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Annotations {
    /// The summary and who wrote it.
    pub summary: Option<(String, SummarySource)>,
    /// Tags, ascending.
    pub tags: Vec<String>,
    /// Notes, oldest first.
    pub notes: Vec<String>,
    /// Whether it is protected.
    pub pinned: bool,
}

/// Who changed what of a commit's metadata, and when. Ordered by time, then author, then change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AuditRecord {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub by: Principal,
    /// What.
    pub change: Annotation,
}

/// One write of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores a content; each literal part becomes a content of its own. Already there: nothing happens.
    Content(NewContent),
    /// Stores a commit. Already there: closes it where it was provisional, else nothing happens. One that was
    /// forgotten is refused as `Forgotten`, whether its hole is still there or not.
    Commit(NewCommit),
    /// Stores a commit as a hole: its row, and of contents that are not here only hash and length. Where the commit is
    /// here whole nothing happens, and where it is here as a hole that stays. It holds nothing, so one that was
    /// forgotten is not refused, and the forgetting stands.
    Hole(Box<NewHole>),
    /// Marks a provisional commit as covered by others of the same transcript; any other commit is left alone.
    Cover {
        /// The provisional commit.
        commit: CommitId,
    },
    /// Sets the counts of a commit, which an earlier version may have counted otherwise: they are derived and no part of its id.
    Counts {
        /// The commit.
        commit: CommitId,
        /// What its content holds.
        counts: Counts,
    },
    /// Records where a commit was captured. Merges as a set: two that differ only in trigger, time and range
    /// are the same one, of which the earlier stays. (Ticket and thread tell sightings apart, so that a
    /// second ticket on one commit is not lost.)
    Sighting {
        /// The commit.
        commit: CommitId,
        /// Where it was captured.
        sighting: Box<Sighting>,
    },
    /// Records or updates a session.
    Session(Box<Session>),
    /// Removes a session's row, cursor, placement and sightings, because what it is goes by another key now, and was recorded there
    /// before: its transcript was moved. Its commits stay. Not there: nothing happens.
    Leave(SessionKey),
    /// Refuses the batch unless a session's cursor is still what the caller read: of two processes that read one
    /// transcript at once, one has to look again.
    ExpectCursor {
        /// The session.
        key: SessionKey,
        /// What was read; none where there was none.
        value: Option<Vec<u8>>,
    },
    /// Refuses the batch unless a session's newest commit is still what the caller read: what follows was made to stand behind it.
    ExpectTip {
        /// The session.
        key: SessionKey,
        /// The newest commit that the caller read. Absent where the store did not have the session yet.
        tip: Option<CommitId>,
    },
    /// Keeps an engine's cursor of a session.
    Cursor {
        /// The session.
        key: SessionKey,
        /// At most `CURSOR_BYTES_MAX`, meaning the engine's own.
        value: Vec<u8>,
    },
    /// Records a placement; the latest at a path counts.
    Placement(Box<Placement>),
    /// Changes mutable metadata and leaves an audit record; a change that changes nothing leaves none, and a
    /// record that is there already is not written twice.
    Annotate {
        /// The commit.
        commit: CommitId,
        /// The change.
        change: Annotation,
        /// When.
        at: Timestamp,
        /// Who.
        by: Principal,
    },
    /// Adds records of changes that were made in another store, and has the metadata be what all records of the
    /// commit say together (`standing_records`). Merging is a union of sets: order and repetition change nothing.
    MergeAnnotations {
        /// The commit.
        commit: CommitId,
        /// At most `MERGED_RECORDS_MAX`.
        records: Vec<AuditRecord>,
    },
    /// Links two commits.
    Link(Link),
    /// Removes a link. Not there: nothing happens.
    Unlink(Link),
    /// Says what a commit became when its chain was scrubbed, so that its id still leads somewhere. Neither has to be
    /// there; the first that is said of a commit stays.
    Redirect {
        /// The commit that was.
        from: CommitId,
        /// What it became.
        to: CommitId,
        /// When.
        at: Timestamp,
    },
    /// Keeps hashes of ids that a commit's entries have, so that copies of its chain are found by them. Merges as
    /// a set; the same hashes of commits that are covered by now are let go.
    Anchors {
        /// The commit.
        commit: CommitId,
        /// At most `ANCHORS_MAX`; what is hashed is the engine's.
        hashes: Vec<u64>,
    },
    /// Appends events to a ledger, as [`EventLog::append`](crate::EventLog::append) does but in this transaction. A line
    /// among them is a content from then on, of which contents later in the batch may have ranges. Not idempotent: who
    /// repeats a batch says which last number is expected.
    Append(Box<Append>),
    /// Says how far a commit covers a ledger. Of two that are said of a commit and a ledger the greater stays.
    /// What is beyond the ledger's last event is refused as `Bound`.
    Covers(Coverage),
    /// Refuses the batch where something was forgotten since a ledger was at this epoch: what the batch says may have been made of
    /// it.
    ExpectEpoch {
        /// The ledger, which is there or stands earlier in the batch.
        ledger: LedgerId,
        /// The epoch.
        epoch: u64,
    },
    /// Keeps states of a ledger, each in the place of the one of its name.
    SaveStates {
        /// The ledger, which is there or stands earlier in the batch.
        ledger: LedgerId,
        /// The states.
        states: Vec<SavedState>,
    },
    /// Changes what is known of a ledger.
    ChangeLedger(Box<LedgerChange>),
}
