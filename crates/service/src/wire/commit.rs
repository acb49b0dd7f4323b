//! Commits and what stands beside them, as wire types.

use stemmata_api::v1;
use stemmata_engine::{HistoryRow, Shown, TreeNode};
use stemmata_model::quote::one_line_within;
use stemmata_model::{Commit, CommitType, Entry, Part, Sighting};
use stemmata_store::{Annotation, Annotations, AuditRecord};

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
        links: Some(shown.links.clone()),
        children: Some(shown.children.clone()),
        audit: Some(shown.audit.iter().map(audit).collect()),
        ..of_parts(&shown.commit, &shown.summary, shown.sightings.first(), &shown.annotations)
    }
}

fn of_parts(
    commit: &Commit,
    summary: &v1::Summary,
    first: Option<&Sighting>,
    annotations: &Annotations,
) -> v1::Commit {
    let core = &commit.core;
    v1::Commit {
        id: commit.id,
        parent: core.parent,
        commit_type: commit_type(core.commit_type),
        restated_entries: match core.commit_type {
            CommitType::Snapshot { restated_entries } => Some(restated_entries),
            CommitType::Delta | CommitType::Compaction => None,
        },
        artifact: core.artifact,
        native: core.native,
        format: core.format.clone(),
        template: core.template.clone(),
        created_at: core.created_at,
        principal: first.map(|sighting| sighting.principal.clone()),
        machine: first.map(|sighting| sighting.machine.clone()),
        session_id: first.map(|sighting| sighting.session.clone()),
        checkpoint: first.map(|sighting| sighting.trigger),
        ticket_id: first.and_then(|sighting| sighting.ticket.clone()),
        thread_id: first.and_then(|sighting| sighting.thread.clone()),
        message_count: commit.counts.messages,
        token_count: commit.counts.tokens,
        entry_count: commit.counts.entries,
        summary: summary.clone(),
        tags: annotations.tags.clone(),
        notes: annotations.notes.clone(),
        pinned: annotations.pinned,
        closure: commit.closure,
        rules: commit.rules,
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

const fn commit_type(of: CommitType) -> v1::CommitType {
    match of {
        CommitType::Delta => v1::CommitType::Delta,
        CommitType::Compaction => v1::CommitType::Compaction,
        CommitType::Snapshot { .. } => v1::CommitType::Snapshot,
    }
}

fn sighting(sighting: &Sighting) -> v1::Sighting {
    v1::Sighting {
        principal: sighting.principal.clone(),
        machine: sighting.machine.clone(),
        session_id: sighting.session.clone(),
        checkpoint: sighting.trigger,
        reasons: sighting.reasons.iter().collect(),
        ticket_id: sighting.ticket.clone(),
        thread_id: sighting.thread.clone(),
        template_alias: sighting.template_alias.clone(),
        observed_at: sighting.observed_at,
        source: sighting.source.clone(),
    }
}

/// Returns the wire form of a commit within a tree.
pub(crate) fn node(row: &HistoryRow, node: &TreeNode) -> v1::Commit {
    v1::Commit { links: Some(node.links.clone()), children: Some(node.children.clone()), ..commit(row) }
}

/// Returns the wire form of a commit's name.
pub(crate) fn named(shown: &Shown) -> v1::Named {
    v1::Named {
        id: shown.commit.id,
        session_id: shown.sightings.first().map(|sighting| sighting.session.clone()),
        closure: shown.commit.closure,
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
        at: record.at,
        by: record.by.clone(),
        change: change.to_owned(),
        text: text.map(str::to_owned),
    }
}

/// Returns the wire form of an entry.
pub(crate) fn entry(entry: &Entry) -> v1::Entry {
    v1::Entry {
        id: entry.id.clone(),
        parent: entry.parent.clone(),
        role: entry.role,
        kind: entry.kind.as_str().to_owned(),
        timestamp: entry.timestamp,
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
