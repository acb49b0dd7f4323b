//! Contents that are read for somebody else: a window of bytes in each transaction, handed out after it has ended.
//!
//! Who asked may take a byte a minute. Contents never change, so windows of several transactions fit together; where a
//! content is forgotten between two of them, the next one fails and says so.

use std::io;
use std::ops::Range;

use stemmata_model::{ArtifactId, to_u64};

use super::contents::{index, read_pieces};
use super::literals::{Kept, Key, Literals};
use crate::error::StoreError;
use crate::rules::bounds::check_range;
use crate::rules::pieces::{Piece, ReadSoFar, cut};

/// Bytes after which a window is full; it has one part more at most. So much is decoded and hashed in far less than a second.
const WINDOW_BYTES: usize = 4 * 1024 * 1024;

/// Parts after which a window is full, so that many small ones are as short.
const WINDOW_PARTS: usize = 16 * 1024;

/// Contents, or a range of one, that are read window by window.
pub(in crate::sqlite) struct Windows<'a> {
    ids: &'a [ArtifactId],
    range: Option<Range<u64>>,
    /// The content that is being read, by its number.
    number: usize,
    /// Bytes of it that were read, from the start of the range.
    done: u64,
    /// What a whole content that needs several parts was until now.
    so_far: ReadSoFar,
    bytes: Vec<u8>,
    /// The number and the length of each part in `bytes`.
    parts: Vec<(usize, usize)>,
}

impl<'a> Windows<'a> {
    /// Begins to read whole contents, or a range of each.
    pub(in crate::sqlite) fn new(ids: &'a [ArtifactId], range: Option<Range<u64>>) -> Self {
        Self {
            ids,
            range,
            number: 0,
            done: 0,
            so_far: ReadSoFar::default(),
            bytes: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Reads the next window, and says whether it is the last one. Called within a transaction. What was read before an
    /// error is in the window.
    pub(in crate::sqlite) fn fill(&mut self, literals: &mut Literals<'_>) -> Result<bool, StoreError> {
        self.bytes.clear();
        self.parts.clear();
        while let Some(id) = self.ids.get(self.number) {
            if !self.read_on(literals, *id)? {
                return Ok(false);
            }
            self.number += 1;
            self.done = 0;
        }
        Ok(true)
    }

    /// Hands out what is in the window. Called outside of transactions.
    pub(in crate::sqlite) fn hand_out(
        &self,
        sink: &mut dyn FnMut(usize, &[u8]) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let mut rest = self.bytes.as_slice();
        for (number, length) in &self.parts {
            let (part, behind) = rest.split_at(*length);
            sink(*number, part).map_err(StoreError::Sink)?;
            rest = behind;
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= WINDOW_BYTES || self.parts.len() >= WINDOW_PARTS
    }

    /// Goes on with a content, and says whether it ended before the window was full.
    fn read_on(&mut self, literals: &mut Literals<'_>, id: ArtifactId) -> Result<bool, StoreError> {
        if self.is_full() {
            return Ok(false);
        }
        // Looked up in each window: a list may have become a literal since, and its parts may be gone.
        match literals.load(Key::Hash(&id)).map_err(|failure| failure.of(id))? {
            Kept::Forgotten => Err(StoreError::ContentForgotten(id)),
            Kept::Literal(_) => {
                let whole = to_u64(literals.bytes().len());
                let range = self.rest_of(whole)?;
                let is_whole = self.done == 0;
                let bytes = literals.bytes().get(index(range.start)..index(range.end)).unwrap_or_default();
                self.take(bytes, !is_whole);
                // All of a literal was held to its hash when it was decoded.
                if is_whole { Ok(true) } else { self.check_whole(id, whole).map(|()| true) }
            }
            Kept::Composed { whole, pieces } => {
                let range = self.rest_of(whole)?;
                let wanted: Vec<Piece> = cut(&pieces, range.start, range.end).collect();
                let (now, later) = wanted.split_at(self.fitting(&wanted));
                read_pieces(literals, id, now, &mut |bytes| {
                    self.take(bytes, true);
                    Ok(())
                })?;
                if later.is_empty() { self.check_whole(id, whole).map(|()| true) } else { Ok(false) }
            }
        }
    }

    /// Returns how many of these pieces make the window full.
    fn fitting(&self, wanted: &[Piece]) -> usize {
        let (mut bytes, mut parts) = (to_u64(self.bytes.len()), self.parts.len());
        let fits = wanted.iter().take_while(|piece| {
            let is_free = bytes < to_u64(WINDOW_BYTES) && parts < WINDOW_PARTS;
            bytes = bytes.saturating_add(piece.length);
            parts += 1;
            is_free
        });
        fits.count()
    }

    /// Returns what is still to be read of a content with so many bytes.
    fn rest_of(&self, whole: u64) -> Result<Range<u64>, StoreError> {
        let Some(range) = &self.range else { return Ok(self.done.min(whole)..whole) };
        check_range(range.start, range.end.saturating_sub(range.start), whole)?;
        let end = range.end.max(range.start);
        Ok(range.start.saturating_add(self.done).min(end)..end)
    }

    fn take(&mut self, bytes: &[u8], is_part: bool) {
        self.done += to_u64(bytes.len());
        if bytes.is_empty() {
            return;
        }
        if is_part && self.range.is_none() {
            self.so_far.add(bytes);
        }
        self.bytes.extend_from_slice(bytes);
        self.parts.push((self.number, bytes.len()));
    }

    /// Holds a content that was read whole to its hash.
    fn check_whole(&mut self, id: ArtifactId, whole: u64) -> Result<(), StoreError> {
        let read = std::mem::take(&mut self.so_far);
        if self.range.is_some() { Ok(()) } else { read.check(id, whole) }
    }
}
