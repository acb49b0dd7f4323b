//! `list`: sessions, the one with the latest activity first, a page at a time.
//!
//! What a row says is known without reading its chain; `counts` and `tips` read chains and are asked for apart.

pub(crate) mod figures;
mod fold;
pub(crate) mod shown;
pub(crate) mod stats;
pub(crate) mod totals;

use std::collections::{HashMap, HashSet};

use stemmata_model::{CommitId, CommitType, Granularity, Timestamp, to_u64};
use stemmata_prompt::title::title;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter};

use self::fold::Folds;
use crate::capture::stopped::StoppedReading;
use crate::chain::beside::PAGE_COMMITS;
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::ProjectScope;
use crate::reference::words_in;
use crate::verbs::history::HistoryRow;
use crate::verbs::short_id::ShortId;

/// Sessions that are read at once: a few screens.
const PAGE_ROWS: usize = 128;

/// Sessions that are looked at to count subagents, however old the listed ones are.
const COUNTED_MAX: u64 = 200_000;

/// Commits of one chain that are looked at to count its compactions.
const COUNTED_COMMITS_MAX: usize = 2_000;

/// A session with its short id, and whether that means this copy.
type NamedRow = (Session, ShortId, bool);

/// Which sessions are listed, and what is wanted of each.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct SessionQuery {
    /// Which.
    pub filter: SessionFilter,
    /// Which of these.
    pub only: SessionOnly,
    /// Whether those are listed that hold nothing any more. They are known still, so that they are not read again.
    pub with_emptied: bool,
    /// Whether copies that nobody used are counted in their original's row, in place of rows of their own.
    pub folded: bool,
    /// Whether compactions and subagents are counted.
    pub counts: bool,
    /// Whether the newest commit is described.
    pub tips: bool,
    /// Where to go on: [`SessionRows::next_skip`] of the page before.
    pub skip: u64,
    /// Sessions at most.
    pub rows_max: usize,
}

/// What sessions have in common that are listed. Absent fields hold for every session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionOnly {
    /// The client that wrote it.
    pub client: Option<String>,
    /// Active at or after this.
    pub since: Option<Timestamp>,
    /// Active at or before this.
    pub until: Option<Timestamp>,
    /// On this git branch.
    pub branch: Option<String>,
    /// With these words in its title.
    pub title: Option<String>,
    /// Of these projects; none: of any.
    pub projects: Option<ProjectScope>,
}

impl SessionOnly {
    fn holds(&self, session: &Session) -> bool {
        self.holds_at_any_time(session)
            && self.since.is_none_or(|since| session.last_at >= Some(since))
            && self.until.is_none_or(|until| session.last_at.is_some_and(|at| at <= until))
    }

    /// Says whether all but the time holds.
    fn holds_at_any_time(&self, session: &Session) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|text| own == Some(text))
        };
        let titled = self.title.as_ref();
        is(&self.client, Some(runtime_of(&session.format)))
            && is(&self.branch, session.git_branch.as_deref())
            && self.projects.as_ref().is_none_or(|projects| projects.holds(session))
            && titled.is_none_or(|words| words_in(words, &title(session.title.as_deref())))
    }
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
    /// The reference that means it: the short id, or its newest commit where another copy of it is the better one.
    pub reference: String,
    /// Copies of it that nobody used, which have no rows of their own.
    pub folded: u64,
    /// The name of its project.
    pub project: Option<String>,
    /// The name of the machine that it came from, if it was not recorded in this store.
    pub foreign_machine: Option<String>,
    /// The commit that a client copied it from.
    pub copied_from: Option<CommitId>,
    /// Its counts, where they were asked for.
    pub counts: Option<SessionCounts>,
    /// Its newest commit, where it was asked for and is there.
    pub tip: Option<HistoryRow>,
    /// Where reading of its transcript stopped before the end.
    pub stopped: Option<StoppedReading>,
}

/// Returns how many turns a session has; none where its commits are no turns.
pub fn turns_of(session: &Session) -> Option<u64> {
    (session.granularity == Granularity::Turn).then_some(session.commits)
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
        let folds = self.folds()?;
        let (sessions, next_skip) = self.page_of_sessions(query, &folds)?;
        let only: Vec<&Session> = sessions.iter().map(|(session, ..)| session).collect();
        let subagents = if query.counts { self.count_subagents(&only)? } else { HashMap::new() };
        let tips = if query.tips { self.tips_of(&only)? } else { HashMap::new() };
        let mut rows = Vec::with_capacity(sessions.len());
        for (session, id, is_best) in sessions {
            let subagents = subagents.get(session.session.as_str()).copied().unwrap_or(0);
            let counts = query.counts.then(|| self.counts_of(session.tip, subagents)).transpose()?;
            let copies = if query.folded { id.sessions.saturating_sub(1) } else { 0 };
            let reference = match session.tip.filter(|_| !is_best) {
                Some(tip) => tip.short(self.unique_chars(tip, stemmata_model::SHORT_CHARS_MIN)?),
                None => id.text,
            };
            rows.push(SessionRow {
                reference,
                project: self.project_name(&session)?,
                folded: copies + if query.folded { folds.count(&session.key) } else { 0 },
                foreign_machine: self.foreign_machine(&session)?,
                copied_from: folds.original_of(&session.key),
                counts,
                tip: session.tip.and_then(|tip| tips.get(&tip)).cloned(),
                stopped: self.stopped_reading(&session)?,
                session,
            });
        }
        Ok(SessionRows { rows, next_skip })
    }

    /// Reads the sessions that are wanted, each with its short id and whether that means this copy; and says where more of them
    /// are.
    fn page_of_sessions(&self, query: &SessionQuery, folds: &Folds) -> Result<(Vec<NamedRow>, Option<u64>)> {
        let mut sessions = Vec::new();
        let mut skip = query.skip;
        loop {
            let missing = query.rows_max.saturating_add(1).saturating_sub(sessions.len());
            let page = Page { skip, rows_max: missing.clamp(PAGE_ROWS, PAGE_ROWS_MAX) };
            let rows = self.store.sessions(&query.filter, page)?;
            let is_last = rows.len() < page.rows_max;
            for session in rows {
                // What follows is older still.
                if query.only.since.is_some_and(|since| session.last_at < Some(since)) {
                    return Ok((sessions, None));
                }
                if let Some(row) = self.wanted_row(query, folds, session)? {
                    if sessions.len() == query.rows_max {
                        return Ok((sessions, Some(skip)));
                    }
                    sessions.push(row);
                }
                skip += 1;
            }
            if is_last {
                return Ok((sessions, None));
            }
        }
    }

    /// Returns a session where the listing shows it.
    fn wanted_row(
        &self,
        query: &SessionQuery,
        folds: &Folds,
        session: Session,
    ) -> Result<Option<(Session, ShortId, bool)>> {
        let is_there = query.with_emptied || session.tip.is_some();
        if !is_there || !query.only.holds(&session) || (query.folded && folds.hides(&session)) {
            return Ok(None);
        }
        let mut id = self.short_id(&session.session)?;
        if id.sessions < 2 {
            return Ok(Some((session, id, true)));
        }
        // Sessions of one id that have nothing in common are no copies.
        let copies = self.same_conversation(&session)?;
        id.sessions = to_u64(copies.len());
        let best = match self.best_of(session.session.as_str(), copies) {
            // Strangers' copies, of which none is better.
            Err(crate::EngineError::Ambiguous { .. }) => {
                return Ok((!query.folded).then_some((session, id, false)));
            }
            best => best?,
        };
        let is_best = best.is_none_or(|best| best.key == session.key);
        if query.folded && !is_best {
            return Ok(None);
        }
        let is_named = is_best && self.is_named_by_id(&session)?;
        Ok(Some((session, id, is_named)))
    }

    /// Returns the shortest reference that means a session: its id, or its newest commit where the id means another copy of it.
    ///
    /// # Errors
    /// Store errors.
    pub fn reference_to(&self, session: &Session) -> Result<String> {
        match session.tip {
            Some(tip) if !self.is_named_by_id(session)? => {
                Ok(tip.short(self.unique_chars(tip, stemmata_model::SHORT_CHARS_MIN)?))
            }
            _ => Ok(self.short_id(&session.session)?.text),
        }
    }

    /// Says whether a session's id means this one.
    fn is_named_by_id(&self, session: &Session) -> Result<bool> {
        match self.session_of_id(session.session.as_str()) {
            Ok(named) => Ok(named.is_none_or(|named| named.key == session.key)),
            Err(crate::EngineError::Ambiguous { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Counts the subagents' sessions of some sessions. Reads back to when the first of these began: a subagent is never active
    /// before.
    fn count_subagents(&self, sessions: &[&Session]) -> Result<HashMap<String, u64>> {
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
            skip += to_u64(rows.len());
        }
        Ok(counts)
    }

    /// Describes the newest commits of sessions; those that are gone are left out.
    fn tips_of(&self, sessions: &[&Session]) -> Result<HashMap<CommitId, HistoryRow>> {
        let tips: HashSet<CommitId> = sessions.iter().filter_map(|session| session.tip).collect();
        let mut tips: Vec<CommitId> = tips.into_iter().collect();
        tips.sort_unstable();
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
            compactions: to_u64(compactions),
            is_cut: chain.len() >= COUNTED_COMMITS_MAX,
            subagents,
        })
    }
}
