//! The bytes since the last closed boundary, in bounded memory.

use stemmata_model::ArtifactId;
use stemmata_store::{ContentPart, NewContent, PART_BYTES_MAX, Write};

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
        self.bytes += length(bytes);
    }
}

/// A growing segment. What exceeds one part is spilled to the store as parts of its own.
#[derive(Debug, Default)]
pub(crate) struct OpenSegment {
    buffer: Vec<u8>,
    spilled: Vec<ContentPart>,
    spilled_bytes: u64,
    hasher: Option<blake3::Hasher>,
    marks: Option<Marks>,
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
        self.spilled_bytes + length(&self.buffer)
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

    /// Adds bytes; returns what has to be stored now, because the buffer was full.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Vec<Write> {
        if let Some(marks) = &mut self.marks {
            marks.push(bytes);
        }
        let mut writes = Vec::new();
        while self.buffer.len() + bytes.len() > PART_BYTES_MAX {
            let (head, rest) = bytes.split_at(PART_BYTES_MAX - self.buffer.len());
            self.buffer.extend_from_slice(head);
            writes.push(self.spill());
            bytes = rest;
        }
        self.buffer.extend_from_slice(bytes);
        writes
    }

    fn spill(&mut self) -> Write {
        let part = std::mem::take(&mut self.buffer);
        self.hasher.get_or_insert_with(blake3::Hasher::new).update(&part);
        self.spilled_bytes += length(&part);
        let content = NewContent::literal(part);
        let bytes = content.parts().iter().map(part_bytes).sum();
        self.spilled.push(ContentPart::Slice { of: content.id(), offset: 0, length: bytes });
        Write::Content(content)
    }

    /// Makes a content of everything, as `finish` does, leaving the segment as it is (for a provisional commit).
    pub(crate) fn snapshot(&self, head: Option<Head>) -> FinishedSegment {
        let copy = Self {
            buffer: self.buffer.clone(),
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
        let behind = head.and_then(|head| Some((head, self.behind(head.bytes)?.to_vec())));
        let (mut parts, rest) = match behind {
            Some((head, rest)) => {
                (vec![ContentPart::Slice { of: head.artifact, offset: 0, length: head.bytes }], rest)
            }
            None if self.spilled.is_empty() => {
                let content = NewContent::literal(self.buffer);
                return FinishedSegment { artifact: content.id(), bytes, write: Write::Content(content) };
            }
            None => (self.spilled.clone(), self.buffer.clone()),
        };
        parts.extend((!rest.is_empty()).then_some(ContentPart::Bytes(rest)));
        let artifact = self.artifact();
        FinishedSegment { artifact, bytes, write: Write::Content(NewContent::composed(artifact, parts)) }
    }

    fn artifact(&self) -> ArtifactId {
        let mut hasher = self.hasher.clone().unwrap_or_default();
        hasher.update(&self.buffer);
        ArtifactId::from_bytes(*hasher.finalize().as_bytes())
    }

    /// Returns the bytes behind the first so many, where all of them are in memory.
    fn behind(&self, bytes: u64) -> Option<&[u8]> {
        self.buffer.get(usize::try_from(bytes.checked_sub(self.spilled_bytes)?).ok()?..)
    }

    /// Returns whether the first `bytes` bytes, which were watched for, are the content `artifact`.
    pub(crate) fn starts_with(&self, artifact: ArtifactId, bytes: u64) -> bool {
        self.marks.as_ref().and_then(|marks| marks.reached.get(&bytes)) == Some(&artifact)
    }
}

fn part_bytes(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Bytes(bytes) => length(bytes),
        ContentPart::Slice { length, .. } => *length,
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).expect("a length fits 64 bits")
}

#[cfg(test)]
mod tests {
    use stemmata_model::artifact_id;

    use super::*;

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
        assert_eq!(segment.bytes(), length(&whole));
        for bytes in watched {
            assert!(segment.starts_with(artifact_id(&whole[..bytes]), length_of(bytes)), "{bytes}");
            assert!(!segment.starts_with(artifact_id(b"other"), length_of(bytes)));
        }
        assert!(!segment.starts_with(artifact_id(&whole[..2]), 2), "not watched");
        assert_eq!(segment.snapshot(None).artifact, artifact_id(&whole));
        assert_eq!(segment.finish(None).artifact, artifact_id(&whole));
    }
}
