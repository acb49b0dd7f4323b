//! Packs of recall as wire types.

use stemmata_api::v1;
use stemmata_engine::{ChosenCounter, Recalled};

/// Returns a pack, what it was asked within, what was searched, and its notes.
pub(crate) fn recalled(
    found: Recalled,
    (max_tokens, counter): (u64, &ChosenCounter),
    (scope, notes): (v1::RecallScope, Vec<v1::Note>),
) -> v1::Recalled {
    v1::Recalled {
        text: found.text,
        tokens: found.tokens.0,
        max_tokens,
        counter: counter.spec.to_string(),
        counted: super::prompt::counted(counter),
        scope,
        items: found.items,
        skipped: found.skipped,
        notes,
    }
}
