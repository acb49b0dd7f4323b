//! The tool calls of a conversation with what came of them.
//!
//! Pure: entries in, calls out. What stands in the files today is not looked at.

use std::borrow::Cow;
use std::collections::HashMap;

use stemmata_model::{Entry, Part};

use crate::act::{Act, Certainty, CommandAct, FileAct, TaskAct};
use crate::editor::opened_file;
use crate::item::done_item;
use crate::outcome::{Outcome, complains_of_files, judged, outcome};
use crate::read::{Answer, Call, acts};

/// A tool call of a conversation, what it does, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse<'e> {
    /// Position of the entry that makes the call.
    pub entry: usize,
    /// The call.
    pub call_id: &'e str,
    /// The tool, as the runtime spells it.
    pub name: &'e str,
    /// JSON text; a patch or code where the tool takes text.
    pub arguments: Cow<'e, str>,
    /// What it does.
    pub acts: Vec<Act>,
    /// What it returned. `None` while the conversation has no answer to the call.
    pub answer: Option<Answer<'e>>,
    /// How it ended, also where a later call waited for its end.
    pub outcome: Outcome,
}

/// Returns the tool calls of a conversation in their order. A result answers the latest call of its id before it; a call that
/// goes on with an earlier one ends that one.
pub fn tool_uses(entries: &[Entry]) -> Vec<ToolUse<'_>> {
    let mut uses: Vec<ToolUse<'_>> = Vec::new();
    let mut called: HashMap<&str, usize> = HashMap::new();
    let mut running: HashMap<String, usize> = HashMap::new();
    for (entry, part) in entries.iter().enumerate().flat_map(|(at, of)| of.parts.iter().map(move |p| (at, p)))
    {
        match part {
            Part::ToolCall { call_id, name, arguments } => {
                let acts = acts(Call { name, arguments });
                called.insert(call_id, uses.len());
                uses.push(ToolUse {
                    entry,
                    call_id,
                    name,
                    arguments: Cow::Borrowed(arguments),
                    acts,
                    answer: None,
                    outcome: Outcome::Open,
                });
            }
            Part::ToolResult { call_id, is_error, parts } => {
                let Some(at) = called.get(call_id.as_str()).copied() else { continue };
                answered(&mut uses, at, Answer::of(*is_error, parts), &mut running);
            }
            part => uses.extend(done(entry, part)),
        }
    }
    uses
}

/// Reads a call that one part tells with its end.
fn done(entry: usize, part: &Part) -> Option<ToolUse<'_>> {
    let Part::Opaque { json, .. } = part else { return None };
    let (name, item) = done_item(part)?;
    let acts = acts(Call { name, arguments: &item.arguments });
    let answer = Answer { is_error: item.is_error, text: "".into() };
    let outcome = outcome(judged(&acts), &answer);
    let arguments = Cow::Owned(item.arguments);
    Some(ToolUse { entry, call_id: json, name, arguments, acts, answer: Some(answer), outcome })
}

fn answered<'e>(
    calls: &mut [ToolUse<'e>],
    at: usize,
    answer: Answer<'e>,
    running: &mut HashMap<String, usize>,
) {
    let Some(call) = calls.get_mut(at) else { return };
    let ended = |acts: &[Act]| outcome(judged(acts), &answer);
    call.outcome = ended(&call.acts);
    let followed: Vec<usize> = call.acts.iter().filter_map(|act| started(act, running)).collect();
    if let Outcome::Running { handle: Some(handle) } = &call.outcome {
        running.insert(handle.clone(), followed.first().copied().unwrap_or(at));
    }
    for earlier in followed {
        if let Some(earlier) = calls.get_mut(earlier) {
            earlier.outcome = ended(&earlier.acts);
        }
    }
    if let Some(call) = calls.get_mut(at) {
        call.answer = Some(answer);
    }
}

fn started(act: &Act, running: &HashMap<String, usize>) -> Option<usize> {
    match act {
        Act::Follow { handle: Some(handle) } => running.get(handle).copied(),
        _ => None,
    }
}

impl ToolUse<'_> {
    /// Returns what the call did to files, its commands' files included, each as sure as its end lets it be.
    pub fn files(&self) -> Vec<FileAct> {
        let of_act = |act: &Act| match act {
            Act::File(file) => vec![file.clone()],
            Act::Command(command) => command.files(),
            Act::OpenFile(change) => {
                let path = self.answer.as_ref().and_then(|answer| opened_file(&answer.text));
                path.map(|path| FileAct::sure(path, change.clone())).into_iter().collect()
            }
            _ => Vec::new(),
        };
        let complains = self.answer.as_ref().is_some_and(|answer| complains_of_files(&answer.text));
        let files = self.acts.iter().flat_map(of_act);
        files
            .filter_map(|file| {
                Some(FileAct { certainty: self.outcome.certainty(file.certainty, complains)?, ..file })
            })
            .collect()
    }

    /// Returns the commands that it ran, without those that were refused.
    pub fn commands(&self) -> impl Iterator<Item = &CommandAct> {
        let ran = self.outcome != Outcome::Refused;
        self.acts.iter().filter(move |_| ran).filter_map(|act| match act {
            Act::Command(command) => Some(command),
            _ => None,
        })
    }

    /// Returns what it did to tasks; nothing where it failed or did not run.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskAct> {
        let ran = !matches!(self.outcome, Outcome::Failed { .. } | Outcome::Refused);
        self.acts.iter().filter(move |_| ran).filter_map(|act| match act {
            Act::Tasks(tasks) => Some(tasks),
            _ => None,
        })
    }
}

impl Outcome {
    /// Returns the name used in JSON output.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Passed => "passed",
            Self::Failed { .. } => "failed",
            Self::Refused => "refused",
            Self::Stopped => "stopped",
            Self::Running { .. } => "running",
            Self::Unclear => "unclear",
        }
    }

    /// Returns how sure it is that a call touched a file, now that it ended this way. Returns `None` where the call did not run.
    /// Only tools of files are `Sure` before; commands are less.
    pub fn certainty(&self, before: Certainty, complains: bool) -> Option<Certainty> {
        let is_command = before < Certainty::Sure;
        match self {
            Self::Passed if is_command && complains => Some(Certainty::Possible),
            Self::Passed => Some(before),
            Self::Failed { .. } => is_command.then_some(Certainty::Possible),
            Self::Refused => None,
            Self::Stopped => Some(Certainty::Possible),
            Self::Open | Self::Running { .. } | Self::Unclear => Some(before.min(Certainty::Likely)),
        }
    }
}

#[cfg(test)]
mod tests;
