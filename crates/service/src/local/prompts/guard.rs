//! How full the window of a context is: which window and which counter are meant, and the wire form.

use stemmata_api::v1::{GuardItem, GuardOverflow, GuardReport, GuardRequest};
use stemmata_api::{Code, Problem};
use stemmata_engine::clients::by_id;
use stemmata_engine::prompt::guard::{Form, Window};
use stemmata_engine::tokens::model;
use stemmata_engine::{
    Engine, GuardWanted, Guarded, GuardedItem, LiveWindow, WindowRules, is_overhead, known_window,
};
use stemmata_model::{Timestamp, TokenCounter as _, Tokens};

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
    let (limit, limit_from) = limit(request, rules, &live)?;
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
    report.notes.extend(wire::notes(&engine.note_of_origin(live.ctx)?));
    Ok(report)
}

/// Returns the window that is meant, and where it comes from: the request, the configuration, the client that wrote the context,
/// or its model. What the session itself reports comes before what is known of its client.
fn limit(request: &GuardRequest, rules: &WindowRules, live: &LiveWindow) -> Result<(Tokens, String), Fault> {
    if let Some(tokens) = request.window {
        return Ok((Tokens(tokens), "the request".to_owned()));
    }
    if let Some(tokens) = rules.tokens {
        return Ok((Tokens(tokens), "`window.tokens`".to_owned()));
    }
    if let Some(tokens) = live.window_tokens {
        return Ok((Tokens(tokens), format!("{}: {REPORTED}", live.runtime)));
    }
    if let Some((name, (tokens, source))) = known_window(&live.runtime, live.model.as_deref()) {
        return Ok((Tokens(tokens), format!("{name}: {source}")));
    }
    let what = match &live.model {
        Some(name) => format!("the window of the model `{}` is not known", cut(name)),
        None => "the context names no model, so its window is not known".to_owned(),
    };
    Err(window_bad(format!("{what}: say how many tokens it takes")))
}

/// The most of a model's name that an error repeats.
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
