//! Laws of formats in which a transcript is one document.

use stemmata_model::{CommitType, Counts, Entry, EntryKind, Granularity, Part, Role};

use super::{
    READ_AGAIN_BYTES_MAX, Report, STATE_BYTES_MAX, Suite, Violation, is_spoken, span, spread, to_u64,
};
use crate::adapter::{Cut, Decoded};

/// Documents that are joined.
const JOINED: usize = 3;

/// Entries behind which a document is cut, at most.
const CUTS_MAX: usize = 64;

impl Suite<'_> {
    pub(super) fn document(&self, sample: &[u8], decoded: Decoded) -> Result<Report, Violation> {
        self.cover_document(sample, &decoded)?;
        let counts = self.snapshot(sample, &decoded)?;
        self.join(sample, &decoded)?;
        self.closing(sample, &decoded)?;
        self.encode_document(&decoded)?;
        self.readable(sample)?;
        Ok(Report { entries: decoded.entries.len(), commits: 1, counts, notes: decoded.notes })
    }

    /// Nothing of a document is in no entry, but for what holds it together.
    pub(super) fn cover_document(&self, bytes: &[u8], decoded: &Decoded) -> Result<(), Violation> {
        let mut at = 0;
        let ends = decoded.entries.iter().map(span).chain([(bytes.len(), bytes.len())]);
        for (start, end) in ends {
            let is_frame = bytes.get(at..start).is_some_and(|gap| self.adapter.is_frame(gap));
            self.hold("cover", is_frame && start <= end && end <= bytes.len(), || {
                format!("bytes {at} to {start} of {} are in no entry", bytes.len())
            })?;
            at = end;
        }
        Ok(())
    }

    /// A document that is cut is kept as one that nobody reads, or it has a form of its own.
    pub(super) fn torn_document(&self, torn: &[u8], decoded: &Decoded) -> Result<(), Violation> {
        self.cover_document(torn, decoded)?;
        let is_told = torn.trim_ascii().is_empty()
            || !decoded.notes.is_empty()
            || decoded.entries.iter().all(|entry| entry.kind != EntryKind::Unreadable);
        self.hold("torn", is_told, || format!("torn at byte {} without a note", torn.len()))
    }

    fn snapshot(&self, sample: &[u8], decoded: &Decoded) -> Result<Counts, Violation> {
        let mut cuts = Vec::new();
        for _ in 0..2 {
            let mut splitter = self.adapter.splitter(Granularity::Turn, None);
            cuts.push(splitter.line(sample, &mut Vec::new()));
            let bytes = splitter.state().len();
            self.hold("state", bytes <= STATE_BYTES_MAX, || format!("{bytes} bytes"))?;
        }
        let (Some(Cut { before: None, after: Some(facts) }), [_, again]) = (cuts.first(), cuts.as_slice())
        else {
            return Err(self.broken("snapshot", format!("it is {cuts:?}")));
        };
        let is_whole = matches!(facts.commit_type, CommitType::Snapshot { restated_entries: 0 });
        self.hold("snapshot", is_whole && again.after == Some(*facts), || format!("it is {cuts:?}"))?;
        let is_message = |entry: &&Entry| entry.meta.visibility.agent && entry.role != Role::System;
        let messages = to_u64(decoded.entries.iter().filter(is_message).count());
        let entries = to_u64(decoded.entries.len());
        self.hold("counts", (facts.counts.entries, facts.counts.messages) == (entries, messages), || {
            format!("it counts {:?}, decoding gives {entries} entries and {messages} messages", facts.counts)
        })?;
        Ok(facts.counts)
    }

    fn join(&self, sample: &[u8], decoded: &Decoded) -> Result<(), Violation> {
        let alone = self.adapter.join(&[sample]);
        self.hold("join", alone.as_deref() == Some(sample), || "one document is not itself".to_owned())?;
        let Some(joined) = self.adapter.join(&[sample; JOINED]) else { return Ok(()) };
        let once: Vec<_> = decoded.entries.iter().filter(|entry| is_of_list(entry)).map(told).collect();
        let again = self.adapter.decode(&joined);
        let all: Vec<_> = again.entries.iter().filter(|entry| is_of_list(entry)).map(told).collect();
        let expected: Vec<_> = std::iter::repeat_n(&once, JOINED).flatten().copied().collect();
        self.hold("join", all == expected, || {
            format!("{JOINED} documents of {} entries gave {}", once.len(), all.len())
        })
    }

    fn closing(&self, sample: &[u8], decoded: &Decoded) -> Result<(), Violation> {
        let ends: Vec<usize> = decoded.entries.iter().map(|entry| span(entry).1).collect();
        let places: Vec<(usize, &usize)> = ends.iter().enumerate().collect();
        let cuts = (READ_AGAIN_BYTES_MAX / sample.len().max(1)).clamp(2, CUTS_MAX);
        for (index, end) in spread(&places, cuts) {
            let (without, mut cut) = self.adapter.opening(sample, **end);
            cut.extend_from_slice(sample.get(without..**end).unwrap_or_default());
            cut.extend(self.adapter.closing(sample, **end));
            let entries = self.adapter.decode(&cut).entries;
            let ids = |entries: &[Entry]| entries.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
            let expected = decoded.entries.get(..=*index).unwrap_or_default();
            self.hold("closing", ids(&entries) == ids(expected), || {
                format!("cut behind entry {}, {} came back", index + 1, entries.len())
            })?;
        }
        Ok(())
    }

    /// Messages may be merged, for APIs want sides in turns; what is said, and in which order, stays.
    fn encode_document(&self, decoded: &Decoded) -> Result<(), Violation> {
        let again = self.adapter.decode(&self.adapter.encode(&decoded.entries));
        let (was, came) = (spoken(&decoded.entries), spoken(&again.entries));
        let odd = was.iter().zip(&came).position(|(was, came)| was != came);
        self.hold("encode", came.len() == was.len() && odd.is_none(), || {
            format!("{} parts became {}; first difference at {odd:?}", was.len(), came.len())
        })
    }

    /// What is read instead of a document says the same, and makes it again byte for byte.
    pub(super) fn readable(&self, bytes: &[u8]) -> Result<(), Violation> {
        let Some(readable) = self.adapter.readable(bytes) else { return Ok(()) };
        let json = &readable.json;
        let is_json = serde_json::from_str::<&serde_json::value::RawValue>(json).is_ok();
        self.hold("readable", is_json, || format!("what is read is not JSON: {json:.200}"))?;
        let same = self.adapter.rewritten(bytes, json);
        self.hold("readable", same.as_deref() == Some(bytes), || {
            "unchanged, it makes another document".to_owned()
        })
    }

    fn broken(&self, law: &'static str, detail: String) -> Violation {
        Violation { format: self.adapter.format().to_string(), law, detail }
    }
}

/// What stands in a list that is joined: a document's own facts do not come twice.
fn is_of_list(entry: &Entry) -> bool {
    !matches!(entry.kind, EntryKind::Metadata)
}

type Told<'a> = (&'a stemmata_model::EntryId, Role, &'a EntryKind, &'a [Part]);

fn told(entry: &Entry) -> Told<'_> {
    (&entry.id, entry.role, &entry.kind, &entry.parts)
}

/// Returns what was said: by the model or not, part by part.
fn spoken(entries: &[Entry]) -> Vec<(bool, &Part)> {
    let spoken = entries.iter().filter(|entry| is_spoken(entry));
    spoken.flat_map(|entry| entry.parts.iter().map(|part| (entry.role == Role::Assistant, part))).collect()
}
