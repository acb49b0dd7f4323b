//! Writes CBOR as the core deterministic rules want it (RFC 8949 §4.2): the shortest numbers and lengths, keys in the
//! order of their bytes. The same value gives the same bytes.

use super::{ARRAY, BYTES, MAP, NEGATIVE, SIMPLE, TEXT, UNSIGNED};
use stemmata_model::to_u64;

/// Appends a head.
fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let first = |info: u8| major << 5 | info;
    let bytes = argument.to_be_bytes();
    let (info, width) = match argument {
        0..=23 => return out.push(first(bytes.last().copied().unwrap_or_default())),
        24..=0xff => (24, 1),
        0x100..=0xffff => (25, 2),
        0x1_0000..=0xffff_ffff => (26, 4),
        _ => (27, 8),
    };
    out.push(first(info));
    out.extend_from_slice(bytes.get(bytes.len() - width..).unwrap_or_default());
}

/// Returns the head of an array.
pub(crate) fn array_head(count: usize) -> Vec<u8> {
    let mut out = Vec::new();
    head(ARRAY, to_u64(count), &mut out);
    out
}

/// Returns an array of items.
pub(crate) fn array(items: &[Vec<u8>]) -> Vec<u8> {
    let mut out = array_head(items.len());
    for item in items {
        out.extend_from_slice(item);
    }
    out
}

/// Returns a text string.
pub(crate) fn text(text: &str) -> Vec<u8> {
    string(TEXT, text.as_bytes())
}

/// Returns a byte string.
pub(crate) fn bytes(bytes: &[u8]) -> Vec<u8> {
    string(BYTES, bytes)
}

fn string(major: u8, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 9);
    head(major, to_u64(content.len()), &mut out);
    out.extend_from_slice(content);
    out
}

/// Returns `true` or `false`.
pub(crate) fn flag(flag: bool) -> Vec<u8> {
    vec![if flag { 0xf5 } else { 0xf4 }]
}

/// Returns `null`.
pub(crate) fn null() -> Vec<u8> {
    vec![0xf6]
}

/// Returns a whole number; one of more than 64 bits as a number with a point.
pub(crate) fn integer(number: i128) -> Vec<u8> {
    let mut out = Vec::new();
    let (major, size) = if number < 0 { (NEGATIVE, -1 - number) } else { (UNSIGNED, number) };
    match u64::try_from(size) {
        Ok(size) => head(major, size, &mut out),
        #[expect(
            clippy::cast_precision_loss,
            reason = "JSON's numbers of this size are read as floats anyway"
        )]
        Err(_) => return float(number as f64),
    }
    out
}

/// Returns a number with a point, as short as it stays the same.
pub(crate) fn float(number: f64) -> Vec<u8> {
    let mut out = Vec::with_capacity(9);
    #[expect(clippy::cast_possible_truncation, reason = "taken only where nothing was lost")]
    let single = number as f32;
    if f64::from(single).to_bits() != number.to_bits() {
        out.push(SIMPLE << 5 | 0x1b);
        out.extend_from_slice(&number.to_bits().to_be_bytes());
    } else if let Some(half) = half(single) {
        out.push(SIMPLE << 5 | 0x19);
        out.extend_from_slice(&half.to_be_bytes());
    } else {
        out.push(SIMPLE << 5 | 0x1a);
        out.extend_from_slice(&single.to_bits().to_be_bytes());
    }
    out
}

/// Returns the bits of the same number in half the width, where there is one.
fn half(single: f32) -> Option<u16> {
    let bits = single.to_bits();
    let (sign, exponent, fraction) = (bits >> 31 << 15, (bits >> 23) & 0xff, bits & 0x7f_ffff);
    let short = match exponent {
        0 if fraction == 0 => 0,
        // Exponents from -14 to 15, which are written 1 to 30.
        113..=142 if fraction.trailing_zeros() >= 13 => (exponent - 112) << 10 | fraction >> 13,
        // Without a leading one.
        103..=112 if (fraction | 0x80_0000).trailing_zeros() >= 126 - exponent => {
            (fraction | 0x80_0000) >> (126 - exponent)
        }
        _ => return None,
    };
    u16::try_from(sign | short).ok()
}

/// A map that is being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    members: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Map {
    /// Adds a member, its value written already.
    pub(crate) fn with(mut self, key: &str, value: Vec<u8>) -> Self {
        self.members.push((text(key), value));
        self
    }

    /// Adds a text.
    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.with(key, text(value))
    }

    /// Returns the map, its members in the order of their keys' bytes.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.members.sort();
        map(&self.members)
    }
}

/// Returns a map of keys and values as they follow each other.
pub(crate) fn map(members: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    head(MAP, to_u64(members.len()), &mut out);
    for (key, value) in members {
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    }
    out
}
