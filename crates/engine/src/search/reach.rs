//! What a search that is limited to some sessions may find: what was said in them, and what they continue.
//!
//! What a filter asks of a session is `filter`'s.

use std::collections::{HashMap, HashSet};

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

/// Sessions of one prefix whose chains are followed in the store: those that the index does not know.
const FORKS_MAX: usize = 64;

/// What a search may find.
#[derive(Default)]
pub(super) struct Reach {
    /// The numbers of entries; none where all are searched.
    pub(super) numbers: Option<NumberSet>,
    /// Commits that a session continues and never saw, by which it is found.
    forked: HashMap<CommitId, SessionKey>,
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
        let mut forked = HashMap::new();
        if let Some(reader) = reader {
            let (mut rows, mut known) = (Vec::new(), HashSet::new());
            reader.places(&mut |row, place: IndexPlace| {
                let facts = SessionFacts {
                    session: &place.session,
                    client: &place.client,
                    cwd: place.cwd.as_deref(),
                    branch: place.branch.as_deref(),
                };
                if scoped.admits_place(&facts) {
                    rows.push(row);
                    known.insert(place.key);
                }
            })?;
            forked = engine.forked(scoped, reader, (&known, &mut numbers))?;
            let commits: Vec<CommitId> = forked.keys().copied().collect();
            reader.numbers_in(&rows, &commits, &mut |number| numbers.insert(number))?;
        }
        for (number, standing) in overlay.numbers() {
            for key in standing.iter().filter_map(|one| one.session.as_ref()) {
                if engine.store.session(key)?.is_some_and(|session| scoped.admits_session(&session)) {
                    numbers.insert(number);
                }
            }
        }
        Ok(Self { numbers: Some(numbers), forked })
    }

    /// Returns the session that passes and continues a commit, where no place of the index says so.
    pub(super) fn session(&self, commit: CommitId) -> Option<&SessionKey> {
        self.forked.get(&commit)
    }
}

impl Engine {
    /// Returns the commits of sessions that are asked for by name and saw none themselves: a fork that nobody has gone on
    /// with has only what it was made from. What of it is covered by now is found by its entries, which are added to `numbers`.
    fn forked(
        &self,
        scoped: &Scoped<'_>,
        reader: &IndexReader<'_>,
        (known, numbers): (&HashSet<SessionKey>, &mut NumberSet),
    ) -> Result<HashMap<CommitId, SessionKey>, SettleError> {
        let mut forked = HashMap::new();
        let Some(prefix) = scoped.session() else { return Ok(forked) };
        let filter = SessionFilter { session_prefix: Some(prefix.to_owned()), ..SessionFilter::default() };
        let sessions = self.store.sessions(&filter, Page { skip: 0, rows_max: FORKS_MAX })?;
        for session in sessions.into_iter().filter(|session| scoped.admits_session(session)) {
            if known.contains(&session.key) {
                continue;
            }
            let mut walk = Walk::new(self.store.as_ref(), self.tip_of(&session)?);
            while let Some(commit) = walk.next()? {
                if commit.closure == Closure::Covered {
                    let entries =
                        self.decoded(on_chain(commit))?.map(|decoded| decoded.entries).unwrap_or_default();
                    let keys: Vec<u64> = entries.iter().filter_map(prepare).map(|found| found.key).collect();
                    reader.known(&keys)?.into_iter().flatten().for_each(|number| numbers.insert(number));
                } else if forked.insert(commit.id, session.key.clone()).is_some() {
                    break;
                }
            }
        }
        Ok(forked)
    }
}
