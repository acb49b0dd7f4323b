//! The files that a transcript's history begins in, where its client forks by pointing: found as the client finds them, and
//! read up to where the transcript goes on. What is in their lines is the validator's to judge.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use stemmata_model::to_u64;

use stemmata_runtimes::adapter::{Adapter, Base, Validator};
use stemmata_runtimes::clients::{Forks, HistoryBase, of_format};

use crate::capture::source::{is_transcript_name, plain_name};
use crate::capture::transcript_file::Transcript;
use crate::error::Result;

/// Forks of forks that are followed at most: far more than anybody makes.
const BASES_MAX: usize = 64;

/// Folders deep that a client's transcripts lie at most: year, month and day.
const DEPTH_MAX: usize = 4;

/// Names that are looked at for one file at most.
const NAMES_MAX: usize = 500_000;

/// The part of another transcript that stands before one.
struct Part {
    path: PathBuf,
    base: HistoryBase,
}

/// The files in which the history of a transcript begins, oldest first.
pub(crate) struct History {
    forks: &'static Forks,
    parts: Vec<Part>,
    /// Why the client would not find one of them.
    missing: Option<String>,
}

impl History {
    /// Finds the files that the history of a transcript begins in; `None` where it begins in its own. `place` is where the client
    /// looks for the transcript.
    ///
    /// # Errors
    /// As [`Transcript::open_whole`].
    pub(crate) fn of(adapter: &dyn Adapter, opened: &Transcript, place: &Path) -> Result<Option<Self>> {
        let Some(forks) = of_format(&adapter.format()).and_then(|client| client.forks) else {
            return Ok(None);
        };
        let Some(first) = base_of(opened, forks)? else { return Ok(None) };
        let mut history = Self { forks, parts: Vec::new(), missing: None };
        let mut threads = HashSet::new();
        let mut next = Some(first);
        while let Some(base) = next.take() {
            if history.parts.len() >= BASES_MAX || !threads.insert(base.thread.clone()) {
                history.missing = Some(format!(
                    "the history begins in session {}, which leads back to itself",
                    base.thread
                ));
                break;
            }
            let Some(path) = transcript_of(adapter, place, &base.thread) else {
                history.missing = Some(format!(
                    "the history begins in session {}, whose transcript is not there: the loader refuses the file",
                    base.thread
                ));
                break;
            };
            next = base_of(&Transcript::open_whole(&path)?, forks)?;
            history.parts.push(Part { path, base });
        }
        history.parts.reverse();
        Ok(Some(history))
    }

    /// Gives their lines to a validator, and what the client would make of them.
    ///
    /// # Errors
    /// As [`Transcript::open_whole`], `LineTooLong`.
    pub(crate) fn read_into(&self, validator: &mut dyn Validator) -> Result<()> {
        let mut unusable = self.missing.clone();
        for part in &self.parts {
            if unusable.is_none() {
                unusable = part.read_into(self.forks, validator)?;
            }
        }
        validator.base(unusable.map_or(Base::There, Base::Unusable));
        Ok(())
    }
}

impl Part {
    /// Gives its lines to a validator; returns why the client would not have the history that the fork was made of.
    fn read_into(&self, forks: &Forks, validator: &mut dyn Validator) -> Result<Option<String>> {
        let opened = Transcript::open_whole(&self.path)?;
        let HistoryBase { thread, end_ordinal, end_offset } = &self.base;
        let length = opened.stamp().length;
        if length < *end_offset {
            return Ok(Some(format!(
                "the history continues at byte {end_offset} of session {thread}, whose transcript has only {length}: the \
                 loader refuses the file"
            )));
        }
        let mut lines = opened.lines(0, 1)?;
        let (mut at, mut last) = (0, None);
        while let Some(line) = lines.next()? {
            let next = at + to_u64(line.bytes.len());
            if next > *end_offset {
                break;
            }
            validator.base_line(line.bytes);
            last = (forks.before)(line.bytes, u64::MAX).last;
            at = next;
        }
        if at == *end_offset && last.and_then(|last| last.checked_add(1)) == Some(*end_ordinal) {
            return Ok(None);
        }
        Ok(Some(format!(
            "the history continues at byte {end_offset} of session {thread}, where line {} no longer ends: that transcript \
             was rewritten, and the loader would take another history",
            end_ordinal.saturating_sub(1)
        )))
    }
}

/// Returns where the history of a transcript begins, if its header says that this is in another file.
fn base_of(opened: &Transcript, forks: &Forks) -> Result<Option<HistoryBase>> {
    let mut lines = opened.lines(0, 1)?;
    while let Some(line) = lines.next()? {
        if !line.bytes.trim_ascii().is_empty() {
            return Ok((forks.base)(line.bytes));
        }
    }
    Ok(None)
}

/// Finds the transcript of a thread where the client of another one would: in the same home, else in the same folder.
fn transcript_of(adapter: &dyn Adapter, place: &Path, thread: &str) -> Option<PathBuf> {
    let folders =
        of_format(&adapter.format()).and_then(|client| client.home).map_or(&[][..], |home| home.transcripts);
    let is_folder = |folder: &&Path| {
        folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| folders.contains(&name))
    };
    let home = place.ancestors().skip(1).find(is_folder).and_then(Path::parent);
    let (roots, depth): (Vec<PathBuf>, usize) = match home {
        Some(home) => (folders.iter().map(|folder| home.join(folder)).collect(), DEPTH_MAX),
        None => (place.parent().map(Path::to_owned).into_iter().collect(), 1),
    };
    let mut search = Search { adapter, thread, depth, names: 0, packed: None };
    roots.iter().find_map(|root| search.below(root, 1)).or(search.packed)
}

struct Search<'a> {
    adapter: &'a dyn Adapter,
    thread: &'a str,
    depth: usize,
    names: usize,
    /// A compressed one counts where no plain one is.
    packed: Option<PathBuf>,
}

impl Search<'_> {
    fn below(&mut self, folder: &Path, depth: usize) -> Option<PathBuf> {
        let mut entries: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().collect();
        // The newest days last, so that the same file is found every time.
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            self.names += 1;
            if self.names > NAMES_MAX {
                return None;
            }
            let path = entry.path();
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < self.depth {
                if let Some(found) = self.below(&path, depth + 1) {
                    return Some(found);
                }
            } else if !is_folder && is_transcript_name(&path) && self.is_meant(&path) {
                if plain_name(&path) == path {
                    return Some(path);
                }
                self.packed.get_or_insert(path);
            }
        }
        None
    }

    fn is_meant(&self, path: &Path) -> bool {
        let stem = plain_name(path).file_stem().and_then(|stem| stem.to_str());
        stem.and_then(|stem| self.adapter.session_of_name(stem)) == Some(self.thread)
    }
}
