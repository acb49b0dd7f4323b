//! The trace of a prompt in numbers, for programs that want to know whether all of it fit and what did not.
//!
//! A function of the trace and of nothing else.

use stemmata_api::v1::{
    PromptCandidate, PromptReasonTotal, PromptSectionTotal, PromptTrace, PromptTraceSummary,
};

/// Returns counts and tokens of a prompt, by section and by reason.
pub fn summary(trace: &PromptTrace) -> PromptTraceSummary {
    PromptTraceSummary {
        mode: trace.mode.clone(),
        after: trace.after.clone(),
        through: trace.through.clone(),
        budget: trace.budget.clone(),
        chars: trace.chars,
        is_cut: trace.truncation.applied,
        cached_prefix: trace.cached_prefix,
        sections: trace.sections.iter().filter_map(|section| of_section(&section.id, trace)).collect(),
        reasons: reasons(&trace.candidates),
    }
}

/// Returns the numbers of a section; none of one that had nothing to say.
fn of_section(id: &str, trace: &PromptTrace) -> Option<PromptSectionTotal> {
    let own = || trace.candidates.iter().filter(|one| one.section == id);
    let sum = |of: fn(&PromptCandidate) -> u64| own().fold(0_u64, |sum, one| sum.saturating_add(of(one)));
    let items = |is_included: bool| {
        let items = own().flat_map(|one| &one.items).filter(|item| item.included == is_included);
        u64::try_from(items.count()).unwrap_or(u64::MAX)
    };
    let total = PromptSectionTotal {
        id: id.to_owned(),
        tokens: sum(|one| one.tokens),
        full_tokens: sum(|one| one.full_tokens),
        included: items(true),
        left_out: items(false),
    };
    (total.full_tokens > 0 || total.tokens > 0 || total.left_out > 0).then_some(total)
}

fn reasons(candidates: &[PromptCandidate]) -> Vec<PromptReasonTotal> {
    let mut totals: Vec<PromptReasonTotal> = Vec::new();
    for one in candidates {
        let is_same =
            |total: &&mut PromptReasonTotal| total.decision == one.decision && total.reason == one.reason;
        match totals.iter_mut().find(is_same) {
            Some(total) => {
                total.candidates += 1;
                total.tokens = total.tokens.saturating_add(one.tokens);
                total.full_tokens = total.full_tokens.saturating_add(one.full_tokens);
            }
            None => totals.push(PromptReasonTotal {
                decision: one.decision,
                reason: one.reason,
                candidates: 1,
                tokens: one.tokens,
                full_tokens: one.full_tokens,
            }),
        }
    }
    totals
}
