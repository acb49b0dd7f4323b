//! Cases of seed 002's fragments, run as they are written: scores, selection, alerts, checkpoints.

use serde_json::{Value, json};
use stemmata_model::{EntryId, Timestamp, Tokens};

use super::CaseVerdict;
use super::context::list;
use stemmata_prompt::guard::{
    Candidate, ContentType, Item, Monitor, Relation, TriggerFacts, Window, WindowSettings,
    checkpoint_reasons, fill, score,
};

/// The window of cases that give ratios: a ratio of five places is a whole number of tokens of it.
const LIMIT: u64 = 100_000;

/// Runs every case of a file of the shape of `moderator_pseudocode.json`.
///
/// # Errors
/// As [`super::run`].
pub(crate) fn run_moderator(root: &Value) -> Result<Vec<CaseVerdict>, String> {
    let groups = root.as_object().ok_or("the file is not a JSON object")?;
    let mut verdicts = Vec::new();
    for (group, cases) in groups {
        let answer: fn(&Value) -> Result<(Value, Value), String> = match group.as_str() {
            "source" => continue,
            note if note.ends_with("_note") => continue,
            "score" => score_case,
            "select" => select_case,
            "monitor" => monitor_case,
            "checkpoint_triggers" => trigger_case,
            "prune_target" => {
                verdicts.push(CaseVerdict::of(group.clone(), cases, &target()?));
                continue;
            }
            _ => {
                let unknown = json!("a group of cases that is not known");
                verdicts.push(CaseVerdict::of(group.clone(), cases, &unknown));
                continue;
            }
        };
        for (index, case) in list(cases)?.iter().enumerate() {
            let (expected, found) = answer(case).map_err(|error| format!("{group}/{index}: {error}"))?;
            verdicts.push(CaseVerdict::of(format!("{group}/{index}"), &expected, &found));
        }
    }
    Ok(verdicts)
}

fn window() -> Result<Window, String> {
    Window::new(WindowSettings::of(Tokens(LIMIT))).map_err(|error| error.to_string())
}

fn number(case: &Value, field: &str) -> Result<f64, String> {
    case.get(field).and_then(Value::as_f64).ok_or_else(|| format!("no number `{field}`"))
}

/// Returns a number of the file in whole parts: `0.7` times 100,000 is 70,000.
#[expect(
    clippy::cast_possible_truncation,
    reason = "numbers of a file are small, and a cast of any other one saturates"
)]
fn whole(number: f64, parts: f64) -> i64 {
    (number * parts).round() as i64
}

fn size(ratio: f64) -> Tokens {
    Tokens(u64::try_from(whole(ratio, 100_000.0)).unwrap_or(0))
}

fn item(name: &str, size: u64) -> Result<Item, String> {
    Ok(Item::new(EntryId::new(name).map_err(|error| error.to_string())?, Tokens(size)))
}

fn score_case(case: &Value) -> Result<(Value, Value), String> {
    let text = |field| super::context::text(case, field);
    let relation = match text("task")? {
        "same" => Relation::Same,
        "dep" => Relation::Dependency,
        _ => Relation::Other,
    };
    let now = Timestamp::EPOCH;
    let mut item = item("case", 1)?;
    let age_us = whole(number(case, "age_minutes")?, 60_000_000.0);
    item.at = Some(Timestamp::from_micros(now.as_micros().saturating_sub(age_us)));
    item.content = ContentType::read(text("type")?).unwrap_or(ContentType::Other);
    item.reference_count = u32::try_from(whole(number(case, "refs")?, 1.0)).unwrap_or(u32::MAX);
    Ok((case["score"].clone(), json!(score(&item, relation, now).total())))
}

fn select_case(case: &Value) -> Result<(Value, Value), String> {
    let items = list(&case["items_in_score_order"])?;
    let candidate = |(place, item): (usize, &Value)| Candidate {
        size: Tokens(item["size"].as_u64().unwrap_or(0)),
        is_essential: item["essential"].as_bool().unwrap_or(false),
        is_pruned: false,
        // The order of the file is that of the scores.
        score: u8::try_from(items.len() - place).unwrap_or(u8::MAX),
        newness: (None, 0),
    };
    let candidates: Vec<Candidate> = items.iter().enumerate().map(candidate).collect();
    let kept = fill(&candidates, Tokens(case["target"].as_u64().ok_or("no target")?));
    let mut selected: Vec<(bool, &Value, Tokens)> = items
        .iter()
        .zip(&candidates)
        .zip(&kept)
        .filter(|(_, kept)| **kept)
        .map(|((item, candidate), _)| (!candidate.is_essential, &item["id"], candidate.size))
        .collect();
    // The source lists the essential first.
    selected.sort_by_key(|(is_scored, ..)| *is_scored);
    let ids: Vec<&Value> = selected.iter().map(|(_, id, _)| *id).collect();
    let total: Tokens = selected.iter().map(|(.., size)| *size).sum();
    Ok((case["result"].clone(), json!([ids, total.0])))
}

fn monitor_case(case: &Value) -> Result<(Value, Value), String> {
    let window = window()?;
    let mut monitor = Monitor::default();
    let mut alerts = Vec::new();
    for ratio in list(&case["ratios"])? {
        let ratio = ratio.as_f64().ok_or("a ratio that is not a number")?;
        let seen = monitor.observe(&window, size(ratio), Timestamp::EPOCH);
        alerts.push(json!(seen.alert.map(|alert| alert.level)));
    }
    Ok((case["alerts"].clone(), Value::Array(alerts)))
}

fn trigger_case(case: &Value) -> Result<(Value, Value), String> {
    let seconds = whole(number(case, "seconds_since")?, 1_000_000.0);
    let facts = TriggerFacts {
        size: size(number(case, "ratio")?),
        phase_changed: case["phase"].as_bool().unwrap_or(false),
        tasks_completed: case["tasks_completed"].as_u64().unwrap_or(0),
        milestones_kept: 0,
        next_operation: case["next_op"].as_str(),
        last_checkpoint: Timestamp::EPOCH,
        now: Timestamp::from_micros(seconds),
        is_emergency: false,
    };
    let reasons = checkpoint_reasons(&window()?, &facts);
    let names: Vec<&str> = reasons.into_iter().map(stemmata_model::Reason::as_str).collect();
    Ok((case["out"].clone(), json!([!names.is_empty(), names])))
}

/// The file has the rule as text.
fn target() -> Result<Value, String> {
    let of = |limit: u64| Window::new(WindowSettings::of(Tokens(limit))).map(|window| window.target().0);
    for limit in [1, 9, 1_001, 200_000] {
        let target = of(limit).map_err(|error| error.to_string())?;
        if target != limit * 7 / 10 {
            return Ok(json!(format!("{target} of {limit}")));
        }
    }
    Ok(json!("int(limit*0.70)"))
}
