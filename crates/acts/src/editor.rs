//! SWE-agent's editor, which works on the one file that it has open: its commands are lines of old, and its answers name the file.

use crate::act::{Act, FileAct, FileChange, Replaced};
use crate::fields::path;

/// How the last line of an edit reads.
const END: &str = "end_of_edit";
/// How an answer begins that refused an edit.
pub(crate) const REFUSED: &str = "Your proposed edit has introduced new syntax error";

/// Reads a line that the editor takes and no shell does.
pub(crate) fn act(line: &str) -> Option<Act> {
    let (first, rest) = line.split_once('\n').unwrap_or((line, ""));
    let (command, argument) = first.trim_end().split_once(' ')?;
    let file = |change| Some(Act::File(FileAct::sure(path(argument.split(' ').next()?)?, change)));
    match command {
        "edit" if is_range(argument) => {
            let new = rest.trim_end().strip_suffix(END)?.to_owned();
            let parts = vec![Replaced { new, ..Replaced::default() }];
            Some(Act::OpenFile(FileChange::Edit { parts }))
        }
        "open" if rest.is_empty() => file(FileChange::Read),
        "create" if rest.is_empty() => file(FileChange::Write { text: None }),
        _ => None,
    }
}

/// `12:34`
fn is_range(text: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(from, to)| is_number(from) && is_number(to))
}

/// Returns the file that an answer of the editor shows: `[File: PATH (12 lines total)]`.
pub fn opened_file(answer: &str) -> Option<String> {
    let (_, shown) = answer.split_once("[File: ")?;
    path(shown.split_once(" (")?.0)
}
