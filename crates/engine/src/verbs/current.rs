//! `current`: what a session knows right now, as a commit.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use stemmata_model::{CommitId, Note, NoteCode, Trigger, to_u64};
use stemmata_runtimes::adapter::Adapter;
use stemmata_runtimes::captured::is_command_record;
use stemmata_runtimes::registry::by_format;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Page, Session, SessionFilter, SessionKey};

use crate::capture::import::ImportFailure;
use crate::capture::kept::is_session_there;
use crate::capture::options::CaptureOptions;
use crate::engine::Engine;
use crate::error::{Absent, EngineError, Result, Wanted};

/// Sessions that are looked at for one of this store: as many as bundles may bring that are newer.
const LOOKED_AT_MAX: usize = 100_000;

/// Sessions that are read at once: of the first page, and of later ones at most.
const PAGE_SESSIONS_MIN: usize = 32;
const PAGE_SESSIONS_MAX: usize = 1_000;

/// Sessions that are passed over and listed, at most.
const SKIPPED_MAX: usize = 100;

/// Sightings of a commit that are looked at for one of this store's.
const SIGHTINGS_MAX: usize = 10_000;

impl Engine {
    /// Commits what a session has produced so far (provisional where the turn is open) and returns the commit. What is stored is
    /// given back whatever keeps the rest from being read.
    ///
    /// # Errors
    /// `NotFound` for a session that has no commit yet; capture errors where nothing of it is stored.
    pub fn current(&self, session: &Session) -> Result<CommitId> {
        self.current_or_stored(session).map(|(ctx, _)| ctx)
    }

    /// The same, with why what came after the commit was not read.
    ///
    /// # Errors
    /// As [`Engine::current`].
    pub fn current_or_stored(&self, session: &Session) -> Result<(CommitId, Option<ImportFailure>)> {
        let path = Path::new(&session.key.path);
        if session.key.machine == self.identity.machine && path.is_absolute() && is_something_there(path) {
            return match self.capture(path, &CaptureOptions::live(Trigger::Explicit)) {
                Err(error) => match self.store.session(&session.key)?.and_then(|session| session.tip) {
                    Some(stored) => Ok((stored, Some(ImportFailure { path: path.to_owned(), error }))),
                    None => Err(error),
                },
                Ok(captured) => {
                    let stored = self.all_that_was_read(&captured.session)?;
                    stored.map_or_else(|| tip(&captured.session), Ok).map(|stored| (stored, None))
                }
            };
        }
        if session.key.machine == self.identity.machine
            && let Some(open) = self.commit_open_turn(session)?
        {
            return Ok((open, None));
        }
        Ok((tip(session)?, None))
    }

    /// Returns what a transcript held before nothing was left of it.
    fn all_that_was_read(&self, session: &Session) -> Result<Option<CommitId>> {
        if session.tip.is_some() {
            return Ok(session.tip);
        }
        let before = self.held_before(&session.key, session)?;
        Ok(before.into_iter().max_by_key(|before| before.messages).and_then(|before| before.tip))
    }

    /// Returns the session of a working directory that was active last, of those that were recorded here: what came in a
    /// bundle is only given to those who name it, and so is what `run` recorded of a command. A copy that nobody used is taken
    /// where there is nothing else.
    ///
    /// # Errors
    /// `NotFound` when none worked there.
    pub fn latest_session(&self, cwd: Option<&str>) -> Result<Session> {
        self.latest_session_of(cwd, &mut |_| true)
    }

    /// Returns the latest session as [`Engine::latest_session`] does, of those that a client loads whose runtime is `wanted`, and
    /// the newer ones that are not.
    ///
    /// # Errors
    /// `NotFound` when none worked there.
    pub fn latest_loadable_session(
        &self,
        cwd: Option<&str>,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<(Session, Vec<Session>)> {
        let is_loadable = |session: &Session| {
            session.tip.is_some()
                && by_format(&session.format).is_some_and(Adapter::is_placeable)
                && wanted(runtime_of(&session.format))
        };
        let mut skipped = Vec::new();
        let latest = self.latest_session_of(cwd, &mut |session| {
            let is_it = is_loadable(session);
            // What retention emptied is no session that anyone looks for.
            if !is_it && session.tip.is_some() && skipped.len() < SKIPPED_MAX {
                skipped.push(session.clone());
            }
            is_it
        })?;
        Ok((latest, skipped))
    }

    fn latest_session_of(
        &self,
        cwd: Option<&str>,
        is_meant: &mut dyn FnMut(&Session) -> bool,
    ) -> Result<Session> {
        let (mut latest, mut unused) = (None, None);
        self.each_session_of(cwd, &mut |session, is_recorded| {
            if !is_recorded || is_command_record(&session.format) || !is_meant(&session) {
                return ControlFlow::Continue(());
            }
            // A copy that nobody used is newer than the session that somebody worked in, and holds nothing of its own.
            if session.is_unused() {
                unused.get_or_insert(session);
                return ControlFlow::Continue(());
            }
            latest = Some(session);
            ControlFlow::Break(())
        })?;
        latest.or(unused).ok_or_else(|| match cwd {
            Some(cwd) => EngineError::NothingThere { what: Absent::SessionBelow, place: cwd.to_owned() },
            None => EngineError::NothingThere { what: Absent::Session, place: "in this store".to_owned() },
        })
    }

    /// Returns a session of a directory that a listing of it shows: the newest one, or the one so many before. Copies that nobody
    /// used, all but one of a session's copies, and records of commands are passed over.
    ///
    /// # Errors
    /// `NothingThere` where there are fewer; store errors.
    pub(crate) fn session_before(&self, here: &str, back: u64) -> Result<Session> {
        let (mut found, mut seen, mut left) = (None, HashSet::new(), back);
        self.each_session_of(Some(here), &mut |session, is_recorded| {
            let is_counted = is_recorded
                && session.tip.is_some()
                && !session.is_unused()
                && !is_command_record(&session.format);
            if !is_counted || !seen.insert(session.session.clone()) {
                return ControlFlow::Continue(());
            }
            if left == 0 {
                found = Some(session);
                return ControlFlow::Break(());
            }
            left -= 1;
            ControlFlow::Continue(())
        })?;
        let best = match &found {
            Some(session) => self.find_recorded_session(session.session.as_str())?,
            None => None,
        };
        best.ok_or_else(|| match seen.len() {
            0 => EngineError::NothingThere { what: Absent::SessionBelow, place: here.to_owned() },
            count => EngineError::NothingThere {
                what: Absent::OlderSession,
                place: format!("only {count} worked in or below {here}"),
            },
        })
    }

    /// Gives the sessions of a directory as [`Engine::each_session`] does: those that worked in it or below it. Where nobody did, those
    /// of its project: it may have been moved, or be another worktree.
    fn each_session_of(
        &self,
        here: Option<&str>,
        take: &mut dyn FnMut(Session, bool) -> ControlFlow<()>,
    ) -> Result<()> {
        let all = SessionFilter { main_only: true, ..SessionFilter::default() };
        let Some(here) = here else { return self.each_session(&all, take) };
        let mut is_any = false;
        let below = SessionFilter { project: Some(here.to_owned()), ..all.clone() };
        self.each_session(&below, &mut |session, is_recorded| {
            is_any |= is_recorded && session.tip.is_some() && !session.is_unused();
            take(session, is_recorded)
        })?;
        let may_be_elsewhere = !is_any && Path::new(here).is_absolute();
        let project = may_be_elsewhere.then(|| self.project_scope(here)).transpose()?;
        match project.filter(|project| project.folder().is_none()) {
            Some(project) => self.each_session(&all, &mut |session, is_recorded| {
                if project.holds(&session) { take(session, is_recorded) } else { ControlFlow::Continue(()) }
            }),
            None => Ok(()),
        }
    }

    /// Gives sessions one by one, the latest first, with whether they were recorded in this store, until `take` has enough.
    pub(crate) fn each_session(
        &self,
        filter: &SessionFilter,
        take: &mut dyn FnMut(Session, bool) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut skip = 0;
        while skip < LOOKED_AT_MAX {
            // Most often one of the first is wanted; behind many that a bundle brought, pages of a few would take long.
            let rows_max = skip.clamp(PAGE_SESSIONS_MIN, PAGE_SESSIONS_MAX);
            let at = to_u64(skip);
            let page = self.store.sessions(filter, Page { skip: at, rows_max })?;
            let is_last = page.len() < rows_max;
            skip += rows_max;
            for session in page {
                let is_recorded = self.is_recorded_here(&session.key)?;
                if take(session, is_recorded).is_break() {
                    return Ok(());
                }
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

impl Engine {
    /// Says whether a session was recorded in this store: by this machine, or by another one that the data directory was on
    /// before, which is known by its id or left how far it read. Neither can come in a bundle.
    ///
    /// # Errors
    /// Store errors.
    pub fn is_recorded_here(&self, key: &SessionKey) -> Result<bool> {
        Ok(self.identity.is_ours(&key.machine) || self.store.cursor(key)?.is_some())
    }

    /// Returns the name of the machine that a session came from, if it was not recorded in this store.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn foreign_machine(&self, session: &Session) -> Result<Option<String>> {
        if self.is_recorded_here(&session.key)? {
            return Ok(None);
        }
        // `user@machine/runtime`; a principal of another shape is shown whole.
        let principal = session.principal.as_str();
        let label = principal.split_once('@').and_then(|(_, rest)| rest.rsplit_once('/'));
        Ok(Some(label.map_or(principal, |(label, _)| label).to_owned()))
    }

    /// Says whether a commit was recorded in this store.
    ///
    /// # Errors
    /// Store errors.
    pub fn is_own(&self, ctx: CommitId) -> Result<bool> {
        for sighting in self.store.sightings(ctx, SIGHTINGS_MAX)? {
            if self.identity.is_ours(&sighting.machine) {
                return Ok(true);
            }
            if let Some(source) = sighting.source
                && self.is_recorded_here(&SessionKey { machine: sighting.machine, path: source.path })?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Engine {
    /// Returns what a user should know who is given a commit that was not recorded in this store.
    ///
    /// # Errors
    /// Store errors.
    pub fn note_of_origin(&self, ctx: CommitId) -> Result<Vec<Note>> {
        if self.is_own(ctx)? {
            return Ok(Vec::new());
        }
        let message =
            format!("{ctx} was not recorded by this machine: what it says is whatever its maker wrote");
        Ok(vec![Note::new(NoteCode::Foreign, message)])
    }
}

/// Returns whether anything is in a session's place. A folder, a pipe or a link that leads nowhere is no session, but why that cannot
/// be read is worth a word: what its client wrote there since the last capture may be lost.
fn is_something_there(path: &Path) -> bool {
    is_session_there(path) || path.symlink_metadata().is_ok()
}

fn tip(session: &Session) -> Result<CommitId> {
    session.tip.ok_or_else(|| EngineError::NotFound {
        what: Wanted::CommitOfSession,
        text: session.session.to_string(),
    })
}
