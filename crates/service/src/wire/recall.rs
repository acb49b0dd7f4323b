//! Packs of recall as wire types.

use stemmata_api::v1;
use stemmata_engine::{ChosenCounter, Form, RecallReason, Recalled, RecalledItem};

/// Returns a pack, what it was asked within, what was searched, and its notes.
pub(crate) fn recalled(
    found: Recalled,
    (max_tokens, counter): (u64, &ChosenCounter),
    (scope, notes): (v1::RecallScope, Vec<v1::Note>),
) -> v1::Recalled {
    v1::Recalled {
        text: found.text,
        tokens: found.tokens.0,
        max_tokens,
        counter: counter.spec.to_string(),
        counted: super::prompt::counted(counter),
        scope,
        items: found.items.into_iter().map(item).collect(),
        skipped: v1::RecallSkipped {
            budget: found.skipped.budget,
            duplicate: found.skipped.duplicate,
            foreign: found.skipped.foreign,
        },
        notes,
    }
}

fn item(item: RecalledItem) -> v1::RecalledItem {
    let known = |text: String| (!text.is_empty()).then_some(text);
    v1::RecalledItem {
        kind: item.kind.as_str().to_owned(),
        ctx: item.ctx.map(|ctx| ctx.to_string()),
        entry: item.entry,
        event: item.event.map(|event| event.to_string()),
        ledger: item.ledger.map(|ledger| ledger.to_string()),
        session: known(item.session),
        client: known(item.client),
        timestamp: item.timestamp.map(|at| at.to_string()),
        tokens: item.tokens.0,
        score: points(item.score_permille),
        reasons: item.reasons.into_iter().map(reason).collect(),
        text: item.text,
        form: match item.form {
            Form::Whole => "whole",
            Form::Alone => "alone",
            Form::Compact => "compact",
        }
        .to_owned(),
        foreign_machine: item.foreign_machine,
    }
}

fn reason(reason: RecallReason) -> v1::RecallReason {
    v1::RecallReason {
        name: reason.points_for.as_str().to_owned(),
        points: points(reason.points_permille),
        text: (!reason.text.is_empty()).then_some(reason.text),
    }
}

/// Thousandths are whole numbers, so that the sum of the reasons is the score; JSON has points.
#[expect(clippy::cast_precision_loss, reason = "points are far below 2^53 thousandths")]
fn points(permille: i64) -> f64 {
    permille as f64 / 1_000.0
}
