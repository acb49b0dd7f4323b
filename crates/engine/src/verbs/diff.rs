//! `diff`: what a compaction lost.

use std::collections::{BTreeSet, HashSet};

use serde_json::Value;
use stemmata_acts::{Certainty, FileAct, Reach, ToolUse, tool_uses};
use stemmata_api::v1::{Diff, LostEntry};
use stemmata_model::{CommitId, Entry, EntryKind, Json, Part, SessionId, to_u64};
use stemmata_prompt::reduce::memory::SessionMemory;

use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::at::{one_line, text_of};
use crate::verbs::materialize::Stop;

/// Characters of an entry's text that a diff shows.
const TEXT_CHARS_MAX: usize = 120;

impl Engine {
    /// Compares the context before the nearest compaction with the one after it.
    ///
    /// # Errors
    /// `NotFound` when nothing was compacted; as `materialize`.
    pub fn diff(&self, ctx: CommitId) -> Result<Diff> {
        let newest = self.newest_compaction(ctx, None)?;
        self.diff_of((newest.id, newest.before))
    }

    /// Compares the context after a compaction with the one of the commit before it.
    ///
    /// # Errors
    /// As [`Engine::diff`].
    pub fn diff_of(&self, (compaction, before): (CommitId, CommitId)) -> Result<Diff> {
        let (old, new) = (self.entries_of(before)?, self.entries_of(compaction)?);
        self.diff_between((compaction, before), &old, &new)
    }

    /// Compares what was said before a compaction with what is said after it.
    pub(crate) fn diff_between(
        &self,
        (compaction, before): (CommitId, CommitId),
        old: &[Entry],
        new: &[Entry],
    ) -> Result<Diff> {
        let cwd = self.first_session(before)?.and_then(|session| session.cwd);
        between((compaction, before), (old, new), cwd.as_deref())
    }

    pub(crate) fn entries_of(&self, ctx: CommitId) -> Result<Vec<Entry>> {
        let mut bytes = Vec::new();
        let made = self.materialize(Some(ctx), None, Stop::Compaction, &mut bytes)?;
        let adapter = Self::adapter(&made.format, FormatUse::Read)?;
        Ok(adapter.said_alone(adapter.decode(&bytes).entries, &bytes, true))
    }
}

/// Compares the entries before a compaction with those after it.
fn between(
    (compaction, before): (CommitId, CommitId),
    (old, new): (&[Entry], &[Entry]),
    cwd: Option<&str>,
) -> Result<Diff> {
    let text = spoken(new);
    let kept: HashSet<&str> = new.iter().map(|entry| entry.id.as_str()).collect();
    let (stayed, gone): (Vec<&Entry>, Vec<&Entry>) =
        old.iter().filter(|entry| is_said(entry)).partition(|entry| kept.contains(entry.id.as_str()));
    let worked = Worked::of(old, cwd);
    let (kept_files, lost_files): (Vec<String>, Vec<String>) =
        worked.files.into_iter().partition(|file| names_file(&text, file));
    let lost_commands =
        worked.commands.into_iter().filter(|command| !text.contains(command.as_str())).collect();
    let unsure_files = worked.unsure.into_iter().filter(|file| !names_file(&text, file)).collect();
    let memory = memory_of(old)?;
    let is_lost = |said: &String| !text.contains(said.trim_end_matches('…'));
    let decided = memory.items().decisions.iter().map(|decision| decision.text.clone());
    let failed = memory.items().errors.iter().map(|error| error.text.clone());
    let lost_decisions = decided.filter(is_lost).collect();
    let lost_errors = failed.filter(|said| !said.is_empty()).filter(is_lost).collect();
    Ok(Diff {
        compaction,
        before,
        kept_entries: to_u64(stayed.len()),
        lost_entries: gone.into_iter().map(lost).collect(),
        lost_files,
        kept_files,
        unsure_files,
        lost_commands,
        lost_decisions,
        lost_errors,
        notes: Vec::new(),
    })
}

/// Returns what was decided and demanded, and what failed.
fn memory_of(entries: &[Entry]) -> Result<SessionMemory> {
    let mut memory = SessionMemory::new(&SessionId::new("diff")?, None);
    for (ordinal, entry) in (0..).zip(entries) {
        memory.entry(entry, ordinal);
    }
    Ok(memory)
}

fn is_said(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult) && entry.meta.visibility.agent
}

/// A file counts as named by its whole path or by its name.
fn names_file(text: &str, file: &str) -> bool {
    let name = file.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(file);
    text.contains(file) || text.contains(name)
}

fn lost(entry: &Entry) -> LostEntry {
    let text = text_of(entry);
    let text = if text.trim().is_empty() { describe(entry) } else { text };
    LostEntry {
        id: entry.id.to_string(),
        role: entry.role.as_str().to_owned(),
        kind: entry.kind.as_str().to_owned(),
        text: one_line(&text, TEXT_CHARS_MAX),
    }
}

fn describe(entry: &Entry) -> String {
    let parts = entry.parts.iter().map(|part| match part {
        Part::ToolCall { name, arguments, .. } => format!("{name} {arguments}"),
        Part::ToolResult { parts, is_error, .. } => {
            let text: Vec<&str> = parts
                .iter()
                .filter_map(|part| if let Part::Text(text) = part { Some(text.as_str()) } else { None })
                .collect();
            format!("{}{}", if *is_error { "error: " } else { "" }, text.join(" "))
        }
        Part::Thinking { .. } => "(thinking)".to_owned(),
        Part::Image { media_type, .. } => format!("({media_type})"),
        Part::File { name, .. } => format!("({name})"),
        Part::Text(text) | Part::Summary { text, .. } => text.clone(),
        Part::Opaque { kind, .. } => format!("({kind})"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// Files that calls touched, those that are sure and those that may have been, and commands that they ran.
struct Worked {
    files: BTreeSet<String>,
    unsure: BTreeSet<String>,
    commands: Vec<String>,
}

impl Worked {
    fn of(entries: &[Entry], cwd: Option<&str>) -> Self {
        let uses = tool_uses(entries);
        let worked_in: BTreeSet<&str> =
            entries.iter().filter_map(|entry| entry.meta.cwd.as_deref()).chain(cwd).collect();
        let touched = uses.iter().flat_map(ToolUse::files);
        let (sure, unsure): (Vec<FileAct>, Vec<FileAct>) = touched
            .filter(|file| !file.is_scratch(worked_in.iter().copied()))
            .partition(|file| file.certainty > Certainty::Possible && file.reach == Reach::File);
        let paths = |files: Vec<FileAct>| -> BTreeSet<String> {
            files.iter().flat_map(|file| [file.path.clone(), file.path_after().to_owned()]).collect()
        };
        let files = paths(sure);
        let unsure = paths(unsure).difference(&files).cloned().collect();
        let mut seen = HashSet::new();
        let commands = uses.iter().flat_map(ToolUse::commands).map(|command| command.line.clone());
        Self { files, unsure, commands: commands.filter(|line| seen.insert(line.clone())).collect() }
    }
}

/// Returns all that a context says, as it was said: JSON within it would hide quotes and line ends.
fn spoken(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        spoken_of(&entry.parts, &mut text);
    }
    text
}

fn spoken_of(parts: &[Part], text: &mut String) {
    for part in parts {
        match part {
            Part::Text(said) | Part::Summary { text: said, .. } | Part::Thinking { text: said, .. } => {
                text.push_str(said);
            }
            Part::ToolCall { arguments, .. } => strings(arguments, text),
            Part::ToolResult { parts, .. } => spoken_of(parts, text),
            Part::File { name, .. } => text.push_str(name),
            Part::Opaque { json, .. } => strings(json, text),
            Part::Image { .. } => {}
        }
        text.push('\n');
    }
}

/// Adds the strings of a JSON text, or the text where it is none.
fn strings(json: &str, text: &mut String) {
    let Ok(value) = Json::value_of(json) else { return text.push_str(json) };
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(said) => {
                text.push_str(&said);
                text.push('\n');
            }
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => left.extend(fields.into_iter().map(|(_, value)| value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}
