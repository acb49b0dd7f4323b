//! What an ingest tells: its notes, and where it stands.
//!
//! What it does is the parent's.

use stemmata_model::{CommitId, Note, RulesHash, Sighting, Template};
use stemmata_redact::Finding;
use stemmata_runtimes::adapter::{Adapter, SegmentFacts, SessionFacts};
use stemmata_store::BatchOutcome;

use super::{Ingest, NOTES_PER_KIND_MAX, News, Start};
use crate::capture::captured::UnreadRecords;

impl Ingest<'_> {
    /// Adds a note, within the bound for its kind.
    pub(crate) fn note(&mut self, note: Note) {
        let count = self.note_counts.entry(note.code.clone()).or_default();
        *count += 1;
        if *count <= NOTES_PER_KIND_MAX {
            self.notes.push(note);
        }
    }

    /// Returns the notes, with one more for each kind that had too many.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut self.notes);
        let mut beyond: Vec<_> =
            self.note_counts.iter().filter(|(_, count)| **count > NOTES_PER_KIND_MAX).collect();
        beyond.sort();
        for (code, count) in beyond {
            notes.push(Note::new(code.clone(), format!("{} more like this", count - NOTES_PER_KIND_MAX)));
        }
        notes
    }

    /// Returns the records that were taken without being understood.
    pub(crate) fn unread(&self) -> UnreadRecords {
        let read = UnreadRecords::of(self.splitter.as_ref());
        UnreadRecords {
            unreadable: self.torn.as_ref().map_or(read.unreadable, |torn| torn.unreadable),
            ..read
        }
    }

    /// Returns the records of everything read, earlier readings included, that are not understood.
    pub(crate) fn unread_so_far(&self) -> UnreadRecords {
        self.unread_before.plus(&self.unread())
    }

    /// Returns what stands at the last closed boundary, to resume from.
    pub(crate) const fn closed(&self) -> &Start {
        &self.start
    }

    /// Returns what the transcript says of its session, an unfinished last line too.
    pub(crate) fn facts(&self) -> &SessionFacts {
        self.splitter.facts()
    }

    /// Returns what the splitter knows at the last closed boundary.
    pub(crate) fn splitter_state(&self) -> Vec<u8> {
        self.torn.as_ref().map_or_else(|| self.splitter.state(), |torn| torn.state.clone())
    }

    /// Returns the template, as the complete lines tell it.
    pub(crate) fn template(&self) -> Template {
        self.torn.as_ref().map_or_else(|| self.splitter.template(), |torn| torn.template.clone())
    }

    /// Returns what the open segment is.
    pub(crate) fn open(&self) -> SegmentFacts {
        self.torn.as_ref().map_or_else(|| self.splitter.open(), |torn| torn.open)
    }

    /// Returns bytes that were replaced, the open segment included.
    pub(crate) const fn redacted_bytes(&self) -> u64 {
        self.start.redacted_bytes + self.segment.redacted_bytes
    }

    /// Counts what was redacted, by kind.
    pub(in crate::capture) fn count(&mut self, findings: &[Finding]) {
        for finding in findings {
            *self.redacted_kinds.entry(finding.kind.to_string()).or_default() += 1;
        }
    }

    /// Returns how many secrets of each kind were redacted in what was read.
    pub(crate) fn redacted_kinds(&self) -> Vec<(String, u64)> {
        self.redacted_kinds.iter().map(|(kind, count)| (kind.clone(), *count)).collect()
    }

    /// Returns bytes of the file that have been read, before secrets were replaced.
    pub(crate) const fn seen_bytes(&self) -> u64 {
        self.start.raw_bytes + self.segment.raw_bytes
    }

    /// Returns the bytes of the open segment.
    pub(crate) fn open_bytes(&self) -> u64 {
        self.segment.bytes()
    }

    /// Returns the first commit that was closed here.
    pub(crate) const fn first_closed(&self) -> Option<CommitId> {
        self.root
    }

    /// Returns what may tell copies of other chains.
    pub(crate) const fn news(&self) -> &News {
        &self.news
    }

    /// Returns what the store took so far.
    pub(crate) const fn outcome(&self) -> BatchOutcome {
        self.outcome
    }

    pub(crate) fn rules(&self) -> RulesHash {
        RulesHash(self.scrubber.rules_hash())
    }

    pub(crate) fn adapter(&self) -> &'static dyn Adapter {
        self.adapter
    }

    pub(crate) const fn sighting(&self) -> &Sighting {
        &self.sighting
    }
}
