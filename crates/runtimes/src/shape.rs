//! What a transcript is made of, as far as everybody who reads or writes one has to know.

#[cfg(doc)]
use crate::adapter::{Adapter, Placer, Splitter, Validator};

/// What a transcript of a format is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lines: what is there stays, and more may follow.
    Lines,
    /// One document, which a client writes anew as a whole. What is called a line elsewhere is all of it: [`Splitter`],
    /// [`Placer`], [`Validator`] and [`Adapter::ids`] are given it at once.
    Document,
}

impl Shape {
    /// Returns what bytes are read by: lines without their newlines, the last one as far as it goes, or all of them.
    pub fn units(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.written_units(bytes).map(move |unit| match self {
            Self::Lines => unit.strip_suffix(b"\n").unwrap_or(unit),
            Self::Document => unit,
        })
    }

    /// Returns what a [`Validator`] is given of bytes that were written: lines with their newlines, or all of them.
    pub fn written_units(self, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut rest = bytes;
        std::iter::from_fn(move || {
            let newline = memchr::memchr(b'\n', rest).filter(|_| self == Self::Lines);
            let (unit, behind) = rest.split_at_checked(newline.map_or(rest.len(), |newline| newline + 1))?;
            rest = behind;
            (!unit.is_empty()).then_some(unit)
        })
    }
}
