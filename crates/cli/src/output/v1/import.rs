//! Wire types of `import`, the contract that scripts rely on most.
//!
//! How they are filled is in the command.

use super::wire;

wire! {
    /// What an import found and did.
    struct Import {
        /// Sessions, in the order of their paths; those where nothing was new too.
        sessions: Vec<Imported>,
        /// Files that could not be imported.
        failures: Vec<Failure>,
        /// Files below named folders that are no transcripts.
        skipped: Vec<String>,
        /// Files below named folders that somebody does not want captured.
        excluded: Vec<HeldBack>,
        /// Sums.
        totals: Totals,
    }

    /// A session that `watch` captured something of, one object a line.
    struct Watched {
        /// The transcript.
        path: String,
        /// The runtime's own id of the session.
        session_id: String,
        /// The transcript's format.
        format: String,
        /// The newest commit.
        tip: Option<String>,
        /// Commits that are new.
        new_commits: u64,
        /// Commits of the chain from the root to the tip.
        commits: u64,
        /// Bytes of the transcript that were secrets and were replaced.
        bytes_redacted: u64,
        /// What degraded the result.
        notes: Vec<Note>,
    }

    /// A session that was imported.
    struct Imported {
        /// The transcript.
        path: String,
        /// The runtime's own id of the session.
        session_id: String,
        /// The transcript's format.
        format: String,
        /// The newest commit; absent where there is none.
        tip: Option<String>,
        /// Commits of the chain from the root to the tip.
        commits: u64,
        /// Entries of the chain.
        entries: u64,
        /// Bytes of the transcript.
        bytes_in: u64,
        /// Bytes of it that were secrets and were replaced; 0 means that `native` of the tip equals the file.
        bytes_redacted: u64,
        /// What degraded the result.
        notes: Vec<Note>,
        /// Commits that are new with this import.
        new_commits: u64,
        /// Bytes that the store took for what is new.
        bytes_stored: u64,
        /// Its first prompt, or the name that the client gave it.
        title: Option<String>,
        /// For a subagent: the session that it belongs to.
        parent_session: Option<String>,
    }

    /// A file that could not be imported. Everything good of it and of the others is kept.
    struct Failure {
        /// The file.
        path: String,
        /// What went wrong, with the position where there is one.
        error: String,
        /// Causes, outermost first.
        causes: Vec<String>,
        /// The next step.
        hint: Option<String>,
        /// The exit code that stands for this kind of failure.
        exit_code: u64,
    }

    /// A file that somebody does not want captured.
    struct HeldBack {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    }

    /// Sums over all sessions of an import.
    struct Totals {
        /// Sessions.
        sessions: u64,
        /// Commits of their chains.
        commits: u64,
        /// Bytes of their transcripts.
        bytes_in: u64,
        /// Bytes that the store took for what is new.
        bytes_stored: u64,
        /// Notes.
        notes: u64,
        /// Commits that are new with this import.
        new_commits: u64,
        /// Chains that were found to be copies of others: new ones, and old ones whose original came now.
        copies: u64,
        /// Entries.
        entries: u64,
        /// Bytes that were secrets and were replaced.
        bytes_redacted: u64,
        /// Files that could not be imported.
        failures: u64,
        /// Files that are no transcripts.
        skipped: u64,
        /// Files that somebody does not want captured.
        excluded: u64,
        /// How long it took, in milliseconds.
        elapsed_ms: u64,
    }

    /// Something that the user should know about a result that is good but not plain.
    struct Note {
        /// Stable name of its kind.
        code: String,
        /// One sentence.
        message: String,
        /// The line of the transcript (1 = first) that it is about.
        line: Option<u64>,
    }
}

impl From<&stemmata_model::Note> for Note {
    fn from(note: &stemmata_model::Note) -> Self {
        Self { code: note.code.as_str().to_owned(), message: note.message.clone(), line: note.line }
    }
}

impl Note {
    /// Returns the wire form of notes.
    pub(crate) fn all(notes: &[stemmata_model::Note]) -> Vec<Self> {
        notes.iter().map(Self::from).collect()
    }
}
