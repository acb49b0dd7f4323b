//! How a client continues one of its sessions.

use stemmata_model::SessionId;

/// A client's own way to continue a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resume {
    /// Its program and the words ahead of the session's id.
    pub command: &'static [&'static str],
    /// Its program and the words ahead of a file, where it has to take that in first.
    pub import: Option<&'static [&'static str]>,
    /// Whether it looks for a file of the session's name; else it reads ids from the files.
    pub finds_by_name: bool,
    /// Whether it may delete a session that it resumes: resuming makes another file whose name begins alike.
    pub may_delete: bool,
}

impl Resume {
    /// Returns the words that continue a session.
    pub fn words(&self, session: &SessionId) -> Vec<String> {
        self.command.iter().copied().chain([session.as_str()]).map(str::to_owned).collect()
    }

    /// Returns the words that take a file in, where that is needed; the file comes after them.
    pub fn import_words(&self) -> Option<Vec<String>> {
        Some(self.import?.iter().copied().map(str::to_owned).collect())
    }
}
