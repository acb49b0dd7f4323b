//! Pure crates: what decides takes time, files, environment and chance as arguments.
//! Not about their tests, which may read fixtures.

use super::Finding;
use super::source::{Source, words};
use super::tree::Tree;

/// Crates that only compute: the same arguments give the same result, on any machine and at any time.
const PURE: &[&str] = &["acts", "api", "model", "prompt", "redact", "runtimes", "tokens"];

/// Parts of the standard library that a pure crate does not name.
const IMPURE_STD: &[&str] = &["env", "fs", "net", "process", "thread"];

/// Words that stand for a clock, chance or async, whatever path they come by.
const IMPURE_WORDS: &[&str] =
    &["SystemTime", "Instant", "Timestamp::now", "Zoned::now", "rand", "getrandom", "async", "await"];

/// Dependencies whose only use would be an effect.
const IMPURE_CRATES: &[&str] =
    &["etcetera", "getrandom", "rand", "reqwest", "rusqlite", "tempfile", "tokio", "ureq", "uuid", "walkdir"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.sources().flat_map(|source| in_file(&source)).collect();
    for (folder, manifest) in tree.crates().filter(|(folder, _)| is_pure(folder)) {
        let path = format!("{folder}/Cargo.toml");
        let Ok(table) = manifest.parse::<toml::Table>() else {
            continue;
        };
        let Some(dependencies) = table.get("dependencies").and_then(toml::Value::as_table) else {
            continue;
        };
        let impure = dependencies.keys().filter(|name| IMPURE_CRATES.contains(&name.as_str()));
        findings.extend(impure.map(|name| Finding::file(&path, format!("a pure crate depends on `{name}`"))));
    }
    findings
}

fn is_pure(path: &str) -> bool {
    let name = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
    name.is_some_and(|name| PURE.contains(&name))
}

fn in_file(source: &Source<'_>) -> Vec<Finding> {
    if !is_pure(source.path) || !source.path.contains("/src/") {
        return Vec::new();
    }
    let code = &source.production;
    let std =
        IMPURE_STD.iter().flat_map(|name| std_uses(code, name).map(move |at| (at, format!("std::{name}"))));
    let other = IMPURE_WORDS
        .iter()
        .flat_map(|name| words(code, name).into_iter().map(move |at| (at, (*name).into())));
    let finding = |(at, name): (usize, String)| {
        Finding::at(
            source.path,
            source.line(at),
            format!("a pure crate names `{name}`: take it as an argument"),
        )
    };
    std.chain(other).map(finding).collect()
}

/// Returns where a module of the standard library is named by its path or in a group of imports.
fn std_uses<'a>(code: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let path = format!("std::{name}");
    let grouped = words(code, "std::{").into_iter().filter(move |at| {
        let group = code.get(*at..).and_then(|tail| tail.split(';').next());
        group.is_some_and(|group| top_level(group).any(|item| item == name))
    });
    words(code, &path).into_iter().chain(grouped)
}

/// Returns the first path segment of each item of `std::{a, b::{c, d}, e}`: `a`, `b` and `e`.
fn top_level(group: &str) -> impl Iterator<Item = &str> {
    let inner = group.split_once('{').map_or("", |(_, inner)| inner);
    let mut depth = 0_usize;
    let items = inner.split(move |character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    });
    items.filter_map(|item| {
        item.split(|character: char| !character.is_alphanumeric() && character != '_')
            .find(|word| !word.is_empty())
    })
}
