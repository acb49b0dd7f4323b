//! `forget`: lets go of a session, a commit or a project, and finds out what else holds the same entries.
//!
//! What a store keeps, and why, is the store's; which entries are the same is `copies`'.

mod known;
mod undo;

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{Closure, Commit, CommitId, EventSeq, LedgerId, Principal, to_u64};
use stemmata_store::maintain::forget::{Forget, Forgotten, Keep};
use stemmata_store::{Described, Page, SIDECAR_FORMAT, Session, SessionFilter, SessionKey, StoreError};

use crate::chain::beside::{PAGE_COMMITS, key_of_sighting};
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{Candidate, EngineError, Refusal, Result, Wanted};
use crate::verbs::copies::Copy;
use crate::verbs::find::{CANDIDATES_MAX, described};

/// Children of one commit that are looked at.
const CHILDREN_MAX: usize = 10_000;

/// Sightings of one commit that are looked at.
const SIGHTINGS_MAX: usize = 1_000;

/// Sessions of one id that are looked at.
const NAMESAKES_MAX: usize = 64;

/// Sessions of a project at most.
const SESSIONS_MAX: usize = 10_000;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetTarget {
    /// All that a session holds, its subagents included.
    Session(SessionKey),
    /// One commit.
    Commit(CommitId),
    /// All sessions that worked in this directory or below it, and the ledgers of projects that are there.
    Project(String),
}

/// How to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgetOptions {
    /// Cut it out of branches and copies too.
    pub everywhere: bool,
    /// Even what is pinned or tagged, and what tickets and threads refer to.
    pub even_pinned: bool,
    /// Who forgets.
    pub by: Principal,
}

/// Something that goes on from a commit that stays.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The commit that it needs.
    pub from: CommitId,
    /// Its own first commit; none where a session ends at `from`.
    pub first: Option<CommitId>,
    /// A session that goes through it.
    pub session: Option<Session>,
}

/// What would be forgotten. Nothing else is, when it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgetPlan {
    wish: Forget,
    /// What goes of ledgers that are not in the store: these whole, and of others these events.
    beside: (Vec<LedgerId>, Vec<(LedgerId, BTreeSet<EventSeq>)>),
    /// What would be forgotten, and what still holds some of it.
    pub report: ForgetReport,
}

/// What was forgotten, or would be, and what still holds some of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ForgetReport {
    /// Sessions that were asked for.
    pub sessions: Vec<Session>,
    /// Ledgers of which all events say nothing any more, whoever's they were.
    pub ledgers: Vec<LedgerId>,
    /// What the store did.
    pub forgotten: Forgotten,
    /// What goes on from commits that stay.
    pub branches: Vec<Branch>,
    /// Copies that hold the same entries, as they were before.
    pub copies: Vec<Copy>,
    /// Commits of copies and branches that are protected, and so were not cut.
    pub spared: Vec<CommitId>,
    /// Commits that stay while the whole outputs that they name go, which stand in the forgotten session and in no commit.
    pub without_outputs: usize,
    /// Of the commits that were asked for, the states of files beside transcripts.
    pub of_sidecars: HashSet<CommitId>,
}

impl ForgetReport {
    /// Returns how many of the commits that go, or become holes, are states of files beside transcripts.
    pub fn sidecar_commits(&self) -> u64 {
        let done = &self.forgotten;
        let going = done.removed.iter().chain(&done.cut).chain(&done.cut_too);
        going.filter(|id| self.of_sidecars.contains(id)).count() as u64
    }

    /// What had to stay and was cut is a hole, and is told as one.
    fn tell_holes_once(&mut self) {
        let done = &mut self.forgotten;
        let holes: HashSet<CommitId> = done.cut.iter().chain(&done.cut_too).copied().collect();
        done.kept.retain(|kept| !holes.contains(&kept.commit));
    }
}

impl Engine {
    /// Forgets what nobody was shown: whatever it is by then.
    ///
    /// # Errors
    /// As [`Engine::plan_forget`] and [`Engine::apply_forget`].
    pub fn forget(&self, target: &ForgetTarget, options: &ForgetOptions) -> Result<ForgetReport> {
        let mut plan = self.plan_forget(target, options)?;
        plan.wish.expect = None;
        self.apply_forget(plan)
    }

    /// Finds out what forgetting would do, and changes nothing. What something else needs stays, and the report names it;
    /// `everywhere` cuts that too.
    ///
    /// # Errors
    /// `Refused` where something of it is protected; `CommitMissing`; `NotFound` for a session that is not there;
    /// store errors.
    pub fn plan_forget(&self, target: &ForgetTarget, options: &ForgetOptions) -> Result<ForgetPlan> {
        let sessions = self.with_copies(self.sessions_of(target)?, options.everywhere)?;
        // Whichever of the two is in use, the other one may hold words of the same sessions.
        let (stored, beside) = (self.in_store(), self.beside_store());
        let of_store = stored.ledgers_of(target)?;
        let of_beside = beside.as_ref().map_or(Ok(Vec::new()), |beside| beside.ledgers_of(target))?;
        let keys: Vec<SessionKey> = sessions.iter().map(|session| session.key.clone()).collect();
        let wanted = self.commits_meant(target, &sessions)?;
        if !options.even_pinned {
            self.refuse_protected(&wanted)?;
        }
        let ids: Vec<CommitId> = wanted.iter().map(|commit| commit.id).collect();
        let copies = self.copies_of(&wanted)?;
        let mut wish = Forget {
            unroot: ids.clone(),
            sessions: keys,
            ledgers: of_store.clone(),
            even_pinned: options.even_pinned,
            dry_run: true,
            ..Forget::new(self.clock.now(), options.by.clone())
        };
        let mut spared = Vec::new();
        if let ForgetTarget::Commit(id) = target {
            // A chain that is still written goes on from its last commit: it stays, as a hole.
            let is_leaf = self.store.children(*id, 1)?.is_empty();
            wish.even_sighted = true;
            if is_leaf || options.everywhere {
                wish.cut = std::mem::take(&mut wish.unroot);
                // Early looks at what it closed are no tips: they go with it, unless something needs them.
                wish.unroot = self.looks_at(&wanted, &copies)?;
            }
        }
        if options.everywhere {
            let others = copies.iter().flat_map(|copy| &copy.commits).copied();
            let (own, of_others) = (ids.iter().copied(), others.collect::<BTreeSet<_>>());
            let all: BTreeSet<CommitId> = own.chain(of_others).collect();
            for id in all {
                if !options.even_pinned && self.is_protected(id)? {
                    spared.push(id);
                } else {
                    wish.cut.push(id);
                }
            }
            wish.cut.sort();
            wish.cut.dedup();
        }
        let branches = self.branches_of(&wish, &ids)?;
        wish.events = stored.outputs_of(&wish.cut)?;
        let outputs = beside.as_ref().map_or(Ok(Vec::new()), |beside| beside.outputs_of(&wish.cut))?;
        self.clear_what_is_known(&mut wish)?;
        let forgotten = self.store.forget(&wish)?;
        wish.expect = Some(forgotten.clone());
        wish.dry_run = false;
        let of_sidecars = wanted.iter().filter(|commit| commit.core.format.as_str() == SIDECAR_FORMAT);
        let of_sidecars = of_sidecars.map(|commit| commit.id).collect();
        let without_outputs = self.losing_outputs(&forgotten, &sessions)?;
        let ledgers: BTreeSet<LedgerId> = of_store.into_iter().chain(of_beside.iter().cloned()).collect();
        let mut report = ForgetReport {
            sessions,
            ledgers: ledgers.into_iter().collect(),
            forgotten,
            branches,
            copies,
            spared,
            without_outputs,
            of_sidecars,
        };
        report.forgotten.events += outputs.iter().map(|(_, events)| events.len() as u64).sum::<u64>();
        if let Some(beside) = beside {
            report.forgotten.events += beside.going_elsewhere(&report.sessions, &of_beside)?;
        }
        report.tell_holes_once();
        Ok(ForgetPlan { wish, beside: (of_beside, outputs), report })
    }

    /// Forgets exactly what was planned. Nothing that is imported later brings it back, until that is taken back.
    ///
    /// # Errors
    /// `PlanMoved` where others wrote meanwhile and something else would go, and then nothing does; store errors; `Refused`
    /// where ledgers in files did not let go of all.
    pub fn apply_forget(&self, plan: ForgetPlan) -> Result<ForgetReport> {
        let ForgetPlan { wish, beside: (ledgers, outputs), mut report } = plan;
        let beside = self.beside_store();
        self.drop_derived()?;
        report.forgotten = self.store.forget(&wish)?;
        let beside = beside.as_ref();
        let elsewhere = beside.map_or(Ok(0), |beside| beside.forget_elsewhere(&report.sessions, &ledgers));
        let late = self.forget_late(&report.sessions, &wish);
        let outputs = beside.map_or(Ok(0), |beside| beside.forget_outputs_elsewhere(&outputs));
        // What a ledger refuses keeps no word in the index.
        let swept = self.sweep();
        report.forgotten.events += elsewhere? + outputs?;
        late?;
        report.forgotten.left(swept?);
        report.tell_holes_once();
        Ok(report)
    }

    /// Adds the placed copies of sessions that nobody continued, where they may go too. Else these would keep what they hold, be sessions
    /// of their own from then on, and bring it back where their files are imported: then it is refused.
    fn with_copies(&self, mut sessions: Vec<Session>, everywhere: bool) -> Result<Vec<Session>> {
        let placed = self.copies_placed_of(&sessions)?;
        let reason = match placed.as_slice() {
            [] => None,
            [only] => Some(format!("a copy of it is placed that nobody continued: {}", only.key.path)),
            [first, ..] => {
                let count = placed.len();
                let path = &first.key.path;
                Some(format!("{count} copies of it are placed that nobody continued, such as {path}"))
            }
        };
        if let Some(reason) = reason.filter(|_| !everywhere) {
            return Err(EngineError::Refused { what: Refusal::ForgetWithCopies, reasons: vec![reason] });
        }
        sessions.extend(placed);
        Ok(sessions)
    }

    fn commits_meant(&self, target: &ForgetTarget, sessions: &[Session]) -> Result<Vec<Commit>> {
        match target {
            ForgetTarget::Commit(id) => {
                Ok(vec![self.store.commit(*id)?.ok_or(StoreError::CommitMissing(*id))?])
            }
            ForgetTarget::Session(_) | ForgetTarget::Project(_) => self.commits_of(sessions),
        }
    }

    /// Returns what a name means: all that a session holds, where `path` or `text` is one's, or a commit.
    ///
    /// # Errors
    /// As [`Engine::find`].
    pub fn target_of(&self, text: &str, path: Option<&str>) -> Result<ForgetTarget> {
        let by_path = path.map_or(Ok(None), |path| self.find_session(path))?;
        if let Some(session) = by_path {
            return Ok(ForgetTarget::Session(session.key));
        }
        self.check_long_enough(text)?;
        let copies = self.copies_named(text)?;
        // The best copy is good to read; which one is to go is for a person to say.
        if copies.iter().any(|copy| copies.first().is_some_and(|first| first.tip != copy.tip)) {
            let candidate =
                |copy: &Session| Candidate { id: copy.key.path.clone(), summary: described(copy) };
            let candidates = copies.iter().take(CANDIDATES_MAX).map(candidate).collect();
            return Err(EngineError::Ambiguous { text: text.to_owned(), candidates });
        }
        match self.find_session(text)? {
            Some(session) => Ok(ForgetTarget::Session(session.key)),
            None => Ok(ForgetTarget::Commit(self.find_by_name(text)?)),
        }
    }

    /// Returns covered commits that share entries with a commit and its parent.
    fn looks_at(&self, wanted: &[Commit], copies: &[Copy]) -> Result<Vec<CommitId>> {
        let mut roots = BTreeSet::new();
        for commit in wanted.iter().filter(|commit| commit.core.parent.is_none()) {
            roots.extend(self.roots_beside(commit.id)?);
        }
        let mut found = Vec::new();
        for id in copies.iter().flat_map(|copy| &copy.commits) {
            let Some(look) = self.store.commit(*id)? else { continue };
            let is_beside = match look.core.parent {
                None => roots.contains(id),
                parent => wanted.iter().any(|commit| commit.core.parent == parent),
            };
            if is_beside && look.closure == Closure::Covered {
                found.push(*id);
            }
        }
        Ok(found)
    }

    pub(crate) fn sessions_of(&self, target: &ForgetTarget) -> Result<Vec<Session>> {
        let mut sessions =
            match target {
                ForgetTarget::Commit(_) => return Ok(Vec::new()),
                ForgetTarget::Session(key) => {
                    let found = self.store.session(key)?;
                    vec![found.ok_or_else(|| EngineError::NotFound {
                        what: Wanted::Session,
                        text: key.path.clone(),
                    })?]
                }
                ForgetTarget::Project(project) => {
                    let filter = SessionFilter { project: Some(project.clone()), ..SessionFilter::default() };
                    self.store.sessions(&filter, Page { skip: 0, rows_max: SESSIONS_MAX })?
                }
            };
        let mut next = 0;
        let mut known: HashSet<SessionKey> = sessions.iter().map(|session| session.key.clone()).collect();
        while let Some(session) = sessions.get(next).cloned() {
            next += 1;
            // Nothing belongs to a file.
            if session.is_sidecar() {
                continue;
            }
            let going = self.going_with(&session)?.into_iter();
            sessions.extend(going.filter(|other| known.insert(other.key.clone())));
        }
        Ok(sessions)
    }

    /// Returns what belongs to a session: the sessions of its subagents, and its sidecars. What may be another session's of the same
    /// id too is among them.
    ///
    /// # Errors
    /// Store errors.
    pub fn belonging_to(&self, session: &Session) -> Result<Vec<Session>> {
        let parent = Some(session.session.clone());
        let filter = SessionFilter { parent, with_sidecars: true, ..SessionFilter::default() };
        let mut found = Vec::new();
        loop {
            let skip = to_u64(found.len());
            let page = Page { skip, rows_max: stemmata_store::PAGE_ROWS_MAX };
            let others = self.store.sessions(&filter, page)?;
            let is_last = others.len() < page.rows_max;
            found.extend(others);
            if is_last {
                break;
            }
        }
        if found.iter().any(Session::is_sidecar) {
            let namesakes = self.namesakes_of(session)?;
            found.retain(|own| !own.is_sidecar() || !is_of_another(own, session, &namesakes));
        }
        Ok(found)
    }

    /// Returns what only belongs to this session and goes with it.
    fn going_with(&self, session: &Session) -> Result<Vec<Session>> {
        let mut going = self.belonging_to(session)?;
        // A backup says the session's id and not which of two it is of: the last one takes it along.
        if going.iter().any(Session::is_sidecar) && !self.namesakes_of(session)?.is_empty() {
            going.retain(|own| !own.is_sidecar() || is_beside(own, session));
        }
        Ok(going)
    }

    /// Returns the other sessions of a machine that have the same id and hold something.
    pub(crate) fn namesakes_of(&self, session: &Session) -> Result<Vec<Session>> {
        let mut same = self.store.sessions_of(&session.session, NAMESAKES_MAX)?;
        same.retain(|other| {
            other.key != session.key && other.key.machine == session.key.machine && other.tip.is_some()
        });
        Ok(same)
    }

    /// Returns every commit of sessions: their chains, and what they saw beside these: early looks at an open turn, and what
    /// was in their transcripts before these were rewritten.
    pub(crate) fn commits_of(&self, sessions: &[Session]) -> Result<Vec<Commit>> {
        let mut known: HashSet<CommitId> = HashSet::new();
        let mut all = Vec::new();
        for session in sessions {
            let mut walk = Walk::new(self.store.as_ref(), session.tip);
            while let Some(commit) = walk.next()? {
                if known.insert(commit.id) {
                    all.push(commit);
                }
            }
            self.each_seen(&session.key, &mut |commit| {
                if known.insert(commit.id) {
                    all.push(commit);
                }
            })?;
        }
        Ok(all)
    }

    fn is_protected(&self, id: CommitId) -> Result<bool> {
        let own = self.store.annotations(id)?;
        Ok(own.pinned || !own.tags.is_empty())
    }

    fn refuse_protected(&self, wanted: &[Commit]) -> Result<()> {
        let mut reasons = Vec::new();
        let ids: Vec<CommitId> = wanted.iter().map(|commit| commit.id).collect();
        for page in ids.chunks(PAGE_COMMITS) {
            for Described { commit, annotations: own, .. } in self.described(page)? {
                if own.pinned {
                    reasons.push(format!("{} is pinned", commit.id));
                }
                reasons.extend(own.tags.iter().map(|tag| format!("{} is tagged `{tag}`", commit.id)));
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        Err(EngineError::Refused { what: Refusal::Forget, reasons })
    }

    /// Finds what needs commits that were to go, from what the store would keep.
    fn branches_of(&self, wish: &Forget, ids: &[CommitId]) -> Result<Vec<Branch>> {
        let planned = self.store.forget(&Forget { cut: Vec::new(), ..wish.clone() })?;
        let going: HashSet<CommitId> = ids.iter().copied().collect();
        let kept = planned.kept.iter().map(|kept| (kept.commit, kept.because));
        let cut = wish.cut.iter().filter(|id| going.contains(*id)).map(|id| (*id, Keep::Child));
        let mut branches: Vec<Branch> = Vec::new();
        for (from, because) in kept.chain(cut) {
            for child in self.store.children(from, CHILDREN_MAX)? {
                if !going.contains(&child.id) {
                    let session = self.another_session(child.id, wish)?;
                    branches.push(Branch { from, first: Some(child.id), session });
                }
            }
            if because == Keep::Session {
                let mut ending = self.sessions_that_end_at(from, wish)?;
                ending.extend(self.another_session(from, wish)?);
                for session in ending {
                    let session = Some(session);
                    if !branches.iter().any(|branch| branch.first.is_none() && branch.session == session) {
                        branches.push(Branch { from, first: None, session });
                    }
                }
            }
        }
        branches.sort_by_key(|branch| (branch.from, branch.first));
        branches.dedup();
        Ok(branches)
    }

    /// Returns sessions that stay and end at a commit, or were placed from it.
    fn sessions_that_end_at(&self, id: CommitId, wish: &Forget) -> Result<Vec<Session>> {
        let ends = |session: &Session| {
            session.tip == Some(id) || session.origin == stemmata_store::SessionOrigin::Placed(id)
        };
        let all = self.all_sessions()?.into_iter();
        Ok(all.filter(|session| ends(session) && !wish.sessions.contains(&session.key)).collect())
    }

    fn another_session(&self, id: CommitId, wish: &Forget) -> Result<Option<Session>> {
        for sighting in self.store.sightings(id, SIGHTINGS_MAX)? {
            let key = key_of_sighting(&sighting);
            if !wish.sessions.contains(&key)
                && let Some(session) = self.store.session(&key)?
            {
                return Ok(Some(session));
            }
        }
        Ok(None)
    }
}

/// Says whether a file is in the folder that has a transcript's name.
pub(crate) fn is_beside(file: &Session, session: &Session) -> bool {
    let folder = session.key.path.strip_suffix(".jsonl").unwrap_or(&session.key.path);
    file.key.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with(['/', '\\']))
        && file.key.machine == session.key.machine
}

/// Says whether a file is another session's of the same id, or of another machine.
pub(crate) fn is_of_another(file: &Session, session: &Session, namesakes: &[Session]) -> bool {
    let is_anothers = || namesakes.iter().any(|other| is_beside(file, other));
    file.key.machine != session.key.machine || (!is_beside(file, session) && is_anothers())
}
