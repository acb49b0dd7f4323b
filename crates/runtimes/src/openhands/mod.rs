//! `OpenHands`, whose events are read: `openhands-v1`, one a line, and `openhands-legacy-v1`, all in one array.

mod events;
#[cfg(test)]
mod events_tests;
mod legacy;

use stemmata_acts::tools::table;

use crate::captured::Captured;
use crate::clients::{Client, EventFolder};
use crate::imported::{Imported, unchecked};
use crate::registry::{Mark, Registered};

pub(crate) use events::RUNTIME;

/// `OpenHands`. Where its events are depends on how it is run, so nothing is looked for.
pub static CLIENT: Client = Client {
    // `events/event-00000-<id>.json`, and before its SDK `events/0.json`.
    events: Some(&EventFolder { format: FORMAT, prefix: "event-", plain: "events" }),
    ..Client::read_only(
        RUNTIME,
        &[
            Registered::new(&EVENTS, &[Mark::Keys(&["id", "timestamp", "source"])]),
            Registered::new(&LEGACY, &[Mark::List]),
        ],
        Some(&table::OPENHANDS),
    )
};

/// The format of its events.
pub const FORMAT: &str = "openhands-v1";

/// The adapter of `openhands-v1`.
pub const EVENTS: Captured = Captured {
    name: FORMAT,
    dialect: &events::DIALECT,
    first: events::first,
    encode: events::encode,
    compaction: events::compaction,
};

/// The adapter of `openhands-legacy-v1`.
pub const LEGACY: Imported = Imported {
    name: "openhands-legacy-v1",
    dialect: &legacy::DIALECT,
    is_json: true,
    claims: legacy::claims,
    check: unchecked,
    encode: legacy::encode,
};
