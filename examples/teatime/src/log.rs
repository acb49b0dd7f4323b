//! The log of brews: one line of JSON for each cup, appended and never rewritten.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use crate::tea::Tea;

/// A log that lies in a file.
pub struct BrewLog {
    path: PathBuf,
}

/// A cup that was brewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brew {
    /// When it was done, in seconds since 1970, UTC.
    pub done_at: i64,
    /// The tea's name.
    pub tea: String,
    /// How long it steeped, in seconds.
    pub steeped_s: u64,
}

impl BrewLog {
    /// Opens the log at a path; the file is made with the first brew.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Appends a brew as one line, in one write.
    pub fn append(&self, tea: &Tea, done_at: i64) -> std::io::Result<()> {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        let line = format!(
            "{{\"done_at\":{done_at},\"tea\":{:?},\"steeped_s\":{}}}\n",
            tea.name(),
            tea.steeping().as_secs()
        );
        file.write_all(line.as_bytes())
    }

    /// Returns the last brews, the newest first, and how many lines could not be read.
    pub fn last(&self, count: usize) -> std::io::Result<(Vec<Brew>, usize)> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
            Err(error) => return Err(error),
        };
        let (mut brews, mut unreadable) = (Vec::new(), 0);
        for line in BufReader::new(file).lines() {
            match line?.parse() {
                Ok(brew) => brews.push(brew),
                Err(()) => unreadable += 1,
            }
        }
        brews.reverse();
        brews.truncate(count);
        Ok((brews, unreadable))
    }
}
