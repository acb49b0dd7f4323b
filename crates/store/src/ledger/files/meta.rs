//! `meta.json`: what is known of a ledger, and which version its folder is of.
//!
//! What a folder without a readable one is taken for is `restore`'s.

use stemmata_model::{LedgerId, Timestamp};

use super::line::{IntegrityMode, number, time};
use super::seal;
use super::v2::{AnyMeta, MetaV2, SCHEMA_VERSION};
use crate::ledger::Ledger;

/// Bytes of the file at most: as many marks as there may be, each byte escaped.
pub(super) const META_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What is known of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) id: LedgerId,
    pub(super) root: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) compacted_at: Option<Timestamp>,
    pub(super) mode: IntegrityMode,
    /// The number before the first event's.
    pub(super) base: u64,
    /// Rises whenever the events' file is written anew.
    pub(super) generation: u64,
    pub(super) marks: Vec<String>,
}

/// Why a `meta.json` is none of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MetaFault {
    Unreadable(String),
    Version(u32),
    OtherProgram(String),
    /// It is another ledger's than its folder's.
    Misplaced(LedgerId),
}

impl Meta {
    pub(super) fn new(id: LedgerId, now: Timestamp, mode: IntegrityMode) -> Self {
        let (root, compacted_at, marks) = (None, None, Vec::new());
        Self { id, root, created_at: now, compacted_at, mode, base: 0, generation: 1, marks }
    }

    pub(super) fn encode(&self) -> String {
        let meta = MetaV2 {
            schema_version: SCHEMA_VERSION,
            project_id: self.id.to_string(),
            project_root: self.root.clone(),
            created_at: self.created_at.to_string(),
            last_compacted_at: self.compacted_at.map(|at| at.to_string()),
            integrity_mode: <&str>::from(self.mode).to_owned(),
            first_event_seq: (self.base + 1).to_string(),
            generation: self.generation.to_string(),
            marks: self.marks.clone(),
        };
        let text = serde_json::to_string(&meta).expect("texts and numbers are JSON");
        format!("{}\n", seal::seal(&text))
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, MetaFault> {
        let unreadable = |reason: &str| MetaFault::Unreadable(reason.to_owned());
        let line = bytes.strip_suffix(b"\n").ok_or_else(|| unreadable("it does not end with a newline"));
        let sealed = line.clone().and_then(|line| seal::check(line).map_err(MetaFault::Unreadable));
        let any = serde_json::from_slice::<AnyMeta>(bytes);
        if let (Err(_), Ok(any)) = (&sealed, &any)
            && any.checksum.is_none()
        {
            match any.schema_version {
                Some(SCHEMA_VERSION) if any.integrity_mode.is_none() || any.generation.is_none() => {
                    let reason = "its `meta.json` says version 2, but not how lines are protected or how often they were written anew";
                    return Err(MetaFault::OtherProgram(reason.to_owned()));
                }
                Some(SCHEMA_VERSION) | None => {}
                Some(version) => return Err(MetaFault::Version(version)),
            }
        }
        sealed?;
        if let Some(version) = any.ok().and_then(|any| any.schema_version).filter(|v| *v != SCHEMA_VERSION) {
            return Err(MetaFault::Version(version));
        }
        let read: MetaV2 =
            serde_json::from_slice(line?).map_err(|error| MetaFault::Unreadable(error.to_string()))?;
        Self::of(read).ok_or_else(|| unreadable("it says things that no version writes"))
    }

    fn of(read: MetaV2) -> Option<Self> {
        let compacted_at = match &read.last_compacted_at {
            Some(text) => Some(time(text)?),
            None => None,
        };
        Some(Self {
            id: LedgerId::new(read.project_id).ok()?,
            root: read.project_root,
            created_at: time(&read.created_at)?,
            compacted_at,
            mode: read.integrity_mode.parse().ok()?,
            base: number(&read.first_event_seq)?.checked_sub(1)?,
            generation: number(&read.generation)?,
            marks: read.marks,
        })
    }

    /// Returns it as the seam says it.
    pub(super) fn ledger(self, last: u64, last_at: Option<Timestamp>) -> Ledger {
        Ledger {
            id: self.id,
            created_at: self.created_at,
            last,
            last_at,
            root: self.root,
            compacted_at: self.compacted_at,
            // It rises with every forgetting, too.
            epoch: self.generation,
            marks: self.marks,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta() -> Meta {
        Meta {
            root: Some("/src/\"app\"".to_owned()),
            compacted_at: Some(Timestamp::from_micros(7)),
            marks: vec!["remote:x".to_owned()],
            base: (1 << 53) + 1,
            ..Meta::new(LedgerId::new("p").expect("a name"), Timestamp::EPOCH, IntegrityMode::Chain)
        }
    }

    #[test]
    fn it_comes_back_and_every_flipped_bit_is_found() {
        let bytes = meta().encode().into_bytes();
        assert_eq!(Meta::decode(&bytes), Ok(meta()));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let read = Meta::decode(&flipped);
            assert!(matches!(read, Err(MetaFault::Unreadable(_))), "bit {bit}: {read:?}");
        }
        for length in 0..bytes.len() {
            assert!(
                matches!(Meta::decode(&bytes[..length]), Err(MetaFault::Unreadable(_))),
                "{length} bytes"
            );
        }
    }

    #[test]
    fn other_versions_and_programs_are_told_apart() {
        let of = |text: &str| Meta::decode(text.as_bytes());
        assert_eq!(of(r#"{"schema_version":1,"turns":[]}"#), Err(MetaFault::Version(1)));
        let three = format!("{}\n", seal::seal(r#"{"schema_version":3,"project_id":"p"}"#));
        assert_eq!(of(&three), Err(MetaFault::Version(3)));
        let other = of(r#"{"schema_version":2,"project_id":"bc6fec14","project_root":null,"turn_count":3}"#);
        assert!(matches!(other, Err(MetaFault::OtherProgram(_))), "{other:?}");
        let plain =
            r#"{"schema_version":2,"project_id":"p","integrity_mode":"checksum","first_event_seq":1}"#;
        assert!(matches!(of(plain), Err(MetaFault::OtherProgram(_))));
        assert!(matches!(of("{}"), Err(MetaFault::Unreadable(_))));
        assert!(matches!(of(""), Err(MetaFault::Unreadable(_))));
    }
}
