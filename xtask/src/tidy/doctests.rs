//! Examples in documentation: a crate that has none says so, because cargo reads the whole crate again to look for them.
//! Not whether the examples pass, which `cargo test --doc` says.

use super::Finding;
use super::tree::{Tree, extension};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let libraries = tree.crates().filter(|(folder, _)| tree.contains(&format!("{folder}/src/lib.rs")));
    libraries
        .filter_map(|(folder, manifest)| {
            let is_off = says_none(manifest);
            let message = match example(tree, folder) {
                Some(place) if is_off => {
                    format!("`doctest = false`, but {place} has an example that would not run")
                }
                None if !is_off => {
                    "no documentation of it has an example: say `doctest = false` below `[lib]`".to_owned()
                }
                _ => return None,
            };
            Some(Finding::file(&format!("{folder}/Cargo.toml"), message))
        })
        .collect()
}

fn says_none(manifest: &str) -> bool {
    let table = manifest.parse::<toml::Table>().ok();
    let lib = table.as_ref().and_then(|table| table.get("lib")?.as_table());
    lib.and_then(|lib| lib.get("doctest")?.as_bool()) == Some(false)
}

/// Returns the place of a crate's first example: a fence that opens in a doc comment and is not of another language.
fn example(tree: &Tree, folder: &str) -> Option<String> {
    let sources = format!("{folder}/src/");
    let files = tree.texts().filter(|(path, _)| path.starts_with(&sources) && extension(path) == Some("rs"));
    for (path, text) in files {
        let mut is_within = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let Some(fence) = comment.and_then(|comment| comment.trim_start().strip_prefix("```")) else {
                continue;
            };
            if !is_within && is_run(fence) {
                return Some(format!("{path}:{}", number + 1));
            }
            is_within = !is_within;
        }
    }
    None
}

/// Returns whether rustdoc runs or compiles what a fence with these words begins.
fn is_run(words: &str) -> bool {
    let mut words = words.split([',', ' ']).filter(|word| !word.is_empty());
    words.all(|word| matches!(word, "rust" | "no_run" | "should_panic" | "compile_fail"))
}
