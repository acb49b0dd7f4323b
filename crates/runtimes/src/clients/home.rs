//! Where a client keeps its sessions.
//! Not the search for them on this machine, which is the engine's.

use std::path::PathBuf;

/// Where a client's sessions are on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Home {
    /// The variable that moves its configuration directory.
    pub variable: &'static str,
    /// Where its configuration directory is below what the variable names; empty where it is that itself.
    pub below_variable: &'static str,
    /// Its configuration directory below the user's home.
    pub below_home: &'static str,
    /// Folders below its configuration directory that hold transcripts, or a database. New sessions are placed in the first.
    pub transcripts: &'static [&'static str],
    /// The database that is one of these; `None` where sessions are files.
    pub database: Option<&'static Database>,
    /// The variables to document, its hooks' among them.
    pub variables: &'static [Variable],
}

/// A variable of the environment that Stemmata reads because a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
}

/// A database that sessions are rows of, and the folders of records that its older versions kept them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Database {
    /// The name of its file in the configuration directory.
    pub file: &'static str,
    /// The variable that names another file: a path, or a name in that directory.
    pub variable: &'static str,
    /// How a session's id begins.
    pub session_prefix: &'static str,
    /// The folder of records.
    pub records: &'static str,
    /// What it is called in messages.
    pub shown: &'static str,
    /// What a session in it is called in messages.
    pub session_shown: &'static str,
    /// The versions that write it as we read it.
    pub versions: &'static str,
    /// The command that gives a session of any version as a file.
    pub export: &'static str,
}

/// The type that is written for a record of a database, or of its older folders, that is no JSON object there.
pub const UNREADABLE: &str = "unreadable";

/// A folder that is a session, in which each event is a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventFolder {
    /// The format of the events, put together as lines.
    pub format: &'static str,
    /// What stands before the number in the name of an event's file.
    pub prefix: &'static str,
    /// How the folder is called in which the number stands alone: any folder may hold such files.
    pub plain: &'static str,
}

impl EventFolder {
    /// Returns the number of an event, from the names of the file and the folder that it is in.
    pub fn number_of(&self, folder: &str, file: &str) -> Option<u64> {
        let name = file.strip_suffix(".json")?;
        match name.strip_prefix(self.prefix) {
            Some(rest) => rest.split('-').next()?.parse().ok(),
            None if folder == self.plain => name.parse().ok(),
            None => None,
        }
    }
}

impl Home {
    /// Returns the configuration directory that a value of [`variable`](Self::variable) means.
    pub fn moved_to(&self, value: PathBuf) -> PathBuf {
        // Joining nothing would leave a separator behind.
        if self.below_variable.is_empty() { value } else { value.join(self.below_variable) }
    }
}
