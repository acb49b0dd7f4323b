//! What is condemned, as marks of commits and of rows of contents.
//!
//! What becomes of it is decided in `crate::rules::collect`.

use std::collections::BTreeMap;

use rusqlite::Connection;
use stemmata_model::{CommitId, Timestamp};

use super::failure::During;
use super::forget::Tables;
use super::marks::{self, CONDEMNED_COMMIT, CONDEMNED_CONTENT};
use crate::error::StoreError;
use crate::maintain::collect::{Amount, Collected};
use crate::rules::collect::Condemning;
use crate::sqlite::statements::one;

impl Condemning for Tables<'_> {
    fn condemned_commits(&self) -> Result<BTreeMap<CommitId, Timestamp>, StoreError> {
        let all = marks::all(self.connection, CONDEMNED_COMMIT)?.into_iter();
        let read = |(key, at): (Vec<u8>, _)| {
            Some((CommitId::from_bytes(key.try_into().ok()?), Timestamp::from_micros(at)))
        };
        Ok(all.filter_map(read).collect())
    }

    fn condemn_commit(&mut self, id: CommitId, since: Option<Timestamp>) -> Result<(), StoreError> {
        self.condemn((CONDEMNED_COMMIT, &id.to_bytes()), since)
    }

    fn orphans(&self) -> Result<BTreeMap<i64, u64>, StoreError> {
        self.ahead.map_or_else(|| Ok(BTreeMap::new()), |ahead| ahead.orphans(self.connection))
    }

    fn condemned_contents(&self) -> Result<BTreeMap<i64, Timestamp>, StoreError> {
        let all = marks::all(self.connection, CONDEMNED_CONTENT)?.into_iter();
        let read = |(key, at): (Vec<u8>, _)| Some((marks::content_row(&key)?, Timestamp::from_micros(at)));
        Ok(all.filter_map(read).collect())
    }

    fn condemn_content(&mut self, row: i64, since: Option<Timestamp>) -> Result<(), StoreError> {
        self.condemn((CONDEMNED_CONTENT, &marks::content_key(row)), since)
    }

    fn tell(row: i64, collected: &mut Collected) {
        collected.which.add("content", &row.to_be_bytes());
    }
}

impl Tables<'_> {
    fn condemn(&self, (kind, key): (i64, &[u8]), since: Option<Timestamp>) -> Result<(), StoreError> {
        match since {
            Some(since) => marks::set(self.connection, (kind, key), since, None),
            None => marks::remove(self.connection, kind, key),
        }
        .map(drop)
    }
}

/// Counts what is condemned.
pub(super) fn condemned(connection: &Connection) -> Result<Amount, StoreError> {
    let ask = connection.during("counting what is condemned");
    let count = |kind: i64| ask.only("SELECT count(*) FROM mark WHERE kind = ?1", [kind], one::<i64>);
    let (commits, contents) = (count(CONDEMNED_COMMIT)?, count(CONDEMNED_CONTENT)?);
    Ok(Amount { commits: commits.cast_unsigned(), contents: contents.cast_unsigned(), bytes: 0 })
}
