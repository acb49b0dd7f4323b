//! An index in memory: what is not settled yet, and what tests and measurements search.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::Arc;

use super::source::{BLOCK, Block, Bound, GroupList, Groups, Postings, Segment, Statistics};

/// An entry as it is indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryEntry {
    /// Its key.
    pub key: u64,
    /// Its terms, those of its date included, each once.
    pub terms: Vec<(String, u16)>,
    /// The sum of the counts without those of the date.
    pub length: u16,
    /// Its class; see [`super::class`].
    pub class: u8,
    /// Its marks; see [`super::marks`].
    pub marks: u8,
    /// Its minute since 1970, 0 without a time.
    pub minute: u32,
    /// Its author's number, 0 for none.
    pub author: u16,
    /// Entries with the same value are one group, in their order.
    pub group: u32,
}

/// A segment in memory, with its groups.
#[derive(Debug, Clone, Default)]
pub struct MemorySegment {
    base: u32,
    postings: BTreeMap<String, MemoryPostings>,
    lengths: Vec<u16>,
    classes: Vec<u8>,
    marks: Vec<u8>,
    minutes: Vec<u32>,
    keys: Vec<u64>,
    authors: Vec<u16>,
    groups: Vec<u32>,
    lists: BTreeMap<u32, Arc<GroupList>>,
    minute_range: Option<(u32, u32)>,
}

/// Postings in memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryPostings {
    pairs: Arc<Vec<(u32, u16)>>,
    bound: Bound,
}

impl MemorySegment {
    /// Returns the segment of entries that are numbered from `base`.
    pub fn of(base: u32, entries: &[MemoryEntry]) -> Self {
        let mut pairs: BTreeMap<&str, Vec<(u32, u16)>> = BTreeMap::new();
        let mut lists: BTreeMap<u32, Vec<Range<u32>>> = BTreeMap::new();
        for (number, entry) in (0_u32..).zip(entries) {
            for (term, count) in &entry.terms {
                let own = pairs.entry(term).or_default();
                match own.last_mut().filter(|last| last.0 == number) {
                    Some(last) => last.1 = last.1.saturating_add(*count),
                    None => own.push((number, *count)),
                }
            }
            let runs = lists.entry(entry.group).or_default();
            match runs.last_mut() {
                Some(last) if last.end == base + number => last.end += 1,
                _ => runs.push(base + number..base + number + 1),
            }
        }
        let lengths: Vec<u16> = entries.iter().map(|entry| entry.length).collect();
        let postings =
            pairs.into_iter().map(|(term, pairs)| (term.to_owned(), MemoryPostings::of(pairs, &lengths)));
        let timed = || entries.iter().map(|entry| entry.minute).filter(|minute| *minute > 0);
        Self {
            base,
            minute_range: timed().min().zip(timed().max()),
            postings: postings.collect(),
            classes: entries.iter().map(|entry| entry.class).collect(),
            marks: entries.iter().map(|entry| entry.marks).collect(),
            minutes: entries.iter().map(|entry| entry.minute).collect(),
            keys: entries.iter().map(|entry| entry.key).collect(),
            authors: entries.iter().map(|entry| entry.author).collect(),
            groups: entries.iter().map(|entry| entry.group).collect(),
            lists: lists.into_iter().map(|(group, runs)| (group, Arc::new(GroupList(runs)))).collect(),
            lengths,
        }
    }

    /// Returns what the segment adds to the size of the index.
    pub fn statistics(&self) -> Statistics {
        let length = self.lengths.iter().map(|length| u64::from(*length)).sum();
        Statistics { entries: self.lengths.len() as u64, length }
    }
}

impl MemoryPostings {
    fn of(pairs: Vec<(u32, u16)>, lengths: &[u16]) -> Self {
        let own = pairs.iter().filter_map(|pair| lengths.get(pair.0 as usize));
        let bound = Bound {
            tf_max: pairs.iter().map(|pair| pair.1).max().unwrap_or_default(),
            length_min: own.copied().min().unwrap_or_default(),
        };
        Self { bound, pairs: Arc::new(pairs) }
    }

    fn block(&self, block: usize) -> &[(u32, u16)] {
        self.pairs.chunks(BLOCK).nth(block).unwrap_or_default()
    }
}

impl Postings for MemoryPostings {
    type Error = Infallible;

    fn entries(&self) -> u32 {
        u32::try_from(self.pairs.len()).unwrap_or(u32::MAX)
    }

    fn bound(&self) -> Bound {
        self.bound
    }

    fn blocks(&self) -> usize {
        self.pairs.len().div_ceil(BLOCK)
    }

    fn block_last(&self, block: usize) -> u32 {
        self.block(block).last().map_or(0, |pair| pair.0)
    }

    #[inline]
    fn unpack(&self, block: usize, into: &mut Block) -> Result<(), Infallible> {
        let pairs = self.block(block);
        into.len = pairs.len();
        for ((number, tf), pair) in into.numbers.iter_mut().zip(&mut into.tfs).zip(pairs) {
            (*number, *tf) = *pair;
        }
        Ok(())
    }
}

impl Segment for MemorySegment {
    type Error = Infallible;
    type Postings = MemoryPostings;

    fn base(&self) -> u32 {
        self.base
    }

    fn span(&self) -> u32 {
        u32::try_from(self.lengths.len()).unwrap_or(u32::MAX)
    }

    fn postings(&self, term: &str) -> Result<Option<MemoryPostings>, Infallible> {
        Ok(self.postings.get(term).cloned())
    }

    fn lengths(&self) -> Result<&[u16], Infallible> {
        Ok(&self.lengths)
    }

    fn classes(&self) -> Result<&[u8], Infallible> {
        Ok(&self.classes)
    }

    fn marks(&self) -> Result<&[u8], Infallible> {
        Ok(&self.marks)
    }

    fn minutes(&self) -> Result<&[u32], Infallible> {
        Ok(&self.minutes)
    }

    fn keys(&self) -> Result<&[u64], Infallible> {
        Ok(&self.keys)
    }

    fn authors(&self) -> Result<&[u16], Infallible> {
        Ok(&self.authors)
    }

    fn minute_range(&self) -> Option<(u32, u32)> {
        self.minute_range
    }
}

impl Groups for MemorySegment {
    type Error = Infallible;

    fn of(&self, numbers: &[u32]) -> Result<Vec<Arc<GroupList>>, Infallible> {
        let list = |number: &u32| {
            let group = number.checked_sub(self.base).and_then(|at| self.groups.get(at as usize))?;
            self.lists.get(group).cloned()
        };
        Ok(numbers
            .iter()
            .map(|number| list(number).unwrap_or_else(|| Arc::new(GroupList(Vec::new()))))
            .collect())
    }
}
