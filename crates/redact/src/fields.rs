//! Which fields of a record are never touched: signatures, ciphertext, images, identities.
//! Only names and shapes; where a field stands is known to `walk`.

use crate::rules::{Fields, Shape};

/// Base64 shorter than this could be a secret itself and is looked at.
const OPAQUE_BYTES_MIN: usize = 64;

/// A field that holds a string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) key: &'a [u8],
    /// The raw content, escapes and all.
    pub(crate) value: &'a [u8],
    /// It stands inside what a tool was given or gave back.
    pub(crate) free: bool,
}

/// What becomes of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Look,
    Skip,
    /// Skip if the object turns out to have an opaque type.
    SkipIfTyped,
}

impl Fields {
    pub(crate) fn verdict(&self, field: Field<'_>) -> Verdict {
        let mut verdict = Verdict::Look;
        for skip in self.skip.iter().filter(|skip| skip.key.as_bytes() == field.key) {
            match skip.shape {
                Shape::Any if !field.free => return Verdict::Skip,
                Shape::Base64 if is_opaque(field.value) => return Verdict::Skip,
                Shape::Typed if !field.free => verdict = Verdict::SkipIfTyped,
                Shape::Any | Shape::Base64 | Shape::Typed => {}
            }
        }
        verdict
    }

    pub(crate) fn is_free(&self, key: &[u8]) -> bool {
        self.free.iter().any(|name| name.as_bytes() == key)
    }

    /// Tells whether a field holds a signature or ciphertext.
    pub(crate) fn is_seal(&self, key: &[u8]) -> bool {
        self.seals.iter().any(|name| name.as_bytes() == key)
    }

    pub(crate) fn is_opaque_type(&self, value: &[u8]) -> bool {
        self.opaque_types.iter().any(|name| name.as_bytes() == value)
    }

    /// Finds the stretches of a text that are fields never to be touched, for a line that is no JSON as a whole.
    /// They are sorted and disjoint.
    pub(crate) fn protected(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for skip in &self.skip {
            let name = format!("\"{}\"", skip.key);
            for at in memchr::memmem::find_iter(text, &name) {
                let rest = text.get(at + name.len()..).unwrap_or_default();
                let blank = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                let before = blank(rest);
                let Some(after) = rest.get(before..).and_then(|rest| rest.strip_prefix(b":")) else {
                    continue;
                };
                let gap = blank(after);
                let Some(value) = after.get(gap..).and_then(|rest| rest.strip_prefix(b"\"")) else {
                    continue;
                };
                let start = text.len() - value.len();
                let value = value
                    .get(..memchr::memchr2(b'"', b'\\', value).unwrap_or(value.len()))
                    .unwrap_or_default();
                if skip.shape == Shape::Any || is_opaque(value) {
                    found.push((start, start + value.len()));
                }
            }
        }
        // Two shapes of one name find the same string; strings of two names cannot overlap.
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// One run of base64, bare or in a data URL.
fn is_opaque(value: &[u8]) -> bool {
    let body = match value.strip_prefix(b"data:") {
        Some(url) => {
            memchr::memmem::find(url, b";base64,").and_then(|at| url.get(at + 8..)).unwrap_or_default()
        }
        None => value,
    };
    body.len() >= OPAQUE_BYTES_MIN
        && body.iter().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'-' | b'_')
        })
}
