//! The live window of a commit: the entries that a model sees of it, with their numbers and pins.

use std::collections::BTreeSet;

use stemmata_model::{
    Closure, Commit, CommitId, CommitType, Entry, EntryId, EntryKind, LedgerId, Note, NoteCode, SessionId,
    Timestamp,
};
use stemmata_prompt::window::usage_by_answer;
use stemmata_runtimes::captured::{self, visibility};
use stemmata_runtimes::clients::{by_id, of_format};
use stemmata_runtimes::translate::runtime_of;
use stemmata_tokens::{KnownWindow, window};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::ledger::WorkTold;
use crate::verbs::materialize::Stop;
use crate::verbs::translate::Seals;

/// Entries of a window that can be judged.
const ENTRIES_MAX: usize = 200_000;

/// Commits among which the window is looked for that a client reported: it stands beside every answer.
const WINDOW_COMMITS_MAX: usize = 16;

/// What a model sees of a context.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveWindow {
    /// The commit; none of entries that are in no chain.
    pub ctx: Option<CommitId>,
    /// The entries, oldest first. Usage that was reported of a larger window is left out.
    pub entries: Vec<Entry>,
    /// The number of each in its chain; none of what the chain has not.
    pub ordinals: Vec<Option<u64>>,
    /// Entries that a person asked to stay.
    pub pins: BTreeSet<EntryId>,
    /// Entries of the context that are hidden from the model.
    pub hidden_entries: u64,
    /// The model that answered last.
    pub model: Option<String>,
    /// The runtime that wrote the context.
    pub runtime: String,
    /// Tokens of the model's window, where the client wrote them into the transcript.
    pub window_tokens: Option<u64>,
    /// What the user should know.
    pub notes: Vec<Note>,
    /// The tasks and hints that callers sent, if this is the newest commit of a session of turns; else empty.
    pub(super) told: WorkTold,
}

impl Engine {
    /// Returns what a model sees of a commit: from its nearest compaction on, without what is hidden.
    ///
    /// # Errors
    /// As [`materialize`](Self::materialize); `Refused` for more entries than can be judged.
    pub fn live_window(&self, ctx: CommitId) -> Result<LiveWindow> {
        let commit = self.store.commit(ctx)?.ok_or(stemmata_store::StoreError::CommitMissing(ctx))?;
        let (entries, hidden_entries) = self.told_entries(ctx, (Stop::Compaction, Seals::Kept))?;
        if entries.len() > ENTRIES_MAX {
            let reason = format!("the context has {} entries; {ENTRIES_MAX} can be judged", entries.len());
            return Err(EngineError::Refused { what: Refusal::GuardWindow, reasons: vec![reason] });
        }
        let pins = visibility::pins(&entries);
        let mut entries: Vec<Entry> = entries.into_iter().filter(is_seen).collect();
        let known = self.numbers_of(ctx, &entries)?;
        self.give_usage(&commit, &mut entries)?;
        let mut notes = Vec::new();
        if drop_old_usage(&mut entries, hidden_entries > 0) {
            let message =
                "the window was compacted or pruned since usage was reported: its tokens are counted";
            notes.push(Note::new(NoteCode::Degraded, message));
        }
        let model = entries.iter().rev().find_map(|entry| entry.meta.model.clone());
        let ordinals = entries.iter().map(|entry| known.get(&entry.id).copied()).collect();
        let runtime = runtime_of(&commit.core.format).to_owned();
        let window_tokens = self.reported_window(ctx)?;
        let told = self.told_at(ctx)?;
        Ok(LiveWindow {
            ctx: Some(ctx),
            entries,
            ordinals,
            pins,
            hidden_entries,
            model,
            runtime,
            window_tokens,
            notes,
            told,
        })
    }

    /// Gives entries the usage that their client wrote down. A translation leaves it out, since it says nothing of the window of
    /// the client that a context is translated for; here it is about the window of the client that reported it.
    fn give_usage(&self, commit: &Commit, entries: &mut [Entry]) -> Result<()> {
        if commit.core.format.as_str() == captured::ENTRIES {
            return Ok(());
        }
        let reported = usage_by_answer(&self.entries_of(commit.id)?);
        for entry in entries {
            entry.meta.usage = reported.get(&entry.id).copied().or(entry.meta.usage);
        }
        Ok(())
    }

    /// Returns the tasks and hints that callers sent in the session of turns whose newest commit this is; else empty.
    fn told_at(&self, ctx: CommitId) -> Result<WorkTold> {
        let Some(session) = self.own_session_at(ctx)? else { return Ok(WorkTold::default()) };
        let Some(turn) = self.turn_of_session(&session)? else { return Ok(WorkTold::default()) };
        let last = self.log.ledger(&turn.ledger)?.map_or(0, |known| known.last);
        self.told(&turn, &[], last)
    }

    /// Returns the window that a client reported: of what a session goes on from, or of a session that was only captured.
    ///
    /// # Errors
    /// Store errors.
    pub fn reported_session_window(&self, ledger: &LedgerId, session: &SessionId) -> Result<Option<u64>> {
        let ctx = match self.opening_of(ledger, session, None)? {
            Some(opening) => opening.ctx,
            None => self.captured_tip(session)?,
        };
        ctx.map_or(Ok(None), |ctx| self.reported_window(ctx))
    }

    /// Returns the window that a client reported last; few write one down.
    ///
    /// # Errors
    /// Store errors.
    pub fn reported_window(&self, ctx: CommitId) -> Result<Option<u64>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        for _ in 0..WINDOW_COMMITS_MAX {
            let Some(commit) = walk.next()? else { break };
            let reported = of_format(&commit.core.format).and_then(|client| client.reported_window);
            let Some(reported) = reported else { break };
            // What was forgotten says nothing, and a summary of ours no window.
            if commit.closure == Closure::Forgotten || commit.core.commit_type != CommitType::Delta {
                continue;
            }
            let reported = self.entries(commit.id)?.iter().rev().find_map(reported);
            if reported.is_some() {
                return Ok(reported);
            }
        }
        Ok(None)
    }
}

/// Returns the window of a runtime with a model, and whose it is, where one is known of either.
pub fn known_window<'a>(runtime: &'a str, model_name: Option<&'a str>) -> Option<(&'a str, KnownWindow)> {
    let of_client = by_id(runtime).and_then(|client| Some((runtime, client.compaction?.window?)));
    let said = of_client.map(|(client, (tokens, source))| (client, KnownWindow::said(tokens, source)));
    window_within_model(said, model_name)
}

/// Returns the smaller one of a client's or session's own window and its model's: the own one holds within that of the model, and
/// another model may take less than a session's own did. What is only assumed of a model takes nothing from a window that was said.
pub fn window_within_model<'a>(
    own: Option<(&'a str, KnownWindow)>,
    model_name: Option<&'a str>,
) -> Option<(&'a str, KnownWindow)> {
    let of_model = model_name.and_then(|name| Some((name, window(name)?)));
    let of_model = of_model.filter(|(_, known)| own.is_none() || !known.is_assumed);
    own.into_iter().chain(of_model).min_by_key(|(_, known)| known.tokens)
}

/// Returns whether a model sees an entry.
pub(crate) fn is_seen(entry: &Entry) -> bool {
    entry.meta.visibility.agent && !matches!(entry.kind, EntryKind::Metadata | EntryKind::Unreadable)
}

/// Takes out the usage that was reported before the last compaction, or before something was hidden: the window was another one.
/// Returns whether that leaves none.
pub(crate) fn drop_old_usage(entries: &mut [Entry], is_pruned: bool) -> bool {
    let summary = |entry: &&Entry| entry.kind == EntryKind::CompactionSummary;
    let compacted = entries.iter().rposition(|entry| summary(&entry));
    let compacted_at: Option<Timestamp> =
        entries.iter().filter(summary).filter_map(|entry| entry.timestamp).max();
    let (mut dropped, mut is_left) = (false, false);
    for (at, entry) in entries.iter_mut().enumerate() {
        let is_old =
            is_pruned || compacted.is_some_and(|place| at < place || entry.timestamp <= compacted_at);
        if is_old {
            dropped |= entry.meta.usage.take().is_some();
        } else {
            is_left |= entry.meta.usage.is_some();
        }
    }
    dropped && !is_left
}
