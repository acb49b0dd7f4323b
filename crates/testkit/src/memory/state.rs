//! What all tables of the memory store do together, and questions that several of them answer.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_model::{Commit, CommitId, CommitType, MachineId, SessionId, Sighting};
use stemmata_store::rules::annotation::shown;
use stemmata_store::rules::closure::is_live;
use stemmata_store::rules::latest::Origin;
use stemmata_store::rules::project;
use stemmata_store::{Annotations, AuditRecord, ResolveScope, SIDECAR_FORMAT, StoreError, TipFilter};

use super::{MemoryStore, State};

pub(super) type Sightings = BTreeMap<Origin, Sighting>;

impl State {
    /// Returns what orders the next thing that is stored. Numbers are never given twice, whatever is removed.
    pub(super) fn order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }

    pub(super) fn commit(&mut self) {
        self.contents.commit();
        self.commits.commit();
        self.stored.commit();
        self.index_due.commit();
        self.index_unseen.commit();
        self.children.commit();
        self.sightings.commit();
        self.sessions.commit();
        self.cursors.commit();
        self.placements.commit();
        self.standing.commit();
        self.audit.commit();
        self.links.commit();
        self.anchors.commit();
        self.tombstones.commit();
        self.redirects.commit();
        self.condemned.commit();
        self.orphans.commit();
        self.coverage.commit();
        self.logs.commit();
    }

    pub(super) fn roll_back(&mut self) {
        self.contents.roll_back();
        self.commits.roll_back();
        self.stored.roll_back();
        self.index_due.roll_back();
        self.index_unseen.roll_back();
        self.children.roll_back();
        self.sightings.roll_back();
        self.sessions.roll_back();
        self.cursors.roll_back();
        self.placements.roll_back();
        self.standing.roll_back();
        self.audit.roll_back();
        self.links.roll_back();
        self.anchors.roll_back();
        self.tombstones.roll_back();
        self.redirects.roll_back();
        self.condemned.roll_back();
        self.orphans.roll_back();
        self.coverage.roll_back();
        self.logs.roll_back();
    }

    pub(super) fn holds_anchors(&self, id: CommitId) -> bool {
        self.commits.get(&id).is_some_and(|commit| is_live(commit.closure))
    }

    /// Returns the metadata of a commit.
    pub(super) fn annotations_of(&self, commit: CommitId) -> Annotations {
        let mut standing: Vec<&AuditRecord> = self.standing.get(&commit).into_iter().flatten().collect();
        standing.sort_by_key(|record| record.at);
        shown(standing)
    }

    /// Returns all tags with their commits, in the order of these.
    pub(super) fn tags(&self) -> impl Iterator<Item = (CommitId, String)> {
        let own = self.standing.iter().map(|(id, standing)| (*id, shown(standing).tags));
        own.flat_map(|(id, tags)| tags.into_iter().map(move |tag| (id, tag)))
    }

    pub(super) fn sightings_of(&self, commit: CommitId) -> impl Iterator<Item = &Sighting> {
        self.sightings.get(&commit).into_iter().flat_map(BTreeMap::values)
    }

    pub(super) fn is_tip(&self, commit: &Commit, filter: &TipFilter) -> bool {
        if *filter == TipFilter::default() {
            return self.children_of(commit.id).next().is_none()
                && is_live(commit.closure)
                && commit.core.format.as_str() != SIDECAR_FORMAT;
        }
        let is_next = |child: &Commit| self.is_live_in(child, filter);
        self.is_live_in(commit, filter)
            && !self.children_of(commit.id).any(|child| {
                is_next(child) || (self.restates(child) && self.children_of(child.id).any(is_next))
            })
    }

    pub(super) fn children_of(&self, id: CommitId) -> impl Iterator<Item = &Commit> {
        self.children.range((id, 0)..=(id, u64::MAX)).filter_map(|(_, child)| self.commits.get(child))
    }

    /// Returns whether a commit is a snapshot in another format than its parent: it adds nothing.
    fn restates(&self, commit: &Commit) -> bool {
        let parent = commit.core.parent.and_then(|parent| self.commits.get(&parent));
        matches!(commit.core.commit_type, CommitType::Snapshot { .. })
            && parent.is_some_and(|parent| parent.core.format != commit.core.format)
    }

    fn is_live_in(&self, commit: &Commit, filter: &TipFilter) -> bool {
        is_live(commit.closure)
            && !self.restates(commit)
            && self.sightings_of(commit.id).any(|sighting| filter.holds(sighting))
    }

    pub(super) fn in_scope(&self, scope: &ResolveScope) -> BTreeSet<CommitId> {
        let places: BTreeSet<(&MachineId, &SessionId)> = match scope {
            ResolveScope::Project(project) => self
                .sessions
                .iter()
                .filter(|(_, session)| {
                    project::holds(project, session.cwd.as_deref()) && !session.is_sidecar()
                })
                .map(|(key, session)| (&key.machine, &session.session))
                .collect(),
            ResolveScope::Principal(_) | ResolveScope::Session(_) => BTreeSet::new(),
        };
        let wanted = |sighting: &Sighting| match scope {
            ResolveScope::Principal(principal) => *principal == sighting.principal,
            ResolveScope::Session(session) => *session == sighting.session,
            ResolveScope::Project(_) => places.contains(&(&sighting.machine, &sighting.session)),
        };
        let seen = self.sightings.iter().filter(|(_, own)| own.values().any(wanted));
        seen.map(|(commit, _)| *commit).collect()
    }
}

impl MemoryStore {
    /// Does something to the state as one transaction.
    pub(super) fn maintain<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce(&mut State) -> T,
    ) -> Result<T, StoreError> {
        self.attempt(operation, false, |state| Ok(act(state)))
    }

    /// Does something to the state as one transaction, and undoes it in a dry run and where it fails.
    pub(super) fn attempt<T>(
        &self,
        operation: &'static str,
        dry_run: bool,
        act: impl FnOnce(&mut State) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut state = self.open(operation)?;
        let done = act(&mut state);
        if dry_run || done.is_err() {
            state.roll_back();
        } else {
            state.commit();
        }
        done
    }
}
