//! What an entry counts besides its words: its length, who wrote it, when, and what it is.

use super::first::narrow;
use super::ranked::{ReasonName, Search};
use super::source::{ClassMask, Segment, kinds, marks};
use super::weights::Recipe;
use super::windows::{Entry, recipe};

/// Having all of the words counts much more than having most of them, which any long text has.
const COVERAGE_POWER: i32 = 4;
/// Entries beside what was looked for come last where the query has at most so many words. A longer query often describes an
/// entry in other words than its own.
const SHORT_QUERY_WORDS: usize = 6;

/// The first and the last minute of what is searched.
///
/// Recency is measured between the two, not against a clock: the same data has the same order whenever it is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    first: u32,
    last: u32,
}

impl Span {
    /// Returns the span of a scope: that of its entries where these are given, else that of the index.
    pub(super) fn of<S: Segment>(search: &Search<'_, S>) -> Result<Self, S::Error> {
        let mut span = Self { first: u32::MAX, last: 0 };
        let ranges = search.segments.iter().filter_map(|segment| Some((segment.minute_range()?, segment)));
        let mut ranges: Vec<((u32, u32), &S)> = ranges.collect();
        ranges.sort_unstable_by_key(|(range, _)| *range);
        // The newest and the oldest come first: the others mostly lie between, and need not be looked into.
        let count = ranges.len();
        ranges.rotate_right(count.min(1));
        let scope = &search.scope;
        for ((first, last), segment) in ranges {
            if span.first <= first && last <= span.last {
                continue;
            }
            if let Some(allowed) = scope.allowed {
                let minutes = segment.minutes()?;
                for number in allowed.range(segment.base(), segment.span()) {
                    let minute = minutes.get((number - segment.base()) as usize).copied().unwrap_or_default();
                    span.include(scope.ranked_minute(minute));
                }
            } else if scope.ranked_minute(last) == last {
                span.include(first);
                span.include(last);
            } else {
                // The range ends with a wrong time, so that the right ones have to be read.
                segment.minutes()?.iter().for_each(|minute| span.include(scope.ranked_minute(*minute)));
            }
        }
        span.first = span.first.max(search.scope.since_minute);
        Ok(span)
    }

    fn include(&mut self, minute: u32) {
        if minute > 0 {
            self.first = self.first.min(minute);
            self.last = self.last.max(minute);
        }
    }

    /// Returns how recent a minute is: 1 the last, 0 the first.
    ///
    /// By the logarithm of the age, so that an hour counts in a day as a month does in years, and one wrong date changes
    /// little.
    fn place(self, minute: u32) -> f64 {
        let whole = self.last.saturating_sub(self.first);
        if whole == 0 {
            return 0.0;
        }
        let age = self.last.saturating_sub(minute).min(whole);
        1.0 - f64::from(age).ln_1p() / f64::from(whole).ln_1p()
    }
}

/// What an entry has of the query itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Covered {
    /// The share of the query's words, by their rarity.
    share: f64,
    /// How near the entry is to being no longer than the query: 1 where it is not. Nothing for a single word: `yes` says no more
    /// about `yes` than a sentence with it does.
    brevity: f64,
    /// How many words the query has that some entry has.
    words: usize,
}

impl Covered {
    /// Returns what an entry with this share of so many words has of a query of this length.
    pub(super) fn of(share: f64, words: usize, (query_length, entry): (u16, &Entry)) -> Self {
        let brevity = (f64::from(query_length) / entry.length.max(1.0)).min(1.0);
        Self { share, brevity: if words > 1 { brevity } else { 0.0 }, words }
    }

    /// Returns the share as it counts.
    fn weight(self) -> f64 {
        self.share.powi(COVERAGE_POWER)
    }

    /// Returns the factor of what the entry has, or has not.
    fn factor(self, recipe: &Recipe) -> f64 {
        if self.share <= 0.0 {
            return if self.words <= SHORT_QUERY_WORDS { recipe.nearby } else { 1.0 };
        }
        1.0 + self.weight() * (recipe.coverage + recipe.brevity * self.brevity)
    }
}

/// Returns what a short text counts times. It is part of the words' worth rather than a reason of its own.
///
/// A text that has all of several words says what was looked for, however short it is: `bench: 12 ms` is all that there is to say
/// about `12 ms`.
pub(super) fn length<S>(search: &Search<'_, S>, (entry, covered): (&Entry, Covered)) -> f64 {
    let recipe = recipe(search, entry);
    let is_prompt = entry.marks & marks::PROMPT != 0;
    let half = if is_prompt { recipe.prompt_length } else { recipe.length };
    let excused = if covered.words > 1 { recipe.coverage * covered.weight() } else { 0.0 };
    entry.length / (entry.length + half * (1.0 - excused).max(0.0))
}

/// A factor with the reason for it.
pub(super) type Factor<'a> = (ReasonName, f32, &'a str);

/// Returns the factors of an entry, which has this of the query itself; those that do not apply are 1.
pub(super) fn factors<'a, S: Segment>(
    search: &Search<'a, S>,
    asked: &[String],
    span: Span,
    (entry, covered): (&Entry, Covered),
) -> Result<[Factor<'a>; 5], S::Error> {
    let recipe = recipe(search, entry);
    let (mut minute, mut class) = (0, 0);
    if let Some(segment) = search.segments.get(entry.segment) {
        minute = segment.minutes()?.get(entry.at).copied().unwrap_or_default();
        class = segment.classes()?.get(entry.at).copied().unwrap_or_default();
    }
    let question = if entry.marks & marks::ASKS == 0 { 1.0 } else { recipe.question };
    let (speaker, name) = speaker(search, asked, entry);
    let (kind, kind_name) = kind(recipe, class, entry.marks);
    Ok([
        (ReasonName::Coverage, narrow(covered.factor(recipe)), ""),
        (ReasonName::Speaker, narrow(speaker), name),
        (ReasonName::Question, narrow(question), ""),
        (
            ReasonName::Recent,
            narrow(1.0 + recipe.recent * span.place(search.scope.ranked_minute(minute))),
            "",
        ),
        (ReasonName::Kind, narrow(kind), kind_name),
    ])
}

/// Returns the factor of the author, if the query names exactly one participant.
fn speaker<'a, S>(search: &Search<'a, S>, asked: &[String], entry: &Entry) -> (f64, &'a str) {
    let ([asked], true) = (asked, entry.author > 0) else { return (1.0, "") };
    let author = search.scope.authors.iter().find(|(author, _)| *author == entry.author);
    match author {
        Some((_, name)) if name.split_whitespace().any(|word| word == asked) => {
            (recipe(search, entry).speaker, name.as_str())
        }
        _ => (1.0, ""),
    }
}

/// Returns the factor of what an entry is: the first of these that applies.
fn kind(recipe: &Recipe, class: u8, entry_marks: u8) -> (f64, &'static str) {
    let of_class = [
        (kinds::INSTRUCTION, recipe.instruction, "instruction"),
        (kinds::COMPACTION_SUMMARY, recipe.summary, "summary"),
    ];
    let marked = [(marks::DECISION, recipe.decision, "decision"), (marks::CALL, recipe.call, "call")];
    if let Some((_, factor, name)) =
        of_class.into_iter().find(|(kind, ..)| ClassMask::kind_of(class) == *kind)
    {
        return (factor, name);
    }
    let found = marked.into_iter().find(|(mark, ..)| entry_marks & mark != 0);
    found.map_or((1.0, ""), |(_, factor, name)| (factor, name))
}
