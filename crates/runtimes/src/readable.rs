//! What is read instead of a document that is no text, where somebody looks for secrets in it.
//!
//! Where secrets are and what stands for them is not decided here: that is the scrubber's, which reads JSON.

use std::ops::Range;

/// A document's texts as JSON, and where each stands in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readable {
    /// JSON with every text of the document, its fields named as other clients name them.
    pub json: String,
    /// Strings of it and what they were made of; ascending.
    pub(crate) places: Vec<Place>,
}

/// A piece of the JSON and the bytes that it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) json: Range<usize>,
    pub(crate) own: Range<usize>,
    /// Whether the piece is a text in quotes; else it stands in the document as it is.
    pub(crate) is_quoted: bool,
}

impl Readable {
    /// Returns where a part of the JSON stands in the document: as near as is known.
    pub fn place(&self, of: Range<usize>) -> Range<usize> {
        let before = self.places.partition_point(|place| place.json.start <= of.start);
        let Some(place) = before.checked_sub(1).and_then(|last| self.places.get(last)) else {
            return 0..0;
        };
        let start = place.json.start + usize::from(place.is_quoted);
        let inside = |at: usize| {
            let raw = self.json.get(start..at.min(place.json.end)).unwrap_or_default();
            let text = serde_json::from_str::<String>(&format!("\"{raw}\"")).ok().filter(|_| place.is_quoted);
            (place.own.start + text.map_or(raw.len(), |text| text.len())).min(place.own.end)
        };
        inside(of.start)..inside(of.end)
    }
}
