//! Wire types of the commands that look for secrets in what is stored.
//!
//! How they are filled is in the commands.

use super::wire;

wire! {
    /// What today's rules would find in what is stored. Holds no byte of a secret.
    struct Scan {
        /// Commits that were looked at.
        commits: u64,
        /// Events that say something and were looked at.
        events: u64,
        /// Bytes of their content.
        bytes: u64,
        /// Commits among them whose content was forgotten.
        holes: u64,
        /// Where to go on with `--after`, where the limit ended it.
        next: Option<String>,
        /// Whether all that was meant was looked at: no limit ended it, and no ledger is in `unread`.
        complete: bool,
        /// Ledgers that could not be read to their end.
        unread: Vec<UnreadLedger>,
        /// What was found.
        findings: Vec<ScanFinding>,
    }

    /// A ledger that could not be read to its end.
    struct UnreadLedger {
        /// The ledger.
        ledger: String,
        /// What keeps it from being read.
        reason: String,
    }

    /// One finding.
    struct ScanFinding {
        /// The commit that holds it; absent where an event or a saved state does.
        commit: Option<String>,
        /// The ledger of the event or of the state.
        ledger: Option<String>,
        /// The number of the event in its ledger.
        event: Option<String>,
        /// The session of the event.
        session_id: Option<String>,
        /// The name of the saved state.
        state: Option<String>,
        /// The line of the commit's content, 1 = first; absent where it is in its summary, tags or notes, or in a field.
        line: Option<u64>,
        /// The field of a session that ends at the commit (`title`, `cwd`, `git_branch` or `version`), or of the event
        /// (`text`, `data`, `entry` or `metadata`).
        field: Option<String>,
        /// The id of the record, where it has one.
        entry: Option<String>,
        /// The rule's kind, as in `github-token`.
        kind: String,
        /// Bytes of it.
        bytes: u64,
        /// Equal for equal secrets in this store.
        fingerprint: String,
    }

    /// What was scrubbed, or what would be.
    struct Scrub {
        /// Whether nothing was changed.
        dry_run: bool,
        /// Commits that were looked at.
        looked_at: u64,
        /// Findings by their kind.
        kinds: Vec<ScrubKind>,
        /// Commits with findings.
        dirty: u64,
        /// Events that were looked at.
        events_looked_at: u64,
        /// Events with findings.
        events: u64,
        /// Events that say nothing any more: those, and what was published after them.
        events_forgotten: u64,
        /// Ledgers that lose saved states, because these or their events have findings.
        ledgers: Vec<String>,
        /// Ledgers that could not be read to their end: what they hold may stay.
        unread: Vec<UnreadLedger>,
        /// Commits that get other ids, those that follow included.
        rewritten: u64,
        /// Which commit became which.
        redirects: Vec<ScrubRedirect>,
        /// Sessions that end at another commit.
        sessions: Vec<String>,
        /// Contents whose bytes are gone.
        contents: u64,
        /// Bytes of them, uncompressed.
        bytes: u64,
        /// What is left to do on disk; the next command does it.
        unfinished: Option<String>,
    }

    /// Findings of one kind.
    struct ScrubKind {
        /// The rule's kind.
        kind: String,
        /// How many.
        findings: u64,
    }

    /// What a commit became.
    struct ScrubRedirect {
        /// The id that it had.
        from: String,
        /// The id that it has.
        to: String,
    }

    /// Projects' rules for secrets that are trusted.
    struct TrustedRules {
        /// The rules, the oldest first.
        trusted: Vec<TrustedFile>,
    }

    /// A project's rules that are trusted.
    struct TrustedFile {
        /// The file, as it was when it was trusted.
        path: String,
        /// The BLAKE3 hash of its text, in hex.
        hash: String,
        /// When it was trusted.
        trusted_at: String,
        /// Whether the file is there and still the same.
        is_current: bool,
    }

    /// What the vault holds. No value is part of it.
    struct VaultStatus {
        /// Whether capture adds to it.
        keeps: bool,
        /// Its folder.
        path: String,
        /// Contents that values are kept of.
        contents: u64,
        /// Places that values are kept for.
        places: u64,
        /// Different values.
        values: u64,
        /// Records that do not open any more.
        damaged: u64,
        /// Bytes of its file.
        bytes: u64,
        /// When the oldest was kept.
        oldest: Option<String>,
        /// When the newest was kept.
        newest: Option<String>,
    }

    /// What was removed from the vault.
    struct VaultPurged {
        /// Contents whose values are gone.
        contents: u64,
        /// Places that they were kept for.
        places: u64,
    }
}
