//! `show`: everything that is known about a commit.

use stemmata_api::v1;
use stemmata_engine::{Engine, Shown};
use stemmata_model::{CommitId, CommitType, Sighting};
use stemmata_store::LinkKind;

use crate::args::browse::Show;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{self, many};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, fit};
use crate::output::wire::commit::change;
use crate::output::{time, wire};
use crate::wiring::App;

/// Sightings, children and changes that people see; `--json` has more.
const LISTED_MAX: usize = 10;

/// Columns of the names on the left.
const NAME_WIDTH: usize = 11;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Show) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let shown = engine.show(ctx)?;
    let entries: Option<Vec<v1::Entry>> = if args.entries {
        Some(engine.entries(ctx)?.iter().map(wire::commit::entry).collect())
    } else {
        None
    };
    if app.console.json {
        app.console.json(&v1::Commit { entries, ..wire::commit::shown(&shown) })?;
        return Ok(Exit::Done);
    }
    let mut text = told(app, engine, &shown)?;
    if let Some(entries) = &entries {
        text.push('\n');
        text.push_str(&entry_table(entries, app.console.width));
    }
    app.console.long_text(&text)?;
    Ok(Exit::Done)
}

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

fn told(app: &App, engine: &Engine, shown: &Shown) -> Result<String, CliError> {
    let commit = &shown.commit;
    let mut around: Vec<CommitId> = shown.children.clone();
    around.extend(commit.core.parent);
    around.extend(shown.links.iter().flat_map(|link| [link.from, link.to]));
    let ids = ShortIds::of(engine, &around)?;
    let mut lines = Lines { text: String::new() };
    put!(lines.text, "{}\n", Style::Id.paint(&commit.id.to_string()));
    put!(lines.text, "{}\n\n", Style::Strong.paint(&tame(&shown.summary.text)));
    lines.add("what", &what(shown));
    lines.add(
        "when",
        &format!(
            "{} ({})",
            time::exact(commit.core.created_at),
            time::ago(commit.core.created_at, app.now())
        ),
    );
    lines.add(
        "parent",
        &commit.core.parent.map_or_else(|| "none: a root".to_owned(), |parent| ids.text(parent)),
    );
    lines.add(
        "holds",
        &format!(
            "{}, {}, about {} tokens, {}",
            many(commit.counts.messages, "message"),
            many(commit.counts.entries, "entry"),
            size::count(commit.counts.tokens),
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
    lines.add("format", &format!("{}, template {}", commit.core.format, commit.core.template));
    lines.add("artifact", &commit.core.artifact.to_string());
    lines.optional("native", commit.core.native.map(|native| native.to_string()));
    provenance(app, &mut lines, shown);
    annotations(&mut lines, shown);
    relations(&mut lines, shown, ids);
    history(app, &mut lines, shown);
    Ok(lines.text)
}

fn what(shown: &Shown) -> String {
    let kind = match shown.commit.core.commit_type {
        CommitType::Snapshot { restated_entries } => {
            format!("snapshot, its first {} restated", many(restated_entries, "entry"))
        }
        CommitType::Delta | CommitType::Compaction => shown.commit.core.commit_type.as_str().to_owned(),
    };
    format!("{kind}, {}", shown.commit.closure.as_str())
}

/// The first sighting is the commit's provenance and stands in full; others in a line each.
fn provenance(app: &App, lines: &mut Lines, shown: &Shown) {
    let Some((first, others)) = shown.sightings.split_first() else { return };
    lines.add("session", &tame(first.session.as_str()));
    lines.add("principal", &tame(first.principal.as_str()));
    lines.add("trigger", first.trigger.as_str());
    lines.optional("ticket", first.ticket.as_ref().map(|ticket| tame(ticket.as_str())));
    lines.optional("thread", first.thread.as_ref().map(|thread| tame(thread.as_str())));
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
    let place =
        sighting.source.as_ref().map_or_else(|| tame(sighting.session.as_str()), |source| tame(&source.path));
    format!("{place}, by {}", tame(sighting.principal.as_str()))
}

fn annotations(lines: &mut Lines, shown: &Shown) {
    let own = &shown.annotations;
    if !own.tags.is_empty() {
        lines.add("tags", &tame(&own.tags.join(", ")));
    }
    for note in own.notes.iter().take(LISTED_MAX) {
        lines.add("note", &tame(note));
    }
    if own.pinned {
        lines.add("pinned", "yes");
    }
}

fn relations(lines: &mut Lines, shown: &Shown, ids: ShortIds) {
    let own = shown.commit.id;
    for link in shown.links.iter().take(LISTED_MAX) {
        let (name, other) = match (link.kind, link.from == own) {
            (LinkKind::DerivedFrom, true) => ("copy of", link.to),
            (LinkKind::DerivedFrom, false) => ("copied to", link.from),
            (LinkKind::Subagent, true) => ("started by", link.to),
            (LinkKind::Subagent, false) => ("subagent", link.from),
        };
        let is_copy = link.kind == LinkKind::DerivedFrom && link.from == own;
        let entry = link.entry.as_ref().filter(|_| is_copy);
        let at = entry.map(|entry| format!(", up to entry {}", tame(entry.as_str()))).unwrap_or_default();
        lines.add(name, &format!("{}{at}", ids.text(other)));
    }
    if shown.children.is_empty() {
        lines.add("children", "none: a tip");
    }
    for (position, child) in shown.children.iter().take(LISTED_MAX).enumerate() {
        lines.add(if position == 0 { "children" } else { "" }, &ids.text(*child));
    }
    if shown.children.len() > LISTED_MAX {
        lines.add("", &format!("… and {} more (`stemma children`)", shown.children.len() - LISTED_MAX));
    }
}

fn history(app: &App, lines: &mut Lines, shown: &Shown) {
    for record in shown.audit.iter().rev().take(LISTED_MAX) {
        let (change, text) = change(&record.change);
        let text = text.map(|text| format!(" «{}»", tame(text))).unwrap_or_default();
        lines
            .add("changed", &format!("{} by {}: {change}{text}", time::ago(record.at, app.now()), record.by));
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

fn entry_table(entries: &[v1::Entry], width: usize) -> String {
    let chars = entry_chars(entries);
    let mut table = Table::new(&[
        ("ENTRY", Column::Left),
        ("ROLE", Column::Left),
        ("KIND", Column::Left),
        ("TEXT", Column::Flexible),
    ]);
    for entry in entries {
        table.row(vec![
            cell(Style::Id, entry.id.chars().take(chars).collect::<String>()),
            cell(Style::Plain, entry.role.clone()),
            cell(Style::Faint, fit(&entry.kind, 18)),
            cell(Style::Plain, entry.text.clone()),
        ]);
    }
    table.render(width)
}
