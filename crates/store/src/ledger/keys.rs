//! What events are known by besides their places: hashes that a caller gives, so that what it says twice stands once.
//!
//! What is hashed is the caller's own affair. Nothing here can be read back.

use stemmata_model::{CanonicalEncoder, EventSeq, Timestamp};

/// Keys of one append at most.
pub const APPEND_KEYS_MAX: usize = 4_096;

/// Half of a BLAKE3 hash: the name of an event in its ledger, or what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventKey([u8; 16]);

impl EventKey {
    /// Hashes texts or bytes, each with its length.
    pub fn of<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Self {
        Self::half(blake3::hash(&encoded(parts)))
    }

    /// Hashes as [`EventKey::of`] does, with a secret: nobody without it can try out what was hashed.
    pub fn keyed<T: AsRef<[u8]>>(secret: &[u8; 32], parts: impl IntoIterator<Item = T>) -> Self {
        Self::half(blake3::keyed_hash(secret, &encoded(parts)))
    }

    fn half(hash: blake3::Hash) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self(half)
    }

    /// Wraps a hash that was stored.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the hash.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

fn encoded<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Vec<u8> {
    parts.into_iter().fold(CanonicalEncoder::new(1), |all, part| all.bytes(part.as_ref())).finish()
}

/// A key of events that are to be appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewKey {
    /// The key: one of these in a ledger.
    pub key: EventKey,
    /// What stands there, for who compares.
    pub digest: EventKey,
    /// The first of its events, counted from 0 within the append.
    pub at: usize,
    /// How many events it stands for; at least 1.
    pub events: usize,
    /// When the key is free again; none for as long as its first event says something.
    pub until: Option<Timestamp>,
}

/// A key that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyed {
    /// The key.
    pub key: EventKey,
    /// What was given with it.
    pub digest: EventKey,
    /// The first of its events.
    pub first: EventSeq,
    /// The last of them.
    pub last: EventSeq,
    /// When the key is free again.
    pub until: Option<Timestamp>,
}

impl Keyed {
    /// Returns a key as it is after an append whose first event has this place.
    pub fn placed(new: &NewKey, first: EventSeq) -> Option<Self> {
        let place = |at: usize| EventSeq::new(first.get().checked_add(u64::try_from(at).ok()?)?);
        let last = new.at.checked_add(new.events)?.checked_sub(1)?;
        let (key, digest, until) = (new.key, new.digest, new.until);
        Some(Self { key, digest, first: place(new.at)?, last: place(last)?, until })
    }

    /// Says whether nobody else can have the key yet.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }
}
