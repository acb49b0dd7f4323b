//! Wire types of events, ledgers and state.
//!
//! How they are filled is in the commands.

#![expect(clippy::struct_field_names, reason = "the names are the contract's")]

use super::{Note, Raw, wire};

wire! {
    /// An event of a ledger.
    struct Event {
        /// Its number, as a decimal string: readers that take numbers for floats lose great ones.
        event_seq: String,
        /// The session that it belongs to.
        session_id: String,
        /// When it was appended, RFC 3339.
        timestamp: String,
        /// What it is about.
        topic: String,
        /// Who sent it.
        sender: String,
        /// For whom it is.
        receiver: String,
        /// `plain`, `line` (an entry as `stemmata-v1`), `trimmed` or `forgotten`.
        payload: String,
        /// Text; absent where there is none.
        text: Option<String>,
        /// Data, or the entry: JSON as it was given.
        data: Option<Raw>,
        /// What programs say about it.
        metadata: Option<Raw>,
        /// Whether it may enter a prompt.
        replayable: bool,
        /// Of an entry, and of what is gone: the artifact, `art-…`.
        artifact: Option<String>,
        /// Of what is gone: the bytes that it had.
        bytes: Option<u64>,
    }

    /// Events of a ledger.
    struct Events {
        /// The ledger.
        ledger: String,
        /// The events.
        events: Vec<Event>,
        /// The ledger's last number when they were read.
        last: String,
        /// Where there may be more: `--after` this number goes on.
        next: Option<String>,
    }

    /// Events that were appended.
    struct Appended {
        /// The ledger.
        ledger: String,
        /// The first one's number.
        first: String,
        /// The last one's number, of those that were given.
        last: String,
        /// The number of the state that was published after them; absent where it did not change.
        snapshot: Option<String>,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// A ledger.
    struct Ledger {
        /// Its id.
        id: String,
        /// Where the project is; absent for a cluster.
        root: Option<String>,
        /// When it was made, RFC 3339.
        created_at: String,
        /// The number of its last event, 0 without any.
        last: String,
        /// The time of that event.
        last_at: Option<String>,
        /// When its window was compacted last.
        compacted_at: Option<String>,
        /// By what else it is found.
        marks: Vec<String>,
    }

    /// All ledgers.
    struct Ledgers {
        /// The ledgers, in the order of their ids.
        ledgers: Vec<Ledger>,
    }
}

wire! {
    /// What is known of a project or a cluster.
    struct State {
        /// The ledger.
        ledger: String,
        /// Where the project is; absent for a cluster.
        root: Option<String>,
        /// The last event that is in it.
        through: String,
        /// Captured sessions that are in it.
        transcripts: u64,
        /// Decisions, facts, tasks, files, errors and recent turns: docs/format/state.md.
        memory: Raw,
        /// What a cluster's agents published, by section; absent where none did.
        snapshot: Option<Raw>,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// A task that is not done.
    struct OpenTask {
        /// What `stemma task --done` takes: the number of its event, or letters made of its words.
        name: String,
        /// The id that its list gave it.
        id: Option<String>,
        /// What is to be done.
        text: String,
        /// The session that it comes from.
        session_id: String,
        /// The entry or event that says so.
        source: String,
    }

    /// The open tasks of a project.
    struct OpenTasks {
        /// The tasks.
        tasks: Vec<OpenTask>,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// What a replay found of one reducer.
    struct ReplayedReducer {
        /// The reducer.
        name: String,
        /// The last event that was in its saved state, 0 without one.
        saved_through: String,
        /// Whether the saved state with the events after it was what the replay gave.
        same: bool,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// What a replay found of sessions that were captured from transcripts.
    struct ReplayedTranscripts {
        /// Sessions that were folded again.
        sessions: u64,
        /// Those whose saved state said something else.
        different: Vec<String>,
        /// What the user should know.
        notes: Vec<Note>,
    }

    /// What a replay found.
    struct Replayed {
        /// The ledger.
        ledger: String,
        /// The last event that was folded.
        through: String,
        /// Each reducer.
        reducers: Vec<ReplayedReducer>,
        /// The captured sessions.
        transcripts: ReplayedTranscripts,
        /// Whether all were the same.
        same: bool,
    }
}

wire! {
    /// What the state of a ledger was restored from.
    struct RestoredLedger {
        /// The ledger.
        ledger: String,
        /// Where the project is; absent for a cluster.
        root: Option<String>,
        /// The last event that can be read.
        last: String,
        /// `store` or `files`.
        engine: String,
        /// Each reducer.
        reducers: Vec<RestoredReducer>,
        /// Captured sessions that are in the memory.
        transcripts: u64,
        /// Events and entries that had to be read again.
        read: u64,
        /// Damaged lines that were set aside.
        quarantined: u64,
        /// Numbers of events that are lost.
        lost: Vec<String>,
        /// What was wrong, and what was done about it.
        notes: Vec<Note>,
    }

    /// What one reducer's state was restored from.
    struct RestoredReducer {
        /// The reducer.
        name: String,
        /// The last event that was in its saved state, 0 without one.
        saved_through: String,
        /// Events after it that were folded again.
        replayed: u64,
    }
}

wire! {
    /// A ledger that was written as a file.
    struct LedgerExported {
        /// The ledger.
        ledger: String,
        /// The file.
        path: String,
        /// Events in it.
        events: u64,
        /// Of these, events whose payload is gone.
        gone: u64,
        /// The last event in it.
        through: String,
    }
}

wire! {
    /// Events that were forgotten, or would be.
    struct EventsForgotten {
        /// The session; none where events were named.
        session_id: Option<String>,
        /// How many events say nothing any more.
        events: u64,
        /// Where they are.
        ledgers: Vec<LedgerForgotten>,
        /// Whether nothing was done.
        dry_run: bool,
    }

    /// Events of a ledger that say nothing any more.
    struct LedgerForgotten {
        /// The ledger.
        ledger: String,
        /// How many.
        events: u64,
    }
}
