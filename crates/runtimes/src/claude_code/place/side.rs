//! A subagent's conversation, placed as a session of its own: its client opens no session whose records are all marked.

use super::super::record::Record;
use crate::json::{Field, members, text};
use crate::placing::replace;

/// What the placer does with the mark of subagents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mark {
    /// No record of the tree was there yet.
    #[default]
    Unknown,
    /// It stays: the conversation is a session's own.
    Keep,
    /// It goes, and with it the name of the agent.
    Remove,
}

impl Mark {
    /// Returns what is done when this record is the next: the first one of the tree decides.
    pub(super) fn with(self, record: &Record<'_>) -> Self {
        match self {
            Self::Unknown if text(record.uuid).is_none() => Self::Unknown,
            Self::Unknown if record.is_sidechain_record() => Self::Remove,
            Self::Unknown => Self::Keep,
            decided => decided,
        }
    }
}

/// Returns a subagent's line as one of a session of its own.
pub(super) fn unmarked(line: &str, record: &Record<'_>) -> Vec<u8> {
    let mut edits = Vec::new();
    if let Some(mark) = record.is_sidechain.filter(|_| record.is_sidechain_record()) {
        edits.push((mark.span(), "false".to_owned()));
    }
    let members = members(Field::whole(line)).unwrap_or_default();
    for (index, member) in members.iter().enumerate().filter(|(_, member)| member.name == "agentId") {
        // With the comma behind it, or with the one before it where it is the last.
        let (start, end) = match (members.get(index + 1), index.checked_sub(1)) {
            (Some(next), _) => (member.key.start, next.key.start),
            (None, Some(before)) => (
                members.get(before).map_or(member.key.start, |before| before.value.span().end),
                member.value.span().end,
            ),
            (None, None) => (member.key.start, member.value.span().end),
        };
        edits.push((start..end, String::new()));
    }
    let mut unmarked = Vec::with_capacity(line.len());
    replace(line.as_bytes(), edits, &mut unmarked);
    unmarked
}
