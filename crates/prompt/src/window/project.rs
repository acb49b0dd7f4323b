//! What a summarizer is shown of a conversation: what the model saw, results shortened, within its own window.

use std::collections::HashMap;

use stemmata_acts::Answer;
use stemmata_model::{Entry, EntryKind, Part, Role, TokenCounter, Tokens};

use crate::tool_output::head_tail;

/// Characters of a result that a summarizer is shown.
pub const RESULT_CHARS_MAX: usize = 1_800;

/// Part of its window that the conversation may fill.
const WINDOW_PERMILLE: u64 = 400;

/// The sections that a summary is asked for.
pub const SECTIONS: [&str; 6] =
    ["Goal", "Constraints", "Progress", "Decisions", "Next steps", "Critical context"];

/// What a summarizer is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryInput {
    /// The conversation as text.
    pub text: String,
    /// Entries left out because they did not fit; the oldest.
    pub left_out: usize,
}

/// Renders entries for a summarizer with this window: the newest that fit 40 % of it. A summary of an earlier compaction is
/// left out, as what it stands for is summarized anew from the entries themselves. Each entry that has a number begins with it,
/// as `@N`.
pub fn summary_input(
    entries: &[Entry],
    numbers: &[u64],
    window: Option<Tokens>,
    counter: &dyn TokenCounter,
) -> SummaryInput {
    let names = names(entries);
    let numbered = |(at, entry): (usize, &Entry)| {
        let text = rendered(entry, &names);
        match numbers.get(at) {
            Some(number) if !text.is_empty() => format!("@{number} {text}"),
            _ => text,
        }
    };
    let seen: Vec<String> =
        entries.iter().enumerate().map(numbered).filter(|text| !text.is_empty()).collect();
    let room = window.map(|window| u128::from(window.0) * u128::from(WINDOW_PERMILLE) / 1_000);
    let mut used = 0_u128;
    let fits = |text: &&String| {
        // The two newlines between entries.
        used += u128::from(counter.count(text).0) + 1;
        room.is_none_or(|room| used <= room)
    };
    let kept = seen.iter().rev().take_while(fits).count();
    let left_out = seen.len() - kept;
    SummaryInput { text: seen.get(left_out..).unwrap_or_default().join("\n\n"), left_out }
}

fn names(entries: &[Entry]) -> HashMap<&str, &str> {
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    parts
        .filter_map(|part| match part {
            Part::ToolCall { call_id, name, .. } => Some((call_id.as_str(), name.as_str())),
            _ => None,
        })
        .collect()
}

fn rendered(entry: &Entry, names: &HashMap<&str, &str>) -> String {
    let is_left_out =
        matches!(entry.kind, EntryKind::Metadata | EntryKind::Unreadable | EntryKind::CompactionSummary);
    if is_left_out || !entry.meta.visibility.agent {
        return String::new();
    }
    let mut lines: Vec<String> = Vec::new();
    let mut calls: Vec<String> = Vec::new();
    for part in &entry.parts {
        match part {
            Part::Text(text) | Part::Summary { text, .. } => {
                lines.push(format!("[{}]: {text}", speaker(entry.role)));
            }
            Part::Thinking { text, .. } if !text.is_empty() => {
                lines.push(format!("[Assistant thinking]: {text}"));
            }
            Part::ToolCall { name, arguments, .. } => calls.push(format!("{name}({arguments})")),
            Part::ToolResult { call_id, is_error, parts } => {
                let name = names.get(call_id.as_str()).map(|name| format!(" {name}")).unwrap_or_default();
                lines.push(format!("[Tool result{name}]: {}", result_text(*is_error, parts)));
            }
            Part::File { name, .. } => lines.push(format!("[File]: {name}")),
            Part::Image { .. } => lines.push("[Image]".to_owned()),
            Part::Thinking { .. } | Part::Opaque { .. } => {}
        }
    }
    if !calls.is_empty() {
        lines.push(format!("[Assistant tool calls]: {}", calls.join("; ")));
    }
    lines.join("\n\n")
}

/// Returns a result's text, shortened.
pub(crate) fn result_text(is_error: bool, parts: &[Part]) -> String {
    let text = Answer::of(is_error, parts).text;
    if text.trim().is_empty() { "(empty output)".to_owned() } else { head_tail(&text, RESULT_CHARS_MAX) }
}

const fn speaker(role: Role) -> &'static str {
    match role {
        Role::System => "System",
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Tool => "Tool",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::{EntryId, Estimate};

    use super::*;

    proptest! {
        #[test]
        fn the_input_fits_two_fifths_of_the_summarizer_s_window_and_the_newest_stays(
            texts in proptest::collection::vec("[a-z ]{1,200}", 0..30), window in 1..4_000_u64,
        ) {
            let entry = |text: &String| {
                Entry::said(EntryId::new("e").expect("a name"), Role::User, vec![Part::Text(text.clone())])
            };
            let entries: Vec<Entry> = texts.iter().map(entry).collect();
            let input = summary_input(&entries, &[], Some(Tokens(window)), &Estimate);
            prop_assert!(Estimate.count(&input.text).0 <= window * 2 / 5);
            let kept = texts.get(input.left_out..).expect("not more than there are");
            prop_assert!(kept.iter().all(|text| input.text.contains(text)));
            let all = summary_input(&entries, &[], None, &Estimate);
            prop_assert_eq!(all.left_out, 0);
        }
    }

    #[test]
    fn what_the_model_did_not_see_and_earlier_summaries_are_left_out() {
        let id = || EntryId::new("e").expect("a name");
        let summary = super::super::result::summary_entry(id(), "old summary".to_owned(), Vec::new());
        let mut hidden = Entry::said(id(), Role::User, vec![Part::Text("hidden".to_owned())]);
        hidden.meta.visibility.agent = false;
        let said = Entry::said(id(), Role::User, vec![Part::Text("do it".to_owned())]);
        assert_eq!(
            summary_input(&[summary, hidden, said], &[7, 8, 9], None, &Estimate).text,
            "@9 [User]: do it"
        );
    }
}
