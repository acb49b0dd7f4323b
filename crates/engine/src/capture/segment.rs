//! The bytes since the last closed boundary, in bounded memory.

use stemmata_model::{ArtifactId, artifact_id};
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

/// A growing segment. What exceeds one part is spilled to the store as parts of its own.
#[derive(Debug, Default)]
pub(crate) struct OpenSegment {
    buffer: Vec<u8>,
    spilled: Vec<ContentPart>,
    spilled_bytes: u64,
    hasher: Option<blake3::Hasher>,
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

    /// Adds bytes; returns what has to be stored now, because the buffer was full.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Vec<Write> {
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

    /// Makes a content of everything, leaving the segment as it is (for a provisional commit).
    pub(crate) fn snapshot(&self) -> FinishedSegment {
        let copy = Self {
            buffer: self.buffer.clone(),
            spilled: self.spilled.clone(),
            spilled_bytes: self.spilled_bytes,
            hasher: self.hasher.clone(),
            ..Self::default()
        };
        copy.finish()
    }

    /// Makes a content of everything.
    pub(crate) fn finish(mut self) -> FinishedSegment {
        let bytes = self.bytes();
        let content = match self.hasher.take() {
            None => NewContent::literal(self.buffer),
            Some(mut hasher) => {
                hasher.update(&self.buffer);
                let id = ArtifactId::from_bytes(*hasher.finalize().as_bytes());
                let mut parts = self.spilled;
                if !self.buffer.is_empty() {
                    parts.push(ContentPart::Bytes(self.buffer));
                }
                NewContent::composed(id, parts)
            }
        };
        FinishedSegment { artifact: content.id(), bytes, write: Write::Content(content) }
    }

    /// Returns whether the first `bytes` bytes are the content `artifact`; unknown counts as no.
    pub(crate) fn starts_with(&self, artifact: ArtifactId, bytes: u64) -> bool {
        let head =
            usize::try_from(bytes).ok().and_then(|end| self.in_memory().and_then(|all| all.get(..end)));
        head.is_some_and(|head| artifact_id(head) == artifact)
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
    use super::*;

    #[test]
    fn a_segment_larger_than_a_part_is_spilled_and_keeps_its_hash() {
        let whole: Vec<u8> =
            (0..PART_BYTES_MAX * 2 + 7).map(|n| u8::try_from(n % 251).expect("small")).collect();
        let mut segment = OpenSegment::default();
        let mut spilled = 0;
        for piece in whole.chunks(1_000_003) {
            spilled += segment.push(piece).len();
        }
        assert_eq!(spilled, 2);
        assert_eq!(segment.bytes(), length(&whole));
        assert_eq!(segment.snapshot().artifact, artifact_id(&whole));
        assert_eq!(segment.finish().artifact, artifact_id(&whole));
    }
}
