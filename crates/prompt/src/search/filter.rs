//! Whether an entry may be a hit: the scope's filter over one segment.

use super::query::Query;
use super::ranked::Search;
use super::source::{Block, NumberSet, Postings, Scope, Segment};

/// The filter of one segment.
pub(super) struct Filter<'a> {
    base: u32,
    /// The entries that hold every required term.
    required: Option<NumberSet>,
    scope: Scope<'a>,
    classes: &'a [u8],
    marks: &'a [u8],
    minutes: &'a [u32],
}

impl<'a> Filter<'a> {
    /// Reads what the filter of a segment needs, and no column besides.
    pub(super) fn of<S: Segment>(
        search: &Search<'a, S>,
        segment: &'a S,
        query: &Query,
    ) -> Result<Self, S::Error> {
        let scope = &search.scope;
        let is_classed = !scope.classes.is_empty();
        Ok(Self {
            base: segment.base(),
            required: required(segment, query)?,
            scope: *scope,
            classes: if is_classed { segment.classes()? } else { &[] },
            marks: if is_classed { segment.marks()? } else { &[] },
            minutes: if scope.has_times() { segment.minutes()? } else { &[] },
        })
    }

    /// Returns whether an entry, relative to the base, may be a hit.
    #[inline]
    pub(super) fn admits(&self, number: u32) -> bool {
        let at = number as usize;
        let column = |column: &[u8]| column.get(at).copied().unwrap_or_default();
        self.scope.allowed.is_none_or(|allowed| allowed.contains(self.base + number))
            && self.required.as_ref().is_none_or(|required| required.contains(number))
            && (self.scope.classes.is_empty() || {
                let (class, marks) = (column(self.classes), column(self.marks));
                self.scope.classes.iter().any(|mask| mask.admits(class, marks))
            })
            && (!self.scope.has_times()
                || self.minutes.get(at).is_some_and(|minute| self.scope.admits_minute(*minute)))
    }
}

/// Returns whether a segment may have a hit, as far as that is known without its columns.
pub(super) fn may_admit<S: Segment>(search: &Search<'_, S>, segment: &S) -> bool {
    let scope = &search.scope;
    let is_within = |(first, last): (u32, u32)| last >= scope.since_minute && first <= scope.until_minute;
    let has_one = |allowed: &NumberSet| allowed.range(segment.base(), segment.span()).next().is_some();
    (!scope.has_times() || segment.minute_range().is_some_and(is_within)) && scope.allowed.is_none_or(has_one)
}

/// Returns the entries that hold every required term, nothing where none is required.
fn required<S: Segment>(segment: &S, query: &Query) -> Result<Option<NumberSet>, S::Error> {
    let mut all: Option<NumberSet> = None;
    let mut block = Block::new();
    for needed in query.required() {
        let mut holding = NumberSet::default();
        for term in [Some(&needed.term), needed.also.as_ref()].into_iter().flatten() {
            let Some(postings) = segment.postings(term)? else { continue };
            for at in 0..postings.blocks() {
                postings.unpack(at, &mut block)?;
                holding.extend(block.iter().map(|(number, _)| number));
            }
        }
        match &mut all {
            Some(all) => all.intersect(&holding),
            None => all = Some(holding),
        }
    }
    Ok(all)
}
