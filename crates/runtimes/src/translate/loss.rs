//! What a translation did not keep as it was: counted, and listed entry by entry.

use serde::Serialize;
use stemmata_model::{EntryId, FormatId};

/// Losses that one report lists; further ones are counted.
pub const LOSSES_MAX: usize = 10_000;

/// What happened to a part of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Action {
    /// It is there, otherwise said.
    Changed,
    /// It is not there.
    Dropped,
    /// It is there as it was; the target does not know it.
    Kept,
}

impl Action {
    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One thing that did not come across as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Loss {
    /// The entry it was part of.
    pub entry: String,
    /// What happened to it.
    pub action: Action,
    /// What it was: `entry`, `text`, `thinking`, `tool_name`, `tool_error`, `image`, `file` or `opaque`.
    pub part: &'static str,
    /// What it was and why, as a person counts it: `a thought that only Anthropic can read`.
    pub reason: String,
    /// The tool whose call it was, of a name that is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

/// The report of a translation; its JSON is documented in `docs/reference/json.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LossReport {
    /// The format that was read.
    pub from: String,
    /// The format that was written.
    pub to: String,
    /// Entries of the conversation that are in the result, whole or changed.
    pub kept: u64,
    /// Entries of them in which something changed or is missing.
    pub changed: u64,
    /// Entries of the conversation that are not in the result.
    pub dropped: u64,
    /// Records that no model sees, such as titles and settings: they do not come across.
    pub unsaid: u64,
    /// The losses, in the order of the entries.
    pub losses: Vec<Loss>,
    /// Losses that are not listed, because there are too many.
    pub unlisted: u64,
    #[serde(skip)]
    last_changed: Option<String>,
}

impl LossReport {
    pub(super) fn new(from: &FormatId, to: &FormatId) -> Self {
        Self {
            from: from.to_string(),
            to: to.to_string(),
            kept: 0,
            changed: 0,
            dropped: 0,
            unsaid: 0,
            losses: Vec::new(),
            unlisted: 0,
            last_changed: None,
        }
    }

    /// Reports that all entries of a conversation are in the result as they were.
    pub fn whole(from: &FormatId, to: &FormatId, kept: u64) -> Self {
        Self { kept, ..Self::new(from, to) }
    }

    /// Notes a loss.
    pub(super) fn add(&mut self, entry: &EntryId, action: Action, part: &'static str, reason: &str) {
        if part == "entry" && action == Action::Dropped {
            self.drop_entry(entry);
        } else if self.last_changed.as_deref() != Some(entry.as_str()) {
            self.changed += 1;
            self.last_changed = Some(entry.to_string());
        }
        self.list(Loss { entry: entry.to_string(), action, part, reason: reason.to_owned(), tool: None });
    }

    /// Notes that an entry is not there. Where each of its parts was noted before, those are its losses: none counts twice.
    pub(super) fn drop_entry(&mut self, entry: &EntryId) {
        self.dropped += 1;
        // What was noted of its parts before is no change of something that is there.
        self.changed -= u64::from(self.last_changed.take().as_deref() == Some(entry.as_str()));
    }

    /// Notes that a call is there as it was, of a tool that the target does not have.
    pub(super) fn keep_tool(&mut self, entry: &EntryId, name: &str, to: &str) {
        let reason = format!("a call of `{name}`, a tool that {to} does not have");
        let (entry, tool) = (entry.to_string(), Some(name.to_owned()));
        self.list(Loss { entry, action: Action::Kept, part: "tool_name", reason, tool });
    }

    fn list(&mut self, loss: Loss) {
        if self.losses.len() < LOSSES_MAX {
            self.losses.push(loss);
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
        let room = LOSSES_MAX.saturating_sub(self.losses.len()).min(other.losses.len());
        self.unlisted += u64::try_from(other.losses.len() - room).unwrap_or(u64::MAX);
        self.losses.extend(other.losses.into_iter().take(room));
    }
}
