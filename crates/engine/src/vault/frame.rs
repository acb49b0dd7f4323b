//! One record of a vault as bytes: which values stood where in one content, sealed.
//!
//! Pure but for nonces, which come in as arguments. Files are the sibling's. What is in the open (which content, when, how
//! many) is authenticated with the sealed part.

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use stemmata_model::{ArtifactId, Timestamp};

use super::Value;

/// What a file of values begins with; the last byte is the version.
pub(super) const MAGIC: &[u8; 16] = b"stemmata-vault\n\x01";

/// Bytes that say which key a file is under.
pub(super) const CHECK_BYTES: usize = 16;

/// Bytes of a record's open part.
pub(super) const HEADER_BYTES: usize = 4 + 32 + 8 + 4 + NAME_BYTES + NONCE_BYTES;

/// Bytes of a record's sealed part at most: values of one content that are kept, and what frames them.
pub(super) const BODY_BYTES_MAX: u32 = 8 * 1024 * 1024;

const NAME_BYTES: usize = 16;
const NONCE_BYTES: usize = 24;

/// Bytes that the seal adds.
const TAG_BYTES: u32 = 16;

/// Bytes of one value's frame: its offset, the length of what stands there, its own length.
const VALUE_FRAME_BYTES: usize = 8 + 4 + 4;

/// The keys of one file, made of its secret.
pub(super) struct Keys {
    cipher: XChaCha20Poly1305,
    names: [u8; 32],
    check: [u8; CHECK_BYTES],
}

impl Keys {
    pub(super) fn of(secret: &[u8; 32]) -> Self {
        let check = blake3::derive_key("stemmata vault key check v1", secret);
        Self {
            cipher: XChaCha20Poly1305::new(&blake3::derive_key("stemmata vault cipher v1", secret).into()),
            names: blake3::derive_key("stemmata vault names v1", secret),
            check: *check.first_chunk().expect("32 bytes hold 16"),
        }
    }

    /// Returns what tells another key from this one, and says nothing of either.
    pub(super) const fn check(&self) -> &[u8; CHECK_BYTES] {
        &self.check
    }

    /// Names values for whoever has the key: the same content with the same values gets the same name.
    pub(super) fn name(&self, content: ArtifactId, values: &[Value]) -> [u8; NAME_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.names);
        hasher.update(content.as_bytes()).update(&encode(values));
        *hasher.finalize().as_bytes().first_chunk().expect("32 bytes hold 16")
    }

    /// Seals values. Returns the record, or none where it would be longer than one may be.
    pub(super) fn seal(
        &self,
        content: ArtifactId,
        (kept_at, values): (Timestamp, &[Value]),
        nonce: [u8; NONCE_BYTES],
    ) -> Option<Vec<u8>> {
        let plain = encode(values);
        let body_bytes = u32::try_from(plain.len()).ok()?.checked_add(TAG_BYTES)?;
        if body_bytes > BODY_BYTES_MAX {
            return None;
        }
        let name = self.name(content, values);
        let values = u32::try_from(values.len()).ok()?;
        let header = Header { body_bytes, content, kept_at, values, name, nonce };
        let payload = Payload { msg: &plain, aad: &header.authenticated() };
        let body = self.cipher.encrypt(&XNonce::from(nonce), payload).ok()?;
        let mut record = header.encode();
        record.extend_from_slice(&body);
        Some(record)
    }

    /// Opens a record; none where it is not what was sealed under this key.
    pub(super) fn open(&self, header: &Header, body: &[u8]) -> Option<Vec<Value>> {
        let payload = Payload { msg: body, aad: &header.authenticated() };
        let plain = self.cipher.decrypt(&XNonce::from(header.nonce), payload).ok()?;
        decode(&plain)
    }
}

/// The open part of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) body_bytes: u32,
    pub(super) content: ArtifactId,
    pub(super) kept_at: Timestamp,
    pub(super) values: u32,
    pub(super) name: [u8; NAME_BYTES],
    nonce: [u8; NONCE_BYTES],
}

impl Header {
    /// Reads the open part of a record; none where none begins there.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let (body_bytes, rest) = bytes.split_first_chunk::<4>()?;
        let (content, rest) = rest.split_first_chunk::<32>()?;
        let (kept_at, rest) = rest.split_first_chunk::<8>()?;
        let (values, rest) = rest.split_first_chunk::<4>()?;
        let (name, rest) = rest.split_first_chunk::<NAME_BYTES>()?;
        let nonce = rest.first_chunk::<NONCE_BYTES>()?;
        let body_bytes = u32::from_le_bytes(*body_bytes);
        (TAG_BYTES..=BODY_BYTES_MAX).contains(&body_bytes).then(|| Self {
            body_bytes,
            content: ArtifactId::from_bytes(*content),
            kept_at: Timestamp::from_micros(i64::from_le_bytes(*kept_at)),
            values: u32::from_le_bytes(*values),
            name: *name,
            nonce: *nonce,
        })
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.open_part();
        bytes.extend_from_slice(&self.nonce);
        bytes
    }

    fn open_part(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&self.body_bytes.to_le_bytes());
        bytes.extend_from_slice(self.content.as_bytes());
        bytes.extend_from_slice(&self.kept_at.as_micros().to_le_bytes());
        bytes.extend_from_slice(&self.values.to_le_bytes());
        bytes.extend_from_slice(&self.name);
        bytes
    }

    fn authenticated(&self) -> Vec<u8> {
        [MAGIC.as_slice(), &self.open_part()].concat()
    }
}

fn encode(values: &[Value]) -> Vec<u8> {
    let length = values.iter().map(|value| VALUE_FRAME_BYTES + value.original.len()).sum();
    let mut bytes = Vec::with_capacity(length);
    for value in values {
        let own = u32::try_from(value.original.len()).unwrap_or(u32::MAX);
        bytes.extend_from_slice(&value.offset.to_le_bytes());
        bytes.extend_from_slice(&value.instead_bytes.to_le_bytes());
        bytes.extend_from_slice(&own.to_le_bytes());
        bytes.extend_from_slice(&value.original);
    }
    bytes
}

fn decode(mut bytes: &[u8]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    while !bytes.is_empty() {
        let (offset, rest) = bytes.split_first_chunk::<8>()?;
        let (instead, rest) = rest.split_first_chunk::<4>()?;
        let (own, rest) = rest.split_first_chunk::<4>()?;
        let (original, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*own)).ok()?)?;
        values.push(Value {
            offset: u64::from_le_bytes(*offset),
            instead_bytes: u32::from_le_bytes(*instead),
            original: original.to_vec(),
        });
        bytes = rest;
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Value> {
        vec![
            Value { offset: 7, instead_bytes: 23, original: b"first".to_vec() },
            Value { offset: 70, instead_bytes: 4, original: b"second one".to_vec() },
        ]
    }

    fn parts(record: &[u8]) -> (Header, &[u8]) {
        let (header, body) = record.split_first_chunk::<HEADER_BYTES>().expect("a header");
        (Header::decode(header).expect("a header"), body)
    }

    #[test]
    fn a_record_opens_under_its_key_and_nowhere_else() {
        let (keys, others) = (Keys::of(&[7; 32]), Keys::of(&[8; 32]));
        let content = stemmata_model::artifact_id(b"content");
        let record = keys.seal(content, (Timestamp::from_micros(9), &values()), [1; 24]).expect("sealed");
        for value in values() {
            let is_in = record.windows(value.original.len()).any(|window| window == value.original);
            assert!(!is_in, "a value stands in the open");
        }
        let (header, body) = parts(&record);
        assert_eq!((header.content, header.kept_at.as_micros(), header.values), (content, 9, 2));
        assert_eq!(keys.open(&header, body), Some(values()));
        assert_eq!(others.open(&header, body), None);
        assert_ne!(keys.check(), others.check());
    }

    #[test]
    fn a_record_that_was_changed_anywhere_does_not_open() {
        let keys = Keys::of(&[7; 32]);
        let content = stemmata_model::artifact_id(b"content");
        let record = keys.seal(content, (Timestamp::from_micros(9), &values()), [1; 24]).expect("sealed");
        for at in 0..record.len() {
            let mut changed = record.clone();
            changed[at] ^= 1;
            let (header, body) = changed.split_first_chunk::<HEADER_BYTES>().expect("a header");
            let opened = Header::decode(header).and_then(|header| keys.open(&header, body));
            assert_eq!(opened, None, "byte {at}");
        }
    }
}
