//! `markdown`: a conversation as a document to read. Normative here: `docs/format/exports.md`.
//!
//! What somebody said must not break out of its place: an open fence or a comment in it would swallow all that follows.

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, Part, Role};

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
        writeln!(out, "> {}", line.trim_end_matches('\r'))?;
    }
    writeln!(out)
}

/// Returns a text that is Markdown itself, with a fence that it leaves open closed and without HTML.
fn contained(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut open: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let fence = fence_of(line);
        match (open, fence) {
            // What stands behind an opening fence of backticks has none, or it is no fence.
            (None, Some((fence, rest))) if !(fence.starts_with('`') && rest.contains('`')) => {
                open = Some(fence);
                written.push_str(line);
            }
            (None, _) => without_html(line, &mut written),
            (Some(own), Some((fence, rest))) if fence.starts_with(own) && rest.trim().is_empty() => {
                open = None;
                written.push_str(line);
            }
            (Some(_), _) => written.push_str(line),
        }
    }
    if let Some(fence) = open {
        if !written.ends_with('\n') {
            written.push('\n');
        }
        written.push_str(fence);
    }
    written
}

/// Returns the fence that a line begins with, and what stands behind it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let start = line.trim_start_matches(' ');
    // Further in it is code of another kind.
    if line.len() - start.len() > 3 {
        return None;
    }
    ['`', '~'].into_iter().find_map(|mark| {
        let length = start.len() - start.trim_start_matches(mark).len();
        (length >= 3).then(|| start.split_at_checked(length)).flatten()
    })
}

/// Appends a line outside of fences: a tag in it would be one of the page that it is shown on. Code within it stays.
fn without_html(line: &str, written: &mut String) {
    let mut rest = line;
    while let Some(at) = rest.find(['`', '<', '\\']) {
        let (before, from) = rest.split_at(at);
        written.push_str(before);
        let taken = match from.as_bytes().first() {
            Some(b'`') => code_span(from),
            Some(b'<') => {
                written.push('\\');
                1
            }
            // What is escaped already stays so.
            _ => 1 + from.chars().nth(1).map_or(0, char::len_utf8),
        };
        let (taken, after) = from.split_at(taken);
        written.push_str(taken);
        rest = after;
    }
    written.push_str(rest);
}

/// Returns the bytes of the code that a text begins with; of backticks that nothing closes, theirs.
fn code_span(text: &str) -> usize {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let marks = run(text);
    let mut at = marks;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find('`')) {
        let found = run(text.get(at + next..).unwrap_or_default());
        at += next + found;
        if found == marks {
            return at;
        }
    }
    marks
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
