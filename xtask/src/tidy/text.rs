//! Rules about text of any kind: line ends, unfinished work, paths of one machine, where crates come from.
//! Not about recorded sessions and fixtures, which are kept byte for byte.

use super::Finding;
use super::source::{Source, words};
use super::tree::{Tree, extension};

/// Marks of unfinished work. What is to come is in an issue, not in the text.
const UNFINISHED: &[&str] = &["TODO", "FIXME", "XXX"];

/// Top-level folders of a developer's or a container's machine that no user has.
const MACHINE_FOLDERS: &[&str] = &["root", "work"];

/// Extensions of files that people write, beside Rust; a file without one is taken for a script.
const WRITTEN: &[&str] = &["md", "toml", "yml", "yaml", "sh", "sql", "css", "js", "html", "py", "txt"];

/// Where every crate in the lock file comes from.
const REGISTRY: &str = "\"registry+https://github.com/rust-lang/crates.io-index\"";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_fixture(path)) {
        if let Some(at) = text.find("\r\n") {
            findings.push(Finding::at(path, line(text, at), "a line ends with CRLF"));
        }
        if let Some(source) = tree.source(path) {
            findings.extend(in_rust(&source));
        } else if is_written(path) {
            findings.extend(unfinished(path, text));
            let hits = machine_paths(text).into_iter();
            findings.extend(hits.map(|(at, message)| Finding::at(path, line(text, at), message)));
        }
    }
    findings.extend(foreign_crates(tree.text("Cargo.lock").unwrap_or_default()));
    findings
}

fn is_fixture(path: &str) -> bool {
    path.split('/').any(|part| ["examples", "fixtures", "golden"].contains(&part))
        && extension(path) != Some("rs")
}

fn is_written(path: &str) -> bool {
    extension(path).is_none_or(|extension| WRITTEN.contains(&extension))
}

/// A literal in a test may hold any made-up path; comments and code may not.
fn in_rust(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = unfinished(source.path, &source.comments);
    let called = ["todo!", "unimplemented!"].into_iter().flat_map(|name| words(&source.code, name));
    findings.extend(called.map(|at| Finding::at(source.path, source.line(at), "unfinished code")));
    let foreign = machine_paths(source.text).into_iter();
    let told =
        foreign.filter(|(at, _)| !source.in_tests(*at) || source.comments.as_bytes().get(*at) == Some(&b'/'));
    findings.extend(told.map(|(at, message)| Finding::at(source.path, source.line(at), message)));
    findings
}

fn unfinished(path: &str, text: &str) -> Vec<Finding> {
    let hits = UNFINISHED.iter().flat_map(|mark| words(text, mark).into_iter().map(move |at| (at, mark)));
    hits.map(|(at, mark)| Finding::at(path, line(text, at), format!("unfinished work: `{mark}`"))).collect()
}

/// Returns where a path of one machine stands.
fn machine_paths(text: &str) -> Vec<(usize, String)> {
    let mut hits = Vec::new();
    for folder in MACHINE_FOLDERS {
        let needle = format!("/{folder}/");
        for (at, _) in text.match_indices(&needle) {
            let before = text.get(..at).and_then(|head| head.chars().next_back());
            // A relative path or a URL may have such a folder in its middle.
            if !before.is_some_and(|character| character.is_alphanumeric() || "._-~}>*".contains(character)) {
                hits.push((at, format!("a path of one machine: `{needle}…`")));
            }
        }
    }
    hits
}

fn foreign_crates(lock: &str) -> Vec<Finding> {
    let sources =
        lock.lines().enumerate().filter_map(|(at, text)| Some((at, text.strip_prefix("source = ")?)));
    let foreign = sources.filter(|(_, source)| *source != REGISTRY);
    foreign.map(|(at, source)| Finding::at("Cargo.lock", at + 1, format!("a crate from {source}"))).collect()
}

fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count()
}
