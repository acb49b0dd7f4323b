//! The canonical encoding: the only bytes that are ever hashed into an id.
//!
//! Rules are in `docs/format/commit.md`: a fixed order of fields, lengths and numbers as little-endian
//! `u64`, one byte for absent or present, no floats, no unsorted maps.

use crate::ArtifactId;

/// Names content by its BLAKE3 hash.
pub fn artifact_id(content: &[u8]) -> ArtifactId {
    ArtifactId::from_bytes(*blake3::hash(content).as_bytes())
}

/// Builds a canonical encoding, field by field, in the order of the calls.
#[derive(Debug, Default)]
pub struct CanonicalEncoder {
    bytes: Vec<u8>,
}

impl CanonicalEncoder {
    /// Starts an encoding with the version of its layout.
    pub fn new(version: u8) -> Self {
        Self { bytes: vec![version] }
    }

    /// Adds one byte: a tag of an enum.
    #[must_use]
    pub fn tag(mut self, value: u8) -> Self {
        self.bytes.push(value);
        self
    }

    /// Adds a number as eight bytes, lowest first.
    #[must_use]
    pub fn number(mut self, value: u64) -> Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a signed number as eight bytes, lowest first, in two's complement.
    #[must_use]
    pub fn signed(mut self, value: i64) -> Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds bytes behind their length.
    #[must_use]
    pub fn bytes(self, value: &[u8]) -> Self {
        let length = u64::try_from(value.len()).expect("a slice's length fits 64 bits");
        let mut next = self.number(length);
        next.bytes.extend_from_slice(value);
        next
    }

    /// Adds one byte for absent (0) or present (1), then the bytes behind their length.
    #[must_use]
    pub fn optional(self, value: Option<&[u8]>) -> Self {
        match value {
            Some(present) => self.tag(1).bytes(present),
            None => self.tag(0),
        }
    }

    /// Returns the encoding.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}
