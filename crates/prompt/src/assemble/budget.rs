//! The choice of packs under a budget: seed 000's algorithm, with the sections' caps and floors of seed 004.
//!
//! Two rounds, both in the order of priority and place. In the first each section keeps within its cap, and what other
//! sections' floors keep free is not taken. In the second, what nobody used is lent: each pack that was not chosen whole
//! is tried again against all that is left. Where every cap is the whole budget and there are no floors, the second round
//! changes nothing, and the first is seed 000's algorithm.

use stemmata_api::v1::{PromptReason, PromptVariant};
use stemmata_model::Tokens;

use crate::strategy::Priority;

/// A pack as the choice sees it: what its forms cost.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) priority: Priority,
    /// Its place in the prompt; ties are broken by its place in the list.
    pub(super) order: usize,
    /// The index of its section.
    pub(super) section: usize,
    /// What the full form costs, or `None` if it is empty.
    pub(super) full: Option<Tokens>,
    /// What the compact form costs, or `None` if it is empty.
    pub(super) compact: Option<Tokens>,
}

/// What was decided of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    /// The form that is in the prompt.
    pub(super) variant: Option<PromptVariant>,
    pub(super) reason: PromptReason,
    /// The tokens that were free for it when it was decided.
    pub(super) room: Option<Tokens>,
}

/// A section's bounds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) cap: Tokens,
    pub(super) floor: Tokens,
}

/// The state of a choice.
struct Chooser<'a> {
    candidates: &'a [Candidate],
    sections: &'a [Bounds],
    choices: Vec<Choice>,
    /// What each section takes.
    used: Vec<Tokens>,
    /// What of the budget is left; none without a budget.
    left: Option<Tokens>,
}

impl Candidate {
    /// Returns what a form costs, or `None` if it is empty.
    pub(super) fn cost(&self, variant: PromptVariant) -> Option<Tokens> {
        match variant {
            PromptVariant::Full => self.full,
            PromptVariant::Compact => self.compact,
        }
    }
}

/// Returns the places of candidates in the order in which they are chosen: by priority, then by their place in the prompt.
pub(super) fn by_importance(candidates: &[Candidate]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..candidates.len()).collect();
    places.sort_by_key(|place| candidates.get(*place).map(|one| (one.priority, one.order, *place)));
    places
}

/// Chooses the form of each candidate.
pub(super) fn choose(
    candidates: &[Candidate],
    sections: &[Bounds],
    max_tokens: Option<Tokens>,
) -> Vec<Choice> {
    let waiting = Choice { variant: None, reason: PromptReason::Empty, room: None };
    let mut chooser = Chooser {
        candidates,
        sections,
        choices: vec![waiting; candidates.len()],
        used: vec![Tokens(0); sections.len()],
        left: max_tokens,
    };
    let places = by_importance(candidates);
    let mut waiting = places.clone();
    for place in &places {
        waiting.retain(|other| other != place);
        chooser.within_cap(*place, &waiting);
    }
    for place in &places {
        chooser.lend(*place);
    }
    chooser.choices
}

impl Chooser<'_> {
    /// The first round.
    fn within_cap(&mut self, place: usize, waiting: &[usize]) {
        let Some(one) = self.candidates.get(place) else { return };
        let is_required = one.priority == Priority::Required;
        // Required packs come whatever is kept free for others.
        let kept = if is_required { Tokens(0) } else { self.kept_for_others(one.section, waiting) };
        let room = self.left.map(|left| left.saturating_sub(kept).min(self.under_cap(one.section)));
        let fits = |cost: Tokens| room.is_none_or(|room| cost <= room);
        let (variant, reason) = match (one.full, one.compact) {
            (None, None) => (None, PromptReason::Empty),
            (Some(full), compact) if is_required => {
                // Compact where that is what fits, or what overspends least.
                let compact = compact.filter(|compact| !fits(full) && (fits(*compact) || *compact < full));
                match compact {
                    Some(compact) => {
                        (Some(PromptVariant::Compact), self.spending(one, compact, PromptReason::Budget))
                    }
                    None => (Some(PromptVariant::Full), self.spending(one, full, PromptReason::Required)),
                }
            }
            (None, Some(compact)) if is_required => {
                (Some(PromptVariant::Compact), self.spending(one, compact, PromptReason::OnlyForm))
            }
            (None, Some(compact)) if fits(compact) => (Some(PromptVariant::Compact), PromptReason::OnlyForm),
            (Some(full), _) if fits(full) => (Some(PromptVariant::Full), PromptReason::Fits),
            (Some(_), Some(compact)) if fits(compact) => (Some(PromptVariant::Compact), PromptReason::Budget),
            _ => (None, PromptReason::Budget),
        };
        self.set(place, Choice { variant, reason, room });
    }

    /// Returns why a required pack is there: it overspends the budget, borrows beyond its section's cap, or as given.
    fn spending(&self, one: &Candidate, cost: Tokens, otherwise: PromptReason) -> PromptReason {
        if self.left.is_some_and(|left| cost > left) {
            PromptReason::OverBudget
        } else if self.left.is_some() && cost > self.under_cap(one.section) {
            PromptReason::Lent
        } else {
            otherwise
        }
    }

    /// The second round: lends what is left to a pack that is not there whole.
    fn lend(&mut self, place: usize) {
        let (Some(one), Some(choice)) = (self.candidates.get(place), self.choices.get(place).copied()) else {
            return;
        };
        let Some(left) = self.left else { return };
        let taken = choice.variant.and_then(|variant| one.cost(variant)).unwrap_or_default();
        let room = left + taken;
        let is_whole = choice.variant == Some(PromptVariant::Full);
        let full = one.full.filter(|full| !is_whole && *full <= room);
        let compact = one.compact.filter(|compact| choice.variant.is_none() && *compact <= room);
        let variant = match (full, compact) {
            (Some(_), _) => PromptVariant::Full,
            (None, Some(_)) => PromptVariant::Compact,
            (None, None) => {
                if choice.reason == PromptReason::Budget {
                    self.set(place, Choice { room: Some(room), ..choice });
                }
                return;
            }
        };
        self.set(place, Choice { variant: Some(variant), reason: PromptReason::Lent, room: Some(room) });
    }

    /// Takes a decision, in place of one that was taken before.
    fn set(&mut self, place: usize, choice: Choice) {
        let (Some(one), Some(before)) = (self.candidates.get(place), self.choices.get_mut(place)) else {
            return;
        };
        let returned = before.variant.and_then(|variant| one.cost(variant)).unwrap_or_default();
        let taken = choice.variant.and_then(|variant| one.cost(variant)).unwrap_or_default();
        *before = choice;
        if let Some(used) = self.used.get_mut(one.section) {
            *used = used.saturating_sub(returned) + taken;
        }
        self.left = self.left.map(|left| (left + returned).saturating_sub(taken));
    }

    /// Returns what a section may still take within its cap.
    fn under_cap(&self, section: usize) -> Tokens {
        let used = self.used.get(section).copied().unwrap_or_default();
        self.sections.get(section).map_or(Tokens(u64::MAX), |bounds| bounds.cap.saturating_sub(used))
    }

    /// Returns what the floors of other sections keep free for packs that had no turn yet, and no more than those want.
    fn kept_for_others(&self, section: usize, waiting: &[usize]) -> Tokens {
        let others = self
            .sections
            .iter()
            .enumerate()
            .filter(|(index, bounds)| *index != section && bounds.floor > Tokens(0));
        let kept = others.map(|(index, bounds)| {
            let waiting = waiting.iter().filter_map(|place| self.candidates.get(*place));
            let wanted: Tokens = waiting
                .filter(|one| one.section == index)
                .map(|one| one.full.or(one.compact).unwrap_or_default())
                .sum();
            let used = self.used.get(index).copied().unwrap_or_default();
            bounds.floor.saturating_sub(used).min(wanted)
        });
        kept.sum()
    }
}
