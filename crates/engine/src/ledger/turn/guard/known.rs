//! What the guard remembers of a session's window: its last `CONTEXT_WINDOW` event, and what was said since.
//!
//! So a call of a turn reads what is new, and the whole window only where something is to be done about it.

use serde_json::{Value, json};
use stemmata_model::{
    Entry, Event, EventSeq, FormatId, Json, NewEvent, NewPayload, Part, Payload, Reason, Reasons, Role,
    Timestamp, TokenCounter, Tokens, topics,
};
use stemmata_prompt::guard::{Monitor, Window, Zone, milestones};
use stemmata_prompt::window::{
    CompactionSeen, Overheads, Progress, Report, Unbelievable, WindowConfig, believed, entry_tokens, reported,
};
use stemmata_runtimes::captured::visibility;
use stemmata_store::{EventQuery, Order, PAGE_ROWS_MAX};

use super::TurnGuard;
use super::status::{SaidAt, Status};
use super::summaries::Summaries;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::guard::is_seen;
use crate::ledger::turn::commit::{BESIDE, is_beside};
use crate::ledger::turn::{FORMAT, TurnOf};
use crate::prompts::entry_of;
use crate::verbs::compact::CompactWith;

/// Samples of the past that are read at most. With ten calls a turn that is a hundred turns.
const HISTORY_SAMPLES_MAX: usize = 1_000;

/// Answers among which the newest one is looked for that names its model.
const ANSWERS_MAX: usize = 16;

/// Events of the guard's memory among which the newest is looked for that was not forgotten.
const FORGOTTEN_MAX: usize = 16;

/// A size of a window in the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSample {
    /// When.
    pub at: Timestamp,
    /// What the window took.
    pub size: Tokens,
    /// What it held.
    pub limit: Tokens,
    /// The model that was called, or that had answered last.
    pub model: Option<String>,
}

/// What is known of a session's window.
pub(super) struct Known {
    /// The event that it was read from.
    pub(super) seq: Option<EventSeq>,
    /// What the window takes; none where all of it has to be counted.
    pub(super) tokens: Option<Tokens>,
    /// The zone that it was in after the last call.
    pub(super) zone: Zone,
    /// Whether a usage was reported since the window was last counted.
    pub(super) is_reported: bool,
    pub(super) overhead: Tokens,
    /// What the reports said of it so far.
    pub(super) overheads: Overheads,
    /// Why the last report was left aside, where it was.
    pub(super) left_aside: Option<Unbelievable>,
    /// The tokens that the window's entries count, or `None` if they have to be counted anew. The overhead is what the provider
    /// reported beyond them: so it is known without reading the entries.
    pub(super) held: Option<Tokens>,
    /// Results of tools that the model sees.
    pub(super) results: usize,
    /// Messages that the model sees.
    pub(super) messages: usize,
    /// Calls that failed so far.
    pub(super) errors: u64,
    pub(super) monitor: Monitor,
    pub(super) progress: Progress,
    pub(super) status: Status,
    pub(super) summaries: Summaries,
    pub(super) milestones_kept: u64,
    pub(super) checkpoint_at: Timestamp,
    /// Why checkpoints were made in this turn already.
    pub(super) turn_reasons: Reasons,
    /// Overflows that were answered since the model answered last.
    pub(super) recoveries: u8,
    /// What took the window that a provider refused, where it was compacted for that and the recovery has not ended.
    pub(super) recovering: Option<Tokens>,
    /// The prompt before whose call the guard acted last.
    pub(super) begun: Option<u64>,
    /// The model that answered last, or is called.
    pub(super) model: Option<String>,
    /// Where compaction is due.
    limit: Option<Tokens>,
    /// What the window holds.
    window: Tokens,
}

/// Returns the model that a `CONTEXT_WINDOW` event names.
fn model_in(data: &Value) -> Option<String> {
    data.get("model").and_then(Value::as_str).map(str::to_owned)
}

/// An event, stored or not yet.
struct Seen<'a> {
    topic: &'a str,
    line: Option<&'a Json>,
    data: Option<&'a Json>,
    at: SaidAt,
}

impl Known {
    fn new(checkpoint_at: Timestamp, config: &WindowConfig) -> Self {
        Self {
            seq: None,
            tokens: None,
            zone: Zone::Safe,
            is_reported: false,
            overhead: Tokens(0),
            overheads: Overheads::default(),
            left_aside: None,
            held: None,
            results: 0,
            messages: 0,
            errors: 0,
            monitor: Monitor::default(),
            progress: Progress::default(),
            status: Status::default(),
            summaries: Summaries::default(),
            milestones_kept: 0,
            checkpoint_at,
            turn_reasons: Reasons::NONE,
            recoveries: 0,
            recovering: None,
            begun: None,
            model: None,
            limit: config.limit().tokens,
            window: config.window().limit(),
        }
    }

    /// Reads what an event says that `to_data` wrote. What is missing is as in a session that was never measured.
    fn read(&mut self, data: &Value, guard: &TurnGuard<'_>) {
        let number = |key: &str| data.get(key).and_then(Value::as_u64);
        let list = |key: &str| data.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let is_same_counter = data.get("counter").and_then(Value::as_str) == Some(&*guard.counter.name());
        let is_same_overhead = number("given_overhead") == Some(guard.overhead.0);
        self.tokens = number("size").map(Tokens).filter(|_| is_same_counter && is_same_overhead);
        self.is_reported = data.get("is_reported").and_then(Value::as_bool).unwrap_or(false);
        self.overhead = Tokens(number("overhead").unwrap_or(0)).max(guard.overhead);
        self.held = number("held").map(Tokens).filter(|_| is_same_counter);
        if let Some(told) = data.get("overheads").filter(|_| is_same_counter) {
            let tokens = |key: &str| told.get(key).and_then(Value::as_u64).map(Tokens);
            let sums = tokens("sums").map_or(0, |Tokens(count)| u32::try_from(count).unwrap_or(u32::MAX));
            let newest = tokens("last_sent").zip(tokens("last_held"));
            self.overheads = Overheads { least: tokens("least"), last: newest, sums };
        }
        let zone = Zone::ALL.into_iter().find(|zone| data.get("zone") == Some(&Value::from(zone.as_str())));
        self.zone = zone.unwrap_or(Zone::Safe);
        let count = |key: &str| number(key).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        (self.results, self.messages) = (count("results"), count("messages"));
        self.summaries = Summaries::of_data(data.get("summarizer"));
        self.errors = number("errors").unwrap_or(0);
        let sent = list("sent");
        let sent = Zone::ALL.into_iter().filter(|zone| sent.iter().any(|name| name == zone.as_str()));
        self.monitor = Monitor::restored(sent);
        if number("compact_at") == self.limit.map(|limit| limit.0) {
            let seen = |pair: &Value| {
                let tokens = |at: usize| pair.get(at).and_then(Value::as_u64).map(Tokens);
                Some(CompactionSeen { before: tokens(0)?, after: tokens(1)?, limit: self.limit })
            };
            self.progress = Progress::restored(list("idle").iter().filter_map(seen));
        }
        self.model = model_in(data);
        self.status.read(data.get("said"));
        self.status.tasks_completed = number("tasks_completed").unwrap_or(0);
        self.milestones_kept = number("milestones").unwrap_or(0);
        let at = data.get("checkpoint_us").and_then(Value::as_i64);
        self.checkpoint_at = at.map_or(self.checkpoint_at, Timestamp::from_micros);
        let reasons = list("turn_reasons");
        let is_named = |reason: &Reason| reasons.iter().any(|name| name == reason.as_str());
        self.turn_reasons = Reason::ALL.into_iter().filter(is_named).collect();
        self.recoveries = number("recoveries").and_then(|count| u8::try_from(count).ok()).unwrap_or(u8::MAX);
        self.recovering = number("recovering").map(Tokens);
        self.begun = number("begun");
    }

    /// Returns what the next call has to know, as data of an event.
    pub(super) fn to_data(&self, guard: &TurnGuard<'_>, window: &Window) -> Value {
        let size = self.tokens.unwrap_or_default();
        let sent: Vec<&str> = self.monitor.sent().iter().map(|zone| zone.as_str()).collect();
        let idle: Vec<[u64; 2]> =
            self.progress.idle().iter().map(|seen| [seen.before.0, seen.after.0]).collect();
        let reasons: Vec<&str> = self.turn_reasons.iter().map(Reason::as_str).collect();
        json!({
            "size": size.0,
            "limit": window.limit().0,
            "zone": window.zone(size).as_str(),
            "counter": guard.counter.name(),
            "overhead": self.overhead.0,
            "given_overhead": guard.overhead.0,
            "held": self.held.map(|tokens| tokens.0),
            "overheads": {
                "least": self.overheads.least.map(|tokens| tokens.0),
                "last_sent": self.overheads.last.map(|(sent, _)| sent.0),
                "last_held": self.overheads.last.map(|(_, held)| held.0),
                "sums": self.overheads.sums,
            },
            "is_reported": self.is_reported,
            "results": self.results,
            "messages": self.messages,
            "summarizer": self.summaries.to_data(),
            "errors": self.errors,
            "sent": sent,
            "idle": idle,
            "compact_at": self.limit.map(|limit| limit.0),
            "model": guard.model.or(self.model.as_deref()),
            "said": self.status.to_data(),
            "tasks_completed": self.status.tasks_completed,
            "milestones": self.milestones_kept,
            "checkpoint_us": self.checkpoint_at.as_micros(),
            "turn_reasons": reasons,
            "recoveries": self.recoveries,
            "recovering": self.recovering.map(|tokens| tokens.0),
            "begun": self.begun,
        })
    }

    /// Takes in events that are about to be appended behind the ledger's event `last`.
    pub(super) fn see_new(
        &mut self,
        events: &[NewEvent],
        counter: &dyn TokenCounter,
        last: u64,
    ) -> Result<()> {
        for event in events {
            let (line, data) = match &event.payload {
                NewPayload::Line(line) => (Some(line), None),
                NewPayload::Plain { data, .. } => (None, data.as_ref()),
            };
            let at = SaidAt::behind(last);
            self.see(&Seen { topic: event.topic.as_str(), line, data, at }, counter)?;
        }
        Ok(())
    }

    fn see(&mut self, seen: &Seen<'_>, counter: &dyn TokenCounter) -> Result<()> {
        if let Some(line) = seen.line.filter(|_| !is_beside(seen.topic)) {
            if seen.topic == topics::USER_TURN {
                self.turn_reasons = Reasons::NONE;
                // Another prompt is another context: a provider that refuses it has not refused it before.
                (self.recoveries, self.recovering) = (0, None);
            }
            let adapter = Engine::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
            for entry in adapter.decode(format!("{line}\n").as_bytes()).entries {
                self.see_entry(&entry, counter);
            }
            return Ok(());
        }
        let data = seen.data.map(Json::to_value).unwrap_or_default();
        match seen.topic {
            topics::STATUS_EVENT => self.status.see(&data, seen.at),
            topics::ERROR_EVENT => self.errors += 1,
            topics::COMPACTION_END => self.see_compaction(&data),
            _ => {}
        }
        Ok(())
    }

    fn see_entry(&mut self, entry: &Entry, counter: &dyn TokenCounter) {
        if visibility::of_entry(entry).is_some() {
            // Somebody hid, showed or pinned entries: the window is another one, and a compaction may help now.
            (self.tokens, self.held, self.is_reported) = (None, None, false);
            self.progress.reset();
            return;
        }
        let own = entry_tokens(entry, counter);
        self.held = self.held.map(|held| held + own);
        match reported(entry) {
            Some(report) => self.see_usage(report, own),
            None => self.tokens = self.tokens.map(|tokens| tokens + own),
        }
        self.messages += usize::from(is_seen(entry));
        if entry.role == Role::Assistant {
            (self.recoveries, self.recovering) = (0, None);
            self.model = entry.meta.model.clone().or(self.model.take());
        }
        for part in &entry.parts {
            if let Part::ToolResult { is_error, .. } = part {
                self.results += usize::from(entry.meta.visibility.agent);
                self.errors += u64::from(*is_error);
            }
        }
    }

    /// Takes a report in, or leaves it aside. Its answer takes `own`.
    fn see_usage(&mut self, report: Report, own: Tokens) {
        let seen = self.held.map_or(Ok(()), |held| self.overheads.see(report, held, own));
        let judged =
            seen.and_then(|()| believed(report.tokens, self.held.unwrap_or_default(), Some(self.window)));
        self.left_aside = judged.err();
        match (judged, self.held) {
            (Ok(()), held) => {
                (self.tokens, self.is_reported) = (Some(report.tokens), true);
                if let Some(held) = held {
                    self.overheads.believe();
                    self.overhead = report.tokens.saturating_sub(held);
                }
            }
            (Err(Unbelievable::Grows { least, .. }), Some(held)) => {
                (self.tokens, self.is_reported, self.overhead) = (Some(least + held), false, least);
            }
            // The entries themselves have to be looked at: these sums hold what a client may have cleared meanwhile.
            (Err(_), _) => (self.tokens, self.held, self.is_reported) = (None, None, false),
        }
    }

    fn see_compaction(&mut self, data: &Value) {
        let number = |key: &str| data.get(key).and_then(Value::as_u64).map(Tokens);
        let size = self.tokens.unwrap_or_default();
        // One that failed led nowhere.
        let (before, after) = number("tokens_before").zip(number("tokens_after")).unwrap_or((size, size));
        self.progress.compacted(CompactionSeen { before, after, limit: self.limit });
        if data.get("error").is_none() {
            (self.tokens, self.held, self.is_reported) = (None, None, false);
        }
        let reasons = data.get("reasons").and_then(Value::as_array);
        let is_recovery =
            reasons.is_some_and(|names| names.iter().any(|name| name == Reason::Emergency.as_str()));
        if is_recovery && data.get("error").is_none() {
            self.recovering = Some(size.max(before + self.overhead));
        }
        // A model was asked then: it wrote a part of the summary, or rules had to write all of it.
        let asked = data.get("asked_us").and_then(Value::as_i64).map(Timestamp::from_micros);
        let with = data.get("with").and_then(Value::as_str);
        if let Some(at) = asked {
            self.summaries.see(with == Some(CompactWith::MODEL), at);
        }
    }

    /// Says that a checkpoint is made now.
    pub(super) fn checkpointed(&mut self, reasons: Reasons, window: &Window, now: Timestamp) {
        self.checkpoint_at = now;
        self.turn_reasons = self.turn_reasons.iter().chain(reasons.iter()).collect();
        self.milestones_kept = milestones(window, self.status.tasks_completed);
    }
}

impl Engine {
    /// Returns what is known of a session's window up to the ledger's event `last`.
    pub(super) fn known_window(&self, turn: &TurnOf, guard: &TurnGuard<'_>, last: u64) -> Result<Known> {
        let through = EventSeq::new(last);
        let newest = |topic: &'static str, order: Order| EventQuery {
            session: Some(turn.session.clone()),
            topics: vec![topics::topic(topic)],
            through,
            order,
            ..EventQuery::after(None, 1)
        };
        let mut known = Known::new(self.clock.now(), guard.config);
        known.overhead = guard.overhead;
        if through.is_none() {
            return Ok(known);
        }
        let remembered = newest(topics::CONTEXT_WINDOW, Order::NewestFirst);
        let mut state = self.log.events(&turn.ledger, &remembered)?.pop();
        let is_gone = |event: &Event| matches!(event.payload, Payload::Gone(_));
        let is_forgotten = state.as_ref().is_some_and(is_gone);
        if is_forgotten {
            let remembered = EventQuery { limit: FORGOTTEN_MAX, ..remembered };
            state = self.log.events(&turn.ledger, &remembered)?.into_iter().find(|event| !is_gone(event));
        }
        let Some(state) = state else {
            let started = newest(topics::SESSION_STARTED, Order::OldestFirst);
            if let Some(started) = self.log.events(&turn.ledger, &started)?.pop() {
                known.checkpoint_at = started.at;
            }
            if let Some(through) = through {
                known.status = self.status_through(&turn.ledger, &turn.session, through)?;
            }
            return Ok(known);
        };
        known.seq = Some(state.seq);
        if let Payload::Plain { data: Some(data), .. } = &state.payload {
            known.read(&data.to_value(), guard);
            self.load_said(&turn.ledger, &turn.session, &mut known.status, state.seq)?;
        }
        let mut query = Some(EventQuery {
            session: Some(turn.session.clone()),
            through,
            without: BESIDE.map(topics::topic).to_vec(),
            ..EventQuery::after(Some(state.seq), PAGE_ROWS_MAX)
        });
        while let Some(asked) = query {
            let page = self.log.page(&turn.ledger, &asked)?;
            for event in &page.events {
                let (line, data) = match &event.payload {
                    Payload::Line { line, .. } => (Some(line), None),
                    Payload::Plain { data, .. } => (None, data.as_ref()),
                    Payload::Gone(_) => (None, None),
                };
                let at = SaidAt::stored(event.seq);
                known.see(&Seen { topic: event.topic.as_str(), line, data, at }, guard.counter)?;
            }
            query = asked.following(&page);
        }
        if is_forgotten {
            // What changed the window may be forgotten, too.
            (known.tokens, known.held, known.is_reported) = (None, None, false);
        }
        Ok(known)
    }

    /// Returns the model of a session: the one that is called, or that answered last, also where no window was guarded then.
    ///
    /// # Errors
    /// Where the log fails.
    pub fn session_model(&self, turn: &TurnOf) -> Result<Option<String>> {
        let query = EventQuery {
            session: Some(turn.session.clone()),
            topics: [topics::ASSISTANT_TURN, topics::CONTEXT_WINDOW].map(topics::topic).to_vec(),
            order: Order::NewestFirst,
            ..EventQuery::after(None, ANSWERS_MAX)
        };
        Ok(self.log.events(&turn.ledger, &query)?.iter().find_map(|event| match &event.payload {
            Payload::Plain { data: Some(data), .. } => model_in(&data.to_value()),
            _ => entry_of(event)?.meta.model,
        }))
    }

    /// Returns what a model reported with its newest answer in a session.
    ///
    /// # Errors
    /// Where the log fails.
    pub fn last_reported(&self, turn: &TurnOf, model: &str) -> Result<Option<Tokens>> {
        let query = EventQuery {
            session: Some(turn.session.clone()),
            ..EventQuery::latest(topics::topic(topics::ASSISTANT_TURN), ANSWERS_MAX)
        };
        let answers = self.log.events(&turn.ledger, &query)?;
        let of_model = answers.iter().filter_map(entry_of);
        let mut of_model = of_model.filter(|answer| answer.meta.model.as_deref() == Some(model));
        Ok(of_model.find_map(|answer| reported(&answer)).map(|report| report.tokens))
    }

    /// Returns how full a session's window was after its last calls, oldest first; at most so many, and at most 1,000.
    ///
    /// # Errors
    /// Where the log fails.
    pub fn window_history(&self, turn: &TurnOf, samples_max: usize) -> Result<Vec<WindowSample>> {
        let query = EventQuery {
            session: Some(turn.session.clone()),
            ..EventQuery::latest(topics::topic(topics::CONTEXT_WINDOW), samples_max.min(HISTORY_SAMPLES_MAX))
        };
        let sample = |event: &Event| {
            let Payload::Plain { data: Some(data), .. } = &event.payload else { return None };
            let data = data.to_value();
            let number = |key: &str| data.get(key).and_then(Value::as_u64).map(Tokens);
            let (at, model) = (event.at, model_in(&data));
            Some(WindowSample { at, size: number("measured")?, limit: number("limit")?, model })
        };
        let mut samples: Vec<WindowSample> =
            self.log.events(&turn.ledger, &query)?.iter().filter_map(sample).collect();
        samples.reverse();
        Ok(samples)
    }
}
