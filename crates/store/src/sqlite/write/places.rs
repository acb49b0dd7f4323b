//! Where commits were seen, and what belongs to a transcript: sessions, cursors, placements.
//!
//! Metadata that people write is in `annotations`.

use rusqlite::types::Value;
use rusqlite::{ToSql, params};
use stemmata_model::{CommitId, Sighting, Template, ThreadId, TicketId, Timestamp};

use super::Transaction;
use super::commits::Known;
use crate::error::StoreError;
use crate::rules::codes;
use crate::rules::latest::{Origin, is_replaced};
use crate::sqlite::failure::During;
use crate::sqlite::forget::commits::remove_sessions;
use crate::sqlite::places::PlaceKey;
use crate::sqlite::seals::{CURSOR, Insert, ORIGIN, PLACEMENT, SESSION, SIGHTING};
use crate::sqlite::statements::one;
use crate::sqlite::stored;
use crate::write::{Placement, Session, SessionKey, SessionOrigin};

impl Transaction<'_> {
    pub(super) fn see(&mut self, id: CommitId, sighting: &Sighting) -> Result<(), StoreError> {
        let commit = self.need_commit(id)?;
        let origin = self.find_origin(sighting)?;
        if self.record_sighting(commit, origin, sighting)? {
            if self.first_new.is_none_or(|first| commit.row < first) {
                // An index may have passed the commit, and does not look there again by itself.
                stored::set_unseen(self.connection, origin)?;
            }
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
            codes::cause(sighting.trigger, sighting.reasons),
            sighting.observed_at.as_micros(),
            source.map(|source| source.offset.cast_signed()),
            source.map(|source| source.length.cast_signed()),
        ];
        let sql = "INSERT INTO sighting (origin, created_at, commit_row, trigger, observed_at, offset, length, seal) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) \
                   ON CONFLICT DO UPDATE SET trigger = excluded.trigger, observed_at = excluded.observed_at, \
                   offset = excluded.offset, length = excluded.length, seal = excluded.seal \
                   WHERE (excluded.observed_at, excluded.trigger, ifnull(excluded.offset, -1), \
                   ifnull(excluded.length, -1)) \
                   < (observed_at, trigger, ifnull(offset, -1), ifnull(length, -1))";
        let changed = self.connection.during("storing a sighting").seal(sql, &SIGHTING, values)?;
        Ok(changed > 0)
    }

    /// The first origin stands in the commit's own row, further ones in a table beside it.
    fn point_to_origin(&self, commit_row: i64, origin: i64) -> Result<(), StoreError> {
        let ask = self.connection.during("storing a sighting");
        let sql = "UPDATE commits SET origin = ?2 WHERE row = ?1 AND (origin IS NULL OR origin = ?2)";
        if ask.run(sql, [commit_row, origin])? == 0 {
            let sql = "INSERT OR IGNORE INTO sighting_more (commit_row, origin) VALUES (?1, ?2)";
            ask.run(sql, [commit_row, origin])?;
        }
        Ok(())
    }

    fn find_origin(&mut self, sighting: &Sighting) -> Result<i64, StoreError> {
        let key = Origin::of(sighting);
        if let Some(row) = self.memory.origins.get(&key) {
            return Ok(*row);
        }
        let ticket = key.ticket.as_ref().map(TicketId::as_str);
        let thread = key.thread.as_ref().map(ThreadId::as_str);
        let alias = key.template_alias.as_ref().map(Template::as_str);
        let [principal, machine, session] =
            [key.principal.as_str(), key.machine.as_str(), key.session.as_str()];
        let values = params![principal, machine, session, key.path, ticket, thread, alias];
        let sql = "SELECT row FROM origin WHERE session = ?3 AND machine = ?2 AND principal = ?1 \
                   AND path IS ?4 AND ticket IS ?5 AND thread IS ?6 AND template_alias IS ?7";
        let found = self.connection.during("looking up an origin").first(sql, values, one)?;
        let row = match found {
            Some(row) => row,
            None => self.add_origin(values)?,
        };
        self.memory.origins.put(key, row);
        Ok(row)
    }

    fn add_origin(&self, values: &[&dyn ToSql]) -> Result<i64, StoreError> {
        let storing = "storing an origin";
        let row: i64 =
            self.connection.during(storing).only("SELECT ifnull(max(row), 0) + 1 FROM origin", [], one)?;
        let whole: Vec<&dyn ToSql> =
            std::iter::once(&row as &dyn ToSql).chain(values.iter().copied()).collect();
        self.connection.during(storing).insert_sealed(Insert::New, &ORIGIN, &whole)?;
        Ok(row)
    }

    pub(super) fn upsert_session(&mut self, session: &Session) -> Result<(), StoreError> {
        match session.origin {
            SessionOrigin::Placed(ctx) => {
                self.need_commit(ctx)?;
            }
            SessionOrigin::Imported | SessionOrigin::Api => {}
        }
        if let Some(tip) = session.tip {
            self.need_commit(tip)?;
        }
        let row = session_row(session);
        let values: Vec<&dyn ToSql> = row.iter().map(|value| value as &dyn ToSql).collect();
        self.connection.during("storing a session").insert_sealed(Insert::OrUpdate, &SESSION, &values)?;
        Ok(())
    }

    pub(super) fn leave_session(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        remove_sessions(self.connection, std::slice::from_ref(key))?;
        // Rows that are remembered may be gone.
        *self.memory = super::Memory::default();
        Ok(())
    }

    pub(super) fn expect_cursor(&self, key: &SessionKey, value: Option<&[u8]>) -> Result<(), StoreError> {
        let stored: Option<Vec<u8>> = key_of(key)
            .row(self.connection, (&CURSOR, "value"), |row| row.get(0))
            .during("looking up a cursor")?;
        if stored.as_deref() == value {
            return Ok(());
        }
        Err(StoreError::CursorMoved { path: key.path.clone() })
    }

    pub(super) fn expect_tip(&self, key: &SessionKey, tip: Option<CommitId>) -> Result<(), StoreError> {
        let stored: Option<Option<[u8; 16]>> =
            self.connection.during("looking up a session's newest commit").first(
                "SELECT tip FROM session WHERE path = ?1 AND machine = ?2",
                params![key.path, key.machine.as_str()],
                one,
            )?;
        if stored.flatten() == tip.map(CommitId::to_bytes) {
            return Ok(());
        }
        Err(StoreError::TipMoved { path: key.path.clone() })
    }

    pub(super) fn keep_cursor(&self, key: &SessionKey, value: &[u8]) -> Result<(), StoreError> {
        let place = key_of(key);
        place.adopt(self.connection, &CURSOR)?;
        let values = params![place.hash, "", value];
        self.connection.during("storing a cursor").insert_sealed(Insert::OrUpdate, &CURSOR, values)?;
        Ok(())
    }

    pub(super) fn place(&mut self, placement: &Placement) -> Result<(), StoreError> {
        self.need_commit(placement.ctx)?;
        let place = PlaceKey::new(&placement.path, placement.machine.as_str());
        let columns = (&PLACEMENT, "placed_at");
        let known =
            place.row(self.connection, columns, |row| row.get::<_, i64>(0)).during("reading a placement")?;
        if !is_replaced(known.map(Timestamp::from_micros), placement.placed_at) {
            return Ok(());
        }
        place.adopt(self.connection, &PLACEMENT)?;
        let values = params![
            place.hash,
            "",
            placement.session.as_str(),
            placement.ctx.to_bytes(),
            placement.taken_bytes.cast_signed(),
            placement.placed_bytes.cast_signed(),
            placement.keyed_hash,
            placement.placed_at.as_micros(),
        ];
        self.connection.during("storing a placement").insert_sealed(Insert::OrUpdate, &PLACEMENT, values)?;
        Ok(())
    }
}

fn key_of(key: &SessionKey) -> PlaceKey<'_> {
    PlaceKey::new(&key.path, key.machine.as_str())
}

/// Returns the columns of a session's row, in their order.
pub(in crate::sqlite) fn session_row(session: &Session) -> [Value; 20] {
    let text = |text: &str| Value::Text(text.to_owned());
    let perhaps = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let time = |at: Option<Timestamp>| at.map_or(Value::Null, |at| Value::Integer(at.as_micros()));
    let commit = |id: Option<CommitId>| id.map_or(Value::Null, |id| Value::Blob(id.to_bytes().to_vec()));
    let count = |number: u64| Value::Integer(number.cast_signed());
    let placed_from = match session.origin {
        SessionOrigin::Placed(ctx) => Some(ctx),
        SessionOrigin::Imported | SessionOrigin::Api => None,
    };
    [
        text(&session.key.path),
        text(session.key.machine.as_str()),
        text(session.session.as_str()),
        session.parent_session.as_ref().map_or(Value::Null, |parent| text(parent.as_str())),
        text(session.format.as_str()),
        text(session.template.as_str()),
        text(session.principal.as_str()),
        Value::Integer(codes::granularity(session.granularity)),
        Value::Integer(codes::session_origin(session.origin)),
        commit(placed_from),
        perhaps(&session.title),
        perhaps(&session.cwd),
        perhaps(&session.git_branch),
        perhaps(&session.version),
        time(session.started_at),
        time(session.last_at),
        commit(session.tip),
        count(session.commits),
        count(session.messages),
        count(session.bytes),
    ]
}
