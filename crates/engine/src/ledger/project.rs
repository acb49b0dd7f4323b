//! Projects: which ledger is the memory of a folder.
//!
//! A project is its repository, not its path: see `docs/decisions/0018-project-identity.md`. What is found of a folder is
//! looked up in `look`, what follows from it decided in `plan`.

mod adopt;
mod folder;
mod look;
mod plan;
mod remote;
mod repository;
mod room;
mod scope;

use std::path::{Path, PathBuf};

use stemmata_model::{LedgerId, MachineId, Note, NoteCode};
use stemmata_store::{
    Ledger, LedgerChange, MARK_BYTES_MAX, PAGE_ROWS_MAX, Page, Session, SessionFilter, StoreError,
    StoreErrorKind,
};

use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
pub use adopt::{Adopt, adopted_folders};
pub(crate) use look::git_would_wait_for;
pub use look::repository_top;
use look::{Found, Stored, find};
use plan::{Candidates, Choice, Facts, Plan, new_id, plan};
pub(crate) use repository::Elsewhere;
pub use repository::RepositoryKey;
pub(crate) use scope::ProjectSessions;
pub use scope::{ProjectDir, ProjectScope};

/// How often it is looked anew after another process gave a mark away in between.
const RACES_MAX: usize = 8;

/// Stands for every machine in the mark of a folder that was adopted; no machine's id is that short.
const ANY_MACHINE: &str = "any";

/// A project: a folder with a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its ledger.
    pub ledger: LedgerId,
    /// The folder that the project's files are below, as seen from where it was asked: of a worktree its own.
    pub root: PathBuf,
    /// Whether there was none before.
    pub made: bool,
    /// What the user should know about how it was found.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Returns the project that a folder is in: of the nearest repository or stored id from there upwards, else of the
    /// folder itself. Makes it where there is none, and remembers by what else it can be found from now on: a remote
    /// that was added, a place that it moved to. Idempotent; of callers at the same time all get one project.
    ///
    /// # Errors
    /// `Io` where the folder is not there, `Refused` where nothing names the project and nothing can be stored, store
    /// errors.
    pub fn project_at(&self, dir: &Path) -> Result<Project> {
        let mut found = find(dir, "git")?;
        for _ in 0..RACES_MAX {
            match self.project_of_found(&mut found) {
                // Another process made the project, or found something out, at the same time.
                Err(EngineError::Store(StoreError::MarkTaken { .. })) => {}
                done => return done,
            }
        }
        Err(EngineError::Refused {
            what: Refusal::FindProject,
            reasons: vec![format!("other processes changed it {RACES_MAX} times meanwhile")],
        })
    }

    /// Returns the project that a folder is in, where there is one. Writes nothing.
    ///
    /// # Errors
    /// `Io` where the folder is not there, store errors.
    pub fn known_project_at(&self, dir: &Path) -> Result<Option<Project>> {
        let mut found = find(dir, "git")?;
        let Plan { choice: Choice::Known(ledger), mut notes, .. } = self.plan_project(&mut found)? else {
            return Ok(None);
        };
        notes.splice(0..0, found.notes);
        Ok(Some(Project { ledger, root: found.root, made: false, notes }))
    }

    /// Returns the project of a directory that nothing but its place names: it is gone, or no repository. Where `makes`, one that
    /// sessions worked in gets a ledger; nothing is written into the directory.
    ///
    /// # Errors
    /// Store errors.
    pub fn project_by_place(&self, dir: &Path, makes: bool) -> Result<Option<Project>> {
        let Some(place) = dir.to_str() else { return Ok(None) };
        let mark = plan::place_mark(self.identity.machine.as_str(), place);
        if mark.len() > MARK_BYTES_MAX {
            return Ok(None);
        }
        let project = |ledger, made| Project { ledger, root: dir.to_owned(), made, notes: Vec::new() };
        if let Some(known) = self.log.ledger_marked(&mark)? {
            return Ok(Some(project(known, false)));
        }
        let filter = SessionFilter { project: Some(place.to_owned()), ..SessionFilter::default() };
        // A session in a subfolder does not count: else asking in a home directory would make one project of everything below.
        let worked = |session: &Session| session.cwd.as_deref() == Some(place);
        if !makes
            || !self.store.sessions(&filter, Page { skip: 0, rows_max: PAGE_ROWS_MAX })?.iter().any(worked)
        {
            return Ok(None);
        }
        let ledger = new_id(&mark);
        let change = LedgerChange::new(ledger.clone(), self.clock.now());
        let change = LedgerChange { root: Some(place.to_owned()), marks: vec![mark.clone()], ..change };
        match self.log.change_ledger(change) {
            Ok(()) => Ok(Some(project(ledger, true))),
            // Another process was faster.
            Err(StoreError::MarkTaken { .. }) => {
                Ok(self.log.ledger_marked(&mark)?.map(|ledger| project(ledger, false)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the ledger that a folder has a mark of, without looking into it: for one that cannot be read.
    ///
    /// # Errors
    /// `Io` where the folder is not there, store errors.
    pub fn marked_ledger_at(&self, dir: &Path) -> Result<Option<LedgerId>> {
        let mut found = find(dir, "git")?;
        found.ask_root_commit();
        let stored = match &found.stored {
            Stored::Id(id) => Some(plan::stored_mark(id)),
            Stored::Nothing | Stored::Refused => None,
        };
        let marks = [
            stored,
            found.remote.as_deref().map(plan::remote_mark),
            found.root_commit.as_deref().map(plan::root_commit_mark),
            found.place(&self.identity.machine),
        ];
        let mut unread = None;
        for mark in marks.into_iter().flatten() {
            match self.log.ledger_marked(&mark) {
                Ok(Some(ledger)) => return Ok(Some(ledger)),
                Ok(None) => {}
                // Of one that says nothing, its name says the mark that it was made for.
                Err(error) if error.kind() == StoreErrorKind::Corrupt => {
                    let named = new_id(&mark);
                    if !matches!(self.log.ledger(&named), Ok(None)) {
                        return Ok(Some(named));
                    }
                    unread = unread.or(Some(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
        unread.map_or(Ok(None), |error| Err(error.into()))
    }

    fn project_of_found(&self, found: &mut Found) -> Result<Project> {
        let mut plan = self.plan_project(found)?;
        if plan.choice == Choice::Store {
            self.store_id(found);
            plan = self.plan_project(found)?;
        }
        let (ledger, made) = match &plan.choice {
            Choice::Known(ledger) => (ledger.clone(), false),
            Choice::New(mark) => (new_id(mark), true),
            Choice::NewHere => (new_id(&format!("random:{}", self.ids.session())), true),
            Choice::Store => {
                return Err(EngineError::Refused {
                    what: Refusal::MakeProject,
                    reasons: vec![format!(
                        "nothing names {} and nothing can be stored there",
                        found.root.display()
                    )],
                });
            }
        };
        let before = self.log.ledger(&ledger)?;
        let root = root_to_write(before.as_ref(), found);
        let let_go = self.make_room(before.as_ref(), &mut plan)?;
        if before.is_none() || root.is_some() || !plan.marks.is_empty() {
            let marks = plan.marks;
            let change = LedgerChange::new(ledger.clone(), self.clock.now());
            self.log.change_ledger(LedgerChange { root, marks, let_go, ..change })?;
        }
        let notes = found.notes.iter().cloned().chain(plan.notes).collect();
        Ok(Project { ledger, root: found.root.clone(), made: made && before.is_none(), notes })
    }

    /// Looks up by what a folder is known, and decides. Git is asked only where the remote does not say enough.
    fn plan_project(&self, found: &mut Found) -> Result<Plan> {
        let marked = |mark: Option<String>| -> Result<Option<Ledger>> {
            let Some(mark) = mark else { return Ok(None) };
            let Some(id) = self.log.ledger_marked(&mark)? else { return Ok(None) };
            Ok(self.log.ledger(&id)?)
        };
        let by_remote = marked(found.remote.as_deref().map(plan::remote_mark))?;
        let mut place = found.place(&self.identity.machine);
        let by_place = match marked(place.clone()) {
            // Some ledger cannot be read, and the remote says whose this is: the place is left for when it can be.
            Err(EngineError::Store(error))
                if by_remote.is_some() && error.kind() == StoreErrorKind::Corrupt =>
            {
                place = None;
                None
            }
            by_place => by_place?,
        };
        if by_remote.is_none() {
            found.ask_root_commit();
            found.ask_history(by_place.as_ref().map_or(&[], |ledger| &ledger.marks));
        }
        let stored = match &found.stored {
            Stored::Id(id) => Some(id.clone()),
            Stored::Nothing | Stored::Refused => None,
        };
        let facts = Facts {
            remote: found.remote.clone(),
            root_commit: found.root_commit.clone(),
            may_store: !matches!(found.stored, Stored::Refused),
            stored,
            place,
            home: found.home.to_string_lossy().into_owned(),
            is_blind: found.is_blind,
            shares_history: found.shares_history,
        };
        let candidates = Candidates {
            root_commit: marked(facts.root_commit.as_deref().map(plan::root_commit_mark))?,
            stored: marked(facts.stored.as_deref().map(plan::stored_mark))?,
            remote: by_remote,
            place: by_place,
        };
        Ok(plan(&facts, &candidates))
    }

    /// Keeps a random id in the project, or that of who was faster.
    fn store_id(&self, found: &mut Found) {
        let id = self.ids.session();
        if let Err(reason) = found.store(id.as_str()) {
            let folder = found.root.display();
            let message = format!(
                "{folder} is known by its place only, and has a new memory where it is moved: no id could be stored in it: \
                 {reason}"
            );
            found.notes.push(Note::new(NoteCode::Degraded, message));
            found.stored = Stored::Refused;
        }
    }
}

/// A folder of a machine, or of any machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    machine: Option<String>,
    /// The folder.
    pub(crate) path: String,
}

impl Place {
    /// Says whether a session ran on the place's machine.
    pub(crate) fn is_of(&self, session: &Session) -> bool {
        self.machine.as_deref().is_none_or(|machine| machine == session.key.machine.as_str())
    }
}

/// Returns every folder that a project is known to have been in, on any machine, the present one first.
pub(crate) fn places_of(ledger: &Ledger, here: &MachineId) -> Vec<Place> {
    let root =
        ledger.root.iter().map(|path| Place { machine: Some(here.as_str().to_owned()), path: path.clone() });
    let mut places: Vec<Place> = root.collect();
    for (machine, path) in ledger.marks.iter().filter_map(|mark| plan::place_of_mark(mark)) {
        let machine = (machine != ANY_MACHINE).then(|| machine.to_owned());
        let place = Place { machine, path: path.to_owned() };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The place of a project follows it where it was moved; clones beside it are no move.
fn root_to_write(before: Option<&Ledger>, found: &Found) -> Option<String> {
    let home = found.home.to_string_lossy();
    let known = before.and_then(|ledger| ledger.root.as_deref().map(|root| (ledger, root)));
    let stays =
        known.is_some_and(|(ledger, root)| root == home || look::is_at(Path::new(root), &ledger.marks));
    (!stays).then(|| home.into_owned())
}

#[cfg(test)]
mod tests;
