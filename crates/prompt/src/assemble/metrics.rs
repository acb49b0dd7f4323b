//! What a prompt cost, in the names of seed 000: for `CONTEXT_METRICS` and for a line on standard error.
//!
//! A function of the trace and of nothing else.

use serde_json::{Map, Value, json};
use stemmata_api::v1::{PromptCandidate, PromptDecision, PromptReason, PromptTrace};
use stemmata_model::Json;

/// Returns the metrics of a prompt: budget, packs, sections, total and truncation. Fields that seed 000 does not have are
/// `cachedPrefixTokens` and, of packs, `room`.
pub fn metrics(trace: &PromptTrace) -> Json {
    let turn = &trace.turn;
    let budget = &trace.budget;
    let cut = &trace.truncation;
    let sections: Map<String, Value> = trace
        .sections
        .iter()
        .map(|section| {
            let own = trace.candidates.iter().filter(|one| one.section == section.id);
            let chars = own.fold(0_u64, |sum, one| sum.saturating_add(one.chars));
            (section.id.clone(), json!({"chars": chars, "estimatedTokens": section.used_tokens}))
        })
        .collect();
    Json::of(&json!({
        "clusterId": turn.ledger,
        "agentId": turn.agent,
        "role": turn.role,
        "iteration": turn.iteration,
        "triggeredBy": turn.triggered_by,
        "triggerFrom": turn.trigger_from,
        "strategy": {"maxTokens": budget.max_tokens, "sourcesCount": trace.sources},
        "budget": {
            "maxTokens": budget.max_tokens,
            "remainingTokens": budget.remaining_tokens,
            "overBudgetTokens": budget.over_budget_tokens,
            "finalTokens": budget.final_tokens,
        },
        "packs": trace.candidates.iter().map(pack).collect::<Vec<Value>>(),
        "sections": sections,
        "total": {"chars": trace.chars, "estimatedTokens": budget.final_tokens},
        "truncation": {
            "maxContextChars": {
                "limit": cut.chars_max,
                "applied": cut.applied,
                "beforeChars": cut.before_chars,
                "afterChars": cut.after_chars,
            },
        },
        "cachedPrefixTokens": trace.cached_prefix.map(|prefix| prefix.tokens),
    }))
}

/// Says a candidate as seed 000 does: what was included, in which form, and why not.
pub fn pack(one: &PromptCandidate) -> Value {
    let is_included = match one.decision {
        PromptDecision::Full | PromptDecision::Compact | PromptDecision::Truncated => true,
        PromptDecision::Skipped | PromptDecision::Dropped => false,
    };
    let reason = match one.reason {
        PromptReason::MaxChars => Some("max_chars"),
        PromptReason::Budget | PromptReason::Joined if !is_included => Some("budget"),
        PromptReason::Empty | PromptReason::Trigger => Some("empty"),
        PromptReason::Budget
        | PromptReason::Joined
        | PromptReason::Required
        | PromptReason::OverBudget
        | PromptReason::Fits
        | PromptReason::Lent
        | PromptReason::OnlyForm => None,
    };
    json!({
        "id": one.id,
        "priority": one.priority,
        "required": one.priority == "required",
        "status": if is_included { "included" } else { "skipped" },
        "variant": one.variant,
        "chars": one.chars,
        "tokens": one.tokens,
        "order": one.position,
        "reason": reason,
        "truncated": one.decision == PromptDecision::Truncated,
        "room": one.room_tokens,
    })
}
