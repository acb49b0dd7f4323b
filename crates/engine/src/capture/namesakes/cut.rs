//! Transcripts that were cut: what is left of a session, and what a session was before.

use stemmata_store::{Session, SessionKey};

use super::overwritten;
use crate::engine::Engine;
use crate::error::Result;

impl Engine {
    /// Says whether a session is what is left of another one whose transcript was cut: it says nothing that the other does not.
    pub(crate) fn is_cut(&self, left: &Session, whole: &Session) -> Result<bool> {
        let is_place = overwritten(&whole.key.path) == Some(&left.key.path);
        let is_less = (left.messages, left.bytes) < (whole.messages, whole.bytes);
        let (true, Some(before)) = (is_place && is_less, whole.tip) else { return Ok(false) };
        if left.key.machine != whole.key.machine {
            return Ok(false);
        }
        // Of a transcript that was cut within its first record nothing is left.
        left.tip.map_or(Ok(true), |now| Ok(self.is_lost(now, Some(before))? == Some(false)))
    }

    /// Returns what is left of a session in its transcript, where that was cut.
    ///
    /// # Errors
    /// Store errors.
    pub fn left_of(&self, whole: &Session) -> Result<Option<Session>> {
        let Some(path) = overwritten(&whole.key.path) else { return Ok(None) };
        let key = SessionKey { path: path.to_owned(), ..whole.key.clone() };
        let Some(left) = self.store.session(&key)? else { return Ok(None) };
        Ok(if self.is_cut(&left, whole)? { Some(left) } else { None })
    }

    /// Returns what a session was before its transcript was cut and went on, where that has more messages: it says something that the
    /// session no longer does.
    ///
    /// # Errors
    /// Store errors.
    pub fn larger_before(&self, session: &Session) -> Result<Option<Session>> {
        let Some(now) = session.tip.filter(|_| overwritten(&session.key.path).is_none()) else {
            return Ok(None);
        };
        for before in self.held_before(&session.key, session)? {
            let Some(tip) = before.tip.filter(|_| before.messages > session.messages) else { continue };
            if self.root_of(tip)? == self.root_of(now)? && self.is_lost(tip, Some(now))? == Some(true) {
                return Ok(Some(before));
            }
        }
        Ok(None)
    }
}
