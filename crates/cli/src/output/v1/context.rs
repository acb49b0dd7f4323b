//! Wire types of the commands that give conversations back or change what stands beside them.
//!
//! How they are filled is in the commands.

use super::{Note, wire};

wire! {
    /// An agent that `start` would start.
    struct Started {
        /// The template.
        template: String,
        /// The runtime.
        runtime: String,
        /// `fresh`, `resume` (from a tip) or `fork` (from any other commit).
        mode: String,
        /// The client's command, program first.
        command: Vec<String>,
        /// The directory to run it in.
        cwd: String,
        /// What was placed for it; absent for a fresh start.
        placed: Option<Placed>,
    }

    /// The transcript's own bytes, written out.
    struct Native {
        /// The commit.
        ctx: String,
        /// Bytes written.
        bytes: u64,
        /// The file; absent where it went to standard output.
        path: Option<String>,
    }

    /// A context, written out.
    struct Materialized {
        /// The commit; absent for the empty context.
        ctx: Option<String>,
        /// `compaction`, `root`, or the ancestor.
        stop: String,
        /// The format of the bytes.
        format: String,
        /// How well they keep what they were made from: `native`, `upgraded`, `transcoded`, `rendered` or `raw`.
        tier: String,
        /// Bytes written.
        bytes: u64,
        /// Messages of the result.
        message_count: u64,
        /// Estimated tokens of the result.
        token_count: u64,
        /// Entries of the result.
        entry_count: u64,
        /// Commits that were read.
        commits_read: u64,
        /// Entries left out because they are on abandoned branches.
        abandoned_entries: u64,
        /// Compactions that were skipped.
        skipped_compactions: u64,
        /// Entries that got another parent.
        reparented: Vec<Reparented>,
        /// What a translation changed and dropped; absent where nothing was translated.
        losses: Option<Losses>,
        /// What degraded the result.
        notes: Vec<Note>,
        /// The file; absent where it went to standard output.
        path: Option<String>,
    }

    /// A conversation, written for people or for other programs.
    struct Exported {
        /// The commit.
        ctx: String,
        /// `root`, `compaction`, or the ancestor.
        stop: String,
        /// `html`, `markdown`, `atif`, `acp` or `otel-genai`.
        format: String,
        /// Bytes written.
        bytes: u64,
        /// Entries of the conversation, those that are not told included.
        entry_count: u64,
        /// What degraded the result.
        notes: Vec<Note>,
        /// The file; absent where it went to standard output.
        path: Option<String>,
    }

    /// What a translation did not keep as it was.
    struct Losses {
        /// The format that was read.
        from: String,
        /// The format that was written.
        to: String,
        /// Entries of the conversation that are in the result.
        kept: u64,
        /// Entries of them in which something changed or is missing.
        changed: u64,
        /// Entries of the conversation that are not in the result.
        dropped: u64,
        /// Records that no model sees, which do not come across.
        unsaid: u64,
        /// The losses, in the order of the entries.
        entries: Vec<Loss>,
        /// Losses that are not listed, because there are too many.
        unlisted: u64,
    }

    /// One thing that did not come across as it was.
    struct Loss {
        /// The entry it was part of.
        entry: String,
        /// `changed` or `dropped`.
        action: String,
        /// `entry`, `text`, `thinking`, `tool_name`, `tool_error`, `image`, `file` or `opaque`.
        part: String,
        /// Why.
        reason: String,
    }

    /// An entry whose parent is not part of a context.
    struct Reparented {
        /// The entry.
        entry: String,
        /// Its parent in the context; absent for the first entry.
        parent: Option<String>,
    }

    /// A session that was placed where the client looks.
    struct Placed {
        /// The commit that it continues.
        ctx: String,
        /// The new session id.
        session_id: String,
        /// The file that was written.
        path: String,
        /// Its format.
        format: String,
        /// Bytes of the file.
        bytes: u64,
        /// Messages that the client will send.
        messages: u64,
        /// The client's own command line that resumes it, program first.
        resume_command: Vec<String>,
        /// The client's own command line that takes the file in first; absent where it finds it by itself.
        import_command: Option<Vec<String>>,
        /// The directory to run it in.
        cwd: String,
        /// The text of the user's entry that was cut off, to edit and send again.
        prompt: Option<String>,
        /// What a translation changed and dropped; absent where nothing was translated.
        losses: Option<Losses>,
        /// What degraded the result.
        notes: Vec<Note>,
    }

    /// A context that was told within a budget.
    struct Handoff {
        /// The commit.
        ctx: String,
        /// `compaction`, `root`, or the ancestor.
        stop: String,
        /// `rendered`; `raw` where the stored format is not known, and the text describes stored bytes.
        tier: String,
        /// Tokens that were allowed.
        budget_tokens: u64,
        /// Estimated tokens of the text.
        token_count: u64,
        /// Turns of which something is told.
        turns_told: u64,
        /// Turns of the context.
        turns: u64,
        /// Texts, calls and results that are told whole.
        whole: u64,
        /// Those that are cut.
        cut: u64,
        /// Those that are left out.
        left_out: u64,
        /// The text; absent where it went to a file.
        text: Option<String>,
        /// The file; absent where there is none.
        path: Option<String>,
        /// What degraded the result.
        notes: Vec<Note>,
    }

    /// A compaction that was made.
    struct Compacted {
        /// The compaction commit.
        id: String,
        /// The commit that it stands for.
        parent: String,
        /// The format of its record.
        format: String,
        /// Estimated tokens of the context before.
        tokens_before: u64,
        /// Estimated tokens of the context after.
        tokens_after: u64,
        /// Bytes of the record.
        bytes: u64,
    }

    /// The context from before a compaction.
    struct Uncompacted {
        /// The commit just before the compaction.
        id: String,
        /// Its context; absent where none was asked for.
        context: Option<Materialized>,
    }

    /// What a compaction lost.
    struct Diff {
        /// The compaction.
        compaction: String,
        /// The commit just before it.
        before: String,
        /// Entries that were kept.
        kept_entries: u64,
        /// Messages and tool results that are gone, oldest first.
        lost_entries: Vec<LostEntry>,
        /// Files that tools worked on, and that the context after does not name.
        lost_files: Vec<String>,
        /// Files that the context after still names.
        kept_files: Vec<String>,
        /// Files, folders and patterns that commands may have touched, and that the context after does not name.
        unsure_files: Vec<String>,
        /// Commands that were run, and that the context after does not name.
        lost_commands: Vec<String>,
    }

    /// An entry that the context after a compaction no longer has.
    struct LostEntry {
        /// Its id.
        id: String,
        /// Who spoke.
        role: String,
        /// What it was for.
        kind: String,
        /// Its text, or the tools that it called, on one line.
        text: String,
    }

    /// A commit that was stored for a program.
    struct Checkpointed {
        /// The commit.
        id: String,
        /// Whether it was there before.
        existed: bool,
        /// What degraded the result.
        notes: Vec<Note>,
    }

    /// A commit's id.
    struct Named {
        /// The commit.
        id: String,
        /// The session that it was captured in.
        session_id: Option<String>,
        /// `closed`, or `provisional` where the turn is open.
        closure: String,
    }

    /// A commit whose metadata was changed, as it stands now.
    struct Changed {
        /// The commit.
        id: String,
        /// Its summary.
        summary: String,
        /// Its tags.
        tags: Vec<String>,
        /// Its notes.
        notes: Vec<String>,
        /// Whether it is protected.
        pinned: bool,
    }
}

impl Losses {
    /// Returns the wire form.
    pub(crate) fn of(report: &stemmata_engine::LossReport) -> Self {
        let losses = report.losses.iter().map(|loss| Loss {
            entry: loss.entry.clone(),
            action: loss.action.as_str().to_owned(),
            part: loss.part.to_owned(),
            reason: loss.reason.clone(),
        });
        Self {
            from: report.from.clone(),
            to: report.to.clone(),
            kept: report.kept,
            changed: report.changed,
            dropped: report.dropped,
            unsaid: report.unsaid,
            entries: losses.collect(),
            unlisted: report.unlisted,
        }
    }
}
