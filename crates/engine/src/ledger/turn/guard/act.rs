//! What one call of a turn does about the window: results are archived, the window is measured, a prune is planned or carried
//! out, and all of it becomes events of the call's own transaction.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};
use stemmata_api::v1::{TurnPrune, TurnPruned};
use stemmata_model::{
    Entry, EntryId, Json, NewEvent, NewPayload, Note, NoteCode, Party, Reason, Reasons, Timestamp, Tokens,
    topics,
};
use stemmata_prompt::guard::{
    Alert, Course, PrunePlan, Ratio, Start, TriggerFacts, Window, WindowSettings, Zone, checkpoint_reasons,
    course,
};
use stemmata_prompt::tool_output::counted_results;
use stemmata_prompt::window::Progress;
use stemmata_runtimes::captured::visibility::{self, SHOWN_IDS_MAX, ShowAs, Shown};
use stemmata_store::BATCH_EVENTS_MAX;

use super::known::Known;
use super::summaries::Summaries;
use super::told::WorkTold;
use super::window::SessionWindow;
use super::{Guarding, TurnGuard, WindowReport};
use crate::engine::Engine;
use crate::error::Result;
use crate::guard::{Sizes, Weighed, is_overhead};
use crate::ledger::opening::OPENER;
use crate::ledger::turn::TurnOf;
use crate::ledger::turn::commit::Boundary;

/// What the guard does in one call.
pub(in crate::ledger::turn) struct Acted {
    /// What is appended with the call's own events.
    pub(super) events: Vec<NewEvent>,
    /// Whether a commit belongs to the call: at the beginning of a turn only where a checkpoint is due.
    pub(in crate::ledger::turn) commits: bool,
    pub(in crate::ledger::turn) report: WindowReport,
    /// The zone after the session's last call.
    pub(super) zone_before: Zone,
    /// What the session's compactions came to so far.
    pub(super) progress: Progress,
    /// What its summarizer came to so far.
    pub(super) summaries: Summaries,
    /// Messages that the model sees.
    pub(super) messages: usize,
    /// Whether a report of this call was left aside that what was said does not explain.
    pub(in crate::ledger::turn) left_aside: bool,
    /// Why the answer shows an overflow that the provider did not report as an error.
    pub(super) overflow_seen: Option<&'static str>,
}

impl Acted {
    /// Logs that the window of a session has left the safe zone. Said once what was done is stored: tries and mere looks are no
    /// news.
    pub(in crate::ledger::turn) fn log(&self, turn: &TurnOf) {
        let zone = self.report.zone;
        if zone > Zone::Safe && self.zone_before == Zone::Safe {
            let (session, tokens, limit) = (&turn.session, self.report.tokens.0, self.report.limit.0);
            tracing::warn!(%session, tokens, limit, "the window is in the {} zone", zone.as_str());
        }
    }

    /// Takes in that the answer shows an overflow: the caller hears of it, and the session is compacted when its turn ends.
    pub(in crate::ledger::turn) fn see_overflow(&mut self, why: &'static str) {
        self.overflow_seen = Some(why);
        let message = format!("{why}: the answer may rest on a part of the context; check it, or ask again");
        self.report.notes.push(Note::new(NoteCode::Degraded, message));
    }
}

/// A window on its way through a call.
pub(super) struct Work<'a> {
    pub(super) turn: &'a TurnOf,
    pub(super) guarding: &'a Guarding<'a>,
    window: &'a Window,
    boundary: Boundary,
    pub(super) now: Timestamp,
    pub(super) known: Known,
    events: Vec<NewEvent>,
    pub(super) notes: Vec<Note>,
    pub(super) archived: Vec<EntryId>,
    pub(super) tool_summaries: u64,
}

impl Engine {
    /// Returns events with those of the guard behind them, where a guard is given.
    pub(in crate::ledger::turn) fn guarded(
        &self,
        turn: &TurnOf,
        (events, boundary): (&[NewEvent], Boundary),
        guarding: Option<&Guarding<'_>>,
        last: u64,
    ) -> Result<(Vec<NewEvent>, Option<Acted>)> {
        let mut all = events.to_vec();
        let Some(guarding) = guarding else { return Ok((all, None)) };
        let mut acted = self.act(turn, guarding, (events, boundary), last)?;
        // One for the event that may open the session.
        if all.len() + acted.events.len() < BATCH_EVENTS_MAX {
            all.append(&mut acted.events);
        } else {
            let message = format!(
                "the turn has {} events, so that the guard of the window could not act: store it in more steps",
                events.len()
            );
            let report = &mut acted.report;
            report.notes.push(Note::new(NoteCode::Degraded, message));
            // What was decided is not stored.
            (report.alert, report.reasons, report.tokens_after) = (None, Reasons::NONE, report.tokens);
            report.pruned.clear();
            report.archived.clear();
            report.tool_summaries = 0;
        }
        Ok((all, Some(acted)))
    }

    /// Decides what a call does about the window of a session with its events up to `last` and the call's own. Stores nothing.
    pub(super) fn act(
        &self,
        turn: &TurnOf,
        guarding: &Guarding<'_>,
        (events, boundary): (&[NewEvent], Boundary),
        last: u64,
    ) -> Result<Acted> {
        let guard = guarding.guard;
        let mut known = self.known_window(turn, guard, last)?;
        // Of earlier reports their own calls heard.
        known.left_aside = None;
        known.see_new(events, guard.counter, last)?;
        let completed = &mut known.status.tasks_completed;
        *completed = (*completed).max(guard.tasks_completed.unwrap_or(0));
        let shrunk = shrunk(guard, boundary);
        let mut work = Work {
            turn,
            guarding,
            window: shrunk.as_ref().unwrap_or_else(|| guard.config.window()),
            boundary,
            now: self.clock.now(),
            known,
            events: Vec::new(),
            notes: Vec::new(),
            archived: Vec::new(),
            tool_summaries: 0,
        };
        if let Some(why) = work.known.left_aside.filter(|_| !events.is_empty()) {
            work.notes.push(Note::new(NoteCode::Degraded, why.message()));
        }
        if let Some(tokens) = work.calm() {
            return Ok(work.finish(&Measured::light(tokens, &work.known), Course::default()));
        }
        let SessionWindow { mut entries, pins, .. } = self.session_window(turn, events, last)?;
        let overhead = work.known.overhead.max(guard.overhead);
        let mut sizes = if work.known.overheads.are_sums() {
            Sizes::counted(&entries, guard.counter, overhead)
        } else {
            Sizes::of(&entries, guard.counter, (overhead, Some(guard.config.window().limit())))
        };
        work.known.overhead = sizes.overhead;
        if let Some(requested) = guarding.requested {
            sizes.raise_to(requested);
            work.known.overhead = sizes.overhead;
        }
        let kept = self.never_archived(turn, (&entries, &pins), last)?;
        self.archive(&mut work, &mut entries, (&kept, &mut sizes))?;
        let told = self.told(turn, events, last)?;
        let mut course = work.course((&entries, &pins), &told, &mut sizes)?;
        if !work.is_before_a_call() {
            // The window is pruned before the next call, when it is known what that is about.
            course.prunes = false;
        }
        let gone = course.plan.as_ref().filter(|_| course.prunes).map(gone).unwrap_or_default();
        let gone: HashSet<&EntryId> = gone.iter().map(|gone| &gone.entry).collect();
        let left: Vec<Entry> = entries.iter().filter(|entry| !gone.contains(&entry.id)).cloned().collect();
        let is_kept = |at: usize| left.get(at).is_some_and(|entry| kept.contains(&entry.id));
        (work.known.results, work.known.messages) = (counted_results(&left, &is_kept), left.len());
        let root = self.log.ledger(&turn.ledger)?.and_then(|ledger| ledger.root);
        let measured =
            Measured { tokens: sizes.tokens, is_reported: sizes.is_reported, entries: Some(&entries), root };
        Ok(work.finish(&measured, course))
    }
}

/// What a window was measured to be, with its entries where all of it was read.
pub(super) struct Measured<'a> {
    pub(super) tokens: Tokens,
    is_reported: bool,
    pub(super) entries: Option<&'a [Entry]>,
    /// Where the project is.
    pub(super) root: Option<String>,
}

impl Measured<'_> {
    const fn light(tokens: Tokens, known: &Known) -> Self {
        Self { tokens, is_reported: known.is_reported, entries: None, root: None }
    }
}

impl Work<'_> {
    /// Returns what the window takes where that is known and nothing is to be done about it, so that it need not be read.
    fn calm(&self) -> Option<Tokens> {
        // What is reported beyond the entries is the overhead: it is known only where the entries were counted once.
        let tokens = self.known.tokens.filter(|_| !self.known.is_reported || self.known.held.is_some())?;
        let cutoff = usize::try_from(self.guarding.guard.config.compact().visible_results()).unwrap_or(0);
        let is_over = self.archives() && cutoff > 0 && self.known.results > cutoff;
        let is_calm = self.window.zone(tokens) < Zone::Danger
            && !is_over
            && !matches!(self.boundary, Boundary::Overflow { .. })
            && self.reasons(tokens).next().is_none();
        is_calm.then_some(tokens)
    }

    /// Decides what is to be done about the window. Usage alone stops no session: what it says of the system prompt and the tools may
    /// be wrong, and without a call no other usage would ever come. If it is true, the provider refuses the call.
    fn course(
        &mut self,
        (entries, pins): (&[Entry], &BTreeSet<EntryId>),
        told: &WorkTold,
        sizes: &mut Sizes,
    ) -> Result<Course> {
        let guard = self.guarding.guard;
        let decided = |sizes: &Sizes| -> Result<Course> {
            let start = match self.boundary {
                Boundary::Overflow { prunes: true, .. } => Start::Refused,
                _ => Start::Call(self.window.zone(sizes.tokens)),
            };
            let weighed = Weighed::of((entries, pins), sizes.clone(), guard.counter, told)?;
            Ok(course(start, weighed.request(self.window, self.now)))
        };
        let by_usage = decided(sizes)?;
        let is_refused = matches!(self.boundary, Boundary::Overflow { .. });
        if by_usage.stop.is_none() || is_refused || sizes.overhead <= guard.overhead {
            return Ok(by_usage);
        }
        let counted = Sizes::counted(entries, guard.counter, guard.overhead);
        let by_count = decided(&counted)?;
        if by_count.stop.is_some() {
            return Ok(by_usage);
        }
        let message = format!(
            "by the reported usage the system prompt and the tools take {}, and nothing that can be said fits beside them: it is left \
             aside, and the provider refuses the call if it is true; shorten them then",
            sizes.overhead
        );
        self.notes.push(Note::new(NoteCode::Degraded, message));
        (self.known.overhead, *sizes) = (guard.overhead, counted);
        Ok(by_count)
    }

    const fn is_before_a_call(&self) -> bool {
        matches!(self.boundary, Boundary::Begin { .. } | Boundary::Step | Boundary::Overflow { .. })
    }

    pub(super) const fn archives(&self) -> bool {
        matches!(self.boundary, Boundary::Step | Boundary::TurnEnd { .. } | Boundary::Overflow { .. })
    }

    /// Returns why a checkpoint is made now. What one was made for in this turn is said again only when the turn ends.
    fn reasons(&self, tokens: Tokens) -> impl Iterator<Item = Reason> {
        let is_end = matches!(self.boundary, Boundary::TurnEnd { .. });
        let facts = TriggerFacts {
            size: tokens,
            phase_changed: self.known.status.is_phase_changed,
            tasks_completed: self.known.status.tasks_completed,
            milestones_kept: self.known.milestones_kept,
            next_operation: self.guarding.guard.next_operation,
            last_checkpoint: self.known.checkpoint_at,
            now: self.now,
            is_emergency: matches!(self.boundary, Boundary::Overflow { .. })
                || self.window.zone(tokens) == Zone::Critical,
        };
        let said = self.known.turn_reasons;
        let found = checkpoint_reasons(self.window, &facts).into_iter();
        found.filter(move |reason| is_end || !said.iter().any(|said| said == *reason))
    }

    fn push(&mut self, topic: &'static str, payload: NewPayload) {
        let sender = Party::new(OPENER).expect("a constant name is a name");
        let event = NewEvent::new(self.turn.session.clone(), topics::topic(topic), sender, payload);
        self.events.push(event.with_links(&self.turn.links()));
    }

    fn push_data(&mut self, topic: &'static str, data: &Value) {
        self.push(topic, NewPayload::Plain { text: None, data: Some(Json::of(data)) });
    }

    pub(super) fn push_line(&mut self, topic: &'static str, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let line = Json::parse(text.trim_end()).expect("an encoded line is JSON");
        self.push(topic, NewPayload::Line(line));
    }

    /// Hides entries in lines of their own.
    pub(super) fn hide(&mut self, entries: &[EntryId], show_as: ShowAs, reason: &str) {
        for part in entries.chunks(SHOWN_IDS_MAX) {
            let shown = Shown { entries: part.to_vec(), show_as, reason: reason.to_owned() };
            self.push_line(topics::CONTEXT_VISIBILITY, &visibility::line(&[shown], self.now));
        }
    }

    /// Hides what was pruned, each entry with its reason.
    fn prune(&mut self, pruned: &[TurnPruned]) {
        for part in pruned.chunks(SHOWN_IDS_MAX) {
            let shown: Vec<Shown> = part
                .iter()
                .map(|gone| Shown {
                    entries: vec![gone.entry.clone()],
                    show_as: ShowAs::Pruned,
                    reason: gone.reason.clone(),
                })
                .collect();
            self.push_line(topics::CONTEXT_VISIBILITY, &visibility::line(&shown, self.now));
        }
    }

    /// Makes the events and the report of what was decided.
    fn finish(&mut self, measured: &Measured<'_>, course: Course) -> Acted {
        let tokens = measured.tokens;
        let observed = self.known.monitor.observe(self.window, tokens, self.now);
        let Course { makes_checkpoint, plan, prunes, stop, overflow, .. } = course;
        let planned = plan.as_ref().map(planned);
        let pruned = plan.as_ref().filter(|_| prunes).map(gone).unwrap_or_default();
        self.prune(&pruned);
        let tokens_after = plan.as_ref().filter(|_| prunes).map_or(tokens, |plan| plan.after);
        if !pruned.is_empty() {
            self.known.progress.reset();
        }
        let reasons: Reasons = self.reasons(tokens).collect();
        if let Some(alert) = &observed.alert {
            self.push_alert(alert, tokens);
        }
        if reasons != Reasons::NONE {
            let state = self.known.state_data(reasons, measured, self.window, self.now);
            self.push_data(topics::CHECKPOINT_STATE, &state);
        }
        let mut commits = makes_checkpoint || reasons != Reasons::NONE;
        match self.boundary {
            Boundary::Begin { said } => self.known.begun = Some(said.get()),
            _ => commits = true,
        }
        if commits {
            self.known.checkpointed(reasons, self.window, self.now);
        }
        if matches!(self.boundary, Boundary::Overflow { .. }) {
            self.known.recoveries = self.known.recoveries.saturating_add(1);
            self.known.recovering = None;
        }
        if measured.entries.is_some() {
            self.known.held = Some(tokens_after.saturating_sub(self.known.overhead));
        }
        (self.known.tokens, self.known.is_reported) = (Some(tokens_after), measured.is_reported && !prunes);
        self.push_state(tokens, planned.as_ref().map(|plan| (plan, prunes)));
        let report = WindowReport {
            zone: observed.zone,
            ratio: observed.sample.ratio,
            tokens,
            tokens_after,
            overhead: self.known.overhead,
            limit: self.window.limit(),
            target: self.window.target(),
            is_reported: measured.is_reported,
            alert: observed.alert,
            reasons,
            plan: planned,
            pruned,
            archived: std::mem::take(&mut self.archived),
            tool_summaries: self.tool_summaries,
            compaction: None,
            overflow,
            stop,
            entries: None,
            notes: std::mem::take(&mut self.notes),
        };
        let (events, progress) = (std::mem::take(&mut self.events), std::mem::take(&mut self.known.progress));
        let (summaries, messages) = (std::mem::take(&mut self.known.summaries), self.known.messages);
        Acted {
            events,
            commits,
            report,
            zone_before: self.known.zone,
            progress,
            summaries,
            messages,
            left_aside: self.known.left_aside.is_some_and(|why| !why.shows_overflow(tokens)),
            overflow_seen: None,
        }
    }

    fn push_alert(&mut self, alert: &Alert, tokens: Tokens) {
        let data = json!({
            "level": alert.level,
            "zone": alert.zone.as_str(),
            "ratio": ratio(alert.ratio),
            "recommendation": alert.recommendation,
            "size": tokens.0,
            "limit": self.window.limit().0,
        });
        self.push_data(topics::CONTEXT_SIZE_ALERT, &data);
    }

    /// Says what the next call has to know, and what was measured and planned in this one.
    fn push_state(&mut self, measured: Tokens, plan: Option<(&TurnPrune, bool)>) {
        let mut data = self.known.to_data(self.guarding.guard, self.window);
        data["measured"] = Value::from(measured.0);
        data["plan"] = plan.map_or(Value::Null, |(plan, is_done)| {
            json!({
                "form": plan.form,
                "keep": plan.keep,
                "prune": plan.prune,
                "tokens_after": plan.tokens_after,
                "is_done": is_done,
            })
        });
        self.push_data(topics::CONTEXT_WINDOW, &data);
    }
}

/// Returns the limits after a provider refused a context: it takes less than that, whatever its window is said to be.
pub(super) fn shrunk(guard: &TurnGuard<'_>, boundary: Boundary) -> Option<Window> {
    let Boundary::Overflow { refused, .. } = boundary else { return None };
    let settings = guard.config.window().settings();
    let limit = refused.min(settings.limit);
    Window::new(WindowSettings { limit, ..settings.clone() }).ok()
}

/// Returns the entries that go by a plan. An id that also stays is of two entries, and hiding one would hide both.
pub(crate) fn gone(plan: &PrunePlan) -> Vec<TurnPruned> {
    let kept: std::collections::HashSet<&EntryId> =
        plan.decisions.iter().filter(|decision| decision.is_kept).map(|decision| &decision.id).collect();
    let gone = plan.decisions.iter().filter(|decision| !decision.is_kept);
    gone.filter(|decision| !is_overhead(&decision.id) && !kept.contains(&decision.id))
        .map(|decision| TurnPruned {
            entry: decision.id.clone(),
            tokens: decision.size.0,
            reason: decision.why.text(),
        })
        .collect()
}

fn planned(plan: &PrunePlan) -> TurnPrune {
    let count = |is_kept: bool| {
        let of = plan.decisions.iter().filter(|decision| decision.is_kept == is_kept);
        u64::try_from(of.filter(|decision| !is_overhead(&decision.id)).count()).unwrap_or(u64::MAX)
    };
    let form = plan.form.as_str().to_owned();
    TurnPrune { form, keep: count(true), prune: count(false), tokens_after: plan.after.0 }
}

/// Returns a ratio as events and answers have it: 1 is all of the window.
fn ratio(ratio: Ratio) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "millionths of a window, far below 2^52")]
    let ratio = ratio.0 as f64 / 1_000_000.0;
    ratio
}
