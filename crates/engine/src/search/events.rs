//! Events of ledgers, as the index has them: a fold of its own beside that of commits.
//!
//! Events that are lines of a conversation are left out: their session's commit says the same.

use std::collections::{HashMap, HashSet};

use stemmata_model::{Event, EventSeq, LedgerId, Payload, Role, topics};
use stemmata_prompt::search::{ClassMask, Matcher, date_terms, entry_terms, kinds, marks};
use stemmata_store::{
    EventQuery, Index, IndexBatch, IndexLock, IndexPlace, IndexedEvent, IndexedLedger, Ledger, Order,
    SessionKey,
};

use super::filter::{LEDGER_CLIENT, SessionFacts, event_path};
use super::hits::{HitPlace, HitReader, Ranked, SearchHit, SearchReason};
use super::key::event_key;
use super::passage::Passage;
use super::prepared::{Prepared, minute_of};
use super::scan::ScanEnd;
use super::settle::{Left, SettleError};
use super::snippet::{Sought, plain_snippet};
use super::text::text_of_data;
use super::{SearchQuery, SearchStep, StepUnit};
use crate::engine::Engine;
use crate::error::Result;

/// Events that are settled in one transaction.
const PAGE_EVENTS: usize = 1_000;

/// Bytes that a scan counts for an event besides its text, so that events without text are bounded, too.
const EVENT_BYTES: u64 = 128;

/// Topics that programs write for programs, and what is folded from the rest.
const UNREAD: &[&str] = &[
    topics::STATE_SNAPSHOT,
    topics::CONTEXT_METRICS,
    topics::TOKEN_USAGE,
    topics::CONTEXT_SIZE_ALERT,
    topics::CONTEXT_WINDOW,
    topics::CHECKPOINT_STATE,
    topics::COMPACTION_START,
    topics::COMPACTION_END,
    topics::SESSION_STARTED,
    topics::SESSION_ENDED,
    topics::AGENT_STARTED,
];

impl Engine {
    /// Returns whether the index has to drop its events, because one of them or its ledger is gone. Forgetting anything raises the
    /// epochs of all ledgers; where that took no event of the index, the index takes down the new epochs instead of folding all events
    /// again.
    pub(super) fn follow_epochs(&self, index: &Index, lock: &IndexLock) -> Result<bool, SettleError> {
        let ledgers = self.all_ledgers()?;
        if !are_events_due(index, &ledgers)? {
            return Ok(false);
        }
        let (watermark, reader) = (index.meta()?.watermark, index.reader()?);
        let mut batch = IndexBatch { expected: watermark, next: watermark, ..IndexBatch::default() };
        let held = reader.events()?;
        for known in reader.ledgers()? {
            let Some(ledger) = ledgers.iter().find(|ledger| ledger.id == known.id) else { return Ok(true) };
            // A lower epoch is that of an older copy of the ledger, which may have gone on in another way.
            if known.through > ledger.last || known.epoch > ledger.epoch {
                return Ok(true);
            }
            if known.epoch == ledger.epoch {
                continue;
            }
            for seqs in held.get(&known.id).into_iter().flat_map(|all| all.chunks(PAGE_EVENTS)) {
                if !self.are_events_there(&known.id, seqs)? {
                    return Ok(true);
                }
            }
            batch.ledgers.push(IndexedLedger { epoch: ledger.epoch, ..known });
        }
        drop(reader);
        index.settle(lock, &batch)?;
        Ok(false)
    }

    /// Returns whether a ledger still has the texts of these events, which ascend.
    fn are_events_there(&self, ledger: &LedgerId, seqs: &[u64]) -> Result<bool> {
        let (Some(first), Some(last)) = (seqs.first(), seqs.last()) else { return Ok(true) };
        let mut there: HashSet<u64> = HashSet::new();
        let mut next = Some(EventQuery {
            after: EventSeq::new(first.saturating_sub(1)),
            through: EventSeq::new(*last),
            limit: PAGE_EVENTS,
            ..EventQuery::default()
        });
        while let Some(asked) = next {
            let page = self.log.page(ledger, &asked)?;
            let has_text = |event: &&Event| !text_of_event(event).trim().is_empty();
            there.extend(page.events.iter().filter(has_text).map(|event| event.seq.get()));
            next = asked.following(&page);
        }
        Ok(seqs.iter().all(|seq| there.contains(seq)))
    }

    /// Folds new events into the index. Where something of a ledger was forgotten, all events are folded again. Returns whether
    /// nothing is left.
    pub(super) fn fold_events(
        &self,
        index: &Index,
        lock: &IndexLock,
        left: &mut Left<'_, '_>,
    ) -> Result<bool, SettleError> {
        let ledgers = self.all_ledgers()?;
        let known = index.reader()?.ledgers()?;
        let mut through: HashMap<LedgerId, u64> =
            known.into_iter().map(|known| (known.id, known.through)).collect();
        if are_events_due(index, &ledgers)? {
            index.drop_events(lock)?;
            through.clear();
        }
        for ledger in &ledgers {
            let mut after = through.get(&ledger.id).copied().unwrap_or(0);
            while after < ledger.last {
                let batch;
                (batch, after) = self.events_after(index, ledger, after)?;
                index.settle(lock, &batch)?;
                if !self.goes_on(left, 0)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Reads the events after a number, and says up to which they go.
    fn events_after(
        &self,
        index: &Index,
        ledger: &Ledger,
        after: u64,
    ) -> Result<(IndexBatch, u64), SettleError> {
        let watermark = index.meta()?.watermark;
        let query = EventQuery {
            after: EventSeq::new(after),
            through: EventSeq::new(ledger.last),
            limit: PAGE_EVENTS,
            ..EventQuery::default()
        };
        let page = self.log.page(&ledger.id, &query)?;
        let through = page.events.last().map_or(ledger.last, |event| event.seq.get());
        let mut batch = IndexBatch { expected: watermark, next: watermark, ..IndexBatch::default() };
        let mut places: HashMap<String, usize> = HashMap::new();
        for event in &page.events {
            let Some(found) = prepared_event(&ledger.id, event) else { continue };
            let place = *places.entry(event.session.to_string()).or_insert_with(|| {
                batch.places.push(self.index_place(ledger, event));
                batch.places.len() - 1
            });
            batch.events.push(IndexedEvent {
                ledger: ledger.id.clone(),
                seq: event.seq.get(),
                place,
                entry: found.into(),
            });
        }
        batch.ledgers.push(IndexedLedger { id: ledger.id.clone(), through, epoch: ledger.epoch });
        Ok((batch, through))
    }

    /// Scans the texts of events, the newest of each ledger first, up to a bound of bytes.
    pub(super) fn search_events_text(
        &self,
        (query, matcher): (&SearchQuery, &Matcher),
        reader: &mut HitReader<'_>,
        (step, bytes_max): (&mut SearchStep<'_>, u64),
        hits: &mut Vec<SearchHit>,
    ) -> Result<ScanEnd> {
        let mut ledgers = Vec::new();
        self.each_ledger(|ledger| {
            if reader.scoped.admits_ledger(self.identity.machine.as_str(), ledger.root.as_deref()) {
                ledgers.push(ledger.id.clone());
            }
            Ok(())
        })?;
        let mut bytes = 0_u64;
        for ledger in ledgers {
            let newest =
                EventQuery { order: Order::NewestFirst, limit: PAGE_EVENTS, ..EventQuery::default() };
            let mut next = Some(newest);
            while let Some(asked) = next {
                let page = self.log.page(&ledger, &asked)?;
                for event in &page.events {
                    let text = text_of_event(event);
                    bytes = bytes.saturating_add(EVENT_BYTES).saturating_add(text.len() as u64);
                    if !matcher.is_match(&text) {
                        continue;
                    }
                    let Some(found) = prepared_event(&ledger, event) else { continue };
                    let reason =
                        SearchReason { name: "phrase", value: 1.0, text: query.text.trim().to_owned() };
                    let ranked =
                        Ranked { key: found.key, score: 1.0, reasons: vec![reason], standing: Vec::new() };
                    hits.extend(reader.event((&ledger, event.seq.get()), ranked, matcher)?);
                    if hits.len() >= query.hits_max {
                        return Ok(ScanEnd::Stopped);
                    }
                }
                if step(StepUnit::Bytes, bytes, None).is_break() {
                    return Ok(ScanEnd::Stopped);
                }
                next = asked.following(&page);
                if bytes >= bytes_max && next.is_some() {
                    return Ok(ScanEnd::Cut);
                }
            }
        }
        Ok(ScanEnd::Whole)
    }

    fn index_place(&self, ledger: &Ledger, event: &Event) -> IndexPlace {
        let path = event_path(&ledger.id, event.session.as_str());
        IndexPlace {
            key: SessionKey { machine: self.identity.machine.clone(), path },
            session: event.session.to_string(),
            client: LEDGER_CLIENT.to_owned(),
            cwd: ledger.root.clone(),
            branch: None,
        }
    }
}

impl HitReader<'_> {
    /// Returns the hit of an event, or `None` if the event is gone or no longer matches.
    pub(super) fn event(
        &mut self,
        (id, seq): (&LedgerId, u64),
        ranked: Ranked,
        matcher: &Matcher,
    ) -> Result<Option<SearchHit>> {
        let query = EventQuery {
            after: seq.checked_sub(1).and_then(EventSeq::new),
            through: EventSeq::new(seq),
            limit: 1,
            ..EventQuery::default()
        };
        let Some(ledger) = self.engine.log.ledger(id)? else { return Ok(None) };
        let page = self.engine.log.page(id, &query)?;
        let Some(event) = page.events.first().filter(|event| event.seq.get() == seq) else { return Ok(None) };
        let Some(found) = prepared_event(id, event)
            .filter(|found| self.scoped.admits(found.traits()) && self.scoped.admits_time(Some(event.at)))
        else {
            return Ok(None);
        };
        let path = event_path(id, event.session.as_str());
        let facts = SessionFacts {
            machine: self.engine.identity.machine.as_str(),
            path: &path,
            session: event.session.as_str(),
            client: LEDGER_CLIENT,
            cwd: ledger.root.as_deref(),
            branch: None,
        };
        let text = text_of_event(event);
        if found.key != ranked.key || !self.scoped.admits_place(&facts) || !self.is_required_in(&text) {
            return Ok(None);
        }
        let spans_of = |text: &str| matcher.spans(text, super::hits::SPANS_MAX);
        let find = |text: &str| (spans_of(text), matcher.first_phrase(text));
        let shown = plain_snippet(&text, &Sought { find: &find, rarity: &ranked.rarity(matcher) });
        let passage = self
            .scoped
            .has_passages
            .then(|| Box::new(Passage::of_event((&text, &spans_of(&text)), &event.links())));
        Ok(Some(SearchHit {
            ctx: None,
            ledger: Some(id.clone()),
            entry: format!("event:{seq}"),
            short_entry: format!("event:{seq}"),
            place: HitPlace {
                session: event.session.to_string(),
                path: ledger.root.clone().unwrap_or_else(|| id.to_string()),
                client: LEDGER_CLIENT.to_owned(),
                title: None,
                cwd: ledger.root,
                project: None,
                branch: None,
                foreign_machine: None,
            },
            author: Some(event.sender.to_string()),
            timestamp: Some(event.at),
            role: role_of(event),
            kind: "event".to_owned(),
            score: ranked.score,
            reasons: ranked.reasons,
            snippet: shown.text,
            matches: shown.matches,
            also_in: Vec::new(),
            alike: 0,
            passage,
        }))
    }
}

/// Says whether the index has events of a ledger of which something was forgotten since, which is gone, or which is an older copy
/// of itself.
pub(super) fn are_events_due(index: &Index, ledgers: &[Ledger]) -> Result<bool, SettleError> {
    let is_same = |known: &IndexedLedger| {
        let goes_on = |ledger: &Ledger| ledger.epoch == known.epoch && known.through <= ledger.last;
        ledgers.iter().any(|ledger| ledger.id == known.id && goes_on(ledger))
    };
    Ok(!index.reader()?.ledgers()?.iter().all(is_same))
}

/// Says whether the index has all events.
pub(super) fn are_events_followed(index: &Index, ledgers: &[Ledger]) -> Result<bool, SettleError> {
    let known = index.reader()?.ledgers()?;
    let is_followed = |ledger: &Ledger| {
        ledger.last == 0 || known.iter().any(|known| known.id == ledger.id && known.through >= ledger.last)
    };
    Ok(ledgers.iter().all(is_followed) && !are_events_due(index, ledgers)?)
}

/// Prepares an event. Returns `None` for an event without text and for one that only programs read.
fn prepared_event(ledger: &LedgerId, event: &Event) -> Option<Prepared> {
    if UNREAD.contains(&event.topic.as_str()) || !event.replayable {
        return None;
    }
    let text = text_of_event(event);
    if text.trim().is_empty() {
        return None;
    }
    let found = entry_terms(&text);
    let mut terms = found.terms;
    terms.extend(date_terms(event.at).map(|term| (term, 1)));
    terms.sort_unstable();
    let marks = match event.topic.as_str() {
        topics::DECISION_EVENT => marks::DECISION,
        topics::ERROR_EVENT => marks::ERROR,
        _ => 0,
    };
    Some(Prepared {
        key: event_key(ledger.as_str(), event.seq.get()),
        terms,
        length: found.length,
        class: ClassMask::of(role_of(event), kinds::EVENT),
        marks,
        minute: minute_of(event.at),
        author: None,
    })
}

/// Returns what an event says: its text, and the texts among the values of its data; nothing for a line of a conversation.
fn text_of_event(event: &Event) -> String {
    match &event.payload {
        Payload::Plain { text, data } => {
            let text = text.clone().unwrap_or_default();
            let data = data.as_ref().map(|data| text_of_data(&data.to_value())).unwrap_or_default();
            match (text.is_empty(), data.is_empty()) {
                (_, true) => text,
                (true, false) => data,
                (false, false) => format!("{text}\n{data}"),
            }
        }
        Payload::Line { .. } | Payload::Gone(_) => String::new(),
    }
}

fn role_of(event: &Event) -> Role {
    if event.sender.as_str() == "user" { Role::User } else { Role::Assistant }
}
