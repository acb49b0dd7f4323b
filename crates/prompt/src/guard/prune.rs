//! The plan of a prune: which items of a window stay, in one step down to the target, and why.
//!
//! A window is pruned to the target at once, not a little at every turn: each prune breaks the provider's prompt cache.

use std::collections::HashMap;

use stemmata_model::{EntryId, Timestamp, Tokens};
use thiserror::Error;

use super::item::{Class, Item};
use super::judge::{Category, Judgement, Reason, Verdict, judge};
use super::limits::Window;
use super::minimal::plan_minimal;
use super::score::Score;
use super::select::{Candidate, fill};
use super::tasks::TaskGraph;

/// What a plan is made of.
#[derive(Debug, Clone, Copy)]
pub struct PruneRequest<'a> {
    /// The limits.
    pub window: &'a Window,
    /// The live window, oldest first.
    pub items: &'a [Item],
    /// The tasks.
    pub tasks: &'a TaskGraph,
    /// The time.
    pub now: Timestamp,
}

/// How much was pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Form {
    /// Nothing: the window is within the target.
    Untouched,
    /// By category, class and score, down to the target.
    Pruned,
    /// Down to what nothing works without.
    Minimal,
}

impl Form {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Why an item stays or goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// As it was judged by itself.
    Judged(Reason),
    /// Its score was among the best that fit.
    Fits(Reason),
    /// There was no room left when its score's turn came.
    NoRoom(Reason),
    /// There was no room left for its tool group, which goes or stays as one.
    NoRoomForGroup(Reason),
    /// Another item of its tool group decided.
    WithToolGroup(Reason),
    /// The window is within the target: a prune would break the prompt cache for nothing.
    WithinTarget(Reason),
    /// The smallest form keeps it.
    Minimal(&'static str),
    /// The smallest form does not need it.
    NotMinimal(Reason),
}

impl Why {
    /// Returns the reason in words.
    pub fn text(self) -> String {
        match self {
            Self::Judged(reason) => described(reason),
            Self::Fits(reason) => format!("{}: among the best that fit", described(reason)),
            Self::NoRoom(reason) => format!("{}: no room left for it", described(reason)),
            Self::NoRoomForGroup(reason) => {
                format!("{}: no room left for its tool group", described(reason))
            }
            Self::WithToolGroup(reason) => format!("{}; its tool group decides", described(reason)),
            Self::WithinTarget(reason) => format!("{}; the window is within the target", described(reason)),
            Self::Minimal(what) => format!("part of the smallest context: {what}"),
            Self::NotMinimal(reason) => format!("{}; not part of the smallest context", described(reason)),
        }
    }
}

fn described(reason: Reason) -> String {
    match reason.row() {
        Some(row) => format!("{} ({})", reason.as_str(), row.as_str()),
        None => reason.as_str().to_owned(),
    }
}

/// What happens to an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The entry.
    pub id: EntryId,
    /// What it takes of the window.
    pub size: Tokens,
    /// Whether it stays.
    pub is_kept: bool,
    /// Where it belongs.
    pub category: Category,
    /// Its class.
    pub class: Class,
    /// Its points.
    pub score: Score,
    /// Why.
    pub why: Why,
}

/// Something that a plan would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// An essential item would go.
    EssentialDropped {
        /// The entry.
        id: EntryId,
    },
    /// What stays is larger than the target.
    OverTarget {
        /// What stays.
        size: Tokens,
        /// What pruning aims at.
        target: Tokens,
    },
    /// Part of a tool group would go.
    GroupSplit {
        /// An entry of it that would go.
        id: EntryId,
    },
}

/// What to keep, with a decision for each item in the window's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrunePlan {
    /// How much was pruned.
    pub form: Form,
    /// A decision for each item.
    pub decisions: Vec<Decision>,
    /// The window's size before.
    pub before: Tokens,
    /// Its size after.
    pub after: Tokens,
    /// What pruning aims at. Where what has to stay is larger, the plan is: below the critical zone, or within the limit.
    pub target: Tokens,
    /// The lowest score that stays, of what stays by its score.
    pub threshold: Option<u8>,
    /// Why the form before this one would not do.
    pub findings: Vec<Finding>,
}

impl PrunePlan {
    /// Returns the entries that go, oldest first.
    pub fn pruned(&self) -> impl Iterator<Item = &EntryId> {
        self.decisions.iter().filter(|decision| !decision.is_kept).map(|decision| &decision.id)
    }
}

/// The smallest context is larger than the window.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "the smallest context of {least} does not fit a window of {limit}; its largest entry is `{largest}` with {largest_size}: \
     unpin or shorten it, or use a model with a larger window"
)]
pub struct ContextOverflow {
    /// What the window holds.
    pub limit: Tokens,
    /// What the smallest context takes.
    pub least: Tokens,
    /// Its largest entry.
    pub largest: EntryId,
    /// What that takes.
    pub largest_size: Tokens,
}

/// Whether a window can be pruned without losing what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Safety {
    /// Whether the essential fits the target.
    pub is_safe: bool,
    /// What is essential, pins and open tool groups included.
    pub essential: Tokens,
    /// What pruning aims at.
    pub target: Tokens,
}

/// Decides whether the window can be pruned safely: essentials, pins and open tool groups fit the target.
pub fn judge_safety(request: PruneRequest<'_>) -> Safety {
    let units = Units::of(request.items, &judge(request.items, request.tasks, request.now));
    let essential: Tokens =
        units.candidates.iter().filter(|unit| unit.is_essential).map(|unit| unit.size).sum();
    let target = request.window.target();
    Safety { is_safe: essential <= target, essential, target }
}

/// Plans a prune and falls back to as much as is possible where the target can't be met.
///
/// # Errors
/// [`ContextOverflow`] where even the smallest context is larger than the window.
pub fn plan_prune(request: PruneRequest<'_>) -> Result<PrunePlan, ContextOverflow> {
    let plan = plan_to_target(request);
    let findings = validate(request, &plan);
    if findings.is_empty() {
        return Ok(plan);
    }
    Ok(PrunePlan { findings, ..plan_above_target(request)? })
}

/// Plans a prune where the target can't be met: what is essential, and more by its score, as long as the window is not
/// critical; else the smallest context.
///
/// # Errors
/// As [`plan_minimal`].
pub(super) fn plan_above_target(request: PruneRequest<'_>) -> Result<PrunePlan, ContextOverflow> {
    let bound = request.window.below_critical();
    let plan = plan_within(request, bound);
    // A window that is not critical by its count was refused all the same.
    if plan.form == Form::Pruned && plan.after <= bound { Ok(plan) } else { plan_minimal(request) }
}

/// Plans a prune down to the target. What is essential stays even where it does not fit: [`validate`] says so.
pub fn plan_to_target(request: PruneRequest<'_>) -> PrunePlan {
    plan_within(request, request.window.target())
}

fn plan_within(request: PruneRequest<'_>, bound: Tokens) -> PrunePlan {
    let judgements = judge(request.items, request.tasks, request.now);
    let (before, target) = (size_of(request.items), request.window.target());
    let units = Units::of(request.items, &judgements);
    let form = if before <= bound { Form::Untouched } else { Form::Pruned };
    let kept = match form {
        Form::Untouched => vec![true; units.candidates.len()],
        Form::Pruned | Form::Minimal => fill(&units.candidates, bound),
    };
    let is_kept =
        |item: usize| units.of_item.get(item).and_then(|unit| kept.get(*unit)).copied().unwrap_or(true);
    let why = |item: usize, judgement: &Judgement| {
        let reason = judgement.reason;
        let unit = units.of_item.get(item).and_then(|unit| units.candidates.get(*unit));
        let decided = unit.map_or(judgement.verdict, Units::verdict);
        let own = request.items.get(item).map_or(Tokens(0), |item| item.size);
        match (form, judgement.verdict, is_kept(item)) {
            (Form::Untouched, ..) => Why::WithinTarget(reason),
            (_, own, _) if own != decided => Why::WithToolGroup(reason),
            (_, Verdict::ByScore, true) => Why::Fits(reason),
            (_, Verdict::ByScore, false) if unit.is_some_and(|unit| unit.size > own) => {
                Why::NoRoomForGroup(reason)
            }
            (_, Verdict::ByScore, false) => Why::NoRoom(reason),
            (_, Verdict::Essential | Verdict::Prune, _) => Why::Judged(reason),
        }
    };
    let by_score = units.candidates.iter().zip(&kept);
    let by_score = by_score.filter(|(unit, kept)| **kept && Units::verdict(unit) == Verdict::ByScore);
    let threshold = by_score.map(|(unit, _)| unit.score).min();
    let decisions = decisions(request.items, &judgements, &is_kept, &why);
    let after = kept_size(&decisions);
    PrunePlan { form, decisions, before, after, target, threshold, findings: Vec::new() }
}

/// Checks a plan: essentials present, size within the target, pairs whole.
pub fn validate(request: PruneRequest<'_>, plan: &PrunePlan) -> Vec<Finding> {
    let judgements = judge(request.items, request.tasks, request.now);
    let mut findings = Vec::new();
    let mut groups: HashMap<u32, bool> = HashMap::new();
    for ((item, judgement), decision) in request.items.iter().zip(&judgements).zip(&plan.decisions) {
        if judgement.verdict == Verdict::Essential && !decision.is_kept {
            findings.push(Finding::EssentialDropped { id: item.id.clone() });
        }
        if let Some(group) = item.group
            && *groups.entry(group).or_insert(decision.is_kept) != decision.is_kept
        {
            findings.push(Finding::GroupSplit { id: item.id.clone() });
        }
    }
    if plan.after > plan.target {
        findings.push(Finding::OverTarget { size: plan.after, target: plan.target });
    }
    findings
}

pub(super) fn size_of(items: &[Item]) -> Tokens {
    items.iter().map(|item| item.size).sum()
}

pub(super) fn kept_size(decisions: &[Decision]) -> Tokens {
    decisions.iter().filter(|decision| decision.is_kept).map(|decision| decision.size).sum()
}

pub(super) fn decisions(
    items: &[Item],
    judgements: &[Judgement],
    is_kept: &dyn Fn(usize) -> bool,
    why: &dyn Fn(usize, &Judgement) -> Why,
) -> Vec<Decision> {
    let pairs = items.iter().zip(judgements).enumerate();
    let decision = |(at, (item, judgement)): (usize, (&Item, &Judgement))| Decision {
        id: item.id.clone(),
        size: item.size,
        is_kept: is_kept(at),
        category: judgement.category,
        class: judgement.class,
        score: judgement.score,
        why: why(at, judgement),
    };
    pairs.map(decision).collect()
}

/// What is kept or dropped as one: tool groups, and every other item by itself.
pub(super) struct Units {
    /// The unit of each item.
    pub(super) of_item: Vec<usize>,
    pub(super) candidates: Vec<Candidate>,
}

impl Units {
    /// A group is as essential as its most essential item, and worth what its best one is worth.
    pub(super) fn of(items: &[Item], judgements: &[Judgement]) -> Self {
        let mut by_group: HashMap<u32, usize> = HashMap::new();
        let mut units = Self { of_item: Vec::with_capacity(items.len()), candidates: Vec::new() };
        for (place, (item, judgement)) in items.iter().zip(judgements).enumerate() {
            let fresh = units.candidates.len();
            let unit = item.group.map_or(fresh, |group| *by_group.entry(group).or_insert(fresh));
            units.of_item.push(unit);
            let own = Candidate {
                size: item.size,
                is_essential: judgement.verdict == Verdict::Essential,
                is_pruned: judgement.verdict == Verdict::Prune,
                score: judgement.score.total(),
                newness: (item.at, place),
            };
            match units.candidates.get_mut(unit) {
                None => units.candidates.push(own),
                Some(whole) => {
                    whole.size += own.size;
                    whole.is_essential |= own.is_essential;
                    whole.is_pruned &= own.is_pruned;
                    whole.score = whole.score.max(own.score);
                    whole.newness = whole.newness.max(own.newness);
                }
            }
        }
        units
    }

    const fn verdict(unit: &Candidate) -> Verdict {
        match (unit.is_essential, unit.is_pruned) {
            (true, _) => Verdict::Essential,
            (false, true) => Verdict::Prune,
            (false, false) => Verdict::ByScore,
        }
    }
}
