//! The bound on a ledger's raw output, and the receipt of the payloads that the ledger has dropped.
//!
//! Which events are raw output is `ledger`'s.

use stemmata_model::{EventSeq, Gone};

use super::events::chained;
use crate::ledger::{OUTPUT_BYTES_MAX, OUTPUT_EVENTS_MAX, Receipt};

/// Returns whether a ledger keeps more raw output than it may: the oldest goes then, until it does not.
pub const fn exceeds(events: u64, bytes: u64) -> bool {
    events > OUTPUT_EVENTS_MAX || bytes > OUTPUT_BYTES_MAX
}

/// Returns the receipt of a topic once one more payload is gone.
pub fn receipt_after(before: Option<&Receipt>, seq: EventSeq, gone: Gone) -> Receipt {
    Receipt {
        events: before.map_or(0, |receipt| receipt.events).saturating_add(1),
        bytes: before.map_or(0, |receipt| receipt.bytes).saturating_add(gone.bytes),
        chain: chained(before.map_or([0; 32], |receipt| receipt.chain), gone.hash, gone.bytes),
        // A trim may let go of what is older than what the bounds took.
        through: before.map_or(seq, |receipt| receipt.through.max(seq)),
    }
}
