//! What a filter names that only the store knows: the directory of a project's name or id, and clients.
//!
//! A directory itself is never looked up: it may have no session yet.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use stemmata_model::Timestamp;
use stemmata_prompt::strategy::nearest;
use stemmata_runtimes::clients;
use stemmata_runtimes::registry::adapters;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{PAGE_ROWS_MAX, Page, Session, SessionFilter};

use super::SearchError;
use super::filter::{LEDGER_CLIENT, no_such_name};
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::places_of;

/// Sessions that are read for their directories and clients, the newest first.
const SESSIONS_MAX: u64 = 100_000;

/// A directory that sessions worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectDir {
    /// The directory.
    pub dir: String,
    /// Its sessions.
    pub sessions: u64,
    /// When one of them was last active.
    pub last_at: Option<Timestamp>,
}

impl Engine {
    /// Returns the directory of a project: of its name, which is the last part of a directory that sessions worked in, or of its
    /// ledger's id. A text with a separator is a directory already.
    ///
    /// # Errors
    /// `Search` where nothing has the name, or several directories have; store errors.
    pub fn project_dir(&self, text: &str) -> Result<String> {
        let mut dirs = self.project_dirs(text)?;
        match dirs.pop() {
            Some(only) if dirs.is_empty() => Ok(only.dir),
            last => {
                dirs.extend(last);
                Err(SearchError::ManyProjects { name: text.to_owned(), found: dirs }.into())
            }
        }
    }

    /// Returns all directories of a project, as [`Engine::project_dir`] does where it is one: a filter takes them all.
    ///
    /// # Errors
    /// `Search` where nothing has the name; store errors.
    pub fn project_dirs(&self, text: &str) -> Result<Vec<ProjectDir>> {
        let one = |dir: String| vec![ProjectDir { dir, sessions: 0, last_at: None }];
        if text.contains(['/', '\\']) {
            return Ok(one(text.to_owned()));
        }
        let mut dirs = self.session_dirs()?;
        let mut of_id = None;
        self.each_ledger(|ledger| {
            let Some(place) = places_of(ledger, &self.identity.machine).into_iter().next() else {
                return Ok(());
            };
            if ledger.id.as_str() == text {
                of_id = Some(place.path);
            } else if dirs.iter().all(|known| known.dir != place.path) {
                dirs.push(ProjectDir { dir: place.path, sessions: 0, last_at: ledger.last_at });
            }
            Ok(())
        })?;
        if let Some(dir) = of_id {
            return Ok(one(dir));
        }
        let name = text.to_owned();
        let mut named: Vec<ProjectDir> =
            dirs.iter().filter(|known| name_of(&known.dir) == Some(text)).cloned().collect();
        // What lies below another one is found with that.
        let outer = named.clone();
        named.retain(|one| !outer.iter().any(|other| is_below(&one.dir, &other.dir)));
        if !named.is_empty() {
            return Ok(named);
        }
        let near = nearest(text, dirs.iter().filter_map(|known| name_of(&known.dir))).map(str::to_owned);
        dirs.sort_by_key(|known| name_of(&known.dir) != near.as_deref());
        Err(SearchError::NoProject { name, near, known: dirs }.into())
    }

    /// Returns the name of a client as sessions have it: however it is written, and of one that is known the beginning is enough.
    ///
    /// # Errors
    /// `Search` where no client has the name.
    pub fn client_named(&self, text: &str) -> Result<String> {
        // `claude` begins two names, and a person means the client.
        if let Ok(client) = clients::client_named(text) {
            return Ok(client.id.to_owned());
        }
        let lower = text.to_lowercase();
        let read = adapters().iter().map(|adapter| runtime_of(&adapter.format()).to_owned());
        let known: BTreeSet<String> = read.collect();
        let mut begun = known.iter().filter(|name| name.starts_with(&lower));
        match (known.get(&lower), begun.next(), begun.next()) {
            (Some(name), ..) | (None, Some(name), None) => Ok(name.clone()),
            _ => self.check_client(&lower).map(|()| lower),
        }
    }

    /// Refuses a client that no transcripts are read of, and that no session is of either.
    pub(super) fn check_client(&self, client: &str) -> Result<()> {
        let read = adapters().iter().map(|adapter| runtime_of(&adapter.format()).to_owned());
        let known: BTreeSet<String> = read.chain([LEDGER_CLIENT.to_owned()]).collect();
        let mut is_known = known.contains(client);
        if !is_known {
            self.each_stored_session(&mut |session| {
                is_known = runtime_of(&session.format) == client;
                if is_known { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        if is_known {
            return Ok(());
        }
        // Those that people have; formats that programs write are known, too, and nobody would look for one by a slip.
        Err(no_such_name("client", client, clients::at_home().map(|client| client.id)).into())
    }

    /// Returns the directories that sessions worked in, the one of the latest session first.
    fn session_dirs(&self) -> Result<Vec<ProjectDir>> {
        let (mut dirs, mut known): (Vec<ProjectDir>, HashMap<String, usize>) = Default::default();
        self.each_stored_session(&mut |session| {
            if let Some(cwd) = session.cwd {
                let at = *known.entry(cwd.clone()).or_insert_with(|| {
                    dirs.push(ProjectDir { dir: cwd, sessions: 0, last_at: session.last_at });
                    dirs.len() - 1
                });
                if let Some(dir) = dirs.get_mut(at) {
                    dir.sessions += 1;
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(dirs)
    }

    fn each_stored_session(&self, visit: &mut dyn FnMut(Session) -> ControlFlow<()>) -> Result<()> {
        let mut skip = 0;
        while skip < SESSIONS_MAX {
            let page = Page { skip, rows_max: PAGE_ROWS_MAX };
            let sessions = self.store.sessions(&SessionFilter::default(), page)?;
            let is_last = sessions.len() < page.rows_max;
            skip += sessions.len() as u64;
            if sessions.into_iter().try_for_each(&mut *visit).is_break() || is_last {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the name that a directory is shown with: its last part.
fn name_of(dir: &str) -> Option<&str> {
    dir.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

fn is_below(dir: &str, other: &str) -> bool {
    dir.strip_prefix(other.trim_end_matches(['/', '\\'])).is_some_and(|rest| rest.starts_with(['/', '\\']))
}
