//! `show SESSION`: what a whole session did, and its turns in outline.

mod secrets;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use stemmata_api::v1::StartedSubagent;
use stemmata_model::{CommitId, SessionId};
use stemmata_prompt::story::{SessionFold, SessionStory, SessionTurn};
use stemmata_store::LinkKind;

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::path::PathCommit;
use crate::engine::Engine;
use crate::error::Result;

/// Subagents that an overview names at most.
const SUBAGENTS_MAX: usize = 256;

/// Commits that are decoded before they are folded at most: a turn's entries may be megabytes.
const COMMITS_AHEAD: usize = 2;

/// What a chain holds, from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// Time, files, errors and turns. A turn's commit is the one that holds its prompt, else the one in which it begins.
    pub story: SessionStory<CommitId>,
    /// The place of each turn's prompt in the chain, in the order of the turns: as in `@N`.
    pub ordinals: Vec<Option<u64>>,
    /// Commits of the chain.
    pub commits: u64,
    /// Tokens of what a model saw, estimated.
    pub counted_tokens: u64,
    /// The subagents that it started, in the order of the chain.
    pub subagents: Vec<StartedSubagent>,
    /// Secrets that were replaced in its entries, by kind.
    pub secrets: BTreeMap<String, u64>,
}

impl Engine {
    /// Returns what a chain holds, from its beginning to a commit. Files below `root` are named without it.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten`, `Format` for a format that cannot be read, store errors.
    pub fn overview(&self, ctx: CommitId, root: Option<&str>) -> Result<Overview> {
        let mut fold = SessionFold::new(&SessionId::new("overview")?, root);
        let (mut ordinals, mut late) = (HashMap::new(), HashMap::new());
        let mut commits = Vec::new();
        let mut counted_tokens = 0_u64;
        let mut replaced = BTreeMap::new();
        let mut take = |commit: PathCommit| {
            let id = commit.commit.id;
            let tokens = if commit.is_translation { 0 } else { commit.commit.counts.tokens };
            counted_tokens = counted_tokens.saturating_add(tokens);
            ordinals.insert(id, (commit.first_ordinal, commit.places));
            late.extend(commit.late.into_iter().map(|(index, holder)| ((id, index), holder)));
            commits.push(id);
            let parts = commit.entries.iter().flat_map(|entry| &entry.parts);
            parts.for_each(|part| secrets::count(part, &mut replaced));
            fold.add(id, &commit.entries, &commit.is_active);
        };
        let (sender, path) = mpsc::sync_channel(COMMITS_AHEAD);
        // Folding what was decoded takes about as long as reading and decoding it, so each has a thread.
        thread::scope(|scope| {
            // Only a panic ends the fold before the path.
            let mut send = move |commit: PathCommit| {
                Ok(sender.send(commit).map_or(ControlFlow::Break(()), ControlFlow::Continue))
            };
            let reader = thread::Builder::new();
            let Ok(reader) = reader.spawn_scoped(scope, move || self.each_of_path(ctx, &mut send)) else {
                let mut take = |commit: PathCommit| {
                    take(commit);
                    Ok(ControlFlow::Continue(()))
                };
                return self.each_of_path(ctx, &mut take);
            };
            path.into_iter().for_each(&mut take);
            reader.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
        let mut story = fold.finish();
        let ordinal = |turn: &SessionTurn<CommitId>| {
            let (first, places) = ordinals.get(&turn.commit)?;
            Some((*first)? + places.get(turn.outline.prompt.as_ref()?.position)?)
        };
        let ordinals = story.turns.iter().map(ordinal).collect();
        for turn in &mut story.turns {
            let prompt = turn.outline.prompt.as_ref().map(|prompt| (turn.commit, prompt.position));
            turn.commit = prompt.and_then(|prompt| late.get(&prompt)).copied().unwrap_or(turn.commit);
        }
        let subagents = self.started_in(&commits)?;
        let commits = commits.len() as u64;
        Ok(Overview { story, ordinals, commits, counted_tokens, subagents, secrets: replaced })
    }

    fn started_in(&self, commits: &[CommitId]) -> Result<Vec<StartedSubagent>> {
        let mut found = Vec::new();
        for page in commits.chunks(PAGE_COMMITS) {
            for described in self.store.described(page)? {
                let id = described.commit.id;
                let own = |link: &&stemmata_store::Link| link.kind == LinkKind::Subagent && link.to == id;
                for link in described.links.iter().filter(own) {
                    if found.len() == SUBAGENTS_MAX {
                        return Ok(found);
                    }
                    let subagent = self.subagent(link.from)?;
                    found.push(StartedSubagent { ctx: id, entry: link.entry.clone(), subagent });
                }
            }
        }
        Ok(found)
    }
}
