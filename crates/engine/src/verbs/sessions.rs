//! `list` and `log`: sessions, the one with the latest activity first, a page at a time.

use std::collections::HashMap;

use stemmata_model::{CommitId, CommitType};
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter};

use crate::chain::beside::PAGE_COMMITS;
use crate::engine::Engine;
use crate::error::Result;
use crate::verbs::history::HistoryRow;

/// Sessions that are read at once: a few screens.
const PAGE_ROWS: usize = 128;

/// Sessions that are looked at to count subagents, however old the listed ones are.
const COUNTED_MAX: u64 = 200_000;

/// Commits of one chain that are looked at to count its compactions.
const COUNTED_COMMITS_MAX: usize = 2_000;

/// Which sessions are listed, and what is wanted of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// Which.
    pub filter: SessionFilter,
    /// Whether those are listed that hold nothing any more. They are known still, so that they are not read again.
    pub with_emptied: bool,
    /// Whether compactions and subagents are counted.
    pub counts: bool,
    /// Whether the newest commit is described.
    pub tips: bool,
    /// Where to go on: [`SessionRows::next_skip`] of the page before.
    pub skip: u64,
    /// Sessions at most.
    pub rows_max: usize,
}

/// What a chain and its session hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionCounts {
    /// Compactions of the chain.
    pub compactions: u64,
    /// Whether only the newest commits of a long chain were looked at.
    pub is_cut: bool,
    /// Sessions of subagents.
    pub subagents: u64,
}

/// A session of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// The session.
    pub session: Session,
    /// The name of the machine that it came from, if it was not recorded in this store.
    pub foreign_machine: Option<String>,
    /// The commit that a client copied it from.
    pub copied_from: Option<CommitId>,
    /// Its counts, where they were asked for.
    pub counts: Option<SessionCounts>,
    /// Its newest commit, where it was asked for and is there.
    pub tip: Option<HistoryRow>,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionRows {
    /// The sessions.
    pub rows: Vec<SessionRow>,
    /// Where the listing goes on; none where it is complete.
    pub next_skip: Option<u64>,
}

impl Engine {
    /// Lists sessions, the one with the latest activity first.
    ///
    /// # Errors
    /// Store errors.
    pub fn sessions(&self, query: &SessionQuery) -> Result<SessionRows> {
        let (sessions, next_skip) = self.page_of_sessions(query)?;
        let subagents = if query.counts { self.count_subagents(&sessions)? } else { HashMap::new() };
        let tips = if query.tips { self.tips_of(&sessions)? } else { HashMap::new() };
        let mut rows = Vec::with_capacity(sessions.len());
        for session in sessions {
            let copied = session.tip.map(|tip| self.copied_from(tip)).transpose()?.flatten();
            let subagents = subagents.get(session.session.as_str()).copied().unwrap_or(0);
            let counts = query.counts.then(|| self.counts_of(session.tip, subagents)).transpose()?;
            rows.push(SessionRow {
                foreign_machine: self.foreign_machine(&session)?,
                copied_from: copied.map(|link| link.to),
                counts,
                tip: session.tip.and_then(|tip| tips.get(&tip)).cloned(),
                session,
            });
        }
        Ok(SessionRows { rows, next_skip })
    }

    /// Reads the sessions that are wanted, and says where more of them are.
    fn page_of_sessions(&self, query: &SessionQuery) -> Result<(Vec<Session>, Option<u64>)> {
        let mut sessions = Vec::new();
        let mut skip = query.skip;
        loop {
            let missing = query.rows_max.saturating_add(1).saturating_sub(sessions.len());
            let page = Page { skip, rows_max: missing.clamp(PAGE_ROWS, PAGE_ROWS_MAX) };
            let rows = self.store.sessions(&query.filter, page)?;
            let is_last = rows.len() < page.rows_max;
            for session in rows {
                if query.with_emptied || session.tip.is_some() {
                    if sessions.len() == query.rows_max {
                        return Ok((sessions, Some(skip)));
                    }
                    sessions.push(session);
                }
                skip += 1;
            }
            if is_last {
                return Ok((sessions, None));
            }
        }
    }

    /// Counts the subagents' sessions of some sessions. Reads back to when the first of these began: a subagent is never active
    /// before.
    fn count_subagents(&self, sessions: &[Session]) -> Result<HashMap<String, u64>> {
        let mut counts: HashMap<String, u64> = HashMap::new();
        let began = sessions.iter().filter_map(|session| session.started_at).min();
        let rows_max = sessions.len().clamp(PAGE_ROWS, PAGE_ROWS_MAX);
        let mut skip = 0;
        while skip < COUNTED_MAX && !sessions.is_empty() {
            let rows = self.store.sessions(&SessionFilter::default(), Page { skip, rows_max })?;
            for parent in rows.iter().filter_map(|session| session.parent_session.as_ref()) {
                *counts.entry(parent.to_string()).or_default() += 1;
            }
            let reached = rows.last().and_then(|session| session.last_at);
            if rows.len() < rows_max || reached < began {
                break;
            }
            skip += u64::try_from(rows.len()).expect("a length fits 64 bits");
        }
        Ok(counts)
    }

    /// Describes the newest commits of sessions; those that are gone are left out.
    fn tips_of(&self, sessions: &[Session]) -> Result<HashMap<CommitId, HistoryRow>> {
        let mut tips: Vec<CommitId> = sessions.iter().filter_map(|session| session.tip).collect();
        tips.sort_unstable();
        tips.dedup();
        let mut rows = HashMap::with_capacity(tips.len());
        for page in tips.chunks(PAGE_COMMITS) {
            let page = self.summarized(self.store.described(page)?)?;
            rows.extend(page.into_iter().map(|row| (row.commit.id, row)));
        }
        Ok(rows)
    }

    fn counts_of(&self, tip: Option<CommitId>, subagents: u64) -> Result<SessionCounts> {
        let chain = match tip {
            Some(tip) => self.store.ancestors(tip, COUNTED_COMMITS_MAX)?,
            None => Vec::new(),
        };
        let compactions =
            chain.iter().filter(|commit| commit.core.commit_type == CommitType::Compaction).count();
        Ok(SessionCounts {
            compactions: u64::try_from(compactions).expect("a count fits 64 bits"),
            is_cut: chain.len() >= COUNTED_COMMITS_MAX,
            subagents,
        })
    }
}
