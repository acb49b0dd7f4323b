//! What sessions that stay know of commits that go: a title made of their words, and how far their transcripts were read.
//!
//! Only finds it; clearing it is part of the store's transaction.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{CommitId, Granularity};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{Annotation, Described, Session, SessionOrigin};

use crate::chain::beside::PAGE_COMMITS;
use crate::chain::rest::is_of_content;
use crate::chain::tree::TreeWalk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::verbs::at::one_line;

/// Characters of a title, as capture and checkpoints cut it.
const TITLE_CHARS_MAX: usize = 200;

/// Changes of one commit's metadata that are looked at.
const AUDIT_MAX: usize = 10_000;

/// Titles that commits may have given.
#[derive(Debug, Default)]
struct Titles {
    given: BTreeSet<String>,
    /// Whether some commit could not be read: then any title may be one of its.
    may_be_any: bool,
}

impl Titles {
    fn hold(&self, title: &str) -> bool {
        self.may_be_any || self.given.contains(title)
    }
}

impl Engine {
    /// Adds to a wish what sessions that stay know of what goes.
    pub(super) fn clear_what_is_known(&self, wish: &mut Forget) -> Result<()> {
        let planned = self.store.forget(wish)?;
        let going: Vec<CommitId> =
            planned.removed.into_iter().chain(planned.cut).chain(planned.cut_too).collect();
        if going.is_empty() {
            return Ok(());
        }
        let mut titles = Titles::default();
        for page in going.chunks(PAGE_COMMITS) {
            self.titles_in(&self.store.described(page)?, &mut titles)?;
        }
        let below = self.with_what_follows(&going)?;
        for session in self.all_sessions()? {
            if wish.sessions.contains(&session.key) || !goes_through(&session, &below) {
                continue;
            }
            if session.title.as_deref().is_some_and(|title| titles.hold(title)) {
                wish.untitled.push(session.key.clone());
            }
            wish.unread.push(session.key);
        }
        Ok(())
    }

    /// Says whether one of these commits that can be read would give a title.
    pub(crate) fn give_title(&self, commits: &[CommitId], title: &str) -> Result<bool> {
        let mut titles = Titles::default();
        self.titles_in(&self.store.described(commits)?, &mut titles)?;
        Ok(titles.given.contains(title))
    }

    /// Gathers every title that a line of a page of commits would give, and those that were made of their summaries.
    fn titles_in(&self, page: &[Described], titles: &mut Titles) -> Result<()> {
        for described in page {
            for record in self.changes_of(described, AUDIT_MAX)? {
                if let Annotation::Summary { text: Some(text), .. } = record.change {
                    titles.given.insert(one_line(&text, TITLE_CHARS_MAX));
                }
            }
        }
        let contents: Vec<_> = page.iter().map(|described| described.commit.core.native_artifact()).collect();
        let read = self.each_whole(&contents, &mut |number, bytes| {
            let Some(described) = page.get(number) else { return Ok(()) };
            let adapter = Self::adapter(&described.commit.core.format, FormatUse::Read)?;
            for line in adapter.shape().units(bytes) {
                // Each line alone: which of several was the title depends on what stood before.
                let mut splitter = adapter.splitter(Granularity::Turn, None);
                splitter.line(line, &mut Vec::new());
                titles.given.extend(splitter.facts().title.clone());
            }
            Ok(())
        });
        match read {
            Err(EngineError::Store(error)) if !is_of_content(&error) => return Err(error.into()),
            read => titles.may_be_any |= read.is_err(),
        }
        Ok(())
    }

    /// Returns commits with all that continue them.
    fn with_what_follows(&self, of: &[CommitId]) -> Result<HashSet<CommitId>> {
        let mut found: HashSet<CommitId> = HashSet::new();
        // The topmost first, so that what is below it is not asked for again.
        let mut all: Vec<Described> = Vec::new();
        for page in of.chunks(PAGE_COMMITS) {
            all.extend(self.store.described(page)?);
        }
        all.sort_by_key(|described| described.commit.depth);
        for described in all {
            let id = described.commit.id;
            if !found.contains(&id) {
                let mut walk = TreeWalk::new(self.store.as_ref(), id);
                while let Some(page) = walk.next()? {
                    found.extend(page.into_iter().map(|commit| commit.id));
                }
            }
        }
        Ok(found)
    }
}

/// Returns whether a session ends at one of these commits, or was placed from one.
fn goes_through(session: &Session, commits: &HashSet<CommitId>) -> bool {
    let placed = match session.origin {
        SessionOrigin::Placed(from) => Some(from),
        SessionOrigin::Imported | SessionOrigin::Api => None,
    };
    session.tip.into_iter().chain(placed).any(|id| commits.contains(&id))
}
