//! What a command line does to files that it names: reads, writes, moves and removes.
//!
//! Nothing is expanded: a name with a variable is nobody's, and what a condition decides is only possible.

use crate::act::{Certainty, FileAct, FileChange, Reach, Replaced};
use crate::shell::{self, Command};

/// Files of one line at most.
const FILES_MAX: usize = 64;

/// Words that begin what may not run, or runs more than once.
const OPENING: &[&str] = &["if", "for", "while", "until", "case", "function", "select"];
/// Words that end it.
const CLOSING: &[&str] = &["fi", "done", "esac"];
/// Words before a command.
const BEFORE: &[&str] = &["then", "do", "else", "elif", "!", "sudo", "time", "command", "env", "nohup"];
/// Programs that only show the files that they name, and their flags that take a value.
const SHOWING: &[&str] = &["cat", "head", "tail", "nl", "bat", "less"];

/// Returns what a command line does to files, placed below the folder that it runs in.
pub(crate) fn files(line: &str, folder: Option<&str>) -> Vec<FileAct> {
    // Quotes within what is put in cannot be told from those around it: what follows is not read.
    let known = line.split("$(").next().unwrap_or_default().split('`').next().unwrap_or_default();
    let mut place = Place {
        folder: folder.map_or_else(String::new, |folder| folder.trim_end_matches('/').to_owned() + "/"),
        is_known: true,
        depth: 0,
        brackets: 0,
    };
    let mut found = Vec::new();
    for command in shell::commands(known) {
        let words = place.enter(&command);
        let is_possible = place.depth + place.brackets > 0 || command.is_else;
        match words.as_slice() {
            ["cd", to] if is_plain(to) => place.folder = place.of(to) + "/",
            // Nobody knows where it goes on.
            ["cd", ..] => place.is_known = false,
            words => {
                let of_command =
                    of_command(&command, words).into_iter().filter_map(|file| place.placed(file));
                found.extend(of_command.map(|file| {
                    let certainty = if is_possible { Certainty::Possible } else { file.certainty };
                    FileAct { certainty, ..file }
                }));
            }
        }
    }
    found.truncate(FILES_MAX);
    found
}

/// Where a line is: its folder, and within how many conditions and loops.
struct Place {
    folder: String,
    is_known: bool,
    depth: usize,
    brackets: usize,
}

impl Place {
    /// Takes words away that stand before a command, and counts what they open and close.
    fn enter<'c>(&mut self, command: &'c Command) -> Vec<&'c str> {
        let mut words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        while let Some(first) = words.first().copied() {
            if OPENING.contains(&first) {
                self.depth += 1;
            } else if CLOSING.contains(&first) {
                self.depth = self.depth.saturating_sub(1);
            } else if first.starts_with(['(', '{']) {
                self.brackets += 1;
            } else if first.starts_with([')', '}']) {
                self.brackets = self.brackets.saturating_sub(1);
            } else if !BEFORE.contains(&first) {
                break;
            }
            if matches!(first, "for" | "case" | "function" | "select")
                || first.len() > 1 && first.starts_with(['(', '{'])
            {
                words.clear();
            } else {
                words.remove(0);
            }
        }
        if words.last().is_some_and(|last| last.ends_with(')')) {
            self.brackets = self.brackets.saturating_sub(1);
        }
        words
    }

    fn of(&self, name: &str) -> String {
        let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
        if name.starts_with('/') { name.to_owned() } else { format!("{}{name}", self.folder) }
    }

    /// Resolves a file's path against the current folder. Returns `None` where the command line does not tell that folder.
    fn placed(&self, mut file: FileAct) -> Option<FileAct> {
        let place = |name: &str| (self.is_known || name.starts_with('/')).then(|| self.of(name));
        file.path = place(&file.path).filter(|path| !path.is_empty() && !path.starts_with("/dev/"))?;
        if let FileChange::Move { to } = &mut file.change {
            *to = place(to)?;
        }
        Some(file)
    }
}

fn of_command(command: &Command, words: &[&str]) -> Vec<FileAct> {
    // What is given to any other program may come out of it changed.
    let text = command.document.clone().filter(|_| words == ["cat"]);
    let written = command.writes.iter().filter(|(path, _)| is_plain(path)).map(|(path, appends)| {
        let parts = text.iter().map(|new| Replaced { new: new.clone(), ..Replaced::default() }).collect();
        let write = FileChange::Write { text: text.clone() };
        file(path, if *appends { FileChange::Edit { parts } } else { write })
    });
    let mut found: Vec<FileAct> = written.collect();
    let (program, rest) = match words {
        ["git", git @ ("mv" | "rm" | "checkout" | "restore"), rest @ ..] => (*git, rest),
        [program @ ("rm" | "mv" | "cp" | "tee" | "sed" | "perl" | "touch" | "curl" | "wget"), rest @ ..] => {
            (*program, rest)
        }
        [program, rest @ ..] if SHOWING.contains(program) => ("cat", rest),
        _ => return found,
    };
    found.extend(of_program(program, rest));
    found
}

/// The words of a command: what begins with `-`, and the rest.
struct Words<'a> {
    flags: Vec<&'a str>,
    names: Vec<&'a str>,
}

impl Words<'_> {
    fn is_flagged(&self, short: char, long: &str) -> bool {
        self.flags.iter().any(|flag| *flag == long || (!flag.starts_with("--") && flag.contains(short)))
    }
}

fn of_program(program: &str, rest: &[&str]) -> Vec<FileAct> {
    let (flags, names): (Vec<&str>, Vec<&str>) =
        rest.iter().filter(|word| **word != "--").partition(|word| word.starts_with('-') && word.len() > 1);
    let words = Words { flags, names };
    let all = |change: FileChange| words.names.iter().filter_map(|name| named(name, &change)).collect();
    let edit = FileChange::Edit { parts: Vec::new() };
    match program {
        "rm" => removed(&words),
        "mv" | "cp" => moved(program, &words),
        "tee" if words.is_flagged('a', "--append") => all(edit),
        "tee" => all(FileChange::Write { text: None }),
        "touch" => possible(all(FileChange::Write { text: None })),
        "sed" | "perl" => scripted(program, rest),
        "checkout" => {
            let behind = rest.iter().position(|word| *word == "--").map_or(rest.len(), |at| at + 1);
            folders(rest.get(behind..).unwrap_or_default().iter().filter_map(|name| named(name, &edit)))
        }
        "restore" if words.is_flagged('S', "--staged") && !words.is_flagged('W', "--worktree") => Vec::new(),
        "restore" => folders(words.names.iter().filter_map(|name| named(name, &edit))),
        "curl" | "wget" => {
            let flag = if program == "curl" { ["-o", "--output"] } else { ["-O", "--output-document"] };
            let target = rest.windows(2).find(|pair| pair.first().is_some_and(|word| flag.contains(word)));
            let target = target.and_then(|pair| named(pair.get(1)?, &FileChange::Write { text: None }));
            target.into_iter().collect()
        }
        // A number is how many lines of it, not a file.
        _ => {
            let names = words.names.iter().filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()));
            names.filter_map(|name| named(name, &FileChange::Read)).collect()
        }
    }
}

fn removed(words: &Words<'_>) -> Vec<FileAct> {
    if words.flags.contains(&"--cached") {
        return Vec::new();
    }
    let is_folder = words.is_flagged('r', "--recursive") || words.is_flagged('R', "--recursive");
    let names =
        words.names.iter().filter(|name| is_folder || (name.contains(['/', '.']) && !name.ends_with('/')));
    let gone = names.filter_map(|name| named(name, &FileChange::Delete));
    let reach = |file: FileAct| match file.reach {
        Reach::File if is_folder => FileAct { reach: Reach::Folder, ..file },
        _ => file,
    };
    gone.map(reach).collect()
}

fn moved(program: &str, words: &Words<'_>) -> Vec<FileAct> {
    let [from @ .., to] = words.names.as_slice() else { return Vec::new() };
    // A target that is named first is rare.
    if words.is_flagged('t', "--target-directory") || !is_plain(to) {
        return Vec::new();
    }
    let is_copy = program == "cp";
    let is_tree = is_copy
        && (words.is_flagged('r', "--recursive")
            || words.is_flagged('R', "--recursive")
            || words.is_flagged('a', "--archive"));
    let one = |from: &str| {
        let from = from.trim_end_matches('/');
        named(from, &FileChange::Read)?;
        let to = target(from, to, words.names.len())?;
        let (name, change) = if is_copy {
            (&*to, FileChange::Write { text: None })
        } else {
            (from, FileChange::Move { to: to.clone() })
        };
        let file = named(name, &change)?;
        Some(if is_tree { FileAct { reach: Reach::Folder, ..file } } else { file })
    };
    let found = from.iter().filter_map(|from| one(from)).collect();
    if words.is_flagged('n', "--no-clobber") { possible(found) } else { found }
}

/// `sed` and `perl`: in place they change files, else `sed` shows them. The first word is the script where no flag gives one.
fn scripted(program: &str, rest: &[&str]) -> Vec<FileAct> {
    let is_in_place = rest.iter().any(|word| {
        word.starts_with("--in-place")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
    });
    if program == "perl" && !is_in_place {
        return Vec::new();
    }
    let change = if is_in_place { FileChange::Edit { parts: Vec::new() } } else { FileChange::Read };
    let mut names: Vec<&str> = Vec::new();
    let mut has_script = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match *word {
            // The suffix that one system wants and another does not take.
            "" | "--" => {}
            _ if word.starts_with('-') && word.len() > 1 => {
                if word.ends_with(['e', 'f']) && !word.starts_with("--") {
                    has_script = true;
                    words.next();
                }
            }
            word => names.push(word),
        }
    }
    let files = names.get(usize::from(!has_script)..).unwrap_or_default();
    files.iter().filter_map(|name| named(name, &change)).collect()
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

fn file(path: &str, change: FileChange) -> FileAct {
    FileAct { path: path.to_owned(), reach: Reach::File, change, certainty: Certainty::Likely }
}

/// Returns the change of a file, or of all files that match a shell pattern. Returns `None` where variables or quotes
/// hide the name.
fn named(name: &str, change: &FileChange) -> Option<FileAct> {
    let pattern = name.replace(['*', '?', '[', ']'], "");
    if pattern.len() == name.len() {
        return is_plain(name).then(|| file(name, change.clone()));
    }
    let is_pattern = pattern.is_empty() || is_plain(&pattern);
    let found =
        FileAct { reach: Reach::Pattern, certainty: Certainty::Possible, ..file(name, change.clone()) };
    is_pattern.then_some(found)
}

fn possible(found: Vec<FileAct>) -> Vec<FileAct> {
    found.into_iter().map(|file| FileAct { certainty: Certainty::Possible, ..file }).collect()
}

/// A name that ends so is a folder.
fn folders(found: impl Iterator<Item = FileAct>) -> Vec<FileAct> {
    let reach = |path: &str| {
        if path.ends_with('/') || matches!(path, "." | "..") { Reach::Folder } else { Reach::File }
    };
    found.map(|file| FileAct { reach: reach(&file.path), ..file }).collect()
}

fn is_plain(name: &str) -> bool {
    let is_strange = |character: char| {
        character.is_whitespace() || character.is_control() || "*$?[]{}()`~<>|&;!\"'\\=".contains(character)
    };
    !name.is_empty() && !name.starts_with('-') && !name.contains(is_strange)
}

#[cfg(test)]
mod tests;
