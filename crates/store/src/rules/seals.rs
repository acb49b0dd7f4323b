//! Seals: checksums of the rows that no hash covers and nothing else can say again.
//!
//! Which rows have them, and over which bytes they are; how rows are written and held to them is each backend's. Specified in
//! `docs/format/store.md`.

use stemmata_model::to_u64;

/// Added to a seal that its row does not have, where nothing gives the row back: it is kept, and no longer reported.
pub(crate) const KEPT: i64 = 1 << 32;

/// A table whose rows have seals.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sealed {
    /// Its name.
    pub(crate) table: &'static str,
    /// The columns that a seal is over, in order; those of the primary key are first.
    pub(crate) columns: &'static [&'static str],
    /// How many of them are the primary key.
    pub(crate) key: usize,
}

/// Who saw a commit, and when.
pub(crate) const SIGHTING: Sealed = Sealed {
    table: "sighting",
    columns: &["origin", "created_at", "commit_row", "trigger", "observed_at", "offset", "length"],
    key: 3,
};

/// Sessions.
pub(crate) const SESSION: Sealed = Sealed {
    table: "session",
    columns: &[
        "path",
        "machine",
        "session",
        "parent_session",
        "format",
        "template",
        "principal",
        "granularity",
        "came",
        "placed_from",
        "title",
        "cwd",
        "git_branch",
        "version",
        "started_at",
        "last_at",
        "tip",
        "commits",
        "messages",
        "bytes",
    ],
    key: 2,
};

/// How far transcripts were read.
pub(crate) const CURSOR: Sealed = Sealed { table: "cursor", columns: &["path", "machine", "value"], key: 2 };

/// Metadata of commits and the records of its changes.
pub(crate) const ANNOTATION: Sealed = Sealed {
    table: "annotation",
    columns: &["commit_row", "kind", "number", "at", "by", "change", "text", "source"],
    key: 3,
};

/// Where sightings come from.
pub(crate) const ORIGIN: Sealed = Sealed {
    table: "origin",
    columns: &["row", "principal", "machine", "session", "path", "ticket", "thread", "template_alias"],
    key: 1,
};

/// Links between commits.
pub(crate) const LINK: Sealed =
    Sealed { table: "link", columns: &["source", "kind", "target", "entry"], key: 4 };

/// Transcripts that were placed.
pub(crate) const PLACEMENT: Sealed = Sealed {
    table: "placement",
    columns: &["path", "machine", "session", "ctx", "taken_bytes", "placed_bytes", "keyed_hash", "placed_at"],
    key: 2,
};

/// Tombstones, condemned things, and what is left to do.
pub(crate) const MARK: Sealed = Sealed { table: "mark", columns: &["kind", "key", "at", "by"], key: 2 };

/// Ledgers.
pub(crate) const LEDGER: Sealed = Sealed {
    table: "ledger",
    columns: &[
        "row",
        "id",
        "created_at",
        "last",
        "last_at",
        "root",
        "compacted_at",
        "output_events",
        "output_bytes",
        "epoch",
    ],
    key: 1,
};

/// What else ledgers are found by.
pub(crate) const LEDGER_MARK: Sealed = Sealed { table: "ledger_mark", columns: &["mark", "ledger"], key: 1 };

/// Names in events.
pub(crate) const NAME: Sealed = Sealed { table: "name", columns: &["row", "text"], key: 1 };

/// Events.
pub(crate) const EVENT: Sealed = Sealed {
    table: "event",
    columns: &[
        "ledger",
        "seq",
        "at",
        "topic",
        "sender",
        "receiver",
        "session",
        "kind",
        "replayable",
        "content",
        "text",
        "data",
        "metadata",
        "hash",
        "bytes",
    ],
    key: 2,
};

/// What ledgers let go of.
pub(crate) const RECEIPT: Sealed = Sealed {
    table: "receipt",
    columns: &["ledger", "topic", "events", "bytes", "chain", "through", "raw_through", "replayable_through"],
    key: 2,
};

/// Saved states.
pub(crate) const STATE: Sealed = Sealed {
    table: "state",
    columns: &["ledger", "name", "version", "through", "position", "state"],
    key: 2,
};

/// How far commits cover ledgers.
pub(crate) const COVERAGE: Sealed =
    Sealed { table: "coverage", columns: &["commit_row", "ledger", "through"], key: 2 };

/// Keys of events.
pub(crate) const EVENT_KEY: Sealed =
    Sealed { table: "event_key", columns: &["ledger", "key", "digest", "first", "last", "until"], key: 2 };

/// All tables whose rows have seals. What the others hold has hashes, or follows from what has.
pub(crate) const SEALED: [&Sealed; 16] = [
    &ORIGIN,
    &SIGHTING,
    &SESSION,
    &CURSOR,
    &PLACEMENT,
    &LINK,
    &ANNOTATION,
    &MARK,
    &LEDGER,
    &LEDGER_MARK,
    &NAME,
    &EVENT,
    &RECEIPT,
    &STATE,
    &COVERAGE,
    &EVENT_KEY,
];

/// A value of a column, as a seal is over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sealable<'v> {
    /// None.
    Null,
    /// A whole number.
    Integer(i64),
    /// A floating number.
    Real(f64),
    /// A text's bytes.
    Text(&'v [u8]),
    /// Bytes.
    Blob(&'v [u8]),
}

/// The hash that a row's seal is the beginning of.
#[derive(Debug)]
pub(crate) struct Sealing(blake3::Hasher);

impl Sealed {
    /// Begins the seal of a row.
    pub(crate) fn sealing(&self) -> Sealing {
        let mut sealing = Sealing(blake3::Hasher::new());
        sealing.add(Sealable::Text(self.table.as_bytes()));
        sealing
    }
}

impl Sealing {
    /// Adds a value as its type, its length and its bytes, so that no two rows have one encoding.
    pub(crate) fn add(&mut self, value: Sealable<'_>) {
        let number;
        let (kind, bytes): (u8, &[u8]) = match value {
            Sealable::Null => (0, &[]),
            Sealable::Integer(value) => {
                number = value.to_le_bytes();
                (1, &number)
            }
            Sealable::Real(value) => {
                number = value.to_bits().to_le_bytes();
                (2, &number)
            }
            Sealable::Text(text) => (3, text),
            Sealable::Blob(bytes) => (4, bytes),
        };
        self.0.update(&[kind]).update(&to_u64(bytes.len()).to_le_bytes()).update(bytes);
    }

    /// Returns the seal: the first four bytes of the hash, as a positive number.
    pub(crate) fn seal(&self) -> i64 {
        let hash = self.0.finalize();
        i64::from(u32::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default()))
    }
}
