//! Made-up Claude Code transcripts: whole sessions and single lines, in the shapes of several versions.
//! Not a recording: every word is ours, only field names, their order and the links are the client's.

mod checks;
mod copies;
mod dialect;
mod lines;
mod metadata;
mod secrets;
mod session;
mod system;
mod tools;

#[cfg(test)]
mod tests;

pub use checks::faults;
pub use copies::{CopyKind, copy_of};
pub use dialect::Dialect;
pub use lines::{Api, At, Kept, Lines, ToolResult};
pub use metadata::{
    ai_title, custom_title, file_history_snapshot, last_prompt, mode, pr_link, queue_operation, summary, tag,
};
pub use secrets::{Place, Planted, Secret};
pub use session::{ClaudeSession, SessionLines, SideFile, Transcript};
pub use tools::{ToolCall, Toolbox};
