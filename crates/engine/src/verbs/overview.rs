//! `show SESSION`: what a whole session did, and its turns in outline.

mod secrets;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use stemmata_model::{CommitId, EntryId, SessionId};
use stemmata_prompt::story::{SessionFold, SessionStory};
use stemmata_store::LinkKind;

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::path::PathCommit;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::tree::Subagent;

/// Subagents that an overview names at most.
const SUBAGENTS_MAX: usize = 256;

/// Commits that are decoded before they are folded at most: a turn's entries may be megabytes.
const COMMITS_AHEAD: usize = 2;

/// What a chain holds, from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// Time, files, errors and turns. A turn's commit is the one in which it begins.
    pub story: SessionStory<CommitId>,
    /// The place of the first entry of each turn's commit in the chain, in the order of the turns; as in `PathCommit`.
    pub first_ordinals: Vec<Option<u64>>,
    /// Commits of the chain.
    pub commits: u64,
    /// Tokens of what a model saw, estimated.
    pub counted_tokens: u64,
    /// The subagents that it started, in the order of the chain.
    pub subagents: Vec<OverviewSubagent>,
    /// Secrets that were replaced in its entries, by kind.
    pub secrets: BTreeMap<String, u64>,
}

/// A subagent, and where it was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewSubagent {
    /// The commit that started it.
    pub ctx: CommitId,
    /// The entry that did, where that is known.
    pub entry: Option<EntryId>,
    /// The subagent.
    pub subagent: Subagent,
}

impl Engine {
    /// Returns what a chain holds, from its beginning to a commit. Files below `root` are named without it.
    ///
    /// # Errors
    /// `CommitMissing`, `Forgotten`, `Format` for a format that cannot be read, store errors.
    pub fn overview(&self, ctx: CommitId, root: Option<&str>) -> Result<Overview> {
        let mut fold = SessionFold::new(&SessionId::new("overview")?, root);
        let mut ordinals = std::collections::HashMap::new();
        let mut commits = Vec::new();
        let mut counted_tokens = 0_u64;
        let mut replaced = BTreeMap::new();
        let mut take = |commit: PathCommit| {
            let id = commit.commit.id;
            counted_tokens = counted_tokens.saturating_add(commit.commit.counts.tokens);
            ordinals.insert(id, commit.first_ordinal);
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
        let story = fold.finish();
        let first_ordinals =
            story.turns.iter().map(|turn| ordinals.get(&turn.commit).copied().flatten()).collect();
        let subagents = self.started_in(&commits)?;
        let commits = commits.len() as u64;
        Ok(Overview { story, first_ordinals, commits, counted_tokens, subagents, secrets: replaced })
    }

    fn started_in(&self, commits: &[CommitId]) -> Result<Vec<OverviewSubagent>> {
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
                    found.push(OverviewSubagent { ctx: id, entry: link.entry.clone(), subagent });
                }
            }
        }
        Ok(found)
    }
}
