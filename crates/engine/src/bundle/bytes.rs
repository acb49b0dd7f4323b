//! The small encodings that records are made of: numbers, texts, ids.
//!
//! Specified in `docs/format/bundle.md`. What records hold is theirs.

use stemmata_model::{ArtifactId, CommitId, NameError, Timestamp, to_u64};

/// Bytes that a 64-bit number takes at most.
const NUMBER_BYTES_MAX: usize = 10;

/// Why bytes of a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

impl Malformed {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<NameError> for Malformed {
    fn from(error: NameError) -> Self {
        Self(error.to_string())
    }
}

pub(crate) fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

pub(crate) fn put_length(bytes: &mut Vec<u8>, length: usize) {
    put_number(bytes, to_u64(length));
}

/// Signed numbers change places with unsigned ones, so that small ones of either sign are short.
pub(crate) fn put_signed(bytes: &mut Vec<u8>, value: i64) {
    put_number(bytes, (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
}

pub(crate) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_length(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

/// A text or none: none is a 0, a text is its length and one more.
pub(crate) fn put_optional(bytes: &mut Vec<u8>, text: Option<&str>) {
    match text {
        None => bytes.push(0),
        Some(text) => {
            put_length(bytes, text.len() + 1);
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

/// Takes values off the front of a record's body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Take<'a> {
    rest: &'a [u8],
}

impl<'a> Take<'a> {
    pub(crate) const fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    /// Returns what was not taken yet.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Says that nothing more may follow.
    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(Malformed(format!("{} bytes follow where its body should end", self.rest.len())))
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| Malformed::new("its body ends too early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Takes a number; the shortest form is the only one.
    pub(crate) fn number(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for place in 0..NUMBER_BYTES_MAX {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if place == NUMBER_BYTES_MAX - 1 && bits > 1 {
                break;
            }
            value |= bits << (place * 7);
            if byte & 0x80 == 0 {
                if byte == 0 && place > 0 {
                    return Err(Malformed::new("a number is longer than it needs to be"));
                }
                return Ok(value);
            }
        }
        Err(Malformed::new("a number has more than 64 bits"))
    }

    pub(crate) fn signed(&mut self) -> Result<i64, Malformed> {
        let value = self.number()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// Takes a number that counts or measures something, up to a bound.
    pub(crate) fn count(&mut self, what: &str, bound: u64) -> Result<u64, Malformed> {
        let value = self.number()?;
        if value > bound {
            return Err(Malformed(format!("{what} is {value}, more than {bound}")));
        }
        Ok(value)
    }

    /// Takes how many things follow, each of at least one byte.
    pub(crate) fn rows(&mut self, what: &str) -> Result<usize, Malformed> {
        let bound = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let rows = self.count(what, bound)?;
        Ok(usize::try_from(rows).expect("fewer rows than bytes in memory"))
    }

    pub(crate) fn text(&mut self, what: &str, bytes_max: usize) -> Result<&'a str, Malformed> {
        let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX);
        let length = self.count(&format!("bytes of {what}"), bound)?;
        self.text_of(what, length)
    }

    pub(crate) fn optional(&mut self, what: &str, bytes_max: usize) -> Result<Option<&'a str>, Malformed> {
        let bound = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        match self.count(&format!("bytes of {what}"), bound)? {
            0 => Ok(None),
            length => self.text_of(what, length - 1).map(Some),
        }
    }

    fn text_of(&mut self, what: &str, length: u64) -> Result<&'a str, Malformed> {
        let length = usize::try_from(length).map_err(|_| Malformed::new("its body ends too early"))?;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| Malformed(format!("{what} is not text")))
    }

    pub(crate) fn commit(&mut self) -> Result<CommitId, Malformed> {
        self.array().map(CommitId::from_bytes)
    }

    pub(crate) fn artifact(&mut self) -> Result<ArtifactId, Malformed> {
        self.array().map(ArtifactId::from_bytes)
    }

    pub(crate) fn time(&mut self) -> Result<Timestamp, Malformed> {
        self.signed().map(Timestamp::from_micros)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn values_come_back(numbers in proptest::collection::vec(any::<u64>(), 0..5), signed: i64, shift in 0..64_u32, text in ".{0,20}") {
            let mut bytes = Vec::new();
            for number in &numbers {
                put_number(&mut bytes, number >> shift);
            }
            put_signed(&mut bytes, signed);
            put_text(&mut bytes, &text);
            put_optional(&mut bytes, Some(&text));
            put_optional(&mut bytes, None);
            let mut take = Take::new(&bytes);
            for number in &numbers {
                prop_assert_eq!(take.number(), Ok(number >> shift));
            }
            prop_assert_eq!(take.signed(), Ok(signed));
            prop_assert_eq!(take.text("a text", 80), Ok(text.as_str()));
            prop_assert_eq!(take.optional("a text", 80), Ok(Some(text.as_str())));
            prop_assert_eq!(take.optional("a text", 80), Ok(None));
            prop_assert_eq!(take.end(), Ok(()));
        }

        #[test]
        fn any_bytes_are_values_or_errors(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut take = Take::new(&bytes);
            while take.optional("a text", 8).is_ok() && take.signed().is_ok() {}
        }
    }

    #[test]
    fn a_number_has_one_form() {
        assert_eq!(
            Take::new(&[0x81, 0x00]).number(),
            Err(Malformed::new("a number is longer than it needs to be"))
        );
        let most: Vec<u8> = [[0xff; 9].as_slice(), &[1]].concat();
        assert_eq!(Take::new(&most).number(), Ok(u64::MAX));
        let more: Vec<u8> = [[0xff; 9].as_slice(), &[2]].concat();
        assert!(Take::new(&more).number().is_err());
    }
}
