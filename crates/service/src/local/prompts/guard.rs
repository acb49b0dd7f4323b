//! How full the window of a context is: which window and which counter are meant, and the wire form.

use stemmata_api::v1::{GuardItem, GuardOverflow, GuardReport, GuardRequest};
use stemmata_api::{Code, Problem};
use stemmata_engine::clients::by_id;
use stemmata_engine::prompt::guard::{Form, Window};
use stemmata_engine::tokens::model;
use stemmata_engine::{
    Engine, GuardWanted, Guarded, GuardedItem, LiveWindow, WindowRules, is_overhead, known_window,
};
use stemmata_model::{Note, NoteCode, Timestamp, TokenCounter as _, Tokens};

use super::window::{REPORTED, client_window};
use crate::fault::Fault;
use crate::local::counters::counter_or_estimate;
use crate::local::ctx;
use crate::wire;

pub(in crate::local) fn report(
    engine: &Engine,
    request: &GuardRequest,
    (rules, now): (&WindowRules, Timestamp),
) -> Result<GuardReport, Fault> {
    let live = engine.live_window(ctx(engine, &request.ctx)?)?;
    let known = limit(request, rules, &live);
    let (limit, limit_from) = known.clone().unwrap_or_else(|| (Tokens(ANY_WINDOW), String::new()));
    let window = Window::new(rules.limits(limit)).map_err(|error| window_bad(error.to_string()))?;
    let (counter, note) = counter_or_estimate(engine, request.counter.as_deref(), live.model.as_deref())?;
    let wanted = GuardWanted {
        window: &window,
        counter: &counter,
        overhead: Tokens(request.overhead_tokens),
        tasks_completed: request.tasks_completed,
        next_operation: request.next_operation.as_deref(),
        now,
    };
    let guarded = live.guard(&wanted)?;
    let mut report = wired(guarded, &live, &window);
    report.limit_from = limit_from;
    report.counter = counter.name();
    report.notes.extend(note);
    if known.is_none() {
        unjudged(&mut report);
    }
    report.notes.extend(wire::notes(&engine.note_of_origin(live.ctx)?));
    Ok(report)
}

/// Returns the window that is meant, and where it comes from: the request, the configuration, the client that wrote the context,
/// or its model. What the session itself reports comes before what is known of its client.
fn limit(request: &GuardRequest, rules: &WindowRules, live: &LiveWindow) -> Option<(Tokens, String)> {
    if let Some(tokens) = request.window {
        return Some((Tokens(tokens), "the request".to_owned()));
    }
    if let Some(tokens) = rules.tokens {
        return Some((Tokens(tokens), "`window.tokens`".to_owned()));
    }
    if let Some(tokens) = live.window_tokens {
        return Some((Tokens(tokens), format!("{}: {REPORTED}", live.runtime)));
    }
    let (name, (tokens, source)) = known_window(&live.runtime, live.model.as_deref())?;
    Some((Tokens(tokens), format!("{name}: {source}")))
}

/// A window for a context whose own is not known: larger than any, so that nothing is judged by it.
const ANY_WINDOW: u64 = 1 << 40;

/// The zone of a context whose window is not known.
const UNKNOWN: &str = "unknown";

/// Takes back what only a window can say.
fn unjudged(report: &mut GuardReport) {
    let what = match &report.model {
        Some(name) => format!("the window of the model `{}` is not known", cut(name)),
        None => "the context names no model, so its window is not known".to_owned(),
    };
    let message = format!("{what}: what the context takes is said, and not judged");
    report.notes.extend(wire::notes(&[Note::new(NoteCode::Degraded, message)]));
    UNKNOWN.clone_into(&mut report.zone);
    report.ratio = 0.0;
    (report.limit, report.target) = (0, 0);
    "say how many tokens the window takes".clone_into(&mut report.recommendation);
    report.triggers.clear();
}

/// The most of a model's name that a note repeats.
const SHOWN_CHARS_MAX: usize = 64;

fn cut(name: &str) -> String {
    name.chars().take(SHOWN_CHARS_MAX).collect()
}

fn window_bad(detail: String) -> Fault {
    Problem::new(Code::WindowBad, detail).into()
}

fn wired(guarded: Guarded, live: &LiveWindow, window: &Window) -> GuardReport {
    #[expect(clippy::cast_precision_loss, reason = "millionths of a window, far below 2^52")]
    let ratio = guarded.ratio.0 as f64 / 1_000_000.0;
    let row = live.model.as_deref().and_then(model);
    GuardReport {
        ctx: live.ctx.to_string(),
        zone: guarded.zone.as_str().to_owned(),
        ratio,
        tokens: guarded.tokens.0,
        tokens_from: if guarded.is_reported { "usage" } else { "count" }.to_owned(),
        overhead_tokens: guarded.overhead.0,
        limit: window.limit().0,
        limit_from: String::new(),
        target: window.target().0,
        tokens_after: guarded.tokens_after.0,
        form: guarded.form.map(Form::as_str).map(str::to_owned),
        alert_level: guarded.zone.alert_level().map(str::to_owned),
        recommendation: guarded.zone.recommendation().to_owned(),
        triggers: guarded.triggers.iter().map(|reason| reason.as_str().to_owned()).collect(),
        overflow: guarded.overflow.map(|overflow| GuardOverflow {
            essential_tokens: overflow.least.0,
            largest: (!is_overhead(&overflow.largest)).then(|| overflow.largest.to_string()),
            largest_tokens: overflow.largest_size.0,
        }),
        items: guarded.items.into_iter().map(item).collect(),
        hidden: live.hidden_entries,
        counter: String::new(),
        model: live.model.clone(),
        client: by_id(&live.runtime).and_then(|client| client_window(client, row, live.window_tokens)),
        notes: wire::notes(&guarded.notes),
    }
}

fn item(item: GuardedItem) -> GuardItem {
    let GuardedItem { decision, ordinal, is_pinned, group } = item;
    GuardItem {
        entry: decision.id.to_string(),
        ordinal,
        decision: if decision.is_kept { "keep" } else { "prune" }.to_owned(),
        category: decision.category.as_str().to_owned(),
        priority: decision.class.as_str().to_owned(),
        score: decision.score.total().into(),
        reason: decision.why.text(),
        tokens: decision.size.0,
        pinned: is_pinned,
        group: group.map(u64::from),
    }
}
