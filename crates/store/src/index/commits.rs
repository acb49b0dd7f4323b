//! Rows of commits: which entries a commit has, and where its last group ends.
//!
//! Groups themselves are `groups`'s.

use rusqlite::{Connection, Row, params};
use stemmata_model::CommitId;

use super::batch::IndexedState;
use super::error::{IndexError, While};
use crate::seam::StoredAt;
use crate::varint;

const READING: &str = "reading a commit of the search index";
const WRITING: &str = "writing a commit of the search index";

/// Where a commit's last group ends: what continues the commit continues it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) group: u32,
    pub(super) number: u32,
}

/// The row of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommitRow {
    pub(super) row: u32,
    pub(super) stored: StoredAt,
    /// The first commit that had this row: those that cover each other take it over.
    pub(super) since: StoredAt,
    pub(super) id: CommitId,
    pub(super) parent: Option<CommitId>,
    pub(super) state: IndexedState,
    /// The first number that it brought, or would have brought.
    pub(super) first: u32,
    /// The last number that it brought.
    pub(super) last: Option<u32>,
    /// Whether it has entries that other commits brought.
    pub(super) shared: bool,
    pub(super) tail: Option<Tail>,
    /// The numbers of its entries in order; `None` for an entry that search leaves out.
    pub(super) numbers: Vec<Option<u32>>,
}

const COLUMNS: &str = "row, stored, since, id, parent, state, first, last, shared, grp, tail, runs";

fn take(row: &Row<'_>) -> rusqlite::Result<(CommitRow, Vec<u8>)> {
    let state: i64 = row.get(5)?;
    let tail: (Option<u32>, Option<u32>) = (row.get(9)?, row.get(10)?);
    let commit = CommitRow {
        row: row.get(0)?,
        stored: row.get(1)?,
        since: row.get(2)?,
        id: CommitId::from_bytes(row.get(3)?),
        parent: row.get::<_, Option<[u8; 16]>>(4)?.map(CommitId::from_bytes),
        state: state_of(state),
        first: row.get(6)?,
        last: row.get(7)?,
        shared: row.get(8)?,
        tail: tail.0.zip(tail.1).map(|(group, number)| Tail { group, number }),
        numbers: Vec::new(),
    };
    Ok((commit, row.get(11)?))
}

pub(super) const fn state_of(state: i64) -> IndexedState {
    match state {
        0 => IndexedState::Closed,
        1 => IndexedState::Provisional,
        _ => IndexedState::Skipped,
    }
}

/// Loads commits by a condition.
pub(super) fn load(
    connection: &Connection,
    condition: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<CommitRow>, IndexError> {
    let sql = format!("SELECT {COLUMNS} FROM occurrence WHERE {condition}");
    let mut commits = Vec::new();
    connection.while_(READING).each(&sql, values, take, |(commit, runs)| {
        commits.push(CommitRow { numbers: decode(&runs)?, ..commit });
        Ok(())
    })?;
    Ok(commits)
}

pub(super) fn by_id(connection: &Connection, id: CommitId) -> Result<Option<CommitRow>, IndexError> {
    let bytes = id.to_bytes();
    let key = bytes.split_at(8).0;
    load(connection, "substr(id, 1, 8) = ?1 AND id = ?2", params![key, bytes]).map(|mut found| found.pop())
}

/// Loads a commit's row and parent, without its entries: for walks along a chain.
pub(super) fn row_of(
    connection: &Connection,
    id: CommitId,
) -> Result<Option<(u32, Option<CommitId>)>, IndexError> {
    let bytes = id.to_bytes();
    connection.while_(READING).first(
        "SELECT row, parent FROM occurrence WHERE substr(id, 1, 8) = ?1 AND id = ?2",
        params![bytes.split_at(8).0, bytes],
        |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<[u8; 16]>>(1)?.map(CommitId::from_bytes))),
    )
}

/// Writes a commit's row, in the place of the one that has the row.
pub(super) fn save(connection: &Connection, commit: &CommitRow) -> Result<(), IndexError> {
    let values = params![
        commit.row,
        commit.stored,
        commit.since,
        commit.id.to_bytes(),
        commit.parent.map(CommitId::to_bytes),
        commit.state as i64,
        commit.first,
        commit.last,
        commit.shared,
        commit.tail.map(|tail| tail.group),
        commit.tail.map(|tail| tail.number),
        encode(&commit.numbers),
    ];
    // Only what this commit covers may have its row: one of the same place would be replaced, too.
    connection.while_(WRITING).run("DELETE FROM occurrence WHERE row = ?1", [commit.row])?;
    connection
        .while_(WRITING).run(&format!(
            "INSERT INTO occurrence ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
        ), values).map(drop)
}

/// Packs numbers: how many are left out before a run, the step to its first number, and its length.
fn encode(numbers: &[Option<u32>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut next = 0_i64;
    let mut rest = numbers;
    while !rest.is_empty() {
        let skip = rest.iter().take_while(|number| number.is_none()).count();
        rest = rest.get(skip..).unwrap_or_default();
        let first = rest.first().copied().flatten();
        let is_next = |(place, number): (u32, &Option<u32>)| {
            number.is_some() && *number == first.and_then(|first| first.checked_add(place))
        };
        let length = (0..).zip(rest).take_while(|item| is_next(*item)).count();
        rest = rest.get(length..).unwrap_or_default();
        let step = first.map_or(0, |first| i64::from(first) - next);
        super::chunk::put_length(&mut bytes, skip);
        varint::put(&mut bytes, super::runs::zigzag(step));
        super::chunk::put_length(&mut bytes, length);
        next += step + i64::try_from(length).expect("a commit has few entries");
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Result<Vec<Option<u32>>, IndexError> {
    let mut numbers = Vec::new();
    let mut next = 0_i64;
    while !bytes.is_empty() {
        take_run(&mut bytes, &mut next, &mut numbers)
            .ok_or_else(|| IndexError::damaged("the entries of a commit cannot be read"))?;
    }
    Ok(numbers)
}

/// Entries of one commit at most, searched or not: what says that there are more is damaged.
pub const COMMIT_ENTRIES_MAX: usize = 1 << 24;

fn take_run(bytes: &mut &[u8], next: &mut i64, numbers: &mut Vec<Option<u32>>) -> Option<()> {
    let skip = super::chunk::take_length(bytes)?;
    let step = super::runs::unzigzag(varint::take(bytes)?);
    let length = super::chunk::take_length(bytes)?;
    if skip.checked_add(length)?.checked_add(numbers.len())? > COMMIT_ENTRIES_MAX {
        return None;
    }
    let first = u32::try_from(next.checked_add(step)?).ok()?;
    let end = first.checked_add(u32::try_from(length).ok()?)?;
    numbers.extend(std::iter::repeat_n(None, skip));
    numbers.extend((first..end).map(Some));
    *next = i64::from(end);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_of_a_commit_come_back(runs in proptest::collection::vec((proptest::option::of(0..5_000_u32), 1..9_u32), 0..9)) {
            let numbers: Vec<Option<u32>> = runs
                .iter()
                .flat_map(|(first, length)| (0..*length).map(move |place| first.map(|first| first + place)))
                .collect();
            prop_assert_eq!(decode(&encode(&numbers)).expect("readable"), numbers);
        }

        #[test]
        fn any_bytes_are_numbers_or_damaged(bytes in proptest::collection::vec(any::<u8>(), 0..24)) {
            let _numbers = decode(&bytes);
        }
    }
}
