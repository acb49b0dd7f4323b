//! From one runtime's conversation to another's: the same entries, as far as the other can express them.
//!
//! Pure: entries in, entries and a report of every loss out; encoding them is the target's adapter. What is kept, changed
//! or dropped is decided here and nowhere else.

mod intake;
mod parts;
mod tools;

use std::collections::HashMap;

use stemmata_model::{
    Entry, EntryId, EntryKind, EntryMeta, FormatId, LossAction, Losses, Maker, Part, Role, Visibility,
};

pub use intake::{Files, Intake, IntakeRow, Reasoning};

use crate::adapter::PlanStop;
use crate::calls::CallNames;

/// A conversation in terms that another runtime has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// The entries, each the child of the one before.
    pub entries: Vec<Entry>,
    /// What did not come across, and what came across changed.
    pub report: Losses,
    /// Compactions that were left out, for what they stand for is there.
    pub skipped_compactions: u64,
}

/// Returns the runtime of a format: its name up to the version, and the name that both formats of a runtime share.
pub fn runtime_of(format: &FormatId) -> &str {
    let name = format.as_str();
    let (runtime, version) = name.rsplit_once("-v").unwrap_or((name, ""));
    let runtime = if version.bytes().all(|byte| byte.is_ascii_digit()) { runtime } else { name };
    runtime.strip_suffix("-legacy").unwrap_or(runtime)
}

/// Translates a conversation: entries as they follow each other, of one format each, into another. It begins where a
/// model's context does.
///
/// Linear in the bytes of the entries.
pub fn translate(entries: Vec<Entry>, from: &FormatId, to: &FormatId) -> Translated {
    translate_from(PlanStop::Compaction, entries, from, to)
}

/// Translates a conversation from where a context of that kind begins (see [`translate`]).
pub fn translate_from(stop: PlanStop, entries: Vec<Entry>, from: &FormatId, to: &FormatId) -> Translated {
    let mut translator = Translator {
        from: runtime_of(from),
        from_intake: intake::of_runtime(runtime_of(from)),
        to: runtime_of(to),
        to_intake: intake::of_runtime(runtime_of(to)),
        report: Losses::new(from, to),
        out: Vec::new(),
        run: None,
        seen: HashMap::new(),
        calls: CallNames::default(),
        made_in: 0,
    };
    let Told { entries, skipped_compactions } = as_told(entries, translator.from, stop);
    // A subagent's own transcript is a sidechain as a whole, and then a conversation.
    let is_side = entries.iter().filter(|entry| is_said(entry)).all(|entry| entry.meta.sidechain.is_some());
    for entry in entries {
        translator.entry(entry, is_side);
    }
    Translated { entries: translator.out, report: translator.report.ended(), skipped_compactions }
}

/// A conversation as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The entries, in the order in which they are sent.
    pub entries: Vec<Entry>,
    /// Compactions that were left out, for what they stand for is there.
    pub skipped_compactions: u64,
}

/// Returns a runtime's entries in the order in which a model sees them, and each as it stood last. Where a context begins
/// is decided by a plan of its lines, but for documents, which hold everything: there `stop` decides it here.
pub fn as_told(entries: Vec<Entry>, runtime: &str, stop: PlanStop) -> Told {
    (intake::of_runtime(runtime).as_told)(entries, stop)
}

struct Translator<'f> {
    from: &'f str,
    from_intake: &'static Intake,
    to: &'f str,
    to_intake: &'static Intake,
    report: Losses,
    out: Vec<Entry>,
    /// The message that consecutive answers are: loaders merge lines by it.
    run: Option<String>,
    /// The calls so far: no client takes two of one id.
    calls: CallNames,
    /// Counts the results so far: calls with no result between them were made at once.
    made_in: usize,
    /// How often each id was met: entries without one are named by what they say, and may say it twice.
    seen: HashMap<EntryId, u64>,
}

fn is_said(entry: &Entry) -> bool {
    entry.meta.visibility.agent
        && !matches!(entry.kind, EntryKind::Metadata | EntryKind::CompactionBoundary | EntryKind::Unreadable)
}

impl Translator<'_> {
    fn entry(&mut self, entry: Entry, is_side: bool) {
        if !is_said(&entry) {
            // Titles, settings, progress, the mark of a compaction: no part of what is sent to a model.
            self.report.unsaid += 1;
            return;
        }
        if entry.meta.sidechain.is_some() && !is_side {
            let reason = "a message of a subagent, whose conversation is a chain of its own";
            return self.report.add(&entry.id, LossAction::Dropped, "entry", reason);
        }
        if self.is_own_instruction(&entry) {
            let reason = format!("an instruction that {} gives; {} gives its own", self.from, self.to);
            return self.report.add(&entry.id, LossAction::Dropped, "entry", &reason);
        }
        let provider = entry.meta.model.as_deref().and_then(Maker::of_model).or(self.from_intake.maker);
        let change = parts::Change {
            entry: &entry.id,
            from: self.from,
            to: self.to,
            intake: self.to_intake,
            provider,
            is_same_provider: self.accepts(provider),
        };
        let mut entry_parts = entry.parts;
        self.name_calls(&mut entry_parts);
        let had_parts = !entry_parts.is_empty();
        let parts = parts::translate(entry_parts, &change, &mut self.report);
        if parts.is_empty() && had_parts {
            return self.report.drop_entry(&entry.id);
        }
        self.report.kept += 1;
        self.push(Entry { parts, ..Entry { parts: Vec::new(), ..entry } });
    }

    /// Tells calls of one id apart, and has each result name its call.
    fn name_calls(&mut self, parts: &mut [Part]) {
        for part in parts {
            match part {
                Part::ToolCall { call_id, .. } => *call_id = self.calls.call(call_id, self.made_in),
                Part::ToolResult { call_id, .. } => {
                    // What comes behind a result was called later.
                    self.made_in += 1;
                    if let Some((name, _)) = self.calls.result(call_id) {
                        *call_id = name;
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns whether an entry is what the runtime itself tells the model at every start.
    fn is_own_instruction(&self, entry: &Entry) -> bool {
        let is_own = entry.role == Role::System || self.from_intake.gives_instructions;
        // What a program of one's own told the model goes where there is a place for it.
        let has_place = self.from_intake.takes_instructions && self.to_intake.takes_instructions;
        entry.kind == EntryKind::Instruction && is_own && !has_place
    }

    /// Returns whether signatures and encrypted reasoning of a provider mean something to the target.
    fn accepts(&self, provider: Option<Maker>) -> bool {
        // A runtime that talks to any provider looks itself at what a message's model was.
        self.to_intake.maker.is_none() || self.to_intake.maker == provider
    }

    /// Gives an entry another id where one before it has the same: a loader takes two of one id for one.
    fn name_apart(&mut self, entry: &mut Entry) {
        let count = self.seen.entry(entry.id.clone()).or_default();
        if *count > 0 {
            let name = format!("again-{}", short(&format!("{} {count}", entry.id)));
            entry.id = EntryId::new(name).expect("digits and letters are a name");
        }
        *count += 1;
    }

    /// Appends an entry as the child of the one before.
    fn push(&mut self, mut entry: Entry) {
        self.name_apart(&mut entry);
        entry.parent = self.out.last().map(|last| last.id.clone());
        let message_id = if entry.role == Role::Assistant {
            let id = entry.meta.message_id.clone();
            let id = self
                .run
                .get_or_insert_with(|| id.unwrap_or_else(|| format!("msg_{}", short(entry.id.as_str()))));
            Some(id.clone())
        } else {
            self.run = None;
            None
        };
        entry.meta = EntryMeta {
            visibility: Visibility { agent: true, user: entry.meta.visibility.user },
            model: entry.meta.model,
            message_id,
            // What another client's request cost says nothing of the next one's window.
            usage: None,
            stop_reason: None,
            cwd: entry.meta.cwd,
            git_branch: entry.meta.git_branch,
            sidechain: None,
            author: entry.meta.author,
        };
        self.out.push(entry);
    }
}

/// Returns a name made of an id, the same everywhere.
fn short(id: &str) -> String {
    let hash = blake3::Hash::from_bytes(blake3::derive_key("stemmata.translate.v1", id.as_bytes())).to_hex();
    hash.split_at(24).0.to_owned()
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod tests;
