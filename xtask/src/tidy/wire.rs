//! Wire types: what keeps raw JSON whole, requests strict and responses open to what is new.
//! Not about what a field means: that is a contract, which `tests/cli/contract.rs` holds.

use super::Finding;
use super::source::{Source, words};
use super::tree::Tree;

/// Where wire types live.
const FOLDER: &str = "crates/api/src/";

/// Ways of serde that read into a buffer first.
const BUFFERING: &[&str] = &["flatten", "tag", "untagged"];

/// Structs within requests, as strict as these.
const PARTS_OF_REQUESTS: &[&str] = &[
    "KnownLine",
    "Apply",
    "NewEvent",
    "WrittenFile",
    "ArtifactRange",
    "SearchFilter",
    "KeptPromptOf",
    "TurnOf",
    "CompactRange",
    "TurnFork",
    "TurnEntry",
    "TurnHint",
    "TurnCall",
    "TurnUsage",
    "TurnWindow",
    "TurnResult",
    "TurnTask",
    "TurnPrompt",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.sources().filter(|source| source.path.starts_with(FOLDER));
    sources.flat_map(|source| in_file(&source)).collect()
}

fn in_file(source: &Source<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |at: usize, message: String| {
        findings.push(Finding::at(source.path, source.line(at), message));
    };
    let code = &source.production;
    for (at, attribute) in attributes(code) {
        for word in BUFFERING.iter().filter(|word| of_serde(attribute) && has(attribute, word)) {
            find(at, format!("`{word}` buffers what it reads, and raw JSON does not survive that"));
        }
        if source.path.starts_with("crates/api/src/v1")
            && has(attribute, "derive")
            && has(attribute, "Default")
        {
            find(
                at,
                "a wire type with `Default`: a field that nobody thought about would be sent".to_owned(),
            );
        }
    }
    for at in words(code, "struct") {
        let rest = code.get(at + "struct".len()..).unwrap_or_default();
        let name = rest.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_request = name.ends_with("Request") || PARTS_OF_REQUESTS.contains(&name);
        let is_strict = has(head(code, at), "deny_unknown_fields");
        if is_request && !is_strict {
            find(at, format!("a request refuses unknown fields: `{name}` has no `deny_unknown_fields`"));
        }
        if is_strict && !is_request {
            find(at, format!("a response ignores unknown fields: `{name}` has `deny_unknown_fields`"));
        }
    }
    findings
}

fn has(text: &str, word: &str) -> bool {
    !words(text, word).is_empty()
}

fn of_serde(attribute: &str) -> bool {
    has(attribute, "serde")
}

/// Returns every attribute of an item or a field with its place.
fn attributes(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices("#[").filter_map(|(at, _)| {
        let rest = code.get(at..)?;
        Some((at, rest.get(..rest.find(']')?)?))
    })
}

/// Returns what stands between the item before and the one at `at`: its attributes.
fn head(code: &str, at: usize) -> &str {
    let before = code.get(..at).unwrap_or_default();
    before.rfind(['}', ';']).and_then(|end| before.get(end..)).unwrap_or(before)
}
