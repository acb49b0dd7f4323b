//! A view of the index: one state of it, however long it is looked at.
//!
//! What is done with it is the engine's.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};
use stemmata_model::{CommitId, LedgerId, MachineId};

use super::batch::{IndexPlace, IndexedLedger, IndexedState};
use super::error::{IndexError, While};
use super::segment::{ReadColumns, SegmentFamily, SegmentRead, SegmentRow, load_segments};
use super::{Index, IndexMeta, commits, groups, load_ledgers, load_meta, places, runs};
use crate::seam::StoredAt;
use crate::sqlite::statements::{columns, one};
use crate::write::SessionKey;

const READING: &str = "reading the search index";

/// Provisional commits of one parent that are looked at, at most.
const OPEN_MAX: usize = 256;

/// Where an entry is: the commit, and its position among that one's entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occurrence {
    /// Where the commit stands.
    pub stored: StoredAt,
    /// The commit.
    pub id: CommitId,
    /// The position, from 0.
    pub position: usize,
    /// The commit's row.
    row: u32,
}

/// Commits of the index: those that a filter lets pass.
#[derive(Debug)]
pub struct CommitSet(Bits);

/// What sessions continue that was said in others: the shared past of forks.
#[derive(Debug, Default)]
pub struct SharedPast(Vec<(SessionKey, runs::Runs)>);

impl SharedPast {
    /// Returns the sessions that continue the commit of an occurrence.
    pub fn of(&self, occurrence: &Occurrence) -> impl Iterator<Item = &SessionKey> {
        let row = occurrence.row;
        self.0.iter().filter(move |(_, past)| runs::holds(past, row)).map(|(key, _)| key)
    }
}

/// A view of an [`Index`] as it was when it was asked for.
#[derive(Debug)]
pub struct IndexReader<'i> {
    index: &'i Index,
    connection: Option<Connection>,
    segments: Vec<(SegmentRow, Arc<ReadColumns>)>,
    /// Groups that were read: a search asks for those of its candidates, then for those of what is around them.
    groups: RefCell<HashMap<u32, runs::Runs>>,
}

impl Drop for IndexReader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && connection.execute_batch("COMMIT").is_ok()
        {
            self.index.give_back(connection);
        }
    }
}

impl<'i> IndexReader<'i> {
    pub(super) fn begin(index: &'i Index) -> Result<Self, IndexError> {
        let connection = index.take()?;
        connection.execute_batch("BEGIN").while_(READING)?;
        let rows = load_segments(&connection)?;
        let mut columns = index.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let segments: Vec<_> = rows
            .into_iter()
            .map(|row| (row, Arc::clone(columns.entry((row.base, row.made)).or_default())))
            .collect();
        // What was merged or cut is not asked for again.
        *columns = segments.iter().map(|(row, own)| ((row.base, row.made), Arc::clone(own))).collect();
        drop(columns);
        Ok(Self { index, connection: Some(connection), segments, groups: RefCell::default() })
    }

    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("it is given back when this is dropped")
    }

    /// Returns the state of the index.
    pub fn meta(&self) -> Result<IndexMeta, IndexError> {
        load_meta(self.connection())
    }

    /// Returns how far ledgers are followed.
    pub fn ledgers(&self) -> Result<Vec<IndexedLedger>, IndexError> {
        load_ledgers(self.connection())
    }

    /// Returns the segments, by their numbers.
    pub fn segments(&self) -> Vec<SegmentRead<'_>> {
        let read = |(row, columns): &(SegmentRow, Arc<ReadColumns>)| {
            SegmentRead::new(self.connection(), *row, Arc::clone(columns))
        };
        self.segments.iter().map(read).collect()
    }

    /// Returns the numbers of entries by their keys.
    pub fn known(&self, keys: &[u64]) -> Result<Vec<Option<u32>>, IndexError> {
        let sql = "SELECT number FROM entry WHERE key = ?1";
        let mut statement = self.connection().prepare_cached(sql).while_(READING)?;
        let mut number = |key: &u64| statement.query_row([key.cast_signed()], one).optional();
        keys.iter().map(|key| number(key).while_(READING)).collect()
    }

    /// Returns the group of each number, made by `list` of the runs in the group's order: one that is in several groups is in
    /// its first. Numbers of one group share one. An event, and a number that is not there, is by itself.
    pub fn groups_of<T>(
        &self,
        numbers: &[u32],
        list: impl Fn(Vec<Range<u32>>) -> T,
    ) -> Result<Vec<Arc<T>>, IndexError> {
        let mut lists: HashMap<u32, Arc<T>> = HashMap::new();
        let mut found = Vec::with_capacity(numbers.len());
        for number in numbers {
            let group = match self.segment_of(*number) {
                Some((segment, offset)) => segment.groups()?.get(offset)?,
                None => 0,
            };
            found.push(match lists.get(&group) {
                Some(list) => Arc::clone(list),
                None if group == 0 => {
                    let alone = std::iter::once(*number..number.saturating_add(1));
                    Arc::new(list(alone.collect()))
                }
                None => {
                    let list = Arc::new(list(self.group_once(group)?));
                    lists.insert(group, Arc::clone(&list));
                    list
                }
            });
        }
        Ok(found)
    }

    /// Returns the commits that an entry is in, those that were stored last first; at most so many, and only those of a set
    /// where one is given. An event is in none.
    pub fn occurrences(
        &self,
        number: u32,
        limit: usize,
        within: Option<&CommitSet>,
    ) -> Result<Vec<Occurrence>, IndexError> {
        let Some((segment, offset)) = self.segment_of(number) else { return Ok(Vec::new()) };
        if segment.family() == SegmentFamily::Events {
            return Ok(Vec::new());
        }
        let home = segment.homes()?.get(offset)?;
        let mut statement = self
            .connection()
            .prepare_cached("SELECT row FROM entry_more WHERE number = ?1 AND row <> ?2 ORDER BY row DESC")
            .while_(READING)?;
        let more = statement.query_map(params![number, home], |row| row.get::<_, u32>(0)).while_(READING)?;
        let mut found = Vec::new();
        for row in more.chain([Ok(home)]) {
            let row = row.while_(READING)?;
            if found.len() >= limit.max(1) {
                break;
            }
            if within.is_some_and(|within| !within.0.holds(row)) {
                continue;
            }
            for commit in commits::load(self.connection(), "row = ?1", [row])? {
                let position = commit.numbers.iter().position(|own| *own == Some(number));
                found.extend(position.map(|position| Occurrence {
                    stored: commit.stored,
                    id: commit.id,
                    position,
                    row,
                }));
            }
        }
        Ok(found)
    }

    /// Returns the sequence numbers of the events that the index has, by ledger, ascending.
    pub fn events(&self) -> Result<BTreeMap<LedgerId, Vec<u64>>, IndexError> {
        let mut events: BTreeMap<LedgerId, Vec<u64>> = BTreeMap::new();
        let connection = self.connection();
        let sql = "SELECT l.id, e.seq FROM event e JOIN ledger l ON l.row = e.ledger ORDER BY e.number";
        connection.while_(READING).each(sql, [], columns, |(id, seq): (String, i64)| {
            events.entry(ledger_of(id)?).or_default().push(seq.cast_unsigned());
            Ok(())
        })?;
        for seqs in events.values_mut() {
            seqs.sort_unstable();
        }
        Ok(events)
    }

    /// Returns the event that a number stands for.
    pub fn event(&self, number: u32) -> Result<Option<(LedgerId, u64)>, IndexError> {
        let found: Option<(String, i64)> = self.connection().while_(READING).first(
            "SELECT l.id, e.seq FROM event e JOIN ledger l ON l.row = e.ledger WHERE e.number = ?1",
            [number],
            columns,
        )?;
        let Some((id, seq)) = found else { return Ok(None) };
        Ok(Some((ledger_of(id)?, seq.cast_unsigned())))
    }

    /// Returns provisional commits that one with this parent, seen at these places, may cover.
    pub fn open_beside(
        &self,
        parent: Option<CommitId>,
        seen: &[SessionKey],
    ) -> Result<Vec<CommitId>, IndexError> {
        if let Some(parent) = parent {
            let limit = i64::try_from(OPEN_MAX).unwrap_or(i64::MAX);
            let values = params![parent.to_bytes(), limit];
            // The newest: these are what is covered next.
            let condition = "parent = ?1 AND state = 1 ORDER BY row DESC LIMIT ?2";
            let found = commits::load(self.connection(), condition, values)?;
            return Ok(found.into_iter().map(|commit| commit.id).collect());
        }
        // Every session may have such a first turn: only those of its own sessions are looked at.
        let mut open = Vec::new();
        for key in seen {
            let place: Option<u32> = self.connection().while_(READING).first(
                "SELECT row FROM place WHERE machine = ?1 AND path = ?2",
                [key.machine.as_str(), key.path.as_str()],
                one,
            )?;
            let Some(place) = place else { continue };
            let (own, _) = places::load_rows(self.connection(), place)?;
            for row in own.into_iter().flatten().rev().take(OPEN_MAX) {
                let found = commits::load(self.connection(), "row = ?1 AND parent IS NULL", [row])?;
                let is_open = |commit: &commits::CommitRow| commit.state == IndexedState::Provisional;
                open.extend(found.into_iter().filter(is_open).map(|commit| commit.id));
            }
        }
        open.sort();
        open.dedup();
        Ok(open)
    }

    /// Returns all provisional commits, in the order of storing.
    pub fn open(&self) -> Result<Vec<(StoredAt, CommitId)>, IndexError> {
        let sql = "SELECT stored, id FROM occurrence WHERE state = 1 ORDER BY stored";
        let take = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, CommitId::from_bytes(row.get(1)?)));
        self.connection().while_(READING).list(sql, [], take)
    }

    /// Returns the commits after a place in the order of storing, through another one.
    pub fn commits_between(
        &self,
        after: StoredAt,
        through: StoredAt,
    ) -> Result<Vec<(StoredAt, CommitId, IndexedState)>, IndexError> {
        let sql =
            "SELECT stored, id, state FROM occurrence WHERE stored > ?1 AND stored <= ?2 ORDER BY stored";
        self.connection().while_(READING).list(sql, [after, through], |row| {
            Ok((row.get(0)?, CommitId::from_bytes(row.get(1)?), commits::state_of(row.get(2)?)))
        })
    }

    /// Returns how many commits there are of which nothing is indexed.
    pub fn skipped(&self) -> Result<u64, IndexError> {
        let count: i64 = self.connection().while_(READING).only(
            "SELECT count(*) FROM occurrence WHERE state = 2",
            [],
            one,
        )?;
        Ok(count.cast_unsigned())
    }

    /// Hands out all places with their rows.
    pub fn places(&self, act: &mut dyn FnMut(u32, IndexPlace)) -> Result<(), IndexError> {
        type Columns = (u32, String, String, String, String, Option<String>, Option<String>);
        let sql = "SELECT row, machine, path, session, client, cwd, branch FROM place ORDER BY row";
        self.connection().while_(READING).each(sql, [], columns, |found: Columns| {
            let (place, machine, path, session, client, cwd, branch) = found;
            let key = SessionKey { machine: machine_of(machine)?, path };
            act(place, IndexPlace { key, session, client, cwd, branch });
            Ok(())
        })
    }

    /// Returns what forks have of the sessions that they continue, by fork.
    pub fn shared_past(&self) -> Result<SharedPast, IndexError> {
        let sql = "SELECT p.machine, p.path, m.runs FROM place_more m JOIN place p ON p.row = m.place \
                   ORDER BY m.place, m.row";
        let mut past = Vec::new();
        let ask = self.connection().while_(READING);
        ask.each(sql, [], columns, |(machine, path, bytes): (String, String, Vec<u8>)| {
            past.push((SessionKey { machine: machine_of(machine)?, path }, runs::decode(&bytes)?));
            Ok(())
        })?;
        Ok(SharedPast(past))
    }

    /// Returns the commits that belong to places, and commits besides.
    pub fn commits_in(&self, places: &[u32], commits: &[CommitId]) -> Result<CommitSet, IndexError> {
        let mut rows: Vec<Range<u32>> = Vec::new();
        for id in commits {
            let row = commits::row_of(self.connection(), *id)?.map(|(row, _)| row);
            rows.extend(row.map(|row| row..row.saturating_add(1)));
        }
        for place in places {
            let (own, more) = places::load_rows(self.connection(), *place)?;
            rows.extend(own);
            rows.extend(more.into_iter().flat_map(|(_, more)| more));
        }
        Ok(CommitSet(Bits::of(rows.into_iter().flatten())))
    }

    /// Hands out the numbers of the entries in commits and of the events of places, each at least once.
    pub fn numbers_in(
        &self,
        places: &[u32],
        commits: &CommitSet,
        act: &mut dyn FnMut(Range<u32>),
    ) -> Result<(), IndexError> {
        let rows = &commits.0;
        let places = Bits::of(places.iter().copied());
        for segment in self.segments() {
            let allowed = if segment.family() == SegmentFamily::Events { &places } else { rows };
            let mut number = segment.base();
            // What one commit brought stands together.
            for run in segment.homes()?.all()?.chunk_by(|left, right| left == right) {
                let end = number.saturating_add(u32::try_from(run.len()).unwrap_or(u32::MAX));
                if run.first().is_some_and(|home| allowed.holds(*home)) {
                    act(number..end);
                }
                number = end;
            }
        }
        let sql = "SELECT row FROM occurrence WHERE shared = 1 ORDER BY row";
        let shared: Vec<u32> = self.connection().while_(READING).list(sql, [], one)?;
        for row in shared.into_iter().filter(|row| rows.holds(*row)) {
            let found = commits::load(self.connection(), "row = ?1", [row])?;
            let numbers = found.iter().flat_map(|commit| commit.numbers.iter().flatten());
            numbers.for_each(|number| act(*number..number.saturating_add(1)));
        }
        Ok(())
    }

    /// Returns the authors and the numbers that columns have for them.
    pub fn authors(&self) -> Result<Vec<(u16, String)>, IndexError> {
        self.connection().while_(READING).list("SELECT row, name FROM author ORDER BY row", [], columns)
    }

    fn group_once(&self, group: u32) -> Result<runs::Runs, IndexError> {
        if let Some(known) = self.groups.borrow().get(&group) {
            return Ok(known.clone());
        }
        let found = self.group(group)?;
        self.groups.borrow_mut().insert(group, found.clone());
        Ok(found)
    }

    fn segment_of(&self, number: u32) -> Option<(SegmentRead<'_>, usize)> {
        let place = self.segments.partition_point(|(row, _)| row.end() <= number);
        let (row, columns) = self.segments.get(place)?;
        let offset = number.checked_sub(row.base)? as usize;
        Some((SegmentRead::new(self.connection(), *row, Arc::clone(columns)), offset))
    }

    pub(super) fn raw(&self) -> &Connection {
        self.connection()
    }

    pub(super) fn group(&self, row: u32) -> Result<runs::Runs, IndexError> {
        Ok(groups::load_group(self.connection(), row)?.1)
    }
}

pub(super) fn ledger_of(text: String) -> Result<LedgerId, IndexError> {
    LedgerId::new(text).map_err(|_| IndexError::damaged("a ledger has no id"))
}

fn machine_of(text: String) -> Result<MachineId, IndexError> {
    MachineId::new(text).map_err(|_| IndexError::damaged("a place has no machine"))
}

/// A set of rows, one bit each.
#[derive(Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(rows: impl Iterator<Item = u32>) -> Self {
        let mut words = Vec::new();
        for row in rows {
            let word = (row / 64) as usize;
            if word >= words.len() {
                words.resize(word + 1, 0);
            }
            if let Some(word) = words.get_mut(word) {
                *word |= 1_u64 << (row % 64);
            }
        }
        Self(words)
    }

    fn holds(&self, row: u32) -> bool {
        self.0.get((row / 64) as usize).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }
}
