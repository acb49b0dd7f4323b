//! Sessions and commits by what people type for them.

use rusqlite::{Row, params};
use stemmata_model::{ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, SessionId};

use super::commits::{key_of, sql_limit};
use super::contents;
use super::listings::SESSION_COLUMNS;
use super::metadata::LINK_COLUMNS;
use crate::error::StoreError;
use crate::rules::codes;
use crate::rules::rows::{LinkRow, link};
use crate::seam::{END_CHARS_MIN, IdPart, Names};
use crate::sqlite::failure::unreadable;
use crate::sqlite::statements::columns;
use crate::sqlite::{SqliteStore, marks};
use crate::write::{Link, LinkKind, SIDECAR_FORMAT, Session};

/// Comes after everything that begins with a text when it is appended to that: no text that is stored holds it.
pub(in crate::sqlite) const LAST: char = char::MAX;

impl Names for SqliteStore {
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError> {
        let (wanted, first, second) = match part {
            IdPart::Beginning(text) => {
                ("session >= ?1 AND session < ?2", text.to_owned(), format!("{text}{LAST}"))
            }
            IdPart::End(text) if text.chars().count() < END_CHARS_MIN => return Ok(Vec::new()),
            IdPart::End(text) => (
                "substr(session, -4) = substr(?1, -4) AND substr(session, -length(?1)) = ?2",
                text.to_owned(),
                text.to_owned(),
            ),
        };
        let sql = format!(
            "SELECT session, count(*) FROM session WHERE {wanted} AND format <> '{SIDECAR_FORMAT}' \
             GROUP BY session ORDER BY session LIMIT ?3"
        );
        let values = params![first, second, sql_limit(limit)];
        let rows: Vec<(String, i64)> = self.read(|reader| reader.all(&sql, values, columns))?;
        rows.into_iter()
            .map(|(text, count)| {
                let id = SessionId::new(text.as_str())
                    .map_err(|error| unreadable("session.session", &text, &error))?;
                Ok((id, count.cast_unsigned()))
            })
            .collect()
    }

    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        let [low, high] = [prefix.low, prefix.high];
        let values = params![key_of(low), key_of(high), low.to_bytes(), high.to_bytes(), sql_limit(limit)];
        let sql = "SELECT id FROM commits WHERE substr(id, 1, 8) BETWEEN ?1 AND ?2 AND id BETWEEN ?3 AND ?4 \
                   ORDER BY substr(id, 1, 8), id LIMIT ?5";
        self.read(|reader| reader.all(sql, values, |row| Ok(CommitId::from_bytes(row.get(0)?))))
    }

    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError> {
        let (low, high) = prefix.range();
        let keys = [low, high].map(|id| contents::key_of(&id));
        let values = params![keys[0], keys[1], low.as_bytes(), high.as_bytes(), sql_limit(limit)];
        let sql = "SELECT hash FROM (SELECT hash FROM content WHERE substr(hash, 1, 8) BETWEEN ?1 AND ?2 \
                   AND hash BETWEEN ?3 AND ?4 ORDER BY substr(hash, 1, 8), hash LIMIT ?5) \
                   UNION SELECT hash FROM (SELECT hash FROM packed WHERE substr(hash, 1, 8) BETWEEN ?1 AND ?2 \
                   AND hash BETWEEN ?3 AND ?4 ORDER BY substr(hash, 1, 8), hash LIMIT ?5) \
                   ORDER BY hash LIMIT ?5";
        self.read(|reader| reader.all(sql, values, |row| Ok(ArtifactId::from_bytes(row.get(0)?))))
    }

    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        self.read(|reader| marks::tombstones_in(reader.connection(), prefix, limit))
    }

    fn sessions_of(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        // The sign keeps SQLite from walking all sessions in their order instead of looking the id up.
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM session WHERE session = ?1 ORDER BY +last_at DESC, path, machine LIMIT ?2"
        );
        self.read(|reader| reader.listed(&sql, params![id.as_str(), sql_limit(limit)]))
    }

    fn unused_sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "SELECT {SESSION_COLUMNS} FROM session WHERE placed_from IS NOT NULL AND tip = placed_from \
             ORDER BY +path, machine LIMIT ?1"
        );
        self.read(|reader| reader.listed(&sql, params![sql_limit(limit)]))
    }

    fn copies(&self, limit: usize) -> Result<Vec<Link>, StoreError> {
        let sql = format!(
            "SELECT {LINK_COLUMNS} FROM link l JOIN commits f ON f.row = l.source JOIN commits t ON t.row = l.target \
             WHERE l.kind = ?1 AND l.entry <> '' ORDER BY f.id, t.id, l.entry LIMIT ?2"
        );
        let kind = codes::link_kind(LinkKind::DerivedFrom);
        let rows =
            self.read(|reader| reader.all(&sql, params![kind, sql_limit(limit)], columns::<LinkRow>))?;
        rows.into_iter().map(|row| link(row, CommitId::from_bytes([0; 16]))).collect()
    }

    fn tags(&self, beginning: &str, limit: usize) -> Result<Vec<(String, CommitId)>, StoreError> {
        let sql = "SELECT t.text, min(c.id) FROM annotation t JOIN commits c ON c.row = t.commit_row \
                   WHERE t.kind = 1 AND t.text >= ?1 AND t.text < ?2 GROUP BY t.text ORDER BY t.text LIMIT ?3";
        let values = params![beginning, format!("{beginning}{LAST}"), sql_limit(limit)];
        let take = |row: &Row<'_>| Ok((row.get(0)?, CommitId::from_bytes(row.get(1)?)));
        self.read(|reader| reader.all(sql, values, take))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;
    use tempfile::TempDir;

    use crate::sqlite::open::{Opened, SqliteOptions, open_store};

    #[test]
    fn a_statement_is_planned_once_whatever_its_limit() {
        let home = TempDir::new().expect("a directory");
        let Opened { connection, .. } = open_store(home.path(), &SqliteOptions::default()).expect("a store");
        let mut statement =
            connection.prepare("SELECT row FROM commits ORDER BY row LIMIT ?1").expect("a statement");
        for limit in 1..4 {
            assert!(!statement.exists([limit]).expect("a read"));
        }
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }
}
