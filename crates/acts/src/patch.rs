//! Patches as `apply_patch` takes them.

use crate::act::{FileAct, FileChange, Replaced};
use crate::fields::path;
use crate::read::ACTS_MAX;

/// How such a patch begins.
pub(crate) const BEGIN: &str = "*** Begin Patch";

/// Returns what a patch does to files. Text around the patch is read over.
pub(crate) fn files(text: &str) -> Vec<FileAct> {
    let mut found: Vec<FileAct> = Vec::new();
    let Some((_, patch)) = text.split_once(BEGIN) else { return found };
    // Lines behind a name that is none belong to no file.
    let mut is_within = false;
    for line in patch.lines() {
        if line.starts_with("*** End Patch") || found.len() >= ACTS_MAX {
            break;
        }
        let of =
            |begin: &str, change: FileChange| Some(FileAct::sure(path(line.strip_prefix(begin)?)?, change));
        let file = of("*** Add File: ", FileChange::Write { text: Some(String::new()) })
            .or_else(|| of("*** Update File: ", FileChange::Edit { parts: Vec::new() }))
            .or_else(|| of("*** Delete File: ", FileChange::Delete));
        if let Some(file) = file {
            found.push(file);
            is_within = true;
        } else if let Some(to) = line.strip_prefix("*** Move to: ").and_then(path) {
            if let Some(last) = found.last_mut().filter(|_| is_within) {
                last.change = FileChange::Move { to: to.clone() };
                found.push(FileAct::sure(to, FileChange::Edit { parts: Vec::new() }));
            }
        } else if line.starts_with("*** ") {
            is_within &= line.starts_with("*** End of File");
        } else if let (Some(added), Some(last)) = (line.strip_prefix('+'), found.last_mut())
            && is_within
        {
            add(&mut last.change, added);
        } else if let (true, Some(last)) = (is_within && line.starts_with('-'), found.last_mut()) {
            drop_line(&mut last.change);
        }
    }
    // What is only moved is not changed.
    let mut moved_to: Option<String> = None;
    found.retain(|file| {
        let is_there = moved_to.take().as_ref() == Some(&file.path);
        if let FileChange::Move { to } = &file.change {
            moved_to = Some(to.clone());
        }
        !(is_there && file.added_lines().is_empty() && file.removed_lines() == 0)
    });
    found
}

fn add(change: &mut FileChange, line: &str) {
    let text = match change {
        FileChange::Write { text: Some(text) } => text,
        FileChange::Edit { parts } => &mut only_part(parts).new,
        _ => return,
    };
    text.push_str(line);
    text.push('\n');
}

fn drop_line(change: &mut FileChange) {
    if let FileChange::Edit { parts } = change {
        only_part(parts).dropped_lines += 1;
    }
}

/// Returns the one part that stands for all hunks of a file.
fn only_part(parts: &mut Vec<Replaced>) -> &mut Replaced {
    if parts.is_empty() {
        parts.push(Replaced::default());
    }
    parts.last_mut().expect("a part was added where there was none")
}
