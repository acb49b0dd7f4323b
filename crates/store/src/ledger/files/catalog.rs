//! What a ledger's file holds and where, without the events themselves: enough to answer a query with reads of only
//! the lines that it wants.
//!
//! Nothing here reads a file.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;

use stemmata_model::{Event, EventSeq, Gone, Payload, Timestamp, Topic, to_u64, topics};

use super::line::{Link, Record};
use super::scan::{Place, Start};
use crate::ledger::{EventKey, EventQuery, Keyed, Order, Receipt};
use crate::rules::events::{gone, is_output, is_there};
use crate::rules::output::{exceeds, receipt_after};

/// What a file holds up to its last whole batch. Events have places from 0 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Catalog {
    /// The number before the first event's.
    pub(super) base: u64,
    pub(super) places: Vec<Place>,
    pub(super) topics: Vec<Topic>,
    topic_ids: HashMap<Topic, usize>,
    pub(super) topic_of: Vec<usize>,
    by_topic: Vec<Vec<usize>>,
    pub(super) last_at: Option<Timestamp>,
    pub(super) link: Link,
    /// The last number that is known to be durable.
    pub(super) durable: u64,
    /// Raw output that counts for the bounds, oldest first, with what will be left of it.
    pub(super) output: VecDeque<(usize, Gone)>,
    output_bytes: u64,
    /// Raw output whose payload stands in the file and does not count any more, with the receipt of its going.
    pub(super) hidden: BTreeMap<usize, (Gone, Receipt)>,
    hidden_bytes: u64,
    /// Bytes of its lines.
    hidden_lines: u64,
    pub(super) receipts: BTreeMap<Topic, Receipt>,
    /// What events are known by, without those of the first `keyless` lines.
    pub(super) keys: HashMap<EventKey, Keyed>,
    /// Lines that an index told of, which knows no keys.
    pub(super) keyless: usize,
}

impl Catalog {
    pub(super) fn new(base: u64, link: Link) -> Self {
        Self {
            base,
            places: Vec::new(),
            topics: Vec::new(),
            topic_ids: HashMap::new(),
            topic_of: Vec::new(),
            by_topic: Vec::new(),
            last_at: None,
            link,
            durable: base,
            output: VecDeque::new(),
            output_bytes: 0,
            hidden: BTreeMap::new(),
            hidden_bytes: 0,
            hidden_lines: 0,
            receipts: BTreeMap::new(),
            keys: HashMap::new(),
            keyless: 0,
        }
    }

    /// Returns how many events there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the last number, or that before the first.
    pub(super) fn last(&self) -> u64 {
        self.base + to_u64(self.places.len())
    }

    /// Returns where the next line comes.
    pub(super) fn end(&self) -> u64 {
        self.places.last().map_or(0, |place| place.byte + u64::from(place.length))
    }

    /// Returns where a scan goes on.
    pub(super) fn start(&self) -> Start {
        let lines = to_u64(self.places.len());
        Start { byte: self.end(), lines, last: self.last(), link: self.link }
    }

    /// Takes whole batches that stand at its end.
    pub(super) fn absorb(&mut self, batch: &[(Place, Record)]) {
        for (place, record) in batch {
            let event = &record.event;
            let at = self.note(*place, &event.topic);
            self.last_at = Some(event.at);
            self.link = record.link.unwrap_or(self.link);
            self.durable = self.durable.max(record.batch.durable);
            self.keys.extend(record.keys.iter().map(|keyed| (keyed.key, *keyed)));
            if let Some(receipt) = &record.receipt {
                let known = self.receipts.entry(event.topic.clone()).or_insert(*receipt);
                let through = known.through.max(receipt.through);
                let newer = if receipt.events > known.events { *receipt } else { *known };
                *known = Receipt { through, ..newer };
            }
            if is_output(event) && is_there(&event.payload) {
                let left = gone(&event.payload, false);
                self.output.push_back((at, left));
                self.output_bytes += left.bytes;
            }
        }
        self.bound_output();
    }

    /// Notes where an event is, and returns its place.
    pub(super) fn note(&mut self, place: Place, topic: &Topic) -> usize {
        let at = self.places.len();
        let id = if let Some(id) = self.topic_ids.get(topic) {
            *id
        } else {
            let id = self.topics.len();
            self.topics.push(topic.clone());
            self.topic_ids.insert(topic.clone(), id);
            self.by_topic.push(Vec::new());
            id
        };
        self.places.push(place);
        self.topic_of.push(id);
        if let Some(own) = self.by_topic.get_mut(id) {
            own.push(at);
        }
        at
    }

    /// Counts raw output that an index tells of; none where no file has so much.
    pub(super) fn count(
        &mut self,
        output: VecDeque<(usize, Gone)>,
        hidden: BTreeMap<usize, (Gone, Receipt)>,
    ) -> Option<()> {
        self.output_bytes = sum(output.iter().map(|(_, left)| left.bytes))?;
        self.hidden_bytes = sum(hidden.values().map(|(left, _)| left.bytes))?;
        self.hidden_lines = sum(hidden.keys().map(|at| self.line_bytes(*at)))?;
        (self.output, self.hidden) = (output, hidden);
        Some(())
    }

    /// Returns a place where it has an event.
    pub(super) fn has(&self, at: usize) -> Option<usize> {
        (at < self.places.len()).then_some(at)
    }

    /// Says whether another catalog says the same of what this one knows, what is durable aside.
    pub(super) fn begins(&self, other: &Self) -> bool {
        let topics = |catalog: &Self| {
            let of = catalog.topic_of.iter().take(self.len());
            of.map(|id| catalog.topics.get(*id).cloned()).collect::<Vec<_>>()
        };
        if other.places.get(..self.len()) != Some(self.places.as_slice()) || topics(self) != topics(other) {
            return false;
        }
        let rest = |catalog: &Self| {
            let Self { last_at, link, output, hidden, receipts, .. } = catalog;
            (*last_at, *link, output.clone(), hidden.clone(), receipts.clone())
        };
        other.len() > self.len() || rest(self) == rest(other)
    }

    /// Lets go of the oldest raw output beyond the bounds. The lines stay until the file is written anew: what is let
    /// go of follows from the lines alone.
    fn bound_output(&mut self) {
        while exceeds(to_u64(self.output.len()), self.output_bytes) {
            let Some((at, left)) = self.output.pop_front() else { return };
            let Some(seq) = self.seq_of(at) else { return };
            let topic = output_topic();
            let receipt = receipt_after(self.receipts.get(&topic), seq, left);
            self.output_bytes -= left.bytes;
            self.hidden_bytes += left.bytes;
            self.hidden_lines += self.line_bytes(at);
            self.hidden.insert(at, (left, receipt));
            self.receipts.insert(topic, receipt);
        }
    }

    /// Says whether what the file keeps without need is worth writing it anew: as much as may be kept, and half of the
    /// file, so that over its life each byte is written a few times only.
    pub(super) fn is_wasteful(&self) -> bool {
        exceeds(to_u64(self.hidden.len()), self.hidden_bytes) && self.hidden_lines >= self.end().div_ceil(2)
    }

    /// Returns how many bytes of the file are lines that may be shorter.
    pub(super) const fn waste(&self) -> u64 {
        self.hidden_lines
    }

    fn line_bytes(&self, at: usize) -> u64 {
        self.places.get(at).map_or(0, |place| u64::from(place.length))
    }

    /// Makes an event what readers see.
    pub(super) fn shown(&self, at: usize, mut event: Event) -> Event {
        if let Some((left, _)) = self.hidden.get(&at) {
            event.payload = Payload::Gone(*left);
        }
        event
    }

    /// Returns the number at a place.
    pub(super) fn seq_of(&self, at: usize) -> Option<EventSeq> {
        EventSeq::new(self.base + 1 + u64::try_from(at).ok()?)
    }

    /// Returns the places that a query's numbers and topics leave, in its order.
    pub(super) fn candidates(&self, query: &EventQuery) -> Candidates<'_> {
        let place = |seq: u64| usize::try_from(seq.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let from = query.after.map_or(0, |after| place(after.get())).min(self.places.len());
        let to = query.through.map_or(usize::MAX, |through| place(through.get())).min(self.places.len());
        let range = from..to.max(from);
        let is_any = query.topics.is_empty() && query.without.is_empty();
        let named = if query.topics.is_empty() && !is_any { &self.topics } else { &query.topics };
        let mut wanted: Vec<&Topic> = named.iter().filter(|topic| !query.without.contains(topic)).collect();
        wanted.sort();
        wanted.dedup();
        let lists = wanted.iter().filter_map(|topic| self.by_topic.get(*self.topic_ids.get(topic)?));
        let within = |list: &'_ Vec<usize>| {
            let begin = list.partition_point(|at| *at < range.start);
            (begin, list.partition_point(|at| *at < range.end))
        };
        let lists: Vec<&[usize]> = lists
            .map(|list| {
                let (begin, end) = within(list);
                list.get(begin..end).unwrap_or_default()
            })
            .collect();
        let all = is_any.then_some(range);
        Candidates { order: query.order, all, lists }
    }
}

fn sum(mut all: impl Iterator<Item = u64>) -> Option<u64> {
    all.try_fold(0, u64::checked_add)
}

/// Returns the topic of raw output.
fn output_topic() -> Topic {
    topics::topic(topics::AGENT_OUTPUT)
}

/// Places in the order of a query.
pub(super) struct Candidates<'a> {
    order: Order,
    all: Option<Range<usize>>,
    lists: Vec<&'a [usize]>,
}

impl Iterator for Candidates<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if let Some(all) = &mut self.all {
            return match self.order {
                Order::OldestFirst => all.next(),
                Order::NewestFirst => all.next_back(),
            };
        }
        // A handful of topics: looking at the head of each costs less than a heap.
        let lists = self.lists.iter_mut();
        match self.order {
            Order::OldestFirst => {
                let own = lists.filter(|own| !own.is_empty()).min_by_key(|own| own.first().copied())?;
                let (first, rest) = own.split_first()?;
                *own = rest;
                Some(*first)
            }
            Order::NewestFirst => {
                let own = lists.filter(|own| !own.is_empty()).max_by_key(|own| own.last().copied())?;
                let (last, rest) = own.split_last()?;
                *own = rest;
                Some(*last)
            }
        }
    }
}
