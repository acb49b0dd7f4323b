//! The few combinations of format, template and rules that commits have, by their row; real stores have a dozen.

use rusqlite::{Connection, params};
use stemmata_model::{Commit, FormatId, RulesHash, Template};

use super::failure::{During, unreadable};
use crate::error::StoreError;
use crate::rules::recent::Interned;
use crate::rules::rows::{CommitRow, Kind};
use crate::sqlite::statements::{columns, one};

/// Kinds met so far on one connection.
#[derive(Debug, Default)]
pub(super) struct Kinds(Interned<Kind>);

impl Kinds {
    /// Returns what a row stands for.
    fn load(&mut self, connection: &Connection, row: i64) -> Result<&Kind, StoreError> {
        self.0.load(("kind", row), || read(connection, row).map(Some))
    }

    /// Returns the commit that a row is.
    pub(super) fn commit(&mut self, connection: &Connection, row: CommitRow) -> Result<Commit, StoreError> {
        let kind = self.load(connection, row.kind)?;
        row.into_commit(kind)
    }

    /// Returns the row of a kind, new where there was none.
    pub(super) fn row_of(&mut self, connection: &Connection, kind: &Kind) -> Result<i64, StoreError> {
        self.0.row_of(kind, || find(connection, kind))
    }
}

fn read(connection: &Connection, row: i64) -> Result<Kind, StoreError> {
    let (format, template, rules): (String, String, Vec<u8>) = connection
        .during("reading a kind of commit")
        .only("SELECT format, template, rules FROM kind WHERE row = ?1", [row], columns)?;
    let rules = <[u8; 32]>::try_from(rules).map_err(|found| unreadable("kind.rules", &row, &found.len()))?;
    Ok(Kind {
        format: FormatId::new(format).map_err(|error| unreadable("kind.format", &row, &error))?,
        template: Template::new(template).map_err(|error| unreadable("kind.template", &row, &error))?,
        rules: RulesHash(rules),
    })
}

fn find(connection: &Connection, kind: &Kind) -> Result<i64, StoreError> {
    let values = params![kind.format.as_str(), kind.template.as_str(), kind.rules.0.as_slice()];
    let found = connection.during("looking up a kind of commit").first(
        "SELECT row FROM kind WHERE format = ?1 AND template = ?2 AND rules = ?3",
        values,
        one,
    )?;
    if let Some(row) = found {
        return Ok(row);
    }
    connection
        .during("storing a kind of commit")
        .insert("INSERT INTO kind (format, template, rules) VALUES (?1, ?2, ?3)", values)
}
