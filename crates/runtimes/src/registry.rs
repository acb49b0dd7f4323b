//! All adapters, and which of them reads given bytes.

use stemmata_model::FormatId;

use crate::adapter::{Adapter, Detection};

/// Returns every adapter of this version.
pub fn adapters() -> &'static [&'static dyn Adapter] {
    &[]
}

/// Returns the adapter of a format.
pub fn by_format(format: &FormatId) -> Option<&'static dyn Adapter> {
    adapters().iter().copied().find(|adapter| adapter.format() == *format)
}

/// Returns the adapter that knows the first bytes of a file best; the first of equals.
pub fn detect(head: &[u8]) -> Option<(&'static dyn Adapter, Detection)> {
    let mut best: Option<(&'static dyn Adapter, Detection)> = None;
    for adapter in adapters().iter().copied() {
        if let Some(found) = adapter.detect(head)
            && best.as_ref().is_none_or(|(_, known)| found.confidence > known.confidence)
        {
            best = Some((adapter, found));
        }
    }
    best
}
