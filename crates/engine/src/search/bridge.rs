//! What the ranking reads from: segments of the store's index, and what is not in it yet, as one kind of segment.

use std::convert::Infallible;
use std::sync::Arc;

use stemmata_prompt::search::{
    Block, Bound, GroupList, Groups, MemoryPostings, MemorySegment, Postings, Segment, Statistics,
};
use stemmata_store::{IndexError, IndexReader, PostingsBound, PostingsRead, SegmentRead};

/// A segment of the index, or one in memory.
pub(crate) enum AnySegment<'r> {
    Index(SegmentRead<'r>),
    Memory(MemorySegment),
}

/// The postings of a term in either.
pub(crate) enum AnyPostings<'r> {
    Index(PostingsRead<'r>),
    Memory(MemoryPostings),
}

/// Asks a segment of either kind; one in memory never fails.
macro_rules! either {
    ($of:expr, $kind:ident, $one:ident => $ask:expr) => {
        match $of {
            $kind::Index($one) => $ask,
            $kind::Memory($one) => $ask.map_err(never),
        }
    };
}

fn never(error: Infallible) -> IndexError {
    match error {}
}

const fn bound(bound: PostingsBound) -> Bound {
    Bound { tf_max: bound.tf_max, length_min: bound.length_min }
}

impl Postings for AnyPostings<'_> {
    type Error = IndexError;

    fn entries(&self) -> u32 {
        match self {
            Self::Index(postings) => postings.entries(),
            Self::Memory(postings) => postings.entries(),
        }
    }

    fn bound(&self) -> Bound {
        match self {
            Self::Index(postings) => bound(postings.bound()),
            Self::Memory(postings) => postings.bound(),
        }
    }

    fn blocks(&self) -> usize {
        match self {
            Self::Index(postings) => postings.blocks(),
            Self::Memory(postings) => postings.blocks(),
        }
    }

    fn block_last(&self, block: usize) -> u32 {
        match self {
            Self::Index(postings) => postings.block_last(block),
            Self::Memory(postings) => postings.block_last(block),
        }
    }

    fn unpack(&self, block: usize, into: &mut Block) -> Result<(), IndexError> {
        match self {
            Self::Index(postings) => {
                into.len = postings.unpack(block, &mut into.numbers, &mut into.tfs)?;
                Ok(())
            }
            Self::Memory(postings) => postings.unpack(block, into).map_err(never),
        }
    }
}

impl<'r> Segment for AnySegment<'r> {
    type Error = IndexError;
    type Postings = AnyPostings<'r>;

    fn base(&self) -> u32 {
        match self {
            Self::Index(segment) => segment.base(),
            Self::Memory(segment) => segment.base(),
        }
    }

    fn span(&self) -> u32 {
        match self {
            Self::Index(segment) => segment.span(),
            Self::Memory(segment) => segment.span(),
        }
    }

    fn postings(&self, term: &str) -> Result<Option<AnyPostings<'r>>, IndexError> {
        Ok(match self {
            Self::Index(segment) => segment.postings(term)?.map(AnyPostings::Index),
            Self::Memory(segment) => segment.postings(term).map_err(never)?.map(AnyPostings::Memory),
        })
    }

    fn lengths(&self) -> Result<&[u16], IndexError> {
        either!(self, Self, segment => segment.lengths())
    }

    fn classes(&self) -> Result<&[u8], IndexError> {
        either!(self, Self, segment => segment.classes())
    }

    fn marks(&self) -> Result<&[u8], IndexError> {
        either!(self, Self, segment => segment.marks())
    }

    fn minutes(&self) -> Result<&[u32], IndexError> {
        either!(self, Self, segment => segment.minutes())
    }

    fn keys(&self) -> Result<&[u64], IndexError> {
        either!(self, Self, segment => segment.keys())
    }

    fn authors(&self) -> Result<&[u16], IndexError> {
        either!(self, Self, segment => segment.authors())
    }

    fn minute_range(&self) -> Option<(u32, u32)> {
        match self {
            Self::Index(segment) => segment.minute_range(),
            Self::Memory(segment) => segment.minute_range(),
        }
    }
}

impl AnySegment<'_> {
    /// Returns what the segment adds to the size of all that is searched.
    pub(crate) fn statistics(&self) -> Statistics {
        match self {
            Self::Index(segment) => {
                Statistics { entries: u64::from(segment.span()), length: segment.length() }
            }
            Self::Memory(segment) => segment.statistics(),
        }
    }
}

/// The groups of the index, and of what is not in it yet.
pub(crate) struct AnyGroups<'a, 'r> {
    pub(crate) index: Option<&'a IndexReader<'r>>,
    pub(crate) memory: &'a MemorySegment,
}

impl Groups for AnyGroups<'_, '_> {
    type Error = IndexError;

    fn of(&self, numbers: &[u32]) -> Result<Vec<Arc<GroupList>>, IndexError> {
        let base = self.memory.base();
        let settled: Vec<u32> = numbers.iter().copied().filter(|number| *number < base).collect();
        let mut settled = match self.index {
            Some(reader) if !settled.is_empty() => reader.groups_of(&settled, GroupList)?.into_iter(),
            _ => Vec::new().into_iter(),
        };
        let rest: Vec<u32> = numbers.iter().copied().filter(|number| *number >= base).collect();
        let mut rest = self.memory.of(&rest).map_err(never)?.into_iter();
        let alone = || Arc::new(GroupList(Vec::new()));
        Ok(numbers
            .iter()
            .map(|number| {
                if *number < base {
                    settled.next().unwrap_or_else(alone)
                } else {
                    rest.next().unwrap_or_else(alone)
                }
            })
            .collect())
    }
}
