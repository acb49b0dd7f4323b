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
    /// Whether the client went on without them, most likely because its user took them back.
    pub(crate) is_left: bool,
}

impl Unloaded {
    /// Says what it is to the client.
    pub(crate) fn message(&self) -> String {
        let messages = stemmata_model::plural(self.messages, "message");
        if self.is_left {
            return format!(
                "the last {messages} in the older folder `{}` not in the database: the user took them back, or the client never \
                 took them over, and went on",
                folders::FOLDER
            );
        }
        format!(
            "{messages} in whole or in part only in the older folder `{}`: the client reads its database alone",
            folders::FOLDER
        )
    }
}

impl Opened {
    /// Returns what the client does not read of a session, or `None` if it reads all of it.
    pub(super) fn unloaded(&self, session: &str) -> Result<Option<Unloaded>> {
        let at = |error| failed(&self.database, &error);
        let Some(standing) = self.place(session).map_err(at)? else { return Ok(None) };
        if standing.left > 0 {
            let (loaded, messages) = (Vec::new(), standing.left);
            return Ok(Some(Unloaded { loaded, messages, is_joined: false, is_left: true }));
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
        Ok(alone.map(|alone| Unloaded {
            loaded: alone.json.into_bytes(),
            messages,
            is_joined,
            is_left: false,
        }))
    }
}
