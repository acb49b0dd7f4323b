//! What of a tool call is remembered until its result is there.
//!
//! What a call does is `stemmata_acts`'s to know; here it is cut to what a state may hold.

use stemmata_acts::{Act, Call, Certainty, FileAct, FileChange, Reach, TaskAct, acts, command};

use super::v1::{FileWaiting, How, Waiting};
use super::words::{cut, line as one_line};

/// Acts of one call at most.
const ACTS_MAX: usize = 32;
/// Characters of a path at most; longer ones are no paths that anybody reads.
const PATH_CHARS_MAX: usize = 240;
/// Characters of a tool's name at most.
pub(super) const NAME_CHARS_MAX: usize = 80;
/// Characters of a command's part at most.
const PART_CHARS_MAX: usize = 160;
/// Characters of a command line at most, where all of it is shown.
const LINE_CHARS_MAX: usize = 160;
/// Files of one command at most.
const FILES_MAX: usize = 12;

/// A call, as far as it matters here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// What it does to tasks, which counts at once.
    pub(super) tasks: Vec<TaskAct>,
    /// What counts where it went well, or badly.
    pub(super) waiting: Vec<Waiting>,
    /// The name of what an earlier call began and this one waits for.
    pub(super) follows: Option<String>,
}

/// Reads a call. Looking for something, asking elsewhere and thinking leave nothing behind, whatever comes of them.
pub(super) fn of_call(name: &str, arguments: &str) -> Reading {
    let mut reading = Reading::default();
    for act in acts(Call { name, arguments }).into_iter().take(ACTS_MAX) {
        match act {
            Act::Tasks(tasks) => reading.tasks.push(tasks),
            Act::Follow { handle } => reading.follows = handle.map(|handle| cut(&handle, NAME_CHARS_MAX)),
            Act::File(file) => reading.waiting.extend(touch(file).map(Waiting::Touch)),
            // Its answer names the file.
            Act::OpenFile(change) => {
                reading.waiting.extend(touch(FileAct::sure(String::new(), change)).map(Waiting::Touch));
            }
            Act::Command(command) => {
                let parts = parts(&command.line);
                let line = shown(&command.line, &parts);
                let files = command.files().into_iter().filter_map(touch);
                let files = files.take(FILES_MAX).collect();
                reading.waiting.push(Waiting::Run { parts, line, files });
            }
            Act::Ask => reading.waiting.push(Waiting::Ask),
            Act::Unknown => reading.waiting.push(Waiting::Other { name: cut(name, NAME_CHARS_MAX) }),
            Act::Search | Act::Fetch | Act::Subagent | Act::Think | Act::Client => {}
        }
    }
    reading
}

/// Returns what is done to one file; none where it is not known which, or whether it is done at all.
fn touch(file: FileAct) -> Option<FileWaiting> {
    let is_path = |path: &str| path.chars().nth(PATH_CHARS_MAX).is_none();
    let is_known = file.reach == Reach::File && file.certainty > Certainty::Possible;
    if !is_known || !is_path(&file.path) || !is_path(file.path_after()) {
        return None;
    }
    let is_scratch = file.certainty < Certainty::Sure && file.is_scratch([]);
    let (how, to) = match file.change {
        FileChange::Read => (How::Read, None),
        FileChange::Write { .. } => (How::Created, None),
        FileChange::Edit { .. } => (How::Edited, None),
        FileChange::Delete => (How::Deleted, None),
        FileChange::Move { to } => (How::Moved, Some(to)),
    };
    (!is_scratch).then_some(FileWaiting { path: file.path, how, to })
}

/// Returns the parts of a command line that may prove something, cut.
pub(super) fn parts(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for part in command::parts(line) {
        let part = cut(&part, PART_CHARS_MAX);
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

/// Returns a command line as it was run, for people, where its parts do not say it: of several nobody knows which failed.
pub(super) fn shown(line: &str, parts: &[String]) -> Option<String> {
    let own = one_line(line.lines().next().unwrap_or_default(), LINE_CHARS_MAX);
    let is_long = line.trim().contains('\n') && !own.ends_with('…');
    let own = if is_long { format!("{own} …") } else { own };
    (parts.len() > 1 && !own.is_empty()).then_some(own)
}
