//! Commits for people and for scripts: one line, many lines, wire types.
//!
//! What a commit is about is the engine's to say.

use stemmata_engine::{Engine, HistoryRow, Shown, SummaryText};
use stemmata_model::{Closure, Commit, CommitId, CommitType, Entry, Part, Sighting, shortest_unique};
use stemmata_store::{Annotation, Annotations, AuditRecord, Link, LinkKind};

use crate::errors::CliError;
use crate::output::style::{Style, tame};
use crate::output::v1;

/// Characters of an entry's text that a listing shows.
const ENTRY_CHARS_MAX: usize = 120;

/// Ids of one output that are checked against the whole store; beyond, they are only told apart from each other.
const CHECKED_IDS_MAX: usize = 256;

/// How ids of one output are cut: to one length, at which each names one commit of the store.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShortIds {
    chars: usize,
}

impl ShortIds {
    /// Finds the shortest length that is enough for all of `ids`.
    pub(crate) fn of(engine: &Engine, ids: &[CommitId]) -> Result<Self, CliError> {
        let mut chars = shortest_unique(ids);
        for id in ids.iter().take(CHECKED_IDS_MAX) {
            while let Ok(prefix) = id.short(chars).parse()
                && engine.store().commits_in(prefix, 2)?.len() > 1
            {
                chars += 1;
            }
        }
        Ok(Self { chars })
    }

    /// Returns an id in short.
    pub(crate) fn text(self, id: CommitId) -> String {
        id.short(self.chars)
    }

    /// Returns an id in short, styled.
    pub(crate) fn shown(self, id: CommitId) -> String {
        Style::Id.paint(&self.text(id))
    }
}

/// Returns the mark of a commit: what it is at a glance.
pub(crate) const fn mark(commit: &Commit) -> (&'static str, Style) {
    match (commit.core.commit_type, commit.closure) {
        (_, Closure::Forgotten) => ("✕", Style::Open),
        (CommitType::Compaction, _) => ("◆", Style::Compaction),
        (CommitType::Snapshot { .. }, _) => ("■", Style::Compaction),
        (CommitType::Delta, Closure::Provisional) => ("○", Style::Open),
        (CommitType::Delta, Closure::Closed | Closure::Covered) => ("●", Style::Plain),
    }
}

/// Returns the wire form of a commit, with its summary and its provenance.
pub(crate) fn wire(row: &HistoryRow) -> v1::Commit {
    of_parts(&row.commit, &row.summary, row.first.as_ref(), &row.annotations)
}

/// Returns the wire forms of commits.
pub(crate) fn wire_all(engine: &Engine, commits: &[Commit]) -> Result<Vec<v1::Commit>, CliError> {
    Ok(engine.describe(&ids_of(commits))?.iter().map(wire).collect())
}

/// Returns the ids of commits.
pub(crate) fn ids_of(commits: &[Commit]) -> Vec<CommitId> {
    commits.iter().map(|commit| commit.id).collect()
}

/// Returns the wire form of everything that is known about a commit.
pub(crate) fn wire_shown(shown: &Shown) -> v1::Show {
    v1::Show {
        commit: of_parts(&shown.commit, &shown.summary, shown.sightings.first(), &shown.annotations),
        sightings: shown.sightings.iter().map(sighting).collect(),
        links: shown.links.iter().map(link).collect(),
        children: shown.children.iter().map(ToString::to_string).collect(),
        audit: shown.audit.iter().map(audit).collect(),
        entries: None,
    }
}

fn of_parts(
    commit: &Commit,
    summary: &SummaryText,
    first: Option<&Sighting>,
    annotations: &Annotations,
) -> v1::Commit {
    let core = &commit.core;
    v1::Commit {
        id: commit.id.to_string(),
        parent: core.parent.map(|parent| parent.to_string()),
        commit_type: core.commit_type.as_str().to_owned(),
        restated_entries: match core.commit_type {
            CommitType::Snapshot { restated_entries } => Some(restated_entries),
            CommitType::Delta | CommitType::Compaction => None,
        },
        artifact: core.artifact.to_string(),
        native: core.native.map(|native| native.to_string()),
        format: core.format.to_string(),
        template: core.template.to_string(),
        created_at: core.created_at.to_string(),
        principal: first.map(|sighting| sighting.principal.to_string()),
        machine: first.map(|sighting| sighting.machine.to_string()),
        session_id: first.map(|sighting| sighting.session.to_string()),
        checkpoint: first.map(|sighting| sighting.trigger.as_str().to_owned()),
        ticket_id: first.and_then(|sighting| sighting.ticket.as_ref()).map(ToString::to_string),
        thread_id: first.and_then(|sighting| sighting.thread.as_ref()).map(ToString::to_string),
        message_count: commit.counts.messages,
        token_count: commit.counts.tokens,
        entry_count: commit.counts.entries,
        summary: v1::Summary { text: summary.text.clone(), source: summary.source.as_str().to_owned() },
        tags: annotations.tags.clone(),
        notes: annotations.notes.clone(),
        pinned: annotations.pinned,
        closure: commit.closure.as_str().to_owned(),
        rules: commit.rules.to_string(),
        native_bytes: commit.native_bytes,
        depth: commit.depth,
        cumulative_bytes: commit.cumulative_bytes,
    }
}

fn sighting(sighting: &Sighting) -> v1::Sighting {
    v1::Sighting {
        principal: sighting.principal.to_string(),
        machine: sighting.machine.to_string(),
        session_id: sighting.session.to_string(),
        checkpoint: sighting.trigger.as_str().to_owned(),
        ticket_id: sighting.ticket.as_ref().map(ToString::to_string),
        thread_id: sighting.thread.as_ref().map(ToString::to_string),
        template_alias: sighting.template_alias.as_ref().map(ToString::to_string),
        observed_at: sighting.observed_at.to_string(),
        source: sighting.source.as_ref().map(|source| v1::Source {
            path: source.path.clone(),
            offset: source.offset,
            length: source.length,
        }),
    }
}

/// Returns the wire form of a link.
pub(crate) fn link(link: &Link) -> v1::Link {
    v1::Link {
        from: link.from.to_string(),
        kind: link_kind(link.kind).to_owned(),
        to: link.to.to_string(),
        entry: link.entry.as_ref().map(ToString::to_string),
    }
}

/// Returns the stable name of a link's kind.
pub(crate) const fn link_kind(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::DerivedFrom => "derived_from",
        LinkKind::Subagent => "subagent",
    }
}

/// Returns the stable name of a change and what it is about.
pub(crate) fn change(annotation: &Annotation) -> (&'static str, Option<&str>) {
    match annotation {
        Annotation::Summary { text, .. } => ("summary", text.as_deref()),
        Annotation::AddTag(tag) => ("add_tag", Some(tag)),
        Annotation::RemoveTag(tag) => ("remove_tag", Some(tag)),
        Annotation::AddNote(text) => ("add_note", Some(text)),
        Annotation::Pin => ("pin", None),
        Annotation::Unpin => ("unpin", None),
    }
}

fn audit(record: &AuditRecord) -> v1::Audit {
    let (change, text) = change(&record.change);
    v1::Audit {
        at: record.at.to_string(),
        by: record.by.to_string(),
        change: change.to_owned(),
        text: text.map(str::to_owned),
    }
}

/// Returns the wire form of an entry.
pub(crate) fn entry(entry: &Entry) -> v1::Entry {
    v1::Entry {
        id: entry.id.to_string(),
        parent: entry.parent.as_ref().map(ToString::to_string),
        role: entry.role.as_str().to_owned(),
        kind: entry.kind.as_str().to_owned(),
        timestamp: entry.timestamp.map(|point| point.to_string()),
        text: entry_text(entry),
    }
}

/// Returns what an entry says on one line.
fn entry_text(entry: &Entry) -> String {
    let mut words = String::new();
    for part in &entry.parts {
        let text = part_text(part);
        let room = (ENTRY_CHARS_MAX * 4).saturating_sub(words.len());
        words.extend(text.chars().take(room));
        words.push(' ');
    }
    let line = tame(&words).split_whitespace().collect::<Vec<_>>().join(" ");
    crate::output::table::fit(&line, ENTRY_CHARS_MAX)
}

fn part_text(part: &Part) -> String {
    match part {
        Part::Text(text) | Part::Summary { text, .. } => text.clone(),
        Part::Thinking { .. } => "(thinking)".to_owned(),
        Part::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        Part::ToolResult { is_error, parts, .. } => {
            let inner: Vec<String> = parts.iter().map(part_text).collect();
            format!("{}{}", if *is_error { "error: " } else { "" }, inner.join(" "))
        }
        Part::Image { media_type, .. } => format!("({media_type})"),
        Part::File { name, .. } => format!("({name})"),
        Part::Opaque { kind, .. } => format!("({kind})"),
    }
}
