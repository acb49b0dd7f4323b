//! A pass over JSON text that stops only at the values that its caller asks for.
//!
//! It accepts exactly what `serde_json` accepts as a raw value and decodes nothing. It is an own one because a reader of
//! `serde_json` looks at each string of a line twice, and anew behind each backslash.

use std::borrow::Cow;

use super::Field;

/// A text is not JSON, or another value than the one that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused;

/// A place in a JSON text.
#[derive(Debug)]
pub(crate) struct Skim<'a> {
    outer: Field<'a>,
    at: usize,
    /// Of each list that a skipped value is in, whether it is an object. Nesting has no limit, as nothing recurses.
    open: Vec<bool>,
}

impl<'a> Skim<'a> {
    /// Reads a text with `read`; only white space may follow what that takes.
    pub(crate) fn whole<T>(
        outer: Field<'a>,
        read: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let mut skim = Self { outer, at: 0, open: Vec::new() };
        let read = read(&mut skim)?;
        if skim.peek().is_none() { Ok(read) } else { Err(Refused) }
    }

    /// Reads the value that a text begins with, whatever follows it. Returns how much was read, an error where it is none.
    pub(crate) fn first(outer: Field<'a>) -> Result<usize, usize> {
        let mut skim = Self { outer, at: 0, open: Vec::new() };
        let read = skim.skip();
        read.map(|()| skim.at).map_err(|Refused| skim.at)
    }

    /// Reads an object. `member` gets each key, and reads its value.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&str, &mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.members(|key, skim| {
            let inner = key.raw().get(1..key.raw().len() - 1).unwrap_or_default();
            let has_escapes = inner.as_bytes().contains(&b'\\');
            let name = if has_escapes { key.text().unwrap_or_default() } else { Cow::Borrowed(inner) };
            member(&name, skim)
        })
    }

    /// Reads an object. `member` gets each key as it is written, and reads its value.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(Field<'a>, &mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.list(b'{', b'}', |skim| {
            let (key, ()) = skim.spanned(Self::string)?;
            skim.expect(b':')?;
            member(key, skim)
        })
    }

    /// Reads a list. `element` reads each element.
    pub(crate) fn array(
        &mut self,
        element: impl FnMut(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.list(b'[', b']', element)
    }

    /// Reads a value.
    pub(crate) fn value(&mut self) -> Result<Field<'a>, Refused> {
        Ok(self.spanned(Self::skip)?.0)
    }

    /// Reads a value with `read`, and returns its text too.
    pub(crate) fn spanned<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Refused>,
    ) -> Result<(Field<'a>, T), Refused> {
        self.peek();
        let start = self.at;
        let read = read(self)?;
        let raw = self.outer.raw().get(start..self.at).ok_or(Refused)?;
        Ok((Field::within(self.outer, raw), read))
    }

    /// Returns the next byte that is not white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    /// Reads a value that nobody asks for.
    pub(crate) fn skip(&mut self) -> Result<(), Refused> {
        self.open.clear();
        loop {
            match self.peek().ok_or(Refused)? {
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    let is_object = open == b'{';
                    if !self.takes(if is_object { b'}' } else { b']' }) {
                        self.open.push(is_object);
                        self.skip_key(is_object)?;
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => self.number()?,
            }
            // A value ends here, and with it each list whose last one it is.
            loop {
                let Some(&is_object) = self.open.last() else { return Ok(()) };
                if self.takes(b',') {
                    self.skip_key(is_object)?;
                    break;
                }
                self.expect(if is_object { b'}' } else { b']' })?;
                self.open.pop();
            }
        }
    }

    fn skip_key(&mut self, is_object: bool) -> Result<(), Refused> {
        if is_object {
            self.peek();
            self.string()?;
            self.expect(b':')?;
        }
        Ok(())
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        self.expect(open)?;
        if self.takes(close) {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.takes(b',') {
                return self.expect(close);
            }
        }
    }

    fn string(&mut self) -> Result<(), Refused> {
        self.expect(b'"')?;
        let bytes = self.outer.raw().as_bytes();
        let mut at = self.at;
        loop {
            while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
                let marks = marks(u64::from_le_bytes(*eight));
                // A branch, because it can be foreseen: where the next eight are read must not wait for a count.
                if marks != 0 {
                    at += marks.trailing_zeros() as usize / 8;
                    break;
                }
                at += 8;
            }
            match bytes.get(at).ok_or(Refused)? {
                b'"' => {
                    self.at = at + 1;
                    return Ok(());
                }
                b'\\' => at += escape_bytes(bytes.get(at..).unwrap_or_default())?,
                0..=0x1f => return Err(Refused),
                _ => at += 1,
            }
        }
    }

    fn number(&mut self) -> Result<(), Refused> {
        self.at += usize::from(self.byte() == Some(b'-'));
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Refused> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Refused) }
    }

    fn word(&mut self, word: &str) -> Result<(), Refused> {
        let rest = self.outer.raw().as_bytes().get(self.at..).unwrap_or_default();
        self.at += word.len();
        if rest.starts_with(word.as_bytes()) { Ok(()) } else { Err(Refused) }
    }

    fn byte(&self) -> Option<u8> {
        self.outer.raw().as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Refused> {
        if self.takes(byte) { Ok(()) } else { Err(Refused) }
    }
}

/// Returns the highest bit of each of eight bytes that is a quote, a backslash or a control character.
///
/// A borrow can set one in vain, but only above one that is set rightly: the lowest says where the first of them is.
const fn marks(eight: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let quote = eight ^ (ONES * b'"' as u64);
    let backslash = eight ^ (ONES * b'\\' as u64);
    let found = (quote.wrapping_sub(ONES) & !quote)
        | (backslash.wrapping_sub(ONES) & !backslash)
        | (eight.wrapping_sub(ONES * b' ' as u64) & !eight);
    found & (ONES << 7)
}

/// Returns the length of the escape that a text begins with.
fn escape_bytes(text: &[u8]) -> Result<usize, Refused> {
    match text.get(1).ok_or(Refused)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(2),
        b'u' if text.get(2..6).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) => Ok(6),
        _ => Err(Refused),
    }
}

#[cfg(test)]
pub(crate) mod tests;
