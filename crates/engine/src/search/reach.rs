//! What a search that is limited to some sessions may find: what was said in them, and what they continue.
//!
//! What a filter asks of a session is `filter`'s.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use stemmata_model::{Closure, CommitId};
use stemmata_prompt::search::NumberSet;
use stemmata_store::{
    CommitSet, IndexPlace, IndexReader, Occurrence, Page, Session, SessionFilter, SessionKey, SessionOrigin,
    SharedPast,
};

use super::filter::{Scoped, SessionFacts};
use super::overlay::{Overlay, Standing};
use super::prepared::prepare;
use super::scan::{Decoded, on_chain};
use super::settle::SettleError;
use crate::chain::walk::Walk;
use crate::engine::Engine;

/// Sessions whose chains are followed: those of one prefix, and forks that continue one commit.
const SESSIONS_MAX: usize = 64;

/// Sessions of a directory among which forks are looked for that nobody has gone on with: the newest.
const PROJECT_SESSIONS_MAX: usize = 512;

/// What a search may find.
#[derive(Default)]
pub(super) struct Reach {
    /// The numbers of entries; `None` if all are searched.
    pub(super) numbers: Option<NumberSet>,
    /// The commits of the index; `None` if all are searched.
    pub(super) commits: Option<CommitSet>,
    /// The sessions that pass; `None` if all do.
    sessions: Option<HashSet<SessionKey>>,
    /// What sessions continue that was said in others.
    past: SharedPast,
    /// Commits on the chains of sessions that are asked for by name.
    on_chains: HashMap<CommitId, SessionKey>,
    /// Where entries stand that such a session has in a commit that is covered by now, by number.
    covered: HashMap<u32, Vec<Standing>>,
}

impl Reach {
    /// Returns what of an index, and of what it does not have yet, a filter lets pass.
    pub(super) fn of(
        scoped: &Scoped<'_>,
        reader: Option<&IndexReader<'_>>,
        overlay: &Overlay,
        engine: &Engine,
    ) -> Result<Self, SettleError> {
        let past = reader.map(IndexReader::shared_past).transpose()?.unwrap_or_default();
        if !scoped.is_of_sessions() {
            return Ok(Self { past, ..Self::default() });
        }
        let mut numbers = NumberSet::default();
        let mut reach = Self { past, ..Self::default() };
        if let Some(reader) = reader {
            let (mut rows, mut known) = (Vec::new(), HashSet::new());
            reader.places(&mut |row, place: IndexPlace| {
                let facts = SessionFacts {
                    machine: place.key.machine.as_str(),
                    path: &place.key.path,
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
            engine.find_on_chains(scoped, reader, (&known, &mut reach))?;
            let commits: Vec<CommitId> = reach.on_chains.keys().copied().collect();
            let commits = reader.commits_in(&rows, &commits)?;
            reader.numbers_in(&rows, &commits, &mut |run| numbers.insert_range(run))?;
            reach.commits = Some(commits);
            reach.sessions = Some(known);
            numbers.extend(reach.covered.keys().copied());
        }
        for (number, standing) in overlay.numbers() {
            for key in standing.iter().filter_map(|one| one.session.as_ref()) {
                if engine.store.session(key)?.is_some_and(|session| scoped.admits_session(&session)) {
                    numbers.insert(number);
                }
            }
        }
        reach.numbers = Some(numbers);
        Ok(reach)
    }

    /// Returns where an entry stands besides its occurrences in the index.
    pub(super) fn covered(&self, number: u32) -> &[Standing] {
        self.covered.get(&number).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns where an entry stands: in its commit, and in each fork that passes and continues it.
    pub(super) fn standing(&self, occurrence: &Occurrence) -> Vec<Standing> {
        let Occurrence { id: commit, position, .. } = *occurrence;
        let passes = |key: &&SessionKey| self.sessions.as_ref().is_none_or(|known| known.contains(*key));
        let forks = self.past.of(occurrence).filter(passes).chain(self.on_chains.get(&commit));
        let sessions = std::iter::once(None).chain(forks.take(SESSIONS_MAX).map(|key| Some(key.clone())));
        sessions.map(|session| Standing { commit, position, session }).collect()
    }
}

impl Engine {
    /// Returns the sessions whose chains are followed: those with a name that was asked for, else the forks that work in a directory
    /// which was asked for and that no place of the index speaks for.
    fn sessions_to_follow(
        &self,
        scoped: &Scoped<'_>,
        known: &HashSet<SessionKey>,
    ) -> Result<Vec<Session>, SettleError> {
        if let Some(prefix) = scoped.session() {
            let filter =
                SessionFilter { session_prefix: Some(prefix.to_owned()), ..SessionFilter::default() };
            let mut named = self.store.sessions(&filter, Page { skip: 0, rows_max: SESSIONS_MAX })?;
            named.retain(|session| scoped.admits_session(session));
            return Ok(named);
        }
        let mut forks = Vec::new();
        if scoped.projects().is_none() {
            return Ok(forks);
        }
        let mut seen = 0;
        self.each_stored_session(&mut |session| {
            if scoped.admits_session(&session) {
                seen += 1;
                let is_fork = matches!(session.origin, SessionOrigin::Placed(_));
                forks.extend(Some(session).filter(|session| is_fork && !known.contains(&session.key)));
            }
            if seen < PROJECT_SESSIONS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        forks.truncate(SESSIONS_MAX);
        Ok(forks)
    }

    /// Finds the commits on the chains of sessions that are asked for by name or by their directory. Places do not say all of it: a
    /// fork that nobody has gone on with saw no commit itself, and a turn that was open when a fork was made from it may be covered
    /// by one that is not in the fork's chain. What such a turn said is found by its entries.
    fn find_on_chains(
        &self,
        scoped: &Scoped<'_>,
        reader: &IndexReader<'_>,
        (known, reach): (&HashSet<SessionKey>, &mut Reach),
    ) -> Result<(), SettleError> {
        for session in self.sessions_to_follow(scoped, known)? {
            let mut walk = Walk::new(self.store.as_ref(), self.tip_of(&session)?);
            while let Some(commit) = walk.next()? {
                if commit.closure == Closure::Covered {
                    let Decoded::Entries(decoded) = self.decoded(on_chain(commit))? else {
                        continue;
                    };
                    let entries = decoded.entries.iter().enumerate();
                    let (positions, keys): (Vec<usize>, Vec<u64>) =
                        entries.filter_map(|(at, entry)| Some((at, prepare(entry)?.key))).unzip();
                    for (position, number) in positions.into_iter().zip(reader.known(&keys)?) {
                        let session = Some(session.key.clone());
                        let standing = Standing { commit: decoded.commit.id, position, session };
                        if let Some(number) = number {
                            reach.covered.entry(number).or_default().push(standing);
                        }
                    }
                } else if reach.on_chains.insert(commit.id, session.key.clone()).is_some() {
                    // Its ancestors were found with it.
                    break;
                }
            }
        }
        Ok(())
    }
}
