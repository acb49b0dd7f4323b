//! Whose the rows of a bundle are: never this store's, whatever they say.
//!
//! A machine's id is in every bundle that it gave away, so that anybody can write it into one. What this store recorded is what
//! stands in it under the ids of its machine and of those that it was on before; a row of a bundle that claims such an id and is
//! not there is kept under another name.

use stemmata_model::{CommitId, MachineId, Sighting};
use stemmata_store::{Placement, Session, SessionKey, Store};

use crate::engine::Engine;
use crate::error::Result;

/// Follows the id of a machine of this store in the name under which rows are kept that only claim it. The names of machines are
/// hexadecimal, so that none has it.
const CLAIMED: &str = "~bundle";

/// Sightings of one commit that are looked at.
const SIGHTINGS_MAX: usize = 10_000;

/// Tells what this store recorded from what bundles say.
pub(super) struct Origins<'e> {
    engine: &'e Engine,
}

impl<'e> Origins<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        Self { engine }
    }

    fn store(&self) -> &dyn Store {
        self.engine.store.as_ref()
    }

    /// Says whether a row claims to have been recorded in this store.
    fn is_claim(&self, machine: &MachineId, path: Option<&str>) -> Result<bool> {
        let Some(path) = path else { return Ok(self.engine.identity.is_ours(machine)) };
        self.engine.is_recorded_here(&SessionKey { machine: machine.clone(), path: path.to_owned() })
    }

    /// Says whether a commit was recorded in this store.
    pub(super) fn has_seen(&self, commit: CommitId) -> Result<bool> {
        self.engine.is_own(commit)
    }

    /// Returns a sighting as it is to be kept; none where it is one of this store's own.
    pub(super) fn sighting(&self, commit: CommitId, mut sighting: Sighting) -> Result<Option<Sighting>> {
        fn path(of: &Sighting) -> Option<&str> {
            of.source.as_ref().map(|source| source.path.as_str())
        }
        if !self.is_claim(&sighting.machine, path(&sighting))? {
            return Ok(Some(sighting));
        }
        if self.store().commit(commit)?.is_some() {
            let known = self.store().sightings(commit, SIGHTINGS_MAX)?;
            let is_own = |own: &Sighting| {
                own.machine == sighting.machine
                    && own.session == sighting.session
                    && path(own) == path(&sighting)
            };
            if known.iter().any(is_own) {
                return Ok(None);
            }
        }
        Ok(rename(&mut sighting.machine).then_some(sighting))
    }

    /// Gives a session its place; says whether it is to be kept: nothing replaces what was recorded here.
    pub(super) fn session(&self, session: &mut Session) -> Result<bool> {
        if !self.engine.is_recorded_here(&session.key)? {
            return Ok(true);
        }
        Ok(self.store().session(&session.key)?.is_none() && rename(&mut session.key.machine))
    }

    /// Gives a placement its place; says whether it is to be kept.
    pub(super) fn placement(&self, placement: &mut Placement) -> Result<bool> {
        if !self.is_claim(&placement.machine, Some(&placement.path))? {
            return Ok(true);
        }
        let known = self.store().placement(&placement.machine, &placement.path)?;
        Ok(known.is_none() && rename(&mut placement.machine))
    }
}

/// Gives a row that only claims to be this store's its place; says whether there is one.
fn rename(machine: &mut MachineId) -> bool {
    let claimed = MachineId::new(format!("{machine}{CLAIMED}"));
    claimed.map(|claimed| *machine = claimed).is_ok()
}
