//! `show SESSION`: what a whole session did, and its turns in outline.

use std::ops::ControlFlow;

use stemmata_model::{CommitId, EntryId, SessionId};
use stemmata_prompt::story::{SessionFold, SessionStory};
use stemmata_store::LinkKind;

use crate::chain::beside::PAGE_COMMITS;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::tree::Subagent;

/// Subagents that an overview names at most.
const SUBAGENTS_MAX: usize = 256;

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
        self.each_of_path(ctx, &mut |commit| {
            let id = commit.commit.id;
            counted_tokens = counted_tokens.saturating_add(commit.commit.counts.tokens);
            ordinals.insert(id, commit.first_ordinal);
            commits.push(id);
            fold.add(id, &commit.entries, &commit.is_active);
            Ok(ControlFlow::Continue(()))
        })?;
        let story = fold.finish();
        let first_ordinals =
            story.turns.iter().map(|turn| ordinals.get(&turn.commit).copied().flatten()).collect();
        let subagents = self.started_in(&commits)?;
        Ok(Overview { story, first_ordinals, commits: commits.len() as u64, counted_tokens, subagents })
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
