//! The guard of a turn: which window a request means, and what the engine did about it as the wire has it.

use stemmata_api::v1::{
    TurnCompaction, TurnOverflow, TurnPrune, TurnPruned, TurnWindow, TurnWindowReport, WindowCall,
    WindowEntry, WindowResult,
};
use stemmata_api::{Code, Problem, RawJson};
use stemmata_engine::prompt::tool_output::{OutputLimits, text_of};
use stemmata_engine::prompt::window::{CompactSettings, WindowConfig, WindowConfigSettings};
use stemmata_engine::tokens::model;
use stemmata_engine::{
    ChosenCounter, Engine, PlannedPrune, PrunedEntry, TurnGuard, TurnOf, WindowReport, WindowRules,
    is_overhead,
};
use stemmata_model::{CommitId, Entry, Json, Part, Reason, TokenCounter as _, Tokens};

use crate::fault::Fault;
use crate::local::bad_request;
use crate::local::counters::counter_or_estimate;
use crate::local::prompts::REPORTED;
use crate::wire;

/// The window of a session, as a request means it.
pub(super) struct OfSession {
    config: WindowConfig,
    counter: ChosenCounter,
    limit_from: String,
    model: Option<String>,
    asked: TurnWindow,
    note: Option<stemmata_api::v1::Note>,
}

impl OfSession {
    /// Reads which window is meant; none where nobody says and none is known. `named` is a model that the rest of the request
    /// names, `context` what a new session goes on from.
    pub(super) fn of(
        engine: &Engine,
        turn: &TurnOf,
        (asked, named, context): (Option<&TurnWindow>, Option<&str>, Option<CommitId>),
        rules: &WindowRules,
    ) -> Result<Option<Self>, Fault> {
        let is_asked = asked.is_some();
        let asked = asked.cloned().unwrap_or_else(TurnWindow::unsaid);
        let mut name = asked.model.clone().or_else(|| named.map(str::to_owned));
        if name.is_none() {
            name = engine.window_model(turn)?;
        }
        let of_model = name.as_deref().and_then(|name| Some((name, model(name)?.window?)));
        let reported = match context {
            Some(context) => engine.reported_window(context)?,
            None => engine.reported_session_window(&turn.ledger, &turn.session)?,
        };
        // Another model may take less than the session's own did.
        let reported = reported.map(|tokens| ("session", (tokens, REPORTED)));
        let known = reported.into_iter().chain(of_model).min_by_key(|(_, (tokens, _))| *tokens);
        let (limit, limit_from) = match (asked.tokens, rules.tokens, known) {
            (Some(tokens), ..) => (tokens, "the request".to_owned()),
            (None, Some(tokens), _) => (tokens, "`window.tokens`".to_owned()),
            (None, None, Some((name, (tokens, source)))) => (tokens, format!("{name}: {source}")),
            (None, None, None) if is_asked => {
                let detail = "the window of the session is not known: say how many `tokens` it takes";
                return Err(Problem::new(Code::WindowBad, detail).into());
            }
            (None, None, None) => return Ok(None),
        };
        let config = WindowConfig::new(WindowConfigSettings {
            window: rules.limits(Tokens(limit)),
            compact: compact(&asked)?,
            output: OutputLimits::default(),
        })
        .map_err(|error| Fault::from(Problem::new(Code::WindowBad, error.to_string())))?;
        let (counter, note) = counter_or_estimate(engine, asked.counter.as_deref(), name.as_deref())?;
        Ok(Some(Self { config, counter, limit_from, model: name, asked, note }))
    }

    /// Returns the guard of it.
    pub(super) fn guard(&self) -> TurnGuard<'_> {
        TurnGuard {
            overhead: Tokens(self.asked.overhead_tokens),
            tasks_completed: self.asked.tasks_completed,
            next_operation: self.asked.next_operation.as_deref(),
            model: self.model.as_deref(),
            returns_entries: self.asked.entries,
            ..TurnGuard::new(&self.config, &self.counter)
        }
    }

    /// Returns what the engine did, as the wire has it.
    pub(super) fn report(&self, report: WindowReport) -> TurnWindowReport {
        let mut notes = wire::notes(&report.notes);
        notes.extend(self.note.clone());
        let stop = report.stop;
        TurnWindowReport {
            zone: report.zone.as_str().to_owned(),
            ratio: ratio(report.ratio.0),
            tokens: report.tokens.0,
            tokens_after: report.tokens_after.0,
            tokens_from: if report.is_reported { "usage" } else { "count" }.to_owned(),
            overhead_tokens: report.overhead.0,
            limit: report.limit.0,
            limit_from: self.limit_from.clone(),
            target: report.target.0,
            may_call: stop.is_none(),
            alert: report.alert.map(|alert| alert.level.to_owned()),
            recommendation: report.zone.recommendation().to_owned(),
            reasons: report.reasons.iter().map(Reason::as_str).map(str::to_owned).collect(),
            plan: report.plan.as_ref().map(prune),
            pruned: report.pruned.into_iter().map(pruned).collect(),
            archived: report.archived.iter().map(ToString::to_string).collect(),
            compaction: report.compaction.map(|made| TurnCompaction {
                ctx: made.ctx.to_string(),
                parent: made.parent.to_string(),
                tokens_before: made.tokens_before,
                tokens_after: made.tokens_after,
                reason: made.reason,
            }),
            overflow: report.overflow.map(|overflow| TurnOverflow {
                essential_tokens: overflow.least.0,
                largest: (!is_overhead(&overflow.largest)).then(|| overflow.largest.to_string()),
                largest_tokens: overflow.largest_size.0,
                reason: overflow.to_string(),
            }),
            entries: report.entries.map(|entries| entries.iter().map(entry).collect()),
            counter: self.counter.name(),
            notes,
        }
    }
}

fn compact(asked: &TurnWindow) -> Result<CompactSettings, Fault> {
    let defaults = CompactSettings::default();
    let strategy = asked.tool_summary.as_deref().map(str::parse).transpose();
    Ok(CompactSettings {
        is_automatic: asked.auto_compact.unwrap_or(defaults.is_automatic),
        reserve_tokens: asked.reserve_tokens.map_or(defaults.reserve_tokens, Tokens),
        keep_recent_tokens: asked.keep_recent_tokens.map_or(defaults.keep_recent_tokens, Tokens),
        tool_call_cutoff: asked
            .tool_results_max
            .map_or(defaults.tool_call_cutoff, |count| i64::try_from(count).unwrap_or(i64::MAX)),
        tool_summary: strategy
            .map_err(|error| bad_request("tool_summary", error))?
            .unwrap_or(defaults.tool_summary),
        ..defaults
    })
}

pub(super) fn ratio(millionths: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "millionths of a window, far below 2^52")]
    let ratio = millionths as f64 / 1_000_000.0;
    ratio
}

fn prune(plan: &PlannedPrune) -> TurnPrune {
    TurnPrune {
        form: plan.form.as_str().to_owned(),
        keep: plan.kept,
        prune: plan.pruned,
        tokens_after: plan.tokens_after.0,
    }
}

fn pruned(gone: PrunedEntry) -> TurnPruned {
    TurnPruned { entry: gone.id.to_string(), tokens: gone.tokens.0, reason: gone.reason }
}

/// Returns an entry as the wire has it.
fn entry(entry: &Entry) -> WindowEntry {
    let texts = |is: fn(&Part) -> Option<&str>| {
        let texts: Vec<&str> = entry.parts.iter().filter_map(is).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    WindowEntry {
        id: entry.id.to_string(),
        role: entry.role.as_str().to_owned(),
        kind: entry.kind.as_str().to_owned(),
        text: texts(|part| match part {
            Part::Text(text) | Part::Summary { text, .. } => Some(text),
            _ => None,
        }),
        thinking: texts(|part| match part {
            Part::Thinking { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        }),
        calls: entry.parts.iter().filter_map(call).collect(),
        results: entry.parts.iter().filter_map(result).collect(),
    }
}

fn call(part: &Part) -> Option<WindowCall> {
    let Part::ToolCall { call_id, name, arguments } = part else { return None };
    // Arguments that a model cut off are no JSON: they are handed over as the text that they are.
    let text = || Json::of(&serde_json::Value::from(arguments.as_str()));
    let input = RawJson::parse(arguments).or_else(|_| RawJson::parse(text().as_str())).ok()?;
    Some(WindowCall { id: call_id.clone(), name: name.clone(), input })
}

fn result(part: &Part) -> Option<WindowResult> {
    let Part::ToolResult { call_id, is_error, parts } = part else { return None };
    Some(WindowResult { id: call_id.clone(), text: text_of(parts), is_error: *is_error })
}
