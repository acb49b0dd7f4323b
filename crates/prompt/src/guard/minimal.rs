//! The smallest context that work can go on with: the aggressive form of pruning, which is also what the fallback keeps.

use std::collections::HashSet;

use stemmata_model::Tokens;

use super::item::{ContentType, Item, Row};
use super::judge::{Judgement, Reason, Verdict, judge};
use super::prune::{
    ContextOverflow, Decision, Form, PrunePlan, PruneRequest, Why, decisions, kept_size, size_of,
};

/// Plans the smallest context: system prompt, current task, active file, last user message and last error, with the tool
/// groups that they are in. What is not there is not missed. Pins, what the caller marked as essential, calls that wait for a
/// result, and results that the model has not seen stay too: dropping them would break a promise or a pair, or have the model
/// ask again.
///
/// # Errors
/// [`ContextOverflow`] where that is larger than the window.
pub fn plan_minimal(request: PruneRequest<'_>) -> Result<PrunePlan, ContextOverflow> {
    let judgements = judge(request.items, request.tasks, request.now);
    let needed = needed(request.items, &judgements);
    let groups: HashSet<u32> = request
        .items
        .iter()
        .zip(&needed)
        .filter(|(_, needed)| needed.is_some())
        .filter_map(|(item, _)| item.group)
        .collect();
    let in_group = |at: usize| {
        let group = request.items.get(at).and_then(|item| item.group);
        group.is_some_and(|group| groups.contains(&group))
    };
    let own = |at: usize| needed.get(at).copied().flatten();
    let is_kept = |at: usize| own(at).is_some() || in_group(at);
    let why = |at: usize, judgement: &Judgement| match own(at) {
        Some(_) if judgement.reason.is_held() => Why::Judged(judgement.reason),
        Some(what) => Why::Minimal(what),
        None if in_group(at) => Why::WithToolGroup(judgement.reason),
        None => Why::NotMinimal(judgement.reason),
    };
    let decisions = decisions(request.items, &judgements, &is_kept, &why);
    let after = kept_size(&decisions);
    let limit = request.window.limit();
    if after > limit {
        let is_open = |decision: &&Decision| matches!(decision.why, Why::Judged(Reason::OpenToolGroup));
        let open = || decisions.iter().filter(is_open);
        // Where the window fits the limit without the open calls, the error names the largest of these, and else the largest group of all.
        let names_open = after.saturating_sub(open().map(|decision| decision.size).sum()) <= limit;
        let kept = decisions.iter().filter(|decision| decision.is_kept && (!names_open || is_open(decision)));
        let largest = kept.max_by_key(|decision| decision.size);
        // A sum above the limit has a largest member.
        if let Some(largest) = largest {
            let (largest, largest_size) = (largest.id.clone(), largest.size);
            return Err(ContextOverflow { limit, least: after, largest, largest_size });
        }
    }
    let before: Tokens = size_of(request.items);
    let target = request.window.target();
    Ok(PrunePlan {
        form: Form::Minimal,
        decisions,
        before,
        after,
        target,
        threshold: None,
        findings: Vec::new(),
    })
}

/// Returns for each item which piece of the smallest context it is. The caller's class is stronger: what it says may go is no
/// piece.
fn needed(items: &[Item], judgements: &[Judgement]) -> Vec<Option<&'static str>> {
    let is_essential =
        |at: usize| judgements.get(at).is_some_and(|judged| judged.verdict == Verdict::Essential);
    let last = |is: &dyn Fn(&Item) -> bool| {
        let found = items.iter().enumerate().rev().find(|(at, item)| is_essential(*at) && is(item));
        found.map(|(at, _)| at)
    };
    let is_active =
        |item: &Item| item.content == ContentType::ActiveCode || item.row == Some(Row::ActiveFile);
    let active_file = last(&is_active);
    let prompt = last(&|item: &Item| item.is_prompt);
    let error = last(&|item: &Item| item.row == Some(Row::CriticalError));
    let piece = |(at, (item, judgement)): (usize, (&Item, &Judgement))| {
        let is_task =
            item.content == ContentType::CurrentTask || item.row == Some(Row::CurrentTaskDescription);
        let pieces = [
            (judgement.reason.is_held(), "held"),
            (is_task && is_essential(at), "the current task"),
            (active_file == Some(at), "the active file"),
            (prompt == Some(at), "the last user message"),
            (error == Some(at), "the last error"),
        ];
        pieces.into_iter().find(|(is_it, _)| *is_it).map(|(_, what)| what)
    };
    items.iter().zip(judgements).enumerate().map(piece).collect()
}
