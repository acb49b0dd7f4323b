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
#[error("`{text}` is no timestamp such as `2026-11-21T20:20:08.996Z`")]
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
        text.parse::<jiff::Timestamp>()
            .map(|parsed| Self(parsed.as_microsecond()))
            .map_err(|_| ParseTimestampError { text: text.chars().take(64).collect() })
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_microsecond(self.0) {
            Ok(point) => write!(formatter, "{point:.6}"),
            Err(_) => write!(formatter, "{} µs after 1970", self.0),
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
