//! What a search that is limited to some sessions may find: what was said in them, and what they continue.
//!
//! What a filter asks of a session is `filter`'s.

use std::collections::HashMap;

use stemmata_model::{Closure, CommitId};
use stemmata_prompt::search::NumberSet;
use stemmata_store::{IndexPlace, IndexReader, Page, SessionFilter, SessionKey};

use super::filter::{Scoped, SessionFacts};
use super::overlay::Overlay;
use super::prepared::prepare;
use super::scan::on_chain;
use super::settle::SettleError;
use crate::chain::walk::Walk;
use crate::engine::Engine;

/// Sessions of one prefix whose chains are followed in the store, the newest.
const SESSIONS_MAX: usize = 64;

/// What a search may find.
#[derive(Default)]
pub(super) struct Reach {
    /// The numbers of entries; none where all are searched.
    pub(super) numbers: Option<NumberSet>,
    /// Commits on the chains of sessions that are asked for by name.
    on_chains: HashMap<CommitId, SessionKey>,
}

impl Reach {
    /// Returns what of an index, and of what it does not have yet, a filter lets pass.
    pub(super) fn of(
        scoped: &Scoped<'_>,
        reader: Option<&IndexReader<'_>>,
        overlay: &Overlay,
        engine: &Engine,
    ) -> Result<Self, SettleError> {
        if !scoped.is_of_sessions() {
            return Ok(Self::default());
        }
        let mut numbers = NumberSet::default();
        let mut on_chains = HashMap::new();
        if let Some(reader) = reader {
            let mut rows = Vec::new();
            reader.places(&mut |row, place: IndexPlace| {
                let facts = SessionFacts {
                    session: &place.session,
                    client: &place.client,
                    cwd: place.cwd.as_deref(),
                    branch: place.branch.as_deref(),
                };
                rows.extend(scoped.admits_place(&facts).then_some(row));
            })?;
            on_chains = engine.on_chains(scoped, reader, &mut numbers)?;
            let commits: Vec<CommitId> = on_chains.keys().copied().collect();
            reader.numbers_in(&rows, &commits, &mut |number| numbers.insert(number))?;
        }
        for (number, standing) in overlay.numbers() {
            for key in standing.iter().filter_map(|one| one.session.as_ref()) {
                if engine.store.session(key)?.is_some_and(|session| scoped.admits_session(&session)) {
                    numbers.insert(number);
                }
            }
        }
        Ok(Self { numbers: Some(numbers), on_chains })
    }

    /// Returns the session that was asked for by name and has a commit in its chain.
    pub(super) fn session(&self, commit: CommitId) -> Option<&SessionKey> {
        self.on_chains.get(&commit)
    }
}

impl Engine {
    /// Returns the commits on the chains of sessions that are asked for by name, each with its session. Places do not say all of
    /// it: a fork that nobody has gone on with saw no commit itself, and where the turn that a fork was made from was
    /// open then, it is covered by a turn that is not in the fork's chain. What such a turn said is found by its entries, which
    /// are added to `numbers`.
    fn on_chains(
        &self,
        scoped: &Scoped<'_>,
        reader: &IndexReader<'_>,
        numbers: &mut NumberSet,
    ) -> Result<HashMap<CommitId, SessionKey>, SettleError> {
        let mut found = HashMap::new();
        let Some(prefix) = scoped.session() else { return Ok(found) };
        let filter = SessionFilter { session_prefix: Some(prefix.to_owned()), ..SessionFilter::default() };
        let sessions = self.store.sessions(&filter, Page { skip: 0, rows_max: SESSIONS_MAX })?;
        for session in sessions.into_iter().filter(|session| scoped.admits_session(session)) {
            let mut walk = Walk::new(self.store.as_ref(), self.tip_of(&session)?);
            while let Some(commit) = walk.next()? {
                let (id, is_covered) = (commit.id, commit.closure == Closure::Covered);
                if found.insert(id, session.key.clone()).is_some() {
                    // Its ancestors were found with it.
                    break;
                }
                if is_covered {
                    let entries = self.decoded(on_chain(commit))?.map(|decoded| decoded.entries);
                    let keys: Vec<u64> =
                        entries.iter().flatten().filter_map(prepare).map(|one| one.key).collect();
                    reader.known(&keys)?.into_iter().flatten().for_each(|number| numbers.insert(number));
                }
            }
        }
        Ok(found)
    }
}
