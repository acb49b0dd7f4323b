//! What transcripts held before others took their places, for stores of earlier versions: these kept the commits and forgot the sessions.
//!
//! Done once for a store, by the first import.

use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitId};
use stemmata_store::{LinkKind, Session, SessionFilter, SessionKey, Write};

use super::{BEFORE, LOOKED_AT_MAX, overwritten};
use crate::chain::rest::Rest;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// The version of what is found so; another one is found anew. Raised with every change of which sessions are found.
const VERSION: u8 = 2;

/// The place of the version among what the engine remembers of transcripts: no transcript has such a path.
const VERSION_PATH: &str = "stemma:overwritten";

impl Engine {
    /// Finds conversations that were overwritten before there were rows of their own for them, once for a store.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn find_overwritten(&self) -> Result<()> {
        let key = SessionKey { machine: self.identity.machine.clone(), path: VERSION_PATH.to_owned() };
        if self.store.cursor(&key)?.as_deref() == Some(&[VERSION]) {
            return Ok(());
        }
        let mut sessions = Vec::new();
        self.each_session(&SessionFilter::default(), &mut |session, _| {
            let is_ours = session.key.machine == self.identity.machine;
            if is_ours && session.tip.is_some() && overwritten(&session.key.path).is_none() {
                sessions.push(session);
            }
            ControlFlow::Continue(())
        })?;
        for session in sessions {
            let found = self.overwritten_by(&session)?;
            if !found.is_empty() {
                self.commit_batch(found)?;
            }
        }
        self.commit_batch(vec![Write::Cursor { key, value: vec![VERSION] }])?;
        Ok(())
    }

    /// Returns the rows of what a session's transcript held before, as far as it says that no longer.
    fn overwritten_by(&self, session: &Session) -> Result<Vec<Write>> {
        let mut rows = Vec::new();
        let Some(root) = session.tip.map(|tip| self.root_of(tip)).transpose()?.flatten() else {
            return Ok(rows);
        };
        let before = self.held_before(&session.key, session)?;
        for link in self.store.links(root, LOOKED_AT_MAX)? {
            let is_of_file = link.from == root && link.kind == LinkKind::DerivedFrom && link.entry.is_none();
            let Some(old) = self.store.commit(link.to)?.filter(|_| is_of_file) else { continue };
            // The link leads to the end of the last whole turn; a look at an open one may stand on it.
            let on_it = self.store.children(old.id, LOOKED_AT_MAX)?.into_iter();
            let open = on_it.filter(|commit| commit.closure == Closure::Provisional);
            let old = open.max_by_key(|commit| commit.native_bytes).unwrap_or(old);
            let Some(old_root) = self.root_of(old.id)? else { continue };
            let is_listed = before.iter().any(|known| known.tip == Some(old.id));
            if !is_listed && self.is_lost(old.id, session.tip)? == Some(true) {
                rows.push(Write::Session(Box::new(self.row_before(session, old_root, &old)?)));
            }
        }
        Ok(rows)
    }

    fn row_before(&self, session: &Session, root: CommitId, tip: &Commit) -> Result<Session> {
        let adapter = Self::adapter(&tip.core.format, FormatUse::Read)?;
        let totals = self.totals_of(tip.id)?;
        let began = self.store.commit(root)?.map(|root| root.core.created_at);
        Ok(Session {
            key: SessionKey { path: format!("{}{BEFORE}{root}", session.key.path), ..session.key.clone() },
            format: tip.core.format.clone(),
            title: Rest::of(adapter, session.origin).read_to(self, Some(tip.id))?.title.clone(),
            started_at: began,
            last_at: self.last_record(Some(tip.id), self.latest_possible())?,
            tip: Some(tip.id),
            commits: totals.commits,
            messages: totals.messages,
            bytes: totals.bytes,
            ..session.clone()
        })
    }
}
