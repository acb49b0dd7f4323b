//! Which commits travel, in which order, and what the receiver must have already.
//!
//! Reads commits and links only. What is written of them is `export`'s.

use std::collections::{BTreeSet, HashMap, HashSet};

use stemmata_model::{CommitId, SessionId};
use stemmata_store::{Commits, LinkKind, Page, Session, SessionFilter, TipFilter};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::tree::TreeWalk;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::forget::is_of_another;

/// Rows that one page of the store holds.
const PAGE_ROWS: usize = 1_000;

/// Links and sightings that are read of one commit at most.
pub(super) const PER_COMMIT_MAX: usize = 65_536;

/// What a bundle is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BundleSelection {
    /// The chains up to these commits, with the subagents that they started.
    Commits(Vec<CommitId>),
    /// All sessions that worked in this directory or below it, with all their branches.
    Project(String),
    /// Everything.
    All,
}

/// What travels.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The commits that were asked for.
    pub(super) tips: Vec<CommitId>,
    /// Commits that travel, parents before children, chain after chain.
    pub(super) commits: Vec<CommitId>,
    /// Commits of the same chains that the receiver has: what was said of them travels.
    pub(super) known: Vec<CommitId>,
    /// Those of them that travelling commits continue.
    pub(super) prerequisites: BTreeSet<CommitId>,
    /// Some of the commits, by which a store can be told what another one has: the ends of chains, and their
    /// ancestors 1, 3, 7, 15 … commits before, down to where a chain leaves another one.
    pub(super) told: BTreeSet<CommitId>,
    /// Everything that the receiver has.
    pub(super) had: HashSet<CommitId>,
}

/// Calls `each` with every session.
pub(super) fn each_session(
    store: &dyn Commits,
    filter: &SessionFilter,
    each: &mut dyn FnMut(Session) -> Result<()>,
) -> Result<()> {
    let mut skip = 0;
    loop {
        let page = store.sessions(filter, Page { skip, rows_max: PAGE_ROWS })?;
        let is_last = page.len() < PAGE_ROWS;
        for session in page {
            skip += 1;
            each(session)?;
        }
        if is_last {
            return Ok(());
        }
    }
}

/// Calls `each` with every tip that a filter lets through.
fn each_tip(store: &dyn Commits, filter: &TipFilter, each: &mut dyn FnMut(CommitId)) -> Result<()> {
    let mut skip = 0;
    loop {
        let page = store.tips(filter, Page { skip, rows_max: PAGE_ROWS })?;
        let is_last = page.len() < PAGE_ROWS;
        for tip in page {
            skip += 1;
            each(tip.id);
        }
        if is_last {
            return Ok(());
        }
    }
}

struct Planner<'e> {
    engine: &'e Engine,
    store: &'e dyn Commits,
    plan: Plan,
    seen: HashSet<CommitId>,
}

impl Planner<'_> {
    /// Adds the chain up to a commit, from where it leaves what was added before.
    fn chain(&mut self, tip: CommitId) -> Result<()> {
        if self.seen.contains(&tip) {
            return Ok(());
        }
        let mut walk = Walk::new(self.store, Some(tip));
        let mut new: Vec<(CommitId, Option<CommitId>)> = Vec::new();
        while let Some(commit) = walk.next()? {
            if !self.seen.insert(commit.id) {
                break;
            }
            new.push((commit.id, commit.core.parent));
        }
        let spaced = (1_usize..).zip(&new).filter(|(place, _)| place.is_power_of_two());
        self.plan.told.extend(spaced.map(|(_, (id, _))| *id).chain(new.last().map(|(id, _)| *id)));
        for (id, parent) in new.into_iter().rev() {
            if self.plan.had.contains(&id) {
                self.plan.known.push(id);
                continue;
            }
            self.plan.prerequisites.extend(parent.filter(|parent| self.plan.had.contains(parent)));
            self.plan.commits.push(id);
        }
        Ok(())
    }

    /// Adds the subagents that commits started which were added since the last call.
    fn subagents(&mut self, looked: &mut (usize, usize)) -> Result<bool> {
        let new = self.plan.commits.get(looked.0..).unwrap_or_default();
        let known = self.plan.known.get(looked.1..).unwrap_or_default();
        let starters: Vec<CommitId> = new.iter().chain(known).copied().collect();
        *looked = (self.plan.commits.len(), self.plan.known.len());
        for page in starters.chunks(PAGE_COMMITS) {
            for described in self.engine.described(page)? {
                for link in self.engine.links_of(&described, PER_COMMIT_MAX)?.iter() {
                    if link.kind == LinkKind::Subagent && link.to == described.commit.id {
                        self.leaves(link.from)?;
                    }
                }
            }
        }
        Ok(*looked != (self.plan.commits.len(), self.plan.known.len()))
    }

    /// Adds the sidecars of the sessions that end in a commit of the bundle's chains.
    fn sidecars(&mut self) -> Result<()> {
        let filter = SessionFilter { with_sidecars: true, ..SessionFilter::default() };
        let (mut sessions, mut files) = (HashMap::<SessionId, Vec<Session>>::new(), Vec::new());
        each_session(self.store, &filter, &mut |session| {
            if session.is_sidecar() {
                files.push(session);
            } else {
                sessions.entry(session.session.clone()).or_default().push(session);
            }
            Ok(())
        })?;
        let travels = |file: &Session| {
            let of = file.parent_session.as_ref().and_then(|parent| sessions.get(parent));
            let of = of.map(Vec::as_slice).unwrap_or_default();
            let is_here = |session: &Session| session.tip.is_some_and(|tip| self.seen.contains(&tip));
            of.iter().any(|session| is_here(session) && !is_of_another(file, session, of))
        };
        let tips: Vec<CommitId> =
            files.iter().filter(|file| travels(file)).filter_map(|file| file.tip).collect();
        tips.into_iter().try_for_each(|tip| self.chain(tip))
    }

    /// Adds all that a commit grew into.
    fn leaves(&mut self, root: CommitId) -> Result<()> {
        let mut children: HashMap<CommitId, Vec<CommitId>> = HashMap::new();
        let mut walk = TreeWalk::new(self.store, root);
        while let Some(page) = walk.next()? {
            for commit in page.into_iter().filter(|commit| commit.id != root) {
                children.entry(commit.core.parent.unwrap_or(root)).or_default().push(commit.id);
            }
        }
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match children.remove(&id) {
                Some(children) => open.extend(children.into_iter().rev()),
                None => self.chain(id)?,
            }
        }
        Ok(())
    }

    fn everything(&mut self) -> Result<()> {
        let mut tips = Vec::new();
        each_tip(self.store, &TipFilter::default(), &mut |tip| tips.push(tip))?;
        self.plan.tips.clone_from(&tips);
        for tip in tips {
            self.chain(tip)?;
        }
        // Commits that are covered are no tips, though nothing may continue them.
        let mut after = None;
        loop {
            let page = self.store.commits_after(after, PAGE_ROWS)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.id);
            for commit in page {
                self.chain(commit.id)?;
            }
        }
    }

    fn project(&mut self, project: String) -> Result<()> {
        let filter = SessionFilter { project: Some(project), ..SessionFilter::default() };
        let mut tips: BTreeSet<CommitId> = BTreeSet::new();
        let mut sessions = BTreeSet::new();
        each_session(self.store, &filter, &mut |session| {
            tips.extend(session.tip);
            sessions.insert(session.session);
            Ok(())
        })?;
        for session in sessions {
            let filter = TipFilter { session: Some(session), ..TipFilter::default() };
            each_tip(self.store, &filter, &mut |tip| {
                tips.insert(tip);
            })?;
        }
        self.plan.tips = tips.into_iter().collect();
        for tip in self.plan.tips.clone() {
            self.chain(tip)?;
        }
        Ok(())
    }
}

impl Engine {
    /// Decides what travels: a function of the store, of what was asked for and of what the receiver has.
    pub(super) fn plan_bundle(&self, what: &BundleSelection, have: &[CommitId]) -> Result<Plan> {
        let store = self.store.as_ref();
        let mut had: HashSet<CommitId> = HashSet::new();
        for id in have {
            if store.commit(*id)?.is_none() {
                // The receiver is ahead of us there.
                continue;
            }
            let mut walk = Walk::new(store, Some(*id));
            while let Some(commit) = walk.next()? {
                if !had.insert(commit.id) {
                    break;
                }
            }
        }
        let plan = Plan { had, ..Plan::default() };
        let mut planner = Planner { engine: self, store, plan, seen: HashSet::new() };
        match what {
            BundleSelection::Commits(tips) => {
                let tips: BTreeSet<CommitId> = tips.iter().copied().collect();
                planner.plan.tips = tips.into_iter().collect();
                for tip in planner.plan.tips.clone() {
                    planner.chain(tip)?;
                }
            }
            BundleSelection::Project(project) => planner.project(project.clone())?,
            BundleSelection::All => planner.everything()?,
        }
        let mut looked = (0, 0);
        while planner.subagents(&mut looked)? {}
        planner.sidecars()?;
        Ok(planner.plan)
    }
}
