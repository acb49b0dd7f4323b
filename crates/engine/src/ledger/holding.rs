//! Which commits of a session hold the lines of events, also of those that say nothing any more.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use stemmata_model::{Closure, Commit, CommitId, EventSeq, LedgerId, SessionId, Topic, topics};
use stemmata_store::{EventQuery, PAGE_ROWS_MAX, SessionKey};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// The topics of what is said, which commits hold.
pub(super) fn spoken() -> Vec<Topic> {
    [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT].map(topics::topic).to_vec()
}

impl Engine {
    /// Calls `act` with the commits of a session from `tip` on that cover a part of a ledger, the newest first: each with the last
    /// event before its own, and the last of its own. Ends at what the session goes on from.
    pub(super) fn each_covering(
        &self,
        (ledger, session): (&LedgerId, &SessionId),
        tip: CommitId,
        act: &mut dyn FnMut(Commit, (Option<EventSeq>, EventSeq)) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let opening = self.opening_of(ledger, session, None)?;
        let (head, floor) = opening.map_or((None, None), |opening| (opening.head, Some(opening.seq)));
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut above: Option<(Commit, EventSeq)> = None;
        loop {
            let next = walk.next()?.filter(|commit| head != Some(commit.id));
            let through = match &next {
                Some(commit) => self.store.coverage(commit.id)?.filter(|known| known.ledger == *ledger),
                None => None,
            };
            if next.is_some() && through.is_none() {
                continue;
            }
            let through = through.map(|known| known.through);
            if let Some((commit, last)) = above.take()
                && act(commit, (through.or(floor), last))?.is_break()
            {
                return Ok(());
            }
            above = next.zip(through);
            if above.is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the commits that hold what events say, and go on doing so when these are forgotten.
    pub(super) fn holding(&self, events: &[(LedgerId, BTreeSet<EventSeq>)]) -> Result<BTreeSet<CommitId>> {
        let mut holding = BTreeSet::new();
        for (ledger, places) in events {
            for (session, places) in self.spoken_of(ledger, places)? {
                let machine = self.identity.machine.clone();
                let key = SessionKey { machine, path: format!("api:{session}") };
                let Some(tip) = self.store.session(&key)?.and_then(|session| session.tip) else { continue };
                self.each_covering((ledger, &session), tip, &mut |commit, (before, last)| {
                    let is_own = |seq: &EventSeq| before.is_none_or(|before| *seq > before) && *seq <= last;
                    if commit.closure != Closure::Forgotten && places.iter().any(is_own) {
                        holding.insert(commit.id);
                    }
                    let is_done = places.first().is_none_or(|first| before.is_some_and(|low| low < *first));
                    Ok(if is_done { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                })?;
            }
        }
        Ok(holding)
    }

    /// Returns those of some events by which somebody says something, by their sessions.
    fn spoken_of(
        &self,
        ledger: &LedgerId,
        places: &BTreeSet<EventSeq>,
    ) -> Result<BTreeMap<SessionId, BTreeSet<EventSeq>>> {
        let mut found: BTreeMap<SessionId, BTreeSet<EventSeq>> = BTreeMap::new();
        let before = places.first().and_then(|first| EventSeq::new(first.get() - 1));
        let mut query = Some(EventQuery {
            topics: spoken(),
            through: places.last().copied(),
            ..EventQuery::after(before, PAGE_ROWS_MAX)
        });
        while let Some(asked) = query.filter(|_| !places.is_empty()) {
            let page = self.log.page(ledger, &asked)?;
            for event in page.events.iter().filter(|event| places.contains(&event.seq)) {
                found.entry(event.session.clone()).or_default().insert(event.seq);
            }
            query = asked.following(&page);
        }
        Ok(found)
    }
}
