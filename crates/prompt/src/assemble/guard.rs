//! The guard on characters: what a prompt loses where it is too long whatever the counter says.
//!
//! Seed 000's: compact optional packs from the least important up, then drop them, then cut required ones, those that are
//! not preserved first, the largest first. Never inside a character.

use std::cmp::Reverse;

use stemmata_api::v1::{PromptReason, PromptVariant};
use stemmata_model::Chars;

use super::budget::{Candidate, Choice, by_importance};
use super::pack::{LengthUnit, Pack};
use crate::strategy::Priority;

/// What ends a text that was cut.
pub const TRUNCATION_NOTICE: &str = "\n\n[Context truncated to fit limit]\n";

/// A pack on its way into the prompt.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) choice: Choice,
    /// The text that is in the prompt; empty where it is not there.
    pub(super) text: String,
    pub(super) chars: Chars,
    /// Whether it was chosen and then left out by the guard.
    pub(super) is_dropped: bool,
    /// Whether its text was cut.
    pub(super) is_truncated: bool,
}

impl Placed {
    /// Makes what a choice puts into the prompt.
    pub(super) fn of(pack: &Pack, choice: Choice, unit: LengthUnit) -> Self {
        let text = match choice.variant {
            Some(PromptVariant::Full) => pack.full.clone(),
            Some(PromptVariant::Compact) => pack.compact.clone(),
            None => String::new(),
        };
        Self { choice, chars: unit.length(&text), text, is_dropped: false, is_truncated: false }
    }

    /// Says whether it is in the prompt, be it cut to nothing.
    pub(super) const fn is_in(&self) -> bool {
        self.choice.variant.is_some() && !self.is_dropped
    }

    /// Leaves it out. Its form stays named: it is what was dropped.
    pub(super) fn drop_it(&mut self, reason: PromptReason) {
        self.text.clear();
        self.chars = Chars(0);
        self.is_dropped = true;
        self.choice.reason = reason;
    }

    /// Puts its compact form in the place of the full one.
    pub(super) fn shrink(&mut self, pack: &Pack, unit: LengthUnit, reason: PromptReason) {
        let room = self.choice.room;
        *self = Self::of(pack, Choice { variant: Some(PromptVariant::Compact), reason, room }, unit);
    }
}

/// The packs of one prompt under the guard.
pub(super) struct Guard<'a> {
    pub(super) packs: &'a [Pack],
    pub(super) candidates: &'a [Candidate],
    pub(super) unit: LengthUnit,
}

impl Guard<'_> {
    /// Brings packs within a bound.
    pub(super) fn apply(&self, placed: &mut [Placed], chars_max: Chars) {
        let mut total: Chars = placed.iter().map(|one| one.chars).sum();
        if total <= chars_max {
            return;
        }
        let important = by_importance(self.candidates);
        let is_optional =
            |place: &usize| self.candidates.get(*place).is_some_and(|one| one.priority != Priority::Required);
        let optional: Vec<usize> = important.iter().rev().copied().filter(is_optional).collect();
        for is_drop in [false, true] {
            for place in &optional {
                if total <= chars_max {
                    return;
                }
                if let (Some(one), Some(pack)) = (placed.get_mut(*place), self.packs.get(*place)) {
                    if is_drop { drop_if_in(one) } else { self.compact_if_shorter(one, pack) }
                }
                total = placed.iter().map(|one| one.chars).sum();
            }
        }
        for place in self.to_cut(placed, &important) {
            if total <= chars_max {
                return;
            }
            if let Some(one) = placed.get_mut(place) {
                cut(one, total.saturating_sub(chars_max), self.unit);
            }
            total = placed.iter().map(|one| one.chars).sum();
        }
    }

    fn compact_if_shorter(&self, one: &mut Placed, pack: &Pack) {
        let is_shorter = !pack.compact.is_empty() && self.unit.length(&pack.compact) < one.chars;
        if one.choice.variant == Some(PromptVariant::Full) && is_shorter {
            one.shrink(pack, self.unit, PromptReason::MaxChars);
        }
    }

    /// Returns required packs in the order in which they are cut.
    fn to_cut(&self, placed: &[Placed], important: &[usize]) -> Vec<usize> {
        let preserved = |place: usize| self.packs.get(place).is_some_and(|pack| pack.preserve);
        let chars = |place: usize| placed.get(place).map_or(Chars(0), |one| one.chars);
        let is_in = |place: &usize| placed.get(*place).is_some_and(Placed::is_in);
        let mut to_cut: Vec<usize> = important.iter().rev().copied().filter(is_in).collect();
        // Stable: of two that are equally long the later one is cut.
        to_cut.sort_by_key(|place| (preserved(*place), Reverse(chars(*place))));
        to_cut
    }
}

fn drop_if_in(one: &mut Placed) {
    if one.is_in() {
        one.drop_it(PromptReason::MaxChars);
    }
}

fn cut(one: &mut Placed, excess: Chars, unit: LengthUnit) {
    let wanted = one.chars.saturating_sub(excess);
    let notice = unit.length(TRUNCATION_NOTICE);
    let text = if wanted > notice {
        format!("{}{TRUNCATION_NOTICE}", unit.prefix(&one.text, wanted.saturating_sub(notice)))
    } else {
        unit.prefix(&one.text, wanted).to_owned()
    };
    one.chars = unit.length(&text);
    one.text = text;
    one.is_truncated = true;
    one.choice.reason = PromptReason::MaxChars;
}
