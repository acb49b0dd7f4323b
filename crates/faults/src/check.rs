//! Looks at a store after a fault: is everything there that was promised, and does it work again?

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_engine::{BundleLimits, Engine};
use stemmata_model::{CommitId, Payload};
use stemmata_store::{EventQuery, PAGE_ROWS_MAX};
use stemmata_testkit::disk::Image;

use crate::ledger::{Ledger, native_hash};
use crate::script::events::{self, log_id};
use crate::script::{Act, Step};
use crate::stage::Stage;

/// What is wrong with a state.
#[derive(Debug, Clone, Default)]
pub struct Verdict {
    /// What was promised and is not there, or is other than promised.
    pub lost: Vec<String>,
    /// What cannot be read, opened or done.
    pub unreadable: Vec<String>,
    /// Damages that the step mended when it was done again.
    pub repaired: u64,
}

impl Verdict {
    /// Says whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.lost.is_empty() && self.unreadable.is_empty()
    }

    /// Returns all that is wrong, in words.
    pub fn all(&self) -> impl Iterator<Item = &String> {
        self.lost.iter().chain(&self.unreadable)
    }
}

/// What was promised when a fault came, and what was being done.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// What was promised.
    pub before: &'a Ledger,
    /// What was under way, with what is promised once it is done; none between two steps.
    pub step: Option<(&'a Step, &'a Ledger)>,
}

/// Opens the stores of a folder, looks for everything that was promised, and does the step again that was
/// interrupted.
pub fn check(stage: &Stage, moment: Moment<'_>) -> Verdict {
    let mut verdict = Verdict::default();
    let day = moment.step.map_or(0, |(step, _)| step.day);
    if moment.step.is_none()
        && !Path::new(&stage.disk.join("store")).exists()
        && moment.before.commits.is_empty()
    {
        return verdict;
    }
    let engine = match stage.engine(day) {
        Ok(engine) => engine,
        Err(error) => {
            verdict.unreadable.push(format!("it does not open: {error:#}"));
            return verdict;
        }
    };
    damage(&engine, &mut verdict);
    promised(&engine, moment, &mut verdict);
    let left = moment.step.map(|(_, after)| &after.gone);
    others(stage, moment.before, day, |id| left.is_some_and(|gone| gone.contains(id)), &mut verdict);
    if let Some((step, after)) = moment.step {
        match (step.act)(&Act { stage, engine: &engine, ledger: moment.before, day }) {
            Ok(done) => {
                verdict.repaired += done.repaired;
                kept(&engine, after, &mut verdict);
                damage(&engine, &mut verdict);
                others(stage, after, day, |_| false, &mut verdict);
            }
            Err(error) => verdict.unreadable.push(format!("`{}` again: {error:#}", step.name)),
        }
    }
    verdict
}

/// Has `verify` find nothing.
pub fn damage(engine: &Engine, verdict: &mut Verdict) {
    let mut found = Vec::new();
    let result = engine.store().verify(&mut |damage| {
        found.push(format!("verify: {} {}: {}", damage.check, damage.object, damage.message));
    });
    verdict.unreadable.extend(found);
    if let Err(error) = result {
        verdict.unreadable.push(format!("verify fails: {error}"));
    }
}

/// Looks for what was promised before, except where the step that was under way takes it away.
fn promised(engine: &Engine, moment: Moment<'_>, verdict: &mut Verdict) {
    let after = moment.step.map(|(_, after)| after);
    for (id, hash) in &moment.before.commits {
        if !after.is_some_and(|after| after.gone.contains(id)) {
            commit(engine, *id, hash, verdict);
        }
    }
    for (id, noted) in &moment.before.annotations {
        if after.is_some_and(|after| after.gone.contains(id)) {
            continue;
        }
        let later = after.and_then(|after| after.annotations.get(id));
        match engine.store().annotations(*id) {
            Ok(there) if there == *noted || Some(&there) == later => {}
            Ok(there) => verdict.lost.push(format!("notes of {id}: {there:?} in place of {noted:?}")),
            Err(error) => verdict.unreadable.push(format!("notes of {id}: {error}")),
        }
    }
    gone(engine, moment.before, verdict);
    events(engine, moment.before, after, verdict);
}

/// Looks for all that is promised.
pub fn kept(engine: &Engine, ledger: &Ledger, verdict: &mut Verdict) {
    for (id, hash) in &ledger.commits {
        commit(engine, *id, hash, verdict);
    }
    for (id, noted) in &ledger.annotations {
        match engine.store().annotations(*id) {
            Ok(there) if there == *noted => {}
            Ok(there) => verdict.lost.push(format!("notes of {id}: {there:?} in place of {noted:?}")),
            Err(error) => verdict.unreadable.push(format!("notes of {id}: {error}")),
        }
    }
    gone(engine, ledger, verdict);
    events(engine, ledger, None, verdict);
}

/// Looks for the events that are promised; there may be more, and some forgotten, by the step that was under way.
fn events(engine: &Engine, ledger: &Ledger, after: Option<&Ledger>, verdict: &mut Verdict) {
    let found = match engine.log().events(&log_id(), &EventQuery::after(None, PAGE_ROWS_MAX)) {
        Ok(found) => found,
        Err(error) => return verdict.unreadable.push(format!("events: {error}")),
    };
    let count = u64::try_from(found.len()).unwrap_or(u64::MAX);
    if count < ledger.events || count > after.map_or(ledger.events, |after| after.events) {
        verdict.lost.push(format!("{count} events in place of {}", ledger.events));
    }
    let may_go = ledger.events_forgotten || after.is_some_and(|after| after.events_forgotten);
    for (number, event) in (1..).zip(&found) {
        let said = match &event.payload {
            Payload::Plain { text, .. } => text.clone(),
            Payload::Line { line, .. } => Some(line.to_string()),
            Payload::Gone(_) => None,
        };
        let is_right = match said {
            Some(said) => {
                said == events::words(number) && !(ledger.events_forgotten && events::is_forgotten(number))
            }
            None => may_go && events::is_forgotten(number),
        };
        if event.seq.get() != number || !is_right {
            verdict.lost.push(format!("event {number} is {event:?}"));
        }
    }
}

/// Looks through the bundles and the other stores of the disk, but for commits that are on their way out.
pub fn others(
    stage: &Stage,
    ledger: &Ledger,
    day: u32,
    leaves: impl Fn(&CommitId) -> bool,
    verdict: &mut Verdict,
) {
    for name in &ledger.bundles {
        let shown = std::fs::File::open(stage.disk.join(name))
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(Engine::show_bundle(&file, BundleLimits::default())?));
        if let Err(error) = shown {
            verdict.unreadable.push(format!("`{name}`: {error:#}"));
        }
    }
    for (name, commits) in &ledger.stores {
        let leaving: Vec<CommitId> = commits.keys().copied().filter(|id| leaves(id)).collect();
        let Ok(found_before) = state_of(stage, name, ledger, &leaving) else {
            verdict.unreadable.push(format!("`{name}` cannot be read"));
            continue;
        };
        if known().contains(&found_before) {
            continue;
        }
        let engine = match stage.engine_of(name, day) {
            Ok(engine) => engine,
            Err(error) => {
                verdict.unreadable.push(format!("`{name}` does not open: {error:#}"));
                continue;
            }
        };
        let mut found = Verdict::default();
        damage(&engine, &mut found);
        for (id, hash) in commits.iter().filter(|(id, _)| !leaves(id)) {
            commit(&engine, *id, hash, &mut found);
        }
        if found.is_sound() {
            known().insert(found_before);
        }
        verdict.lost.extend(found.lost.into_iter().map(|text| format!("`{name}`: {text}")));
        verdict.unreadable.extend(found.unreadable.into_iter().map(|text| format!("`{name}`: {text}")));
    }
}

/// States of other stores that were found sound. Most faults change one store, and the others need no second look.
static KNOWN: Mutex<BTreeSet<[u8; 32]>> = Mutex::new(BTreeSet::new());

fn known() -> MutexGuard<'static, BTreeSet<[u8; 32]>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what a store and what is promised of it are known by.
fn state_of(stage: &Stage, name: &str, ledger: &Ledger, leaving: &[CommitId]) -> std::io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
    };
    for (path, bytes) in Image::read(&stage.disk.join(name))?.files() {
        // The index of a log is rebuilt.
        if !path.ends_with("-shm") {
            add(path.as_bytes());
            add(bytes);
        }
    }
    add(format!("{:?}", ledger.stores.get(name)).as_bytes());
    add(format!("{leaving:?}").as_bytes());
    Ok(*hasher.finalize().as_bytes())
}

fn commit(engine: &Engine, id: CommitId, hash: &[u8; 32], verdict: &mut Verdict) {
    match engine.store().commit(id) {
        Ok(Some(_)) => match native_hash(engine, id) {
            Ok(there) if there == *hash => {}
            Ok(_) => verdict.lost.push(format!("{id} has other bytes")),
            Err(error) => verdict.unreadable.push(format!("{error:#}")),
        },
        Ok(None) => verdict.lost.push(format!("{id} is not there")),
        Err(error) => verdict.unreadable.push(format!("{id}: {error}")),
    }
}

fn gone(engine: &Engine, ledger: &Ledger, verdict: &mut Verdict) {
    for id in &ledger.gone {
        if native_hash(engine, *id).is_ok() {
            verdict.lost.push(format!("{id} was forgotten and can be read"));
        }
    }
}
