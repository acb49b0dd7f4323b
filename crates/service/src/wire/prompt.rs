//! Prompts, traces and findings as wire types.

use stemmata_api::v1;
use stemmata_engine::{ChosenCounter, PromptMade};
use stemmata_model::{FactorFrom, TokenCounter};
use stemmata_prompt::assemble::summary;
use stemmata_prompt::strategy::{Finding, Shipped};

/// Returns a prompt with as much of its trace as was asked for, and what counted its tokens.
pub(crate) fn assembled(
    made: PromptMade,
    counter: &ChosenCounter,
    detail: Option<v1::TraceDetail>,
) -> v1::Assembled {
    let notes = notes(&made.trace, &made.notes, counter);
    let detail = detail.unwrap_or(v1::TraceDetail::Summary);
    let is_full = detail == v1::TraceDetail::Full;
    v1::Assembled {
        trace_summary: (detail == v1::TraceDetail::Summary).then(|| summary(&made.trace)),
        metrics: is_full.then(|| super::raw(&made.metrics)),
        notes,
        prompt: made.text,
        counter: counter.spec.to_string(),
        counted: counted(counter),
        trace: is_full.then_some(made.trace),
        messages: None,
    }
}

/// Returns what is to be said of a prompt: of its counter, of its making, and of what it lacks.
pub(crate) fn notes(trace: &v1::PromptTrace, made: &[v1::Note], counter: &ChosenCounter) -> Vec<v1::Note> {
    counter.notes.iter().chain(made).cloned().chain(lacks(trace)).collect()
}

/// Says where a prompt is not what its strategy wants: larger than its budget, or cut.
fn lacks(trace: &v1::PromptTrace) -> Vec<v1::Note> {
    let note = |code: &str, message: String| v1::Note::new(code, message);
    let (budget, cut) = (&trace.budget, &trace.truncation);
    let over = budget.over_budget_tokens;
    let of = budget.max_tokens.map_or_else(String::new, |max| format!(" of {max} tokens"));
    let over = (over > 0).then(|| {
        note(
            "over_budget",
            format!("required parts need {over} tokens more than the budget{of}: the prompt has them anyway"),
        )
    });
    let cut = cut.applied.then(|| {
        let (before, after) = (cut.before_chars, cut.after_chars);
        note(
            "truncated",
            format!("the prompt had {before} characters and was cut to {after}: parts of it are missing"),
        )
    });
    over.into_iter().chain(cut).collect()
}

/// Says how sure the counts of a counter are.
pub(crate) fn counted(counter: &ChosenCounter) -> v1::CountedBy {
    let pairs = match counter.spec.from {
        FactorFrom::Learned { pairs } => Some(pairs),
        FactorFrom::Exact | FactorFrom::Shipped | FactorFrom::Given => None,
    };
    v1::CountedBy {
        from: counter.spec.from.as_str().to_owned(),
        pairs,
        margin_permille: counter.margin().permille.into(),
    }
}

/// Returns what is to be said of a strategy.
pub(crate) fn report(findings: &[Finding], is_valid: bool) -> v1::StrategyReport {
    v1::StrategyReport { file: None, is_valid, findings: findings.iter().map(finding).collect() }
}

fn finding(finding: &Finding) -> v1::StrategyFinding {
    v1::StrategyFinding {
        severity: finding.severity.as_str().to_owned(),
        line: finding.at.line as u64,
        column: finding.at.column as u64,
        code: finding.code.as_str().to_owned(),
        message: finding.message.clone(),
        suggestion: finding.suggestion.clone(),
    }
}

/// Returns a strategy that comes with Stemmata, as a row of their list.
pub(crate) fn shipped(shipped: &Shipped) -> v1::ShippedStrategy {
    let strategy = shipped.strategy();
    v1::ShippedStrategy {
        name: shipped.name.to_owned(),
        about: shipped.about(),
        sources: strategy.sources.len() as u64,
        max_tokens: strategy.max_tokens.0,
    }
}

/// Says which candidates differ between two prompts and which are the same. The order is that of the later one; what only
/// the earlier one has comes last. A text is absent where it was too long to keep.
pub(crate) fn changes(
    before: (Option<&str>, &v1::PromptTrace),
    after: (Option<&str>, &v1::PromptTrace),
) -> Vec<v1::ContextChange> {
    let find = |trace: &'_ v1::PromptTrace, id: &str| {
        trace.candidates.iter().position(|candidate| candidate.id == id)
    };
    let later = after.1.candidates.iter().map(|candidate| {
        let earlier = find(before.1, &candidate.id).and_then(|at| before.1.candidates.get(at));
        v1::ContextChange {
            id: candidate.id.clone(),
            before: earlier.map(|earlier| earlier.decision),
            after: Some(candidate.decision),
            tokens_before: earlier.map_or(0, |earlier| earlier.tokens),
            tokens_after: candidate.tokens,
            is_same_text: earlier.is_some_and(|earlier| {
                let texts = (before.0, after.0);
                matches!(texts, (Some(one), Some(two)) if text_of(one, earlier) == text_of(two, candidate))
            }),
        }
    });
    let gone = before.1.candidates.iter().filter(|candidate| find(after.1, &candidate.id).is_none());
    let gone = gone.map(|candidate| v1::ContextChange {
        id: candidate.id.clone(),
        before: Some(candidate.decision),
        after: None,
        tokens_before: candidate.tokens,
        tokens_after: 0,
        is_same_text: false,
    });
    later.chain(gone).collect()
}

/// Returns the part of a prompt that is a candidate's.
fn text_of<'p>(prompt: &'p str, candidate: &v1::PromptCandidate) -> &'p str {
    let byte = |chars: u64| {
        let chars = usize::try_from(chars).unwrap_or(usize::MAX);
        prompt.char_indices().nth(chars).map_or(prompt.len(), |(byte, _)| byte)
    };
    let end = candidate.offset_chars.saturating_add(candidate.chars);
    prompt.get(byte(candidate.offset_chars)..byte(end)).unwrap_or_default()
}
