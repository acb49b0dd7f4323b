//! What search reads from: segments of postings and columns, and the groups of entries that windows stay in.
//!
//! Entries have numbers. A segment holds the numbers from `base` to `base + span`; postings and columns count
//! from the base.

use std::ops::Range;
use std::sync::Arc;

use stemmata_model::{EntryKind, Role};

/// The number of postings in a full block.
pub const BLOCK: usize = 128;

/// How far another machine's clock may be ahead: one day, which also covers a clock in the wrong time zone.
const AHEAD_MINUTES_MAX: u32 = 24 * 60;

/// What bounds the score of a list of postings, whatever the average length is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bound {
    /// The greatest count of the term in one entry.
    pub tf_max: u16,
    /// The length of the shortest entry.
    pub length_min: u16,
}

/// One unpacked block of postings.
#[derive(Debug, Clone)]
pub struct Block {
    /// Entry numbers relative to the segment's base, ascending.
    pub numbers: [u32; BLOCK],
    /// How often the term occurs in each entry.
    pub tfs: [u16; BLOCK],
    /// How many of both are in use.
    pub len: usize,
}

impl Block {
    /// Returns an empty block.
    pub const fn new() -> Self {
        Self { numbers: [0; BLOCK], tfs: [0; BLOCK], len: 0 }
    }

    /// Iterates over number and count.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (u32, u16)> + '_ {
        self.numbers.iter().copied().zip(self.tfs.iter().copied()).take(self.len)
    }
}

impl Default for Block {
    fn default() -> Self {
        Self::new()
    }
}

/// The postings of one term in one segment.
pub trait Postings {
    /// Why a read failed.
    type Error;

    /// Returns how many entries of the segment hold the term.
    fn entries(&self) -> u32;
    /// Returns the bound of all blocks.
    fn bound(&self) -> Bound;
    /// Returns the number of blocks.
    fn blocks(&self) -> usize;
    /// Returns the last entry of a block, relative to the base.
    fn block_last(&self, block: usize) -> u32;
    /// Reads a block.
    fn unpack(&self, block: usize, into: &mut Block) -> Result<(), Self::Error>;
}

/// A span of entry numbers with its postings and columns.
///
/// Columns have `span` values each; search asks for a column only when it needs it.
pub trait Segment {
    /// Why a read failed.
    type Error;
    /// The postings of a term.
    type Postings: Postings<Error = Self::Error>;

    /// Returns the first number.
    fn base(&self) -> u32;
    /// Returns how many numbers the segment covers, gaps included.
    fn span(&self) -> u32;
    /// Returns a term's postings, or `None` if no entry has the term.
    fn postings(&self, term: &str) -> Result<Option<Self::Postings>, Self::Error>;
    /// Returns the lengths in terms.
    fn lengths(&self) -> Result<&[u16], Self::Error>;
    /// Returns the classes; see [`class`].
    fn classes(&self) -> Result<&[u8], Self::Error>;
    /// Returns the marks; see [`marks`].
    fn marks(&self) -> Result<&[u8], Self::Error>;
    /// Returns the minutes since 1970, 0 where an entry has no time.
    fn minutes(&self) -> Result<&[u32], Self::Error>;
    /// Returns the keys.
    fn keys(&self) -> Result<&[u64], Self::Error>;
    /// Returns the authors, 0 where an entry has none; empty where no entry of the segment has one.
    fn authors(&self) -> Result<&[u16], Self::Error>;
    /// Returns the least and the greatest minute that is not 0.
    fn minute_range(&self) -> Option<(u32, u32)>;
}

/// The entries of one group in their order, as runs of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupList(pub Vec<Range<u32>>);

/// Which group an entry was indexed in.
pub trait Groups {
    /// Why a read failed.
    type Error;

    /// Returns the group of each number, in the order of the numbers.
    ///
    /// Numbers of one group may share one list. A number that its list does not hold is in a group by itself.
    fn of(&self, numbers: &[u32]) -> Result<Vec<Arc<GroupList>>, Self::Error>;
}

/// The size of everything that is indexed, whatever the scope: BM25 measures rarity against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// How many entries there are.
    pub entries: u64,
    /// The sum of their lengths.
    pub length: u64,
}

impl Statistics {
    /// Returns the average length, at least 1.
    #[expect(clippy::cast_precision_loss, reason = "an average needs no 53 bits")]
    pub fn average_length(&self) -> f64 {
        (self.length as f64 / self.entries.max(1) as f64).max(1.0)
    }
}

/// The kinds of entry that are indexed, three bits of the class.
pub mod kinds {
    /// A message of a user or an assistant.
    pub const MESSAGE: u8 = 0;
    /// The result of a tool.
    pub const TOOL_RESULT: u8 = 1;
    /// A tool result that was hidden from the model.
    pub const TOOL_RESULT_ARCHIVED: u8 = 2;
    /// A summary of tool results.
    pub const TOOL_SUMMARY: u8 = 3;
    /// The summary that a compaction left.
    pub const COMPACTION_SUMMARY: u8 = 4;
    /// Instructions that the runtime added.
    pub const INSTRUCTION: u8 = 5;
    /// A kind of the runtime's own.
    pub const OTHER: u8 = 6;
    /// An event of a ledger.
    pub const EVENT: u8 = 7;
}

/// What else is known of an entry, one bit each.
pub mod marks {
    /// It ends with a question.
    pub const ASKS: u8 = 1;
    /// It is an error.
    pub const ERROR: u8 = 2;
    /// It is a decision.
    pub const DECISION: u8 = 4;
    /// It calls a tool.
    pub const CALL: u8 = 8;
    /// It edits a file.
    pub const EDIT: u8 = 16;
    /// It holds the model's reasoning.
    pub const THINKING: u8 = 32;
    /// A person's prompt.
    pub const PROMPT: u8 = 64;
}

/// Returns the class of an entry, nothing for a kind that is not indexed.
pub const fn class(role: Role, kind: &EntryKind) -> Option<u8> {
    let kind = match kind {
        EntryKind::Message => kinds::MESSAGE,
        EntryKind::ToolResult => kinds::TOOL_RESULT,
        EntryKind::ToolResultArchived => kinds::TOOL_RESULT_ARCHIVED,
        EntryKind::ToolSummary => kinds::TOOL_SUMMARY,
        EntryKind::CompactionSummary => kinds::COMPACTION_SUMMARY,
        EntryKind::Instruction => kinds::INSTRUCTION,
        EntryKind::Other(_) => kinds::OTHER,
        EntryKind::CompactionBoundary | EntryKind::Metadata | EntryKind::Unreadable => return None,
    };
    Some(ClassMask::of(role, kind))
}

/// Which classes and marks a scope admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassMask {
    /// Bits of the roles that pass, by [`ClassMask::role_bit`].
    pub roles: u8,
    /// Bits of the kinds that pass: `1 << kinds::MESSAGE` and so on.
    pub kinds: u8,
    /// An entry with any of these marks passes whatever its kind is.
    pub marks: u8,
    /// Bits of the kinds that never pass, whatever their marks are.
    pub without: u8,
    /// An entry with any of these marks never passes.
    pub without_marks: u8,
}

impl ClassMask {
    /// Everything passes.
    pub const ALL: Self = Self { roles: 0b1111, kinds: 0xff, marks: 0, without: 0, without_marks: 0 };

    /// Returns the bit of a role.
    pub const fn role_bit(role: Role) -> u8 {
        1 << Self::role_number(role)
    }

    /// Returns a class of a role and one of [`kinds`].
    pub const fn of(role: Role, kind: u8) -> u8 {
        Self::role_number(role) | (kind & 7) << 2
    }

    /// Returns whether an entry passes.
    pub const fn admits(self, class: u8, marks: u8) -> bool {
        let kind = 1 << Self::kind_of(class);
        self.roles >> (class & 3) & 1 == 1
            && self.without & kind == 0
            && self.without_marks & marks == 0
            && (self.kinds & kind != 0 || self.marks & marks != 0)
    }

    /// Returns the kind of a class, one of [`kinds`].
    pub const fn kind_of(class: u8) -> u8 {
        class >> 2 & 7
    }

    const fn role_number(role: Role) -> u8 {
        match role {
            Role::System => 0,
            Role::User => 1,
            Role::Assistant => 2,
            Role::Tool => 3,
        }
    }
}

/// A set of entry numbers, one bit each: 125 KB for a million entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumberSet {
    words: Vec<u64>,
}

impl NumberSet {
    /// Adds a number.
    pub fn insert(&mut self, number: u32) {
        let word = (number / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (number % 64);
        }
    }

    /// Adds all numbers of a range.
    pub fn insert_range(&mut self, numbers: Range<u32>) {
        if numbers.is_empty() {
            return;
        }
        let (first, last) = (numbers.start / 64, (numbers.end - 1) / 64);
        if last as usize >= self.words.len() {
            self.words.resize(last as usize + 1, 0);
        }
        let words = (first..).zip(self.words.get_mut(first as usize..=last as usize).unwrap_or_default());
        for (at, word) in words {
            let from = if at == first { numbers.start % 64 } else { 0 };
            let through = if at == last { (numbers.end - 1) % 64 } else { 63 };
            *word |= u64::MAX << from & u64::MAX >> (63 - through);
        }
    }

    /// Returns whether the set holds a number.
    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.words.get((number / 64) as usize).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Keeps the numbers that another set holds, too.
    pub fn intersect(&mut self, other: &Self) {
        self.words.truncate(other.words.len());
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Iterates over the numbers from `base` to `base + span`, ascending.
    pub fn range(&self, base: u32, span: u32) -> impl Iterator<Item = u32> + '_ {
        let end = base.saturating_add(span);
        let from = base / 64;
        let words = self.words.get(from as usize..).unwrap_or_default();
        let words = (from..end.div_ceil(64)).zip(words);
        words
            .flat_map(|(word, bits)| {
                let mut left = *bits;
                std::iter::from_fn(move || {
                    let bit = (left != 0).then(|| left.trailing_zeros())?;
                    left &= left - 1;
                    Some(word * 64 + bit)
                })
            })
            .filter(move |number| (base..end).contains(number))
    }
}

impl Extend<u32> for NumberSet {
    fn extend<I: IntoIterator<Item = u32>>(&mut self, numbers: I) {
        for number in numbers {
            self.insert(number);
        }
    }
}

/// Which entries may be hits. Neighbours outside of the scope still count in a hit's window.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// The numbers that may be hits; nothing: all.
    pub allowed: Option<&'a NumberSet>,
    /// The classes and marks that may be hits: any of these is enough; nothing: all.
    pub classes: &'a [ClassMask],
    /// The first minute since 1970; 0 admits entries without a time, too.
    pub since_minute: u32,
    /// The last minute; `u32::MAX` admits all, and any other value only entries with a time.
    pub until_minute: u32,
    /// The minute of the search. Entries with a later time are ranked as [`Scope::ranked_minute`] says.
    pub now_minute: u32,
    /// The names behind the numbers of [`Segment::authors`], lower case.
    pub authors: &'a [(u16, String)],
}

impl Scope<'_> {
    /// The scope of everything.
    pub const ALL: Self = Self {
        allowed: None,
        classes: &[],
        since_minute: 0,
        until_minute: u32::MAX,
        now_minute: u32::MAX,
        authors: &[],
    };

    /// Returns whether the scope admits only some times.
    pub const fn has_times(&self) -> bool {
        self.since_minute > 0 || self.until_minute < u32::MAX
    }

    /// Returns whether the scope admits an entry of this minute.
    #[inline]
    pub const fn admits_minute(&self, minute: u32) -> bool {
        minute >= self.since_minute && minute <= self.until_minute && (minute > 0 || !self.has_times())
    }

    /// Returns the minute that an entry is ranked by. Clocks differ a little between machines, so that what is dated up to a day
    /// ahead counts as said now. A time further ahead is wrong: such an entry is ranked as one without a time, or it would be the
    /// newest for years and make everything else old.
    pub const fn ranked_minute(&self, minute: u32) -> u32 {
        match minute.checked_sub(self.now_minute) {
            None => minute,
            Some(ahead) if ahead <= AHEAD_MINUTES_MAX => self.now_minute,
            Some(_) => 0,
        }
    }
}
