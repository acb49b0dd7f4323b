//! Whose the rows of a bundle are: never this machine's, whatever they say.
//!
//! A machine's id is in every bundle that it gave away, so that anybody can write it into one. What this machine recorded is what
//! stands in this store under its id; a row of a bundle that claims the id and is not there is kept under another name.

use stemmata_model::{CommitId, MachineId, Sighting};
use stemmata_store::{Placement, Session, Store};

use crate::engine::Engine;
use crate::error::Result;

/// Follows the id of this machine in the name under which rows are kept that only claim it. The names of machines are
/// hexadecimal, so that none has it.
const CLAIMED: &str = "~bundle";

/// Sightings of one commit that are looked at.
const SIGHTINGS_MAX: usize = 10_000;

/// Tells what this store recorded from what bundles say.
pub(super) struct Origins<'e> {
    engine: &'e Engine,
    /// The name of what claims to be this machine's.
    claimed: Option<MachineId>,
}

impl<'e> Origins<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let claimed = MachineId::new(format!("{}{CLAIMED}", engine.identity.machine)).ok();
        Self { engine, claimed }
    }

    fn store(&self) -> &dyn Store {
        self.engine.store.as_ref()
    }

    /// Gives a name that claims to be this machine's its place; says whether there is one.
    fn rename(&self, machine: &mut MachineId) -> bool {
        if *machine != self.engine.identity.machine {
            return true;
        }
        match &self.claimed {
            Some(claimed) => machine.clone_from(claimed),
            None => return false,
        }
        true
    }

    /// Says whether this machine saw a commit.
    pub(super) fn has_seen(&self, commit: CommitId) -> Result<bool> {
        self.engine.is_own(commit)
    }

    /// Returns a sighting as it is to be kept; none where it is one of this machine's own.
    pub(super) fn sighting(&self, commit: CommitId, mut sighting: Sighting) -> Result<Option<Sighting>> {
        let path = |of: &Sighting| of.source.as_ref().map(|source| source.path.clone());
        if sighting.machine == self.engine.identity.machine && self.store().commit(commit)?.is_some() {
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
        Ok(self.rename(&mut sighting.machine).then_some(sighting))
    }

    /// Gives a session its place; says whether it is to be kept: nothing replaces what was recorded here.
    pub(super) fn session(&self, session: &mut Session) -> Result<bool> {
        if self.engine.is_recorded_here(&session.key)? && self.store().session(&session.key)?.is_some() {
            return Ok(false);
        }
        Ok(self.rename(&mut session.key.machine))
    }

    /// Gives a placement its place; says whether it is to be kept.
    pub(super) fn placement(&self, placement: &mut Placement) -> Result<bool> {
        let is_own = placement.machine == self.engine.identity.machine;
        if is_own && self.store().placement(&placement.machine, &placement.path)?.is_some() {
            return Ok(false);
        }
        Ok(self.rename(&mut placement.machine))
    }
}
