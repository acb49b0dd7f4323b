//! `show --meta`: everything that the store knows of a commit, as a table.

use stemmata_api::v1::{self, Audit, Commit, CommitType, Sighting};
use stemmata_model::{Closure, LinkKind, Timestamp, Trigger};

use crate::errors::CliError;
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, fit};
use crate::output::time;
use crate::wiring::App;

/// Sightings, children and changes that people see; `--json` has more.
const LISTED_MAX: usize = 10;

/// Columns of the names on the left.
const NAME_WIDTH: usize = 11;

/// Lines of names and values.
struct Lines {
    text: String,
}

impl Lines {
    fn add(&mut self, name: &str, value: &str) {
        put!(self.text, "{}{value}\n", Style::Faint.paint(&format!("{name:<NAME_WIDTH$}")));
    }

    fn optional(&mut self, name: &str, value: Option<String>) {
        if let Some(value) = value {
            self.add(name, &value);
        }
    }
}

/// Returns the table of a commit.
pub(super) fn table(app: &App, commit: &Commit) -> Result<String, CliError> {
    let linked = listed(commit.links.as_ref()).iter().flat_map(|link| [link.from, link.to]);
    let around = listed(commit.children.as_ref()).iter().copied().chain(commit.parent).chain(linked);
    let ids = app.short_ids(around)?;
    let mut lines = Lines { text: String::new() };
    put!(lines.text, "{}\n", Style::Id.paint(&commit.id.to_string()));
    put!(lines.text, "{}\n\n", Style::Strong.paint(&tame(&commit.summary.text)));
    lines.add("what", &what(commit));
    lines.add("when", &when(app, commit));
    let parent = commit.parent.map_or_else(|| "none: a root".to_owned(), |parent| ids.cut(parent));
    lines.add("parent", &parent);
    lines.add(
        "holds",
        &format!(
            "{}, {}, about {} tokens, {}",
            many(commit.message_count, "message"),
            many(commit.entry_count, "entry"),
            size::count(commit.token_count),
            size::bytes(commit.native_bytes)
        ),
    );
    lines.add(
        "chain",
        &format!(
            "{} before it, {} in all",
            many(commit.depth, "commit"),
            size::bytes(commit.cumulative_bytes)
        ),
    );
    lines.add("format", &format!("{}, template {}", commit.format, commit.template));
    lines.add("artifact", &commit.artifact.to_string());
    lines.optional("native", commit.native.map(|native| native.to_string()));
    provenance(app, &mut lines, listed(commit.sightings.as_ref()));
    annotations(&mut lines, commit);
    relations(&mut lines, commit, ids);
    history(app, &mut lines, listed(commit.audit.as_ref()));
    Ok(lines.text)
}

/// Returns a list of a response; an absent one is empty.
fn listed<T>(list: Option<&Vec<T>>) -> &[T] {
    list.map_or(&[], Vec::as_slice)
}

/// Returns when a commit was made. A file beside a transcript has no time that all machines agree on: then when it was captured.
fn when(app: &App, commit: &Commit) -> String {
    let told = |point: Timestamp| {
        (point != Timestamp::EPOCH)
            .then(|| format!("{} ({})", time::exact(point), time::ago(point, app.now())))
    };
    let captured = || listed(commit.sightings.as_ref()).first().and_then(|seen| told(seen.observed_at));
    let captured = || captured().map(|at| format!("captured {at}"));
    told(commit.created_at).or_else(captured).unwrap_or_else(|| "-".to_owned())
}

fn what(commit: &Commit) -> String {
    let kind = match (commit.restated_entries, commit.commit_type) {
        (Some(restated), _) => format!("snapshot, its first {} restated", many(restated, "entry")),
        (None, CommitType::Delta) => "what came after its parent".to_owned(),
        (None, CommitType::Compaction) => "compaction".to_owned(),
        (None, CommitType::Snapshot) => "snapshot".to_owned(),
    };
    let state = match commit.closure {
        Closure::Closed => "complete",
        Closure::Provisional => "its turn is open (provisional)",
        Closure::Covered => "later commits hold all of it (covered)",
        Closure::Forgotten => "forgotten",
    };
    format!("{kind}, {state}")
}

/// Says on what occasion a commit was captured.
const fn occasion(checkpoint: Trigger) -> &'static str {
    match checkpoint {
        Trigger::TurnBoundary => "when a turn ended",
        Trigger::ToolCall => "during a turn, after a tool call",
        Trigger::Compaction => "at a compaction",
        Trigger::SessionEnd => "when the session ended",
        Trigger::Explicit => "by a command, such as `stemma import`",
    }
}

/// The first sighting is the commit's provenance and stands in full; others in a line each.
fn provenance(app: &App, lines: &mut Lines, sightings: &[Sighting]) {
    let Some((first, others)) = sightings.split_first() else { return };
    lines.add("session", &tame(&first.session_id));
    lines.add("principal", &tame(&first.principal));
    lines.add("captured", occasion(first.checkpoint));
    lines.optional("ticket", first.ticket_id.as_ref().map(tame));
    lines.optional("thread", first.thread_id.as_ref().map(tame));
    if let Some(source) = &first.source {
        let path = app.environment.shown(std::path::Path::new(&source.path));
        let end = source.offset.saturating_add(source.length);
        lines.add("source", &format!("{path}, bytes {} to {end}", source.offset));
    }
    for other in others.iter().take(LISTED_MAX) {
        lines.add("seen also", &seen(other));
    }
    if others.len() > LISTED_MAX {
        lines.add("", &format!("… and {} more (`--json` lists all)", others.len() - LISTED_MAX));
    }
}

fn seen(sighting: &Sighting) -> String {
    let place = sighting.source.as_ref().map_or(sighting.session_id.as_str(), |source| &source.path);
    format!("{}, by {}", tame(place), tame(&sighting.principal))
}

fn annotations(lines: &mut Lines, commit: &Commit) {
    if !commit.tags.is_empty() {
        lines.add("tags", &tame(commit.tags.join(", ")));
    }
    for note in commit.notes.iter().take(LISTED_MAX) {
        lines.add("note", &tame(note));
    }
    if commit.pinned {
        lines.add("pinned", "yes");
    }
}

fn relations(lines: &mut Lines, commit: &Commit, ids: ShortIds) {
    for link in listed(commit.links.as_ref()).iter().take(LISTED_MAX) {
        let is_own = link.from == commit.id;
        let is_copy = link.kind == LinkKind::DerivedFrom;
        let (name, other) = match (is_copy, is_own) {
            (true, true) => ("copy of", link.to),
            (true, false) => ("copied to", link.from),
            (false, true) => ("started by", link.to),
            (false, false) => ("subagent", link.from),
        };
        let entry = link.entry.as_ref().filter(|_| is_copy && is_own);
        let at = entry.map(|entry| format!(", up to entry {}", tame(entry))).unwrap_or_default();
        lines.add(name, &format!("{}{at}", ids.cut(other)));
    }
    let children = listed(commit.children.as_ref());
    if children.is_empty() {
        lines.add("children", "none: a tip");
    }
    for (position, child) in children.iter().take(LISTED_MAX).enumerate() {
        lines.add(if position == 0 { "children" } else { "" }, &ids.cut(*child));
    }
    if children.len() > LISTED_MAX {
        lines.add("", &format!("… and {} more (`stemma children`)", children.len() - LISTED_MAX));
    }
}

fn history(app: &App, lines: &mut Lines, audit: &[Audit]) {
    for record in audit.iter().rev().take(LISTED_MAX) {
        let text = record.text.as_ref().map(|text| format!(" «{}»", tame(text))).unwrap_or_default();
        let when = time::ago(record.at, app.now());
        lines.add("changed", &format!("{when} by {}: {}{text}", record.by, record.change));
    }
}

/// Characters of an entry's id that people see at least.
const ENTRY_CHARS_MIN: usize = 8;

/// Returns how many characters tell all entries apart, so that what is shown can be given to `--at`.
fn entry_chars(entries: &[v1::Entry]) -> usize {
    let mut ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |left: &str, right: &str| {
        left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count()
    };
    let pairs = ids.iter().zip(ids.iter().skip(1));
    pairs.map(|(left, right)| shared(left, right) + 1).max().unwrap_or(0).max(ENTRY_CHARS_MIN)
}

/// Returns the entries of a commit with their ids.
pub(super) fn entry_table(entries: &[v1::Entry], width: usize) -> String {
    let chars = entry_chars(entries);
    let mut table = Table::new(&[
        ("ENTRY", Column::Left),
        ("ROLE", Column::Left),
        ("KIND", Column::Left),
        ("TEXT", Column::Flexible),
    ]);
    for entry in entries {
        table.row(vec![
            cell(Style::Id, entry.id.as_str().chars().take(chars).collect::<String>()),
            cell(Style::Plain, entry.role.as_str()),
            cell(Style::Faint, if width == usize::MAX { entry.kind.clone() } else { fit(&entry.kind, 18) }),
            cell(Style::Plain, entry.text.clone()),
        ]);
    }
    table.render(width)
}
