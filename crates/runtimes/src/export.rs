//! Projections of a conversation for other programs and for people: what it says, in a form that no client resumes.
//!
//! Pure: entries in, text out, piece by piece. Formats that can be read again are adapters, not here.

mod acp;
mod atif;
mod contained;
mod html;
mod json;
mod markdown;
mod otel;
mod steps;
#[cfg(test)]
mod tests;

use std::fmt::{self, Write};

use stemmata_model::{Entry, EntryKind, ExportForm, Part, Timestamp};

/// What stands at the head of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct About {
    /// The commit.
    pub ctx: String,
    /// The runtime that wrote it.
    pub runtime: String,
    /// The version of that runtime, where it is known.
    pub version: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The directory that it worked in.
    pub cwd: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
}

/// Writes a conversation: entries as they follow each other.
///
/// # Errors
/// The sink's.
pub fn export(projection: ExportForm, about: &About, entries: &[Entry], out: &mut dyn Write) -> fmt::Result {
    let shown: Vec<&Entry> = entries.iter().filter(|entry| is_shown(entry)).collect();
    match projection {
        ExportForm::Atif => atif::write(about, &shown, out),
        ExportForm::Acp => acp::write(about, &shown, out),
        ExportForm::OtelGenai => otel::write(about, &shown, out),
        ExportForm::Markdown => markdown::write(about, &shown, out),
        ExportForm::Html => html::write(about, &shown, out),
    }
}

/// Returns whether an entry is part of what is told: what a model or a person sees, and no bookkeeping.
fn is_shown(entry: &Entry) -> bool {
    match entry.kind {
        EntryKind::CompactionBoundary | EntryKind::Unreadable => false,
        EntryKind::Metadata => entry.meta.visibility.user,
        _ => entry.meta.visibility.agent || entry.meta.visibility.user,
    }
}

/// Returns when a conversation began and ended.
fn times(entries: &[&Entry]) -> Option<(Timestamp, Timestamp)> {
    let times = || entries.iter().filter_map(|entry| entry.timestamp);
    Some((times().min()?, times().max()?))
}

/// Returns a time as people read it: to the second.
fn clock(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{} UTC", text.get(..19).unwrap_or(&text).replace('T', " "))
}

/// Returns the model that answered first.
fn model<'e>(entries: &[&'e Entry]) -> Option<&'e str> {
    entries.iter().find_map(|entry| entry.meta.model.as_deref())
}

/// Returns what a person is told first: names and values, without what is not known.
fn facts(about: &About, entries: &[&Entry]) -> Vec<(&'static str, String)> {
    let runtime = match &about.version {
        Some(version) => format!("{} {version}", about.runtime),
        None => about.runtime.clone(),
    };
    let known = [
        ("Context", Some(about.ctx.clone())),
        ("Runtime", Some(runtime)),
        ("Model", model(entries).map(str::to_owned)),
        ("Session", about.session.clone()),
        ("Directory", about.cwd.clone()),
        ("Branch", about.git_branch.clone()),
        ("Time", times(entries).map(|(first, last)| format!("{} to {}", clock(first), clock(last)))),
    ];
    known
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)))
        .collect()
}

/// Returns what a part says to who can read text only; none for what has no text.
fn told(part: &Part) -> Option<String> {
    match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        Part::Image { media_type, source } => Some(match source {
            stemmata_model::ImageSource::Url(url) => format!("[image {url}]"),
            _ => format!("[image {media_type}]"),
        }),
        Part::File { name, media_type, data } => {
            let is_text = media_type.as_deref().is_none_or(|kind| kind.starts_with("text/"));
            Some(match data {
                Some(data) if is_text => format!("[file {name}]\n{data}"),
                _ => format!("[file {name}]"),
            })
        }
        Part::Opaque { kind, json, .. } => Some(format!("[{kind}] {json}")),
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } => None,
    }
}
