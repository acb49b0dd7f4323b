//! A builder of made-up commits, one hanging off the other.
//! Not a store: nothing is kept but what the next commit needs.

use stemmata_model::{
    Closure, Commit, CommitCore, CommitId, CommitType, Counts, FormatId, RulesHash, Template, artifact_id,
};

use crate::clock::Clock;

/// The end of a chain that grows. Clone it to fork.
#[derive(Debug, Clone)]
pub struct ChainBuilder {
    parent: Option<CommitId>,
    depth: u64,
    cumulative_bytes: u64,
    clock: Clock,
    format: FormatId,
    template: Template,
    rules: RulesHash,
}

impl ChainBuilder {
    /// Starts an empty chain of Claude Code commits at `clock::START`.
    pub fn new(rules: RulesHash) -> Self {
        Self {
            parent: None,
            depth: 0,
            cumulative_bytes: 0,
            clock: Clock::start(),
            format: FormatId::new("claude-code-v1").expect("a name"),
            template: Template::new("claude-code/main").expect("a name"),
            rules,
        }
    }

    /// Sets the format of the commits to come.
    #[must_use]
    pub fn format(mut self, format: FormatId) -> Self {
        self.format = format;
        self
    }

    /// Sets the template of the commits to come.
    #[must_use]
    pub fn template(mut self, template: Template) -> Self {
        self.template = template;
        self
    }

    /// Returns the last commit, none at the start.
    pub const fn tip(&self) -> Option<CommitId> {
        self.parent
    }

    /// Adds a delta of these bytes.
    pub fn delta(&mut self, bytes: &[u8]) -> Commit {
        self.push(CommitType::Delta, bytes, None)
    }

    /// Adds a compaction: the prefix that replaces what came before, and the transcript's own bytes.
    pub fn compaction(&mut self, prefix: &[u8], native: &[u8]) -> Commit {
        self.push(CommitType::Compaction, prefix, Some(native))
    }

    /// Adds a snapshot whose first entries the chain already has.
    pub fn snapshot(&mut self, bytes: &[u8], restated_entries: u64) -> Commit {
        self.push(CommitType::Snapshot { restated_entries }, bytes, None)
    }

    fn push(&mut self, commit_type: CommitType, artifact: &[u8], native: Option<&[u8]>) -> Commit {
        self.clock.advance_ms(60_000);
        let native_bytes = u64::try_from(native.unwrap_or(artifact).len()).unwrap_or(u64::MAX);
        let core = CommitCore {
            parent: self.parent,
            commit_type,
            artifact: artifact_id(artifact),
            native: native.map(artifact_id),
            format: self.format.clone(),
            template: self.template.clone(),
            created_at: self.clock.now(),
        };
        self.cumulative_bytes += native_bytes;
        let commit = Commit {
            id: core.id(),
            core,
            rules: self.rules,
            closure: Closure::Closed,
            counts: Counts::default(),
            native_bytes,
            depth: self.depth,
            cumulative_bytes: self.cumulative_bytes,
        };
        self.parent = Some(commit.id);
        self.depth += 1;
        commit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_hangs_together_and_forks() {
        let mut chain = ChainBuilder::new(RulesHash([1; 32]));
        let root = chain.delta(b"one\n");
        let mut fork = chain.clone();
        let left = chain.compaction(b"summary\n", b"boundary\nsummary\n");
        let right = fork.snapshot(b"all\n", 1);
        assert_eq!((left.core.parent, right.core.parent), (Some(root.id), Some(root.id)));
        assert_eq!((left.depth, left.native_bytes, left.cumulative_bytes), (1, 17, 21));
        assert_ne!(left.id, right.id);
        assert_eq!(chain.tip(), Some(left.id));
    }
}
