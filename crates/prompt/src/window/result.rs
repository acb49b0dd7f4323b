//! The window after a compaction: one summary, then what was recent, then a digest of the results that were archived in it.

use stemmata_model::{Body, Entry, EntryId, EntryKind, Part, Role, TokenCounter, Tokens, Visibility};

use super::estimate::entry_tokens;
use super::progress::{SummaryRefused, accept_summary};
use super::split::Split;
use crate::tool_output::{ArchivePlan, archived_results, digest, plan_archive};

/// How the summary of a compaction begins (seed 003).
pub const SUMMARY_PREFIX: &str = "[Previous conversation summary]";

/// What a new window is made of.
#[derive(Clone, Copy)]
pub struct ResultRequest<'a> {
    /// The window before.
    pub entries: &'a [Entry],
    /// Where it is split.
    pub split: &'a Split,
    /// The summary of what is before.
    pub summary: &'a str,
    /// The commit in which everything before can be read.
    pub context: Option<&'a str>,
    /// Which entries are pinned.
    pub is_pinned: &'a dyn Fn(usize) -> bool,
    /// Visible results that are kept.
    pub tool_call_cutoff: i64,
    /// What tokens are counted with.
    pub counter: &'a dyn TokenCounter,
}

/// A new window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactedWindow {
    /// The summary's text, with its prefix and everything that is kept verbatim.
    pub summary: String,
    /// The first entry that is kept.
    pub recent_from: usize,
    /// What of it is archived, by places in the window before.
    pub archived: Vec<usize>,
    /// The digest of what is archived.
    pub digest: Option<String>,
    /// Tokens of the window before.
    pub before: Tokens,
    /// Tokens of the new one.
    pub after: Tokens,
}

/// Puts the new window together and checks that it is smaller.
///
/// An archive of results that would not pay for its digest is left out.
///
/// # Errors
/// [`SummaryRefused`]; the window stays as it is then.
pub fn compacted_window(request: ResultRequest<'_>) -> Result<CompactedWindow, SummaryRefused> {
    let ResultRequest { entries, split, counter, .. } = request;
    let text = summary_text(&request);
    let size = |at: usize| entries.get(at).map_or(Tokens(0), |entry| entry_tokens(entry, counter));
    let sizes = |places: &mut dyn Iterator<Item = usize>| -> Tokens { places.map(size).sum() };
    let summary = counter.count(&text);
    accept_summary(request.summary, summary, sizes(&mut (0..split.recent_from)))?;
    let recent = entries.get(split.recent_from..).unwrap_or_default();
    let is_pinned = |at: usize| (request.is_pinned)(at + split.recent_from);
    let plan: ArchivePlan = plan_archive(recent, &is_pinned, request.tool_call_cutoff);
    let groups: Vec<_> = plan.batches.iter().flatten().cloned().collect();
    let archived: Vec<usize> = plan.entries().map(|at| at + split.recent_from).collect();
    let digest = (!groups.is_empty()).then(|| digest(&archived_results(recent, &groups)));
    let digest_size = digest.as_deref().map_or(Tokens(0), |digest| counter.count(digest));
    let saved = sizes(&mut archived.iter().copied());
    let (archived, digest, digest_size, saved) = if saved > digest_size {
        (archived, digest, digest_size, saved)
    } else {
        (Vec::new(), None, Tokens(0), Tokens(0))
    };
    let before = sizes(&mut (0..entries.len()));
    let kept = sizes(&mut (split.recent_from..entries.len())).saturating_sub(saved);
    let after = summary + kept + digest_size;
    Ok(CompactedWindow { summary: text, recent_from: split.recent_from, archived, digest, before, after })
}

/// The prefix, the summary, what is pinned in full, and where everything can be read.
fn summary_text(request: &ResultRequest<'_>) -> String {
    let mut text = format!("{SUMMARY_PREFIX}\n\n{}", request.summary.trim());
    let old = request.entries.iter().enumerate().take(request.split.recent_from);
    let pinned = old.filter(|(at, _)| (request.is_pinned)(*at)).map(|(_, entry)| verbatim(entry));
    for pinned in pinned.filter(|pinned| !pinned.is_empty()) {
        text.push_str("\n\n[Pinned]\n");
        text.push_str(&pinned);
    }
    if let Some(context) = request.context {
        text.push_str("\n\n[All entries before this: stemma show ");
        text.push_str(context);
        text.push_str(" --entry @N]");
    }
    text
}

/// The texts of an entry, calls and results included, unchanged.
fn verbatim(entry: &Entry) -> String {
    let text = |part: &Part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
        Part::ToolCall { name, arguments, .. } => Some(format!("{name}({arguments})")),
        Part::ToolResult { parts, .. } => Some(crate::tool_output::text_of(parts)),
        Part::Thinking { .. } | Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => None,
    };
    entry.parts.iter().filter_map(text).collect::<Vec<String>>().join("\n")
}

/// Returns the summary as an entry: of the user's role, so that every provider takes it, and of a kind of its own, so that it is
/// never summarized as if somebody had said it.
pub fn summary_entry(id: EntryId, text: String, covers: Vec<EntryId>) -> Entry {
    let mut entry = Entry::said(id, Role::User, vec![Part::Summary { text, covers }]);
    entry.kind = EntryKind::CompactionSummary;
    entry.body = Body::Blocks;
    entry
}

/// Returns a digest or a summary of results as an entry: for the model, not for people, who still see the results.
pub fn tool_summary_entry(id: EntryId, text: String) -> Entry {
    let mut entry = Entry::said(id, Role::User, vec![Part::Text(text)]);
    entry.kind = EntryKind::ToolSummary;
    entry.meta.visibility = Visibility { agent: true, user: false };
    entry
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stemmata_model::Estimate;

    use super::super::split::{Borders, KeepRecent, split};
    use super::*;

    fn conversation(turns: usize, chars: usize) -> Vec<Entry> {
        let id = |name: &str, turn: usize| EntryId::new(format!("{name}{turn}")).expect("a name");
        let text = |turn: usize| Part::Text(format!("{turn} {}", "x".repeat(chars)));
        let turn = |turn: usize| {
            let call_id = format!("c{turn}");
            let call = Part::ToolCall {
                call_id: call_id.clone(),
                name: "bash".to_owned(),
                arguments: "{}".to_owned(),
            };
            let result = Part::ToolResult { call_id, is_error: false, parts: vec![text(turn)] };
            [
                Entry::said(id("u", turn), Role::User, vec![text(turn)]),
                Entry::said(id("a", turn), Role::Assistant, vec![call]),
                Entry::said(id("r", turn), Role::Tool, vec![result]),
            ]
        };
        (0..turns).flat_map(turn).collect()
    }

    proptest! {
        #[test]
        fn compaction_never_grows_and_pins_are_in_it_word_by_word(
            turns in 1..20_usize, chars in 0..400_usize, keep in 0..4_000_u64, summary in "[a-z \\n]{0,300}", pin in 0..60_usize, cutoff in -1..8_i64,
        ) {
            let entries = conversation(turns, chars);
            let sizes: Vec<Tokens> = entries.iter().map(|entry| entry_tokens(entry, &Estimate)).collect();
            let Ok(split) = split(&sizes, &Borders::of(&entries), KeepRecent::Tokens(Tokens(keep)), true) else { return Ok(()) };
            let request = ResultRequest {
                entries: &entries,
                split: &split,
                summary: &summary,
                context: Some("ctx-0"),
                is_pinned: &|at| at == pin,
                tool_call_cutoff: cutoff,
                counter: &Estimate,
            };
            match compacted_window(request) {
                Ok(window) => {
                    prop_assert!(window.after < window.before);
                    prop_assert!(window.summary.starts_with(SUMMARY_PREFIX) && window.summary.contains("ctx-0"));
                    let is_kept = pin >= split.recent_from && !window.archived.contains(&pin);
                    let is_there = entries.get(pin).is_none_or(|entry| window.summary.contains(&verbatim(entry)));
                    prop_assert!(is_kept || is_there);
                    prop_assert_eq!(window.archived.is_empty(), window.digest.is_none());
                }
                Err(SummaryRefused::Empty) => prop_assert!(summary.trim().is_empty()),
                Err(SummaryRefused::NotSmaller { summary, old }) => prop_assert!(summary >= old),
            }
        }
    }

    #[test]
    fn the_summary_is_an_entry_of_its_own_kind_and_the_digest_is_for_the_model_only() {
        let id = || EntryId::new("e").expect("a name");
        let summary = summary_entry(id(), "text".to_owned(), vec![id()]);
        assert_eq!((summary.role, summary.kind.clone()), (Role::User, EntryKind::CompactionSummary));
        assert!(!summary.is_prompt());
        let digest = tool_summary_entry(id(), "text".to_owned());
        assert_eq!((digest.role, digest.kind.clone()), (Role::User, EntryKind::ToolSummary));
        assert_eq!(digest.meta.visibility, Visibility { agent: true, user: false });
    }
}
