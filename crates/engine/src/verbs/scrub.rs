//! `scrub`: has chains be what an import under today's rules would give, and removes what they were.
//!
//! New commits first, then sessions, cursors and redirects, then the old ones are forgotten: after a crash anywhere both
//! chains are whole, and the next scrub goes on. What is forgotten and how it leaves the files is the store's.

mod rewrite;
mod scope;
mod settle;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_api::v1::UnreadLedger;
use stemmata_model::{Closure, Commit, CommitId, EventSeq, LedgerId, Principal, to_u64};
use stemmata_store::maintain::forget::{Forget, Forgotten, Reworded};
use stemmata_store::{Places, Session, SessionKey, StoreError, Write};

use crate::capture::cursor::Cursor;
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::verbs::forget::ForgetTarget;
use crate::verbs::scan::{FoundIn, Holder, Rulers, ScanTarget, SecretFound};

/// Redirects that are read at once.
const REDIRECTS_PAGE: usize = 10_000;

/// Redirects in a row that are followed: a chain that was scrubbed so often.
const REDIRECT_STEPS_MAX: usize = 1_000;

/// What is to be scrubbed. Always whole trees, and all that are linked to them as copies: a part that stays would keep
/// the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScrubTarget {
    /// The tree of one commit.
    Commit(CommitId),
    /// The trees of a session and of its subagents.
    Session(SessionKey),
    /// Everything.
    All,
}

/// What would be scrubbed. Nothing else is, when it is applied.
#[derive(Debug)]
pub struct ScrubPlan {
    scope: Scope,
    changing: HashSet<CommitId>,
    reworded: Vec<Reworded>,
    /// What would be scrubbed.
    pub report: ScrubReport,
}

/// What was scrubbed, or what would be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScrubReport {
    /// Commits that were looked at.
    pub looked_at: u64,
    /// Findings by their kind.
    pub kinds: BTreeMap<String, u64>,
    /// Commits with findings.
    pub dirty: u64,
    /// Commits that become others, because of what they hold or of what they continue.
    pub rewritten: u64,
    /// Which commit became which; nothing in a plan.
    pub redirects: Vec<(CommitId, CommitId)>,
    /// Events that were looked at.
    pub events_looked_at: u64,
    /// Events with findings.
    pub events: u64,
    /// Ledgers that lose saved states, because these or their events have findings.
    pub ledgers: Vec<LedgerId>,
    /// Events that say nothing any more: those with findings, and what was published after them; nothing in a plan.
    pub events_forgotten: u64,
    /// Ledgers of which not all could be read, or in which nothing can be forgotten as they are: what they hold may stay.
    pub unread: Vec<UnreadLedger>,
    /// Sessions that end at another commit now, or would.
    pub sessions: Vec<Session>,
    /// What the store removed; nothing in a plan.
    pub forgotten: Forgotten,
}

/// What a scrub works on: parents before their children.
#[derive(Debug)]
struct Scope {
    commits: Vec<Commit>,
    /// Those with findings in their own content.
    dirty: HashSet<CommitId>,
    /// Those with findings in what was said of them.
    said: HashSet<CommitId>,
    /// Those at which a session ends whose title, directory, branch or version holds findings.
    named: HashSet<CommitId>,
    /// Those that an earlier scrub rewrote and did not get to remove.
    left: HashMap<CommitId, CommitId>,
    /// Events with findings, by their ledger; none of one of which only saved states have some.
    told: Told,
    /// The same of ledgers of the other engine.
    told_beside: Told,
    /// Events that were looked at.
    events: u64,
    /// Ledgers of which not all could be looked at.
    unread: Vec<UnreadLedger>,
    kinds: BTreeMap<String, u64>,
}

/// Events by their ledger.
type Told = BTreeMap<LedgerId, BTreeSet<EventSeq>>;

impl Scope {
    /// Takes note of something that was found.
    fn take(&mut self, found: SecretFound, is_beside: bool) {
        let told = if is_beside { &mut self.told_beside } else { &mut self.told };
        match found.holder {
            Holder::Commit(commit) if self.left.contains_key(&commit) => return,
            Holder::Commit(commit) => {
                let of = match found.place {
                    FoundIn::Line(_) => &mut self.dirty,
                    FoundIn::Annotation => &mut self.said,
                    FoundIn::Session(_) | FoundIn::Event(_) | FoundIn::State => &mut self.named,
                };
                of.insert(commit);
            }
            Holder::Event { ledger, seq, .. } => {
                told.entry(ledger).or_default().insert(seq);
            }
            Holder::State { ledger, .. } => {
                told.entry(ledger).or_default();
            }
        }
        *self.kinds.entry(found.kind).or_default() += 1;
    }

    fn with_findings(&self) -> HashSet<CommitId> {
        self.dirty.iter().chain(&self.said).chain(&self.named).copied().collect()
    }

    /// Returns the commits that become others.
    fn changing(&self) -> HashSet<CommitId> {
        let mut changing: HashSet<CommitId> = HashSet::new();
        for commit in &self.commits {
            let follows = commit.core.parent.is_some_and(|parent| changing.contains(&parent));
            if follows || self.dirty.contains(&commit.id) || self.left.contains_key(&commit.id) {
                changing.insert(commit.id);
            }
        }
        changing
    }
}

/// Says whether something was not there that a plan had seen.
fn is_missing(error: &EngineError) -> bool {
    use StoreError::{CommitMissing, ContentForgotten, ContentMissing, ParentMissing};
    matches!(
        error,
        EngineError::Store(ContentMissing(_) | ContentForgotten(_) | CommitMissing(_) | ParentMissing { .. })
    )
}

impl Engine {
    /// Scrubs what nobody was shown.
    ///
    /// # Errors
    /// As [`Engine::plan_scrub`] and [`Engine::apply_scrub`].
    pub fn scrub(&self, target: &ScrubTarget, by: &Principal) -> Result<ScrubReport> {
        self.apply_scrub(self.plan_scrub(target)?, by)
    }

    /// Finds out what of that which is stored today's rules would replace, and changes nothing.
    ///
    /// # Errors
    /// `Rules`, `NotFound`, store errors; `PlanMoved` where others keep removing what is looked at.
    pub fn plan_scrub(&self, target: &ScrubTarget) -> Result<ScrubPlan> {
        let planned = self.planned(target);
        let Some(missing) = planned.as_ref().err().filter(|error| is_missing(error)) else { return planned };
        // Removed meanwhile, as a look at an open turn is by the next one, or damaged: then it is missing once more.
        let again = self.planned(target);
        let moved = |error: &EngineError| is_missing(error) && error.to_string() != missing.to_string();
        if again.as_ref().is_err_and(moved) { Err(StoreError::PlanMoved.into()) } else { again }
    }

    fn planned(&self, target: &ScrubTarget) -> Result<ScrubPlan> {
        let scope = self.scope_of(target)?;
        let changing = scope.changing();
        let reworded = self.reworded(scope.said.difference(&changing))?;
        let told = || scope.told.iter().chain(&scope.told_beside);
        let report = ScrubReport {
            looked_at: count(scope.commits.len()),
            kinds: scope.kinds.clone(),
            dirty: count(scope.with_findings().len()),
            rewritten: count(changing.len()),
            events_looked_at: scope.events,
            events: told().map(|(_, events)| count(events.len())).sum(),
            ledgers: told().map(|(ledger, _)| ledger.clone()).collect::<BTreeSet<_>>().into_iter().collect(),
            unread: scope.unread.clone(),
            sessions: self.shown(self.sessions_through(&changing.union(&scope.named).copied().collect())?)?,
            ..ScrubReport::default()
        };
        Ok(ScrubPlan { scope, changing, reworded, report })
    }

    /// Scrubs exactly what was planned. Each commit that changes gets another id, and the old one leads to it; live capture
    /// goes on where it stopped. Nothing that is imported later brings back what was removed.
    ///
    /// # Errors
    /// `Refused` where something was added to an old chain meanwhile (run it again), `PlanMoved` where something was removed, store
    /// errors. What was done before an error stays, and the next scrub goes on from there.
    pub fn apply_scrub(&self, plan: ScrubPlan, by: &Principal) -> Result<ScrubReport> {
        let commits: Vec<CommitId> = plan.scope.commits.iter().map(|commit| commit.id).collect();
        let applied = self.applied(plan, by);
        if applied.as_ref().is_err_and(is_missing) {
            for id in commits {
                if self.store.commit(id)?.is_none() {
                    return Err(StoreError::PlanMoved.into());
                }
            }
        }
        applied
    }

    fn applied(&self, plan: ScrubPlan, by: &Principal) -> Result<ScrubReport> {
        let ScrubPlan { scope, changing, reworded, mut report } = plan;
        // Nothing looks into kept prompts, and a rule may be newer than they are.
        self.drop_derived()?;
        // Events first: what has only them says itself what is left to do, as long as it is there.
        self.forget_found(&scope.told, &mut report)?;
        if let Some(other) = self.with_other_log() {
            other.forget_found(&scope.told_beside, &mut report)?;
        }
        if changing.is_empty() && reworded.is_empty() && scope.named.is_empty() {
            report.forgotten.left(self.sweep()?);
            return Ok(report);
        }
        let made = self.rewrite(&scope, &changing)?;
        self.settle(&made, &report.sessions)?;
        // Where nothing else is removed, files are written anew for what sessions were called; titles come back behind that.
        let only_named = changing.is_empty() && reworded.is_empty();
        let renamed = if only_named { self.titled(&report.sessions)? } else { Vec::new() };
        let mut old: Vec<CommitId> = made.map.keys().copied().collect();
        old.sort();
        let wish = Forget {
            unroot: old,
            cut: made.sealed.clone(),
            lines: Some(made.lines.clone()),
            untitled: renamed.iter().map(|session| session.key.clone()).collect(),
            reworded,
            even_sighted: true,
            even_pinned: true,
            ..Forget::new(self.clock.now(), by.clone())
        };
        report.forgotten = self.store.forget(&wish)?;
        report.events_forgotten += report.forgotten.events;
        if let Some(beside) = self.beside_store() {
            beside.drop_memories_elsewhere()?;
        }
        self.title_again(renamed)?;
        report.forgotten.left(self.sweep()?);
        report.redirects = made.map.iter().map(|(from, to)| (*from, *to)).collect();
        report.redirects.sort();
        if let Some(kept) = report.forgotten.kept.first() {
            let reason = format!("something was added to {} meanwhile; run it again", kept.commit);
            return Err(EngineError::Refused { what: Refusal::RemoveScrubbed, reasons: vec![reason] });
        }
        Ok(report)
    }

    /// Has events say nothing any more in which something was found, with what was made of them.
    fn forget_found(&self, told: &Told, report: &mut ScrubReport) -> Result<()> {
        if !told.is_empty() {
            self.leave_index_due_elsewhere()?;
        }
        for (ledger, events) in told {
            match self.log.forget_places(ledger, &Places::These(events.clone())) {
                Ok(events) => report.events_forgotten += events,
                // They say nothing any more, and a file still does.
                Err(StoreError::Unclean { reason }) => {
                    report.events_forgotten += count(events.len());
                    report.forgotten.unfinished = Some(reason);
                }
                // It is in the report as one that could not be read: it is damaged, and keeps nobody else from scrubbing.
                Err(StoreError::LedgerDamaged { .. })
                    if report.unread.iter().any(|unread| unread.ledger == *ledger) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns what a commit that was scrubbed became, as pairs of its old id and its newest one, for all whose old id
    /// begins so (with or without the tag).
    ///
    /// # Errors
    /// Store errors.
    pub fn redirected(&self, text: &str) -> Result<Vec<(CommitId, CommitId)>> {
        let wanted = text.strip_prefix(stemmata_model::IdKind::Commit.tag()).unwrap_or(text);
        if wanted.len() < stemmata_model::PREFIX_CHARS_MIN {
            return Ok(Vec::new());
        }
        let all = self.all_redirects()?;
        let mut found: Vec<(CommitId, CommitId)> = all
            .keys()
            .filter(|from| {
                let id = from.to_string();
                id.strip_prefix(stemmata_model::IdKind::Commit.tag()).is_some_and(|id| id.starts_with(wanted))
            })
            .map(|from| (*from, end_of(&all, *from)))
            .collect();
        found.sort();
        Ok(found)
    }

    /// Returns the newest commits that scrubbed ones became whose old ids begin so.
    pub(crate) fn redirected_to(&self, text: &str) -> Result<Vec<CommitId>> {
        let mut found: Vec<CommitId> = self.redirected(text)?.into_iter().map(|(_, to)| to).collect();
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Returns every redirect.
    fn all_redirects(&self) -> Result<HashMap<CommitId, CommitId>> {
        let mut all = HashMap::new();
        let mut after = None;
        loop {
            let page = self.store.redirects(after, REDIRECTS_PAGE)?;
            after = page.last().map(|(from, _)| *from);
            let is_last = page.len() < REDIRECTS_PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Returns sessions that end at one of these commits, were read up to one, or were placed from one.
    fn sessions_through(&self, commits: &HashSet<CommitId>) -> Result<Vec<Session>> {
        let mut through = Vec::new();
        for session in self.all_sessions()? {
            let placed = match session.origin {
                stemmata_store::SessionOrigin::Placed(from) => Some(from),
                stemmata_store::SessionOrigin::Imported | stemmata_store::SessionOrigin::Api => None,
            };
            let read = self.store.cursor(&session.key)?.as_deref().and_then(Cursor::decode);
            let read = read.iter().flat_map(Cursor::commits);
            if session.tip.into_iter().chain(placed).chain(read).any(|id| commits.contains(&id)) {
                through.push(session);
            }
        }
        Ok(through)
    }

    /// Returns sessions as they are now, where they have a title.
    fn titled(&self, sessions: &[Session]) -> Result<Vec<Session>> {
        let mut titled = Vec::new();
        for session in sessions {
            titled.extend(self.store.session(&session.key)?.filter(|now| now.title.is_some()));
        }
        Ok(titled)
    }

    /// Returns sessions as a report may show them: a title may be what is to be replaced.
    fn shown(&self, mut sessions: Vec<Session>) -> Result<Vec<Session>> {
        let mut rulers = Rulers::new(self);
        for session in &mut sessions {
            if let (Some(title), Some(tip)) = (&session.title, session.tip) {
                session.title = Some(rulers.of(tip)?.scrub_text(title)?.text.into_owned());
            }
        }
        Ok(sessions)
    }

    fn title_again(&self, renamed: Vec<Session>) -> Result<()> {
        for Session { key, title, .. } in renamed {
            let value = self.store.cursor(&key)?;
            let Some(now) = self.store.session(&key)?.filter(|now| now.title.is_none()) else { continue };
            let session = Write::Session(Box::new(Session { title, ..now }));
            self.commit_batch(vec![Write::ExpectCursor { key, value }, session])?;
        }
        Ok(())
    }

    fn is_sealed(&self, hole: &Commit) -> Result<bool> {
        Ok(hole.closure == Closure::Forgotten && self.is_tombstoned(hole.id)?)
    }
}

/// Follows redirects to the newest commit.
fn end_of(all: &HashMap<CommitId, CommitId>, from: CommitId) -> CommitId {
    let mut at = from;
    for _ in 0..REDIRECT_STEPS_MAX {
        match all.get(&at) {
            Some(next) => at = *next,
            None => break,
        }
    }
    at
}

fn count(length: usize) -> u64 {
    to_u64(length)
}
