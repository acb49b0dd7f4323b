//! Wire types of the commands about the store and the program itself.
//!
//! How they are filled is in the commands.

use super::wire;

wire! {
    /// What `verify` looked at and found.
    struct Verify {
        /// Whether all is well.
        ok: bool,
        /// Contents whose hash was recomputed.
        contents: u64,
        /// Commits whose id, parent, depth and length were recomputed.
        commits: u64,
        /// Sightings, timelines and links whose ends were looked up.
        references: u64,
        /// Files of packs that nothing refers to, as a crash leaves them; the next packing removes them.
        leftover_files: u64,
        /// Byte of the log at which a last transaction begins that is not whole, as a crash leaves it before anything
        /// of it is promised.
        unfinished_log_at: Option<u64>,
        /// Rows of metadata that are not what was written, and that a repair kept as they are: nothing gave them back.
        kept_rows: u64,
        /// Everything that is wrong, after a repair what still is.
        damages: Vec<Damage>,
        /// What `--repair` mended.
        repaired: Vec<Repaired>,
    }

    /// One thing that was mended.
    struct Repaired {
        /// The content, the pack or the part of the database.
        object: String,
        /// Where the sound bytes came from, or how it was recomputed.
        from: String,
    }

    /// One thing that is wrong.
    struct Damage {
        /// Stable name of the check.
        check: String,
        /// The commit or artifact that it is about.
        object: String,
        /// What is wrong.
        message: String,
    }

    /// How much there is, and what it takes.
    struct Du {
        /// Native bytes of all commits, each counted once: what was captured.
        logical_bytes: u64,
        /// Bytes of all files of the store.
        physical_bytes: u64,
        /// Bytes that are distinct, uncompressed.
        distinct_bytes: u64,
        /// Bytes that these take, compressed; the rest of the files is metadata, indexes and free pages.
        content_bytes: u64,
        /// Of these, bytes that wait to be packed.
        inbox_bytes: u64,
        /// Of these, bytes of pack files.
        packed_bytes: u64,
        /// Pack files.
        packs: u64,
        /// Commits.
        commits: u64,
        /// Sessions.
        sessions: u64,
        /// Distinct contents.
        contents: u64,
    }

    /// What the chains of sessions take.
    struct DuChains {
        /// The chains, the one that takes most first.
        chains: Vec<DuChain>,
        /// All that match, also those that `-n` leaves out.
        total: DuTotal,
    }

    /// What a session's chain takes. A commit counts for the chain whose session began first.
    struct DuChain {
        /// The session.
        session_id: String,
        /// The transcript's path, or `api:<session>` for one without a file.
        path: String,
        /// The machine's id.
        machine: String,
        /// For a subagent: the session that it belongs to.
        parent_session: Option<String>,
        /// Its first prompt, or the name that the client gave it.
        title: Option<String>,
        /// The working directory.
        cwd: Option<String>,
        /// The newest commit.
        tip: Option<String>,
        /// Commits that count for this chain.
        commits: u64,
        /// Their native bytes: what was captured.
        logical_bytes: u64,
        /// Bytes that they take: frames of the inbox and shares of pack blocks.
        stored_bytes: u64,
        /// Of these, bytes in packs.
        packed_bytes: u64,
        /// Commits of this chain that count for chains that began earlier.
        shared_commits: u64,
        /// Their native bytes.
        shared_logical_bytes: u64,
        /// Bytes that they take.
        shared_stored_bytes: u64,
        /// Where a client copied it from another session: the commit that it was copied from.
        copy_of: Option<String>,
    }

    /// What chains take together. What they share counts once.
    struct DuTotal {
        /// Chains.
        chains: u64,
        /// Commits that count for them.
        commits: u64,
        /// Their native bytes.
        logical_bytes: u64,
        /// Bytes that they take.
        stored_bytes: u64,
        /// Of these, bytes in packs.
        packed_bytes: u64,
        /// Chains that clients copied from others.
        copies: u64,
        /// Native bytes that count for these.
        copies_logical_bytes: u64,
        /// Bytes that these take.
        copies_stored_bytes: u64,
    }

    /// What a backup holds.
    struct BackedUp {
        /// Its folder.
        path: String,
        /// Commits in it.
        commits: u64,
        /// Bytes of its database.
        database_bytes: u64,
        /// Pack files in it.
        packs: u64,
        /// Pack files that were not there before.
        packs_new: u64,
        /// Bytes of all its pack files.
        pack_bytes: u64,
        /// Bytes of pack files that were copied; the others were there or share their bytes with the store.
        copied_bytes: u64,
        /// Whether an earlier backup was brought up to date.
        is_update: bool,
        /// Packs that the store itself lacks, or that are damaged in it; the backup is whole but for them.
        damages: Vec<Damage>,
    }

    /// What a restore did.
    struct Restored {
        /// The store's folder.
        path: String,
        /// The backup.
        from: String,
        /// Commits that were verified.
        commits: u64,
        /// Contents that were verified.
        contents: u64,
        /// Where the store that was there before is now; absent where there was none.
        aside: Option<String>,
    }

    /// What packing did.
    struct Packing {
        /// Contents that moved into packs.
        contents: u64,
        /// Their bytes, uncompressed.
        content_bytes: u64,
        /// Bytes that they took before.
        inbox_bytes: u64,
        /// Pack files that were made.
        packs: u64,
        /// Blocks in them.
        blocks: u64,
        /// Blocks that are compressed against the conversations that they are copies of.
        based_blocks: u64,
        /// Bytes of the pack files that were made.
        pack_bytes: u64,
        /// Contents that stay where they are because they are damaged.
        damaged: u64,
        /// Whether another process was packing, so that nothing was done.
        busy: bool,
        /// Bytes of all files of the store now.
        physical_bytes: u64,
    }

    /// What would bring the store to this version, or what was done.
    struct Migration {
        /// The write version that the store had.
        found: u64,
        /// The newest that this program knows.
        newest: u64,
        /// The write version that it has now.
        now: u64,
        /// The steps between the two.
        steps: Vec<MigrationStep>,
        /// The backup that was made before; absent where nothing was done.
        backup: Option<String>,
    }

    /// One step from a version to the next.
    struct MigrationStep {
        /// The write version after it.
        to: u64,
        /// `additive` or `rewriting`.
        kind: String,
        /// What it is for.
        about: String,
    }

    /// What is not captured.
    struct Exclusions {
        /// Paths and patterns, in the order in which they were given.
        excluded: Vec<String>,
        /// Pauses.
        pauses: Vec<Pause>,
    }

    /// A pause of capture.
    struct Pause {
        /// Only sessions that work at or below this directory; absent: all.
        project: Option<String>,
        /// When it ends by itself; absent: when somebody ends it.
        until: Option<String>,
    }

    /// Where things are, and what is not yet imported.
    struct Status {
        /// The version of this program.
        version: String,
        /// The data directory.
        home: String,
        /// The store's folder.
        store: String,
        /// The configuration file, whether it exists or not.
        config: Option<String>,
        /// This machine's id.
        machine: String,
        /// Its readable name.
        machine_label: String,
        /// The redaction rules in force.
        rules: String,
        /// How much there is; absent where nothing was ever stored.
        usage: Option<Du>,
        /// Clients' homes that were found.
        homes: Vec<Home>,
        /// Transcripts that are new or changed since they were last read.
        pending: Vec<Pending>,
        /// Transcripts that are excluded, or held back by a pause.
        held_back: u64,
        /// Why nothing at all is captured; absent where something is.
        paused: Option<String>,
        /// How full the store is, where its bound is near; absent else.
        quota: Option<String>,
        /// The last trouble of a hook or of `run`; absent where there was none, or the same went well since.
        hook_trouble: Option<String>,
        /// When that was.
        hook_trouble_at: Option<String>,
        /// The hooks of each client that has some of ours, or had.
        hooks: Vec<Hooks>,
        /// Transcripts that hooks left for the next command, and could not be read since.
        left_by_hooks: u64,
        /// Records of commands under `run` that could not be captured, and are kept.
        set_aside: Vec<String>,
        /// Rules for secrets of projects that do not count, and why.
        untrusted_rules: Vec<UntrustedRules>,
    }

    /// Rules for secrets that a project has and that do not count.
    struct UntrustedRules {
        /// The file.
        path: String,
        /// Why they do not count.
        reason: String,
    }

    /// The hooks of a client.
    struct Hooks {
        /// The client.
        runtime: String,
        /// The file that calls us.
        path: String,
        /// `current`, `changed` (not as `install` writes them now), `broken` (the program is gone), `none` (they were there
        /// once) or `unreadable`.
        state: String,
        /// The program that they call.
        program: Option<String>,
        /// Why the file cannot be read.
        reason: Option<String>,
        /// When they were heard last; absent: never.
        heard_at: Option<String>,
        /// When the client wrote a transcript last.
        used_at: Option<String>,
        /// Whether the client was used, for longer than a turn takes, and nothing was heard.
        unheard: bool,
        /// What went wrong last; absent where the same went well since.
        trouble: Option<String>,
        /// When that was.
        trouble_at: Option<String>,
    }

    /// What `doctor` found.
    struct Diagnoses {
        /// Whether clients would take all of them with nothing lost.
        ok: bool,
        /// The transcripts, as they were named.
        transcripts: Vec<Diagnosis>,
    }

    /// What a client's loader would make of a transcript.
    struct Diagnosis {
        /// The file.
        path: String,
        /// Its format.
        format: String,
        /// The version of the client that wrote it, where it says so.
        version: Option<String>,
        /// Whether the client would take it with nothing lost.
        ok: bool,
        /// Its lines.
        lines: u64,
        /// Its bytes.
        bytes: u64,
        /// Messages of `messages_present` that the client would send to the model.
        messages_sent: u64,
        /// Messages of the conversation since its last compaction.
        messages_present: u64,
        /// What the loader would stumble over, in the order of the lines.
        findings: Vec<Finding>,
    }

    /// One thing that a loader would stumble over.
    struct Finding {
        /// `info`, `warning` (something is lost or made up) or `fatal` (refused, or history is lost in silence).
        severity: String,
        /// Stable name of the check.
        check: String,
        /// Line of the transcript (1 = first); absent where it is about none.
        line: Option<u64>,
        /// One sentence.
        message: String,
    }

    /// A transcript that was repaired.
    struct Mended {
        /// The transcript, which stays as it is.
        path: String,
        /// The repaired copy; absent where nothing had to be changed and none was asked for.
        out: Option<String>,
        /// Its format.
        format: String,
        /// The version of the client that wrote it, where it says so.
        version: Option<String>,
        /// What was changed, in the order of the lines; empty where nothing had to be.
        changes: Vec<MendedLine>,
        /// Messages of `messages_present` that the client would send to the model now.
        messages_sent: u64,
        /// Messages of the conversation since its last compaction.
        messages_present: u64,
        /// What the loader would still stumble over; nothing of it is fatal.
        findings: Vec<Finding>,
    }

    /// One thing that a repair changed.
    struct MendedLine {
        /// Line of the transcript as it was (1 = first); absent for a new line.
        line: Option<u64>,
        /// Stable name of what was done: `torn_tail`, `field`, `parent`, `result`, `order`, `checkpoint`, `compaction`,
        /// `set_aside`, `header`, `envelope`, `number` or `rewind`.
        kind: String,
        /// What was done and why.
        message: String,
    }

    /// What `install` and `uninstall` did to a client's settings.
    struct Installed {
        /// The runtime.
        runtime: String,
        /// The settings file.
        path: String,
        /// Whether it has to change.
        changed: bool,
        /// Whether it was changed.
        written: bool,
        /// The copy of the file as it was; absent where there was none, or nothing changed.
        kept: Option<String>,
    }

    /// A client's home.
    struct Home {
        /// The runtime.
        runtime: String,
        /// Its configuration directory.
        path: String,
        /// Transcripts below it.
        transcripts: u64,
        /// Their bytes.
        bytes: u64,
    }

    /// A transcript that an import would read.
    struct Pending {
        /// The file.
        path: String,
        /// `new` or `changed`.
        state: String,
        /// Its bytes.
        bytes: u64,
        /// Days until its client deletes it; absent where that keeps it.
        days_left: Option<u64>,
    }

    /// The configuration as it is in force.
    struct Configuration {
        /// All keys.
        keys: Vec<ConfigEntry>,
        /// Keys of the file that mean nothing.
        unknown: Vec<String>,
        /// Kinds of agents for `start`.
        templates: Vec<ConfiguredTemplate>,
    }

    /// A kind of agent.
    struct ConfiguredTemplate {
        /// Its name.
        name: String,
        /// The runtime; absent where the template cannot be read.
        runtime: Option<String>,
        /// What is wrong with it.
        error: Option<String>,
    }

    /// One key of the configuration.
    struct ConfigEntry {
        /// Its dotted name.
        key: String,
        /// Its value; absent where there is none.
        value: Option<String>,
        /// Where that comes from.
        origin: Option<String>,
        /// What it does.
        about: String,
        /// Every value that was given, the one in force first.
        values: Vec<ConfigValue>,
    }

    /// A value of a key.
    struct ConfigValue {
        /// The value.
        value: String,
        /// Where it comes from: `default`, a file, `$VARIABLE` or a flag.
        origin: String,
    }

    /// Where the configuration file is.
    struct ConfigPath {
        /// Its path, whether it exists or not.
        path: String,
    }
}
