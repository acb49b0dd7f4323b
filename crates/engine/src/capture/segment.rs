//! The bytes since the last closed boundary, in bounded memory.

use stemmata_model::{ArtifactId, to_u64};
use stemmata_store::{ContentPart, NewContent, PART_BYTES_MAX, Write};

use crate::capture::big_parts::runs;

/// Bytes that became a content, and what has to be written for it.
#[derive(Debug)]
pub(crate) struct FinishedSegment {
    /// The content's id.
    pub artifact: ArtifactId,
    /// Its length in bytes.
    pub bytes: u64,
    /// The write that stores it.
    pub write: Write,
}

/// A stored content that a segment begins with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// The content.
    pub artifact: ArtifactId,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Lengths at which a growing segment is hashed, so that what it began with is known in one pass and without
/// keeping it.
#[derive(Debug, Clone)]
struct Marks {
    hasher: blake3::Hasher,
    bytes: u64,
    /// Ascending, those that were not reached yet.
    ahead: std::collections::VecDeque<u64>,
    reached: std::collections::HashMap<u64, ArtifactId>,
}

impl Marks {
    fn push(&mut self, mut bytes: &[u8]) {
        while let Some(mark) = self.ahead.front().copied() {
            let Some((head, rest)) =
                usize::try_from(mark - self.bytes).ok().and_then(|missing| bytes.split_at_checked(missing))
            else {
                break;
            };
            self.hasher.update(head);
            self.bytes = mark;
            self.reached.insert(mark, ArtifactId::from_bytes(*self.hasher.finalize().as_bytes()));
            self.ahead.pop_front();
            bytes = rest;
        }
        self.hasher.update(bytes);
        self.bytes += to_u64(bytes.len());
    }
}

/// Places where one segment is cut at big values at most, so that its parts stay far from `PARTS_MAX`; what is behind
/// them is kept with what stands around it.
const CUTS_MAX: usize = 16_384;

/// A growing segment. It is kept in parts: big values are parts of their own, so that equal ones are stored once, and
/// none is larger than `PART_BYTES_MAX`. What exceeds one part is spilled to the store.
#[derive(Debug, Default)]
pub(crate) struct OpenSegment {
    buffer: Vec<u8>,
    /// Where parts begin in the buffer, but for the first, ascending.
    cuts: Vec<usize>,
    /// Cuts at big values so far.
    values: usize,
    spilled: Vec<ContentPart>,
    spilled_bytes: u64,
    hasher: Option<blake3::Hasher>,
    marks: Option<Marks>,
    /// Bytes beyond a part that are kept in memory before anything is spilled.
    patience_bytes: usize,
    /// Bytes of the file that the segment was read from, before secrets were replaced.
    pub raw_bytes: u64,
    /// Lines.
    pub lines: u64,
    /// Bytes that were replaced.
    pub redacted_bytes: u64,
}

impl OpenSegment {
    /// Returns whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the length in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.spilled_bytes + to_u64(self.buffer.len())
    }

    /// Returns all bytes, where none were spilled.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        self.spilled.is_empty().then_some(self.buffer.as_slice())
    }

    /// Remembers what the segment will have begun with at these lengths. Only before anything was added.
    pub(crate) fn watch(&mut self, lengths: impl Iterator<Item = u64>) {
        let mut ahead: Vec<u64> = lengths.collect();
        ahead.sort_unstable();
        ahead.dedup();
        self.marks = (!ahead.is_empty()).then(|| Marks {
            hasher: blake3::Hasher::new(),
            bytes: 0,
            ahead: ahead.into(),
            reached: std::collections::HashMap::new(),
        });
    }

    /// Keeps so much more in memory before anything is spilled: what is spilled is stored before it is known which
    /// commit it becomes.
    pub(crate) const fn be_patient(&mut self, bytes: usize) {
        self.patience_bytes = bytes;
    }

    /// Adds a line, or the beginning of one; returns what has to be stored now, because the buffer was full.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Write> {
        if let Some(marks) = &mut self.marks {
            marks.push(bytes);
        }
        let mut writes = Vec::new();
        let mut rest = bytes;
        let mut at = 0;
        let left = CUTS_MAX - self.values;
        for run in runs(bytes).into_iter().take(left) {
            let Some((before, behind)) = rest.split_at_checked(run.start - at) else { break };
            let Some((value, behind)) = behind.split_at_checked(run.len()) else { break };
            self.append(before, &mut writes);
            self.cut();
            self.append(value, &mut writes);
            self.cut();
            self.values += 1;
            (rest, at) = (behind, run.end);
        }
        self.append(rest, &mut writes);
        writes
    }

    fn append(&mut self, mut bytes: &[u8], writes: &mut Vec<Write>) {
        while !bytes.is_empty() {
            let begun = self.buffer.len() - self.cuts.last().copied().unwrap_or(0);
            let (now, later) = bytes.split_at(bytes.len().min(PART_BYTES_MAX - begun));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if !bytes.is_empty() {
                self.cut();
            }
            if self.buffer.len() >= PART_BYTES_MAX + self.patience_bytes && !self.cuts.is_empty() {
                writes.extend(self.spill());
            }
        }
    }

    /// Has a new part begin here.
    fn cut(&mut self) {
        if self.buffer.len() > self.cuts.last().copied().unwrap_or(0) {
            self.cuts.push(self.buffer.len());
        }
    }

    /// Gives up all parts but the one that is growing.
    fn spill(&mut self) -> Vec<Write> {
        let growing = self.buffer.split_off(self.cuts.last().copied().unwrap_or(0));
        let full = std::mem::replace(&mut self.buffer, growing);
        let cuts = std::mem::take(&mut self.cuts);
        self.hasher.get_or_insert_with(blake3::Hasher::new).update(&full);
        self.spilled_bytes += to_u64(full.len());
        let mut writes = Vec::new();
        for part in split(&full, 0, &cuts) {
            let content = NewContent::literal(part.to_vec());
            self.spilled.push(ContentPart::Slice { of: content.id(), offset: 0, length: to_u64(part.len()) });
            writes.push(Write::Content(content));
        }
        writes
    }

    /// Makes a content of everything, as `finish` does, leaving the segment as it is (for a provisional commit).
    pub(crate) fn snapshot(&self, head: Option<Head>) -> FinishedSegment {
        let copy = Self {
            buffer: self.buffer.clone(),
            cuts: self.cuts.clone(),
            spilled: self.spilled.clone(),
            spilled_bytes: self.spilled_bytes,
            hasher: self.hasher.clone(),
            ..Self::default()
        };
        copy.finish(head)
    }

    /// Makes a content of everything; where it begins with a content that is stored, as a range of that and the rest.
    pub(crate) fn finish(self, head: Option<Head>) -> FinishedSegment {
        let bytes = self.bytes();
        let behind = head.and_then(|head| Some((head, self.behind(head.bytes)?)));
        let (mut parts, from) = match behind {
            Some((head, from)) => {
                (vec![ContentPart::Slice { of: head.artifact, offset: 0, length: head.bytes }], from)
            }
            None if self.spilled.is_empty() && self.cuts.is_empty() => {
                let content = NewContent::literal(self.buffer);
                return FinishedSegment { artifact: content.id(), bytes, write: Write::Content(content) };
            }
            None => (self.spilled.clone(), 0),
        };
        parts.extend(split(&self.buffer, from, &self.cuts).map(|part| ContentPart::Bytes(part.to_vec())));
        let artifact = self.artifact();
        FinishedSegment { artifact, bytes, write: Write::Content(NewContent::composed(artifact, parts)) }
    }

    fn artifact(&self) -> ArtifactId {
        let mut hasher = self.hasher.clone().unwrap_or_default();
        hasher.update(&self.buffer);
        ArtifactId::from_bytes(*hasher.finalize().as_bytes())
    }

    /// Returns where in the buffer the bytes behind the first so many begin, where all of them are in memory.
    fn behind(&self, bytes: u64) -> Option<usize> {
        let from = usize::try_from(bytes.checked_sub(self.spilled_bytes)?).ok()?;
        (from <= self.buffer.len()).then_some(from)
    }

    /// Returns whether the first `bytes` bytes, which were watched for, are the content `artifact`.
    pub(crate) fn starts_with(&self, artifact: ArtifactId, bytes: u64) -> bool {
        self.marks.as_ref().and_then(|marks| marks.reached.get(&bytes)) == Some(&artifact)
    }
}

/// Returns the bytes from a place on, split at cuts; no part is empty.
fn split<'b>(bytes: &'b [u8], from: usize, cuts: &'b [usize]) -> impl Iterator<Item = &'b [u8]> {
    let ends = cuts.iter().copied().filter(move |cut| *cut > from).chain([bytes.len()]);
    let parts = ends.scan(from, move |start, end| {
        let part = bytes.get(*start..end).unwrap_or_default();
        *start = end;
        Some(part)
    });
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;
    use stemmata_model::artifact_id;

    use super::*;
    use crate::capture::big_parts::RUN_BYTES_MIN;

    fn length_of(bytes: usize) -> u64 {
        u64::try_from(bytes).expect("small")
    }

    #[test]
    fn a_segment_larger_than_a_part_is_spilled_and_keeps_its_hash() {
        let whole: Vec<u8> =
            (0..PART_BYTES_MAX * 2 + 7).map(|n| u8::try_from(n % 251).expect("small")).collect();
        let mut segment = OpenSegment::default();
        let watched = [1, 1_000_003, PART_BYTES_MAX, PART_BYTES_MAX * 2, PART_BYTES_MAX * 2 + 7];
        segment.watch(watched.iter().map(|bytes| length_of(*bytes)));
        let mut spilled = 0;
        for piece in whole.chunks(1_000_003) {
            spilled += segment.push(piece).len();
        }
        assert_eq!(spilled, 2);
        assert_eq!(segment.bytes(), to_u64(whole.len()));
        for bytes in watched {
            assert!(segment.starts_with(artifact_id(&whole[..bytes]), length_of(bytes)), "{bytes}");
            assert!(!segment.starts_with(artifact_id(b"other"), length_of(bytes)));
        }
        assert!(!segment.starts_with(artifact_id(&whole[..2]), 2), "not watched");
        assert_eq!(segment.snapshot(None).artifact, artifact_id(&whole));
        assert_eq!(segment.finish(None).artifact, artifact_id(&whole));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(24)))]

        /// The parts make the whole, an equal value is an equal part wherever it stands, and none is too large.
        #[test]
        fn equal_values_are_equal_parts(
            before in 0..3_000_000_usize,
            between in 1..3_000_000_usize,
            value in RUN_BYTES_MIN..6_000_000_usize,
            behind in 0..2_000_000_usize,
        ) {
            let text = |length: usize| "a word ".bytes().cycle().take(length).chain([b'"']);
            let value: Vec<u8> = (0..value).map(|n| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"[n * 7 % 31]).collect();
            let mut line: Vec<u8> = text(before).collect();
            line.extend_from_slice(&value);
            line.extend(text(between));
            line.extend_from_slice(&value);
            line.extend(text(behind));
            line.push(b'\n');
            let mut segment = OpenSegment::default();
            let mut stored = HashMap::new();
            let mut keep = |write: Write| {
                let Write::Content(content) = write else { unreachable!("contents only") };
                let (id, mut bytes) = (content.id(), Vec::new());
                for part in content.parts() {
                    match part {
                        ContentPart::Bytes(own) => {
                            assert!(own.len() <= PART_BYTES_MAX && !own.is_empty());
                            stored.insert(artifact_id(own), own.clone());
                            bytes.extend_from_slice(own);
                        }
                        ContentPart::Slice { of, .. } => bytes.extend_from_slice(&stored[of]),
                    }
                }
                assert_eq!(id, artifact_id(&bytes));
                bytes
            };
            for write in segment.push(&line) {
                keep(write);
            }
            assert!(segment.buffer.len() <= 2 * PART_BYTES_MAX);
            keep(segment.snapshot(None).write);
            let whole = keep(segment.finish(None).write);
            prop_assert_eq!(whole.len(), line.len());
            prop_assert!(whole == line);
            let distinct: usize = stored.values().map(Vec::len).sum();
            prop_assert!(distinct <= line.len() - value.len() + 1, "the value is kept twice");
        }
    }
}
