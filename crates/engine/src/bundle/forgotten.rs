//! What an import leaves out because it was forgotten here: titles made of its words, and what was said of it.
//!
//! Which commits are left out is `apply`'s.

use std::collections::BTreeMap;

use stemmata_model::Closure;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{Session, SessionOrigin};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::rest::Rest;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Tombstones that are known to be there or not.
const KNOWN_MAX: usize = 4_096;

/// What was forgotten here.
pub(super) struct Forgotten<'a> {
    engine: &'a Engine,
    /// Whether anything was; asked once, before the first look.
    any: Option<bool>,
    known: BTreeMap<Tombstone, bool>,
}

impl<'a> Forgotten<'a> {
    pub(super) const fn new(engine: &'a Engine) -> Self {
        Self { engine, any: None, known: BTreeMap::new() }
    }

    /// Says whether anything was.
    pub(super) fn any(&mut self) -> Result<bool> {
        let any = match self.any {
            Some(any) => any,
            None => self.engine.store.has_tombstones()?,
        };
        self.any = Some(any);
        Ok(any)
    }

    /// Says whether something was forgotten here.
    pub(super) fn has(&mut self, of: Tombstone) -> Result<bool> {
        if !self.any()? {
            return Ok(false);
        }
        if let Some(known) = self.known.get(&of) {
            return Ok(*known);
        }
        let found = !self.engine.store.tombstones(std::slice::from_ref(&of))?.is_empty();
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(of, found);
        Ok(found)
    }

    /// Returns the title that a session may have here, whose commits are stored: its own, unless something of its chain was
    /// forgotten. What gave a title is not known, and the sender may have kept one that is made of what was forgotten, so
    /// then only what is left counts. Where that cannot be read, the title that it has here stays.
    pub(super) fn title_of(&mut self, session: &Session, stored: Option<&Session>) -> Result<Option<String>> {
        let Some(title) = session.title.as_deref() else { return Ok(None) };
        if !self.any()? || self.is_untouched(session)? {
            return Ok(session.title.clone());
        }
        // The title that stayed here was not made of what was forgotten either.
        let kept = stored.and_then(|stored| stored.title.clone());
        match session.origin {
            SessionOrigin::Imported => {}
            // Its title is a summary, or of what it continues: not what an import of its lines would give.
            SessionOrigin::Placed(_) | SessionOrigin::Api => {
                return Ok(if self.is_given(title, session)? { session.title.clone() } else { kept });
            }
        }
        // A newer version may know its format; that is no reason to refuse the bundle.
        let Ok(adapter) = Engine::adapter(&session.format, FormatUse::Read) else { return Ok(kept) };
        let mut rest = Rest::of(adapter, session.origin);
        let left = rest.read_to(self.engine, session.tip)?.title.clone();
        if rest.has_unreadable() {
            return Ok(kept);
        }
        Ok(if left == session.title { left } else { kept.or(left) })
    }

    fn is_untouched(&mut self, session: &Session) -> Result<bool> {
        let engine = self.engine;
        let mut walk = Walk::new(engine.store.as_ref(), session.tip);
        let mut has_commits = false;
        while let Some(commit) = walk.next()? {
            has_commits = true;
            if commit.closure == Closure::Forgotten && self.has(Tombstone::Commit(commit.id))? {
                return Ok(false);
            }
        }
        Ok(has_commits)
    }

    /// Says whether something that is left of a whole chain gives a title, be it a line or a summary.
    fn is_given(&self, title: &str, session: &Session) -> Result<bool> {
        let mut walk = Walk::new(self.engine.store.as_ref(), session.tip);
        loop {
            let mut page = Vec::new();
            while page.len() < PAGE_COMMITS
                && let Some(commit) = walk.next()?
            {
                page.extend((commit.closure != Closure::Forgotten).then_some(commit.id));
            }
            if page.is_empty() || self.engine.give_title(&page, title)? {
                return Ok(!page.is_empty());
            }
        }
    }
}
