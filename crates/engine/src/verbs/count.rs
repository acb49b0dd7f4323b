//! Counts what a stream of bytes holds, line by line, by the rule of its format. Decides nothing.

use stemmata_model::{Counts, Granularity, Note, Timestamp};
use stemmata_runtimes::adapter::{Adapter, SegmentFacts, SessionFacts, Shape, Splitter};

use crate::capture::captured::UnreadRecords;
use crate::capture::lines::split_lines;

/// What bytes hold, over all boundaries in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counted {
    /// Entries, messages and estimated tokens.
    pub counts: Counts,
    /// The greatest record timestamp.
    pub timestamp: Option<Timestamp>,
}

impl Counted {
    fn take(&mut self, facts: SegmentFacts) {
        add(&mut self.counts, facts.counts);
        self.timestamp = self.timestamp.max(facts.timestamp);
    }
}

/// Counts bytes that are all there; what is odd in them goes to `notes`.
pub(crate) fn count(adapter: &'static dyn Adapter, bytes: &[u8], notes: &mut Vec<Note>) -> Counted {
    let mut counter = LineCounter::new(adapter);
    counter.bytes(bytes);
    if !counter.line.is_empty() {
        let tail = std::mem::take(&mut counter.line);
        counter.count(&tail);
    }
    notes.append(&mut counter.notes);
    counter.finish()
}

/// Counts entries of a stream of bytes by lines, through the adapter's splitter. A last line without its newline
/// is not counted. A document is one line, which ends with the stream.
pub(crate) struct LineCounter {
    shape: Shape,
    splitter: Box<dyn Splitter>,
    line: Vec<u8>,
    closed: Counted,
    notes: Vec<Note>,
}

impl LineCounter {
    pub(crate) fn new(adapter: &'static dyn Adapter) -> Self {
        Self {
            shape: adapter.shape(),
            splitter: adapter.splitter(Granularity::Turn, None),
            line: Vec::new(),
            closed: Counted::default(),
            notes: Vec::new(),
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if self.shape == Shape::Document {
            return self.line.extend_from_slice(bytes);
        }
        for part in split_lines(bytes) {
            if let Some(end) = part.strip_suffix(b"\n") {
                if self.line.is_empty() {
                    self.count(end);
                } else {
                    self.line.extend_from_slice(end);
                    let line = std::mem::take(&mut self.line);
                    self.count(&line);
                }
            } else {
                self.line.extend_from_slice(part);
            }
        }
    }

    pub(crate) fn is_between_lines(&self) -> bool {
        self.line.is_empty() && self.shape == Shape::Lines
    }

    /// Returns the counts of all lines so far.
    pub(crate) fn so_far(&self) -> Counts {
        let mut counts = self.closed.counts;
        add(&mut counts, self.splitter.open().counts);
        counts
    }

    /// Returns what all lines so far say of their session.
    pub(crate) fn facts(&self) -> &SessionFacts {
        self.splitter.facts()
    }

    /// Returns the records so far that are not understood.
    pub(crate) fn unread(&self) -> UnreadRecords {
        UnreadRecords::of(self.splitter.as_ref())
    }

    /// Adds counts that are known already.
    pub(crate) fn add(&mut self, counts: Counts) {
        add(&mut self.closed.counts, counts);
    }

    fn count(&mut self, line: &[u8]) {
        let cut = self.splitter.line(line, &mut self.notes);
        for facts in [cut.before, cut.after].into_iter().flatten() {
            self.closed.take(facts);
        }
    }

    pub(crate) fn finish(mut self) -> Counted {
        if self.shape == Shape::Document {
            let document = std::mem::take(&mut self.line);
            self.count(&document);
        }
        self.closed.take(self.splitter.open());
        self.closed
    }
}

fn add(total: &mut Counts, more: Counts) {
    total.messages += more.messages;
    total.entries += more.entries;
    total.tokens += more.tokens;
}
