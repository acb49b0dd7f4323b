//! `markdown`: a conversation as a document to read. Normative here: `docs/format/exports.md`.
//!
//! What somebody said must not break out of its place: an open fence or a comment in it would swallow all that follows.

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, Part, Role};

use super::contained::contained;
use super::{About, clock, facts, told};

/// Lines of a tool's output that stand unfolded at most.
const OPEN_LINES_MAX: usize = 12;

pub(super) fn write(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "# {}\n", inline(about.title.as_deref().unwrap_or("Conversation")))?;
    head(about, entries, out)?;
    for (index, entry) in entries.iter().enumerate() {
        heading(index + 1, entry, out)?;
        for part in &entry.parts {
            part_text(entry, part, out)?;
        }
    }
    Ok(())
}

fn head(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    for (name, value) in facts(about, entries) {
        writeln!(out, "- {name}: {}", code(&value))?;
    }
    writeln!(out)
}

fn heading(number: usize, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
    let time = entry.timestamp.map(|time| format!(" · {}", clock(time))).unwrap_or_default();
    let side = if entry.meta.sidechain.is_some() { " (subagent)" } else { "" };
    writeln!(out, "## {number}. {}{side}{time}\n", speaker(entry))
}

/// Returns who speaks, for people.
pub(super) fn speaker(entry: &Entry) -> &'static str {
    match (&entry.kind, entry.role) {
        (EntryKind::CompactionSummary, _) => "Summary of what came before",
        (EntryKind::Instruction, _) => "Instruction",
        (EntryKind::Metadata, _) => "Client",
        (_, Role::System) => "System",
        (_, Role::User) => "User",
        (_, Role::Assistant) => "Assistant",
        (_, Role::Tool) => "Result",
    }
}

fn part_text(entry: &Entry, part: &Part, out: &mut dyn Write) -> fmt::Result {
    match part {
        Part::Text(text) if entry.kind == EntryKind::Instruction => folded("Instruction", text, out),
        Part::Text(text) if entry.role == Role::Assistant => writeln!(out, "{}\n", contained(text)),
        Part::Text(text) | Part::Summary { text, .. } => quoted(text, out),
        Part::Thinking { text, .. } if text.is_empty() => Ok(()),
        Part::Thinking { text, .. } => folded("Thinking", text, out),
        Part::ToolCall { name, arguments, .. } => {
            writeln!(out, "Calls {}:\n", code(name))?;
            fenced(arguments, out)
        }
        Part::ToolResult { is_error, parts, .. } => {
            let text = super::json::texts(parts);
            let name = if *is_error { "Error" } else { "Result" };
            if text.lines().count() > OPEN_LINES_MAX {
                folded(&format!("{name}, {} lines", text.lines().count()), &text, out)
            } else {
                writeln!(out, "{name}:\n")?;
                fenced(&text, out)
            }
        }
        Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => {
            fenced(&told(part).unwrap_or_default(), out)
        }
    }
}

/// Writes a text folded, as it is.
fn folded(name: &str, text: &str, out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "<details><summary>{name}</summary>\n")?;
    fenced(text, out)?;
    writeln!(out, "</details>\n")
}

/// Writes a text as it is, in a fence that is longer than any within.
fn fenced(text: &str, out: &mut dyn Write) -> fmt::Result {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    writeln!(out, "{fence}text\n{text}{newline}{fence}\n")
}

/// Writes a text as a quote: whatever it begins ends with it.
fn quoted(text: &str, out: &mut dyn Write) -> fmt::Result {
    for line in contained(text).split('\n') {
        writeln!(out, "> {line}")?;
    }
    writeln!(out)
}

/// Returns a text as code within a line.
fn code(text: &str) -> String {
    let line: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let marks = "`".repeat(longest_run(&line) + 1);
    let pad = if line.starts_with('`') || line.ends_with('`') || line.trim().is_empty() { " " } else { "" };
    format!("{marks}{pad}{line}{pad}{marks}")
}

/// Returns a text on one line, without anything that Markdown would read.
fn inline(text: &str) -> String {
    let mut line = String::new();
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' | '&' => line.extend(['\\', character]),
            character if character.is_control() => line.push(' '),
            character => line.push(character),
        }
    }
    line
}

fn longest_run(text: &str) -> usize {
    let (mut longest, mut run) = (0, 0);
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
