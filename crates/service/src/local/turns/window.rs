//! The guard of a turn: which window a request means, and what the engine did about it as the wire has it.

use stemmata_api::v1::{
    Note, TurnOverflow, TurnWindow, TurnWindowReport, WindowCall, WindowEntry, WindowResult,
};
use stemmata_api::{Answer, Code, Problem, RawJson};
use stemmata_engine::prompt::tool_output::{OutputLimits, text_of};
use stemmata_engine::prompt::window::{
    CompactSettings, ToolSummaryStrategy, WindowConfig, WindowConfigSettings, overflow_sizes,
};
use stemmata_engine::tokens::KnownWindow;
use stemmata_engine::{
    ChosenCounter, Engine, Scrubber, Summarizer, TurnGuard, TurnOf, WindowReport, WindowRules, is_overhead,
    window_within_model,
};
use stemmata_model::{CommitId, Entry, Json, NoteCode, Part, Reason, TokenCounter as _, Tokens};

use super::images;
use crate::fault::Fault;
use crate::local::bad_request;
use crate::local::counters::counter_or_estimate;
use crate::local::prompts::REPORTED;

/// Where a limit comes from that an overflow names.
const PROVIDER: &str = "the provider's error";

/// The window of a session, as a request means it.
pub(super) struct OfSession {
    config: WindowConfig,
    counter: ChosenCounter,
    limit_from: String,
    is_assumed: bool,
    model: Option<String>,
    asked: TurnWindow,
    /// Who writes summaries; none where rules do.
    summarizer: Option<Box<dyn Summarizer>>,
    compacts_with_model: bool,
    notes: Vec<Note>,
}

/// What turns are guarded by where a request does not say it.
pub(in crate::local) struct Rules<'a> {
    /// The configured limits.
    pub(in crate::local) window: &'a WindowRules,
    /// Makes the client of the configured model, for the rules of a ledger.
    pub(in crate::local) model: &'a Model<'a>,
}

/// What a request names beside its window.
#[derive(Default)]
pub(super) struct Named<'a> {
    /// The model.
    pub(super) model: Option<&'a str>,
    /// What its newest answer took; else the session's newest one says it.
    pub(super) reported: Option<Tokens>,
}

/// The window of a session, or why it is not known although it was, or was to be.
pub(super) type Window = (Option<OfSession>, Option<Note>);

/// Makes the client of the configured model.
pub(in crate::local) type Model<'a> = dyn Fn(Scrubber) -> Answer<Box<dyn Summarizer>> + 'a;

fn degraded(message: String) -> Note {
    Note::new(NoteCode::Degraded, message)
}

/// Says that a session's window is not guarded, and why.
fn unguarded(why: &str) -> Note {
    degraded(format!(
        "{why}, so that it is not guarded: name `tokens` in the `window` of the request, or set `window.tokens`"
    ))
}

/// Says that an answer refutes what was assumed of a model's window, where one does.
fn refuted(
    engine: &Engine,
    turn: &TurnOf,
    (name, known): (&str, KnownWindow),
    named: &Named<'_>,
) -> Result<Option<Note>, Fault> {
    if !known.is_assumed {
        return Ok(None);
    }
    let reported = match named.reported {
        None => engine.last_reported(turn, name)?,
        reported => reported,
    };
    let above = reported.filter(|reported| reported.0 > known.tokens);
    Ok(above.map(|reported| {
        let assumed = known.tokens;
        unguarded(&format!(
            "the window of `{name}` is not known: {assumed} was assumed, and an answer reports {reported}"
        ))
    }))
}

impl OfSession {
    /// Reads which window a call means. Returns `None` where the call names none and the session has none. `context` is what a new
    /// session continues.
    pub(super) fn of(
        engine: &Engine,
        turn: &TurnOf,
        (asked, named, context): (Option<&TurnWindow>, &Named<'_>, Option<CommitId>),
        rules: &Rules<'_>,
    ) -> Result<Window, Fault> {
        let rules = rules.window;
        let is_asked = asked.is_some();
        let asked = asked.cloned().unwrap_or_else(TurnWindow::unsaid);
        let mut name = asked.model.clone().or_else(|| named.model.map(str::to_owned));
        if name.is_none() {
            name = engine.session_model(turn)?;
        }
        let reported = match context {
            Some(context) => engine.reported_window(context)?,
            None => engine.reported_session_window(&turn.ledger, &turn.session)?,
        };
        let reported = reported.map(|tokens| ("session", KnownWindow::said(tokens, REPORTED)));
        let known = window_within_model(reported, name.as_deref());
        let mut is_assumed = false;
        let (limit, limit_from) = match (asked.tokens, rules.tokens, known) {
            (Some(tokens), ..) => (tokens, "the request".to_owned()),
            (None, Some(tokens), _) => (tokens, "`window.tokens`".to_owned()),
            (None, None, Some((name, known))) => {
                if let Some(why) = refuted(engine, turn, (name, known), named)? {
                    return Ok((None, Some(why)));
                }
                is_assumed = known.is_assumed;
                (known.tokens, known.told(name))
            }
            (None, None, None) if is_asked => {
                // What was said of another model is nothing to go by.
                let told = engine.window_history(turn, 1)?.pop().filter(|told| told.model == name);
                let Some(told) = told else {
                    let detail = "the window of the session is not known: name `tokens`, or a `model`, in the \
                                  `window` of the request, or set `window.tokens`";
                    return Err(Problem::new(Code::WindowBad, detail).into());
                };
                (told.limit.0, "what an earlier call of the session said".to_owned())
            }
            (None, None, None) => {
                let was_guarded = !engine.window_history(turn, 1)?.is_empty();
                let name = name.filter(|_| was_guarded);
                let why = name.map(|name| format!("the window of `{name}` is not known"));
                return Ok((None, why.as_deref().map(unguarded)));
            }
        };
        let config = config(&asked, Tokens(limit), rules)?;
        let (counter, note) = counter_or_estimate(engine, asked.counter.as_deref(), name.as_deref())?;
        let compacts_with_model = match asked.compact_with.as_deref() {
            None => rules.asks_model,
            Some("llm") => true,
            Some("heuristic") => false,
            Some(_) => return Err(bad_request("compact_with", "it is one of llm, heuristic")),
        };
        let (summarizer, notes) = (None, note.into_iter().collect());
        let of = Self {
            config,
            counter,
            limit_from,
            is_assumed,
            model: name,
            asked,
            summarizer,
            compacts_with_model,
            notes,
        };
        Ok((Some(of), None))
    }

    /// The same for a call that may archive or compact: with the model that is configured for summaries. None is no fault,
    /// since rules summarize as well; one that is configured and cannot be used is a note.
    pub(super) fn summarizing(
        engine: &Engine,
        turn: &TurnOf,
        (asked, named): (Option<&TurnWindow>, &Named<'_>),
        rules: &Rules<'_>,
    ) -> Result<Window, Fault> {
        let (of, why) = Self::of(engine, turn, (asked, named, None), rules)?;
        let Some(mut of) = of else { return Ok((None, why)) };
        let asks = of.compacts_with_model || of.config.compact().tool_summary == ToolSummaryStrategy::Llm;
        if !asks {
            return Ok((Some(of), why));
        }
        match (rules.model)(engine.scrubber_of_ledger(&turn.ledger)?) {
            Ok(model) => of.summarizer = Some(model),
            Err(problem) if is_missing(&problem) => {}
            Err(problem) => {
                let message =
                    format!("rules write the summaries, since no model can be asked: {}", problem.detail);
                of.notes.push(degraded(message));
            }
        }
        Ok((Some(of), why))
    }

    /// The same for a call that was refused: the provider's error may say what the model takes.
    pub(super) fn recovering(
        engine: &Engine,
        turn: &TurnOf,
        (asked, error): (&TurnWindow, &str),
        rules: &Rules<'_>,
    ) -> Result<Self, Fault> {
        let maximum = overflow_sizes(error).maximum.map(|Tokens(tokens)| tokens);
        let named = TurnWindow { tokens: asked.tokens.or(maximum), ..asked.clone() };
        // The provider has just refused a context: what was assumed is nearer than what is unknown.
        let nothing = Named { reported: Some(Tokens(0)), ..Named::default() };
        let of = Self::summarizing(engine, turn, (Some(&named), &nothing), rules)?.0;
        let mut of = of.expect("a window was asked for");
        if asked.tokens.is_none() && maximum.is_some() {
            PROVIDER.clone_into(&mut of.limit_from);
        }
        Ok(of)
    }

    /// Returns what a recovery did, as the wire has it: the provider may take less than the window was said to hold.
    pub(super) fn recovered(&self, report: WindowReport, maximum: Option<Tokens>) -> TurnWindowReport {
        let mut report = self.report(report);
        if Tokens(report.limit) < self.config.window().limit() {
            let from = if maximum.is_some() { PROVIDER } else { "the context that was refused" };
            from.clone_into(&mut report.limit_from);
            report.limit_assumed = false;
        }
        report
    }

    /// Returns the guard of it.
    pub(super) fn guard(&self) -> TurnGuard<'_> {
        TurnGuard {
            overhead: Tokens(self.asked.overhead_tokens),
            tasks_completed: self.asked.tasks_completed,
            next_operation: self.asked.next_operation.as_deref(),
            model: self.model.as_deref(),
            returns_entries: self.asked.entries,
            summarizer: self.summarizer.as_deref(),
            compacts_with_model: self.compacts_with_model,
            ..TurnGuard::new(&self.config, &self.counter)
        }
    }

    /// Returns what the engine did, as the wire has it.
    pub(super) fn report(&self, report: WindowReport) -> TurnWindowReport {
        let mut notes = report.notes.clone();
        notes.extend(self.notes.clone());
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
            limit_assumed: self.is_assumed,
            target: report.target.0,
            may_call: stop.is_none(),
            alert: report.alert.map(|alert| alert.level.to_owned()),
            recommendation: report.zone.recommendation().to_owned(),
            reasons: report.reasons.iter().map(Reason::as_str).map(str::to_owned).collect(),
            plan: report.plan,
            pruned: report.pruned,
            archived: report.archived,
            compaction: report.compaction,
            overflow: report.overflow.map(|overflow| TurnOverflow {
                essential_tokens: overflow.least.0,
                largest_tokens: overflow.largest_size.0,
                reason: overflow.to_string(),
                largest: Some(overflow.largest).filter(|entry| !is_overhead(entry)),
            }),
            entries: report.entries.map(|entries| entries.iter().map(entry).collect()),
            counter: self.counter.name(),
            notes,
        }
    }
}

/// Says whether no model is configured, rather than one that cannot be asked.
fn is_missing(problem: &Problem) -> bool {
    problem.code == Code::NoModel.row().code && !problem.about.contains_key("setting")
}

/// Returns the limits of a window: those that a request names, and the configured ones for the others.
pub(in crate::local) fn config(
    asked: &TurnWindow,
    limit: Tokens,
    rules: &WindowRules,
) -> Result<WindowConfig, Fault> {
    let settings = WindowConfigSettings {
        window: rules.limits(limit),
        compact: compact(asked, &rules.compact)?,
        output: OutputLimits::default(),
    };
    WindowConfig::new(settings).map_err(|error| Problem::new(Code::WindowBad, error.to_string()).into())
}

/// Returns the settings that a request names, and the configured ones for the others.
fn compact(asked: &TurnWindow, configured: &CompactSettings) -> Result<CompactSettings, Fault> {
    let count =
        |asked: Option<u64>, known| asked.map_or(known, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let tool_summary = asked.tool_summary.as_deref().map(str::parse).transpose();
    Ok(CompactSettings {
        messages_max: count(asked.max_messages, configured.messages_max),
        tokens_max: asked.max_tokens.map_or(configured.tokens_max, Tokens),
        keep_recent: count(asked.keep_recent, configured.keep_recent),
        keep_recent_tokens: asked.keep_recent_tokens.map_or(configured.keep_recent_tokens, Tokens),
        reserve_tokens: asked.reserve_tokens.map_or(configured.reserve_tokens, Tokens),
        tool_call_cutoff: asked
            .tool_call_cutoff
            .map_or(configured.tool_call_cutoff, |count| i64::try_from(count).unwrap_or(i64::MAX)),
        tool_summary: tool_summary
            .map_err(|error| bad_request("tool_summary", error))?
            .unwrap_or(configured.tool_summary),
        is_automatic: asked.auto_compact.unwrap_or(configured.is_automatic),
    })
}

pub(in crate::local) fn ratio(millionths: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "millionths of a window, far below 2^52")]
    let ratio = millionths as f64 / 1_000_000.0;
    ratio
}

/// Returns an entry as the wire has it.
pub(in crate::local) fn entry(entry: &Entry) -> WindowEntry {
    let texts = |is: fn(&Part) -> Option<&str>| {
        let texts: Vec<&str> = entry.parts.iter().filter_map(is).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    WindowEntry {
        id: entry.id.clone(),
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
        images: images::shown(&entry.parts),
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
    let (text, is_error) = (text_of(parts), *is_error);
    Some(WindowResult { id: call_id.clone(), text, is_error, images: images::shown(parts) })
}
