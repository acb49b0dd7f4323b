//! Wire types of commits and what stands beside them.
//!
//! How they are filled is in `output::commit`.

#![expect(clippy::struct_field_names, reason = "the names are the contract's")]

use super::wire;

wire! {
    /// A commit: what is hashed, what is derived, and its first sighting as provenance. Ids are always whole.
    struct Commit {
        /// `ctx-…`
        id: String,
        /// The commit before; absent for a root.
        parent: Option<String>,
        /// `delta`, `compaction` or `snapshot`.
        commit_type: String,
        /// For a snapshot: how many of its leading entries the parent chain says already.
        restated_entries: Option<u64>,
        /// `art-…`: the entries since the parent, the summary prefix, or the whole context.
        artifact: String,
        /// `art-…`: the transcript's own bytes of this place, where they are not the artifact itself.
        native: Option<String>,
        /// How the bytes are encoded.
        format: String,
        /// What kind of agent it was.
        template: String,
        /// The greatest time of its records, RFC 3339 in UTC.
        created_at: String,
        /// Who ran it: `<user>@<machine>/<runtime>`.
        principal: Option<String>,
        /// Where: the machine's id.
        machine: Option<String>,
        /// The session that it was captured in.
        session_id: Option<String>,
        /// What made it happen: `turn_boundary`, `tool_call`, `compaction`, `session_end` or `explicit`.
        checkpoint: Option<String>,
        /// The ticket being worked on.
        ticket_id: Option<String>,
        /// The discussion thread.
        thread_id: Option<String>,
        /// Messages in this commit.
        message_count: u64,
        /// Estimated tokens of what a model sees of this commit.
        token_count: u64,
        /// Entries of any kind in this commit.
        entry_count: u64,
        /// What it is about; always there.
        summary: Summary,
        /// Names that were given to it, ascending.
        tags: Vec<String>,
        /// Notes that were written about it, oldest first.
        notes: Vec<String>,
        /// Whether it is protected from collection.
        pinned: bool,
        /// `closed`; `provisional` where its turn was still open; `covered` where later commits hold its bytes too.
        closure: String,
        /// The redaction rules that its bytes went through: their hash in hex.
        rules: String,
        /// Bytes of its own native content.
        native_bytes: u64,
        /// Commits before it in its chain.
        depth: u64,
        /// Native bytes from the root up to and with it.
        cumulative_bytes: u64,
    }

    /// A summary and who wrote it.
    struct Summary {
        /// The text.
        text: String,
        /// `given`, `llm`, or `heuristic` where it was derived from the entries by rule.
        source: String,
    }

    /// Where, when and by whom a commit was captured.
    struct Sighting {
        /// Who ran it.
        principal: String,
        /// Where: the machine's id.
        machine: String,
        /// The session.
        session_id: String,
        /// What made it happen.
        checkpoint: String,
        /// The ticket being worked on.
        ticket_id: Option<String>,
        /// The discussion thread.
        thread_id: Option<String>,
        /// A configured name for the kind of agent.
        template_alias: Option<String>,
        /// When it was captured, by that machine's clock.
        observed_at: String,
        /// The bytes of a transcript that it was read from.
        source: Option<Source>,
    }

    /// A range of a transcript, before secrets were replaced.
    struct Source {
        /// Its path on that machine.
        path: String,
        /// Bytes from the start.
        offset: u64,
        /// Bytes of the range.
        length: u64,
    }

    /// A link between commits that is no parent link.
    struct Link {
        /// The commit that depends.
        from: String,
        /// `derived_from` or `subagent`.
        kind: String,
        /// The commit that it depends on.
        to: String,
        /// The entry of `to` that it is about.
        entry: Option<String>,
    }

    /// A change of what stands beside a commit.
    struct Audit {
        /// When.
        at: String,
        /// Who.
        by: String,
        /// What: `summary`, `add_tag`, `remove_tag`, `add_note`, `pin` or `unpin`.
        change: String,
        /// The text, tag or note that it is about.
        text: Option<String>,
    }

    /// An entry of a conversation, in short.
    struct Entry {
        /// Its id, for `--at`.
        id: String,
        /// The entry before it.
        parent: Option<String>,
        /// `system`, `user`, `assistant` or `tool`.
        role: String,
        /// `message`, `tool_result`, `compaction_summary`, `metadata` and so on.
        kind: String,
        /// When it was written.
        timestamp: Option<String>,
        /// Its text or the tools that it calls, on one line, cut to 120 characters.
        text: String,
    }

    /// Everything that is known about a commit.
    struct Show {
        /// The commit.
        commit: Commit => flat,
        /// Where it was captured; the first is its provenance.
        sightings: Vec<Sighting>,
        /// Links from and to it.
        links: Vec<Link>,
        /// Commits that continue it.
        children: Vec<String>,
        /// Changes of summary, tags, notes and pin, oldest first.
        audit: Vec<Audit>,
        /// With `--entries`: its own entries.
        entries: Option<Vec<Entry>>,
    }

    /// Commits of a listing, in its order.
    struct CommitPage {
        /// The commits.
        commits: Vec<Commit>,
        /// Where the listing goes on (`--skip`); absent where it is complete.
        next_skip: Option<u64>,
    }

    /// Commits that continue one.
    struct Children {
        /// The commit that they continue.
        of: String,
        /// In the order in which they were stored.
        commits: Vec<Commit>,
    }

    /// The nearest checkpoints at or before a point in time.
    struct Resolved {
        /// The point in time.
        at: String,
        /// One, or several on different branches that share that time.
        commits: Vec<Commit>,
    }
}
