//! Reading a range of a text that comes in pieces: so many lines, bytes or characters of it, within a bound.
//!
//! A character belongs to the range that its first byte is in. So ranges that follow each other hold all of the text once.

use std::ops::ControlFlow;

use stemmata_api::v1::ArtifactUnit;

/// Returns the number of the first one of its kind in a text.
pub const fn first_of(unit: ArtifactUnit) -> u64 {
    match unit {
        ArtifactUnit::Lines => 1,
        ArtifactUnit::Bytes | ArtifactUnit::Chars => 0,
    }
}

/// A range of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextRange {
    /// What it counts.
    pub unit: ArtifactUnit,
    /// The first one that it holds.
    pub from: u64,
    /// The first one behind it. Without it the range ends with the text.
    pub to: Option<u64>,
}

impl TextRange {
    /// A whole text.
    pub const WHOLE: Self = Self { unit: ArtifactUnit::Bytes, from: 0, to: None };
}

/// A place in a text, before a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextPlace {
    /// Bytes before it.
    pub bytes: u64,
    /// Characters before it.
    pub chars: u64,
    /// Newlines before it.
    pub newlines: u64,
}

impl TextPlace {
    /// Returns how many there are before it, as a range of this unit counts.
    pub const fn number(self, unit: ArtifactUnit) -> u64 {
        match unit {
            ArtifactUnit::Lines => self.newlines + 1,
            ArtifactUnit::Bytes => self.bytes,
            ArtifactUnit::Chars => self.chars,
        }
    }
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRead {
    /// The bytes of whole characters; as stored, so they need not be UTF-8.
    pub bytes: Vec<u8>,
    /// Where they begin.
    pub from: TextPlace,
    /// Where they end.
    pub to: TextPlace,
    /// Whether the bound ended them, and not the range or the text.
    pub is_cut: bool,
}

/// Takes a text in pieces and keeps what is in the range.
#[derive(Debug)]
pub struct RangeReader {
    range: TextRange,
    bytes_max: usize,
    place: TextPlace,
    kept: Vec<u8>,
    from: Option<TextPlace>,
    is_kept: bool,
    is_cut: bool,
}

impl RangeReader {
    /// Begins at a place of the text, with at most so many bytes to keep, and at least the four of one character.
    pub fn new(range: TextRange, at: TextPlace, bytes_max: usize) -> Self {
        let (kept, from) = (Vec::new(), None);
        let bytes_max = bytes_max.max(4);
        Self { range, bytes_max, place: at, kept, from, is_kept: false, is_cut: false }
    }

    /// Takes the next piece, which may end within a character, and says whether to go on.
    pub fn push(&mut self, piece: &[u8]) -> ControlFlow<()> {
        for byte in piece {
            // A text does not begin within a character: what does is no text, and is not to be passed over.
            let is_first = byte & 0xC0 != 0x80 || self.place == TextPlace::default();
            if is_first {
                let number = self.place.number(self.range.unit);
                if self.range.to.is_some_and(|to| number >= to) {
                    return ControlFlow::Break(());
                }
                self.is_kept = number >= self.range.from;
                if self.is_kept && self.kept.len() + length_of(*byte) > self.bytes_max {
                    self.is_cut = true;
                    return ControlFlow::Break(());
                }
            }
            if self.is_kept {
                if self.kept.len() == self.bytes_max {
                    // More bytes follow than a character has: the text is none.
                    self.is_cut = true;
                    return ControlFlow::Break(());
                }
                self.from.get_or_insert(self.place);
                self.kept.push(*byte);
            }
            self.place.bytes += 1;
            self.place.chars += u64::from(is_first);
            self.place.newlines += u64::from(*byte == b'\n');
        }
        ControlFlow::Continue(())
    }

    /// Returns what was kept. `None` where the text ended before the range began.
    pub fn finish(self) -> Option<RangeRead> {
        let is_reached = self.place.number(self.range.unit) >= self.range.from;
        let from = self.from.unwrap_or(self.place);
        is_reached.then_some(RangeRead { bytes: self.kept, from, to: self.place, is_cut: self.is_cut })
    }

    /// Returns where the text was read to.
    pub const fn place(&self) -> TextPlace {
        self.place
    }
}

/// Returns the bytes of the character that begins with this one.
const fn length_of(first: u8) -> usize {
    match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], range: TextRange, bytes_max: usize, piece: usize) -> Option<RangeRead> {
        let mut reader = RangeReader::new(range, TextPlace::default(), bytes_max);
        for piece in text.chunks(piece.max(1)) {
            if reader.push(piece).is_break() {
                break;
            }
        }
        reader.finish()
    }

    fn unit() -> impl Strategy<Value = ArtifactUnit> {
        prop_oneof![Just(ArtifactUnit::Lines), Just(ArtifactUnit::Bytes), Just(ArtifactUnit::Chars)]
    }

    proptest! {
        #[test]
        fn ranges_that_follow_each_other_are_the_whole_text(
            text in "[a-zé日😀\\n]{0,60}", unit in unit(), mut cuts in proptest::collection::vec(0..90_u64, 0..5), piece in 1..9_usize,
        ) {
            cuts.sort_unstable();
            let mut whole = Vec::new();
            let ends = cuts.iter().copied().map(Some).chain([None]);
            let starts = std::iter::once(first_of(unit)).chain(cuts.iter().copied());
            for (from, to) in starts.zip(ends) {
                let range = TextRange { unit, from, to };
                if let Some(read) = read(text.as_bytes(), range, usize::MAX, piece) {
                    prop_assert!(std::str::from_utf8(&read.bytes).is_ok());
                    prop_assert!(!read.is_cut);
                    whole.extend(read.bytes);
                }
            }
            prop_assert_eq!(String::from_utf8(whole).expect("text"), text);
        }

        #[test]
        fn pages_by_bytes_are_the_whole_text_within_the_bound(
            text in "[a-zé日😀\\n]{0,60}", bytes_max in 4..20_usize, piece in 1..9_usize,
        ) {
            let mut whole = Vec::new();
            let mut from = 0;
            loop {
                let range = TextRange { unit: ArtifactUnit::Bytes, from, to: None };
                let read = read(text.as_bytes(), range, bytes_max, piece).expect("a page");
                prop_assert!(read.bytes.len() <= bytes_max);
                prop_assert_eq!(read.from.bytes, from);
                prop_assert_eq!(read.to.bytes, from + read.bytes.len() as u64);
                from = read.to.bytes;
                whole.extend(read.bytes);
                if !read.is_cut {
                    break;
                }
            }
            prop_assert_eq!(String::from_utf8(whole).expect("text"), text);
        }

        #[test]
        fn any_bytes_are_within_the_bound(bytes in proptest::collection::vec(any::<u8>(), 0..80), bytes_max in 0..20_usize, unit in unit()) {
            let range = TextRange { unit, from: first_of(unit), to: None };
            let read = read(&bytes, range, bytes_max, 7).expect("it begins at the start");
            prop_assert!(read.bytes.len() <= bytes_max.max(4));
        }
    }

    #[test]
    fn ranges_count_as_people_do() {
        let text = "one\ntwö\nthree\n".as_bytes();
        let told = |unit, from, to| {
            let read = read(text, TextRange { unit, from, to }, usize::MAX, 3);
            read.map(|read| String::from_utf8(read.bytes).expect("text"))
        };
        assert_eq!(told(ArtifactUnit::Lines, 2, Some(3)).as_deref(), Some("twö\n"));
        assert_eq!(told(ArtifactUnit::Lines, 3, None).as_deref(), Some("three\n"));
        assert_eq!(told(ArtifactUnit::Bytes, 4, Some(7)).as_deref(), Some("twö"), "ö begins in it");
        assert_eq!(told(ArtifactUnit::Bytes, 7, Some(9)).as_deref(), Some("\n"), "ö began before");
        assert_eq!(told(ArtifactUnit::Chars, 6, Some(7)).as_deref(), Some("ö"));
        assert_eq!(told(ArtifactUnit::Chars, 14, None).as_deref(), Some(""));
        assert_eq!(told(ArtifactUnit::Chars, 15, None), None);
        assert_eq!(told(ArtifactUnit::Lines, 5, None), None);
    }
}
