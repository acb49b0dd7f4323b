//! `gc`: has the store collect what retention lets go and what nobody needs.
//!
//! Which sessions are old enough is decided in `retention`, what still needs them by the store.

use std::collections::HashSet;

use stemmata_model::{Closure, CommitId, to_u64};
use stemmata_store::maintain::collect::{Collect, Collected};
use stemmata_store::{Page, Session, SessionFilter, SessionKey, SessionOrigin};

use crate::capture::cursor::Cursor;
use crate::capture::source::look;
use crate::chain::beside::key_of_sighting;
use crate::engine::Engine;
use crate::error::Result;
use crate::retention::{DAY_US, RetentionRules, SessionAge, is_older, retired};

/// Commits that are looked at in one page.
const PAGE_COMMITS: usize = 1_000;

/// Sightings of one commit that are looked at.
const SIGHTINGS_MAX: usize = 1_000;

/// How to collect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectOptions {
    /// What is retired.
    pub rules: RetentionRules,
    /// Days that something stays condemned before it is deleted.
    pub grace_days: u32,
}

/// A session that is let go.
#[derive(Debug, Clone, PartialEq)]
pub struct RetiredSession {
    /// The session.
    pub session: Session,
    /// Why.
    pub because: String,
}

/// What would be collected. Nothing else is, when it is applied.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectPlan {
    wish: Collect,
    /// What would be collected.
    pub report: CollectReport,
}

/// What was collected, or would be.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectReport {
    /// Sessions that retention lets go. Their sidecars go with them.
    pub retired: Vec<RetiredSession>,
    /// How many files beside transcripts these are.
    pub sidecars: u64,
    /// Early looks at open turns that it lets go.
    pub provisional: u64,
    /// What the store did.
    pub collected: Collected,
    /// What is left to do on disk, and why.
    pub unfinished: Option<String>,
}

impl Engine {
    /// Collects what nobody was shown: whatever it is by then.
    ///
    /// # Errors
    /// Store errors.
    pub fn collect(&self, options: &CollectOptions) -> Result<CollectReport> {
        let mut plan = self.plan_collect(options)?;
        plan.wish.expect = None;
        self.apply_collect(plan)
    }

    /// Finds out what retention lets go and what nobody needs, and changes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn plan_collect(&self, options: &CollectOptions) -> Result<CollectPlan> {
        let now = self.clock.now();
        let sessions = self.all_sessions()?;
        let ages: Vec<SessionAge> =
            sessions.iter().map(|session| self.age_of(session)).collect::<Result<_>>()?;
        let chosen = retired(&options.rules, now, &ages);
        let places: HashSet<usize> = chosen.iter().map(|(place, _)| *place).collect();
        let (gone, kept): (Vec<_>, Vec<_>) =
            sessions.into_iter().enumerate().partition(|(place, _)| places.contains(place));
        let gone: Vec<Session> = gone.into_iter().map(|(_, session)| session).collect();
        let kept: Vec<Session> = kept.into_iter().map(|(_, session)| session).collect();
        let mut commits = self.only_of(&gone, &kept)?;
        let looks = match options.rules.provisional_days {
            Some(days) => self.old_looks(days, &kept, &commits)?,
            None => Vec::new(),
        };
        commits.extend(&looks);
        let grace_us = i64::from(options.grace_days).saturating_mul(DAY_US);
        let mut wish = Collect { retired: commits, now, grace_us, expect: None, dry_run: true };
        let collected = self.store.collect(&wish)?;
        wish.expect = Some(collected.clone());
        wish.dry_run = false;
        let because = chosen.into_iter().map(|(_, because)| because);
        let sidecars = gone.iter().filter(|session| session.is_sidecar()).count() as u64;
        let retired = gone
            .into_iter()
            .zip(because)
            .filter(|(session, _)| !session.is_sidecar())
            .map(|(session, because)| RetiredSession { session, because })
            .collect();
        let provisional = to_u64(looks.len());
        Ok(CollectPlan {
            wish,
            report: CollectReport { retired, sidecars, provisional, collected, unfinished: None },
        })
    }

    /// Condemns and deletes exactly what was planned.
    ///
    /// # Errors
    /// `PlanMoved` where others wrote meanwhile and something else would go, and then nothing does; store errors.
    pub fn apply_collect(&self, plan: CollectPlan) -> Result<CollectReport> {
        let collected = self.store.collect(&plan.wish)?;
        let unfinished = self.sweep()?;
        Ok(CollectReport { collected, unfinished, ..plan.report })
    }

    /// Returns all sessions that hold something, and all sidecars.
    pub(crate) fn all_sessions(&self) -> Result<Vec<Session>> {
        self.sessions_in(&SessionFilter { with_sidecars: true, ..SessionFilter::default() })
    }

    /// Returns the sessions of a filter that hold something.
    pub(crate) fn sessions_in(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        let mut all = Vec::new();
        let mut skip = 0;
        loop {
            let page = Page { skip, rows_max: stemmata_store::PAGE_ROWS_MAX };
            let sessions = self.store.sessions(filter, page)?;
            let count = sessions.len();
            all.extend(sessions.into_iter().filter(|session| session.tip.is_some()));
            if count < page.rows_max {
                return Ok(all);
            }
            skip += to_u64(count);
        }
    }

    fn age_of(&self, session: &Session) -> Result<SessionAge> {
        Ok(SessionAge {
            session: session.session.clone(),
            parent: session.parent_session.clone(),
            cwd: session.cwd.clone(),
            last_at: session.last_at,
            // A file that changed since is still one of the session that it belongs to.
            is_unread: !session.is_sidecar() && self.is_unread(session)?,
            is_sidecar: session.is_sidecar(),
        })
    }

    /// Returns whether a transcript of this machine is not as it was when it was read.
    fn is_unread(&self, session: &Session) -> Result<bool> {
        if session.key.machine != self.identity.machine {
            return Ok(false);
        }
        let Some((path, metadata)) = look(std::path::Path::new(&session.key.path)) else {
            return Ok(false);
        };
        let cursor = self.store.cursor(&session.key)?;
        Ok(cursor.and_then(|bytes| Cursor::decode(&bytes)).is_none_or(|cursor| {
            !cursor.stamp.still_is(&path, &metadata) || cursor.stamp.length != cursor.seen_bytes
        }))
    }

    /// Returns the commits of sessions that no kept session went through, ends at or was placed from.
    fn only_of(&self, gone: &[Session], kept: &[Session]) -> Result<Vec<CommitId>> {
        let ends = ends_of(kept);
        let kept: HashSet<SessionKey> = kept.iter().map(|session| session.key.clone()).collect();
        let mut found = Vec::new();
        self.each_described(&self.commits_of(gone)?, &mut |described| {
            let mut is_seen = ends.contains(&described.commit.id);
            for sighting in self.sightings_of(&described, SIGHTINGS_MAX)?.iter() {
                is_seen |= kept.contains(&key_of_sighting(sighting));
            }
            if !is_seen {
                found.push(described.commit.id);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns old provisional and covered commits that no session ends at.
    fn old_looks(&self, days: u32, kept: &[Session], known: &[CommitId]) -> Result<Vec<CommitId>> {
        let now = self.clock.now();
        let ends = ends_of(kept);
        let known: HashSet<CommitId> = known.iter().copied().collect();
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let page = self.store.commits_after(after, PAGE_COMMITS)?;
            let Some(last) = page.last() else {
                return Ok(found);
            };
            after = Some(last.id);
            for commit in page {
                if matches!(commit.closure, Closure::Provisional | Closure::Covered)
                    && is_older(commit.core.created_at, days, now)
                    && !ends.contains(&commit.id)
                    && !known.contains(&commit.id)
                    && self.store.children(commit.id, 1)?.is_empty()
                {
                    found.push(commit.id);
                }
            }
        }
    }
}

/// Where sessions end, and what they were placed from.
fn ends_of(sessions: &[Session]) -> HashSet<CommitId> {
    let placed = |session: &Session| match session.origin {
        SessionOrigin::Placed(from) => Some(from),
        SessionOrigin::Imported | SessionOrigin::Api => None,
    };
    sessions.iter().flat_map(|session| [session.tip, placed(session)]).flatten().collect()
}
