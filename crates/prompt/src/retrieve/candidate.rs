//! Candidates: what may enter a pack, whatever it is and wherever it was found.

use stemmata_model::{CommitId, EventSeq, LedgerId, Timestamp};

/// What a candidate is. The order is that of the groups of a pack, and of candidates that score the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CandidateKind {
    /// Something was chosen.
    Decision,
    /// Something holds.
    Fact,
    /// A question or a piece of work that nobody has come back to.
    Thread,
    /// Something is to be done.
    Task,
    /// Something failed.
    Error,
    /// A file was touched.
    File,
    /// Work that was done for the same thread or ticket.
    Linked,
    /// A recent turn.
    Turn,
    /// An entry or an event that search found.
    Hit,
}

impl CandidateKind {
    /// Every kind, in order.
    pub const ALL: [Self; 9] = [
        Self::Decision,
        Self::Fact,
        Self::Thread,
        Self::Task,
        Self::Error,
        Self::File,
        Self::Linked,
        Self::Turn,
        Self::Hit,
    ];

    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Tells whether it is something that was said, and not what a memory made of it.
    pub(super) const fn is_said(self) -> bool {
        matches!(self, Self::Linked | Self::Turn | Self::Hit)
    }
}

/// Whether a candidate still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds, or is open.
    Open,
    /// It is done, resolved or closed.
    Settled,
    /// Something else was chosen since.
    Superseded,
}

/// Where a candidate comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Provenance {
    /// A commit whose chain holds it.
    pub ctx: Option<CommitId>,
    /// The entry's id in its session.
    pub entry: Option<String>,
    /// How the commit is shown: a beginning of its id that no other has. None: whole.
    pub short_ctx: Option<String>,
    /// How the entry is shown, in the same way.
    pub short_entry: Option<String>,
    /// The event of the ledger.
    pub event: Option<EventSeq>,
    /// The ledger of the event, where it is not the one that is asked about.
    pub ledger: Option<LedgerId>,
    /// The session's id; empty where it is of no session.
    pub session: String,
    /// The client that the session was in; empty where that is not known.
    pub client: String,
    /// When it was said.
    pub at: Option<Timestamp>,
    /// The machine that recorded it, where it came in a bundle from another one.
    pub foreign_machine: Option<String>,
}

/// What a candidate has in common with the task beside words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shares {
    /// The thread.
    pub thread: bool,
    /// The ticket.
    pub ticket: bool,
}

/// What may enter a pack.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// What it is.
    pub kind: CandidateKind,
    /// What names it; of two candidates that score the same the lesser id comes first.
    pub id: String,
    /// Who said it, where that is to be shown.
    pub speaker: Option<String>,
    /// What it says.
    pub full: String,
    /// What it says in short.
    pub compact: String,
    /// Where it comes from.
    pub from: Provenance,
    /// What search scored it, where search found it.
    pub rank: Option<f32>,
    /// How near its meaning is to the task's among the candidates, from 0 to 1, where vectors are in use.
    pub nearness: Option<f32>,
    /// What it has in common with the task.
    pub shares: Shares,
    /// Whether it holds.
    pub standing: Standing,
    /// Whether a tool said it.
    pub is_tool_output: bool,
    /// The entry that it is; see [`Candidate::place_of`].
    pub place: Option<String>,
    /// What was said next to it.
    pub window: Vec<Beside>,
}

/// What was said next to a candidate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// The entry that it is.
    pub place: String,
    /// Who said what, before or after it.
    pub text: String,
}

impl Candidate {
    /// Returns what an entry of a session is called among candidates.
    pub fn place_of(session: &str, entry: &str) -> String {
        format!("{session}/{entry}")
    }

    /// Returns the id of an entry beside this one, which is in the same session; `None` where this candidate is no entry.
    pub fn entry_beside<'b>(&self, beside: &'b Beside) -> Option<&'b str> {
        let session = self.id.strip_suffix(self.from.entry.as_deref()?)?;
        beside.place.strip_prefix(session)
    }
}
