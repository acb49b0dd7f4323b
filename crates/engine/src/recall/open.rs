//! What was said in turns of a ledger that no commit holds yet: neither the index of events has it nor that of commits.

use std::collections::BTreeMap;

use stemmata_model::{Entry, Event, EventSeq, SessionId, Timestamp, topics};
use stemmata_prompt::retrieve::{Candidate, CandidateKind, Provenance, Shares, Standing, TaskWords};
use stemmata_prompt::select::entry_text;
use stemmata_store::{EventQuery, Ledger, Order, SessionKey};

use crate::engine::Engine;
use crate::error::Result;
use crate::prompts::entry_of;
use crate::verbs::at::one_line;

/// Events that are looked at, the newest: a turn between two steps has fewer.
const EVENTS_MAX: usize = 128;
/// Characters of such an entry, and of its compact form.
const TEXT_CHARS_MAX: usize = 1_000;
const COMPACT_CHARS_MAX: usize = 240;

impl Engine {
    /// Returns what has a word of the task among the newest lines of a ledger that no commit holds.
    /// The session that asks knows its own.
    pub(super) fn uncommitted(
        &self,
        ledger: &Ledger,
        asking: Option<&SessionId>,
        words: &TaskWords,
    ) -> Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        for (event, entry) in self.open_events(ledger)? {
            let text = entry_text(&entry);
            if !entry.meta.visibility.agent {
                continue;
            }
            if asking != Some(&event.session) && words.has_word_in(&text, Some(event.at)) {
                candidates.push(candidate(&event.session, (event.seq, event.at), (&entry, &text)));
            }
        }
        Ok(candidates)
    }

    /// Returns the newest lines of a ledger that no commit holds, with their sessions.
    pub(crate) fn open_lines(&self, ledger: &Ledger) -> Result<Vec<(SessionId, Entry)>> {
        let open = self.open_events(ledger)?;
        Ok(open.into_iter().map(|(event, entry)| (event.session, entry)).collect())
    }

    fn open_events(&self, ledger: &Ledger) -> Result<Vec<(Event, Entry)>> {
        let query = EventQuery {
            topics: [topics::USER_TURN, topics::ASSISTANT_TURN, topics::TOOL_EVENT]
                .map(topics::topic)
                .to_vec(),
            order: Order::NewestFirst,
            limit: EVENTS_MAX,
            ..EventQuery::default()
        };
        let mut committed: BTreeMap<SessionId, Option<EventSeq>> = BTreeMap::new();
        let mut open = Vec::new();
        for event in self.log.events(&ledger.id, &query)? {
            let Some(entry) = entry_of(&event) else { continue };
            let through = if let Some(through) = committed.get(&event.session) {
                *through
            } else {
                let through = self.committed_through(ledger, &event.session)?;
                committed.insert(event.session.clone(), through);
                through
            };
            if Some(event.seq) > through {
                open.push((event, entry));
            }
        }
        Ok(open)
    }

    /// Returns the last event of a session of turns that is in a commit.
    fn committed_through(&self, ledger: &Ledger, session: &SessionId) -> Result<Option<EventSeq>> {
        let key = SessionKey { machine: self.identity.machine.clone(), path: format!("api:{session}") };
        let Some(tip) = self.store.session(&key)?.and_then(|session| session.tip) else { return Ok(None) };
        let coverage = self.store.coverage(tip)?;
        Ok(coverage.filter(|coverage| coverage.ledger == ledger.id).map(|coverage| coverage.through))
    }
}

fn candidate(
    session: &SessionId,
    (seq, at): (EventSeq, Timestamp),
    (entry, text): (&Entry, &str),
) -> Candidate {
    Candidate {
        kind: CandidateKind::Hit,
        id: format!("{session}/{seq}"),
        speaker: Some(entry.role.as_str().to_owned()),
        full: text.chars().take(TEXT_CHARS_MAX).collect(),
        compact: one_line(text, COMPACT_CHARS_MAX),
        from: Provenance {
            event: Some(seq),
            session: session.to_string(),
            at: Some(at),
            ..Provenance::default()
        },
        rank: None,
        nearness: None,
        shares: Shares::default(),
        standing: Standing::Open,
        is_tool_output: entry.role == stemmata_model::Role::Tool,
        place: Some(Candidate::place_of(session.as_str(), entry.id.as_str())),
        window: Vec::new(),
    }
}
