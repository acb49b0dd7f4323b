//! Snapshots of a cluster's state: appended when what they say has changed, by whoever published what changed it.

use stemmata_model::{
    Event, EventSeq, LedgerId, NewEvent, NewPayload, Note, NoteCode, Party, SessionId, topics,
};
use stemmata_prompt::reduce::snapshot::{Publication, SENDER, StateSnapshotter, TRIGGERS};
use stemmata_store::{Append, Durability, EventQuery, StoreError};

use super::publish::OVERTAKEN_MAX;
use crate::engine::Engine;
use crate::error::Result;

/// Events of a topic among which the newest that says something of the state is looked for.
const SILENT_MAX: usize = 256;

impl Engine {
    /// Appends a snapshot where the newest one does not say what the ledger does. Of processes that do this at the same
    /// time one appends it. What keeps it from being appended is told, and does not undo what was published: the next
    /// event that changes the state tries again.
    pub(super) fn publish_snapshot(
        &self,
        ledger: &LedgerId,
        durability: Durability,
    ) -> (Option<EventSeq>, Option<Note>) {
        let reason = match self.try_snapshot(ledger, durability) {
            Ok(Ok(seq)) => return (seq, None),
            Ok(Err(tried)) => format!("others were faster {tried} times"),
            Err(error) => error.to_string(),
        };
        let message = format!("the state of `{ledger}` was not published: {reason}; the next change does it");
        (None, Some(Note::new(NoteCode::Degraded, message)))
    }

    fn try_snapshot(
        &self,
        ledger: &LedgerId,
        durability: Durability,
    ) -> Result<Result<Option<EventSeq>, u32>> {
        for _ in 0..OVERTAKEN_MAX {
            let known = self.log.ledger(ledger)?;
            let (last, epoch) = known.as_ref().map_or((0, None), |known| (known.last, Some(known.epoch)));
            let Some(publication) = self.unpublished(ledger, last)? else { return Ok(Ok(None)) };
            let (events, _) = self.scrubbed_events(known.as_ref(), vec![event(ledger, publication)])?;
            let now = self.clock.now();
            let append = Append {
                expected: Some(last),
                epoch,
                durability,
                ..Append::new(ledger.clone(), events, now)
            };
            match self.log.append(append) {
                // Whatever came between may have changed the state, or said it already; what went may be in it.
                Err(StoreError::SequenceMoved { .. } | StoreError::EpochMoved { .. }) => {}
                appended => {
                    let seq = appended?.last;
                    self.bus.wake(ledger);
                    return Ok(Ok(Some(seq)));
                }
            }
        }
        Ok(Err(OVERTAKEN_MAX))
    }

    /// Reads the newest snapshot that can be taken up, and of each topic that changes the state the newest event after it
    /// that speaks of it: one event of each as a rule, and never more than [`SILENT_MAX`], however long the ledger is.
    fn unpublished(&self, ledger: &LedgerId, last: u64) -> Result<Option<Publication>> {
        let newest_of = |topic: &'static str, after: Option<EventSeq>, is_meant: fn(&Event) -> bool| {
            let through = EventSeq::new(last);
            let newest = EventQuery { after, through, ..EventQuery::latest(topics::topic(topic), 1) };
            let (mut query, mut left) = (Some(newest), SILENT_MAX);
            while let Some(asked) = query {
                let page = self.log.page(ledger, &asked)?;
                left -= page.events.len();
                query = asked.following(&page).filter(|_| left > 0);
                query = query.map(|query| EventQuery { limit: left, ..query });
                let found = page.events.into_iter().find(is_meant);
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok::<_, StoreError>(None)
        };
        let mut latest =
            Vec::from_iter(newest_of(topics::STATE_SNAPSHOT, None, StateSnapshotter::is_snapshot)?);
        let after = latest.first().map(|snapshot| snapshot.seq);
        for topic in TRIGGERS {
            latest.extend(newest_of(topic, after, StateSnapshotter::speaks)?);
        }
        Ok(StateSnapshotter::bootstrap(ledger, &latest).1)
    }
}

/// Says whether an event of this topic may change the state.
pub(super) fn is_trigger(event: &NewEvent) -> bool {
    TRIGGERS.contains(&event.topic.as_str())
}

fn event(ledger: &LedgerId, publication: Publication) -> NewEvent {
    // The state is of all sessions, and belongs to none of them.
    let session = SessionId::new(ledger.as_str()).expect("what names a ledger names a session");
    let sender = Party::new(SENDER).expect("a constant name is a name");
    let payload = NewPayload::Plain { text: Some(publication.text), data: Some(publication.data) };
    NewEvent::new(session, topics::topic(topics::STATE_SNAPSHOT), sender, payload)
}
