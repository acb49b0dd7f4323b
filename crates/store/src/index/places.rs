//! Places: in which sessions commits were seen, so that a filter knows what may be a hit.
//!
//! Commits go by their rows. A session that forks another one's chain has the shared past, too.

use std::collections::HashMap;
use std::ops::Range;

use rusqlite::{Connection, params};
use stemmata_model::CommitId;

use super::batch::IndexPlace;
use super::commits::row_of;
use super::error::{IndexError, While};
use super::runs::{self, Runs};
use crate::sqlite::statements::{columns, one};

const READING: &str = "reading a place of the search index";
const WRITING: &str = "writing a place of the search index";

#[derive(Debug, Default)]
struct Seen {
    /// Rows of commits that were seen here, ascending.
    own: Runs,
    /// Rows of what these continue, by the row of the commit that brought them here.
    more: Vec<(u32, Runs)>,
    is_changed: bool,
    /// How many of `more` are written.
    written: usize,
}

impl Seen {
    fn holds(&self, row: u32) -> bool {
        runs::holds(&self.own, row) || self.more.iter().any(|(_, more)| runs::holds(more, row))
    }

    fn add(&mut self, row: u32) {
        if self.own.last().is_none_or(|run| run.end <= row) {
            runs::push(&mut self.own, row);
        } else {
            // The commit took over a row from before.
            let mut rows: Vec<u32> = self.own.iter().cloned().flatten().chain([row]).collect();
            rows.sort_unstable();
            self.own.clear();
            for row in rows {
                runs::push(&mut self.own, row);
            }
        }
        self.is_changed = true;
    }
}

/// The places that a batch adds to.
#[derive(Debug)]
pub(super) struct Places<'c> {
    connection: &'c Connection,
    given: &'c [IndexPlace],
    rows: HashMap<usize, u32>,
    seen: HashMap<u32, Seen>,
}

impl<'c> Places<'c> {
    pub(super) fn new(connection: &'c Connection, places: &'c [IndexPlace]) -> Self {
        Self { connection, given: places, rows: HashMap::new(), seen: HashMap::new() }
    }

    /// Returns the row of a place of the batch, with what the batch says of it.
    pub(super) fn row(&mut self, place: usize, is_of_events: bool) -> Result<u32, IndexError> {
        if let Some(row) = self.rows.get(&place) {
            return Ok(*row);
        }
        let bound = self.given.len();
        let found = self.given.get(place).ok_or(IndexError::Bound { what: "places", value: place, bound })?;
        let values = params![
            found.key.machine.as_str(),
            found.key.path,
            found.session,
            found.client,
            found.cwd,
            found.branch,
            is_of_events
        ];
        let sql = "INSERT INTO place (machine, path, session, client, cwd, branch, events, runs) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, x'') \
                   ON CONFLICT (machine, path) DO UPDATE SET session = ?3, client = ?4, cwd = ?5, branch = ?6 \
                   RETURNING row";
        let row: u32 = self.connection.while_(WRITING).only(sql, values, one)?;
        self.rows.insert(place, row);
        Ok(row)
    }

    /// Adds a commit to a place, and what it continues, as far as that is not there.
    pub(super) fn see(
        &mut self,
        place: usize,
        (row, parent): (u32, Option<CommitId>),
    ) -> Result<(), IndexError> {
        let place = self.row(place, false)?;
        let connection = self.connection;
        let seen = self.load(place)?;
        if !seen.holds(row) {
            seen.add(row);
        }
        let mut past = Vec::new();
        let mut next = parent;
        while let Some(id) = next {
            let Some((row, parent)) = row_of(connection, id)? else { break };
            if seen.holds(row) {
                break;
            }
            past.push(row);
            next = parent;
        }
        if !past.is_empty() {
            past.sort_unstable();
            let mut more = Runs::new();
            for row in past {
                runs::push(&mut more, row);
            }
            seen.more.push((row, more));
        }
        Ok(())
    }

    /// Says whether a commit was seen in one of these places, or there is none to ask.
    pub(super) fn hold(&mut self, places: &[usize], row: u32) -> Result<bool, IndexError> {
        for place in places {
            let place = self.row(*place, false)?;
            if self.load(place)?.holds(row) {
                return Ok(true);
            }
        }
        Ok(places.is_empty())
    }

    fn load(&mut self, place: u32) -> Result<&mut Seen, IndexError> {
        if !self.seen.contains_key(&place) {
            let (own, more) = load_rows(self.connection, place)?;
            let written = more.len();
            self.seen.insert(place, Seen { own, more, is_changed: false, written });
        }
        Ok(self.seen.get_mut(&place).expect("it was just put there"))
    }

    pub(super) fn save(self) -> Result<(), IndexError> {
        for (place, seen) in self.seen {
            if seen.is_changed {
                save_rows(self.connection, place, &seen.own)?;
            }
            for (row, more) in seen.more.iter().skip(seen.written) {
                self.connection.while_(WRITING).run(
                    "INSERT OR REPLACE INTO place_more (place, row, runs) VALUES (?1, ?2, ?3)",
                    params![place, row, runs::encode(more)],
                )?;
            }
        }
        Ok(())
    }
}

pub(super) fn save_rows(connection: &Connection, place: u32, own: &[Range<u32>]) -> Result<(), IndexError> {
    connection
        .while_(WRITING)
        .run("UPDATE place SET runs = ?2 WHERE row = ?1", params![place, runs::encode(own)])
        .map(drop)
}

/// Loads the rows of commits that belong to a place.
pub(super) fn load_rows(connection: &Connection, place: u32) -> Result<(Runs, Vec<(u32, Runs)>), IndexError> {
    let own: Option<Vec<u8>> =
        connection.while_(READING).first("SELECT runs FROM place WHERE row = ?1", [place], one)?;
    let mut more = Vec::new();
    let sql = "SELECT row, runs FROM place_more WHERE place = ?1";
    connection.while_(READING).each(sql, [place], columns, |(row, bytes): (u32, Vec<u8>)| {
        more.push((row, runs::decode(&bytes)?));
        Ok(())
    })?;
    Ok((runs::decode(&own.unwrap_or_default())?, more))
}
