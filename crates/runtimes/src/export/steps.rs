//! A conversation as steps: what somebody said, or what an agent said and did in one go, with what came of it.
//!
//! One message of a model may be several entries, and the results of its calls stand behind it; here they are one step.

use std::collections::HashMap;

use stemmata_model::{Entry, EntryKind, Part, Role};

/// A step.
#[derive(Debug)]
pub(super) enum Step<'e> {
    /// What somebody else than the agent said.
    Said {
        /// The entry.
        entry: &'e Entry,
        /// What of it was said; its results are elsewhere.
        parts: Vec<&'e Part>,
    },
    /// What the agent said and did.
    Agent(AgentStep<'e>),
    /// A result of a call that is not here.
    Orphan {
        /// The entry.
        entry: &'e Entry,
        /// The result.
        result: &'e Part,
    },
}

/// What an agent said and did in one message.
#[derive(Debug)]
pub(super) struct AgentStep<'e> {
    /// The entries, never empty.
    pub(super) entries: Vec<&'e Entry>,
    /// The results of its calls.
    pub(super) results: Vec<&'e Part>,
}

impl<'e> AgentStep<'e> {
    /// Returns all parts in their order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &'e Part> {
        self.entries.iter().flat_map(|entry| &entry.parts)
    }

    fn goes_on_with(&self, entry: &Entry) -> bool {
        let own = self.entries.last().and_then(|last| last.meta.message_id.as_deref());
        let is_same_side =
            self.entries.last().is_some_and(|last| last.meta.sidechain == entry.meta.sidechain);
        match (own, entry.meta.message_id.as_deref()) {
            (Some(own), Some(other)) => is_same_side && own == other,
            (None, None) => is_same_side && self.results.is_empty(),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

/// Returns the steps of a conversation.
pub(super) fn steps<'e>(entries: &[&'e Entry]) -> Vec<Step<'e>> {
    let mut steps: Vec<Step<'e>> = Vec::new();
    let mut calls: HashMap<&'e str, usize> = HashMap::new();
    for entry in entries {
        if entry.role == Role::Assistant && entry.kind != EntryKind::Metadata {
            match steps.last_mut() {
                Some(Step::Agent(step)) if step.goes_on_with(entry) => step.entries.push(entry),
                _ => steps.push(Step::Agent(AgentStep { entries: vec![entry], results: Vec::new() })),
            }
            calls.extend(entry.calls().map(|call| (call, steps.len() - 1)));
            continue;
        }
        let mut said = Vec::new();
        for part in &entry.parts {
            let Part::ToolResult { call_id, .. } = part else {
                said.push(part);
                continue;
            };
            match calls.get(call_id.as_str()).and_then(|at| steps.get_mut(*at)) {
                Some(Step::Agent(step)) => step.results.push(part),
                _ => steps.push(Step::Orphan { entry, result: part }),
            }
        }
        if !said.is_empty() {
            steps.push(Step::Said { entry, parts: said });
        }
    }
    steps
}
