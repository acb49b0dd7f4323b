//! `show`: what was said and done in one commit, as a person reads it.

use std::ops::{ControlFlow, RangeInclusive};

use stemmata_api::v1::StartedSubagent;
use stemmata_model::{Closure, CommitId, Entry, EntryId, Timestamp};
use stemmata_prompt::story::{Frame, TurnOutline, TurnPiece, outlines, pieces, prompt_text, sidechain_of};
use stemmata_store::{LinkKind, StoreError};

use crate::chain::path::entries_of;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::show::SHOWN_MAX;

/// What was said and done in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownTurn {
    /// The pieces, in the order of the entries.
    pub pieces: Vec<TurnPiece>,
    /// The entries, which the pieces name by their positions.
    pub entries: Vec<TurnEntry>,
    /// What it did, in numbers.
    pub outline: TurnOutline,
    /// The models that answered, each once.
    pub models: Vec<String>,
    /// The subagents that it started.
    pub subagents: Vec<StartedSubagent>,
}

/// An entry of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEntry {
    /// Its place in the chain, from 1.
    pub ordinal: u64,
    /// Its id.
    pub id: EntryId,
    /// When it was written, as the client says.
    pub at: Option<Timestamp>,
}

impl Engine {
    /// Returns what was said and done in a commit. What a snapshot restates is left out.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten`, `Format` for a format that cannot be read, store errors.
    pub fn turn(&self, id: CommitId) -> Result<ShownTurn> {
        let commit = self.store.commit(id)?.ok_or(StoreError::CommitMissing(id))?;
        if commit.closure == Closure::Forgotten {
            return Err(StoreError::Forgotten(id).into());
        }
        let bytes = read_whole(self, commit.core.native_artifact())?;
        let before = self.said_before(&commit)?;
        let entries: Vec<Entry> = entries_of(&commit, &bytes)?.into_iter().skip(before).collect();
        let first = self.entries_before(commit.core.parent)? + 1;
        let ordinals = (first..).take(entries.len()).collect();
        self.turn_told((id, sidechain_of(&entries).as_deref()), &entries, ordinals)
    }

    /// Returns the turns of prompts that follow each other, each with its number as [`Engine::turn_of_prompt`] returns it. One commit
    /// that holds several of them is told once.
    ///
    /// # Errors
    /// As for [`Engine::turn_of_prompt`].
    pub fn turns_of_prompts(
        &self,
        tip: CommitId,
        numbers: &RangeInclusive<u64>,
    ) -> Result<Vec<(u64, CommitId, ShownTurn)>> {
        let (prompts, has_late) = self.prompts_through(tip, *numbers.end())?;
        let mut turns: Vec<(u64, CommitId, ShownTurn)> = Vec::new();
        for prompt in prompts.iter().filter(|prompt| numbers.contains(&prompt.number)) {
            if has_late {
                let (ctx, turn) = self.turn_of_prompt(tip, prompt.number)?;
                turns.push((prompt.number, ctx, turn));
            } else if turns.last().is_none_or(|(_, ctx, _)| *ctx != prompt.ctx) {
                turns.push((prompt.number, prompt.ctx, self.turn(prompt.ctx)?));
            }
        }
        Ok(turns)
    }

    /// Returns the commit that holds the prompt of a number, and what was said and done for it in the chain that ends at `tip`. That is
    /// all of that commit, as [`Engine::turn`] returns it; only where the client wrote late, it is what was said up to the next prompt.
    ///
    /// # Errors
    /// `NoPrompt` where there is none, and as for [`Engine::turn`].
    pub fn turn_of_prompt(&self, tip: CommitId, number: u64) -> Result<(CommitId, ShownTurn)> {
        let (prompt, has_late) = self.prompt_and_order(tip, number)?;
        if !has_late {
            return Ok((prompt.ctx, self.turn(prompt.ctx)?));
        }
        let mut said = None;
        let mut main: Option<Option<String>> = None;
        self.each_of_path(tip, &mut |commit| {
            let main = main.get_or_insert_with(|| sidechain_of(&commit.entries));
            let Some(from) = commit.entries.iter().position(|entry| entry.id == prompt.entry) else {
                return Ok(ControlFlow::Continue(()));
            };
            if !commit.late.is_empty() {
                let is_next = |entry: &Entry| prompt_text(entry, main.as_deref()).is_some();
                let behind = commit.entries.iter().skip(from + 1);
                let length = 1 + behind.take_while(|entry| !is_next(entry)).count();
                let first = commit.first_ordinal.unwrap_or(1);
                let ordinals = commit.places.iter().map(|place| first + place).skip(from).take(length);
                let (ordinals, of) = (ordinals.collect(), commit.commit.id);
                let entries: Vec<Entry> = commit.entries.into_iter().skip(from).take(length).collect();
                said = Some(self.turn_told((of, main.as_deref()), &entries, ordinals)?);
            }
            Ok(ControlFlow::Break(()))
        })?;
        Ok((prompt.ctx, said.map_or_else(|| self.turn(prompt.ctx), Ok)?))
    }

    fn turn_told(
        &self,
        (id, main): (CommitId, Option<&str>),
        entries: &[Entry],
        ordinals: Vec<u64>,
    ) -> Result<ShownTurn> {
        let root = self.first_session(id)?.and_then(|session| session.cwd);
        let frame = Frame { main, root: root.as_deref() };
        let mut turns = outlines(entries, &[], frame).into_iter();
        let mut outline = turns.next().unwrap_or_default();
        turns.for_each(|turn| outline.extend(turn));
        let mut models: Vec<String> = Vec::new();
        for model in entries.iter().filter_map(|entry| entry.meta.model.as_ref()) {
            if !models.contains(model) && !model.starts_with('<') {
                models.push(model.clone());
            }
        }
        let named = entries.iter().zip(ordinals);
        Ok(ShownTurn {
            pieces: pieces(entries, frame),
            entries: named
                .map(|(entry, ordinal)| TurnEntry { ordinal, id: entry.id.clone(), at: entry.timestamp })
                .collect(),
            outline,
            models,
            subagents: self.started_by(id)?,
        })
    }

    /// Counts the entries of a chain up to a commit.
    fn entries_before(&self, parent: Option<CommitId>) -> Result<u64> {
        let mut walk = Walk::new(self.store.as_ref(), parent);
        let mut count = 0;
        while let Some(commit) = walk.next()? {
            count += self.own_count(&commit)?;
        }
        Ok(count)
    }

    /// Returns the subagents that a commit started.
    fn started_by(&self, id: CommitId) -> Result<Vec<StartedSubagent>> {
        let links = self.store.links(id, SHOWN_MAX)?;
        let own = links.into_iter().filter(|link| link.kind == LinkKind::Subagent && link.to == id);
        own.map(|link| {
            Ok(StartedSubagent { ctx: id, entry: link.entry, subagent: self.subagent(link.from)? })
        })
        .collect()
    }
}
