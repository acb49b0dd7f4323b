//! Events in memory: a ledger's lines are contents of the store, and forgetting has them go together.
//!
//! Ledgers themselves are `logs`'s.

use std::collections::BTreeSet;

use stemmata_model::{
    ArtifactId, CommitId, Event, EventSeq, LedgerId, NewPayload, Payload, SessionId, Timestamp, Topic, to_u64,
};
use stemmata_store::rules::forget::forget_lines;
use stemmata_store::rules::latest::covers_more;
use stemmata_store::{
    Append, Appended, BatchOutcome, Commits, ContentPart, Coverage, EventKey, EventLog, EventPage,
    EventQuery, Keyed, Ledger, LedgerChange, Places, Receipt, SavedState, StoreError, Write,
};

use super::content::{self, Content, literals_of};
use super::{MemoryStore, State};

pub(super) fn append(
    state: &mut State,
    append: Append,
    outcome: &mut BatchOutcome,
) -> Result<(), StoreError> {
    for new in &append.events {
        if let NewPayload::Line(line) = &new.payload {
            let bytes = format!("{line}\n").into_bytes();
            let id = stemmata_model::artifact_id(&bytes);
            content::store(&mut state.contents, id, vec![ContentPart::Bytes(bytes)], outcome)?;
            state.orphans.remove(&id);
        }
    }
    outcome.appended = Some(state.logs.append(append)?);
    Ok(())
}

pub(super) fn cover(state: &mut State, coverage: Coverage) -> Result<(), StoreError> {
    if state.logs.ledger(&coverage.ledger).is_none() {
        return Err(StoreError::LedgerMissing(coverage.ledger));
    }
    let key = (coverage.commit, coverage.ledger);
    if covers_more(state.coverage.get(&key).copied(), coverage.through) {
        state.coverage.put(key, coverage.through);
    }
    Ok(())
}

pub(super) fn coverage(state: &State, commit: CommitId) -> Option<Coverage> {
    all(state).find(|own| own.commit == commit)
}

pub(super) fn last_covered(state: &State, ledger: &LedgerId) -> Option<Coverage> {
    all(state).filter(|own| own.ledger == *ledger).max_by_key(|own| (own.through, own.commit))
}

fn all(state: &State) -> impl Iterator<Item = Coverage> {
    state.coverage.iter().map(|((commit, ledger), through)| Coverage {
        commit: *commit,
        ledger: ledger.clone(),
        through: *through,
    })
}

/// Removes what is said of commits that go.
pub(super) fn uncover(state: &mut State, is_gone: &dyn Fn(CommitId) -> bool) {
    let keys = state.coverage.iter().map(|(key, _)| key).filter(|(commit, _)| is_gone(*commit));
    let keys: Vec<(CommitId, LedgerId)> = keys.cloned().collect();
    for key in &keys {
        state.coverage.remove(key);
    }
}

/// Returns the content that an event's line is.
pub(super) fn line_of(event: &Event) -> Option<ArtifactId> {
    match event.payload {
        Payload::Line { id, .. } => Some(id),
        Payload::Plain { .. } | Payload::Gone(_) => None,
    }
}

/// Returns the contents that events are.
pub(super) fn lines(state: &State) -> BTreeSet<ArtifactId> {
    state.logs.all_events().filter_map(line_of).collect()
}

/// Returns the contents that events need: their lines, and what those are made of.
pub(super) fn needed(state: &State) -> BTreeSet<ArtifactId> {
    let mut needed = lines(state);
    needed.extend(literals_of(&state.contents, &needed));
    needed
}

/// Forgets events, and returns how many, with the contents that were their lines and are no other event's. Trimmed ones
/// are among them: their lines stay until they are collected.
pub(super) fn forget(
    state: &mut State,
    is_meant: &dyn Fn(&LedgerId, &Event) -> bool,
) -> (u64, BTreeSet<ArtifactId>) {
    let went = state.logs.forget(is_meant);
    let count = to_u64(went.len());
    let kept = lines(state);
    let is_stored = |id: &ArtifactId| {
        state.contents.get(id).is_some_and(|content| !matches!(content, Content::Forgotten { .. }))
    };
    (count, went.into_iter().filter(|id| !kept.contains(id) && is_stored(id)).collect())
}

impl EventLog for MemoryStore {
    fn append(&self, append: Append) -> Result<Appended, StoreError> {
        let outcome = self.commit_batch(vec![Write::Append(Box::new(append))])?;
        Ok(outcome.appended.expect("an append that was applied says where"))
    }

    fn page(&self, ledger: &LedgerId, query: &EventQuery) -> Result<EventPage, StoreError> {
        self.lock().logs.page(ledger, query)
    }

    fn keyed(&self, ledger: &LedgerId, keys: &[EventKey], now: Timestamp) -> Result<Vec<Keyed>, StoreError> {
        self.lock().logs.keyed(ledger, keys, now)
    }

    fn ledger(&self, id: &LedgerId) -> Result<Option<Ledger>, StoreError> {
        Ok(self.lock().logs.ledger(id))
    }

    fn ledgers(&self, after: Option<&LedgerId>, limit: usize) -> Result<Vec<Ledger>, StoreError> {
        Ok(self.lock().logs.ledgers(after, limit))
    }

    fn ledger_marked(&self, mark: &str) -> Result<Option<LedgerId>, StoreError> {
        Ok(self.lock().logs.ledger_marked(mark))
    }

    fn change_ledger(&self, change: LedgerChange) -> Result<(), StoreError> {
        self.commit_batch(vec![Write::ChangeLedger(Box::new(change))]).map(|_| ())
    }

    fn receipt(&self, ledger: &LedgerId, topic: &Topic) -> Result<Option<Receipt>, StoreError> {
        Ok(self.lock().logs.receipt(ledger, topic))
    }

    fn trim(&self, ledger: &LedgerId, topic: &Topic, through: EventSeq) -> Result<u64, StoreError> {
        self.maintain("trimming a ledger", |state| state.logs.trim(ledger, topic, through))
    }

    fn forget_events(&self, session: &SessionId) -> Result<u64, StoreError> {
        self.attempt("forgetting events", false, |state| {
            let went = forget(state, &|_, event| event.session == *session);
            forget_lines(state, went)
        })
    }

    fn forget_places(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        self.attempt("forgetting events", false, |state| {
            let went = forget(state, &|of, event| of == ledger && places.hold(event.seq));
            state.logs.drop_folded(ledger);
            forget_lines(state, went)
        })
    }

    fn save_states(&self, ledger: &LedgerId, states: Vec<SavedState>) -> Result<(), StoreError> {
        let write = Write::SaveStates { ledger: ledger.clone(), states };
        self.commit_batch(vec![write]).map(|_| ())
    }

    fn save_folded(&self, ledger: &LedgerId, epoch: u64, states: Vec<SavedState>) -> Result<(), StoreError> {
        let expected = Write::ExpectEpoch { ledger: ledger.clone(), epoch };
        self.commit_batch(vec![expected, Write::SaveStates { ledger: ledger.clone(), states }]).map(|_| ())
    }

    fn saved_states(&self, ledger: &LedgerId, prefix: &str) -> Result<Vec<SavedState>, StoreError> {
        Ok(self.lock().logs.saved_states(ledger, prefix))
    }

    fn drop_states(&self, ledger: &LedgerId, prefix: &str) -> Result<(), StoreError> {
        self.maintain("dropping states", |state| {
            state.logs.raise_epochs(&|of| of == ledger);
            state.logs.drop_states(&|of, name| of == ledger && name.starts_with(prefix));
        })
    }

    fn close(&self) -> Result<(), StoreError> {
        self.lock().closed = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{NewEvent, Party, Timestamp};

    use super::super::logs;
    use super::*;
    use stemmata_store::Durability;
    use stemmata_store::conformance;

    #[test]
    fn numbers_go_on_beyond_what_a_float_holds() {
        let store = MemoryStore::default();
        let id = LedgerId::new("p").expect("a name");
        let set_last = |last| {
            let made = Ledger { last, ..logs::made(&id, Timestamp::EPOCH) };
            store.maintain("a test", |state| state.logs.ledgers.put(id.clone(), made)).expect("set");
        };
        let last = (1_u64 << 53) + 1;
        set_last(last);
        conformance::ledger::check_great_numbers(&store, "p", last);
        set_last(u64::MAX >> 1);
        let event = NewEvent::new(
            SessionId::new("s").expect("a name"),
            Topic::new("t").expect("a name"),
            Party::new("a").expect("a name"),
            NewPayload::Plain { text: None, data: None },
        );
        let (expected, durability) = (None, Durability::None);
        let append = Append { expected, durability, ..Append::new(id, vec![event], Timestamp::EPOCH) };
        assert!(matches!(store.append(append), Err(StoreError::Bound { .. })), "the last number there is");
    }
}
