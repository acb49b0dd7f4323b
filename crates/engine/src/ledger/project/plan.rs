//! The decision which ledger is a folder's, from what was found of it. Pure.

use stemmata_model::{LedgerId, Note, NoteCode};
use stemmata_store::{Ledger, MARKS_MAX};

/// Places that a ledger remembers: they are the weakest thing to know a project by, and clones come and go; other marks
/// keep a quarter of the room.
pub(super) const PLACES_MAX: usize = MARKS_MAX / 4 * 3;

const REMOTE: &str = "remote:";
const ROOT_COMMIT: &str = "root-commit:";
const STORED: &str = "stored:";
const PLACE: &str = "place:";
const APART: &str = "apart:";
const FORK: &str = "fork:";

pub(super) fn remote_mark(remote: &str) -> String {
    format!("{REMOTE}{remote}")
}

pub(super) fn root_commit_mark(commit: &str) -> String {
    format!("{ROOT_COMMIT}{commit}")
}

pub(super) fn stored_mark(id: &str) -> String {
    format!("{STORED}{id}")
}

pub(super) fn place_mark(machine: &str, path: &str) -> String {
    format!("{PLACE}{machine}:{path}")
}

/// Returns the machine and the folder of a mark that names a place. No machine's name holds a colon.
pub(super) fn place_of_mark(mark: &str) -> Option<(&str, &str)> {
    mark.strip_prefix(PLACE)?.split_once(':')
}

/// Returns the remotes that a ledger's project was known by.
pub(super) fn remotes(marks: &[String]) -> impl Iterator<Item = &str> {
    marks.iter().filter_map(|mark| mark.strip_prefix(REMOTE))
}

/// Returns the root commits that a ledger's project was known by.
pub(super) fn root_commits(marks: &[String]) -> impl Iterator<Item = &str> {
    marks.iter().filter_map(|mark| mark.strip_prefix(ROOT_COMMIT))
}

/// What was found of a folder.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Where its repository comes from: `host/path`.
    pub(super) remote: Option<String>,
    /// Its repository's first commit; also none where the remote says enough, and nobody asked.
    pub(super) root_commit: Option<String>,
    /// The id that is stored in it.
    pub(super) stored: Option<String>,
    /// Whether an id can be stored in it.
    pub(super) may_store: bool,
    /// The mark of the place; none where that is too long for one.
    pub(super) place: Option<String>,
    /// The place, as ledgers have it as their root.
    pub(super) home: String,
    /// Whether something is there that could not be looked at: what was not found may be there then.
    pub(super) is_blind: bool,
    /// Whether its repository has a commit that the project known from this place began with.
    pub(super) shares_history: bool,
}

/// The ledgers that what was found is a mark of.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidates {
    pub(super) remote: Option<Ledger>,
    pub(super) root_commit: Option<Ledger>,
    pub(super) stored: Option<Ledger>,
    pub(super) place: Option<Ledger>,
}

/// Whose the folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// This ledger's.
    Known(LedgerId),
    /// A new one's, named after this mark.
    New(String),
    /// A new one's that only the place leads to.
    NewHere,
    /// To be asked again when an id has been stored.
    Store,
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) choice: Choice,
    /// Marks that the ledger gets: the place last.
    pub(super) marks: Vec<String>,
    /// How many places it lets go of for these.
    pub(super) let_go: usize,
    pub(super) notes: Vec<Note>,
}

/// Returns the id of a project that a mark founds: the same wherever the mark is found first.
pub(super) fn new_id(mark: &str) -> LedgerId {
    let mut hasher = blake3::Hasher::new_derive_key("stemmata project id v1");
    hasher.update(mark.as_bytes());
    let hex: String = hasher.finalize().to_hex().chars().take(32).collect();
    LedgerId::new(format!("project-{hex}")).expect("letters and digits are a name")
}

/// Decides whose a folder is, what its ledger is to remember, and what the user should know.
pub(super) fn plan(facts: &Facts, candidates: &Candidates) -> Plan {
    let choice = choose(facts, candidates);
    let known = [&candidates.remote, &candidates.root_commit, &candidates.stored, &candidates.place];
    let (id, ledger) = match &choice {
        Choice::Known(id) => (id.clone(), known.into_iter().flatten().find(|ledger| ledger.id == *id)),
        Choice::New(mark) => (new_id(mark), None),
        Choice::NewHere => {
            let marks = facts.place.iter().cloned().collect();
            return Plan { choice, marks, let_go: 0, notes: Vec::new() };
        }
        Choice::Store => return Plan { choice, marks: Vec::new(), let_go: 0, notes: Vec::new() },
    };
    let had = ledger.map_or(&[] as &[String], |ledger| &ledger.marks);
    let mut plan = Plan { choice, marks: Vec::new(), let_go: 0, notes: Vec::new() };
    plan.stay_apart(&id, had, facts, candidates);
    plan.marks.extend(fork(&id, facts, candidates).filter(|mark| !had.contains(mark)));
    plan.remember(had, facts, candidates);
    plan
}

/// The repository's own identity first: its remote, then its first commit; then what is stored; the place last.
fn choose(facts: &Facts, candidates: &Candidates) -> Choice {
    if let Some(ledger) = &candidates.remote {
        return Choice::Known(ledger.id.clone());
    }
    if let Some(ledger) = by_history(facts, candidates).or_else(|| by_stored(facts, candidates)) {
        return Choice::Known(ledger.id.clone());
    }
    if let Some(ledger) = candidates.place.as_ref().filter(|ledger| is_by_place(facts, ledger)) {
        return Choice::Known(ledger.id.clone());
    }
    let named = facts.remote.as_deref().map(remote_mark);
    // Another repository with the same first commit has that one as its mark: this one is a fork of it.
    let begun =
        || facts.root_commit.as_deref().map(root_commit_mark).filter(|_| candidates.root_commit.is_none());
    let stored = || facts.stored.as_deref().map(stored_mark);
    match named.or_else(begun).or_else(stored) {
        Some(mark) => Choice::New(mark),
        None if facts.may_store => Choice::Store,
        // Nothing else will ever lead here: rather what was in this place before than a new memory with each look.
        None => match (&candidates.place, &facts.place) {
            (Some(ledger), _) => Choice::Known(ledger.id.clone()),
            (None, Some(_)) => Choice::NewHere,
            (None, None) => Choice::Store,
        },
    }
}

/// A first commit names all forks of a repository; remotes and places tell them apart.
fn by_history<'c>(facts: &Facts, candidates: &'c Candidates) -> Option<&'c Ledger> {
    let ledger = candidates.root_commit.as_ref()?;
    let is_here = |other: &Option<Ledger>| other.as_ref().is_some_and(|other| other.id == ledger.id);
    if facts.remote.is_none() {
        // A fork that lost its remote is still the one that was in this place, and not what it was forked from.
        let is_fork =
            |place: &&Ledger| fork_mark(&place.id, facts).is_some_and(|mark| place.marks.contains(&mark));
        let fork = candidates.place.as_ref().filter(is_fork);
        return Some(fork.unwrap_or(ledger));
    }
    let is_renamed = is_here(&candidates.place) || is_here(&candidates.stored);
    (!has(ledger, REMOTE) || is_renamed).then_some(ledger)
}

/// An id may be committed, and then forks have it too: a remote tells them apart.
fn by_stored<'c>(facts: &Facts, candidates: &'c Candidates) -> Option<&'c Ledger> {
    let ledger = candidates.stored.as_ref()?;
    let is_here = candidates.place.as_ref().is_some_and(|place| place.id == ledger.id);
    (facts.remote.is_none() || !has(ledger, REMOTE) || is_here).then_some(ledger)
}

/// A place alone says little: a folder may have been moved away, and another put there.
fn is_by_place(facts: &Facts, ledger: &Ledger) -> bool {
    let is_all = ![REMOTE, ROOT_COMMIT, STORED].iter().any(|kind| has(ledger, kind));
    let is_unseen =
        facts.is_blind && facts.remote.is_none() && facts.root_commit.is_none() && facts.stored.is_none();
    is_all || is_unseen || facts.shares_history
}

fn fork(id: &LedgerId, facts: &Facts, candidates: &Candidates) -> Option<String> {
    let begun = candidates.root_commit.as_ref();
    begun.filter(|begun| begun.id != *id && has(begun, REMOTE)).and_then(|_| fork_mark(id, facts))
}

/// What a ledger remembers whose first commit is another's mark.
fn fork_mark(id: &LedgerId, facts: &Facts) -> Option<String> {
    facts.root_commit.as_deref().map(|commit| format!("{FORK}{id}:{commit}"))
}

fn has(ledger: &Ledger, kind: &str) -> bool {
    ledger.marks.iter().any(|mark| mark.starts_with(kind))
}

impl Plan {
    /// Two memories that turn out to be of one project stay two; that is said once, and remembered as a mark.
    fn stay_apart(&mut self, id: &LedgerId, had: &[String], facts: &Facts, candidates: &Candidates) {
        let by_root = candidates.root_commit.as_ref().filter(|other| !has(other, REMOTE));
        let by_root = by_root.filter(|_| candidates.remote.is_some());
        let place = candidates.place.as_ref();
        let place = place.filter(|other| other.root.as_deref() == Some(facts.home.as_str()));
        for other in [by_root, candidates.stored.as_ref(), place].into_iter().flatten() {
            let mark = format!("{APART}{id}:{}", other.id);
            if other.id == *id || had.contains(&mark) || self.marks.contains(&mark) {
                continue;
            }
            self.marks.push(mark);
            let message = format!(
                "what was remembered for {} stays apart, in ledger `{}`: its repository is that of ledger `{id}`",
                facts.home, other.id
            );
            self.notes.push(Note::new(NoteCode::Conflict, message));
        }
    }

    /// Adds the marks that the ledger lacks and no other has.
    fn remember(&mut self, had: &[String], facts: &Facts, candidates: &Candidates) {
        let free = |by: &Option<Ledger>, mark: Option<String>| mark.filter(|_| by.is_none());
        let own = [
            free(&candidates.remote, facts.remote.as_deref().map(remote_mark)),
            free(&candidates.root_commit, facts.root_commit.as_deref().map(root_commit_mark)),
            free(&candidates.stored, facts.stored.as_deref().map(stored_mark)),
        ];
        self.marks.extend(own.into_iter().flatten());
        let places = had.iter().filter(|mark| mark.starts_with(PLACE)).count();
        let place = free(&candidates.place, facts.place.clone());
        let is_new = usize::from(place.is_some());
        self.marks.extend(place);
        // A project may move for ever: the newest place counts, and old ones make room for what it is known by now.
        let places_beyond = (places + is_new).saturating_sub(PLACES_MAX) * is_new;
        let marks_beyond = (had.len() + self.marks.len()).saturating_sub(MARKS_MAX);
        self.let_go = places_beyond.max(marks_beyond).min(places);
        let room = MARKS_MAX.saturating_sub(had.len()) + self.let_go;
        if self.marks.len() > room {
            self.marks.truncate(room);
            let message = format!(
                "{} has {MARKS_MAX} things to know it by, and remembers no more: it may not be known by its present remote",
                facts.home
            );
            self.notes.push(Note::new(NoteCode::Degraded, message));
        }
    }
}
