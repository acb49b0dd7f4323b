//! Folding a ledger: the saved state, the events after it, and what is wrong on the way.
//!
//! What a fold makes of an event is the reducer's; how states are kept is the log's.

use std::collections::HashSet;

use stemmata_model::{Event, EventSeq, LedgerId, Note, NoteCode, SessionId, listed, to_u64, topics};
use stemmata_prompt::reduce::memory::MemoryReducer;
use stemmata_prompt::reduce::snapshot::StateSnapshotter;
use stemmata_prompt::reduce::{self, Reducer};
use stemmata_store::{EventLog, EventQuery, PAGE_ROWS_MAX, SavedState, StoreError};

use crate::engine::Engine;
use crate::error::Result;

/// Events after a saved state at which it is saved again, unless the engine is told otherwise: a replay of so many takes less than a millisecond, and saving
/// costs a sync.
pub const SAVE_EVENTS: u64 = 256;

/// Events of a block. The state at the beginning of the last two blocks is kept beside the newest one, so that a place which
/// others have moved on from costs what came since, and not the whole ledger.
const BLOCK_EVENTS: u64 = 1_024;

/// What a repair of files puts in the place of an event that is lost: `docs/format/ledger-files.md`.
const LOST_SESSION: &str = "stemmata";

/// Sessions that nobody opened which a note names at most.
const STRANGERS_NAMED_MAX: usize = 5;

/// Sessions of one ledger that are kept in mind while it is read; beyond it strangers are not looked for any more.
const SESSIONS_MAX: usize = 100_000;

/// A reducer with a ledger's events folded in.
#[derive(Debug, Clone)]
pub struct Folded<R> {
    /// The reducer.
    pub reducer: R,
    /// The last event that is folded in; 0 where there is none.
    pub through: u64,
    /// The last event that was in the saved state; 0 where all events were folded.
    pub saved_through: u64,
    /// Events that were read.
    pub replayed: u64,
    /// The ledger's epoch before anything of it was read.
    pub epoch: u64,
    /// Whether all events were asked for that the ledger had: only that is worth saving.
    pub is_newest: bool,
    /// What was wrong, and what was done about it.
    pub notes: Vec<Note>,
}

impl Engine {
    /// Returns a reducer with all events up to a number folded in, or all there are: from its saved state where there is
    /// one that can be read and is not newer than asked for, else from the first event. Nothing is saved.
    ///
    /// # Errors
    /// Store errors.
    pub fn fold<R: Reducer>(&self, ledger: &LedgerId, through: Option<u64>) -> Result<Folded<R>> {
        let (last, epoch) = self.log.ledger(ledger)?.map_or((0, 0), |known| (known.last, known.epoch));
        let through = through.map_or(last, |asked| asked.min(last));
        let name = name_of::<R>();
        let saved = self.log.saved_states(ledger, &name)?.into_iter().find(|saved| saved.name == name);
        let mut notes = Vec::new();
        let is_later = saved.as_ref().is_some_and(|saved| through < saved.through && saved.through <= last);
        // Others have moved on from an earlier place: what was saved before it is gone on from.
        let usable = if is_later {
            let blocks = self.log.saved_states(ledger, &block_prefix::<R>())?.into_iter();
            blocks.filter(|saved| saved.through <= through).max_by_key(|saved| saved.through)
        } else {
            saved.filter(|saved| saved.through <= through || is_ahead(saved, last, &mut notes))
        };
        let (reducer, unread) =
            reduce::restore(ledger, usable.as_ref().map(|saved| (saved.version, &saved.state)));
        let saved_through = match (&unread, &usable) {
            (None, Some(saved)) => saved.through,
            _ => 0,
        };
        notes.extend(unread.map(|error| {
            Note::new(NoteCode::Degraded, format!("{error}: all {through} events were folded again"))
        }));
        let is_newest = through == last;
        let folded =
            Folded { reducer, through: saved_through, saved_through, replayed: 0, epoch, is_newest, notes };
        self.fold_on(ledger, folded, through)
    }

    /// Returns a reducer with all events folded in again, whatever is saved.
    ///
    /// # Errors
    /// Store errors.
    pub fn replay<R: Reducer>(&self, ledger: &LedgerId) -> Result<Folded<R>> {
        let (last, epoch) = self.log.ledger(ledger)?.map_or((0, 0), |known| (known.last, known.epoch));
        let reducer = R::new(ledger);
        let notes = Vec::new();
        let folded =
            Folded { reducer, through: 0, saved_through: 0, replayed: 0, epoch, is_newest: true, notes };
        self.fold_on(ledger, folded, last)
    }

    /// Saves what a fold of all events made, if it has gone on for long enough or `always`. Says whether it was.
    ///
    /// # Errors
    /// Store errors.
    pub fn save_folded<R: Reducer>(
        &self,
        ledger: &LedgerId,
        folded: &Folded<R>,
        always: bool,
    ) -> Result<bool> {
        let new = folded.through - folded.saved_through;
        if new == 0 || !folded.is_newest || !(always || new >= self.save_events) {
            return Ok(false);
        }
        let state = saved_form(folded);
        let block = folded.through / BLOCK_EVENTS;
        let begins = block > folded.saved_through / BLOCK_EVENTS;
        let at_block = begins.then(|| SavedState { name: block_name::<R>(block), ..state.clone() });
        self.keep_folded(ledger, folded.epoch, std::iter::once(state).chain(at_block).collect())
    }

    /// Saves what a fold of all events made in the place of every state that was saved of it.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn save_anew<R: Reducer>(&self, ledger: &LedgerId, folded: &Folded<R>) -> Result<()> {
        let state = saved_form(folded);
        let is_long = folded.through >= BLOCK_EVENTS;
        let blocks = [0, 1].into_iter().filter(|_| is_long).map(block_name::<R>);
        let blocks = blocks.map(|name| SavedState { name, ..state.clone() }).collect::<Vec<_>>();
        self.keep_folded(ledger, folded.epoch, std::iter::once(state).chain(blocks).collect()).map(drop)
    }

    /// Folds what is new in a ledger, and saves the states of all its reducers.
    ///
    /// # Errors
    /// Store errors.
    pub fn save_state(&self, ledger: &LedgerId) -> Result<()> {
        self.save_folded(ledger, &self.fold::<MemoryReducer>(ledger, None)?, true)?;
        self.save_folded(ledger, &self.fold::<StateSnapshotter>(ledger, None)?, true)?;
        Ok(())
    }

    /// Saves what folds made, unless something of the ledger was forgotten since it was at an epoch: they may hold it, and
    /// the next fold begins anew. Says whether it was saved.
    pub(crate) fn keep_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<bool> {
        match self.log.save_folded(ledger, epoch, states) {
            Ok(()) => Ok(true),
            Err(StoreError::EpochMoved { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Folds events after those that are folded in, up to a number, page by page.
    fn fold_on<R: Reducer>(
        &self,
        ledger: &LedgerId,
        mut folded: Folded<R>,
        through: u64,
    ) -> Result<Folded<R>> {
        let mut order = Order::new(ledger, folded.through);
        let mut query = (folded.through < through).then(|| EventQuery {
            through: EventSeq::new(through),
            ..EventQuery::after(EventSeq::new(folded.through), PAGE_ROWS_MAX)
        });
        while let Some(asked) = query {
            let page = self.log.page(ledger, &asked)?;
            for event in &page.events {
                order.see(event);
                folded.reducer.apply(event);
            }
            folded.through = page.events.last().map_or(folded.through, |event| event.seq.get());
            folded.replayed += to_u64(page.events.len());
            // The last page may end by its bounds too: nothing is behind it then.
            query = asked.following(&page).filter(|_| folded.through < through);
        }
        if folded.through < through {
            folded.notes.push(Note::new(
                NoteCode::Degraded,
                format!("events {} to {through} are missing; `stemma verify` says more", folded.through + 1),
            ));
        }
        folded.notes.extend(order.notes(self.log.as_ref())?);
        Ok(folded)
    }
}

/// Says no of a state that knows events which the log does not have, and notes it.
fn is_ahead(saved: &SavedState, last: u64, notes: &mut Vec<Note>) -> bool {
    if saved.through > last {
        notes.push(Note::new(
            NoteCode::Degraded,
            format!(
                "the saved state `{}` was at event {}, and the ledger ends at {last}: it was ignored, and all events \
                 were folded again",
                saved.name, saved.through
            ),
        ));
    }
    false
}

/// Returns the name of the state of a ledger's fold: one that no other state's name begins with, so that reading it reads
/// nothing else.
pub(crate) fn name_of<R: Reducer>() -> String {
    format!("{}/ledger", R::NAME)
}

/// Returns what the names of a reducer's states at the beginning of blocks begin with.
fn block_prefix<R: Reducer>() -> String {
    format!("{}-block/", R::NAME)
}

/// Returns the name of the state at the beginning of a block: that of the last block but one takes its place.
fn block_name<R: Reducer>(block: u64) -> String {
    format!("{}{}", block_prefix::<R>(), block % 2)
}

/// Returns what is kept of a fold.
pub(crate) fn saved_form<R: Reducer>(folded: &Folded<R>) -> SavedState {
    SavedState {
        name: name_of::<R>(),
        version: R::VERSION,
        through: folded.through,
        position: None,
        state: folded.reducer.save(),
    }
}

/// Watches over the numbers and sessions of events that are read in order.
struct Order<'l> {
    ledger: &'l LedgerId,
    last: u64,
    gaps: Vec<(u64, u64)>,
    /// Sessions that were opened among the events read, and those that were not, by their first event.
    opened: HashSet<SessionId>,
    strangers: Vec<(SessionId, EventSeq)>,
}

impl<'l> Order<'l> {
    fn new(ledger: &'l LedgerId, last: u64) -> Self {
        Self { ledger, last, gaps: Vec::new(), opened: HashSet::new(), strangers: Vec::new() }
    }

    fn see(&mut self, event: &Event) {
        let number = event.seq.get();
        if number != self.last + 1 {
            self.gaps.push((self.last + 1, number));
        }
        self.last = number;
        // A repair speaks where an event was lost, in a session that nobody opens.
        if event.topic.as_str() == topics::EVENT_LOST && event.session.as_str() == LOST_SESSION {
            return;
        }
        let known = self.opened.contains(&event.session) || self.opened.len() >= SESSIONS_MAX;
        if known || event.session.as_str() == self.ledger.as_str() {
            return;
        }
        if event.topic.as_str() != topics::SESSION_STARTED {
            self.strangers.push((event.session.clone(), event.seq));
        }
        self.opened.insert(event.session.clone());
    }

    /// Says what was wrong. A session may have been opened before the events that were read.
    fn notes(self, log: &dyn EventLog) -> Result<Vec<Note>, StoreError> {
        let mut notes: Vec<Note> = self
            .gaps
            .iter()
            .map(|(from, to)| {
                let message =
                    format!("event {to} follows where event {from} was expected: events are missing");
                Note::new(NoteCode::Degraded, message)
            })
            .collect();
        let mut unopened = Vec::new();
        for (session, seq) in self.strangers {
            let opening = EventQuery {
                session: Some(session.clone()),
                through: Some(seq),
                ..EventQuery::latest(topics::topic(topics::SESSION_STARTED), 1)
            };
            if log.events(self.ledger, &opening)?.is_empty() {
                unopened.push(format!("`{session}` (event {seq})"));
            }
        }
        if !unopened.is_empty() {
            notes.push(Note::new(
                NoteCode::Degraded,
                format!(
                    "no event opened session {}: their events may be another ledger's",
                    listed(&unopened, STRANGERS_NAMED_MAX)
                ),
            ));
        }
        Ok(notes)
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::Json;

    use super::*;

    #[test]
    fn a_state_that_knows_more_than_the_log_is_not_gone_on_from_and_that_is_said() {
        let state = Json::parse("{}").expect("JSON");
        let saved =
            SavedState { name: "memory/ledger".to_owned(), version: 1, through: 7, position: None, state };
        let mut notes = Vec::new();
        assert!(!is_ahead(&saved, 7, &mut notes) && notes.is_empty(), "asked for an earlier moment");
        assert!(!is_ahead(&saved, 2, &mut notes));
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        assert!(note.message.contains("at event 7, and the ledger ends at 2"), "{note}");
    }
}
