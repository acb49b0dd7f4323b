//! Commits and what stands beside them, as wire types.

use stemmata_api::v1;
use stemmata_engine::{HistoryRow, Shown, Subagent, SummaryText, TreeNode};
use stemmata_model::quote::one_line_within;
use stemmata_model::{Commit, CommitType, Entry, Part, Sighting};
use stemmata_store::{Annotation, Annotations, AuditRecord, Link, LinkKind};

use crate::wire;

/// Characters of an entry's text that a listing shows.
const ENTRY_CHARS_MAX: usize = 120;

/// Returns the wire form of a commit, with its summary and its provenance.
pub(crate) fn commit(row: &HistoryRow) -> v1::Commit {
    of_parts(&row.commit, &row.summary, row.first.as_ref(), &row.annotations)
}

/// Returns the wire form of everything that is known about a commit.
pub(crate) fn shown(shown: &Shown) -> v1::Commit {
    v1::Commit {
        sightings: Some(shown.sightings.iter().map(sighting).collect()),
        links: Some(shown.links.iter().map(link).collect()),
        children: Some(shown.children.iter().map(ToString::to_string).collect()),
        audit: Some(shown.audit.iter().map(audit).collect()),
        ..of_parts(&shown.commit, &shown.summary, shown.sightings.first(), &shown.annotations)
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
        sightings: None,
        links: None,
        children: None,
        audit: None,
        entries: None,
        run: None,
        prompt: None,
        subagents: None,
        turn: None,
        overview: None,
        turns: None,
        continues: None,
        is_beside: false,
    }
}

fn sighting(sighting: &Sighting) -> v1::Sighting {
    v1::Sighting {
        principal: sighting.principal.to_string(),
        machine: sighting.machine.to_string(),
        session_id: sighting.session.to_string(),
        checkpoint: sighting.trigger.as_str().to_owned(),
        reasons: sighting.reasons.iter().map(|reason| reason.as_str().to_owned()).collect(),
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

/// Returns the wire form of a commit within a tree.
pub(crate) fn node(row: &HistoryRow, node: &TreeNode) -> v1::Commit {
    v1::Commit {
        links: Some(node.links.iter().map(link).collect()),
        children: Some(node.children.iter().map(ToString::to_string).collect()),
        ..commit(row)
    }
}

/// Returns the wire form of a commit's name.
pub(crate) fn named(shown: &Shown) -> v1::Named {
    v1::Named {
        id: shown.commit.id.to_string(),
        session_id: shown.sightings.first().map(|sighting| sighting.session.to_string()),
        closure: shown.commit.closure.as_str().to_owned(),
    }
}

/// Returns the wire form of a subagent.
pub(crate) fn subagent(subagent: &Subagent) -> v1::TreeSubagent {
    v1::TreeSubagent {
        tip: subagent.tip.to_string(),
        session: subagent.session.as_ref().map(wire::session::session),
    }
}

/// Returns the wire form of a link.
fn link(link: &Link) -> v1::Link {
    v1::Link {
        from: link.from.to_string(),
        kind: link_kind(link.kind).to_owned(),
        to: link.to.to_string(),
        entry: link.entry.as_ref().map(ToString::to_string),
    }
}

/// Returns the stable name of a link's kind.
const fn link_kind(kind: LinkKind) -> &'static str {
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
    one_line_within(&words, ENTRY_CHARS_MAX)
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
