//! Which places a project lets go of, so that one that moves for ever is known by its newest.
//!
//! How many there may be is `plan`'s.

use std::path::Path;

use stemmata_model::{Note, NoteCode, Timestamp};
use stemmata_store::{Ledger, Page, SessionFilter};

use super::plan::Plan;
use super::{ANY_MACHINE, Place, look, plan};
use crate::engine::Engine;
use crate::error::Result;

/// Sessions of one place that are looked at for the newest of its machine.
const SESSIONS_MAX: usize = 64;

/// How willingly a place is let go of, the most willingly first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kept {
    /// The project was on this machine, and is not there any more.
    Left,
    /// Nobody can look there from here.
    Elsewhere,
    /// It is there: it is found again by what else it is known by, and remembered again.
    Here,
}

impl Engine {
    /// Returns the places that a ledger lets go of for what it is to remember; of what finds no room even so, none.
    ///
    /// Marks have no times. What a place is good for later is to say whose the sessions are that were captured there, so
    /// one without any goes first, and then the one whose last session is oldest. Folders that somebody adopted stay: no look
    /// finds them again.
    pub(super) fn make_room(&self, known: Option<&Ledger>, plan: &mut Plan) -> Result<Vec<String>> {
        let Some(known) = known.filter(|_| plan.let_go > 0) else { return Ok(Vec::new()) };
        let mut places = Vec::new();
        for mark in &known.marks {
            let Some((machine, path)) = plan::place_of_mark(mark) else { continue };
            if machine == ANY_MACHINE {
                continue;
            }
            let kept = if machine != self.identity.machine.as_str() {
                Kept::Elsewhere
            } else if known.root.as_deref() == Some(path) || look::is_at(Path::new(path), &known.marks) {
                // Also where it was until now: what was written there last may not be captured yet.
                Kept::Here
            } else {
                Kept::Left
            };
            let place = Place { machine: Some(machine.to_owned()), path: path.to_owned() };
            places.push((kept, self.last_session_in(&place)?, mark));
        }
        places.sort();
        let let_go: Vec<String> =
            places.into_iter().take(plan.let_go).map(|(_, _, mark)| mark.clone()).collect();
        let missing = plan.let_go - let_go.len();
        if missing > 0 {
            plan.marks.truncate(plan.marks.len().saturating_sub(missing));
            let message = format!(
                "ledger `{}` knows as many folders as it can, and adopted ones stay: this place is not remembered",
                known.id
            );
            plan.notes.push(Note::new(NoteCode::Degraded, message));
        }
        Ok(let_go)
    }

    fn last_session_in(&self, place: &Place) -> Result<Option<Timestamp>> {
        let filter = SessionFilter { project: Some(place.path.clone()), ..SessionFilter::default() };
        let sessions = self.store.sessions(&filter, Page { skip: 0, rows_max: SESSIONS_MAX })?;
        let own = sessions.iter().filter(|session| place.is_of(session));
        // One without a time is one all the same.
        Ok(own.map(|session| session.last_at.unwrap_or(Timestamp::EPOCH)).max())
    }
}
