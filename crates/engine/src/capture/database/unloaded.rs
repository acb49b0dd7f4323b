//! What opencode does not read of a session that is in its database: what lies in the older folder alone.

use super::schema::Place;
use super::{Opened, failed, rows};
use crate::capture::folders;
use crate::error::Result;

/// What the client does not read of a session: it looks into its database alone.
pub(crate) struct Unloaded {
    /// The session as the database alone has it.
    pub(crate) loaded: Vec<u8>,
    /// Messages that are in the older folder alone, or have parts there alone.
    pub(crate) messages: u64,
    /// Whether these are read here, too.
    pub(crate) is_joined: bool,
}

impl Unloaded {
    /// Says what it is to the client.
    pub(crate) fn message(&self) -> String {
        let messages = stemmata_model::plural(self.messages, "message");
        format!(
            "{messages} in whole or in part only in the older folder `{}`: the client reads its database alone",
            folders::FOLDER
        )
    }
}

impl Opened {
    /// Says what the client does not read of a session; none where it reads all of it.
    pub(super) fn unloaded(&self, session: &str) -> Result<Option<Unloaded>> {
        let at = |error| failed(&self.database, &error);
        let Some(standing) = self.place(session).map_err(at)? else { return Ok(None) };
        // What the client went on without is no part of the conversation.
        if standing.left > 0 {
            return Ok(None);
        }
        let is_alone = standing.alone().is_some();
        let is_joined = is_alone || matches!(standing.place, Place::Parts { .. });
        let how = (&self.schema, standing.place);
        let messages = if is_joined && !is_alone {
            let both = rows::document(&self.connection, how, session, self.beside(session)?);
            both.map_err(at)?.map_or(0, |both| both.joined)
        } else {
            standing.older.as_ref().map_or(0, |older| older.messages)
        };
        if messages == 0 || !self.schema.is_read(standing.place) {
            return Ok(None);
        }
        let alone = rows::document(&self.connection, how, session, Vec::new()).map_err(at)?;
        Ok(alone.map(|alone| Unloaded { loaded: alone.json.into_bytes(), messages, is_joined }))
    }
}
