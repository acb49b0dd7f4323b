//! Numbers that a conversation has, however they are written there. Not what they count.

use std::borrow::Cow;
use std::collections::HashSet;

use super::words::each_in_words;

/// Where the ten digits of other scripts begin.
const ZEROS: [char; 14] = [
    '\u{660}', '\u{6f0}', '\u{7c0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}', '\u{be6}',
    '\u{c66}', '\u{e50}', '\u{ed0}', '\u{1040}', '\u{ff10}',
];
/// Numbers in words below this one are not judged.
const WORDS_MIN: u64 = 3;

/// Bytes of a number in another base.
const CODED_BYTES_MAX: usize = 24;
/// Digits of a rounded number that say something: 40 may be of anything from 35 to 45.
const ROUNDED_DIGITS_MIN: usize = 2;

/// Numbers that were said.
#[derive(Default)]
pub(super) struct Numbers {
    written: HashSet<String>,
    /// Sorted by [`Numbers::sort`].
    values: Vec<f64>,
}

impl Numbers {
    /// Adds the numbers of a text, also those within words.
    pub(super) fn add(&mut self, text: &str) {
        let text = &*folded(text);
        each(text, |number| {
            // `1,2,4` may be a list.
            self.written
                .extend(number.digits.split([',', '_', '\'']).filter(|part| !part.contains('.')).map(plain));
            for written in number.readings() {
                self.values.extend(written.parse::<f64>().ok());
                self.written.insert(written);
            }
        });
        each_in_words(text, &mut |value| {
            self.written.insert(value.to_string());
        });
        self.written.extend(text.chars().filter(|char| is_other(*char)).map(String::from));
    }

    pub(super) fn sort(&mut self) {
        self.values.sort_unstable_by(f64::total_cmp);
        self.values.dedup();
    }

    /// Whether all numbers of a sentence were said: as they are, in another notation, or more exactly. Digits within a word belong
    /// to the word, and the number of a list's item counts nothing.
    pub(super) fn has_all(&self, sentence: &str) -> bool {
        let sentence = &*folded(sentence);
        let mut has_all = sentence
            .chars()
            .filter(|char| is_other(*char))
            .all(|char| self.written.contains(char.to_string().as_str()));
        each_in_words(sentence, &mut |value| {
            // Smaller ones are said of anything: "one of the two".
            has_all &= value < WORDS_MIN || self.written.contains(&value.to_string());
        });
        each(sentence, |number| {
            let is_free = number.stands_free && !number.is_of_list(sentence);
            has_all &= !is_free || self.has(&number);
        });
        has_all
    }

    fn has(&self, number: &Number<'_>) -> bool {
        let readings = number.readings();
        readings.iter().any(|written| self.written.contains(written) || self.is_rounded(written))
    }

    fn is_rounded(&self, written: &str) -> bool {
        let Ok(value) = written.parse::<f64>() else { return false };
        let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
        let zeros = if fraction.is_empty() { whole.len() - whole.trim_end_matches('0').len() } else { 0 };
        if whole.len() + fraction.len() - zeros < ROUNDED_DIGITS_MIN {
            return false;
        }
        let exponent = i32::try_from(zeros).unwrap_or(0) - i32::try_from(fraction.len()).unwrap_or(0);
        let half = 10_f64.powi(exponent) / 2.0;
        let first = self.values.partition_point(|said| *said < value - half);
        self.values.get(first).is_some_and(|said| *said <= value + half)
    }
}

/// A number in a text.
struct Number<'t> {
    /// Its digits with what separates them.
    digits: &'t str,
    at: usize,
    /// Thousands or millions, as `k` and `M` behind it say.
    scale: Option<usize>,
    /// Whether no letter stands right before it.
    stands_free: bool,
}

impl Number<'_> {
    /// Returns what the number may be, each in plain digits with a point: `8,443` is 8443, or 8.443 where a comma is a point.
    fn readings(&self) -> Vec<String> {
        let parts: Vec<&str> = self.digits.split(|char: char| !char.is_ascii_digit()).collect();
        let marks: Vec<char> = self.digits.chars().filter(|char| !char.is_ascii_digit()).collect();
        let is_grouped = |parts: &[&str]| {
            parts.first().is_some_and(|first| first.len() <= 3)
                && parts.iter().skip(1).all(|part| part.len() == 3)
        };
        let mut readings = Vec::new();
        if is_grouped(&parts) && marks.windows(2).all(|two| two.first() == two.last()) || parts.len() == 1 {
            readings.push(plain(&parts.concat()));
        }
        if let Some((fraction, whole)) = parts.split_last()
            && let Some((point, groups)) = marks.split_last()
            && matches!(point, '.' | ',')
            && !groups.contains(point)
            && (whole.len() == 1 || is_grouped(whole))
        {
            readings.push(format!("{}.{fraction}", plain(&whole.concat())));
        }
        if readings.is_empty() {
            readings.push(self.digits.to_owned());
        }
        if let Some(zeros) = self.scale {
            // `10k` is no ten.
            let scaled = |written: &String| {
                let (whole, fraction) = written.split_once('.').unwrap_or((written, ""));
                let fraction = fraction.get(..zeros).unwrap_or(fraction);
                plain(&format!("{whole}{fraction:0<zeros$}"))
            };
            readings = readings.iter().map(scaled).collect();
        }
        let zeros: Vec<String> = readings
            .iter()
            .filter(|written| written.contains('.'))
            .map(|written| without_zeros(written))
            .collect();
        readings.extend(zeros);
        readings
    }

    fn is_of_list(&self, sentence: &str) -> bool {
        let before = sentence.get(..self.at).unwrap_or_default();
        let after = sentence.get(self.at + self.digits.len()..).unwrap_or_default();
        let is_item =
            after.strip_prefix(['.', ')']).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        is_item && before.chars().all(|char| char.is_whitespace() || "-*(|#>".contains(char))
    }
}

fn plain(digits: &str) -> String {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}

fn without_zeros(written: &str) -> String {
    written.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn each(text: &str, mut visit: impl FnMut(Number<'_>)) {
    let separates =
        |char: char| matches!(char, ',' | '.' | '\'' | '’' | '_' | '\u{a0}' | '\u{2009}' | '\u{202f}');
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(|char: char| char.is_ascii_digit())) {
        let start = from + at;
        let rest = text.get(start..).unwrap_or_default();
        let mut end = 0;
        let mut letters = rest.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            let is_within = letter.is_ascii_digit()
                || separates(letter) && letters.peek().is_some_and(|(_, next)| next.is_ascii_digit());
            if !is_within {
                break;
            }
            end = at + letter.len_utf8();
        }
        if let Some((value, length)) = coded(rest) {
            visit(Number { digits: &value, at: start, scale: None, stands_free: is_free(text, start) });
            from = start + length;
            continue;
        }
        let (digits, behind) = rest.split_at(end);
        let mut behind = behind.chars();
        let zeros = match behind.next() {
            Some('k' | 'K') => Some(3),
            Some('M') => Some(6),
            _ => None,
        };
        let scale = zeros.filter(|_| !behind.next().is_some_and(char::is_alphanumeric));
        visit(Number { digits, at: start, scale, stands_free: is_free(text, start) });
        from = start + end;
    }
}

/// Whether no letter stands right before a place.
fn is_free(text: &str, start: usize) -> bool {
    let before = text.get(..start).and_then(|before| before.chars().next_back());
    !before.is_some_and(|char| char.is_alphanumeric() || char == '_')
}

/// Returns what `0x1F90` and `1e6` stand for, in plain digits, and their length.
fn coded(text: &str) -> Option<(String, usize)> {
    let word = text.bytes().take(CODED_BYTES_MAX).take_while(u8::is_ascii_alphanumeric).count();
    let word = text.get(..word)?;
    let lower = word.to_ascii_lowercase();
    let of_base = |mark: &str, base: u32| u64::from_str_radix(lower.strip_prefix(mark)?, base).ok();
    let power = || {
        let (digits, exponent) = lower.split_once('e')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let exponent = exponent.parse::<u32>().ok().filter(|_| is_number(digits) && is_number(exponent))?;
        digits.parse::<u64>().ok()?.checked_mul(10_u64.checked_pow(exponent)?)
    };
    let value = of_base("0x", 16).or_else(|| of_base("0b", 2)).or_else(|| of_base("0o", 8)).or_else(power)?;
    Some((value.to_string(), word.len()))
}

/// Returns a text with the digits of every script as `0` to `9`.
fn folded(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let digit = |char: char| {
        let of = |zero: &char| u32::from(char).checked_sub(u32::from(*zero)).filter(|digit| *digit < 10);
        ZEROS.iter().find_map(of).and_then(|digit| char::from_digit(digit, 10)).unwrap_or(char)
    };
    Cow::Owned(text.chars().map(digit).collect())
}

/// Whether a character is a number of its own, such as `½`: it is known where it was said.
fn is_other(char: char) -> bool {
    !char.is_ascii() && char.is_numeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_known_in_every_notation_and_rounded() {
        let mut said = Numbers::default();
        said.add(
            "port 8,443 and 99.3% of 1.234.567 in 12ms, from 0x5 to five, 250000 rows, v1.2.3, 2026-11-07",
        );
        said.sort();
        for sentence in [
            "8443",
            "８４４３",
            "0x20FB",
            "five of them, one of two",
            "twelve",
            "8.443 is read",
            "8,443",
            "8'443",
            "8\u{202f}443",
            "8.4k",
            "about 8,400",
            "99 %",
            "99.3 percent",
            "99,3 %",
            "1234567",
            "1.2M",
            "12 ms",
            "12ms",
            "5–12",
            "the 5th",
            "250k",
            "250,000",
            "on 7 November",
            "1. done",
            "- 2) done",
            "E0999 is a word",
            "1.2.3",
            "no number",
            "12.",
        ] {
            assert!(said.has_all(sentence), "{sentence}");
        }
        for sentence in [
            "8444",
            "٨٠٨٠",
            "８４４４",
            "10k",
            "0x1F90",
            "1e6",
            "½",
            "Ninety-nine tests",
            "eight thousand",
            "a hundred",
            "neunundneunzig",
            "8,500",
            "98 %",
            "84",
            "13ms",
            "in 3 files",
            "900",
            "4th",
            "1.2.4",
            "9k",
        ] {
            assert!(!said.has_all(sentence), "{sentence}");
        }
    }
}
