//! `stats`: sessions, active time, reported tokens and their cost, by day, week, month, project, client or model.
//!
//! A commit counts once, for the session that began first of those whose chains hold it. What a transcript says is read once
//! and then kept (`efforts`), so that a call reads sessions and commits, and only the contents that are new.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use stemmata_api::v1::{ModelPrice, ReportedTokens, Stats, StatsBy, StatsRow};
use stemmata_model::{Closure, Commit, CommitId, Note, NoteCode, Timestamp};
use stemmata_prompt::story::{Effort, EffortFold, SLOT_MICROS};
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Session, StoreErrorKind};

use super::SessionOnly;
use super::fold::Folds;
use crate::calibration::plain_name;
use crate::chain::segments::read_whole;
use crate::efforts::{Efforts, Part};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::settings::cost_micros;
use crate::verbs::costs::began;

/// Commits of a chain that are read at once.
const PAGE_COMMITS: usize = 256;

/// Subagents of subagents that are followed to the session that they belong to.
const PARENTS_MAX: usize = 16;

/// Models that a note names at most.
const NAMED_MAX: usize = 8;

const MINUTE_MICROS: i64 = 60_000_000;
const DAY_MICROS: i64 = 24 * 60 * MINUTE_MICROS;

/// What is counted.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsQuery {
    /// What each row is of.
    pub by: StatsBy,
    /// Which sessions, and which part of their time.
    pub only: SessionOnly,
    /// How many minutes the days' zone is before UTC.
    pub utc_offset_minutes: i32,
    /// What tokens cost.
    pub prices: Vec<ModelPrice>,
}

/// A row that is being counted.
#[derive(Debug, Default)]
struct Tally {
    sessions: HashSet<usize>,
    reported: HashSet<usize>,
    active: HashMap<(usize, Option<i64>), i64>,
    tokens: BTreeMap<Option<String>, ReportedTokens>,
    is_reported: bool,
}

/// The session that a transcript counts for, and its number.
struct Whose<'a> {
    number: usize,
    session: &'a Session,
}

impl Engine {
    /// Counts what was done. `heard` is told how many transcripts were looked at, and of how many; where it says no, the counting
    /// ends with what was counted until then, and what was read stays read.
    ///
    /// # Errors
    /// Store errors.
    pub fn stats(&self, query: &StatsQuery, heard: &mut dyn FnMut(u64, u64) -> bool) -> Result<Stats> {
        let folds = self.folds()?;
        let mut sessions = Vec::new();
        self.session_totals(usize::MAX, &mut |session| sessions.push(session))?;
        sessions.sort_by(|one, other| began(one).cmp(&began(other)));
        let whose = whose(&sessions);
        let store_id = self.store.identity()?.store_id;
        let mut kept = self.efforts.load(store_id);
        let (before, mut used) = (kept.len(), HashMap::new());
        let (mut known, mut unread) = (HashSet::new(), 0_u64);
        let mut counted = Counted::of(query, self.projects_of(query.by, &whose)?);
        let mut is_new = false;
        for (done, (session, whose)) in sessions.iter().zip(&whose).enumerate() {
            if !heard(done as u64, sessions.len() as u64) {
                used.extend(kept.drain());
                break;
            }
            let Some((part, ids)) = self.own_part(session, &folds, &mut known)? else { continue };
            let is_wanted = query.only.holds_at_any_time(whose.session);
            let efforts = match kept.remove(&part) {
                Some(efforts) => efforts,
                None if !is_wanted => continue,
                None => match self.efforts_of(&ids) {
                    Err(EngineError::Format { .. }) => {
                        unread += 1;
                        continue;
                    }
                    efforts => {
                        is_new = true;
                        efforts?
                    }
                },
            };
            if is_wanted {
                counted.add(session, whose, &efforts);
            }
            used.insert(part, efforts);
        }
        let mut notes = counted.notes(unread);
        if is_new || used.len() != before {
            notes.extend(self.efforts.keep(store_id, &used));
        }
        Ok(counted.finish(notes))
    }

    /// Returns the projects of sessions by machine and folder, where they are counted by project.
    fn projects_of<'s>(&self, by: StatsBy, whose: &[Whose<'s>]) -> Result<Projects<'s>> {
        if by != StatsBy::Project {
            return Ok(Projects::new());
        }
        self.project_folders(whose.iter().filter_map(|whose| folder_of(whose.session)))
    }

    /// Returns the commits that count for a session, the newest first: its chain, without what an earlier session has of it.
    /// Returns nothing where all of it is another's.
    fn own_part(
        &self,
        session: &Session,
        folds: &Folds,
        known: &mut HashSet<CommitId>,
    ) -> Result<Option<(Part, Vec<CommitId>)>> {
        // What a client copied counts for the original.
        let copied = folds.copied_commits(&session.key);
        let (mut own, mut at) = (Vec::new(), session.tip);
        while let Some(from) = at.filter(|commit| !known.contains(commit)) {
            let page = match self.store.ancestors(from, PAGE_COMMITS) {
                // What was forgotten since the sessions were listed counts nothing.
                Err(error) if error.kind() == StoreErrorKind::NotFound => break,
                page => page?,
            };
            let is_own = |commit: &&Commit| commit.depth >= copied && !known.contains(&commit.id);
            let ids: Vec<CommitId> = page.iter().take_while(is_own).map(|commit| commit.id).collect();
            let last = ids.len().checked_sub(1).and_then(|last| page.get(last));
            at = last.and_then(|commit| commit.core.parent);
            let is_end = ids.len() < page.len();
            known.extend(ids.iter().copied());
            own.extend(ids);
            if is_end {
                break;
            }
        }
        Ok(own.first().copied().map(|tip| ((tip, at), own)))
    }

    /// Reads what was done in some commits, the newest first.
    fn efforts_of(&self, commits: &[CommitId]) -> Result<Efforts> {
        let mut fold = EffortFold::default();
        for id in commits.iter().rev() {
            let Some(commit) = self.store.commit(*id)?.filter(|commit| commit.closure != Closure::Forgotten)
            else {
                continue;
            };
            let bytes = read_whole(self, commit.core.native_artifact())?;
            self.own_entries(&commit, &bytes)?.iter().for_each(|entry| fold.add(entry));
        }
        Ok(fold.finish())
    }
}

/// Says for each session which one it counts for: a subagent for the one that started it, where that is there, and else for
/// one that all of its subagents share.
fn whose<'s>(sessions: &'s [Session]) -> Vec<Whose<'s>> {
    let mains = sessions.iter().filter(|session| session.parent_session.is_none());
    let mut by_id: HashMap<&str, &Session> = HashMap::new();
    mains.for_each(|session| {
        by_id.entry(session.session.as_str()).or_insert(session);
    });
    let parents: HashMap<&str, &str> = sessions
        .iter()
        .filter_map(|session| Some((session.session.as_str(), session.parent_session.as_ref()?.as_str())))
        .collect();
    let mut numbers: HashMap<(&str, &str), usize> = HashMap::new();
    let number_of = |session: &'s Session| {
        let Some(parent) = &session.parent_session else {
            let next = numbers.len();
            let number =
                *numbers.entry((session.session.as_str(), session.key.path.as_str())).or_insert(next);
            return Whose { number, session };
        };
        let mut root = parent.as_str();
        for _ in 0..PARENTS_MAX {
            let Some(parent) = parents.get(root).filter(|_| !by_id.contains_key(root)) else { break };
            root = parent;
        }
        let main = by_id.get(root).copied().unwrap_or(session);
        let path = by_id.get(root).map_or("", |main| main.key.path.as_str());
        let next = numbers.len();
        Whose { number: *numbers.entry((root, path)).or_insert(next), session: main }
    };
    sessions.iter().map(number_of).collect()
}

/// The projects of sessions by machine and folder.
type Projects<'s> = HashMap<(&'s str, &'s str), String>;

fn folder_of(session: &Session) -> Option<(&str, &str)> {
    Some((session.key.machine.as_str(), session.cwd.as_deref()?))
}

/// What is counted so far.
struct Counted<'a> {
    query: &'a StatsQuery,
    projects: Projects<'a>,
    total: Tally,
    rows: BTreeMap<Option<String>, Tally>,
    /// Clients that logged answers before they were complete.
    partly: BTreeSet<String>,
}

impl<'a> Counted<'a> {
    fn of(query: &'a StatsQuery, projects: Projects<'a>) -> Self {
        Self { query, projects, total: Tally::default(), rows: BTreeMap::new(), partly: BTreeSet::new() }
    }

    /// Adds what was done in a session or for it in the time that is asked for.
    fn add(&mut self, session: &Session, whose: &Whose<'_>, efforts: &Efforts) {
        let fallback = session.last_at.map(|at| at.as_micros().div_euclid(SLOT_MICROS));
        let by = self.query.by;
        // Times of one transcript add up; those of a session's subagents run beside each other.
        let mut active: HashMap<(Option<String>, Option<i64>), i64> = HashMap::new();
        let mut total_active: HashMap<Option<i64>, i64> = HashMap::new();
        for ((slot, model), effort) in efforts {
            let slot = slot.or(fallback);
            if !self.is_in_time(slot) {
                continue;
            }
            if effort.tokens.is_some_and(|tokens| tokens.output_partial) {
                self.partly.insert(runtime_of(&session.format).to_owned());
            }
            let key = match by {
                StatsBy::Day | StatsBy::Week | StatsBy::Month => slot.and_then(|slot| self.date(slot)),
                StatsBy::Project => folder_of(whose.session).and_then(|of| self.projects.get(&of).cloned()),
                StatsBy::Client => Some(runtime_of(&whose.session.format).to_owned()),
                StatsBy::Model => model.clone(),
            };
            *active.entry((key.clone(), slot)).or_default() += effort.active_micros;
            *total_active.entry(slot).or_default() += effort.active_micros;
            self.rows.entry(key).or_default().add(whose.number, model.as_ref(), effort);
            self.total.add(whose.number, model.as_ref(), effort);
        }
        for ((key, slot), micros) in active {
            self.rows.entry(key).or_default().worked(whose.number, slot, micros);
        }
        for (slot, micros) in total_active {
            self.total.worked(whose.number, slot, micros);
        }
    }

    fn is_in_time(&self, slot: Option<i64>) -> bool {
        let only = &self.query.only;
        let Some(slot) = slot else { return only.since.is_none() && only.until.is_none() };
        let begins = slot.saturating_mul(SLOT_MICROS);
        only.since.is_none_or(|since| begins.saturating_add(SLOT_MICROS) > since.as_micros())
            && only.until.is_none_or(|until| begins <= until.as_micros())
    }

    fn date(&self, slot: i64) -> Option<String> {
        let offset = i64::from(self.query.utc_offset_minutes).saturating_mul(MINUTE_MICROS);
        let day = slot.saturating_mul(SLOT_MICROS).saturating_add(offset).div_euclid(DAY_MICROS);
        // 1970 began on a Thursday.
        let monday = day - (day + 3).rem_euclid(7);
        let (day, chars) = match self.query.by {
            StatsBy::Week => (monday, "2026-01-01".len()),
            StatsBy::Month => (day, "2026-01".len()),
            StatsBy::Day | StatsBy::Project | StatsBy::Client | StatsBy::Model => (day, "2026-01-01".len()),
        };
        let text = Timestamp::from_micros(day.saturating_mul(DAY_MICROS)).to_string();
        text.get(..chars).map(str::to_owned)
    }

    /// Says which numbers are not what they seem.
    fn notes(&self, unread: u64) -> Vec<Note> {
        let mut notes = Vec::new();
        if !self.partly.is_empty() {
            let names = stemmata_model::listed(&Vec::from_iter(&self.partly), NAMED_MAX);
            notes.push(Note::new(
                NoteCode::Degraded,
                format!(
                    "{names} logged output tokens before its answers were complete: the real ones are more"
                ),
            ));
        }
        let silent = self.total.sessions.difference(&self.total.reported).count() as u64;
        if silent > 0 {
            let noun = stemmata_model::noun_of(silent, "session");
            notes.push(Note::new(
                NoteCode::Degraded,
                format!("{silent} {noun} without reported tokens: only their time is counted"),
            ));
        }
        let priced = |model: &&str| price_of(&self.query.prices, model).is_none();
        let named: Vec<&str> =
            self.total.tokens.keys().flatten().map(String::as_str).filter(priced).collect();
        if !self.query.prices.is_empty() && !named.is_empty() {
            let named = stemmata_model::listed(&named, NAMED_MAX);
            notes.push(Note::new(
                NoteCode::Degraded,
                format!("no price for {named}: the cost is without them; `stats.prices` sets prices"),
            ));
        }
        if unread > 0 {
            let noun = stemmata_model::noun_of(unread, "transcript");
            notes.push(Note::new(
                NoteCode::Degraded,
                format!("{unread} {noun} in a format that cannot be read: not counted"),
            ));
        }
        notes
    }

    fn finish(self, notes: Vec<Note>) -> Stats {
        let prices = &self.query.prices;
        let mut rows: Vec<(Option<String>, Tally)> = self.rows.into_iter().collect();
        match self.query.by {
            StatsBy::Day | StatsBy::Week | StatsBy::Month => rows.reverse(),
            StatsBy::Project | StatsBy::Client | StatsBy::Model => {
                rows.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.active_micros()));
            }
        }
        let rows = rows.into_iter().map(|(key, tally)| tally.finish(key, prices)).collect();
        Stats { by: self.query.by, rows, total: self.total.finish(None, prices), notes }
    }
}

impl Tally {
    fn add(&mut self, session: usize, model: Option<&String>, effort: &Effort) {
        self.sessions.insert(session);
        let Some(tokens) = effort.tokens else { return };
        self.is_reported = true;
        self.reported.insert(session);
        self.tokens.entry(model.cloned()).or_insert(ReportedTokens::NONE).add(tokens);
    }

    fn worked(&mut self, session: usize, slot: Option<i64>, micros: i64) {
        let known = self.active.entry((session, slot)).or_default();
        *known = (*known).max(micros);
    }

    fn active_micros(&self) -> i64 {
        self.active.values().fold(0, |sum, micros| sum.saturating_add(*micros))
    }

    fn finish(self, key: Option<String>, prices: &[ModelPrice]) -> StatsRow {
        let mut tokens = ReportedTokens::NONE;
        self.tokens.values().for_each(|more| tokens.add(*more));
        let cost = |(model, tokens): (&Option<String>, &ReportedTokens)| {
            Some(cost_micros(price_of(prices, model.as_deref()?)?, *tokens))
        };
        StatsRow {
            key,
            sessions: self.sessions.len() as u64,
            unreported_sessions: self.sessions.difference(&self.reported).count() as u64,
            active_seconds: u64::try_from(self.active_micros() / 1_000_000).unwrap_or(0),
            tokens: self.is_reported.then_some(tokens),
            cost_micros: self.tokens.iter().filter_map(cost).reduce(u64::saturating_add),
        }
    }
}

/// Returns the price of a model: that of the longest beginning of its name, with or without a provider's prefix.
fn price_of<'a>(prices: &'a [ModelPrice], model: &str) -> Option<&'a ModelPrice> {
    let plain = plain_name(model);
    let fits = |price: &&ModelPrice| model.starts_with(&price.model) || plain.starts_with(&price.model);
    prices.iter().filter(fits).max_by_key(|price| price.model.len())
}
