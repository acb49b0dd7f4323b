//! What a translation did not keep as it was: counted, and listed entry by entry.

use serde::{Deserialize, Serialize};

use crate::{EntryId, FormatId};

/// Losses that one report lists; further ones are counted.
pub const LOSSES_MAX: usize = 10_000;

/// What happened to a part of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
pub enum LossAction {
    /// It is there, otherwise said.
    Changed,
    /// It is not there.
    Dropped,
    /// It is there as it was; the target does not know it.
    Kept,
}

/// One thing that did not come across as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Loss {
    /// The entry it was part of.
    pub entry: String,
    /// `changed`, `dropped`, or `kept` for a call as it was of a tool that the target does not have.
    pub action: LossAction,
    /// `entry`, `text`, `thinking`, `tool_name`, `tool_error`, `image`, `file` or `opaque`.
    pub part: String,
    /// What it was and why: `a thought that only Anthropic can read`.
    pub reason: String,
    /// The tool of a call that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// What a translation did not keep as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Losses {
    /// The format that was read.
    pub from: String,
    /// The format that was written.
    pub to: String,
    /// Entries of the conversation that are in the result.
    pub kept: u64,
    /// Entries of them in which something changed or is missing.
    pub changed: u64,
    /// Entries of the conversation that are not in the result.
    pub dropped: u64,
    /// Records that no model sees, which do not come across.
    pub unsaid: u64,
    /// The losses, in the order of the entries.
    pub entries: Vec<Loss>,
    /// Losses that are not listed, because there are too many.
    pub unlisted: u64,
    /// The entry that was counted as changed last, as long as entries are added.
    #[serde(skip)]
    last_changed: Option<String>,
}

impl Losses {
    /// Begins a report.
    pub fn new(from: &FormatId, to: &FormatId) -> Self {
        Self {
            from: from.to_string(),
            to: to.to_string(),
            kept: 0,
            changed: 0,
            dropped: 0,
            unsaid: 0,
            entries: Vec::new(),
            unlisted: 0,
            last_changed: None,
        }
    }

    /// Reports that all entries of a conversation are in the result as they were.
    pub fn whole(from: &FormatId, to: &FormatId, kept: u64) -> Self {
        Self { kept, ..Self::new(from, to) }
    }

    /// Notes a loss.
    pub fn add(&mut self, entry: &EntryId, action: LossAction, part: &str, reason: &str) {
        if part == "entry" && action == LossAction::Dropped {
            self.drop_entry(entry);
        } else if self.last_changed.as_deref() != Some(entry.as_str()) {
            self.changed += 1;
            self.last_changed = Some(entry.to_string());
        }
        let (part, reason) = (part.to_owned(), reason.to_owned());
        self.list(Loss { entry: entry.to_string(), action, part, reason, tool: None });
    }

    /// Notes that an entry is not there. Where each of its parts was noted before, those are its losses: none counts twice.
    pub fn drop_entry(&mut self, entry: &EntryId) {
        self.dropped += 1;
        // What was noted of its parts before is no change of something that is there.
        self.changed -= u64::from(self.last_changed.take().as_deref() == Some(entry.as_str()));
    }

    /// Notes that a call is there as it was, of a tool that the target does not have.
    pub fn keep_tool(&mut self, entry: &EntryId, name: &str, to: &str) {
        let reason = format!("a call of `{name}`, a tool that {to} does not have");
        let (entry, part, tool) = (entry.to_string(), "tool_name".to_owned(), Some(name.to_owned()));
        self.list(Loss { entry, action: LossAction::Kept, part, reason, tool });
    }

    /// Ends a report. It is equal then to one that was read from its JSON.
    #[must_use]
    pub fn ended(mut self) -> Self {
        self.last_changed = None;
        self
    }

    fn list(&mut self, loss: Loss) {
        if self.entries.len() < LOSSES_MAX {
            self.entries.push(loss);
        } else {
            self.unlisted += 1;
        }
    }

    /// Takes the losses of another part of the same chain, which stands behind this one.
    pub fn append(&mut self, other: Self) {
        self.kept += other.kept;
        self.changed += other.changed;
        self.dropped += other.dropped;
        self.unsaid += other.unsaid;
        self.unlisted += other.unlisted;
        let room = LOSSES_MAX.saturating_sub(self.entries.len()).min(other.entries.len());
        self.unlisted += u64::try_from(other.entries.len() - room).unwrap_or(u64::MAX);
        self.entries.extend(other.entries.into_iter().take(room));
    }
}
