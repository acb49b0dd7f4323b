//! How many tokens a window takes: what the provider last reported, and an estimate of what came after.

use std::collections::HashMap;

use stemmata_model::{Entry, EntryId, EntryKind, IMAGE_TOKENS, Part, Role, TokenCounter, Tokens, Usage};

/// What an estimate rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimatedFrom {
    /// The usage that was reported with an entry, and a count of the entries behind it.
    Usage {
        /// The entry's place.
        entry: usize,
    },
    /// A count of everything.
    Count,
}

/// Tokens of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimated {
    /// The tokens.
    pub tokens: Tokens,
    /// What they rest on.
    pub from: EstimatedFrom,
}

/// Estimates a window. `counted` says what each entry takes, as [`entry_tokens`]; `system` is what the system prompt and the
/// tools take, which a reported usage holds already.
///
/// A usage counts where its entry is an answer that the model sees, with tokens, that was not aborted and did not end in an
/// error.
pub fn estimate(entries: &[Entry], counted: &dyn Fn(usize) -> Tokens, system: Tokens) -> Estimated {
    let behind = |first: usize| -> Tokens { (first..entries.len()).map(counted).sum() };
    let reported = entries.iter().enumerate().rev().find_map(|(at, entry)| Some((at, reported(entry)?)));
    match reported {
        Some((entry, tokens)) => {
            Estimated { tokens: tokens + behind(entry + 1), from: EstimatedFrom::Usage { entry } }
        }
        None => Estimated { tokens: system + behind(0), from: EstimatedFrom::Count },
    }
}

/// Returns the usage that counts for an estimate, by the answer that it was reported with. Some clients write usage in a record
/// of its own behind the answer: it is that answer's, but not where the window was compacted between the two.
pub fn usage_by_answer(entries: &[Entry]) -> HashMap<EntryId, Usage> {
    let mut usages = HashMap::new();
    let mut answer: Option<&Entry> = None;
    for entry in entries.iter().filter(|entry| entry.meta.sidechain.is_none()) {
        match entry.kind {
            EntryKind::CompactionBoundary | EntryKind::CompactionSummary => answer = None,
            EntryKind::Metadata => {
                let (Some(answer), Some(usage)) = (answer, entry.meta.usage) else { continue };
                if is_whole(answer) && tokens_of(usage) > Tokens(0) {
                    usages.insert(answer.id.clone(), usage);
                }
            }
            _ if entry.role == Role::Assistant && entry.meta.visibility.agent => {
                answer = Some(entry);
                if let Some(usage) = entry.meta.usage.filter(|_| reported(entry).is_some()) {
                    usages.insert(entry.id.clone(), usage);
                }
            }
            _ => {}
        }
    }
    usages
}

fn reported(entry: &Entry) -> Option<Tokens> {
    if entry.role != Role::Assistant || !entry.meta.visibility.agent {
        return None;
    }
    let tokens = tokens_of(entry.meta.usage?);
    (tokens > Tokens(0) && is_whole(entry)).then_some(tokens)
}

/// Returns whether an answer was not aborted and did not end in an error: what is reported with such a one is no window's size.
fn is_whole(answer: &Entry) -> bool {
    let stop = answer.meta.stop_reason.as_deref().unwrap_or_default().trim().to_lowercase();
    stop != "aborted" && stop != "error"
}

fn tokens_of(usage: Usage) -> Tokens {
    let Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
    [input_tokens, output_tokens, cache_read_tokens, cache_write_tokens].map(Tokens).into_iter().sum()
}

/// Counts what an entry takes of the window: nothing where the model does not see it.
pub fn entry_tokens(entry: &Entry, counter: &dyn TokenCounter) -> Tokens {
    let is_seen =
        entry.meta.visibility.agent && !matches!(entry.kind, EntryKind::Metadata | EntryKind::Unreadable);
    if is_seen { parts_tokens(&entry.parts, counter) } else { Tokens(0) }
}

fn parts_tokens(parts: &[Part], counter: &dyn TokenCounter) -> Tokens {
    let part = |part: &Part| match part {
        Part::Text(text) | Part::Summary { text, .. } => counter.count(text),
        Part::Thinking { text, encrypted, .. } => {
            counter.count(text) + encrypted.as_deref().map_or(Tokens(0), |text| counter.count(text))
        }
        Part::ToolCall { name, arguments, .. } => counter.count(name) + counter.count(arguments),
        // Results do not nest: a result within a result counts as nothing, so that no depth can exhaust the stack.
        Part::ToolResult { parts, .. } => parts.iter().map(|part| result_tokens(part, counter)).sum(),
        Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => result_tokens(part, counter),
    };
    parts.iter().map(part).sum()
}

fn result_tokens(part: &Part, counter: &dyn TokenCounter) -> Tokens {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => counter.count(text),
        Part::Image { .. } => IMAGE_TOKENS,
        Part::File { name, data, .. } => {
            counter.count(name) + data.as_deref().map_or(Tokens(0), |data| counter.count(data))
        }
        Part::Opaque { json, .. } => counter.count(json),
        Part::ToolCall { .. } | Part::ToolResult { .. } => Tokens(0),
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, Estimate};

    use super::*;

    fn said(role: Role, text: &str, usage: Option<(u64, &str)>) -> Entry {
        let id = EntryId::new("e").expect("a name");
        let mut entry = Entry::said(id, role, vec![Part::Text(text.to_owned())]);
        entry.meta.usage = usage.map(|(output_tokens, _)| Usage { output_tokens, ..Usage::default() });
        entry.meta.stop_reason = usage.map(|(_, stop)| stop.to_owned());
        entry
    }

    #[test]
    fn the_last_valid_usage_holds_all_before_it_and_what_follows_is_counted() {
        let of = |entries: &[Entry]| {
            let counted = |at: usize| entry_tokens(&entries[at], &Estimate);
            estimate(entries, &counted, Tokens(1_000))
        };
        let text = "x".repeat(400);
        let user = || said(Role::User, &text, None);
        let plain = [user(), user()];
        assert_eq!(of(&plain), Estimated { tokens: Tokens(1_200), from: EstimatedFrom::Count });
        let reported = [user(), said(Role::Assistant, &text, Some((5_000, "end_turn"))), user()];
        assert_eq!(
            of(&reported),
            Estimated { tokens: Tokens(5_100), from: EstimatedFrom::Usage { entry: 1 } }
        );
        for bad in [(5_000, " Aborted "), (5_000, "error"), (0, "end_turn")] {
            let bad = [user(), said(Role::Assistant, &text, Some(bad)), user()];
            assert_eq!(of(&bad), Estimated { tokens: Tokens(1_300), from: EstimatedFrom::Count });
        }
        let mut hidden = [user(), said(Role::Assistant, &text, Some((5_000, "end_turn")))];
        hidden[1].meta.visibility.agent = false;
        assert_eq!(of(&hidden), Estimated { tokens: Tokens(1_100), from: EstimatedFrom::Count });
    }

    #[test]
    fn usage_in_a_record_of_its_own_is_the_answers_unless_the_window_was_compacted_between() {
        let named = |name: &str, mut entry: Entry| {
            entry.id = EntryId::new(name).expect("a name");
            entry
        };
        let answer = |name: &str| named(name, said(Role::Assistant, "x", None));
        let record = || {
            let mut entry = named("record", said(Role::System, "", Some((5_000, ""))));
            entry.kind = EntryKind::Metadata;
            entry
        };
        let mut summary = named("s", said(Role::User, "x", None));
        summary.kind = EntryKind::CompactionSummary;
        let mut side = answer("side");
        side.meta.sidechain = Some("agent".to_owned());
        let found = usage_by_answer(&[answer("a"), side, record(), answer("b"), summary, record()]);
        let found: Vec<(&str, u64)> =
            found.iter().map(|(id, usage)| (id.as_str(), usage.output_tokens)).collect();
        assert_eq!(found, [("a", 5_000)]);
    }

    #[test]
    fn an_image_counts_1200_and_what_the_model_does_not_see_nothing() {
        let image = Part::Image {
            media_type: "image/png".to_owned(),
            source: stemmata_model::ImageSource::Base64("x".repeat(100_000)),
        };
        let mut entry = said(Role::User, "hi", None);
        entry.parts.push(image);
        assert_eq!(entry_tokens(&entry, &Estimate), Tokens(1_201));
        entry.meta.visibility.agent = false;
        assert_eq!(entry_tokens(&entry, &Estimate), Tokens(0));
    }
}
