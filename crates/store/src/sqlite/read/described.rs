//! What is known of commits beside their rows, and all that is below one: a few queries a page, however many commits it has.
//!
//! A commit alone is a page of one.

use std::collections::HashMap;

use rusqlite::params;
use stemmata_model::{Commit, CommitId, Sighting};

use super::commits::{commit_columns, sql_limit, take_commit};
use super::metadata::LINK_COLUMNS;
use super::sightings;
use super::{Reader, one_state};
use crate::error::StoreError;
use crate::ledger::Coverage;
use crate::rules::codes::{KIND_AUDIT, KIND_NOTE};
use crate::rules::rows::{CommitRow, LinkRow, link, note_annotation};
use crate::seam::{DESCRIBED_LINKS_MAX, DESCRIBED_SIGHTINGS_MAX, Described};
use crate::sqlite::failure::During;
use crate::sqlite::ledger::coverage;
use crate::sqlite::statements::columns;
use crate::write::{Annotations, Link};

const DESCRIBING: &str = "reading what is known of commits";

impl Reader {
    pub(in crate::sqlite) fn below(
        &mut self,
        from: &[CommitId],
        limit: usize,
    ) -> Result<Vec<Commit>, StoreError> {
        // Rows come out of the recursion in the order that they went in, breadth first. A child in the next row goes in before
        // the others, which have greater rows.
        let sql = concat!(
            "WITH RECURSIVE below (row) AS ( \
             SELECT c.row FROM json_each(?1) w CROSS JOIN commits c \
             ON substr(c.id, 1, 8) = unhex(substr(w.value, 1, 16)) AND c.id = unhex(w.value) \
             UNION ALL SELECT c.row FROM below b JOIN commits c ON c.row = b.row + 1 AND c.parent = b.row \
             UNION ALL SELECT c.row FROM below b JOIN commits c ON c.parent = b.row WHERE c.parent <> c.row - 1 \
             LIMIT ?2) SELECT ",
            commit_columns!(),
            " FROM below CROSS JOIN commits c ON c.row = below.row"
        );
        let from: Vec<String> = from.iter().map(|id| hex(*id)).collect();
        let values = params![json(&from), sql_limit(limit)];
        self.collect(sql, values, "listing what is below a commit")
    }

    /// All of it is of one state of the store.
    pub(in crate::sqlite) fn described(&mut self, of: &[CommitId]) -> Result<Vec<Described>, StoreError> {
        let _state = one_state(&self.connection)?;
        let ids: Vec<String> = of.iter().map(|id| hex(*id)).collect();
        let sql = concat!(
            "SELECT ",
            commit_columns!(),
            " FROM json_each(?1) w CROSS JOIN commits c \
             ON substr(c.id, 1, 8) = unhex(substr(w.value, 1, 16)) AND c.id = unhex(w.value) ORDER BY w.key"
        );
        let found: Vec<CommitRow> =
            self.connection.during(DESCRIBING).list(sql, [json(&ids)], take_commit)?;
        let limits = [DESCRIBED_LINKS_MAX, DESCRIBED_SIGHTINGS_MAX];
        let rows = found.iter().map(|found| (found.row, found.id));
        let mut page = Page::new(rows, limits, i64::MAX);
        for part in [Self::annotate, Self::link, Self::see, Self::cover] {
            part(self, &mut page)?;
        }
        let mut all = Vec::with_capacity(found.len());
        for found in found {
            // One may be asked for twice.
            let Some(beside) = page.of.get(&found.row).cloned() else { continue };
            let commit = self.kinds.commit(&self.connection, found)?;
            let Beside { annotations, changes, sightings, links, coverage, .. } = beside;
            all.push(Described { commit, annotations, changes, sightings, links, coverage });
        }
        Ok(all)
    }

    pub(in crate::sqlite) fn annotations(&self, commit: CommitId) -> Result<Annotations, StoreError> {
        Ok(self.beside(commit, usize::MAX, Self::annotate)?.annotations)
    }

    pub(in crate::sqlite) fn links(&self, commit: CommitId, limit: usize) -> Result<Vec<Link>, StoreError> {
        Ok(self.beside(commit, limit, Self::link)?.links)
    }

    pub(in crate::sqlite) fn sightings(
        &self,
        commit: CommitId,
        limit: usize,
    ) -> Result<Vec<Sighting>, StoreError> {
        Ok(self.beside(commit, limit, Self::see)?.sightings)
    }

    pub(in crate::sqlite) fn coverage(&self, commit: CommitId) -> Result<Option<Coverage>, StoreError> {
        Ok(self.beside(commit, usize::MAX, Self::cover)?.coverage)
    }

    /// Reads a part of what stands beside one commit; nothing where it is not there. Within a transaction: between two
    /// statements the commit may go, and another one have the number of its row.
    fn beside(&self, commit: CommitId, limit: usize, part: Part) -> Result<Beside, StoreError> {
        let _state = one_state(&self.connection)?;
        let row = self.row_of(commit)?;
        let mut page = Page::new(row.map(|row| (row, commit)), [limit; 2], KIND_AUDIT);
        part(self, &mut page)?;
        Ok(page.of.into_values().next().unwrap_or_else(|| Beside::new(commit)))
    }

    fn annotate(&self, page: &mut Page) -> Result<(), StoreError> {
        type Columns = (i64, i64, Option<String>, Option<i64>);
        let rows: Vec<Columns> = self.all(
            "SELECT a.commit_row, a.kind, iif(a.kind = ?2, NULL, a.text), a.source FROM json_each(?1) w \
             CROSS JOIN annotation a ON a.commit_row = w.value AND a.kind < ?4 \
             ORDER BY w.key, a.kind, iif(a.kind = ?3, a.at, 0), a.number",
            params![page.rows, KIND_AUDIT, KIND_NOTE, page.kinds_end],
            columns,
        )?;
        for (row, kind, text, source) in rows {
            let Some(described) = page.of.get_mut(&row) else { continue };
            if kind == KIND_AUDIT {
                described.changes += 1;
            } else {
                note_annotation(&mut described.annotations, described.id, (kind, text, source))?;
            }
        }
        for described in page.of.values_mut() {
            described.annotations.tags.sort();
        }
        Ok(())
    }

    fn link(&self, page: &mut Page) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {LINK_COLUMNS}, l.of FROM ( \
             SELECT w.value AS of, l.* FROM json_each(?1) w CROSS JOIN link l ON l.source = w.value \
             UNION SELECT w.value, l.* FROM json_each(?1) w CROSS JOIN link l ON l.target = w.value) l \
             JOIN commits f ON f.row = l.source JOIN commits t ON t.row = l.target \
             ORDER BY f.id, l.kind, t.id, l.entry LIMIT ?2"
        );
        let values = params![page.rows, page.rows_max(page.limits[0])];
        let rows: Vec<(LinkRow, i64)> = self.all(&sql, values, |row| Ok((columns(row)?, row.get(4)?)))?;
        for (columns, row) in rows {
            if let Some(described) = page.of.get_mut(&row).filter(|one| one.links.len() < page.limits[0]) {
                described.links.push(link(columns, described.id)?);
            }
        }
        Ok(())
    }

    fn see(&self, page: &mut Page) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {}, c.row FROM json_each(?1) w CROSS JOIN commits c ON c.row = w.value \
             JOIN sighting s ON s.created_at = c.created_at AND s.commit_row = c.row \
             AND s.origin IN (SELECT c.origin UNION ALL \
             SELECT m.origin FROM sighting_more m WHERE m.commit_row = c.row) \
             JOIN origin o ON o.row = s.origin ORDER BY {} LIMIT ?2",
            sightings::COLUMNS,
            sightings::ORDER
        );
        let mut statement = self.connection.prepare_cached(&sql).during(DESCRIBING)?;
        let rows_max = page.rows_max(page.limits[1]);
        let mut rows = statement.query(params![page.rows, rows_max]).during(DESCRIBING)?;
        while let Some(row) = rows.next().during(DESCRIBING)? {
            let of: i64 = row.get(11).during(DESCRIBING)?;
            if let Some(described) = page.of.get_mut(&of).filter(|one| one.sightings.len() < page.limits[1]) {
                described.sightings.push(sightings::take_sighting(row).during(DESCRIBING)?.into_sighting()?);
            }
        }
        Ok(())
    }

    fn cover(&self, page: &mut Page) -> Result<(), StoreError> {
        let rows: Vec<(i64, String, i64)> = self.all(
            "SELECT v.commit_row, l.id, v.through FROM json_each(?1) w \
             CROSS JOIN coverage v ON v.commit_row = w.value JOIN ledger l ON l.row = v.ledger ORDER BY l.id",
            params![page.rows],
            columns,
        )?;
        for (row, ledger, through) in rows {
            if let Some(described) = page.of.get_mut(&row).filter(|one| one.coverage.is_none()) {
                described.coverage = Some(coverage(described.id, &ledger, through)?);
            }
        }
        Ok(())
    }
}

/// What stands beside a commit in other tables.
#[derive(Clone)]
struct Beside {
    id: CommitId,
    annotations: Annotations,
    changes: u64,
    sightings: Vec<Sighting>,
    links: Vec<Link>,
    coverage: Option<Coverage>,
}

impl Beside {
    fn new(id: CommitId) -> Self {
        let (sightings, links) = (Vec::new(), Vec::new());
        Self { id, annotations: Annotations::default(), changes: 0, sightings, links, coverage: None }
    }
}

/// Commits whose rows are being read, by their numbers.
struct Page {
    /// The numbers, as a JSON array for SQL.
    rows: String,
    of: HashMap<i64, Beside>,
    /// Links and sightings of one commit at most.
    limits: [usize; 2],
    /// Kinds of annotations from this one on are not read.
    kinds_end: i64,
}

/// Reads one part of what stands beside the commits of a page.
type Part = fn(&Reader, &mut Page) -> Result<(), StoreError>;

impl Page {
    fn new(commits: impl IntoIterator<Item = (i64, CommitId)>, limits: [usize; 2], kinds_end: i64) -> Self {
        let of: HashMap<i64, Beside> = commits.into_iter().map(|(row, id)| (row, Beside::new(id))).collect();
        Self { rows: json(&of.keys().copied().collect::<Vec<i64>>()), of, limits, kinds_end }
    }

    /// How many rows a query reads, of which one commit has `limit` at most.
    fn rows_max(&self, limit: usize) -> i64 {
        if self.of.len() > 1 { i64::MAX } else { sql_limit(limit) }
    }
}

fn hex(id: CommitId) -> String {
    id.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json<T: serde::Serialize>(values: &[T]) -> String {
    serde_json::to_string(values).expect("numbers and hexadecimal texts always serialize")
}
