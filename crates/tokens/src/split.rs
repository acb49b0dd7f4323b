//! Splits a text into the pieces whose bytes may merge, as the pattern of an encoding does.
//! Not a regular expression: each rule is written out, so that no text makes it try the same run again and again.
//!
//! The patterns, with the alternatives in the order in which they are tried:
//!
//! - o200k: a word (one leading character that is no letter, number or line end; upper case, then lower case, or upper
//!   case alone; a contraction), `\p{N}{1,3}`, ` ?[^\s\p{L}\p{N}]+[\r\n/]*`, `\s*[\r\n]+`, `\s+(?!\S)`, `\s+`.
//! - cl100k: a contraction, `[^\r\n\p{L}\p{N}]?\p{L}+`, `\p{N}{1,3}`, ` ?[^\s\p{L}\p{N}]+[\r\n]*`, `\s+$`,
//!   `\s*[\r\n]`, `\s+(?!\S)`, `\s`.

use crate::classes::{Classes, HEAD, LETTER, NEWLINE, NUMBER, SOME, SPACE, TAIL};

/// Which pattern splits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    O200k,
    Cl100k,
}

/// The pieces of a text, which follow each other without a gap.
pub(crate) struct Pieces<'a> {
    text: &'a str,
    at: usize,
    pattern: Pattern,
    classes: &'static Classes,
    /// Characters that were looked at: what the law about hostile texts counts.
    steps: u64,
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(text: &'a str, pattern: Pattern) -> Self {
        Self { text, at: 0, pattern, classes: Classes::get(), steps: 0 }
    }

    /// Returns how many characters were looked at so far, each as often as that was.
    pub(crate) const fn steps(&self) -> u64 {
        self.steps
    }

    #[inline]
    fn class(&mut self, at: usize) -> (u8, usize) {
        self.steps += 1;
        self.classes.at(self.text, at)
    }

    /// Returns the end of the run of characters from `at` that have a bit of `any` and none of `none`.
    #[inline]
    fn run(&mut self, mut at: usize, any: u8, none: u8) -> usize {
        loop {
            let (class, length) = self.class(at);
            if class & any == 0 || class & none != 0 {
                return at;
            }
            at += length;
        }
    }

    fn end(&mut self, start: usize) -> usize {
        let (class, length) = self.class(start);
        let word = match self.pattern {
            Pattern::O200k => self.word_o200k(start, class, length),
            Pattern::Cl100k => self.word_cl100k(start, class, length),
        };
        match word {
            Some(end) => end,
            None if class & NUMBER != 0 => self.number(start + length),
            None => self.symbols(start, class).unwrap_or_else(|| self.space(start)),
        }
    }

    /// The pattern tries the leading character as such first, and only then as a part of the word: a mark can be either.
    fn word_o200k(&mut self, start: usize, class: u8, length: usize) -> Option<usize> {
        let end = if class & (LETTER | NUMBER | NEWLINE) == 0 {
            let led = self.cased(start + length);
            led.or_else(|| if class & TAIL == 0 { None } else { self.cased(start) })
        } else if class & LETTER == 0 {
            None
        } else {
            self.cased(start)
        }?;
        Some(end + self.contraction(end))
    }

    /// Upper case then lower case, or upper case alone.
    fn cased(&mut self, start: usize) -> Option<usize> {
        // Letters without case are both. Where no lower-case letter follows, the first alternative gives characters of
        // the upper-case run back until one of these begins its lower-case part, and ends right behind it.
        let mut at = start;
        let mut behind_both = None;
        loop {
            let (class, length) = self.class(at);
            if class & HEAD == 0 {
                if class & TAIL != 0 {
                    return Some(self.run(at + length, TAIL, 0));
                }
                break;
            }
            at += length;
            if class & TAIL != 0 {
                behind_both = Some(at);
            }
        }
        behind_both.or((at > start).then_some(at))
    }

    fn word_cl100k(&mut self, start: usize, class: u8, length: usize) -> Option<usize> {
        let contraction = self.contraction(start);
        if contraction > 0 {
            return Some(start + contraction);
        }
        let letters = match class {
            class if class & LETTER != 0 => start,
            class if class & (NUMBER | NEWLINE) == 0 => start + length,
            _ => return None,
        };
        let end = self.run(letters, LETTER, 0);
        (end > letters).then_some(end)
    }

    /// Returns the length of `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` in either case, or 0. The long s is an s in
    /// another case.
    fn contraction(&mut self, at: usize) -> usize {
        self.steps += 1;
        let Some([b'\'', rest @ ..]) = self.text.as_bytes().get(at..) else { return 0 };
        match rest {
            [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 2,
            [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..]
            | [b'l' | b'L', b'l' | b'L', ..]
            | [0xc5, 0xbf, ..] => 3,
            _ => 0,
        }
    }

    /// Up to three digits, of which the first ends at `at`.
    fn number(&mut self, at: usize) -> usize {
        (0..2).fold(at, |at, _| match self.class(at) {
            (class, length) if class & NUMBER != 0 => at + length,
            _ => at,
        })
    }

    /// Characters that are no letter, number or white space, with one leading space and the line ends behind them.
    fn symbols(&mut self, start: usize, class: u8) -> Option<usize> {
        let symbols = match self.text.as_bytes().get(start) {
            Some(b' ') => start + 1,
            _ if class & SPACE != 0 => return None,
            _ => start,
        };
        let end = self.run(symbols, SOME, SPACE | LETTER | NUMBER);
        if end == symbols {
            return None;
        }
        let slash = self.pattern == Pattern::O200k;
        let behind = self.text.as_bytes().get(end..).unwrap_or_default();
        let tail =
            behind.iter().take_while(|byte| matches!(byte, b'\r' | b'\n') || slash && **byte == b'/').count();
        self.steps += tail as u64;
        Some(end + tail)
    }

    /// White space: up to its last line end, else all but the last character, which belongs to what follows.
    fn space(&mut self, start: usize) -> usize {
        let (mut at, mut last, mut behind_newline) = (start, start, None);
        loop {
            let (class, length) = self.class(at);
            if class & SPACE == 0 {
                break;
            }
            last = at;
            at += length;
            if class & NEWLINE != 0 {
                behind_newline = Some(at);
            }
        }
        let is_end = at == self.text.len();
        match behind_newline {
            Some(_) if is_end && self.pattern == Pattern::Cl100k => at,
            Some(end) => end,
            None if is_end || last == start => at,
            None => last,
        }
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        self.at = self.end(start);
        self.text.get(start..self.at)
    }
}
