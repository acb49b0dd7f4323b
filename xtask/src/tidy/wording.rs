//! Phrases that no reader should meet: riddles, coined words, wrong plurals. Checked are README, guides, reference,
//! snapshots of output, and texts in the code of crates that speak to people.
//! Not style: only what a pattern can find without being wrong about it.

use super::Finding;
use super::source::{Source, words};
use super::tree::{Tree, extension};

/// A phrase in lower case, and what to write instead.
const PHRASES: &[(&str, &str)] = &[
    ("is no", "`is not a`"),
    ("are no", "`are not`"),
    ("goes by", "`matches`"),
    ("go by", "`match`"),
    ("goes on", "`continues`"),
    ("go on", "`continue`"),
    ("carries on", "`continues`"),
    ("carry on", "`continue`"),
    ("lets go", "`deletes` or `expires`"),
    ("let go", "`deleted` or `expired`"),
    ("told", "`reported`, `listed` or `known`"),
    ("taken in", "`imported`"),
    ("takes in", "`imports`"),
    ("looked at", "`checked`"),
    ("none: the", "`[default: …]`"),
    ("stands in", "`replaces` or `is in`"),
    ("whoever", "`anyone who`"),
    ("somebody", "`someone`, or say who"),
    ("so many", "the number"),
    ("none where", "`none if`"),
    ("mend", "`repair`"),
    ("mends", "`repairs`"),
    ("mended", "`repaired`"),
    ("mending", "`repairing`"),
    ("afresh", "`without context` or `again`"),
    ("anew", "`again`"),
    ("tells of", "`reports`"),
    ("tell of", "`report`"),
    ("any more", "`no longer`"),
    ("hole", "`forgotten commit` or `tombstone`"),
    ("holes", "`forgotten commits` or `tombstones`"),
    ("came across", "`was converted`"),
    ("keeps its name", "`is kept as is`"),
    ("left as it is", "`not changed`"),
];

/// What is counted; behind the number 1 the plural is wrong.
const PLURALS: &[&str] = &[
    "branches",
    "calls",
    "commits",
    "contents",
    "days",
    "entries",
    "events",
    "files",
    "findings",
    "forks",
    "lines",
    "messages",
    "packs",
    "places",
    "projects",
    "results",
    "secrets",
    "sessions",
    "sources",
    "subagents",
    "tags",
    "tasks",
    "tokens",
    "transcripts",
    "turns",
    "values",
];

/// Crates whose texts people read, beside `docs/reference`, which has the help of every command.
const SPEAKING: &[&str] =
    &["crates/cli/src/", "crates/engine/src/", "crates/runtimes/src/", "crates/service/src/"];

/// The page whose rows repeat the words of the documents that they answer.
const QUOTING: &str = "docs/reference/seeds.md";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        if is_page(path) {
            findings.extend(in_lines(path, &prose(text)));
        } else if path.starts_with("crates/cli/") && extension(path) == Some("snap") {
            findings.extend(in_lines(path, &printed(text)));
        } else if let Some(source) = tree.source(path)
            && SPEAKING.iter().any(|folder| path.starts_with(folder))
        {
            findings.extend(in_literals(&source));
        }
    }
    findings
}

fn is_page(path: &str) -> bool {
    let guide = path.starts_with("docs/guide/") || path.starts_with("docs/reference/");
    (path == "README.md" || (guide && extension(path) == Some("md"))) && path != QUOTING
}

/// Returns a page with blanks for code spans and the targets of links: they hold names, which stay.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return String::new();
        }
        // A block has what the program printed, or what a session said.
        if fenced || line.starts_with("    ") || line.starts_with('#') {
            return String::new();
        }
        let spans: String = line.split('`').step_by(2).collect::<Vec<_>>().join("·");
        let mut kept = String::new();
        for (at, part) in spans.split("](").enumerate() {
            // A link to a heading of the same page names a type, which is a contract.
            if at > 0 && part.starts_with('#') {
                kept.truncate(kept.rfind('[').unwrap_or(kept.len()));
            }
            let rest = if at == 0 { Some(part) } else { part.split_once(')').map(|(_, rest)| rest) };
            kept.push_str(rest.unwrap_or_default());
        }
        kept
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a snapshot with a blank head, which has the test's own words.
fn printed(text: &str) -> String {
    let head = text.match_indices("\n---\n").next().map_or(0, |(at, mark)| at + mark.len());
    let blank = text.get(..head).unwrap_or_default().matches('\n').count();
    format!("{}{}", "\n".repeat(blank), text.get(head..).unwrap_or_default())
}

fn in_lines(path: &str, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    lines.flat_map(|(at, line)| wrong(line).map(move |message| Finding::at(path, at + 1, message))).collect()
}

/// A literal of one word is a name; what stands in braces is filled in.
fn in_literals(source: &Source<'_>) -> Vec<Finding> {
    let literals = source.literals();
    let told = literals.iter().filter(|(at, text)| !source.in_tests(*at) && text.trim().contains(' '));
    told.flat_map(|(at, text)| {
        wrong(&unfilled(text))
            .map(|message| Finding::at(source.path, source.line(*at), message))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// Returns a format string without the names of what fills it in.
fn unfilled(text: &str) -> String {
    let mut depth = 0_usize;
    let kept = text.chars().filter(|character| {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    kept.collect()
}

/// Returns what is wrong with a line.
fn wrong(line: &str) -> impl Iterator<Item = String> + use<> {
    let lower = line.to_ascii_lowercase();
    let mut messages = Vec::new();
    for (phrase, better) in PHRASES {
        if words(&lower, phrase).into_iter().any(|at| is_phrase(&lower, at, phrase)) {
            messages.push(format!("`{phrase}`: write {better}"));
        }
    }
    let is_counted = lower.contains("1 ");
    for plural in PLURALS.iter().filter(|_| is_counted) {
        let one = format!("1 {plural}");
        if words(&lower, &one).into_iter().any(|at| is_one(&lower, at)) {
            messages.push(format!("`{one}`: the plural is wrong"));
        }
    }
    messages.into_iter()
}

/// «There is no session» and «is no longer» are plain English.
fn is_phrase(line: &str, at: usize, phrase: &str) -> bool {
    let before = line.get(..at).unwrap_or_default();
    let after = line.get(at + phrase.len()..).unwrap_or_default();
    let plain = before.ends_with("there ") || after.starts_with(" longer") || after.starts_with(" more than");
    let name = before.ends_with(['_', '-', '/', '.', '<']) || after.starts_with(['-', '(']);
    match phrase {
        "is no" | "are no" => !plain,
        _ => !name,
    }
}

/// The last digit of `21 sessions` or `0.1 lines` is not the number 1.
fn is_one(line: &str, at: usize) -> bool {
    !line.get(..at).is_some_and(|before| before.ends_with(['.', ',', ':', '#', '-', '+', '=', '@', '/']))
}
