//! The guard within turns: each call of a turn measures the session's window, and acts on it in the transaction of its commit.
//!
//! What is decided is decided in `stemmata_prompt`; what a compaction is, beside the engine's other verbs.

mod act;
mod archive;
mod checkpoint;
mod conversation;
mod known;
mod marks;
mod recover;
mod status;
mod summaries;
mod told;
mod window;

use std::cell::RefCell;

use stemmata_api::v1::{TurnCompaction, TurnPrune, TurnPruned};
use stemmata_model::{Entry, EntryId, EventSeq, Note, NoteCode, Reason, Reasons, TokenCounter, Tokens};
use stemmata_prompt::compact::Summarizer;
use stemmata_prompt::compact::summary::Size;
use stemmata_prompt::guard::flow::FatalReason;
use stemmata_prompt::guard::{Alert, ContextOverflow, Ratio, Zone};
use stemmata_prompt::window::{Due, KeepRecent, WindowConfig, named_apart};

use super::TurnOf;
use super::append::Brings;
use super::commit::Boundary;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::verbs::compact::{CompactWanted, CompactWith};

pub use checkpoint::{CHECKSUM_BYTES_MAX, CHECKSUM_FILES_MAX};
pub use conversation::TurnConversation;
pub use known::WindowSample;
pub use marks::{EntryMark, Marked};
pub use recover::Recovered;
pub use told::EntryHint;

pub(super) use act::Acted;
pub(crate) use act::gone;
pub(super) use checkpoint::{PlacedReasons, reasons_in};
pub(crate) use told::WorkTold;
pub(super) use told::hints_event;
pub(crate) use window::said_of;

use summaries::Asked;
use window::SessionWindow;

/// What is said of calls that repeat an id: no provider takes two of one.
pub(crate) const CALLS_NAMED_APART: &str = "tool calls have the id of another call, and the model is given them and their results with an id of their own";

/// A compaction's summary takes an eighth of the window at most.
const SUMMARY_SHARE: u64 = 8;

/// Entries that count less are not compacted by themselves: a summary with its heading would not be smaller.
const COMPACTED_TOKENS_MIN: Tokens = Tokens(1_000);

/// What a compaction keeps of the end of a window that a provider found too large takes a quarter of it at most.
const KEEP_SHARE: u64 = 4;

/// How the window of a session of turns is guarded.
#[derive(Clone, Copy)]
pub struct TurnGuard<'a> {
    /// The limits of the window.
    pub config: &'a WindowConfig,
    /// What counts tokens, where the provider reported none.
    pub counter: &'a dyn TokenCounter,
    /// What the system prompt and the tools take, where no usage says it.
    pub overhead: Tokens,
    /// Tasks completed so far, where the caller counts them. Else those that turns named as completed.
    pub tasks_completed: Option<u64>,
    /// What is about to be done: before some operations a checkpoint is made.
    pub next_operation: Option<&'a str>,
    /// A model that summarizes: archived results where the configuration says `llm`, and what is compacted. Rules do without
    /// one.
    pub summarizer: Option<&'a dyn Summarizer>,
    /// Whether the model also writes the summaries of compactions.
    pub compacts_with_model: bool,
    /// The model that is called, where it is known: later calls may leave it out.
    pub model: Option<&'a str>,
    /// Whether the answer holds the entries that the model is to be given.
    pub returns_entries: bool,
}

impl<'a> TurnGuard<'a> {
    /// Guards a window by its limits, without a model that summarizes.
    pub const fn new(config: &'a WindowConfig, counter: &'a dyn TokenCounter) -> Self {
        Self {
            config,
            counter,
            overhead: Tokens(0),
            tasks_completed: None,
            next_operation: None,
            summarizer: None,
            compacts_with_model: true,
            model: None,
            returns_entries: false,
        }
    }
}

/// How full the window of a session is, what a call of a turn did about it, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowReport {
    /// How full it was before anything was pruned or compacted.
    pub zone: Zone,
    /// The part of the limit that was in use.
    pub ratio: Ratio,
    /// What it took.
    pub tokens: Tokens,
    /// What it takes now.
    pub tokens_after: Tokens,
    /// What of that no entry holds: the system prompt and the tools.
    pub overhead: Tokens,
    /// What it holds.
    pub limit: Tokens,
    /// What pruning aims at.
    pub target: Tokens,
    /// Whether the tokens rest on reported usage, rather than on a count alone.
    pub is_reported: bool,
    /// The alert that was published.
    pub alert: Option<Alert>,
    /// Why a checkpoint was made.
    pub reasons: Reasons,
    /// The plan of a prune, from the danger zone on. It was carried out where `pruned` is not empty.
    pub plan: Option<TurnPrune>,
    /// Entries that the model no longer sees.
    pub pruned: Vec<TurnPruned>,
    /// Entries whose results were archived.
    pub archived: Vec<EntryId>,
    /// Summaries that stand for them.
    pub tool_summaries: u64,
    /// The compaction that was made.
    pub compaction: Option<TurnCompaction>,
    /// The smallest context, where it does not fit the window.
    pub overflow: Option<ContextOverflow>,
    /// Why the model can't be called; none where it can.
    pub stop: Option<FatalReason>,
    /// The entries that the model is to be given, oldest first, where the caller asked for them.
    pub entries: Option<Vec<Entry>>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// One call's guard, with what it has asked a model already: a try that others overtook asks once.
pub(super) struct Guarding<'a> {
    pub(super) guard: &'a TurnGuard<'a>,
    /// What a request took that a provider refused, where it says so.
    requested: Option<Tokens>,
    asked: RefCell<Asked>,
}

impl<'a> Guarding<'a> {
    pub(super) fn new(guard: &'a TurnGuard<'a>) -> Self {
        Self { guard, requested: None, asked: RefCell::default() }
    }

    /// Forgets what a model was asked: it may say what was forgotten meanwhile.
    pub(super) fn forget_asked(&self) {
        drop(self.asked.take());
    }
}

impl Engine {
    /// Returns how full the window of a session of turns is now, and the entries that its model is to be given where the guard
    /// asks for them. Changes nothing.
    ///
    /// # Errors
    /// `Refused` for a window of more entries than can be judged, store errors.
    pub fn turn_window(&self, turn: &TurnOf, guard: &TurnGuard<'_>) -> Result<WindowReport> {
        let acted = self.measured(turn, &Guarding::new(guard))?;
        self.with_entries(turn, guard, acted.report)
    }

    /// Measures the window of a session, and does nothing about it.
    pub(super) fn measured(&self, turn: &TurnOf, guarding: &Guarding<'_>) -> Result<Acted> {
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let acted = self.act(turn, guarding, (&[], Boundary::Look), last)?;
        let report = WindowReport { alert: None, reasons: Reasons::NONE, ..acted.report };
        Ok(Acted { report, ..acted })
    }

    /// Guards the window of a turn that has begun, once.
    pub(super) fn guard_begun(
        &self,
        turn: &TurnOf,
        guard: &TurnGuard<'_>,
        said: EventSeq,
    ) -> Result<WindowReport> {
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let guarding = Guarding::new(guard);
        let begun = self.known_window(turn, guard, last)?.begun;
        let acted = if begun.is_some_and(|begun| begun >= said.get()) {
            // An earlier try acted. What only measured since, or marked entries, did not.
            self.measured(turn, &guarding)?
        } else {
            let stored = self.append_and_commit(
                turn,
                &Brings::Events(&[]),
                (Boundary::Begin { said }, Some(&guarding)),
            )?;
            self.bus.wake(&turn.ledger);
            let mut acted = stored.acted.expect("a guard was given");
            acted.report.notes.extend(stored.notes);
            acted
        };
        self.with_entries(turn, guard, acted.report)
    }

    /// Adds the entries that the model is to be given, where the caller asked for them.
    pub(super) fn with_entries(
        &self,
        turn: &TurnOf,
        guard: &TurnGuard<'_>,
        report: WindowReport,
    ) -> Result<WindowReport> {
        if !guard.returns_entries {
            return Ok(report);
        }
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        let SessionWindow { mut entries, notes, .. } = self.session_window(turn, &[], last)?;
        let renamed = said_of(&named_apart(&mut entries), NoteCode::Conflict, CALLS_NAMED_APART);
        let notes = report.notes.into_iter().chain(notes).chain(renamed).collect();
        Ok(WindowReport { entries: Some(entries), notes, ..report })
    }

    /// Compacts a session whose turn has ended, where that is due by itself.
    pub(super) fn compact_if_due(&self, turn: &TurnOf, guard: &TurnGuard<'_>, acted: &mut Acted) {
        let (settings, limit) = (guard.config.compact(), guard.config.window().limit());
        let mut due = settings.due(Some(limit), acted.report.tokens_after, acted.messages);
        if let Some(why) = acted.overflow_seen.filter(|_| settings.is_automatic) {
            due = Due { is_due: true, reason: why.to_owned() };
        }
        let held = acted.report.tokens_after.saturating_sub(acted.report.overhead);
        // What fills the window then is the system prompt and the tools, which no summary stands for.
        let is_small = held < acted.report.overhead.min(COMPACTED_TOKENS_MIN);
        if !due.is_due || (is_small && acted.overflow_seen.is_none()) {
            return;
        }
        if let Some(at) = guard.config.limit().tokens.filter(|at| acted.report.overhead >= *at)
            && acted.overflow_seen.is_none()
        {
            let message = format!(
                "the window is not compacted: the system prompt and the tools take {}, and compaction is due at {at}: \
                 no summary makes that less; set a smaller `reserve_tokens`, or use a model with a larger window",
                acted.report.overhead
            );
            acted.report.notes.push(Note::new(NoteCode::Degraded, message));
            return;
        }
        if let Err(looped) = acted.progress.may_compact() {
            let message = format!("the window is no longer compacted: {looped}");
            acted.report.notes.push(Note::new(NoteCode::Degraded, message));
            return;
        }
        let model =
            acted.summaries.model(guard.summarizer.filter(|_| guard.compacts_with_model), self.clock.now());
        // The reasons of the turn are on its own commit.
        match self.compact_turns(turn, (guard, model), (limit, Reasons::NONE)) {
            Ok((made, notes)) => {
                acted.report.tokens_after = Tokens(made.tokens_after) + acted.report.overhead;
                if acted.report.tokens_after <= limit {
                    (acted.report.stop, acted.report.overflow) = (None, None);
                }
                acted.report.notes.extend(notes);
                acted.report.compaction = Some(TurnCompaction { reason: due.reason, ..made });
            }
            Err(error) => {
                let message = format!("the turn is stored, but its session was not compacted: {error}");
                acted.report.notes.push(Note::new(NoteCode::Degraded, message));
            }
        }
    }

    /// Compacts a session of turns for a window of `limit`, by a model where one is given, and keeps as much of its end as the
    /// limits say: of a window that is smaller than they are made for, a quarter at most.
    fn compact_turns(
        &self,
        turn: &TurnOf,
        (guard, model): (&TurnGuard<'_>, Option<&dyn Summarizer>),
        (limit, reasons): (Tokens, Reasons),
    ) -> Result<(TurnCompaction, Vec<Note>)> {
        let compact = guard.config.compact();
        let keep = match compact.keep_recent(Some(guard.config.window().limit())) {
            KeepRecent::Tokens(keep) if limit < guard.config.window().limit() => {
                KeepRecent::Tokens(keep.min(Tokens(limit.0 / KEEP_SHARE)))
            }
            keep => keep,
        };
        // The summary is of the whole chain, which grows without end: a share of it would outgrow the window.
        let size = Some(Size::Tokens(Tokens(limit.0 / SUMMARY_SHARE)));
        let with = model.map_or(CompactWith::Heuristic, CompactWith::By);
        let tool_call_cutoff = compact.visible_results();
        let wanted = CompactWanted { keep, size, tool_call_cutoff, reasons, ..CompactWanted::new(with) };
        let made = self.compact_session(turn, &wanted)?;
        let compaction = TurnCompaction {
            ctx: made.id,
            parent: made.parent,
            tokens_before: made.tokens_before,
            tokens_after: made.tokens_after,
            with: made.with.to_owned(),
            reason: reasons.iter().map(Reason::as_str).collect::<Vec<_>>().join(", "),
        };
        Ok((compaction, made.notes))
    }
}

fn refused(what: Refusal, reason: impl Into<String>) -> EngineError {
    EngineError::Refused { what, reasons: vec![reason.into()] }
}
