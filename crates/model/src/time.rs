//! Points in time as microseconds since 1970, without a clock.
//!
//! Reading the clock is a port of the engine; parsing what a transcript says is here.

use std::fmt;
use std::str::FromStr;

/// A point in time in microseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp(i64);

/// A text that is no ISO 8601 timestamp with a zone, or lies outside the years -9999 to 9999.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a timestamp such as `2026-11-21T20:20:08.996Z`")]
pub struct ParseTimestampError {
    /// The text as given, cut to 64 characters.
    pub text: String,
}

impl Timestamp {
    /// The start of 1970, which a root without any timestamp of its own carries.
    pub const EPOCH: Self = Self(0);

    /// Wraps microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Reads an ISO 8601 timestamp with a zone, to the microsecond (further digits are cut).
    ///
    /// # Errors
    /// `ParseTimestampError` when the text is none.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        if let Some(micros) = usual_micros(text) {
            return Ok(Self(micros));
        }
        text.parse::<jiff::Timestamp>()
            .map(|parsed| Self(parsed.as_microsecond()))
            .map_err(|_| ParseTimestampError { text: text.chars().take(64).collect() })
    }
}

/// Days of each month, of February those that each year has.
const MONTH_DAYS: [i64; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Reads the form in which nearly all transcripts write a time, `2026-11-21T20:20:08.996Z`. Any other text is
/// left to the general parser.
fn usual_micros(text: &str) -> Option<i64> {
    let bytes: &[u8; 24] = text.as_bytes().try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    if marks.iter().any(|(at, mark)| bytes.get(*at) != Some(mark)) {
        return None;
    }
    let number = |from: usize, to: usize| {
        let mut digits = bytes.get(from..to)?.iter();
        digits.try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
    };
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second, milli) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
    let month_days = MONTH_DAYS.get(usize::try_from(month - 1).ok()?)?;
    if year == 0 || day == 0 || day > *month_days || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // Counted from March, so that a leap day is the last one of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days_before_year = 365 * year + year / 4 - year / 100 + year / 400;
    let days = days_before_year + (month * 306 + 5) / 10 + day - 1 - DAYS_TO_1970;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000_000 + milli * 1_000)
}

/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_TO_1970: i64 = 719_468;

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(point) => formatter.pad(&format!("{point:.6}")),
            Err(_) => formatter.pad(&format!("{} µs after 1970", self.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn shown_timestamps_come_back(micros in -62_000_000_000_000_000..250_000_000_000_000_000_i64) {
            let point = Timestamp::from_micros(micros);
            prop_assert_eq!(Timestamp::parse(&point.to_string()), Ok(point));
        }

        #[test]
        fn the_usual_form_is_read_as_any_other(
            (year, month, day) in (0..=9999_u16, 0..=13_u8, 0..=32_u8),
            (hour, minute, second) in (0..=25_u8, 0..=61_u8, 0..=61_u8),
            milli in 0..=999_u16,
        ) {
            let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z");
            let general = text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_microsecond).ok();
            prop_assert_eq!(Timestamp::parse(&text).map(Timestamp::as_micros).ok(), general, "{}", text);
        }

        #[test]
        fn any_text_is_a_timestamp_or_an_error(text in ".{0,40}") {
            let _point = Timestamp::parse(&text);
        }
    }

    #[test]
    fn millis_and_zones() {
        let point = Timestamp::parse("2026-02-01T03:40:03.827Z").expect("a timestamp");
        assert_eq!(point.to_string(), "2026-02-01T03:40:03.827000Z");
        assert_eq!(Timestamp::parse("2026-02-01T05:40:03.827+02:00"), Ok(point));
        assert!(Timestamp::parse("yesterday").is_err());
    }
}
