//! Wire types of sessions and trees.
//!
//! How they are filled is in `output::session` and the commands.

#![expect(clippy::struct_field_names, reason = "the names are the contract's")]

use super::{Commit, Link, wire};

wire! {
    /// A session: one transcript on one machine, or what a program checkpointed under one name.
    struct Session {
        /// The runtime's own id.
        session_id: String,
        /// The transcript's path, or `api:<session>` for one without a file.
        path: String,
        /// The machine's id.
        machine: String,
        /// For a subagent: the session that it belongs to.
        parent_session: Option<String>,
        /// How its transcript is encoded.
        format: String,
        /// What kind of agent it was.
        template: String,
        /// Who ran it.
        principal: String,
        /// How often closed commits are made: `turn`, `message` or `every:N`.
        granularity: String,
        /// `imported`, `placed` (by `resume` or `fork`) or `api`.
        origin: String,
        /// For a placed one: the commit that it was placed from.
        placed_from: Option<String>,
        /// Its first prompt, or the name that the client gave it.
        title: Option<String>,
        /// The working directory.
        cwd: Option<String>,
        /// The git branch.
        git_branch: Option<String>,
        /// The version of the runtime that wrote it last.
        version: Option<String>,
        /// The earliest record, RFC 3339 in UTC.
        started_at: Option<String>,
        /// The latest record.
        last_at: Option<String>,
        /// The newest commit.
        tip: Option<String>,
        /// Commits of the chain from the root to the tip.
        commits: u64,
        /// Messages in the chain.
        messages: u64,
        /// Bytes of the chain.
        bytes: u64,
    }

    /// Sessions, the one with the latest activity first.
    struct SessionList {
        /// The sessions.
        sessions: Vec<ListedSession>,
    }

    /// A session and what it is a copy of.
    struct ListedSession {
        /// The session.
        session: Session => flat,
        /// Where a client copied it from another one: the commit that it was copied from.
        copy_of: Option<String>,
    }

    /// A session with its newest commit.
    struct SessionRow {
        /// The session.
        session: Session => flat,
        /// The newest commit.
        tip_commit: Option<Commit>,
        /// Compactions in its chain.
        compactions: u64,
        /// Subagents' sessions that belong to it.
        subagents: u64,
        /// Where a client copied it from another session: the commit that it was copied from.
        copy_of: Option<String>,
    }

    /// Sessions with their newest commits, the one with the latest activity first.
    struct SessionLog {
        /// The sessions.
        sessions: Vec<SessionRow>,
    }

    /// A commit within a tree.
    struct TreeNode {
        /// The commit.
        commit: Commit => flat,
        /// Its children, in the order in which they were stored.
        children: Vec<String>,
        /// Links from and to it.
        links: Vec<Link>,
    }

    /// A whole tree, parents before children; the first node is the root.
    struct Tree {
        /// The commits.
        nodes: Vec<TreeNode>,
        /// Whether there is more than is shown.
        is_cut: bool,
    }
}
