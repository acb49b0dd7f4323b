//! Recomputing all that can be recomputed, and reporting each damage.
//!
//! Repairs nothing, and goes on after what it finds.

use rusqlite::Row;
use stemmata_model::{ArtifactId, CommitId};

use super::Reader;
use super::commits::{childless, commit_columns, take_commit};
use super::contents::{Buffers, read_composed};
use super::literals::{Kept, Key, content_columns, decode_literal};
use crate::error::StoreError;
use crate::rules::closure;
use crate::rules::coding::Coding;
use crate::rules::figures::Figures;
use crate::seam::{Damage, Verified};
use crate::sqlite::failure::During;
use crate::sqlite::open::STORE_FILE;
use crate::sqlite::seals::SEALED;
use crate::sqlite::statements::one;

const VERIFYING: &str = "verifying the store";

/// Findings of SQLite's own check at most: after so many, more say nothing new.
const DATABASE_FINDINGS_MAX: usize = 100;

/// Contents that are looked at before the store is looked at anew.
pub(in crate::sqlite) const PAGE_ROWS: i64 = 256;

/// References that must lead somewhere: the table, its name for people, and the rows that do not.
const REFERENCES: [(&str, &str, &str); 12] = [
    (
        "sighting",
        "a sighting's commit",
        "SELECT s.commit_row FROM sighting s LEFT JOIN commits c \
         ON c.row = s.commit_row AND c.created_at = s.created_at WHERE c.row IS NULL",
    ),
    (
        "sighting",
        "a sighting's origin",
        "SELECT s.commit_row FROM sighting s LEFT JOIN origin o ON o.row = s.origin WHERE o.row IS NULL",
    ),
    (
        "sighting",
        "a sighting that its commit does not know",
        "SELECT s.commit_row FROM sighting s JOIN commits c ON c.row = s.commit_row \
         WHERE c.origin IS NOT s.origin AND NOT EXISTS (SELECT 1 FROM sighting_more m \
         WHERE m.commit_row = s.commit_row AND m.origin = s.origin)",
    ),
    (
        "link",
        "a link's ends",
        "SELECT l.source FROM link l LEFT JOIN commits f ON f.row = l.source \
         LEFT JOIN commits t ON t.row = l.target WHERE f.row IS NULL OR t.row IS NULL",
    ),
    (
        "session",
        "a session's tip",
        "SELECT s.path FROM session s WHERE s.tip IS NOT NULL AND NOT EXISTS \
         (SELECT 1 FROM commits c WHERE substr(c.id, 1, 8) = substr(s.tip, 1, 8) AND c.id = s.tip)",
    ),
    (
        "placement",
        "a placement's commit",
        "SELECT p.session FROM placement p WHERE NOT EXISTS \
         (SELECT 1 FROM commits c WHERE substr(c.id, 1, 8) = substr(p.ctx, 1, 8) AND c.id = p.ctx)",
    ),
    (
        "annotation",
        "an annotation's commit",
        "SELECT commit_row FROM annotation WHERE commit_row NOT IN (SELECT row FROM commits)",
    ),
    (
        "anchor",
        "an anchor's commit",
        "SELECT commit_row FROM anchor WHERE commit_row NOT IN (SELECT row FROM commits)",
    ),
    (
        "coverage",
        "what a commit covers",
        "SELECT v.commit_row FROM coverage v LEFT JOIN commits c ON c.row = v.commit_row \
         LEFT JOIN ledger l ON l.row = v.ledger WHERE c.row IS NULL OR l.row IS NULL",
    ),
    (
        "event",
        "an event's ledger",
        "SELECT DISTINCT ledger FROM event WHERE ledger NOT IN (SELECT row FROM ledger)",
    ),
    (
        "event",
        "a name of an event",
        "SELECT e.seq FROM event e WHERE NOT EXISTS (SELECT 1 FROM name n WHERE n.row = e.topic) \
         OR NOT EXISTS (SELECT 1 FROM name n WHERE n.row = e.sender) \
         OR NOT EXISTS (SELECT 1 FROM name n WHERE n.row = e.receiver) \
         OR NOT EXISTS (SELECT 1 FROM name n WHERE n.row = e.session)",
    ),
    (
        "ledger",
        "the ledger of a mark, a receipt or a state",
        "SELECT ledger FROM (SELECT ledger FROM ledger_mark UNION SELECT ledger FROM receipt \
         UNION SELECT ledger FROM state UNION SELECT ledger FROM event_key) WHERE ledger NOT IN (SELECT row FROM ledger)",
    ),
];

/// Tables whose rows count as references.
const REFERRING: &str = "SELECT (SELECT count(*) FROM sighting) + (SELECT count(*) FROM link) \
     + (SELECT count(*) FROM session) + (SELECT count(*) FROM placement) + (SELECT count(*) FROM annotation)";

type Report<'a> = &'a mut dyn FnMut(Damage);

/// Verifies a part of the store.
type Part = fn(&mut Reader, &mut Verified, Report<'_>) -> Result<(), StoreError>;

/// A part of the store that cannot be read is a damage.
pub(in crate::sqlite) fn unread(what: &str, error: &StoreError) -> Damage {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    Damage {
        check: "database",
        object: STORE_FILE.to_owned(),
        message: format!("{what} cannot be read: {error}{}", cause.unwrap_or_default()),
    }
}

impl Reader {
    pub(in crate::sqlite) fn verify(&mut self, found: Report<'_>) -> Verified {
        let mut verified = Verified::default();
        // A part that cannot be read is a damage of its own; the other parts may still be sound.
        let hold = |result: Result<(), StoreError>, what: &str, found: Report<'_>| {
            if let Err(error) = result {
                found(unread(what, &error));
            }
        };
        let parts: [(&str, Part); 7] = [
            ("the database", Self::verify_database),
            ("the contents", Self::verify_contents),
            ("the packed contents", Self::verify_packed),
            ("the packs", Self::verify_packs),
            ("the commits", Self::verify_commits),
            ("the references", Self::verify_references),
            ("the ledgers", Self::verify_ledgers),
        ];
        for (what, part) in parts {
            hold(part(self, &mut verified, found), what, found);
        }
        for sealed in SEALED {
            hold(sealed.verify(&self.connection, &mut verified, found), sealed.table, found);
        }
        verified
    }

    fn verify_database(&mut self, _: &mut Verified, found: Report<'_>) -> Result<(), StoreError> {
        let sql = format!("PRAGMA integrity_check({DATABASE_FINDINGS_MAX})");
        self.connection.during(VERIFYING).each(&sql, [], one, |message: String| {
            if message != "ok" {
                found(Damage { check: "database", object: STORE_FILE.to_owned(), message });
            }
            Ok(())
        })
    }

    fn verify_contents(&mut self, verified: &mut Verified, found: Report<'_>) -> Result<(), StoreError> {
        let mut buffers = Buffers::default();
        let mut after = i64::MIN;
        loop {
            let mut composed = Vec::new();
            let mut statement = self
                .connection
                .prepare_cached(concat!(
                    "SELECT ",
                    content_columns!(),
                    ", row FROM content WHERE row > ?1 ORDER BY row LIMIT ?2"
                ))
                .during(VERIFYING)?;
            let mut rows = statement.query([after, PAGE_ROWS]).during(VERIFYING)?;
            let mut looked = 0;
            while let Some(row) = rows.next().during(VERIFYING)? {
                looked += 1;
                after = row.get(5).during(VERIFYING)?;
                verified.contents += 1;
                let hash = row.get(0).map(ArtifactId::from_bytes);
                let coding = row.get(2).ok().and_then(Coding::from_number);
                match (hash, coding) {
                    (Ok(_), Some(Coding::Forgotten)) => {}
                    (Ok(id), Some(Coding::Composed)) => composed.push((id, after)),
                    (Ok(id), _) => {
                        if let Err(failure) = decode_literal(row, &mut buffers.decoded) {
                            report_content(found, &id.to_string(), &failure.of(id));
                        }
                    }
                    (Err(error), _) => {
                        let named = format!("the content in row {after}");
                        found(Damage { check: "content_hash", object: named, message: error.to_string() });
                    }
                }
            }
            drop(rows);
            drop(statement);
            for (id, row) in composed {
                if let Err(error) = self.verify_composed(id, row) {
                    report_content(found, &id.to_string(), &error);
                }
            }
            if looked == 0 {
                return Ok(());
            }
        }
    }

    fn verify_composed(&mut self, id: ArtifactId, row: i64) -> Result<(), StoreError> {
        self.with_literals(|literals| {
            match literals.load(Key::Row(row)).map_err(|failure| failure.of(id))? {
                Kept::Composed { whole, pieces } => {
                    read_composed(literals, (id, whole, &pieces), None, &mut |_| Ok(()))
                }
                // It was a list a moment ago: somebody else changes the store, and what is there now is sound.
                Kept::Literal(_) | Kept::Forgotten => Ok(()),
            }
        })
    }

    fn verify_commits(&mut self, verified: &mut Verified, found: Report<'_>) -> Result<(), StoreError> {
        let sql = concat!(
            "SELECT ",
            commit_columns!(),
            ", (SELECT figures FROM commits WHERE row = c.parent), \
             ifnull((SELECT length FROM content WHERE row = ifnull(c.native, c.artifact)), \
             (SELECT length FROM packed WHERE row = ifnull(c.native, c.artifact))), \
             c.tip, c.state & 3 < 2 AND ",
            childless!(),
            " FROM commits c"
        );
        let take = |row: &Row<'_>| {
            let beside = || -> rusqlite::Result<Beside> {
                Ok((row.get(10)?, row.get(11)?, row.get(12)?, row.get(13)?))
            };
            let stored = take_commit(row).and_then(|stored| Ok((stored, beside()?)));
            Ok(stored.map_err(|error| (commit_of(row), error)))
        };
        self.connection.during(VERIFYING).each(sql, [], take, |row| {
            verified.commits += 1;
            let mut report = |object, message| found(Damage { check: "commit", object, message });
            match row {
                Ok((stored, beside)) => {
                    let (id, rows) = (stored.id, (stored.row, stored.parent_row));
                    let mut report = |message| report(id.to_string(), message);
                    match self.kinds.commit(&self.connection, stored) {
                        Ok(commit) => hold(&commit, rows, &beside, &mut report),
                        Err(error) => report(text_of(&error)),
                    }
                }
                Err((object, error)) => report(object, format!("its row cannot be read: {error}")),
            }
            Ok(())
        })
    }

    fn verify_references(&mut self, verified: &mut Verified, found: Report<'_>) -> Result<(), StoreError> {
        let count: i64 = self.connection.during(VERIFYING).only(REFERRING, [], one)?;
        verified.references = count.cast_unsigned();
        for (table, what, sql) in REFERENCES {
            self.connection.during(VERIFYING).each(sql, [], one, |end: rusqlite::types::Value| {
                let message = format!("{what} is not there ({end:?})");
                found(Damage { check: "reference", object: table.to_owned(), message });
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// What stands beside a commit's own columns: its parent's figures, the length of its content, whether it says that it is a tip
/// and whether it is.
type Beside = (Option<Vec<u8>>, Option<i64>, bool, bool);

fn hold(
    commit: &stemmata_model::Commit,
    (row, parent_row): (i64, Option<i64>),
    (parent_figures, length, tip, is_tip): &Beside,
    report: &mut dyn FnMut(String),
) {
    if parent_row.is_some() && commit.core.parent.is_none() {
        report("its parent is not there".to_owned());
    }
    if parent_row.is_some_and(|parent| parent >= row) {
        report("its parent was stored after it".to_owned());
    }
    let parent = parent_figures.as_deref().and_then(|bytes| Figures::decode(bytes, row).ok());
    let parent = parent.map(|parent| (parent.depth, parent.cumulative_bytes));
    closure::hold(commit, parent, length.map(i64::cast_unsigned), report);
    if tip != is_tip {
        report("it is wrong about whether it is a tip".to_owned());
    }
}

pub(in crate::sqlite) fn report_content(found: Report<'_>, object: &str, error: &StoreError) {
    found(Damage { check: "content_hash", object: object.to_owned(), message: error.to_string() });
}

fn commit_of(row: &Row<'_>) -> String {
    match row.get::<_, [u8; 16]>(1) {
        Ok(id) => CommitId::from_bytes(id).to_string(),
        Err(_) => format!("the commit in row {}", row.get::<_, i64>(0).unwrap_or(-1)),
    }
}

fn text_of(error: &StoreError) -> String {
    match std::error::Error::source(error) {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    }
}
