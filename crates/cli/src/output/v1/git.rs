//! Wire types of the commands around git.
//!
//! How they are filled is in the commands.

use super::wire;

wire! {
    /// Where the lines of a file came from.
    struct Blame {
        /// The file.
        path: String,
        /// The lines that were asked for, in their order.
        lines: Vec<BlamedLine>,
    }

    /// Where a line came from.
    struct BlamedLine {
        /// The line (1 = first).
        line: u64,
        /// Its text.
        text: String,
        /// The commit of git that it is of; absent where it is not committed, or there is no git.
        git_commit: Option<String>,
        /// The first line of that commit's message.
        git_summary: Option<String>,
        /// The context that its trailer names.
        context_id: Option<String>,
        /// The commit that holds the tool call; absent, as all that follows, where no captured session wrote the line.
        ctx: Option<String>,
        /// How it was found: `trailer` (on the chain that git's commit names) or `search`.
        via: Option<String>,
        /// The session.
        session_id: Option<String>,
        /// The entry that made the call.
        entry: Option<String>,
        /// The call.
        call_id: Option<String>,
        /// The tool, as the runtime spells it.
        tool: Option<String>,
        /// When.
        written_at: Option<String>,
        /// What the user had asked for.
        request: Option<String>,
        /// What the agent thought or said before.
        reasoning: Option<String>,
    }

    /// What `git install` and `git uninstall` did to a repository's hook.
    struct GitHook {
        /// The hook.
        path: String,
        /// Whether it has to change.
        changed: bool,
        /// Whether it was changed.
        written: bool,
    }
}
