//! Packs into a prompt: the choice, the guard, and what is said of both.
//!
//! Where packs come from is not known here.

use stemmata_api::v1::{
    PromptBudget, PromptCandidate, PromptDecision, PromptItem, PromptReason, PromptSection, PromptTruncation,
    PromptVariant,
};
use stemmata_model::{Chars, Tokens};

use super::budget::{Bounds, Candidate, Choice, by_importance, choose};
use super::guard::{Guard, Placed};
use super::pack::{Pack, PackLimits, SectionBudget};
use crate::strategy::{Priority, SectionKind};

/// A prompt's text and what became of each pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The text: the packs that are in it, in their order.
    pub text: String,
    /// Every pack once, in the order of the prompt.
    pub candidates: Vec<PromptCandidate>,
    /// The sections that packs belong to, in the order of the prompt.
    pub sections: Vec<PromptSection>,
    /// The budget.
    pub budget: PromptBudget,
    /// What the guard did.
    pub truncation: PromptTruncation,
}

/// Chooses packs within a budget and puts them together.
///
/// Without `over_budget_tokens` neither the sum of the packs' tokens nor the tokens of the whole text exceed the budget.
/// Required packs are never skipped. `over_budget_tokens` is above 0 exactly where the required packs that are left in
/// the prompt need more than the budget. Meant for a hundred packs: the time grows with their square.
pub fn select_packs(packs: &[Pack], limits: &PackLimits<'_>) -> Selected {
    let sections = sections_of(packs, limits);
    let candidates: Vec<Candidate> = packs.iter().map(|pack| candidate(pack, &sections, limits)).collect();
    let bounds: Vec<Bounds> =
        sections.iter().map(|section| Bounds { cap: section.cap, floor: section.floor }).collect();
    let choices = choose(&candidates, &bounds, limits.max_tokens);
    let mut run = Run { packs, limits, candidates, placed: placed(packs, &choices, limits) };
    let before_chars = run.chars();
    if let Some(chars_max) = limits.chars_max {
        let guard = Guard { packs, candidates: &run.candidates, unit: limits.unit };
        guard.apply(&mut run.placed, chars_max);
    }
    let (after_chars, is_applied) = (run.chars(), run.chars() < before_chars);
    let order = run.order();
    let (text, tokens) = run.fit_joined(&order);
    let budget = run.budget(&tokens, &text);
    let candidates = run.traced(&order, &tokens);
    let truncation = PromptTruncation {
        applied: is_applied,
        chars_max: limits.chars_max.map(|chars| chars.0),
        before_chars: before_chars.0,
        after_chars: after_chars.0,
    };
    Selected { text, sections: used(&sections, &candidates), candidates, budget, truncation }
}

/// Returns the sections that packs belong to, in the order of the prompt; one that has no budget of its own has all of it.
fn sections_of(packs: &[Pack], limits: &PackLimits<'_>) -> Vec<SectionBudget> {
    let mut places: Vec<usize> = (0..packs.len()).collect();
    places.sort_by_key(|place| packs.get(*place).map(|pack| (pack.order, *place)));
    let mut sections: Vec<SectionBudget> = Vec::new();
    for pack in places.into_iter().filter_map(|place| packs.get(place)) {
        if sections.iter().any(|section| section.id == pack.section) {
            continue;
        }
        let known = limits.sections.iter().find(|section| section.id == pack.section);
        sections.push(known.cloned().unwrap_or_else(|| SectionBudget {
            id: pack.section.clone(),
            kind: SectionKind::Fixed,
            cap: limits.max_tokens.unwrap_or(Tokens(u64::MAX)),
            floor: Tokens(0),
        }));
    }
    sections
}

fn candidate(pack: &Pack, sections: &[SectionBudget], limits: &PackLimits<'_>) -> Candidate {
    let cost = |text: &str| (!text.is_empty()).then(|| limits.counter.count(text));
    Candidate {
        priority: pack.priority,
        order: pack.order,
        section: sections.iter().position(|section| section.id == pack.section).unwrap_or(sections.len()),
        full: cost(&pack.full),
        compact: cost(&pack.compact),
    }
}

fn placed(packs: &[Pack], choices: &[Choice], limits: &PackLimits<'_>) -> Vec<Placed> {
    packs.iter().zip(choices).map(|(pack, choice)| Placed::of(pack, *choice, limits.unit)).collect()
}

fn used(sections: &[SectionBudget], candidates: &[PromptCandidate]) -> Vec<PromptSection> {
    let uses = sections.iter().map(|section| {
        let own = candidates.iter().filter(|one| one.section == section.id);
        let used = own.fold(0_u64, |sum, one| sum.saturating_add(one.tokens));
        PromptSection {
            id: section.id.clone(),
            kind: section.kind.as_str().to_owned(),
            cap_tokens: section.cap.0,
            floor_tokens: section.floor.0,
            used_tokens: used,
            lent_tokens: used.saturating_sub(section.cap.0),
        }
    });
    uses.collect()
}

/// Packs on their way into a prompt.
struct Run<'a> {
    packs: &'a [Pack],
    limits: &'a PackLimits<'a>,
    candidates: Vec<Candidate>,
    placed: Vec<Placed>,
}

impl Run<'_> {
    fn chars(&self) -> Chars {
        self.placed.iter().map(|one| one.chars).sum()
    }

    /// Returns the places of packs in the order of the prompt.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.packs.len()).collect();
        order.sort_by_key(|place| self.packs.get(*place).map(|pack| (pack.order, *place)));
        order
    }

    fn text(&self, order: &[usize]) -> String {
        let texts = order.iter().filter_map(|place| self.placed.get(*place));
        texts.map(|one| one.text.as_str()).collect()
    }

    /// Returns what each pack costs as it is in the prompt. Only a text that was cut is counted again.
    fn tokens(&self) -> Vec<Tokens> {
        let counted = self.placed.iter().zip(&self.candidates).map(|(one, cost)| match one.choice.variant {
            _ if one.text.is_empty() => Tokens(0),
            _ if one.is_truncated => self.limits.counter.count(&one.text),
            Some(variant) => cost.cost(variant).unwrap_or_default(),
            None => Tokens(0),
        });
        counted.collect()
    }

    /// Holds the budget for the text as a whole. A tokenizer may count two texts as more together than apart, and a
    /// notice that the guard put in may count for more than what it stands for; then the least important optional pack
    /// becomes compact or goes, until it fits.
    fn fit_joined(&mut self, order: &[usize]) -> (String, Vec<Tokens>) {
        let important = by_importance(&self.candidates);
        loop {
            let (text, tokens) = (self.text(order), self.tokens());
            let sum: Tokens = tokens.iter().copied().sum();
            let Some(max) = self.limits.max_tokens else { return (text, tokens) };
            let is_within = sum <= max && self.limits.counter.count(&text) <= max;
            let worst = important.iter().rev().copied().find(|place| self.may_go(*place));
            let Some(place) = worst.filter(|_| !is_within) else { return (text, tokens) };
            self.make_smaller(place);
        }
    }

    fn may_go(&self, place: usize) -> bool {
        let is_optional = self.candidates.get(place).is_some_and(|one| one.priority != Priority::Required);
        is_optional && self.placed.get(place).is_some_and(|one| one.is_in() && !one.text.is_empty())
    }

    fn make_smaller(&mut self, place: usize) {
        let (Some(one), Some(pack), Some(cost)) =
            (self.placed.get_mut(place), self.packs.get(place), self.candidates.get(place))
        else {
            return;
        };
        let unit = self.limits.unit;
        let is_smaller = cost.compact.is_some() && cost.compact < cost.full;
        // The guard on characters has had its say: a compact form that is longer is no way out.
        let is_shorter = unit.length(&pack.compact) <= one.chars;
        if one.choice.variant == Some(PromptVariant::Full) && is_smaller && is_shorter {
            one.shrink(pack, unit, PromptReason::Joined);
        } else {
            one.choice.variant = None;
            one.drop_it(PromptReason::Joined);
            one.is_dropped = false;
        }
    }

    fn budget(&self, tokens: &[Tokens], text: &str) -> PromptBudget {
        let used: Tokens = tokens.iter().copied().sum();
        let counted = self.limits.counter.count(text);
        let max = self.limits.max_tokens;
        let over = max.map_or(Tokens(0), |max| used.max(counted).saturating_sub(max));
        PromptBudget {
            max_tokens: max.map(|max| max.0),
            remaining_tokens: max.map(|max| max.saturating_sub(used).0),
            over_budget_tokens: over.0,
            used_tokens: used.0,
            final_tokens: counted.0,
        }
    }

    fn traced(&self, order: &[usize], tokens: &[Tokens]) -> Vec<PromptCandidate> {
        let mut offset = Chars(0);
        let mut traced = Vec::with_capacity(order.len());
        for (position, place) in order.iter().enumerate() {
            let (Some(pack), Some(one), Some(cost)) =
                (self.packs.get(*place), self.placed.get(*place), self.candidates.get(*place))
            else {
                continue;
            };
            traced.push(PromptCandidate {
                id: pack.id.clone(),
                section: pack.section.clone(),
                priority: pack.priority.as_str().to_owned(),
                position: u64::try_from(position).unwrap_or(u64::MAX),
                offset_chars: offset.0,
                decision: decision(one),
                reason: reason(pack, one),
                variant: one.choice.variant,
                tokens: tokens.get(*place).copied().unwrap_or_default().0,
                chars: one.chars.0,
                full_tokens: cost.full.unwrap_or_default().0,
                compact_tokens: cost.compact.map(|tokens| tokens.0),
                room_tokens: one.choice.room.map(|tokens| tokens.0),
                cached: false,
                is_cut: pack.is_cut,
                items: self.items(pack, one),
            });
            offset += one.chars;
        }
        traced
    }

    fn items(&self, pack: &Pack, one: &Placed) -> Vec<PromptItem> {
        let is_in = |full: bool, compact: bool| match one.choice.variant {
            Some(PromptVariant::Full) => full && one.is_in(),
            Some(PromptVariant::Compact) => compact && one.is_in(),
            None => false,
        };
        let items = pack.items.iter().map(|item| PromptItem {
            id: item.id.clone(),
            tokens: self.limits.counter.count(&item.text).0,
            included: is_in(item.in_full, item.in_compact),
            images: item.images.clone(),
            score_permille: item.score_permille,
            reasons: item.reasons.clone(),
        });
        items.collect()
    }
}

fn reason(pack: &Pack, one: &Placed) -> PromptReason {
    let is_trigger = one.choice.reason == PromptReason::Empty && pack.has_trigger;
    if is_trigger { PromptReason::Trigger } else { one.choice.reason }
}

fn decision(one: &Placed) -> PromptDecision {
    match one.choice.variant {
        _ if one.is_dropped => PromptDecision::Dropped,
        _ if one.is_truncated => PromptDecision::Truncated,
        Some(PromptVariant::Full) => PromptDecision::Full,
        Some(PromptVariant::Compact) => PromptDecision::Compact,
        None => PromptDecision::Skipped,
    }
}
