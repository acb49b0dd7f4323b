//! How full the window of a context is: which window and which counter are meant, and the wire form.

use stemmata_api::v1::{GuardItem, GuardOverflow, GuardReport, GuardRequest};
use stemmata_api::{Code, Problem};
use stemmata_engine::clients::by_id;
use stemmata_engine::prompt::guard::{Form, Window};
use stemmata_engine::tokens::COMMON_WINDOW_TOKENS;
use stemmata_engine::{
    Engine, GuardWanted, Guarded, GuardedItem, LiveWindow, WindowRules, is_overhead, known_window,
};
use stemmata_model::{Timestamp, TokenCounter as _, Tokens};

use super::given;
use super::window::{REPORTED, client_window};
use crate::fault::Fault;
use crate::local::counters::counter_or_estimate;
use crate::local::turns::window::ratio;
use crate::local::{bad_request, ctx};

pub(in crate::local) fn report(
    engine: &Engine,
    request: &GuardRequest,
    (rules, now): (&WindowRules, Timestamp),
) -> Result<GuardReport, Fault> {
    let named = match (&request.ctx, &request.entries) {
        (Some(named), None) => named,
        (None, Some(entries)) => return given::report(engine, (request, entries), (rules, now)),
        (None, None) => return Err(bad_request("ctx", "name a commit, or send `entries`")),
        (Some(_), Some(_)) => {
            return Err(bad_request("entries", "the request names a commit, too: one of them is judged"));
        }
    };
    given::refuse_beside_commit(request)?;
    let ctx = ctx(engine, named)?;
    let live = engine.live_window(ctx)?;
    let (counter, note) = counter_or_estimate(engine, request.counter.as_deref(), live.model.as_deref())?;
    let guarded = |limit: Tokens| -> Result<GuardReport, Fault> {
        let window = Window::new(rules.limits(limit)).map_err(|error| window_bad(error.to_string()))?;
        let wanted = GuardWanted {
            window: &window,
            counter: &counter,
            overhead: Tokens(request.overhead_tokens),
            tasks_completed: request.tasks_completed,
            next_operation: request.next_operation.as_deref(),
            now,
        };
        Ok(wired(live.guard(&wanted)?, &live, &window))
    };
    let judged = match limit(request, rules, &live) {
        Some(Limit { tokens, from, is_assumed }) => {
            let report = guarded(tokens)?;
            // What is in use already refutes an assumption.
            let holds = !is_assumed || report.tokens <= tokens.0;
            holds.then_some(GuardReport { limit_from: from, limit_assumed: is_assumed, ..report })
        }
        None => None,
    };
    let mut report = match judged {
        Some(report) => report,
        None => unjudged(guarded(Tokens(ANY_WINDOW))?),
    };
    report.counter = counter.name();
    report.notes.extend(note);
    report.notes.extend(engine.note_of_origin(ctx)?);
    Ok(report)
}

/// A window that is meant, and where it comes from.
struct Limit {
    tokens: Tokens,
    from: String,
    is_assumed: bool,
}

/// Returns the window that is meant: of the request, the configuration, the client that wrote the context, or its model. What the
/// session itself reports comes before what is known of its client.
fn limit(request: &GuardRequest, rules: &WindowRules, live: &LiveWindow) -> Option<Limit> {
    let said = |tokens: u64, from: String| Limit { tokens: Tokens(tokens), from, is_assumed: false };
    if let Some(tokens) = request.window {
        return Some(said(tokens, "the request".to_owned()));
    }
    if let Some(tokens) = rules.tokens {
        return Some(said(tokens, "`window.tokens`".to_owned()));
    }
    if let Some(tokens) = live.window_tokens {
        return Some(said(tokens, format!("{}: {REPORTED}", live.runtime)));
    }
    let (name, known) = known_window(&live.runtime, live.model.as_deref())?;
    Some(Limit { is_assumed: known.is_assumed, ..said(known.tokens, known.told(name)) })
}

/// A window for a context whose own is not known: larger than any, so that nothing is judged by it.
const ANY_WINDOW: u64 = 1 << 40;

/// The zone of a context whose window is not known.
const UNKNOWN: &str = "unknown";

/// Takes back what only a window can say.
fn unjudged(report: GuardReport) -> GuardReport {
    GuardReport {
        zone: UNKNOWN.to_owned(),
        ratio: 0.0,
        limit: 0,
        target: 0,
        common_limit: Some(COMMON_WINDOW_TOKENS),
        recommendation: "say how many tokens the window takes".to_owned(),
        triggers: Vec::new(),
        ..report
    }
}

pub(super) fn window_bad(detail: impl Into<String>) -> Fault {
    Problem::new(Code::WindowBad, detail).into()
}

fn wired(guarded: Guarded, live: &LiveWindow, window: &Window) -> GuardReport {
    let client = by_id(&live.runtime)
        .and_then(|client| client_window(client, live.model.as_deref(), live.window_tokens));
    let report = judged(guarded, window);
    GuardReport { ctx: live.ctx, hidden: live.hidden_entries, model: live.model.clone(), client, ..report }
}

/// Returns what was judged, without what is known of whose window it is.
pub(super) fn judged(guarded: Guarded, window: &Window) -> GuardReport {
    GuardReport {
        ctx: None,
        zone: guarded.zone.as_str().to_owned(),
        ratio: ratio(guarded.ratio.0),
        tokens: guarded.tokens.0,
        tokens_from: if guarded.is_reported { "usage" } else { "count" }.to_owned(),
        overhead_tokens: guarded.overhead.0,
        limit: window.limit().0,
        limit_from: String::new(),
        limit_assumed: false,
        common_limit: None,
        target: window.target().0,
        tokens_after: guarded.tokens_after.0,
        form: guarded.form.map(Form::as_str).map(str::to_owned),
        alert_level: guarded.zone.alert_level().map(str::to_owned),
        recommendation: guarded.zone.recommendation().to_owned(),
        triggers: guarded.triggers.iter().map(|reason| reason.as_str().to_owned()).collect(),
        overflow: guarded.overflow.map(|overflow| GuardOverflow {
            essential_tokens: overflow.least.0,
            largest_tokens: overflow.largest_size.0,
            largest: Some(overflow.largest).filter(|entry| !is_overhead(entry)),
        }),
        items: guarded.items.into_iter().map(item).collect(),
        hidden: 0,
        counter: String::new(),
        model: None,
        client: None,
        given: None,
        notes: guarded.notes.clone(),
    }
}

fn item(item: GuardedItem) -> GuardItem {
    let GuardedItem { decision, ordinal, is_pinned, group } = item;
    GuardItem {
        ordinal,
        decision: if decision.is_kept { "keep" } else { "prune" }.to_owned(),
        category: decision.category.as_str().to_owned(),
        priority: decision.class.as_str().to_owned(),
        score: decision.score.total().into(),
        reason: decision.why.text(),
        tokens: decision.size.0,
        entry: decision.id,
        pinned: is_pinned,
        group: group.map(u64::from),
    }
}
