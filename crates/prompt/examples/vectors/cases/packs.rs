//! Cases of packs under a budget.
//!
//! The file counts in UTF-16 code units; so do these cases, through a counter and a unit of their own.

use serde_json::{Value, json};
use stemmata_model::{Chars, Margin, TokenCounter, Tokens};

use super::CaseVerdict;
use super::context::{TEXT_CHARS_MAX, list, text};
use stemmata_prompt::assemble::{LengthUnit, Pack, PackLimits, Selected, pack_as_in_seed, select_packs};
use stemmata_prompt::strategy::Priority;

/// One token for every four UTF-16 code units, rounded up: the estimate of seed 000's implementation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Utf16Estimate;

impl TokenCounter for Utf16Estimate {
    fn count(&self, text: &str) -> Tokens {
        Tokens(LengthUnit::Utf16.length(text).0.div_ceil(4))
    }

    fn margin(&self) -> Margin {
        Margin { permille: 0 }
    }

    fn name(&self) -> String {
        "utf16".to_owned()
    }
}

pub(super) fn pack_cases(group: &str, cases: &Value) -> Result<Vec<CaseVerdict>, String> {
    let verdicts = list(cases)?.iter().map(|case| {
        let name = text(case, "name")?;
        let found = answer(case)?;
        // A case names what it compares: long texts are left out of the file.
        let expected: serde_json::Map<String, Value> = case
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(field, _)| found.get(field.as_str()).is_some())
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect();
        let mut found = found;
        if let Some(found) = found.as_object_mut() {
            found.retain(|field, _| expected.contains_key(field));
        }
        Ok(CaseVerdict::of(format!("{group}/{name}"), &Value::Object(expected), &found))
    });
    verdicts.collect()
}

fn answer(case: &Value) -> Result<Value, String> {
    let packs = list(case.get("packs").ok_or("a case without packs")?)?;
    let packs = packs.iter().enumerate().map(|(index, pack)| pack_of(index, pack));
    let packs: Vec<Pack> = packs.collect::<Result<_, String>>()?;
    let number = |field: &str| case.get(field).and_then(Value::as_u64);
    let limits = PackLimits {
        max_tokens: number("maxTokens").map(Tokens),
        chars_max: number("maxChars").map(Chars),
        unit: LengthUnit::Utf16,
        counter: &Utf16Estimate,
        sections: &[],
    };
    Ok(as_in_file(&select_packs(&packs, &limits), &packs))
}

fn pack_of(index: usize, pack: &Value) -> Result<Pack, String> {
    let named = pack.get("priority").and_then(Value::as_str);
    let known = Priority::ALL.into_iter().find(|priority| named == Some(priority.as_str()));
    let is_required = pack.get("required").and_then(Value::as_bool).unwrap_or(false);
    // What the source does with a name that it does not know. A strategy with such a name is refused before.
    let priority = if is_required { Priority::Required } else { known.unwrap_or(Priority::Medium) };
    let order = pack.get("order").and_then(Value::as_u64).and_then(|order| usize::try_from(order).ok());
    Ok(Pack {
        priority,
        compact: made_up(pack.get("compact"))?,
        order: order.unwrap_or(index),
        preserve: pack.get("preserve").and_then(Value::as_bool).unwrap_or(false),
        ..Pack::fixed(text(pack, "id")?, made_up(pack.get("full"))?)
    })
}

/// Returns a text, or a text of so many repetitions: `["c", 40]`.
fn made_up(value: Option<&Value>) -> Result<String, String> {
    let nonsense = || format!("no text, nor a text and a number: {}", value.cloned().unwrap_or_default());
    match value {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(Value::Array(parts)) => {
            let repeated = parts.first().and_then(Value::as_str).ok_or_else(nonsense)?;
            let times = parts.get(1).and_then(Value::as_u64).ok_or_else(nonsense)?;
            let times = usize::try_from(times).unwrap_or(usize::MAX);
            if times.saturating_mul(repeated.len()) > TEXT_CHARS_MAX {
                return Err(format!("a text of {times} repetitions is too long"));
            }
            Ok(repeated.repeat(times))
        }
        Some(_) => Err(nonsense()),
    }
}

/// Says what was selected as the file does.
fn as_in_file(selected: &Selected, packs: &[Pack]) -> Value {
    let mut orders: Vec<usize> = packs.iter().map(|pack| pack.order).collect();
    orders.sort_unstable();
    let decisions = selected.candidates.iter().zip(orders).map(|(candidate, order)| {
        let mut decision = pack_as_in_seed(candidate);
        if let Some(fields) = decision.as_object_mut() {
            fields.remove("room");
            fields.insert("order".to_owned(), json!(order));
        }
        decision
    });
    let budget = &selected.budget;
    json!({
        "decisions": decisions.collect::<Vec<Value>>(),
        "budget": {
            "maxTokens": budget.max_tokens,
            "remainingTokens": budget.remaining_tokens,
            "overBudgetTokens": budget.over_budget_tokens,
            "finalTokens": budget.final_tokens,
        },
        "truncation": {
            "applied": selected.truncation.applied,
            "beforeChars": selected.truncation.before_chars,
            "afterChars": selected.truncation.after_chars,
        },
        "finalChars": LengthUnit::Utf16.length(&selected.text).0,
        "context": selected.text,
    })
}
