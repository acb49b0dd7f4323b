//! Where commits were seen, and what belongs to a transcript: sessions, cursors, placements.
//!
//! Metadata that people write is in `annotations`.

use rusqlite::{OptionalExtension, params};
use stemmata_model::{CommitId, Sighting, Timestamp};

use super::Transaction;
use super::commits::Known;
use crate::error::StoreError;
use crate::sqlite::codes;
use crate::sqlite::failure::During;
use crate::write::{Placement, Session, SessionKey, SessionOrigin};

/// What makes sightings of a commit the same one, in the order of the table's columns.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct OriginKey {
    principal: Box<str>,
    machine: Box<str>,
    session: Box<str>,
    path: Option<Box<str>>,
    ticket: Option<Box<str>>,
    thread: Option<Box<str>>,
    template_alias: Option<Box<str>>,
}

impl OriginKey {
    fn of(sighting: &Sighting) -> Self {
        Self {
            principal: sighting.principal.as_str().into(),
            machine: sighting.machine.as_str().into(),
            session: sighting.session.as_str().into(),
            path: sighting.source.as_ref().map(|source| source.path.as_str().into()),
            ticket: sighting.ticket.as_ref().map(|name| name.as_str().into()),
            thread: sighting.thread.as_ref().map(|name| name.as_str().into()),
            template_alias: sighting.template_alias.as_ref().map(|name| name.as_str().into()),
        }
    }
}

impl Transaction<'_> {
    pub(super) fn see(&mut self, id: CommitId, sighting: &Sighting) -> Result<(), StoreError> {
        let commit = self.need_commit(id)?;
        let origin = self.find_origin(sighting)?;
        if self.record_sighting(commit, origin, sighting)? {
            return self.point_to_origin(commit.row, origin);
        }
        Ok(())
    }

    /// Stores or moves a sighting to an earlier moment, and says whether there may have been none.
    fn record_sighting(&self, commit: Known, origin: i64, sighting: &Sighting) -> Result<bool, StoreError> {
        let source = sighting.source.as_ref();
        let values = params![
            origin,
            commit.created_at,
            commit.row,
            codes::trigger(sighting.trigger),
            sighting.observed_at.as_micros(),
            source.map(|source| source.offset.cast_signed()),
            source.map(|source| source.length.cast_signed()),
        ];
        let changed = self.execute(
            "INSERT INTO sighting (origin, created_at, commit_row, trigger, observed_at, offset, length) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT DO UPDATE SET trigger = excluded.trigger, observed_at = excluded.observed_at, \
             offset = excluded.offset, length = excluded.length \
             WHERE (excluded.observed_at, excluded.trigger, ifnull(excluded.offset, -1), \
             ifnull(excluded.length, -1)) \
             < (observed_at, trigger, ifnull(offset, -1), ifnull(length, -1))",
            values,
            "storing a sighting",
        )?;
        Ok(changed > 0)
    }

    /// The first origin stands in the commit's own row, further ones in a table beside it.
    fn point_to_origin(&self, commit_row: i64, origin: i64) -> Result<(), StoreError> {
        let first = self.execute(
            "UPDATE commits SET origin = ?2 WHERE row = ?1 AND (origin IS NULL OR origin = ?2)",
            [commit_row, origin],
            "storing a sighting",
        )?;
        if first == 0 {
            self.execute(
                "INSERT OR IGNORE INTO sighting_more (commit_row, origin) VALUES (?1, ?2)",
                [commit_row, origin],
                "storing a sighting",
            )?;
        }
        Ok(())
    }

    fn find_origin(&mut self, sighting: &Sighting) -> Result<i64, StoreError> {
        let key = OriginKey::of(sighting);
        if let Some(row) = self.memory.origins.get(&key) {
            return Ok(*row);
        }
        let values = params![
            key.principal,
            key.machine,
            key.session,
            key.path,
            key.ticket,
            key.thread,
            key.template_alias
        ];
        let found = self
            .connection
            .prepare_cached(
                "SELECT row FROM origin WHERE session = ?3 AND machine = ?2 AND principal = ?1 \
                 AND path IS ?4 AND ticket IS ?5 AND thread IS ?6 AND template_alias IS ?7",
            )
            .and_then(|mut statement| statement.query_row(values, |row| row.get(0)).optional())
            .during("looking up an origin")?;
        let row = match found {
            Some(row) => row,
            None => self
                .connection
                .prepare_cached(
                    "INSERT INTO origin (principal, machine, session, path, ticket, thread, template_alias) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )
                .and_then(|mut statement| statement.insert(values))
                .during("storing an origin")?,
        };
        self.memory.origins.put(key, row);
        Ok(row)
    }

    pub(super) fn upsert_session(&mut self, session: &Session) -> Result<(), StoreError> {
        let placed_from = match session.origin {
            SessionOrigin::Placed(ctx) => {
                self.need_commit(ctx)?;
                Some(ctx.to_bytes())
            }
            SessionOrigin::Imported | SessionOrigin::Api => None,
        };
        if let Some(tip) = session.tip {
            self.need_commit(tip)?;
        }
        let values = params![
            session.key.path,
            session.key.machine.as_str(),
            session.session.as_str(),
            session.parent_session.as_ref().map(AsRef::<str>::as_ref),
            session.format.as_str(),
            session.template.as_str(),
            session.principal.as_str(),
            codes::granularity(session.granularity),
            codes::session_origin(session.origin),
            placed_from,
            session.title,
            session.cwd,
            session.git_branch,
            session.version,
            session.started_at.map(Timestamp::as_micros),
            session.last_at.map(Timestamp::as_micros),
            session.tip.map(CommitId::to_bytes),
            session.commits.cast_signed(),
            session.messages.cast_signed(),
            session.bytes.cast_signed(),
        ];
        self.execute(UPSERT_SESSION, values, "storing a session")?;
        Ok(())
    }

    pub(super) fn expect_cursor(&self, key: &SessionKey, value: Option<&[u8]>) -> Result<(), StoreError> {
        let stored: Option<Vec<u8>> = self
            .connection
            .prepare_cached("SELECT value FROM cursor WHERE path = ?1 AND machine = ?2")
            .and_then(|mut statement| {
                statement.query_row([key.path.as_str(), key.machine.as_str()], |row| row.get(0)).optional()
            })
            .during("looking up a cursor")?;
        if stored.as_deref() == value {
            return Ok(());
        }
        Err(StoreError::CursorMoved { path: key.path.clone() })
    }

    pub(super) fn keep_cursor(&self, key: &SessionKey, value: &[u8]) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO cursor (path, machine, value) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET value = excluded.value",
            params![key.path, key.machine.as_str(), value],
            "storing a cursor",
        )?;
        Ok(())
    }

    pub(super) fn place(&mut self, placement: &Placement) -> Result<(), StoreError> {
        self.need_commit(placement.ctx)?;
        let values = params![
            placement.path,
            placement.machine.as_str(),
            placement.session.as_str(),
            placement.ctx.to_bytes(),
            placement.taken_bytes.cast_signed(),
            placement.placed_bytes.cast_signed(),
            placement.keyed_hash,
            placement.placed_at.as_micros(),
        ];
        self.execute(
            "INSERT INTO placement (path, machine, session, ctx, taken_bytes, placed_bytes, keyed_hash, placed_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
             ON CONFLICT DO UPDATE SET session = excluded.session, ctx = excluded.ctx, \
             taken_bytes = excluded.taken_bytes, placed_bytes = excluded.placed_bytes, \
             keyed_hash = excluded.keyed_hash, placed_at = excluded.placed_at \
             WHERE excluded.placed_at >= placed_at",
            values,
            "storing a placement",
        )?;
        Ok(())
    }
}

/// Every column is replaced; columns that a newer version added keep what they hold.
const UPSERT_SESSION: &str = "INSERT INTO session (path, machine, session, parent_session, format, template, \
     principal, granularity, came, placed_from, title, cwd, git_branch, version, started_at, last_at, tip, \
     commits, messages, bytes) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20) \
     ON CONFLICT (path, machine) DO UPDATE SET session = excluded.session, \
     parent_session = excluded.parent_session, format = excluded.format, template = excluded.template, \
     principal = excluded.principal, granularity = excluded.granularity, came = excluded.came, \
     placed_from = excluded.placed_from, title = excluded.title, cwd = excluded.cwd, \
     git_branch = excluded.git_branch, version = excluded.version, started_at = excluded.started_at, \
     last_at = excluded.last_at, tip = excluded.tip, commits = excluded.commits, \
     messages = excluded.messages, bytes = excluded.bytes";
