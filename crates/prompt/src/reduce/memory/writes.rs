//! Files that shell commands write, move and remove by name.
//!
//! Few and sure: a command with a variable, a pattern or a condition says nothing here.

use stemmata_acts::command::PARTS_MAX;
use stemmata_acts::shell::{self, Command};

use super::v1::{How, ShellFile};

/// Words that commands depend on.
const CONDITIONS: &[&str] = &[
    "if", "then", "else", "elif", "for", "while", "until", "case", "do", "function", "test", "[", "[[", "!",
];

/// Returns what a command line does to files.
pub(super) fn of(line: &str) -> Vec<ShellFile> {
    // What a command puts into another's words is not known.
    let known = line.split("$(").next().unwrap_or_default().split('`').next().unwrap_or_default();
    let mut found = Vec::new();
    let mut folder = String::new();
    for command in shell::commands(known) {
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let first = words.first().copied().unwrap_or_default();
        if CONDITIONS.contains(&first) || first.starts_with(['(', '{']) {
            break;
        }
        if command.is_else {
            continue;
        }
        if let ["cd", rest @ ..] = words.as_slice() {
            match rest {
                [to] if is_plain(to) => folder = placed(&folder, to) + "/",
                // Nobody knows where it goes on.
                _ => break,
            }
            continue;
        }
        found.extend(of_command(&command, &words).into_iter().map(|file| ShellFile {
            path: placed(&folder, &file.path),
            to: file.to.map(|to| placed(&folder, &to)),
            how: file.how,
        }));
    }
    found.truncate(2 * PARTS_MAX);
    found
}

fn of_command(command: &Command, words: &[&str]) -> Vec<ShellFile> {
    let written = |(path, appends): &(String, bool)| {
        let how = if *appends { How::Edited } else { How::Created };
        is_plain(path).then(|| file(path, how))
    };
    let mut found: Vec<ShellFile> = command.writes.iter().filter_map(written).collect();
    let rest = match words {
        [program, rest @ ..] if matches!(*program, "mv" | "cp" | "rm" | "tee") => Some((*program, rest)),
        ["git", "mv", rest @ ..] => Some(("mv", rest)),
        ["git", "rm", rest @ ..] => Some(("rm", rest)),
        _ => None,
    };
    let Some((program, rest)) = rest else { return found };
    let (flags, names): (Vec<&str>, Vec<&str>) =
        rest.iter().filter(|word| **word != "--").partition(|word| word.starts_with('-'));
    let is_flagged = |short: char, long: &str| {
        flags.iter().any(|flag| *flag == long || (!flag.starts_with("--") && flag.contains(short)))
    };
    // What is removed or copied with all below it is a folder; a target that is named first is rare.
    let is_unknown = names.iter().any(|name| !is_plain(name))
        || is_flagged('t', "--target-directory")
        || (program != "mv" && (is_flagged('r', "--recursive") || is_flagged('R', "--archive")))
        || (program == "cp" && is_flagged('a', "--archive"))
        || (program == "rm" && flags.contains(&"--cached"))
        || (program == "mv" && is_flagged('n', "--no-clobber"));
    if is_unknown {
        return found;
    }
    match (program, names.as_slice()) {
        ("rm", names) => {
            let names = names.iter().filter(|name| name.contains(['/', '.']) && !name.ends_with('/'));
            found.extend(names.map(|name| file(name, How::Deleted)));
        }
        ("tee", names) => {
            let how = if is_flagged('a', "--append") { How::Edited } else { How::Created };
            found.extend(names.iter().map(|name| file(name, how)));
        }
        ("mv" | "cp", [from @ .., to]) => {
            for from in from.iter().map(|from| from.trim_end_matches('/')) {
                let Some(to) = target(from, to, names.len()) else { continue };
                found.push(match program {
                    "mv" => ShellFile { to: Some(to), ..file(from, How::Moved) },
                    _ => file(&to, How::Created),
                });
            }
        }
        _ => {}
    }
    found
}

/// Returns where a file is afterwards. A target without an extension is a folder where the file has one.
fn target(from: &str, to: &str, names: usize) -> Option<String> {
    let name = from.rsplit('/').next().filter(|name| !name.is_empty() && !name.starts_with(".."))?;
    let last = to.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_folder = names > 2
        || to.ends_with('/')
        || matches!(last, "." | "..")
        || (name.trim_start_matches('.').contains('.') && !last.contains('.'));
    if !is_folder {
        return Some(to.to_owned());
    }
    let folder = to.trim_end_matches('/');
    Some(if matches!(to, "." | "./") { name.to_owned() } else { format!("{folder}/{name}") })
}

fn file(path: &str, how: How) -> ShellFile {
    ShellFile { path: path.to_owned(), how, to: None }
}

fn is_plain(name: &str) -> bool {
    let is_strange = |character: char| {
        character.is_whitespace() || character.is_control() || "*$?[]{}()`~<>|&;!\"'\\=".contains(character)
    };
    !name.is_empty() && !name.starts_with('-') && !name.contains(is_strange)
}

fn placed(folder: &str, name: &str) -> String {
    let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
    if name.starts_with('/') { name.to_owned() } else { format!("{folder}{name}") }
}
