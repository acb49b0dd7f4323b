//! Building a segment: entries in the order of their numbers become chunks and columns.
//!
//! A segment that is made of others comes out as if it was built at once.

use std::collections::HashMap;

use super::batch::IndexEntry;
use super::chunk::{ChunkWriter, Row};
use super::columns::{Kind, encode_packed, encode_plain};
use super::error::IndexError;
use super::postings::{Posting, encode};
use super::segment::SegmentRead;

/// The columns of some entries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Columns {
    pub(super) lengths: Vec<u16>,
    pub(super) classes: Vec<u8>,
    pub(super) marks: Vec<u8>,
    pub(super) minutes: Vec<u32>,
    pub(super) keys: Vec<u64>,
    pub(super) groups: Vec<u32>,
    pub(super) authors: Vec<u16>,
    pub(super) homes: Vec<u32>,
}

/// What an entry's own row in a segment says beside the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub(super) group: u32,
    pub(super) author: u16,
    pub(super) home: u32,
}

/// Gathers the entries of one segment.
#[derive(Debug, Default)]
pub(super) struct SegmentBuilder {
    /// Where the postings of each term are.
    terms: HashMap<String, usize>,
    postings: Vec<Vec<Posting>>,
    columns: Columns,
}

/// A segment as rows.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) span: u32,
    pub(super) length: u64,
    pub(super) minutes: Option<(u32, u32)>,
    pub(super) chunks: Vec<Row>,
    pub(super) columns: Vec<(Kind, Vec<u8>)>,
}

impl SegmentBuilder {
    /// Returns how many entries there are.
    pub(super) fn span(&self) -> u32 {
        u32::try_from(self.columns.lengths.len()).expect("a segment has few entries")
    }

    pub(super) fn add(&mut self, entry: &IndexEntry, standing: Standing) {
        let number = self.span();
        for (term, tf) in &entry.terms {
            let tf = (*tf).max(1);
            let own = self.postings_of(term);
            match own.last_mut().filter(|last| last.0 == number) {
                // Gaps between numbers cannot say that a number comes twice.
                Some(last) => last.1 = last.1.saturating_add(tf),
                None => own.push((number, tf)),
            }
        }
        self.columns.lengths.push(entry.length);
        self.columns.classes.push(entry.class);
        self.columns.marks.push(entry.marks);
        self.columns.minutes.push(entry.minute);
        self.columns.keys.push(entry.key);
        self.columns.groups.push(standing.group);
        self.columns.authors.push(standing.author);
        self.columns.homes.push(standing.home);
    }

    /// Adds a whole segment behind what there is.
    pub(super) fn absorb(&mut self, segment: &SegmentRead<'_>) -> Result<(), IndexError> {
        let base = self.span();
        segment.each_term(b"", &mut |term, postings| {
            let term = std::str::from_utf8(term).map_err(|_| IndexError::damaged("a term is not text"))?;
            let own = self.postings_of(term);
            own.reserve(postings.entries() as usize);
            postings.each(&mut |number, tf| own.push((base + number, tf)))?;
            Ok(true)
        })?;
        let span = segment.span() as usize;
        self.columns.lengths.extend_from_slice(segment.lengths()?);
        self.columns.classes.extend_from_slice(segment.classes()?);
        self.columns.marks.extend_from_slice(segment.marks()?);
        self.columns.minutes.extend_from_slice(segment.minutes()?);
        self.columns.keys.extend_from_slice(segment.keys()?);
        self.columns.groups.append(&mut segment.groups()?.all()?);
        self.columns.homes.append(&mut segment.homes()?.all()?);
        match segment.authors()? {
            [] => self.columns.authors.extend(std::iter::repeat_n(0, span)),
            authors => self.columns.authors.extend_from_slice(authors),
        }
        Ok(())
    }

    fn postings_of(&mut self, term: &str) -> &mut Vec<Posting> {
        // Most terms are there: only a new one is copied.
        let place = if let Some(place) = self.terms.get(term) {
            *place
        } else {
            self.postings.push(Vec::new());
            *self.terms.entry(term.to_owned()).or_insert(self.postings.len() - 1)
        };
        self.postings.get_mut(place).expect("each term has its postings")
    }

    pub(super) fn finish(self) -> Built {
        let (span, columns) = (self.span(), self.columns);
        let mut terms: Vec<(String, usize)> = self.terms.into_iter().collect();
        terms.sort_unstable();
        let mut chunks = ChunkWriter::default();
        for (term, place) in &terms {
            let postings = self.postings.get(*place).expect("each term has its postings");
            chunks.add(term.as_bytes(), &encode(postings, &columns.lengths));
        }
        let timed = columns.minutes.iter().copied().filter(|minute| *minute != 0);
        Built {
            span,
            length: columns.lengths.iter().copied().map(u64::from).sum(),
            minutes: timed.clone().min().zip(timed.max()),
            chunks: chunks.finish(),
            columns: columns.encode(),
        }
    }
}

impl Columns {
    fn encode(&self) -> Vec<(Kind, Vec<u8>)> {
        let mut encoded = vec![
            (Kind::Length, encode_plain(&self.lengths)),
            (Kind::Class, encode_plain(&self.classes)),
            (Kind::Marks, encode_plain(&self.marks)),
            (Kind::Minute, encode_packed(&self.minutes)),
            (Kind::Key, encode_plain(&self.keys)),
            (Kind::Group, encode_packed(&self.groups)),
            (Kind::Home, encode_packed(&self.homes)),
        ];
        if self.authors.iter().any(|author| *author != 0) {
            encoded.push((Kind::Author, encode_plain(&self.authors)));
        }
        encoded
    }
}
