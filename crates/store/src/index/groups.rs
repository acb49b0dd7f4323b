//! Groups: entries that belong together, in their order. What is near an entry is near it in its group.
//!
//! Where a group starts is the engine's decision. An entry's group is the one that it was first indexed in.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::commits::Tail;
use super::error::{IndexError, While};
use super::runs::{self, Runs};
use super::segment::{ReadColumns, SegmentRead, SegmentRow};
use crate::sqlite::statements::{columns, one};

/// Entries of one group at most: it is written anew with every turn that adds to it.
const GROUP_ENTRIES_MAX: usize = 16_384;

/// Entries before a fork that its own group begins with: as many as a window reaches back.
const WINDOW: usize = 4;

const WRITING: &str = "writing a group of the search index";

#[derive(Debug)]
struct Group {
    first: u32,
    runs: Runs,
}

/// The groups that a batch adds to.
#[derive(Debug)]
pub(super) struct Groups<'c> {
    connection: &'c Connection,
    segments: Vec<(SegmentRow, Arc<ReadColumns>)>,
    touched: HashMap<u32, Group>,
    /// The groups of entries that are in no segment yet.
    new: HashMap<u32, u32>,
    next: u32,
}

/// Where the fold is within a list of entries.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The entry before the next one, with its group where it is known.
    before: Option<(u32, Option<u32>)>,
    /// The last entries of this commit before the next one, within its group.
    seen: Vec<u32>,
    /// Where the commit goes on from.
    from: Option<Tail>,
}

impl Place {
    /// Begins a commit that continues another one.
    pub(super) fn after(tail: Option<Tail>) -> Self {
        Self { before: tail.map(|tail| (tail.number, Some(tail.group))), seen: Vec::new(), from: tail }
    }

    /// Begins a new group with the next entry.
    pub(super) fn start(&mut self) {
        *self = Self::default();
    }

    /// Passes an entry.
    pub(super) fn pass(&mut self, number: u32, group: Option<u32>) {
        self.before = Some((number, group));
        if self.seen.len() == WINDOW {
            self.seen.remove(0);
        }
        self.seen.push(number);
    }
}

impl<'c> Groups<'c> {
    pub(super) fn new(connection: &'c Connection, segments: &[SegmentRow]) -> Result<Self, IndexError> {
        let next: u32 =
            connection.while_(WRITING).only("SELECT ifnull(max(row), 0) + 1 FROM grp", [], one)?;
        let segments = segments.iter().map(|row| (*row, Arc::default())).collect();
        Ok(Self { connection, segments, touched: HashMap::new(), new: HashMap::new(), next })
    }

    /// Puts a new entry into its group, and returns that.
    pub(super) fn add(&mut self, place: &Place, number: u32) -> Result<u32, IndexError> {
        let open = match place.before {
            Some((before, group)) => self.open_after(before, group)?,
            None => None,
        };
        let row = match open {
            Some(row) => row,
            None => self.begin(place, number)?,
        };
        let group = self.load(row)?;
        runs::push(&mut group.runs, number);
        self.new.insert(number, row);
        Ok(row)
    }

    /// Returns the group that ends with an entry and can take more.
    fn open_after(&mut self, before: u32, group: Option<u32>) -> Result<Option<u32>, IndexError> {
        let row = match group {
            Some(row) => row,
            None => self.of(before)?,
        };
        let group = self.load(row)?;
        let is_open = runs::last(&group.runs) == Some(before) && runs::count(&group.runs) < GROUP_ENTRIES_MAX;
        Ok(is_open.then_some(row))
    }

    /// Begins a group with what is before an entry in its list.
    fn begin(&mut self, place: &Place, number: u32) -> Result<u32, IndexError> {
        let mut before: Vec<u32> = Vec::new();
        if let Some(tail) = place.from.filter(|_| place.seen.len() < WINDOW) {
            let list = self.load(tail.group)?.runs.iter().cloned().flatten();
            before = list.take_while(|number| *number != tail.number).collect();
            before.push(tail.number);
        }
        before.extend(&place.seen);
        let mut runs = Runs::new();
        for before in before.iter().skip(before.len().saturating_sub(WINDOW)) {
            runs::push(&mut runs, *before);
        }
        let row = self.next;
        self.next += 1;
        self.touched.insert(row, Group { first: number, runs });
        Ok(row)
    }

    /// Returns the group of an entry.
    pub(super) fn of(&self, number: u32) -> Result<u32, IndexError> {
        if let Some(group) = self.new.get(&number) {
            return Ok(*group);
        }
        let place = self.segments.partition_point(|(segment, _)| segment.end() <= number);
        let found = self.segments.get(place).and_then(|(row, columns)| {
            let segment = SegmentRead::new(self.connection, *row, Arc::clone(columns));
            segment.groups().ok()?.get(number.checked_sub(row.base)? as usize).ok()
        });
        found.ok_or_else(|| IndexError::damaged("an entry is in no group"))
    }

    fn load(&mut self, row: u32) -> Result<&mut Group, IndexError> {
        if !self.touched.contains_key(&row) {
            let (first, runs) = load_group(self.connection, row)?;
            self.touched.insert(row, Group { first, runs });
        }
        Ok(self.touched.get_mut(&row).expect("it was just put there"))
    }

    /// Writes the groups that were added to.
    pub(super) fn save(self) -> Result<(), IndexError> {
        for (row, group) in self.touched {
            save_group(self.connection, row, group.first, &group.runs)?;
        }
        Ok(())
    }
}

/// Loads a group: its first own entry and its list.
pub(super) fn load_group(connection: &Connection, row: u32) -> Result<(u32, Runs), IndexError> {
    let found: Option<(u32, Vec<u8>)> = connection.while_("reading a group of the search index").first(
        "SELECT first, runs FROM grp WHERE row = ?1",
        [row],
        columns,
    )?;
    let (first, runs) = found.ok_or_else(|| IndexError::damaged("a group is gone"))?;
    Ok((first, runs::decode(&runs)?))
}

pub(super) fn save_group(
    connection: &Connection,
    row: u32,
    first: u32,
    own: &[Range<u32>],
) -> Result<(), IndexError> {
    let last = runs::last(own).unwrap_or(first);
    connection
        .while_(WRITING)
        .run(
            "INSERT OR REPLACE INTO grp (row, first, last, runs) VALUES (?1, ?2, ?3, ?4)",
            params![row, first, last, runs::encode(own)],
        )
        .map(drop)
}
