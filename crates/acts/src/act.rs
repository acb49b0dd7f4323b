//! What a tool call does, in one vocabulary for all runtimes.
//!
//! How it is read from names and arguments is decided elsewhere.

use std::collections::HashMap;

/// Folders whose files nobody means to keep, unless somebody works in one.
const SCRATCH: &[&str] = &["/dev/", "/tmp/", "/var/folders/", "/proc/"];

/// One thing that a tool call does. A call may do several: a patch changes several files, code makes several calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Reads or changes a file.
    File(FileAct),
    /// Changes the file that the editor has open. The answer names it: [`crate::opened_file`].
    OpenFile(FileChange),
    /// Runs a command line.
    Command(CommandAct),
    /// Goes on with what an earlier call began and did not end: waits for it, or types into it.
    Follow {
        /// How the earlier call's answer named it.
        handle: Option<String>,
    },
    /// Looks for files, text or pages.
    Search,
    /// Fetches a page.
    Fetch,
    /// Writes, adds, changes or lists tasks.
    Tasks(TaskAct),
    /// Asks a person, also whether a plan may be carried out.
    Ask,
    /// Starts another agent.
    Subagent,
    /// Thinks aloud.
    Think,
    /// Does something of the client's own: skills, modes, lists of tools. That it fails says nothing of the project.
    Client,
    /// A tool that nobody knows, and whose arguments say nothing.
    Unknown,
}

/// What a call does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAct {
    /// As the call names it: absolute, or below the directory that the agent works in.
    pub path: String,
    /// What `path` stands for.
    pub reach: Reach,
    /// What is done.
    pub change: FileChange,
    /// How sure that is.
    pub certainty: Certainty,
}

/// What a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// One file.
    File,
    /// A folder with all below it.
    Folder,
    /// All files that a pattern fits.
    Pattern,
}

/// What is done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// It is looked at.
    Read,
    /// All of it is written.
    Write {
        /// None where a command writes what nobody can say.
        text: Option<String>,
    },
    /// Some of it is changed.
    Edit {
        /// Empty where a command does it.
        parts: Vec<Replaced>,
    },
    /// It is removed.
    Delete,
    /// It is moved away.
    Move {
        /// Where to.
        to: String,
    },
}

/// One text in place of another: lines that are in both stayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replaced {
    /// Empty where text is inserted, and of patches, whose new lines are new as they stand.
    pub old: String,
    /// What is there now.
    pub new: String,
    /// Lines that a patch takes away, which `old` does not hold.
    pub dropped_lines: usize,
}

/// How sure it is that a file was touched so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// A command may have: in a condition or a loop, by a pattern, or in a line that failed later.
    Possible,
    /// A command names the file and its line went well; or nobody knows how the call ended.
    Likely,
    /// The tool does just this and says that it did.
    Sure,
}

impl Act {
    /// Whether it is a tool's change of a file.
    pub(crate) fn changes_a_file(&self) -> bool {
        match self {
            Self::File(file) => file.is_change(),
            Self::OpenFile(_) => true,
            _ => false,
        }
    }
}

impl FileAct {
    /// A file that a tool touches by its name.
    pub fn sure(path: String, change: FileChange) -> Self {
        Self { path, reach: Reach::File, change, certainty: Certainty::Sure }
    }

    /// Whether it is more than a look.
    pub fn is_change(&self) -> bool {
        self.change != FileChange::Read
    }

    /// Returns where the file is afterwards.
    pub fn path_after(&self) -> &str {
        match &self.change {
            FileChange::Move { to } => to,
            _ => &self.path,
        }
    }

    /// Returns the lines that it put there and that were not there before, as far as the call says, in their order.
    pub fn added_lines(&self) -> Vec<&str> {
        match &self.change {
            FileChange::Write { text: Some(text) } => text.lines().collect(),
            FileChange::Edit { parts } => parts.iter().flat_map(Replaced::added_lines).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns how many lines it took away, as far as the call says.
    pub fn removed_lines(&self) -> usize {
        match &self.change {
            FileChange::Edit { parts } => parts.iter().map(Replaced::removed_lines).sum(),
            FileChange::Read | FileChange::Write { .. } | FileChange::Delete | FileChange::Move { .. } => 0,
        }
    }

    /// Whether the file is one that nobody means to keep. What lies below one of the folders that the agent worked in is none:
    /// containers and CI have whole projects below the temporary folder.
    pub fn is_scratch<'f>(&self, worked_in: impl IntoIterator<Item = &'f str>) -> bool {
        let path = real(&self.path);
        let Some(scratch) = SCRATCH.iter().find(|scratch| path.starts_with(**scratch)) else { return false };
        !worked_in.into_iter().map(real).any(|folder| {
            let folder = folder.trim_end_matches('/');
            // An agent that works in `/` works in every scratch folder, and in none.
            let is_scratch = folder.starts_with(scratch) || folder == scratch.trim_end_matches('/');
            is_scratch && path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// Returns a path as it is without the link that macOS has at `/tmp` and `/var`: one path is written both ways.
fn real(path: &str) -> &str {
    path.strip_prefix("/private").filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

impl Replaced {
    fn added_lines(&self) -> Vec<&str> {
        let mut left: HashMap<&str, usize> = HashMap::new();
        for line in self.old.lines() {
            *left.entry(line).or_default() += 1;
        }
        let mut added = Vec::new();
        for line in self.new.lines() {
            match left.get_mut(line) {
                Some(count) if *count > 0 => *count -= 1,
                _ => added.push(line),
            }
        }
        added
    }

    fn removed_lines(&self) -> usize {
        let stayed = self.new.lines().count() - self.added_lines().len();
        self.old.lines().count() - stayed + self.dropped_lines
    }
}

/// A command line that a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandAct {
    /// As the shell gets it.
    pub line: String,
    /// Where it runs, where the call says so.
    pub folder: Option<String>,
}

impl CommandAct {
    /// Returns what the line does to files by name, placed below the folder.
    pub fn files(&self) -> Vec<FileAct> {
        crate::files::files(&self.line, self.folder.as_deref())
    }
}

/// What a call does to tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskAct {
    /// Writes the whole list anew.
    Write {
        /// The list.
        tasks: Vec<Task>,
    },
    /// Adds one; its id comes with the answer.
    Add {
        /// What is to be done.
        text: String,
    },
    /// Changes one.
    Change {
        /// How the tracker calls it.
        id: String,
        /// How far it is now, where that is said.
        status: Option<TaskStatus>,
        /// What is to be done now, where that is said.
        text: Option<String>,
    },
    /// Asks how all of them stand.
    List,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// How its tracker calls it.
    pub id: Option<String>,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: TaskStatus,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// Not begun.
    Open,
    /// Being worked on.
    Active,
    /// Done.
    Done,
    /// Given up.
    Dropped,
}

impl TaskStatus {
    /// Reads a status, by whatever name.
    pub fn read(name: &str) -> Self {
        match name.to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "completed" | "complete" | "done" | "closed" => Self::Done,
            "in_progress" | "active" | "inprogress" => Self::Active,
            "cancelled" | "canceled" | "deleted" | "dropped" => Self::Dropped,
            _ => Self::Open,
        }
    }

    /// Returns the name that most runtimes have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "pending",
            Self::Active => "in_progress",
            Self::Done => "completed",
            Self::Dropped => "cancelled",
        }
    }

    /// Whether something of it is left to do.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Active)
    }
}
