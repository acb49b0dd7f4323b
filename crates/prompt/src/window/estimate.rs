//! How many tokens a window takes: what the provider last reported, and an estimate of what came after.

use std::collections::HashMap;

use stemmata_model::{Entry, EntryId, EntryKind, IMAGE_TOKENS, Part, Role, TokenCounter, Tokens, Usage};

use super::overhead::{Overheads, Report};

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
    /// Why the newest report was left aside, where it was.
    pub left_aside: Option<Unbelievable>,
}

/// Why a reported size is not that of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unbelievable {
    /// No request of that size can have been answered.
    AboveWindow {
        /// What was reported.
        reported: Tokens,
        /// What the window holds.
        largest: Tokens,
    },
    /// It grows with every answer by a whole request.
    Grows {
        /// What it says of the system prompt and the tools.
        overhead: Tokens,
        /// What the smallest report said of them.
        least: Tokens,
    },
    /// What was said alone takes far more.
    FarBelow {
        /// What was reported.
        reported: Tokens,
        /// What the entries hold for certain, by count.
        held: Tokens,
    },
}

impl Unbelievable {
    /// Returns whether a window of so many counted tokens may have been reported so, since the provider takes more than it is said to
    /// hold: a count is at most twice too small.
    pub fn shows_overflow(self, counted: Tokens) -> bool {
        matches!(self, Self::AboveWindow { reported, .. } if reported.0 / 2 <= counted.0)
    }

    /// Says it as a sentence without a final stop.
    pub fn message(self) -> String {
        match self {
            Self::AboveWindow { reported, largest } => format!(
                "an answer reports {reported}, and the window holds {largest}: that report is left aside"
            ),
            Self::Grows { overhead, least } => format!(
                "the usage of each answer holds that of the answers before, and would say by now that system prompt and tools \
                 take {overhead}: it is left aside, and the smallest so far counts, {least}; usage is that of one call, not of \
                 the session"
            ),
            Self::FarBelow { reported, held } => format!(
                "an answer reports {reported}, and what was said takes about {held}: that report is left aside"
            ),
        }
    }
}

/// How many times more entries hold than what is reported with them, before the report is not believed: counters of other models
/// are wrong by half at most, and a report without what came from the cache by far more.
const FAR_BELOW: u64 = 4;

/// Tokens by which a report may always be too small: of short windows nothing depends on it.
const BELOW_MIN: Tokens = Tokens(256);

/// Judges a reported size by what the entries up to it hold for certain ([`held_tokens`]), and by what the window holds where that
/// is known.
///
/// # Errors
/// `Unbelievable` says why it is not the size of a window.
pub fn believed(reported: Tokens, held: Tokens, largest: Option<Tokens>) -> Result<(), Unbelievable> {
    if let Some(largest) = largest.filter(|largest| reported > *largest) {
        return Err(Unbelievable::AboveWindow { reported, largest });
    }
    if reported.0.saturating_mul(FAR_BELOW) < held.0 && held.saturating_sub(reported) > BELOW_MIN {
        return Err(Unbelievable::FarBelow { reported, held });
    }
    Ok(())
}

/// A window that is to be estimated.
#[derive(Clone, Copy)]
pub struct Measure<'a> {
    /// The entries, oldest first.
    pub entries: &'a [Entry],
    /// What each entry takes, as [`entry_tokens`].
    pub counted: &'a dyn Fn(usize) -> Tokens,
    /// What each entry holds for certain, as [`held_tokens`].
    pub held: &'a dyn Fn(usize) -> Tokens,
    /// What the system prompt and the tools take, which a reported usage holds already.
    pub system: Tokens,
    /// What the window holds, where that is known.
    pub largest: Option<Tokens>,
}

/// Estimates a window.
///
/// A usage counts where its entry is an answer that the model sees, with tokens, that was not aborted and did not end in an
/// error; of those the last that is [`believed`]. Where they are the sums of the session, none does.
pub fn estimate(measure: Measure<'_>) -> Estimated {
    let Measure { entries, counted, held, system, largest } = measure;
    let all: Tokens = (0..entries.len()).map(counted).sum();
    if let Some(why @ Unbelievable::Grows { least, .. }) = sums(measure) {
        let tokens = all + least.max(system);
        return Estimated { tokens, from: EstimatedFrom::Count, left_aside: Some(why) };
    }
    let (mut left_aside, mut behind) = (None, Tokens(0));
    // What is held up to an entry is asked for where the count of it speaks against a report, and then once.
    let mut held_to: Option<Tokens> = None;
    for (at, entry) in entries.iter().enumerate().rev() {
        if let Some(Report { tokens, .. }) = reported(entry) {
            let mut judged = believed(tokens, all.saturating_sub(behind), largest);
            if let Err(Unbelievable::FarBelow { .. }) = judged {
                let held_to = held_to.get_or_insert_with(|| (0..=at).map(held).sum());
                judged = believed(tokens, *held_to, largest);
            }
            match judged {
                Ok(()) => {
                    return Estimated {
                        tokens: tokens + behind,
                        from: EstimatedFrom::Usage { entry: at },
                        left_aside,
                    };
                }
                Err(why) => left_aside = left_aside.or(Some(why)),
            }
        }
        behind += counted(at);
        held_to = held_to.map(|held_to| held_to.saturating_sub(held(at)));
    }
    Estimated { tokens: system + all, from: EstimatedFrom::Count, left_aside }
}

/// Says that the reports of a window are the sums of its session, where the last one is.
fn sums(Measure { entries, counted, largest, .. }: Measure<'_>) -> Option<Unbelievable> {
    let (mut overheads, mut count, mut found) = (Overheads::default(), Tokens(0), None);
    for (at, entry) in entries.iter().enumerate() {
        let own = counted(at);
        count += own;
        let Some(report) = reported(entry) else { continue };
        found = overheads.see(report, count, own).err();
        if found.is_none() && believed(report.tokens, count, largest).is_ok() {
            overheads.believe();
        }
    }
    found
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
                if is_whole(answer) && Report::of(usage).tokens > Tokens(0) {
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

/// Returns what an entry reports that counts for an estimate.
pub fn reported(entry: &Entry) -> Option<Report> {
    if entry.role != Role::Assistant || !entry.meta.visibility.agent {
        return None;
    }
    let report = Report::of(entry.meta.usage?);
    (report.tokens > Tokens(0) && is_whole(entry)).then_some(report)
}

/// Returns whether an answer was not aborted and did not end in an error: what is reported with such a one is no window's size.
fn is_whole(answer: &Entry) -> bool {
    let stop = answer.meta.stop_reason.as_deref().unwrap_or_default().trim().to_lowercase();
    stop != "aborted" && stop != "error"
}

/// Counts what an entry takes of the window: nothing where the model does not see it.
pub fn entry_tokens(entry: &Entry, counter: &dyn TokenCounter) -> Tokens {
    if entry_is_seen(entry) { parts_tokens(&entry.parts, counter) } else { Tokens(0) }
}

/// Counts what an entry holds for certain: what was said in words and calls, and a part of what tools returned, which clients clear
/// from a window. Thinking and images go with time or count otherwise elsewhere, so they are no proof.
pub fn held_tokens(entry: &Entry, counter: &dyn TokenCounter) -> Tokens {
    let of = |part: &Part| match part {
        Part::Text(text) | Part::Summary { text, .. } => counter.count(text),
        Part::ToolCall { name, arguments, .. } => counter.count(name) + counter.count(arguments),
        Part::ToolResult { parts, .. } => {
            let texts = parts.iter().filter(|part| matches!(part, Part::Text(_)));
            Tokens(texts.map(|part| result_tokens(part, counter).0).sum::<u64>() / FAR_BELOW)
        }
        Part::Thinking { .. } | Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => Tokens(0),
    };
    if entry_is_seen(entry) { entry.parts.iter().map(of).sum() } else { Tokens(0) }
}

fn entry_is_seen(entry: &Entry) -> bool {
    entry.meta.visibility.agent && !matches!(entry.kind, EntryKind::Metadata | EntryKind::Unreadable)
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
            let held = |at: usize| held_tokens(&entries[at], &Estimate);
            let window = Some(Tokens(100_000));
            estimate(Measure {
                entries,
                counted: &counted,
                held: &held,
                system: Tokens(1_000),
                largest: window,
            })
        };
        let estimated = |tokens: u64, from| Estimated { tokens: Tokens(tokens), from, left_aside: None };
        let text = "x".repeat(400);
        let user = || said(Role::User, &text, None);
        let plain = [user(), user()];
        assert_eq!(of(&plain), estimated(1_200, EstimatedFrom::Count));
        let reported = [user(), said(Role::Assistant, &text, Some((5_000, "end_turn"))), user()];
        assert_eq!(of(&reported), estimated(5_100, EstimatedFrom::Usage { entry: 1 }));
        for bad in [(5_000, " Aborted "), (5_000, "error"), (0, "end_turn")] {
            let bad = [user(), said(Role::Assistant, &text, Some(bad)), user()];
            assert_eq!(of(&bad), estimated(1_300, EstimatedFrom::Count));
        }
        let mut hidden = [user(), said(Role::Assistant, &text, Some((5_000, "end_turn")))];
        hidden[1].meta.visibility.agent = false;
        assert_eq!(of(&hidden), estimated(1_100, EstimatedFrom::Count));
    }

    #[test]
    fn a_report_that_no_window_can_have_is_left_aside_and_the_one_before_counts() {
        let of = |entries: &[Entry], window: Option<u64>| {
            let counted = |at: usize| entry_tokens(&entries[at], &Estimate);
            let held = |at: usize| held_tokens(&entries[at], &Estimate);
            let (system, window) = (Tokens(0), window.map(Tokens));
            estimate(Measure { entries, counted: &counted, held: &held, system, largest: window })
        };
        let long = "x".repeat(8_000);
        let answer = |tokens: u64| said(Role::Assistant, "ok", Some((tokens, "end_turn")));
        let user = || said(Role::User, &long, None);
        let above = |reported: u64| {
            let (reported, window) = (Tokens(reported), Tokens(10_000));
            Some(Unbelievable::AboveWindow { reported, largest: window })
        };
        let entries = [user(), answer(3_000), user(), answer(4_000_000), answer(10_001)];
        let found = of(&entries, Some(10_000));
        let counted = Tokens(3_000 + 2_000 + 1 + 1);
        assert_eq!(
            found,
            Estimated { tokens: counted, from: EstimatedFrom::Usage { entry: 1 }, left_aside: above(10_001) }
        );
        assert_eq!(of(&entries, None).from, EstimatedFrom::Usage { entry: 4 }, "a window that nobody knows");
        // Reported without what came from the cache.
        let entries = [user(), answer(3), user(), answer(8)];
        let found = of(&entries, None);
        let held = Some(Unbelievable::FarBelow { reported: Tokens(8), held: Tokens(4_002) });
        assert_eq!((found.tokens, found.from, found.left_aside), (Tokens(4_002), EstimatedFrom::Count, held));
        assert_eq!(believed(Tokens(1_001), Tokens(4_002), None), Ok(()), "a counter may be wrong");
        assert_eq!(believed(Tokens(3), Tokens(200), None), Ok(()), "little is nothing to judge by");
        // What tools returned may have been cleared since, and thinking is not sent again.
        let mut cleared = user();
        cleared.parts = vec![
            Part::ToolResult {
                call_id: "c".to_owned(),
                is_error: false,
                parts: vec![Part::Text(long.clone())],
            },
            Part::Thinking { text: long.clone(), signature: None, encrypted: None },
        ];
        assert_eq!(held_tokens(&cleared, &Estimate), Tokens(500));
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
