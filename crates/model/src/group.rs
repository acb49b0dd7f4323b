//! Tool groups and turns: the units that everything which selects, prunes or cuts works on.

use std::collections::HashMap;
use std::ops::Range;

use crate::Entry;

/// An assistant message's tool calls with all their results: positions in the list of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolGroup {
    /// Entries that hold calls, ascending; several when one message is spread over lines.
    pub calls: Vec<usize>,
    /// Entries that hold results, ascending.
    pub results: Vec<usize>,
    /// Call ids without a result so far, in the order of the calls.
    pub open: Vec<String>,
}

/// From one real user message to the next: positions in the list of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The entries of the turn. What precedes the first prompt belongs to the first turn.
    pub entries: Range<usize>,
}

/// Groups calls with their results, in the order of the first call.
///
/// Calls belong together when they stand in one entry or share the provider's message id. A result whose
/// call is not there belongs to no group. A call id that is used again starts anew: a result answers the
/// latest call before it.
pub fn group_tools(entries: &[Entry]) -> Vec<ToolGroup> {
    let mut groups: Vec<ToolGroup> = Vec::new();
    let mut by_message: HashMap<&str, usize> = HashMap::new();
    let mut by_call: HashMap<&str, usize> = HashMap::new();
    for (position, entry) in entries.iter().enumerate() {
        let mut calls = entry.calls().peekable();
        if calls.peek().is_some() {
            let known = entry.meta.message_id.as_deref().and_then(|id| by_message.get(id).copied());
            let index = known.unwrap_or(groups.len());
            if index == groups.len() {
                groups.push(ToolGroup { calls: Vec::new(), results: Vec::new(), open: Vec::new() });
            }
            if let Some(id) = entry.meta.message_id.as_deref() {
                by_message.insert(id, index);
            }
            groups[index].calls.push(position);
            for call in calls {
                groups[index].open.push(call.to_owned());
                by_call.insert(call, index);
            }
        }
        for answer in entry.answers() {
            if let Some(&index) = by_call.get(answer) {
                let group = &mut groups[index];
                group.open.retain(|call| call != answer);
                if group.results.last() != Some(&position) {
                    group.results.push(position);
                }
            }
        }
    }
    groups
}

/// Splits entries into turns. Empty for no entries; one turn where there is no prompt.
pub fn turns(entries: &[Entry]) -> Vec<Turn> {
    let mut starts: Vec<usize> = entries
        .iter()
        .enumerate()
        .filter(|(_, entry)| entry.is_prompt())
        .map(|(position, _)| position)
        .collect();
    if entries.is_empty() {
        return Vec::new();
    }
    match starts.first_mut() {
        Some(first) => *first = 0,
        None => starts.push(0),
    }
    let ends = starts.iter().skip(1).copied().chain([entries.len()]);
    starts.iter().copied().zip(ends).map(|(start, end)| Turn { entries: start..end }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Body, EntryId, EntryKind, EntryMeta, NativeSpan, Part, Role};

    fn entry(role: Role, message_id: Option<&str>, parts: Vec<Part>) -> Entry {
        let kind = if role == Role::Tool { EntryKind::ToolResult } else { EntryKind::Message };
        Entry {
            id: EntryId::new("e").expect("a name"),
            parent: None,
            timestamp: None,
            role,
            kind,
            body: Body::Blocks,
            parts,
            meta: EntryMeta { message_id: message_id.map(str::to_owned), ..EntryMeta::default() },
            native: NativeSpan { offset: 0, length: 0 },
        }
    }

    fn call(id: &str) -> Part {
        Part::ToolCall { call_id: id.to_owned(), name: "Bash".to_owned(), arguments: "{}".to_owned() }
    }

    fn result(id: &str) -> Part {
        Part::ToolResult { call_id: id.to_owned(), is_error: false, parts: Vec::new() }
    }

    #[test]
    fn one_message_over_two_lines_with_parallel_calls_is_one_group() {
        let entries = [
            entry(Role::User, None, vec![Part::Text("go".to_owned())]),
            entry(Role::Assistant, Some("m1"), vec![call("a")]),
            entry(Role::Assistant, Some("m1"), vec![call("b")]),
            entry(Role::Tool, None, vec![result("b")]),
            entry(Role::Tool, None, vec![result("stranger")]),
            entry(Role::Assistant, Some("m2"), vec![call("c")]),
        ];
        let groups = group_tools(&entries);
        assert_eq!(
            groups,
            [
                ToolGroup { calls: vec![1, 2], results: vec![3], open: vec!["a".to_owned()] },
                ToolGroup { calls: vec![5], results: vec![], open: vec!["c".to_owned()] },
            ]
        );
    }

    proptest! {
        #[test]
        fn turns_cover_every_entry_once(roles in proptest::collection::vec(0..3_u8, 0..30)) {
            let entries: Vec<Entry> = roles
                .iter()
                .map(|role| match role {
                    0 => entry(Role::User, None, vec![Part::Text("hi".to_owned())]),
                    1 => entry(Role::Assistant, None, vec![call("x")]),
                    _ => entry(Role::Tool, None, vec![result("x")]),
                })
                .collect();
            let covered: Vec<usize> = turns(&entries).into_iter().flat_map(|turn| turn.entries).collect();
            prop_assert_eq!(covered, (0..entries.len()).collect::<Vec<_>>());
            let prompts = entries.iter().filter(|entry| entry.is_prompt()).count();
            prop_assert_eq!(turns(&entries).len(), if entries.is_empty() { 0 } else { prompts.max(1) });
        }
    }
}
