//! Which sessions a view is limited to: those of a repository, wherever they worked, or those below a folder.
//!
//! Gathers what `repository` decides from: ledgers, what capture learnt of folders, and what lies there now. Writes nothing.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::path::Path;

use stemmata_model::{LedgerId, Timestamp};
use stemmata_store::{Ledger, PAGE_ROWS_MAX, Page, Session, SessionFilter, StoreErrorKind};

use super::folder::{FolderFacts, Folders, is_home, last_of};
use super::look::{self, Around, Tree};
use super::plan::{Choice, Plan};
use super::repository::{Elsewhere, Repositories, RepositoryKey};
use crate::engine::Engine;
use crate::error::{EngineError, Result};
use crate::retention::is_within;

/// Sessions that are read for their folders, the newest first.
const SESSIONS_MAX: u64 = 100_000;

/// A folder that sessions worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectDir {
    /// The folder.
    pub dir: String,
    /// Its sessions.
    pub sessions: u64,
    /// When one of them was last active.
    pub last_at: Option<Timestamp>,
}

impl ProjectDir {
    /// Returns the folder that a ledger is at, which no session may have worked in.
    fn of_ledger(ledger: &Ledger) -> Option<Self> {
        Some(Self { dir: ledger.root.clone()?, sessions: 0, last_at: ledger.last_at })
    }
}

/// One of the things that a scope is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Repository(RepositoryKey),
    Below(String),
}

/// Which sessions a view is limited to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectScope {
    known: Repositories,
    parts: Vec<Part>,
    /// The folders that were asked for.
    names: Vec<String>,
}

impl ProjectScope {
    /// Tells whether a session is in the scope. A session of another machine is in it where its path is the same: a listing marks
    /// such a session with its machine.
    pub fn holds(&self, session: &Session) -> bool {
        self.holds_folder(session.key.machine.as_str(), session.cwd.as_deref())
    }

    pub(crate) fn holds_folder(&self, machine: &str, cwd: Option<&str>) -> bool {
        let Some(cwd) = cwd else { return false };
        self.parts.iter().any(|part| match part {
            Part::Below(dir) => is_within(dir, cwd),
            Part::Repository(key) => self.known.of_folder(machine, cwd, Elsewhere::SamePath) == *key,
        })
    }

    /// Returns the folder that all of it lies below, where there is one: a store finds its sessions faster.
    pub fn folder(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Below(dir)] => Some(dir),
            _ => None,
        }
    }

    /// Returns the folders that were asked for.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds another scope.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if matches!(other.parts.as_slice(), [Part::Below(_)]) {
            self.parts.extend(other.parts);
        } else {
            let parts = std::mem::take(&mut self.parts);
            self.known = other.known;
            self.parts = other.parts;
            self.parts.extend(parts);
        }
        self.names.extend(other.names);
        self
    }
}

/// The sessions of a ledger's project, and the other ledgers of its repository.
#[derive(Debug, Clone)]
pub(crate) struct ProjectSessions {
    known: Repositories,
    key: RepositoryKey,
    /// The ledgers of the repository, the one that was asked for first.
    pub(crate) ledgers: Vec<LedgerId>,
}

impl ProjectSessions {
    /// Returns a ledger alone, which no session is of by its folder.
    pub(crate) fn of_cluster(ledger: &LedgerId) -> Self {
        let (known, key) = (Repositories::default(), RepositoryKey::Ledger(ledger.clone()));
        Self { known, key, ledgers: vec![ledger.clone()] }
    }

    /// Says whether a session that worked in a folder is the project's.
    pub(crate) fn has(&self, machine: &str, cwd: &str, elsewhere: Elsewhere) -> bool {
        self.known.of_folder(machine, cwd, elsewhere) == self.key
    }
}

/// All folders that sessions worked in, with what is known of them.
struct Gathered {
    dirs: Vec<ProjectDir>,
    folders: Folders,
    ledgers: Vec<Ledger>,
}

impl Engine {
    /// Returns the sessions of a ledger's project.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn project_sessions(&self, ledger: &Ledger) -> Result<ProjectSessions> {
        let (dirs, folders) = self.gathered_folders()?;
        let mut gathered = Gathered { dirs, folders, ledgers: self.all_ledgers()? };
        if let Some(root) = ledger.root.as_deref().filter(|root| look::is_at(Path::new(root), &ledger.marks))
        {
            gathered.add(look::around(Path::new(root)), root);
        }
        let known = self.repositories(gathered.folders, &gathered.ledgers);
        let key = known.of_ledger(&ledger.id);
        let others = gathered.ledgers.iter().map(|other| &other.id);
        let others = others.filter(|other| **other != ledger.id && known.of_ledger(other) == key);
        let ledgers = std::iter::once(&ledger.id).chain(others).cloned().collect();
        Ok(ProjectSessions { known, key, ledgers })
    }

    /// Returns the scope of a project: a folder, the name that a project is shown with, or its ledger's id. A folder is its
    /// repository's where it is the top of one, and else all that is below it.
    ///
    /// # Errors
    /// `Search` where nothing has the name; store errors.
    pub fn project_scope(&self, text: &str) -> Result<ProjectScope> {
        if text.contains(['/', '\\']) && Path::new(text).is_absolute() {
            let (known, part) = self.part_of_folder(text)?;
            return Ok(ProjectScope { known, parts: vec![part], names: vec![text.to_owned()] });
        }
        let mut gathered = self.gathered()?;
        let found = self.parts_named(text, &mut gathered)?;
        let (parts, names) = found.into_iter().map(|(part, dir)| (part, dir.dir)).unzip();
        Ok(ProjectScope { known: self.repositories(gathered.folders, &gathered.ledgers), parts, names })
    }

    /// Returns the folder of a project: of its name or its ledger's id. A text with a separator that is no such name is a folder.
    ///
    /// # Errors
    /// `Search` where nothing has the name, or several projects have; store errors.
    pub fn project_dir(&self, text: &str) -> Result<String> {
        if text.contains(['/', '\\']) && Path::new(text).is_absolute() {
            return Ok(text.to_owned());
        }
        let mut found = self.parts_named(text, &mut self.gathered()?)?;
        match found.pop() {
            Some((_, only)) if found.is_empty() => Ok(only.dir),
            last => {
                let found = found.into_iter().chain(last).map(|(_, dir)| dir).collect();
                Err(crate::search::SearchError::ManyProjects { name: text.to_owned(), found }.into())
            }
        }
    }

    /// Returns the ledger of the repository that a folder was in which is gone, where there is one.
    ///
    /// # Errors
    /// Store errors.
    pub fn ledger_of_gone(&self, folder: &str) -> Result<Option<LedgerId>> {
        let gathered = self.gathered()?;
        let known = self.repositories(gathered.folders, &gathered.ledgers);
        let is_known = known.folders.contains_key(folder) || FolderFacts::of_path(folder).is_some();
        Ok(match known.of_folder(self.identity.machine.as_str(), folder, Elsewhere::Marked) {
            RepositoryKey::Ledger(ledger) if is_known => Some(ledger),
            _ => None,
        })
    }

    /// Names the projects of sessions, given by machine and folder: by the folder where the repository is at home, where that is
    /// known, and else by one that they worked in. Of several it is the one of most sessions.
    ///
    /// # Errors
    /// Store errors.
    pub fn project_folders<'s>(
        &self,
        sessions: impl IntoIterator<Item = (&'s str, &'s str)>,
    ) -> Result<HashMap<(&'s str, &'s str), String>> {
        let gathered = self.gathered()?;
        let known = self.repositories(gathered.folders, &gathered.ledgers);
        let mut keys: HashMap<(&str, &str), RepositoryKey> = HashMap::new();
        let mut names: HashMap<RepositoryKey, BTreeMap<(bool, &str), u64>> = HashMap::new();
        for (machine, cwd) in sessions {
            let key = known.of_folder(machine, cwd, Elsewhere::SamePath);
            let home = known.home_of(machine, cwd);
            let name = (home.is_some(), home.unwrap_or(cwd));
            *names.entry(key.clone()).or_default().entry(name).or_default() += 1;
            keys.insert((machine, cwd), key);
        }
        let best = |key: &RepositoryKey| {
            let all = names.get(key)?.iter();
            let best =
                all.max_by_key(|((is_home, name), sessions)| (*is_home, **sessions, Reverse(*name)))?;
            Some(best.0.1.to_owned())
        };
        Ok(keys.iter().filter_map(|(folder, key)| Some((*folder, best(key)?))).collect())
    }

    fn repositories(&self, folders: Folders, ledgers: &[Ledger]) -> Repositories {
        Repositories::of(self.identity.machine.as_str(), ledgers, folders)
    }

    fn gathered(&self) -> Result<Gathered> {
        let (dirs, folders) = self.gathered_folders()?;
        let mut ledgers = Vec::new();
        let read = self.each_ledger(|ledger| {
            ledgers.push(ledger.clone());
            Ok(())
        });
        match read {
            // Sessions are shown whatever is wrong with a ledger. `verify` says that.
            Err(EngineError::Store(error)) if error.kind() == StoreErrorKind::Corrupt => {}
            read => read?,
        }
        Ok(Gathered { dirs, folders, ledgers })
    }

    /// Returns the folders that sessions worked in, the one of the latest session first, and what is known of this machine's.
    fn gathered_folders(&self) -> Result<(Vec<ProjectDir>, Folders)> {
        let (mut dirs, mut at_of): (Vec<ProjectDir>, BTreeMap<String, usize>) = Default::default();
        let mut own = BTreeSet::new();
        self.each_stored_session(&mut |session| {
            let Some(cwd) = session.cwd else { return ControlFlow::Continue(()) };
            if session.key.machine == self.identity.machine {
                own.insert(cwd.clone());
            }
            let at = *at_of.entry(cwd.clone()).or_insert(dirs.len());
            if at == dirs.len() {
                dirs.push(ProjectDir { dir: cwd, sessions: 0, last_at: session.last_at });
            }
            if let Some(dir) = dirs.get_mut(at) {
                dir.sessions += 1;
            }
            ControlFlow::Continue(())
        })?;
        let mut folders = Folders::new();
        for folder in own {
            let facts = self.folder_facts(&folder)?;
            if facts != FolderFacts::default() {
                folders.insert(folder, facts);
            }
        }
        Ok((dirs, folders))
    }

    /// Hands over all sessions, the newest first.
    pub(crate) fn each_stored_session(
        &self,
        visit: &mut dyn FnMut(Session) -> ControlFlow<()>,
    ) -> Result<()> {
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

    /// Returns what a folder means: its repository where it is the top of one, else itself.
    fn part_of_folder(&self, text: &str) -> Result<(Repositories, Part)> {
        let below = || (Repositories::default(), Part::Below(text.to_owned()));
        let folder = text.trim_end_matches('/');
        if folder.is_empty() || is_home(folder) {
            return Ok(below());
        }
        let around = look::around(Path::new(folder));
        let is_top = |top: &Tree| std::fs::canonicalize(folder).is_ok_and(|real| real == Path::new(&top.top));
        let is_meant = match &around {
            Around::Here(top) => is_top(top),
            Around::Above(_) | Around::Gone => true,
            Around::Nothing => false,
        };
        if !is_meant {
            return Ok(below());
        }
        let mut gathered = self.gathered()?;
        let Around::Here(top) = around.clone() else {
            let known = self.repositories(gathered.folders, &gathered.ledgers);
            let is_top = known
                .folders
                .get(folder)
                .is_some_and(|facts| facts.top.as_deref().is_none_or(|top| top == folder));
            let key = known.of_folder(self.identity.machine.as_str(), folder, Elsewhere::Marked);
            return Ok(if is_top { (known, Part::Repository(key)) } else { below() });
        };
        gathered.add(around, &top.top);
        let mut known = self.repositories(gathered.folders, &gathered.ledgers);
        let mut found = look::find(Path::new(folder), "git")?;
        if let Ok(Plan { choice: Choice::Known(ledger), .. }) = self.plan_project(&mut found) {
            // The remote may be new, or the history be known from a clone.
            if let Some(remote) = &top.remote {
                known.rename(remote, &ledger);
            } else {
                let key = known.of_ledger(&ledger);
                known.settle(&top.home, &ledger);
                return Ok((known, Part::Repository(key)));
            }
        }
        let key = known.of_folder(self.identity.machine.as_str(), &top.top, Elsewhere::Marked);
        Ok((known, Part::Repository(key)))
    }

    /// Returns what a name means: repositories that are shown with it, else folders that are called so.
    fn parts_named(&self, text: &str, gathered: &mut Gathered) -> Result<Vec<(Part, ProjectDir)>> {
        let known = self.repositories(gathered.folders.clone(), &gathered.ledgers);
        let here = self.identity.machine.as_str();
        let mut found: Vec<(Part, ProjectDir)> = Vec::new();
        let mut add = |part: Part, dir: ProjectDir| match found.iter_mut().find(|(known, _)| *known == part) {
            Some((_, known)) => known.sessions += dir.sessions,
            None => found.push((part, dir)),
        };
        for ledger in &gathered.ledgers {
            let Some(dir) = ProjectDir::of_ledger(ledger) else { continue };
            let is_named = last_of(&dir.dir) == Some(text) && !is_home(&dir.dir);
            if ledger.id.as_str() == text {
                return Ok(vec![(Part::Repository(known.of_ledger(&ledger.id)), dir)]);
            }
            if is_named {
                add(Part::Repository(known.of_ledger(&ledger.id)), dir);
            }
        }
        let facts_of = |dir: &str| {
            let facts = gathered.folders.get(dir).cloned();
            facts.or_else(|| FolderFacts::of_path(dir)).unwrap_or_default()
        };
        for dir in &gathered.dirs {
            let facts = facts_of(&dir.dir);
            if facts == FolderFacts::default() || facts.name(&dir.dir) != text {
                continue;
            }
            let is_worktree = text.contains('/');
            let top =
                facts.home.clone().filter(|_| !is_worktree).or(facts.top).unwrap_or_else(|| dir.dir.clone());
            let part = if is_worktree {
                Part::Below(top.clone())
            } else {
                Part::Repository(known.of_folder(here, &dir.dir, Elsewhere::SamePath))
            };
            add(part, ProjectDir { dir: top, ..dir.clone() });
        }
        let is_known = |path: &str| found.iter().any(|(_, known)| is_within(&known.dir, path));
        let mut called: Vec<&ProjectDir> = gathered.dirs.iter().collect();
        called.retain(|dir| last_of(&dir.dir) == Some(text) && !is_known(&dir.dir));
        let is_repository = !found.is_empty();
        let outer = called.clone();
        // What lies below another one is found with that.
        called
            .retain(|one| !outer.iter().any(|other| one.dir != other.dir && is_within(&other.dir, &one.dir)));
        // A folder within a repository that is called as another one is not meant.
        called.retain(|dir| !is_repository || facts_of(&dir.dir) == FolderFacts::default());
        found.extend(called.into_iter().map(|dir| (Part::Below(dir.dir.clone()), dir.clone())));
        if found.is_empty() {
            return Err(gathered.no_project(text));
        }
        Ok(found)
    }
}

impl Gathered {
    fn no_project(&self, text: &str) -> EngineError {
        let roots = self.ledgers.iter().filter_map(ProjectDir::of_ledger);
        let mut dirs = self.dirs.clone();
        dirs.extend(roots.filter(|root| self.dirs.iter().all(|known| known.dir != root.dir)));
        let names = dirs.iter().filter_map(|known| last_of(&known.dir));
        let near = stemmata_prompt::strategy::nearest(text, names).map(str::to_owned);
        dirs.sort_by_key(|known| last_of(&known.dir) != near.as_deref());
        crate::search::SearchError::NoProject { name: text.to_owned(), near, known: dirs }.into()
    }

    /// Adds what lies around a folder now, with the other worktrees of the repository: that counts before what was learnt.
    fn add(&mut self, around: Around, folder: &str) {
        let Around::Here(Tree { top, home, remote }) = around else { return };
        for tree in look::worktrees(Path::new(&home)) {
            if let Some(tree) = tree.to_str() {
                let facts =
                    FolderFacts { home: Some(home.clone()), top: Some(tree.to_owned()), remote: None };
                self.folders.entry(tree.to_owned()).or_insert(facts);
            }
        }
        let facts = FolderFacts { home: Some(home.clone()), top: Some(top), remote };
        self.folders.insert(folder.to_owned(), facts.clone());
        self.folders.insert(home.clone(), FolderFacts { top: Some(home), ..facts });
    }
}
