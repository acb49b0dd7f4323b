//! What was done to files, as calls show it and as sentences say it: «deleted src/a.rs», «src/a.rs was moved».

use std::collections::HashMap;

use stemmata_acts::{Certainty, FileAct, FileChange, Reach, ToolUse};

use super::claims::NOT;
use super::outcomes::Shown;

/// What is done to a file, as bits.
const CREATED: u8 = 1;
const DELETED: u8 = 2;
const MOVED: u8 = 4;
const EDITED: u8 = 8;

/// Words of what is done to a file.
const DONE: &[(u8, &[&str])] = &[
    (CREATED, &["created", "added", "new", "erstellt", "angelegt"]),
    (DELETED, &["deleted", "removed", "gone", "dropped", "gelöscht", "entfernt", "weg"]),
    (MOVED, &["moved", "renamed", "verschoben", "umbenannt"]),
];
/// Words between a file and what was done to it.
const BETWEEN: &[&str] = &[
    "was", "is", "got", "has", "been", "were", "are", "now", "also", "then", "newly", "just", "wurde", "ist",
];
/// Words between what was done and a file.
const BEFORE: &[&str] = &["the", "file", "a", "new", "die", "datei"];
/// Folders of a path that a sentence may name.
const FOLDERS_MAX: usize = 16;
/// Words beside a file that are read.
const WORDS_MAX: usize = 4;

/// What was done to files.
#[derive(Default)]
pub(super) struct Files {
    /// By the path, and by each end of it: a sentence may name a file without its folders.
    done: HashMap<String, u8>,
    /// How often each was changed.
    counts: HashMap<String, u64>,
    /// Below these folders everything may have been done, as commands say it of a folder or a pattern.
    wide: Vec<(String, u8)>,
}

impl Files {
    pub(super) fn read(&mut self, uses: &[ToolUse<'_>], root: &str) {
        for file in uses.iter().flat_map(ToolUse::files).filter(FileAct::is_change) {
            let own = |path: &str| own(path, root).to_owned();
            let (done, to) = match &file.change {
                FileChange::Read => continue,
                FileChange::Write { .. } => (CREATED | EDITED, None),
                FileChange::Edit { .. } => (EDITED, None),
                FileChange::Delete => (DELETED, None),
                FileChange::Move { to } => (MOVED | DELETED, Some(own(to))),
            };
            if file.reach != Reach::File || file.certainty == Certainty::Possible {
                let folder = file.path.split(['*', '?', '[', '{']).next().unwrap_or_default();
                self.wide.push((own(folder), done));
                continue;
            }
            for (path, done) in
                std::iter::once((own(&file.path), done)).chain(to.map(|to| (to, CREATED | MOVED)))
            {
                let ends =
                    path.rmatch_indices('/').take(FOLDERS_MAX).filter_map(|(at, _)| path.get(at + 1..));
                for end in ends.chain([path.as_str()]) {
                    *self.done.entry(end.to_owned()).or_default() |= done;
                }
                *self.counts.entry(path).or_default() += 1;
            }
        }
    }

    /// Returns how often each file was changed.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        self.counts.values().copied()
    }

    /// Says whether what a sentence says of files was done to them. Of a file that no call changed it knows nothing.
    pub(super) fn shown(&self, claim: &str) -> Shown {
        let mut shown = Shown::Held;
        let marks = |char: char| !char.is_alphanumeric();
        let words: Vec<&str> = claim.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let path =
                word.trim_end_matches(marks).trim_start_matches(|char| marks(char) && !"./~".contains(char));
            let Some(known) = self.done.get(path.trim_start_matches("./")) else { continue };
            let said = said(words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default());
            let is_wide =
                |(folder, done): &(String, u8)| path.starts_with(folder.as_str()) && done & said != 0;
            if said != 0 && known & said == 0 && !self.wide.iter().any(is_wide) {
                shown = Shown::Denied;
            }
        }
        shown
    }
}

/// Returns what the words beside a file say was done to it.
fn said(before: &[&str], after: &[&str]) -> u8 {
    let done = |word: &str| DONE.iter().find(|(_, words)| words.contains(&word)).map_or(0, |(done, _)| *done);
    let lower = |word: &&str| word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase();
    let mut ahead =
        before.iter().rev().take(WORDS_MAX).map(lower).skip_while(|word| BEFORE.contains(&word.as_str()));
    let active = ahead.next().map_or(0, |word| done(&word));
    if active != 0 && !ahead.next().is_some_and(|word| NOT.contains(&word.as_str())) {
        return active;
    }
    let mut behind = after.iter().take(WORDS_MAX).map(lower).filter(|word| !word.is_empty()).peekable();
    let mut is_passive = false;
    while behind.next_if(|word| BETWEEN.contains(&word.as_str())).is_some() {
        is_passive = true;
    }
    let done = behind.next().map_or(0, |word| done(&word));
    // «src/a.rs: added a limit» says what was done in it.
    if is_passive || behind.next().is_none() { done } else { 0 }
}

/// Returns a path as the conversation names it.
fn own<'p>(path: &'p str, root: &str) -> &'p str {
    let below = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    below.filter(|_| !root.is_empty()).unwrap_or(path).trim_start_matches("./")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_sentence_says_was_done_to_a_file_stands_beside_it() {
        for (sentence, done) in [
            ("X is gone", DELETED),
            ("X was moved.", MOVED),
            ("X has been created", CREATED),
            ("X was removed", DELETED),
            ("Deleted: X", DELETED),
            ("I deleted the file X and more", DELETED),
            ("X: removed", DELETED),
            ("never deleted X", 0),
            ("X was not deleted", 0),
            ("X: added a limit", 0),
            ("removed the limit from X", 0),
            ("X was mended", 0),
        ] {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            let at = words.iter().position(|word| word.starts_with('X')).expect("the file");
            assert_eq!(said(&words[..at], &words[at + 1..]), done, "{sentence}");
        }
    }
}
