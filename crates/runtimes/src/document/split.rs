//! What a whole document counts: it is one segment, a snapshot.

use stemmata_model::{CommitType, Counts, Note, Template, Timestamp};

use super::Dialect;
use super::decode::{torn_record_note, unreadable_note};
use crate::adapter::{Cut, SegmentFacts, SessionFacts, Splitter};
use crate::clients::UNREADABLE;
use crate::json::is_blank;
use crate::lines::count::{UNSEEN, add, counts};
use crate::lines::facts::Facts;
use crate::lines::unknown::Unknown;

/// Takes whole documents; each closes as a snapshot. What is no document stays open.
pub(crate) struct DocumentSplitter {
    dialect: &'static Dialect,
    facts: Facts,
    open: Counts,
    unknown: Unknown,
    unreadable: u64,
}

impl DocumentSplitter {
    pub(crate) fn new(dialect: &'static Dialect) -> Self {
        let (facts, unknown) = (Facts::default(), Unknown::default());
        Self { dialect, facts, open: Counts::default(), unknown, unreadable: 0 }
    }

    const fn segment(timestamp: Option<Timestamp>, counts: Counts) -> SegmentFacts {
        SegmentFacts { commit_type: CommitType::Snapshot { restated_entries: 0 }, timestamp, counts }
    }
}

impl Splitter for DocumentSplitter {
    fn line(&mut self, document: &[u8], notes: &mut Vec<Note>) -> Cut {
        if is_blank(document) {
            return Cut::default();
        }
        let records = match (self.dialect.read)(document) {
            Ok(records) => records,
            Err(error) => {
                notes.push(unreadable_note(document, &error));
                self.open = add(self.open, UNSEEN);
                return Cut::default();
            }
        };
        let (mut total, mut latest) = (Counts::default(), None);
        for record in records {
            total = add(total, counts(&record.line));
            if record.line.unknown.as_deref() == Some(UNREADABLE) {
                self.unreadable += 1;
                notes.push(torn_record_note(&record.line));
            }
            let unknown = record.line.unknown_names().filter(|name| *name != UNREADABLE);
            unknown.for_each(|name| self.unknown.count(name));
            latest = latest.max(record.line.time);
            self.facts.learn(self.dialect.templates, record.line.hints, record.line.time);
        }
        Cut { before: None, after: Some(Self::segment(latest, total)) }
    }

    fn facts(&self) -> &SessionFacts {
        self.facts.session()
    }

    fn template(&self) -> Template {
        self.facts.template(self.dialect.templates)
    }

    fn open(&self) -> SegmentFacts {
        Self::segment(None, self.open)
    }

    fn state(&self) -> Vec<u8> {
        // A document is read as a whole each time.
        Vec::new()
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }

    fn unknown(&self) -> &[(String, u64)] {
        self.unknown.types()
    }
}
