//! The decision which folders and which ledgers are of one repository, from what is known of them. Pure.
//!
//! A repository is known by its remote; without one by the folder that its worktrees share. What is known of a ledger are its marks,
//! of a folder what capture learnt of it. Nothing is merged: each view asks anew.

use std::collections::BTreeMap;

use stemmata_model::LedgerId;
use stemmata_store::Ledger;

use super::ANY_MACHINE;
use super::folder::{FolderFacts, Folders, is_home};
use super::plan::{place_of_mark, remotes, root_commits};
use crate::retention::is_within;

/// A repository among those of a store, or a folder that is in none.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RepositoryKey {
    /// The one that a ledger is the memory of.
    Ledger(LedgerId),
    /// The one with a remote, which no ledger has yet.
    Remote(String),
    /// The one at home in a folder of this machine, which has no remote and no ledger.
    Home(String),
    /// A folder by itself.
    Folder(String),
}

/// Which sessions of another machine are of a folder of this one's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// Those whose folder has a mark of their machine, or was adopted.
    Marked,
    /// Those at the same path, too. Listings use this: they mark each such session with its machine.
    SamePath,
}

/// What is known of all repositories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Repositories {
    here: String,
    /// Folders of this machine.
    pub(super) folders: Folders,
    /// The ledgers that have a remote.
    remotes: BTreeMap<String, LedgerId>,
    /// Ledgers of a repository that goes on in another one.
    aliases: BTreeMap<LedgerId, LedgerId>,
    /// The ledgers that were in a folder of a machine, or adopted it, by folder and machine.
    places: BTreeMap<(String, String), LedgerId>,
    /// The repositories of this machine by the folder that they are at home in, with their remotes.
    homes: BTreeMap<String, Option<String>>,
    /// Where the repositories of worktrees are at home, by the worktrees' tops.
    tops: BTreeMap<String, String>,
}

/// What lies around a folder, the nearest.
struct Nearest<'r> {
    path: &'r str,
    is_adopted: bool,
    key: RepositoryKey,
}

impl Repositories {
    /// Puts together what is known: of ledgers, and of folders of this machine.
    pub(super) fn of(here: &str, ledgers: &[Ledger], folders: Folders) -> Self {
        let mut all = Self { here: here.to_owned(), ..Self::default() };
        for ledger in ledgers {
            all.remotes.extend(remotes(&ledger.marks).map(|remote| (remote.to_owned(), ledger.id.clone())));
        }
        for (folder, facts) in &folders {
            let Some(home) = &facts.home else { continue };
            // What is known of the repository's own folder counts before what is known of one in it.
            let known = all.homes.entry(home.clone()).or_default();
            if facts.remote.is_some() && (known.is_none() || folder == home) {
                known.clone_from(&facts.remote);
            }
            all.tops.extend(facts.top.iter().map(|top| (top.clone(), home.clone())));
        }
        all.folders = folders;
        all.places = places(here, ledgers);
        for ledger in ledgers.iter().filter(|ledger| remotes(&ledger.marks).next().is_none()) {
            all.find_alias(ledger, ledgers);
        }
        all
    }

    /// Finds out whether a ledger without a remote is of a repository that another ledger is the memory of by now: one made in a
    /// worktree that is gone, or before the repository had a remote. Two that began with different commits are two repositories,
    /// of which one took the other's place.
    fn find_alias(&mut self, ledger: &Ledger, ledgers: &[Ledger]) {
        let Some(root) = &ledger.root else { return };
        let facts =
            self.folders.get(root).cloned().or_else(|| FolderFacts::of_path(root)).unwrap_or_default();
        let home = facts.home.as_ref().unwrap_or(root);
        let remote = self.homes.get(home).cloned().flatten().or(facts.remote);
        let there = || self.places.get(&(home.clone(), self.here.clone()));
        let other = match &remote {
            Some(remote) => self.remotes.get(remote),
            None => there(),
        };
        let Some(other) = other.filter(|other| **other != ledger.id) else {
            // It has not seen yet that there is a remote, or a repository around its worktree.
            match remote {
                Some(remote) => self.rename(&remote, &ledger.id),
                None if home != root => self.settle(&home.clone(), &ledger.id),
                None => {}
            }
            return;
        };
        let begins = |known: &Ledger| root_commits(&known.marks).next().is_some();
        let has_begun_elsewhere =
            begins(ledger) && ledgers.iter().any(|known| known.id == *other && begins(known));
        if !has_begun_elsewhere {
            self.aliases.insert(ledger.id.clone(), other.clone());
        }
    }

    /// Returns the repository that a ledger is the memory of.
    pub(crate) fn of_ledger(&self, ledger: &LedgerId) -> RepositoryKey {
        RepositoryKey::Ledger(self.aliases.get(ledger).unwrap_or(ledger).clone())
    }

    /// Says that a ledger is a remote's, which it has no mark of yet.
    pub(super) fn rename(&mut self, remote: &str, ledger: &LedgerId) {
        self.remotes.entry(remote.to_owned()).or_insert_with(|| ledger.clone());
    }

    /// Says that a ledger is the one of a repository without a remote: its history is known from elsewhere.
    pub(super) fn settle(&mut self, home: &str, ledger: &LedgerId) {
        self.places.insert((home.to_owned(), self.here.clone()), ledger.clone());
    }

    /// Returns the repository that a folder is of.
    pub(crate) fn of_folder(&self, machine: &str, folder: &str, elsewhere: Elsewhere) -> RepositoryKey {
        let nearest = self.nearest(machine, folder, elsewhere);
        let facts = self.folders.get(folder).filter(|_| machine == self.here);
        let Some((facts, known)) = facts.and_then(|facts| Some((facts, self.of_facts(facts)?))) else {
            return nearest.map_or_else(|| RepositoryKey::Folder(folder.to_owned()), |nearest| nearest.key);
        };
        // What somebody adopted is meant, whatever it was, but for the repositories within it.
        let is_within_adopted = |path: &str| {
            let top = facts.top.as_deref().or(facts.home.as_deref());
            top.is_some_and(|top| top != path && is_within(path, top))
        };
        match nearest.filter(|nearest| nearest.is_adopted && !is_within_adopted(nearest.path)) {
            Some(adopted) => adopted.key,
            None => known,
        }
    }

    /// Returns the folder where the repository of a folder of this machine is at home.
    pub(super) fn home_of(&self, machine: &str, folder: &str) -> Option<&str> {
        self.folders.get(folder).filter(|_| machine == self.here)?.home.as_deref()
    }

    fn of_facts(&self, facts: &FolderFacts) -> Option<RepositoryKey> {
        match (&facts.home, &facts.remote) {
            (Some(home), _) => Some(self.of_home(home)),
            (None, Some(remote)) => Some(self.of_remote(remote)),
            (None, None) => None,
        }
    }

    fn of_home(&self, home: &str) -> RepositoryKey {
        match self.homes.get(home) {
            Some(Some(remote)) => self.of_remote(remote),
            _ => match self.places.get(&(home.to_owned(), self.here.clone())) {
                Some(ledger) => self.of_ledger(ledger),
                None => RepositoryKey::Home(home.to_owned()),
            },
        }
    }

    fn of_remote(&self, remote: &str) -> RepositoryKey {
        let known = self.remotes.get(remote);
        known.map_or_else(|| RepositoryKey::Remote(remote.to_owned()), |ledger| self.of_ledger(ledger))
    }

    /// Looks from a folder upwards. What lies in a home directory or a root says nothing of what is below.
    fn nearest<'r>(&self, machine: &str, folder: &'r str, elsewhere: Elsewhere) -> Option<Nearest<'r>> {
        let is_here = machine == self.here || elsewhere == Elsewhere::SamePath;
        upwards(folder).find_map(|path| {
            let at = |machine: &str| self.places.get(&(path.to_owned(), machine.to_owned()));
            let found = |is_adopted, key| Some(Nearest { path, is_adopted, key });
            if let Some(ledger) = at(ANY_MACHINE) {
                return found(true, self.of_ledger(ledger));
            }
            if path != folder && is_home(path) {
                return None;
            }
            let home = self.tops.get(path).map(String::as_str);
            let home = home.or_else(|| self.homes.contains_key(path).then_some(path)).filter(|_| is_here);
            if let Some(home) = home {
                return found(false, self.of_home(home));
            }
            let own = at(machine).or_else(|| at(&self.here).filter(|_| is_here));
            own.and_then(|ledger| found(false, self.of_ledger(ledger)))
        })
    }
}

/// Returns the ledgers of places. Of several that were in one it is the one's that is there now; one with a remote is that rather
/// than one that was there before there was a remote.
fn places(here: &str, ledgers: &[Ledger]) -> BTreeMap<(String, String), LedgerId> {
    let mut places: BTreeMap<(String, String), (bool, bool, &LedgerId)> = BTreeMap::new();
    for ledger in ledgers {
        let has_remote = remotes(&ledger.marks).next().is_some();
        let root = ledger.root.as_deref().map(|root| (here, root));
        for (machine, path) in
            root.into_iter().chain(ledger.marks.iter().filter_map(|mark| place_of_mark(mark)))
        {
            let claim = (ledger.root.as_deref() == Some(path), has_remote, &ledger.id);
            let known = places.entry((path.to_owned(), machine.to_owned())).or_insert(claim);
            if (claim.0, claim.1) > (known.0, known.1) {
                *known = claim;
            }
        }
    }
    places.into_iter().map(|(place, (.., ledger))| (place, ledger.clone())).collect()
}

/// Returns a folder and the folders around it, the nearest first.
fn upwards(folder: &str) -> impl Iterator<Item = &str> {
    let trimmed = folder.trim_end_matches(['/', '\\']);
    std::iter::successors(Some(trimmed).filter(|path| !path.is_empty()), |path| {
        path.rfind(['/', '\\']).and_then(|end| path.get(..end)).filter(|path| !path.is_empty())
    })
}

#[cfg(test)]
mod tests;
