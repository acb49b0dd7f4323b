//! What an entry counts besides its words: its length, who wrote it, when, and what it is.

use super::first::narrow;
use super::ranked::{ReasonName, Search};
use super::source::{ClassMask, Segment, kinds, marks};
use super::weights::Recipe;
use super::windows::{Entry, recipe};

/// Having most of the words counts much more than having half of them.
const COVERAGE_POWER: i32 = 2;

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

/// Returns what a short text counts times. It is part of the words' worth rather than a reason of its own.
pub(super) fn length<S>(search: &Search<'_, S>, entry: &Entry) -> f64 {
    let recipe = recipe(search, entry);
    let is_prompt = entry.marks & marks::PROMPT != 0;
    entry.length / (entry.length + if is_prompt { recipe.prompt_length } else { recipe.length })
}

/// A factor with the reason for it.
pub(super) type Factor<'a> = (ReasonName, f32, &'a str);

/// Returns the factors of an entry, which has this share of the query's words itself; those that do not apply are 1.
pub(super) fn factors<'a, S: Segment>(
    search: &Search<'a, S>,
    asked: &[String],
    span: Span,
    (entry, covered): (&Entry, f64),
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
        (ReasonName::Coverage, narrow(1.0 + recipe.coverage * covered.powi(COVERAGE_POWER)), ""),
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
