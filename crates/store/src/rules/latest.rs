//! Which of two facts about one thing stays: for sightings and coverage in whatever order they come.

use stemmata_model::{
    EventSeq, MachineId, Principal, SessionId, Sighting, Template, ThreadId, TicketId, Timestamp,
};

/// What makes sightings of a commit the same one, in the order in which they are listed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the fields are those of a sighting")]
pub struct Origin {
    pub machine: MachineId,
    pub session: SessionId,
    pub path: Option<String>,
    pub principal: Principal,
    pub ticket: Option<TicketId>,
    pub thread: Option<ThreadId>,
    pub template_alias: Option<Template>,
}

impl Origin {
    /// Returns a sighting's origin.
    pub fn of(sighting: &Sighting) -> Self {
        Self {
            machine: sighting.machine.clone(),
            session: sighting.session.clone(),
            path: sighting.source.as_ref().map(|source| source.path.clone()),
            principal: sighting.principal.clone(),
            ticket: sighting.ticket.clone(),
            thread: sighting.thread.clone(),
            template_alias: sighting.template_alias.clone(),
        }
    }
}

/// Returns what orders two sightings of a commit by the same session: the smaller one stays.
pub fn sighting_order(sighting: &Sighting) -> impl Ord + use<> {
    let range = sighting.source.as_ref().map(|source| (source.offset, source.length));
    (sighting.observed_at, sighting.reasons, sighting.trigger, range)
}

/// Returns whether a placement replaces the one of its path: the later one stays, of two at one moment the one that came last.
pub fn is_replaced(stored: Option<Timestamp>, new: Timestamp) -> bool {
    stored.is_none_or(|stored| stored <= new)
}

/// Returns whether a commit covers more of a ledger than was known: what it covered once it covers for good.
pub fn covers_more(stored: Option<EventSeq>, new: EventSeq) -> bool {
    stored.is_none_or(|stored| stored < new)
}
