//! `html`: a conversation as one page that needs nothing else. Normative here: `docs/format/exports.md`.
//!
//! Everything that somebody said is text: no markup of it reaches the page, and the page forbids scripts and loading.

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, ImageSource, Part, Role};

use super::markdown::speaker;
use super::{About, clock, facts, told};

/// Lines of a tool's output that stand unfolded at most.
const OPEN_LINES_MAX: usize = 12;

/// Characters of them at most.
const OPEN_CHARS_MAX: usize = 2_000;

/// Characters of arguments that a folded call shows.
const PREVIEW_CHARS_MAX: usize = 120;

/// The types of images that are shown; others are named.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

const STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--fore:#1d1d1f;--faint:#6b6b70;--line:#d9d9de;--user:#eef4ff;--code:#f5f5f7;--error:#b3261e}
@media(prefers-color-scheme:dark){:root{--back:#161618;--fore:#e8e8ea;--faint:#9a9aa0;--line:#38383d;--user:#1b2638;--code:#222226;--error:#f2877f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:60rem;padding:1.5rem;background:var(--back);color:var(--fore);font:16px/1.55 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;font-size:.875rem;color:var(--faint)}
dd{margin:0;overflow-wrap:anywhere;font-family:ui-monospace,monospace}
article{border-top:1px solid var(--line);padding:.75rem 0}
article.user{background:var(--user);padding:.75rem 1rem;border-radius:.5rem;border:0;margin:.75rem 0}
article>header{font-size:.8125rem;color:var(--faint);display:flex;gap:.75rem;flex-wrap:wrap}
article>header b{color:var(--fore)}
article>header a{color:inherit;text-decoration:none}
article:target>header a{text-decoration:underline}
.text{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
pre{background:var(--code);padding:.6rem .8rem;border-radius:.4rem;overflow:auto;max-height:40rem;font:13px/1.45 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0}
summary{cursor:pointer;font-size:.875rem;overflow-wrap:anywhere}
summary code{font-family:ui-monospace,monospace}
.faint{color:var(--faint)}
.error{color:var(--error)}
img{max-width:100%;height:auto}
";

pub(super) fn write(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    let title = escape(about.title.as_deref().unwrap_or("Conversation"));
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>"
    )?;
    head(about, entries, out)?;
    writeln!(out, "</header>\n<main>")?;
    for (index, entry) in entries.iter().enumerate() {
        article(index + 1, entry, out)?;
    }
    writeln!(out, "</main>\n</body>\n</html>")
}

fn head(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "<dl>")?;
    for (name, value) in facts(about, entries) {
        writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(&value))?;
    }
    writeln!(out, "</dl>")
}

fn article(number: usize, entry: &Entry, out: &mut dyn Write) -> fmt::Result {
    let class = match (entry.role, &entry.kind) {
        (Role::User, EntryKind::Message) => "user",
        (Role::Assistant, _) => "assistant",
        (Role::Tool, _) => "tool",
        (Role::User | Role::System, _) => "other",
    };
    let side = if entry.meta.sidechain.is_some() { " <span>subagent</span>" } else { "" };
    write!(
        out,
        "<article id=\"e{number}\" class=\"{class}\">\n<header><a href=\"#e{number}\">#{number}</a> <b>{}</b>{side}",
        speaker(entry)
    )?;
    if let Some(time) = entry.timestamp {
        write!(out, " <time datetime=\"{time}\">{}</time>", clock(time))?;
    }
    writeln!(out, "</header>")?;
    for part in &entry.parts {
        part_html(entry, part, out)?;
    }
    writeln!(out, "</article>")
}

fn part_html(entry: &Entry, part: &Part, out: &mut dyn Write) -> fmt::Result {
    match part {
        Part::Text(text) if entry.kind == EntryKind::Instruction => folded("Instruction", text, out),
        Part::Text(text) | Part::Summary { text, .. } => prose(text, out),
        Part::Thinking { text, .. } if text.is_empty() => Ok(()),
        Part::Thinking { text, .. } => folded("Thinking", text, out),
        Part::ToolCall { name, arguments, .. } => call(name, arguments, out),
        Part::ToolResult { is_error, parts, .. } => result(*is_error, parts, out),
        Part::Image { media_type, source } => image(media_type, source, out),
        Part::File { .. } | Part::Opaque { .. } => {
            folded("Carried as it is", &told(part).unwrap_or_default(), out)
        }
    }
}

/// Writes a text, its fenced blocks as code.
fn prose(text: &str, out: &mut dyn Write) -> fmt::Result {
    let mut rest = text;
    while let Some((before, code, after)) = next_fence(rest) {
        plain(before, out)?;
        writeln!(out, "<pre>{}</pre>", escape(code))?;
        rest = after;
    }
    plain(rest, out)
}

fn plain(text: &str, out: &mut dyn Write) -> fmt::Result {
    if text.trim().is_empty() {
        return Ok(());
    }
    writeln!(out, "<div class=\"text\">{}</div>", escape(text.trim_matches('\n')))
}

/// Splits a text at its first fenced block, the fences with it; none where no block is closed.
fn next_fence(text: &str) -> Option<(&str, &str, &str)> {
    let mut start = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let end = offset + line.len();
        match start {
            None if line.starts_with("```") => start = Some(offset),
            Some(start) if line.trim_end() == "```" => {
                return Some((text.get(..start)?, text.get(start..end)?, text.get(end..)?));
            }
            None | Some(_) => {}
        }
        offset = end;
    }
    None
}

fn folded(name: &str, text: &str, out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "<details><summary class=\"faint\">{name}</summary><pre>{}</pre></details>", escape(text))
}

fn call(name: &str, arguments: &str, out: &mut dyn Write) -> fmt::Result {
    let preview: String = arguments.chars().take(PREVIEW_CHARS_MAX).collect();
    writeln!(
        out,
        "<details><summary>Calls <code>{}</code> <span class=\"faint\">{}</span></summary><pre>{}</pre></details>",
        escape(name),
        escape(&preview.replace('\n', " ")),
        escape(&pretty(arguments))
    )
}

/// Returns JSON over several lines, and any other text as it is.
fn pretty(json: &str) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json).ok();
    let printed = value
        .filter(serde_json::Value::is_object)
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    // Sorted keys and numbers spelled anew are for the eye only.
    printed.unwrap_or_else(|| json.to_owned())
}

fn result(is_error: bool, parts: &[Part], out: &mut dyn Write) -> fmt::Result {
    let text = parts.iter().filter(|part| !matches!(part, Part::Image { .. }));
    let text = super::json::texts(text);
    let lines = text.lines().count();
    let open =
        if lines <= OPEN_LINES_MAX && text.chars().nth(OPEN_CHARS_MAX).is_none() { " open" } else { "" };
    let (class, name) = if is_error { ("error", "Error") } else { ("faint", "Result") };
    let unit = if lines == 1 { "line" } else { "lines" };
    writeln!(
        out,
        "<details{open}><summary class=\"{class}\">{name}, {lines} {unit}</summary><pre>{}</pre></details>",
        escape(&text)
    )?;
    for part in parts {
        if let Part::Image { media_type, source } = part {
            image(media_type, source, out)?;
        }
    }
    Ok(())
}

/// Writes an image whose bytes are here; others are named, for the page loads nothing.
fn image(media_type: &str, source: &ImageSource, out: &mut dyn Write) -> fmt::Result {
    match source {
        ImageSource::Base64(data) if IMAGES.contains(&media_type) && is_base64(data) => {
            writeln!(out, "<img alt=\"image\" src=\"data:{media_type};base64,{data}\">")
        }
        ImageSource::Base64(_) | ImageSource::Artifact(_) => {
            writeln!(out, "<div class=\"text faint\">[image {}]</div>", escape(media_type))
        }
        ImageSource::Url(url) => writeln!(out, "<div class=\"text faint\">[image {}]</div>", escape(url)),
    }
}

fn is_base64(data: &str) -> bool {
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
}

/// Returns a text as a page shows it: nothing in it is markup, and what a page may not hold is a replacement character.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + text.len() / 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(character),
            '\r' => {}
            character if character.is_control() => escaped.push('\u{fffd}'),
            character => escaped.push(character),
        }
    }
    escaped
}
