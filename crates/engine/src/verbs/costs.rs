//! Costs: what each chain takes, and how much of it other chains hold too.
//!
//! What a content takes is the store's; here is which chain it counts for.

use std::collections::{HashMap, HashSet};

use stemmata_api::v1::{DuChain, DuChains, DuSidecars, DuTotal};
use stemmata_model::CommitId;
use stemmata_store::maintain::costs::{COSTED_COMMITS_MAX, Counted};
use stemmata_store::{Session, SessionFilter, SessionKey, StoreErrorKind};

use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::sessions::shown::title_shown;

/// Bytes of a chain or of a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ChainBytes {
    /// Commits.
    commits: u64,
    /// Native bytes: what was captured.
    logical_bytes: u64,
    /// Bytes in storage. A content that several commits name counts for the first of them.
    stored_bytes: u64,
    /// Of these, bytes in packs.
    packed_bytes: u64,
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

/// Returns what chains take together.
fn total(chains: &[DuChain]) -> DuTotal {
    let copies = || chains.iter().filter(|chain| chain.copy_of.is_some());
    DuTotal {
        chains: chains.len() as u64,
        commits: chains.iter().map(|chain| chain.commits).sum(),
        logical_bytes: chains.iter().map(|chain| chain.logical_bytes).sum(),
        stored_bytes: chains.iter().map(|chain| chain.stored_bytes).sum(),
        packed_bytes: chains.iter().map(|chain| chain.packed_bytes).sum(),
        copies: copies().count() as u64,
        copies_logical_bytes: copies().map(|chain| chain.logical_bytes).sum(),
        copies_stored_bytes: copies().map(|chain| chain.stored_bytes).sum(),
    }
}

impl Engine {
    /// Returns what the chains of sessions and their sidecars take, those first that take most. Sessions that the filter leaves out
    /// count all the same: what they had first is shared.
    ///
    /// Reads every commit of the store.
    ///
    /// # Errors
    /// Store errors.
    pub fn store_costs(&self, filter: &SessionFilter) -> Result<DuChains> {
        let filter = SessionFilter { with_sidecars: true, ..filter.clone() };
        let wanted: HashSet<SessionKey> =
            self.sessions_in(&filter)?.into_iter().map(|session| session.key).collect();
        let mut sessions = self.all_sessions()?;
        sessions.sort_by(|one, other| began(one).cmp(&began(other)));
        let (mut ledger, mut counted) = (Ledger::default(), Counted::default());
        let (mut chains, mut files, mut sidecars) = (Vec::new(), 0, ChainBytes::default());
        for session in sessions {
            let Some(tip) = session.tip else { continue };
            let (own, shared) = self.chain_cost(tip, &mut ledger, &mut counted)?;
            if !wanted.contains(&session.key) {
                continue;
            }
            if session.is_sidecar() {
                files += 1;
                sidecars = sidecars.plus(own);
                continue;
            }
            let copy_of = self.copied_from(tip)?.map(|link| link.to);
            chains.push(DuChain {
                title: title_shown(session.title.as_deref()),
                session_id: session.session,
                path: session.key.path,
                machine: session.key.machine,
                parent_session: session.parent_session,
                cwd: session.cwd,
                tip: session.tip,
                commits: own.commits,
                logical_bytes: own.logical_bytes,
                stored_bytes: own.stored_bytes,
                packed_bytes: own.packed_bytes,
                shared_commits: shared.commits,
                shared_logical_bytes: shared.logical_bytes,
                shared_stored_bytes: shared.stored_bytes,
                copy_of,
            });
        }
        chains.sort_by_key(|cost| std::cmp::Reverse((cost.stored_bytes, cost.logical_bytes)));
        let ChainBytes { logical_bytes, stored_bytes, packed_bytes, .. } = sidecars;
        Ok(DuChains {
            total: total(&chains),
            chains,
            sidecars: DuSidecars { files, logical_bytes, stored_bytes, packed_bytes },
        })
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
