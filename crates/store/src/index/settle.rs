//! Settling: one batch becomes a segment and the rows that go with it.
//!
//! The caller commits the transaction or rolls it back.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use super::batch::{EntryRef, IndexBatch, IndexEntry, IndexedCommit, IndexedState};
use super::build::{SegmentBuilder, Standing};
use super::commits::{self, COMMIT_ENTRIES_MAX, CommitRow, Tail};
use super::error::{IndexError, While};
use super::groups::{Groups, Place};
use super::places::Places;
use super::segment::{SPAN_MAX, SegmentFamily, SegmentRow, load_segments};
use super::{load_meta, merge, save_meta};
use crate::sqlite::statements::one;

/// New entries of one commit that stay within one segment: where they are in several, a cut that takes any of them takes all.
const TOGETHER_MAX: usize = 65_536;

const SETTLING: &str = "settling the search index";

pub(super) fn settle(connection: &Connection, batch: &IndexBatch) -> Result<(), IndexError> {
    let meta = load_meta(connection)?;
    if meta.watermark != batch.expected {
        return Err(IndexError::Moved);
    }
    let segments = load_segments(connection)?;
    let mut settling = Settling {
        connection,
        batch,
        numbers: vec![None; batch.entries.len()],
        open: Open::after(&segments, SegmentFamily::Commits, meta.epoch + 1),
        groups: Groups::new(connection, &segments)?,
        places: Places::new(connection, &batch.places),
        authors: HashMap::new(),
        next_row: connection.while_(SETTLING).only(
            "SELECT ifnull(max(row), 0) + 1 FROM occurrence",
            [],
            one,
        )?,
    };
    for commit in &batch.commits {
        settling.commit(commit)?;
    }
    settling.open.flush(connection)?;
    settling.sightings()?;
    settling.events(meta.epoch + 1)?;
    let Settling { groups, places, .. } = settling;
    groups.save()?;
    places.save()?;
    for family in [SegmentFamily::Commits, SegmentFamily::Events] {
        merge::merge(connection, family, meta.epoch + 1)?;
    }
    save_meta(connection, batch.next)
}

/// The segment that is being filled.
#[derive(Debug)]
struct Open {
    family: SegmentFamily,
    made: u64,
    base: u32,
    builder: SegmentBuilder,
    /// Where the next block of numbers begins that no family has.
    free: u32,
}

impl Open {
    fn after(segments: &[SegmentRow], family: SegmentFamily, made: u64) -> Self {
        // What a damaged row says may be anything: then nothing fits, and that is an error, too.
        let block = |base: u32| (base / SPAN_MAX + 1).saturating_mul(SPAN_MAX);
        let free = segments.last().map_or(0, |last| block(last.base));
        let own = segments.iter().rev().find(|segment| segment.family == family);
        let base = own.map(SegmentRow::end).filter(|end| end % SPAN_MAX != 0);
        let free_after = if base.is_none() { free.saturating_add(SPAN_MAX) } else { free };
        Self {
            family,
            made,
            base: base.unwrap_or(free),
            builder: SegmentBuilder::default(),
            free: free_after,
        }
    }

    fn next_number(&self) -> u32 {
        self.base + self.builder.span()
    }

    /// Makes sure that so many entries fit.
    fn reserve(&mut self, connection: &Connection, count: usize) -> Result<(), IndexError> {
        let left = SPAN_MAX - self.next_number() % SPAN_MAX;
        let is_full = self.builder.span() > 0 && self.next_number().is_multiple_of(SPAN_MAX);
        if !is_full && count <= left as usize {
            return Ok(());
        }
        self.flush(connection)?;
        self.base = self.free;
        let bound = u32::MAX as usize;
        self.free = self.free.checked_add(SPAN_MAX).ok_or(IndexError::Bound {
            what: "entries",
            value: bound,
            bound,
        })?;
        Ok(())
    }

    fn add(&mut self, entry: &IndexEntry, standing: Standing) {
        self.builder.add(entry, standing);
    }

    fn flush(&mut self, connection: &Connection) -> Result<(), IndexError> {
        let builder = std::mem::take(&mut self.builder);
        if builder.span() == 0 {
            return Ok(());
        }
        let built = builder.finish();
        merge::store(connection, (self.base, self.family, self.made), &built)?;
        self.base += built.span;
        Ok(())
    }
}

struct Settling<'c> {
    connection: &'c Connection,
    batch: &'c IndexBatch,
    /// The numbers that new entries have by now.
    numbers: Vec<Option<u32>>,
    open: Open,
    groups: Groups<'c>,
    places: Places<'c>,
    authors: HashMap<String, u16>,
    next_row: u32,
}

impl Settling<'_> {
    fn commit(&mut self, commit: &IndexedCommit) -> Result<(), IndexError> {
        let covered = self.covered(commit)?;
        let new: HashSet<usize> =
            commit.entries.iter().flatten().filter_map(|entry| self.new_of(*entry)).collect();
        if commit.entries.len() > COMMIT_ENTRIES_MAX {
            let (what, value) = ("entries of a turn", commit.entries.len());
            return Err(IndexError::Bound { what, value, bound: COMMIT_ENTRIES_MAX });
        }
        self.open.reserve(self.connection, new.len().min(TOGETHER_MAX))?;
        let parent = match commit.parent {
            Some(parent) => commits::by_id(self.connection, parent)?.and_then(|parent| parent.tail),
            None => None,
        };
        let row = covered.as_ref().map_or(self.next_row, |covered| covered.row);
        let first = self.open.next_number();
        let (numbers, tail) = self.entries(commit, (row, parent))?;
        let last = (!new.is_empty()).then(|| self.open.next_number() - 1);
        let own: HashSet<u32> =
            covered.iter().flat_map(|covered| covered.numbers.iter().flatten().copied()).collect();
        let shared: Vec<u32> = numbers
            .iter()
            .flatten()
            .copied()
            .filter(|number| *number < first && !own.contains(number))
            .collect();
        self.share(row, &shared)?;
        let is_skipped = commit.state == IndexedState::Skipped;
        let saved = CommitRow {
            row,
            stored: commit.stored,
            since: covered.as_ref().map_or(commit.stored, |covered| covered.since),
            id: commit.id,
            parent: commit.parent,
            state: commit.state,
            first: covered.as_ref().map_or(first, |covered| covered.first),
            last: last.or(covered.as_ref().and_then(|covered| covered.last)),
            shared: !shared.is_empty() || covered.as_ref().is_some_and(|covered| covered.shared),
            // What follows a gap begins anew.
            tail: tail.filter(|_| !is_skipped),
            numbers,
        };
        commits::save(self.connection, &saved)?;
        if covered.is_none() {
            self.next_row += 1;
        }
        commit.places.iter().try_for_each(|place| self.places.see(*place, (row, commit.parent)))
    }

    /// Returns which of the batch's entries has no number yet.
    fn new_of(&self, entry: EntryRef) -> Option<usize> {
        match entry {
            EntryRef::New(new) if self.number_of(entry).is_none() => Some(new),
            EntryRef::New(_) | EntryRef::Known(_) => None,
        }
    }

    /// Finds the provisional commit whose row this one takes over: it was seen in the same session, and all its entries are in
    /// this one. Where that is true of none of those that are covered, entries of one may be in no commit any more, or a fork
    /// came before what covers it: the index is made again from there on.
    fn covered(&mut self, commit: &IndexedCommit) -> Result<Option<CommitRow>, IndexError> {
        let mut rewritten = None;
        for id in &commit.covers {
            let Some(covered) = commits::by_id(self.connection, *id)? else { continue };
            let known: HashSet<u32> =
                commit.entries.iter().flatten().filter_map(|entry| self.number_of(*entry)).collect();
            let is_whole = covered.numbers.iter().flatten().all(|number| known.contains(number));
            let is_open = covered.state == IndexedState::Provisional && covered.parent == commit.parent;
            if is_whole && is_open && self.places.hold(&commit.places, covered.row)? {
                return Ok(Some(covered));
            }
            rewritten = rewritten.into_iter().chain([covered.since]).min();
        }
        rewritten.map_or(Ok(None), |before| Err(IndexError::Rewritten { before }))
    }

    /// Returns the number that an entry has by now.
    fn number_of(&self, entry: EntryRef) -> Option<u32> {
        match entry {
            EntryRef::Known(number) => Some(number),
            EntryRef::New(new) => self.numbers.get(new).copied().flatten(),
        }
    }

    /// Gives new entries numbers and groups, and returns the numbers of all and where they end.
    fn entries(
        &mut self,
        commit: &IndexedCommit,
        (row, parent): (u32, Option<Tail>),
    ) -> Result<(Vec<Option<u32>>, Option<Tail>), IndexError> {
        let mut place = Place::after(parent);
        let mut last = parent.map(|tail| (tail.number, Some(tail.group)));
        let mut starts = commit.starts.iter().peekable();
        let mut numbers = Vec::with_capacity(commit.entries.len());
        for (position, entry) in (0_u32..).zip(&commit.entries) {
            if starts.next_if_eq(&&position).is_some() {
                place.start();
            }
            let Some(entry) = entry else {
                numbers.push(None);
                continue;
            };
            let (number, group) = match self.new_of(*entry) {
                Some(new) => self.entry(new, &place, row)?,
                None => (self.number_of(*entry).unwrap_or_default(), None),
            };
            place.pass(number, group);
            last = Some((number, group));
            numbers.push(Some(number));
        }
        let Some((number, group)) = last else { return Ok((numbers, None)) };
        let group = match group {
            Some(group) => group,
            None => self.groups.of(number)?,
        };
        Ok((numbers, Some(Tail { group, number })))
    }

    fn entry(&mut self, new: usize, place: &Place, row: u32) -> Result<(u32, Option<u32>), IndexError> {
        let bound = self.batch.entries.len();
        let entry =
            self.batch.entries.get(new).ok_or(IndexError::Bound { what: "entries", value: new, bound })?;
        self.open.reserve(self.connection, 1)?;
        let number = self.open.next_number();
        let group = self.groups.add(place, number)?;
        let author = entry.author.as_deref().map_or(Ok(0), |name| self.author(name, number))?;
        self.open.add(entry, Standing { group, author, home: row });
        self.connection.while_(SETTLING).run(
            "INSERT INTO entry (key, number) VALUES (?1, ?2)",
            params![entry.key.cast_signed(), number],
        )?;
        if let Some(own) = self.numbers.get_mut(new) {
            *own = Some(number);
        }
        Ok((number, Some(group)))
    }

    /// Returns the number of an author; 0 where there are more than a column can tell apart.
    fn author(&mut self, name: &str, number: u32) -> Result<u16, IndexError> {
        if let Some(author) = self.authors.get(name) {
            return Ok(*author);
        }
        let ask = self.connection.while_(SETTLING);
        let found: Option<u16> = ask.first("SELECT row FROM author WHERE name = ?1", [name], one)?;
        let sql = "INSERT INTO author (row, name, first) SELECT ifnull(max(row), 0) + 1, ?1, ?2 FROM author \
                   HAVING ifnull(max(row), 0) < 65535 RETURNING row";
        let author = match found {
            Some(author) => author,
            None => ask.first(sql, params![name, number], one)?.unwrap_or(0),
        };
        self.authors.insert(name.to_owned(), author);
        Ok(author)
    }

    /// Notes that a commit has entries that others brought.
    fn share(&self, row: u32, shared: &[u32]) -> Result<(), IndexError> {
        for number in shared {
            self.connection.while_(SETTLING).run(
                "INSERT OR IGNORE INTO entry_more (number, row) VALUES (?1, ?2)",
                params![number, row],
            )?;
        }
        Ok(())
    }

    /// Adds commits of before to places where they were seen since.
    fn sightings(&mut self) -> Result<(), IndexError> {
        for (place, commits) in &self.batch.seen {
            for id in commits {
                // One that is covered has no row: what covers it was seen there, or is another session's.
                if let Some(found) = commits::row_of(self.connection, *id)? {
                    self.places.see(*place, found)?;
                }
            }
        }
        Ok(())
    }

    fn events(&mut self, made: u64) -> Result<(), IndexError> {
        let segments = load_segments(self.connection)?;
        let mut open = Open::after(&segments, SegmentFamily::Events, made);
        for ledger in &self.batch.ledgers {
            let values =
                params![ledger.id.as_str(), ledger.through.cast_signed(), ledger.epoch.cast_signed()];
            let sql = "INSERT INTO ledger (id, through, epoch) VALUES (?1, ?2, ?3) \
                       ON CONFLICT (id) DO UPDATE SET through = ?2, epoch = ?3";
            self.connection.while_(SETTLING).run(sql, values)?;
        }
        for event in &self.batch.events {
            open.reserve(self.connection, 1)?;
            let number = open.next_number();
            let home = self.places.row(event.place, true)?;
            open.add(&event.entry, Standing { group: 0, author: 0, home });
            let is_known = self.connection.while_(SETTLING).run(
                "INSERT INTO event (number, ledger, seq) SELECT ?1, row, ?3 FROM ledger WHERE id = ?2",
                params![number, event.ledger.as_str(), event.seq.cast_signed()],
            )?;
            if is_known == 0 {
                return Err(IndexError::Bound {
                    what: "events of a ledger that is not named",
                    value: 1,
                    bound: 0,
                });
            }
        }
        open.flush(self.connection)
    }
}
