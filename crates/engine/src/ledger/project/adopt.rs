//! Folders that somebody adopted: their sessions count for a project, until the folder is removed from it.
//!
//! Not the places where a project was seen: those are the parent's.

use stemmata_model::{LedgerId, listed};
use stemmata_store::{Ledger, LedgerChange, StoreError};

use super::folder::is_home;
use super::{ANY_MACHINE, places_of, plan};
use crate::engine::Engine;
use crate::error::{EngineError, Refusal, Result};
use crate::retention::is_within;

/// Other projects that a refusal names.
const NAMED_MAX: usize = 3;

/// A folder to adopt.
#[derive(Debug, Clone, Copy)]
pub struct Adopt<'a> {
    /// The folder, whole, of any machine. It is not looked at.
    pub folder: &'a str,
    /// Home directories of who asks. A folder that holds one holds every session of that user.
    pub homes: &'a [String],
    /// Whether a folder that holds a home directory or projects of their own is adopted all the same.
    pub anyway: bool,
}

/// Returns the folders that a ledger's project adopted.
pub fn adopted_folders(ledger: &Ledger) -> impl Iterator<Item = &str> {
    let places = ledger.marks.iter().filter_map(|mark| plan::place_of_mark(mark));
    places.filter_map(|(machine, folder)| (machine == ANY_MACHINE).then_some(folder))
}

fn mark(folder: &str) -> String {
    plan::place_mark(ANY_MACHINE, folder.trim_end_matches('/'))
}

impl Engine {
    /// Has sessions that worked in a folder count as the project's of a ledger, wherever they were captured: of another
    /// machine, or of a folder that is not there any more. Idempotent.
    ///
    /// # Errors
    /// `Refused` for what is no whole path of a folder, or a root: every session would be below it; for one that holds more than a
    /// project, unless it is wanted anyway. `MarkTaken` where another project has it, `LedgerMissing`, `Bound`, store errors.
    pub fn adopt_folder(&self, ledger: &LedgerId, adopt: Adopt<'_>) -> Result<()> {
        let folder = adopt.folder;
        let mut reason = not_adoptable(folder);
        if reason.is_none() && !adopt.anyway {
            reason = match holds_homes(&adopt) {
                Some(home) => Some(format!(
                    "`{folder}` holds the home directory {home}: every session below would count"
                )),
                None => self.holds_projects(folder)?,
            };
        }
        if let Some(reason) = reason {
            return Err(EngineError::Refused { what: Refusal::AdoptFolder, reasons: vec![reason] });
        }
        if self.log.ledger(ledger)?.is_none() {
            return Err(StoreError::LedgerMissing(ledger.clone()).into());
        }
        let change = LedgerChange::new(ledger.clone(), self.clock.now());
        Ok(self.log.change_ledger(LedgerChange { marks: vec![mark(folder)], ..change })?)
    }

    /// Removes a folder from those that a ledger's project adopted: its sessions do not count any more. Returns whether it was one.
    ///
    /// # Errors
    /// `LedgerMissing`, store errors.
    pub fn disown_folder(&self, ledger: &LedgerId, folder: &str) -> Result<bool> {
        let known = self.log.ledger(ledger)?.ok_or_else(|| StoreError::LedgerMissing(ledger.clone()))?;
        let mark = mark(folder);
        if !known.marks.contains(&mark) {
            return Ok(false);
        }
        let change = LedgerChange::new(ledger.clone(), self.clock.now());
        self.log.change_ledger(LedgerChange { let_go: vec![mark], ..change })?;
        Ok(true)
    }

    /// Says which projects are below a folder, this one too: what is beside them would count for it. A project that is the folder is the
    /// usual one, which went away.
    fn holds_projects(&self, folder: &str) -> Result<Option<String>> {
        let folder = folder.trim_end_matches('/');
        let mut below = Vec::new();
        self.each_ledger(|other| {
            let places = places_of(other, &self.identity.machine).into_iter().map(|place| place.path);
            below.extend(places.filter(|path| path != folder && is_within(folder, path)).take(1));
            Ok(())
        })?;
        let named = listed(&below, NAMED_MAX);
        Ok((!below.is_empty()).then(|| format!("`{folder}` holds the projects {named}")))
    }
}

/// Says what keeps a folder from being adopted. Paths of other machines may be of another kind than this one's.
fn not_adoptable(folder: &str) -> Option<String> {
    let parts = parts(folder);
    if !(folder.starts_with('/') || folder.starts_with("\\\\") || is_drive(folder)) {
        return Some(format!("`{folder}` is not a whole path; sessions name their folders by such"));
    }
    if parts.iter().any(|part| matches!(*part, "." | "..")) {
        return Some(format!("`{folder}` has `.` or `..` in it, which no session's folder has"));
    }
    let is_root = parts.is_empty() || (is_drive(folder) && parts.len() == 1);
    is_root.then(|| format!("every session is below `{folder}`; name the project's folder"))
}

/// Returns a home directory that a folder is, or holds: of who asks, or what is one by its name on some machine.
fn holds_homes(adopt: &Adopt<'_>) -> Option<String> {
    let folder = adopt.folder;
    let own = adopt.homes.iter().find(|home| is_within(folder.trim_end_matches('/'), home));
    own.cloned().or_else(|| is_home(folder).then(|| folder.to_owned()))
}

fn is_drive(path: &str) -> bool {
    path.get(1..3).is_some_and(|rest| rest == ":\\" || rest == ":/")
}

fn parts(path: &str) -> Vec<&str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty()).collect()
}
