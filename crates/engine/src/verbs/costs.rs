//! Costs: what each chain takes, and how much of it other chains hold too.
//!
//! What a content takes is the store's; here is which chain it counts for.

use std::collections::{HashMap, HashSet};

use stemmata_model::CommitId;
use stemmata_store::maintain::costs::{COSTED_COMMITS_MAX, Counted};
use stemmata_store::{Session, SessionFilter, SessionKey, StoreErrorKind};

use crate::engine::Engine;
use crate::error::Result;

/// Bytes of a chain or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainBytes {
    /// Commits.
    pub commits: u64,
    /// Native bytes: what was captured.
    pub logical_bytes: u64,
    /// Bytes in storage. A content that several commits name counts for the first of them.
    pub stored_bytes: u64,
    /// Of these, bytes in packs.
    pub packed_bytes: u64,
}

/// What a session's chain takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCost {
    /// The session.
    pub session: Session,
    /// What counts for this chain: commits that no chain has whose session began earlier.
    pub own: ChainBytes,
    /// What counts for chains that began earlier.
    pub shared: ChainBytes,
    /// Of a copy that a client made: where the original was when it was copied.
    pub copy_of: Option<CommitId>,
}

impl ChainBytes {
    const fn plus(self, other: Self) -> Self {
        Self {
            commits: self.commits.saturating_add(other.commits),
            logical_bytes: self.logical_bytes.saturating_add(other.logical_bytes),
            stored_bytes: self.stored_bytes.saturating_add(other.stored_bytes),
            packed_bytes: self.packed_bytes.saturating_add(other.packed_bytes),
        }
    }

    const fn minus(self, other: Self) -> Self {
        Self {
            commits: self.commits.saturating_sub(other.commits),
            logical_bytes: self.logical_bytes.saturating_sub(other.logical_bytes),
            stored_bytes: self.stored_bytes.saturating_sub(other.stored_bytes),
            packed_bytes: self.packed_bytes.saturating_sub(other.packed_bytes),
        }
    }
}

/// What sessions take.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoreCosts {
    /// The chains of sessions, those first that take most.
    pub chains: Vec<ChainCost>,
    /// Files beside their transcripts that are stored.
    pub sidecar_files: u64,
    /// What these files take.
    pub sidecars: ChainBytes,
}

/// What is known of chains so far: of each commit, all from the root up to and with it.
#[derive(Debug, Default)]
struct Ledger {
    through: HashMap<CommitId, ChainBytes>,
}

impl Ledger {
    fn knows(&self, commit: CommitId) -> bool {
        self.through.contains_key(&commit)
    }

    /// Adds commits that no chain before had, parents before children, on top of one that is known or of none.
    /// Returns what counts for this chain and what counts for others.
    fn add(&mut self, onto: Option<CommitId>, new: &[(CommitId, ChainBytes)]) -> (ChainBytes, ChainBytes) {
        let shared = onto.and_then(|commit| self.through.get(&commit).copied()).unwrap_or_default();
        let mut through = shared;
        for (commit, bytes) in new {
            through = through.plus(*bytes);
            self.through.insert(*commit, through);
        }
        (through.minus(shared), shared)
    }
}

impl Engine {
    /// Returns what the chains of sessions and their sidecars take. Sessions that the filter leaves out
    /// count all the same: what they had first is shared.
    ///
    /// Reads every commit of the store.
    ///
    /// # Errors
    /// Store errors.
    pub fn store_costs(&self, filter: &SessionFilter) -> Result<StoreCosts> {
        let filter = SessionFilter { with_sidecars: true, ..filter.clone() };
        let wanted: HashSet<SessionKey> =
            self.sessions_in(&filter)?.into_iter().map(|session| session.key).collect();
        let mut sessions = self.all_sessions()?;
        sessions.sort_by(|one, other| began(one).cmp(&began(other)));
        let (mut ledger, mut counted) = (Ledger::default(), Counted::default());
        let mut costs = StoreCosts::default();
        for session in sessions {
            let Some(tip) = session.tip else { continue };
            let (own, shared) = self.chain_cost(tip, &mut ledger, &mut counted)?;
            if !wanted.contains(&session.key) {
                continue;
            }
            if session.is_sidecar() {
                costs.sidecar_files += 1;
                costs.sidecars = costs.sidecars.plus(own);
            } else {
                let copy_of = self.copied_from(tip)?.map(|link| link.to);
                costs.chains.push(ChainCost { session, own, shared, copy_of });
            }
        }
        costs.chains.sort_by_key(|cost| std::cmp::Reverse((cost.own.stored_bytes, cost.own.logical_bytes)));
        Ok(costs)
    }

    fn chain_cost(
        &self,
        tip: CommitId,
        ledger: &mut Ledger,
        counted: &mut Counted,
    ) -> Result<(ChainBytes, ChainBytes)> {
        let mut logical = Vec::new();
        let mut at = Some(tip);
        while let Some(from) = at.filter(|commit| !ledger.knows(*commit)) {
            let page = match self.store.ancestors(from, COSTED_COMMITS_MAX) {
                // What was forgotten since the sessions were listed takes nothing.
                Err(error) if error.kind() == StoreErrorKind::NotFound => break,
                page => page?,
            };
            for commit in page {
                at = commit.core.parent;
                logical.push((commit.id, commit.native_bytes));
                if at.is_some_and(|parent| ledger.knows(parent)) {
                    break;
                }
            }
        }
        logical.reverse();
        let mut new = Vec::with_capacity(logical.len());
        for page in logical.chunks(COSTED_COMMITS_MAX) {
            let ids: Vec<CommitId> = page.iter().map(|(commit, _)| *commit).collect();
            for ((commit, logical_bytes), cost) in page.iter().zip(self.store.costs(&ids, counted)?) {
                let bytes = ChainBytes {
                    commits: 1,
                    logical_bytes: *logical_bytes,
                    stored_bytes: cost.stored_bytes,
                    packed_bytes: cost.packed_bytes,
                };
                new.push((*commit, bytes));
            }
        }
        Ok(ledger.add(at, &new))
    }
}

/// Orders sessions by when they began; those that do not say come last.
pub(super) fn began(session: &Session) -> (bool, Option<stemmata_model::Timestamp>, &str, &str) {
    let key = &session.key;
    (session.started_at.is_none(), session.started_at, key.machine.as_str(), key.path.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(number: usize) -> CommitId {
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(number.to_le_bytes()).for_each(|(to, from)| *to = from);
        CommitId::from_bytes(bytes)
    }

    fn bytes(number: usize) -> ChainBytes {
        let number = u64::try_from(number).expect("small") + 1;
        ChainBytes {
            commits: 1,
            logical_bytes: number * 100,
            stored_bytes: number * 10,
            packed_bytes: number,
        }
    }

    proptest! {
        /// A forest of commits, each with an earlier parent or none, and chains that end anywhere in it.
        #[test]
        fn every_commit_counts_for_one_chain(
            parents in proptest::collection::vec(proptest::option::of(any::<prop::sample::Index>()), 1..40),
            tips in proptest::collection::vec(any::<prop::sample::Index>(), 1..9),
        ) {
            let parent = |commit: usize| {
                parents[commit].filter(|_| commit > 0).map(|index| index.index(commit))
            };
            let mut ledger = Ledger::default();
            let mut seen = HashSet::new();
            let mut total = ChainBytes::default();
            for tip in tips.iter().map(|index| index.index(parents.len())) {
                let chain: Vec<usize> = std::iter::successors(Some(tip), |at| parent(*at)).collect();
                let new: Vec<usize> = chain.iter().rev().copied().filter(|at| !seen.contains(at)).collect();
                let onto = chain.iter().copied().find(|at| seen.contains(at)).map(id);
                let given: Vec<(CommitId, ChainBytes)> = new.iter().map(|at| (id(*at), bytes(*at))).collect();
                let (own, shared) = ledger.add(onto, &given);
                let sum = |of: &[usize]| of.iter().fold(ChainBytes::default(), |sum, at| sum.plus(bytes(*at)));
                prop_assert_eq!(own, sum(&new), "own is what no chain before had");
                prop_assert_eq!(own.plus(shared), sum(&chain), "own and shared are the whole chain");
                prop_assert!(chain.iter().all(|at| ledger.knows(id(*at))));
                total = total.plus(own);
                seen.extend(new);
            }
            let all = seen.iter().fold(ChainBytes::default(), |sum, at| sum.plus(bytes(*at)));
            prop_assert_eq!(total, all, "the sum counts every commit once");
        }
    }
}
