//! Sizes and counts for people.
//!
//! JSON has the plain numbers.

pub(crate) use stemmata_service::bytes;
use stemmata_service::scaled;

/// Returns a count in short: `999`, `1.2k`, `3.4M`.
pub(crate) fn count(count: u64) -> String {
    scaled(count, &["", "k", "M", "G", "T", "P", "E"], "")
}

/// Returns a number with a word in its singular or plural: `1 commit`, `2 commits`.
pub(crate) fn plural(count: usize, word: &str) -> String {
    let number = u64::try_from(count).unwrap_or(u64::MAX);
    many(number, word)
}

/// As `plural`, with the digits in groups of three.
pub(crate) fn many(count: u64, word: &str) -> String {
    format!("{} {}", grouped(count), stemmata_model::noun_of(count, word))
}

/// Returns the line behind the first of many rows that says how many are left out, where some are: `… and 3 more sessions`.
pub(crate) fn more(rows: usize, shown: usize, indent: &str, what: &str) -> String {
    if rows > shown { format!("{indent}… and {} more{what}\n", rows - shown) } else { String::new() }
}

/// Returns the digits of a number in groups of three.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns part of whole in words: `12 %`, `0.4 %`.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    if tenths < 100 { format!("{}.{} %", tenths / 10, tenths % 10) } else { format!("{} %", tenths / 10) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_in_their_units() {
        for (size, shown) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1249, "1.2 kB"),
            (9949, "9.9 kB"),
            (9950, "10 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (22_700_000, "23 MB"),
            (u64::MAX, "18 EB"),
        ] {
            assert_eq!(bytes(size), shown, "{size}");
        }
        assert_eq!((count(950), count(45_300)), ("950".to_owned(), "45k".to_owned()));
    }

    #[test]
    fn words_in_their_number() {
        for (number, word, shown) in [
            (1, "commit", "1 commit"),
            (0, "commit", "0 commits"),
            (1_234_567, "entry", "1,234,567 entries"),
            (1, "entry", "1 entry"),
            (14, "day", "14 days"),
        ] {
            assert_eq!(many(number, word), shown);
        }
        assert_eq!(
            (percent(1, 3), percent(2, 1000), percent(1, 0)),
            ("33 %".into(), "0.2 %".into(), "–".into())
        );
    }
}
