//! Wire types of the commands that let go of what is stored.
//!
//! How they are filled is in the commands.

use super::wire;

wire! {
    /// What was forgotten, or what would be.
    struct Forget {
        /// Whether nothing was changed.
        dry_run: bool,
        /// Ids of the sessions that are gone.
        sessions: Vec<String>,
        /// Commits that are gone.
        removed: Vec<String>,
        /// Commits that are holes now: their contents are gone, what follows them stays.
        cut: Vec<String>,
        /// Commits that are holes because they hold the same content as one that was to be cut.
        cut_too: Vec<String>,
        /// Commits that came here as holes, without their contents, and that nothing may fill from now on.
        sealed: Vec<String>,
        /// Commits that stay, and why.
        kept: Vec<Kept>,
        /// What goes on from commits that stay or are holes.
        branches: Vec<ForgetBranch>,
        /// Copies that hold the same entries.
        copies: Vec<ForgetCopy>,
        /// Commits of copies and branches that are pinned or tagged, and so were not cut.
        spared: Vec<String>,
        /// Ledgers of the project, of which no event says anything any more.
        ledgers: Vec<String>,
        /// Events that say nothing any more: of the sessions, of the ledgers, and those whose line was in what went.
        events: u64,
        /// Contents whose bytes are gone.
        contents: u64,
        /// Bytes of them, uncompressed.
        bytes: u64,
        /// What is left to do on disk; the next command does it.
        unfinished: Option<String>,
    }

    /// A commit that stays.
    struct Kept {
        /// The commit.
        id: String,
        /// Why: `child`, `pin`, `tag`, `ticket` or `session`.
        because: String,
    }

    /// Something that goes on from a commit.
    struct ForgetBranch {
        /// The commit that it goes on from.
        from: String,
        /// Its first commit; absent where a session ends there.
        first: Option<String>,
        /// The session that it belongs to.
        session_id: Option<String>,
        /// That session's title.
        title: Option<String>,
    }

    /// Commits that hold the same entries.
    struct ForgetCopy {
        /// The root of their tree.
        root: String,
        /// The commits.
        commits: Vec<String>,
        /// The session that they belong to.
        session_id: Option<String>,
        /// That session's title.
        title: Option<String>,
    }

    /// How much of a forgetting was taken back.
    struct Unforgotten {
        /// Commits, sessions and transcripts that may be imported again.
        lifted: u64,
    }

    /// What was collected, or what would be.
    struct Gc {
        /// Whether nothing was changed.
        dry_run: bool,
        /// Days that something stays condemned.
        grace_days: u64,
        /// Sessions that retention lets go.
        retired: Vec<RetiredSession>,
        /// Early looks at open turns that retention lets go.
        provisional: u64,
        /// What this run condemned.
        condemned: CollectedAmount,
        /// What was condemned before, and waits for the end of its grace.
        waiting: CollectedAmount,
        /// What was deleted.
        deleted: CollectedAmount,
        /// How much was condemned and is needed again.
        revived: u64,
        /// Commits that retention let go and that stay, and why.
        kept: Vec<Kept>,
        /// Contents that were packed.
        packed_contents: u64,
        /// Bytes that the store's files became smaller by.
        bytes_freed: u64,
    }

    /// A session that retention lets go.
    struct RetiredSession {
        /// Its id.
        session_id: String,
        /// Its title.
        title: Option<String>,
        /// Why.
        because: String,
    }

    /// How many things, and how many bytes.
    struct CollectedAmount {
        /// Commits.
        commits: u64,
        /// Contents.
        contents: u64,
        /// Bytes of the contents, uncompressed.
        bytes: u64,
    }
}
