//! Where commits end in a Claude Code transcript: the normative turn rule of `claude-code-v1`.
//!
//! Decides boundaries only; what lines mean is in `decode`. Changing a rule here needs a new format id,
//! for the same bytes must give the same commits everywhere.
//!
//! - A commit closes before a *real user record* (`Kind::Prompt`), provided that the open turn
//!   already holds a `user` or `assistant` record; so metadata ahead of the first prompt is part of its turn.
//! - It closes before a compaction's boundary record, where it holds a `user` or `assistant` record, and
//!   after the summary that follows; that commit is the compaction. Where the next real user record
//!   comes first, the boundary is part of a delta. A summary without a boundary, as old versions
//!   write it, is a compaction of its own.
//! - `message` closes before each record that begins a message as well: a user record, or an assistant
//!   record of another `message.id` than the assistant record before. `every:N` closes at each N-th place
//!   where `turn` would. Between a boundary and its summary only a real user record closes.
//! - In a main transcript, records of subagents neither open turns nor compact.

use stemmata_model::{CommitType, EntryKind, Granularity, Note, NoteCode};

use super::apart::apart;
use super::count::counts;
use super::facts::{TEMPLATES, hints, is_subagent, is_subagent_with};
use super::kind::{Class, each_unknown};
use super::record::Record;
use super::whole::Whole;
use crate::adapter::Cut;
use crate::apart::told;
use crate::json::{RecordError, text};
use crate::lines::count::UNSEEN;
use crate::lines::facts::{Hints, Templates};
use crate::lines::split::{Rule, Split};

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct Turns;

/// Takes a line that is no single record: it cuts nothing and dates nothing, but its records are counted, and say what they
/// say of the session.
fn take_parts(split: &mut Split, line: &[u8], error: &RecordError, notes: &mut Vec<Note>) {
    let parts = apart(line, false);
    if parts.iter().all(|part| part.record.is_none()) {
        split.unreadable += 1;
        split.note_unreadable(line, error, notes);
    } else {
        split.note(NoteCode::Degraded, &told(&parts), notes);
    }
    for part in &parts {
        let whole = part.record.as_ref().and_then(|record| Whole::parse(record.as_bytes()).ok());
        let Some(whole) = whole else {
            split.count(UNSEEN);
            continue;
        };
        each_unknown(&whole, &mut |name| split.unknown.count(name));
        let Whole { record, inside } = whole;
        let class = Class::of(&record, inside);
        split.count(counts(&class));
        let facts = &mut split.ground.facts;
        let is_prompt = Kind::of(&record, &class, is_subagent(facts)) == Kind::Prompt;
        // The template is hashed, so a line that is not one record alone doesn't decide it.
        let said = Hints { is_subagent: None, ..hints(facts, &record, is_prompt.then_some(&class)) };
        facts.learn(TEMPLATES, said, record.time());
    }
}

/// Returns whether a commit ends before this record, and counts the turn that ends there.
fn closes_before(split: &mut Split, kind: Kind, begins_message: bool) -> bool {
    let open = &split.open;
    match kind {
        Kind::Prompt if open.awaits_summary => true,
        Kind::Prompt if open.has_conversation => split.ends_turn(),
        Kind::Boundary => open.holds_conversation(),
        // A summary of an old version, without a boundary.
        Kind::Summary => !open.awaits_summary && open.holds_conversation(),
        Kind::Conversation => begins_message && open.has_conversation && !open.awaits_summary,
        Kind::Prompt | Kind::Other => false,
    }
}

/// Returns the hash of a record's `message.id`.
fn message_hash(class: &Class<'_>) -> Option<String> {
    let id = text(class.message?.id)?;
    Some(blake3::hash(id.as_bytes()).to_hex().to_string())
}

/// What a record is to the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A real user record.
    Prompt,
    /// Any other user or assistant record.
    Conversation,
    /// A compaction begins.
    Boundary,
    /// A compaction's summary.
    Summary,
    Other,
}

impl Kind {
    fn of(record: &Record<'_>, class: &Class<'_>, in_subagent_file: bool) -> Self {
        let is_own = in_subagent_file || !record.is_sidechain_record();
        if is_own && record.is_compact_boundary() {
            Self::Boundary
        } else if is_own && record.is_compaction_summary() {
            Self::Summary
        } else if record.is_user_besides_results(in_subagent_file) && class.kind != EntryKind::ToolResult {
            Self::Prompt
        } else if record.is_type("user") || record.is_type("assistant") {
            Self::Conversation
        } else {
            Self::Other
        }
    }
}

impl Rule for Turns {
    fn templates(&self) -> Templates {
        TEMPLATES
    }

    fn line(&self, split: &mut Split, line: &[u8], notes: &mut Vec<Note>) -> Cut {
        let whole = match Whole::parse(line) {
            Ok(whole) => whole,
            Err(error) => {
                split.ground.lines += 1;
                take_parts(split, line, &error, notes);
                return Cut::default();
            }
        };
        each_unknown(&whole, &mut |name| split.unknown.count(name));
        let Whole { record, inside } = whole;
        let class = Class::of(&record, inside);
        let kind = Kind::of(&record, &class, is_subagent_with(&split.ground.facts, &record));
        // Only `message` needs the second look into every answer.
        let message = (split.granularity == Granularity::Message && record.is_type("assistant"))
            .then(|| message_hash(&class));
        let begins_message = match &message {
            Some(id) => id.is_none() || *id != split.ground.message,
            None => split.granularity == Granularity::Message,
        };
        let mut cut = Cut::default();
        if closes_before(split, kind, begins_message) {
            // The state at this boundary knows nothing of the line after it.
            cut.before = Some(split.close(CommitType::Delta));
        }
        let time = record.time();
        split.ground.lines += 1;
        let facts = &mut split.ground.facts;
        let said = hints(facts, &record, (kind == Kind::Prompt).then_some(&class));
        facts.learn(TEMPLATES, said, time);
        if let Some(id) = message {
            split.ground.message = id;
        }
        split.open.timestamp = split.open.timestamp.max(time);
        split.count(counts(&class));
        match kind {
            Kind::Prompt | Kind::Conversation => split.open.has_conversation = true,
            Kind::Boundary => split.open.awaits_summary = true,
            Kind::Summary => {
                cut.after = Some(split.close(CommitType::Compaction));
            }
            Kind::Other => {}
        }
        cut
    }
}

#[cfg(test)]
mod tests;
