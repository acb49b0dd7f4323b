//! What a tool call does, whatever runtime's it is: one reading for all who ask.
//!
//! Pure: calls and answers in, acts out. Names and fields of tools are data here.
//!
//! ```
//! use stemmata_acts::{Act, Call, acts};
//!
//! let arguments = r#"{"cmd":"sed -i s/a/b/ x.rs && cargo test"}"#;
//! let found = acts(Call { name: "exec_command", arguments });
//! let [Act::Command(command)] = found.as_slice() else { panic!("one command") };
//! assert_eq!(command.files()[0].path, "x.rs");
//! assert_eq!(stemmata_acts::command::parts(&command.line), ["cargo test"]);
//! ```

mod act;
mod code;
pub mod command;
mod editor;
mod fields;
mod files;
mod git;
mod item;
mod line;
mod outcome;
mod patch;
mod read;
mod shell;
mod tasks;
mod tool_use;
pub mod tools;

pub use act::{Act, Certainty, CommandAct, FileAct, FileChange, Reach, Replaced, Task, TaskAct, TaskStatus};
pub use editor::opened_file;
pub use git::{MadeCommit, commits_made};
pub use item::{DoneItem, done_item};
pub use line::{CallLine, below};
pub use outcome::{Judged, Outcome, complains_of_files, error_line, exit_code, judged, outcome};
pub use read::{Answer, Call, acts};
pub use tasks::{TaskBook, id_in, listed_in, settles, task_acts};
pub use tool_use::{ToolUse, tool_uses};
pub use tools::{Runtime, Tool, Verb, counterpart, decides, of_runtime, task_tools, verb};
