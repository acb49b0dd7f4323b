//! A measured figure with its unit, and how people read it.
//! Not rounded where it is kept: only what is shown is.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Figure {
    /// Seconds.
    Seconds(f64),
    /// Bytes.
    Bytes(f64),
    /// Bytes in a second.
    BytesPerSecond(f64),
    /// Pieces of work in a second.
    PerSecond(f64),
    /// So many times something else.
    Times(f64),
    /// A number of things.
    Count(f64),
    /// Parts of a hundred.
    Percent(f64),
}

impl Figure {
    /// Takes a time.
    pub(crate) const fn time(time: Duration) -> Self {
        Self::Seconds(time.as_secs_f64())
    }

    /// Takes a number of bytes.
    pub(crate) fn bytes(bytes: u64) -> Self {
        Self::Bytes(float(bytes))
    }

    /// Takes bytes and what they took.
    pub(crate) fn speed(bytes: u64, time: Duration) -> Self {
        Self::BytesPerSecond(float(bytes) / time.as_secs_f64())
    }

    /// Takes a number of things.
    pub(crate) fn count(count: u64) -> Self {
        Self::Count(float(count))
    }

    /// Takes a number of things and what they took.
    pub(crate) fn rate(count: u64, time: Duration) -> Self {
        Self::PerSecond(float(count) / time.as_secs_f64())
    }

    /// Takes a part and the whole.
    pub(crate) fn times(part: u64, whole: u64) -> Self {
        Self::Times(float(part) / float(whole))
    }

    /// Returns the number in the unit itself: seconds, bytes, pieces.
    pub(crate) const fn value(self) -> f64 {
        match self {
            Self::Seconds(value)
            | Self::Bytes(value)
            | Self::BytesPerSecond(value)
            | Self::PerSecond(value)
            | Self::Times(value)
            | Self::Count(value)
            | Self::Percent(value) => value,
        }
    }

    /// Returns the number and its unit.
    pub(crate) fn to_json(self) -> Value {
        let unit = match self {
            Self::Seconds(_) => "s",
            Self::Bytes(_) => "B",
            Self::BytesPerSecond(_) => "B/s",
            Self::PerSecond(_) => "/s",
            Self::Times(_) => "times",
            Self::Count(_) => "count",
            Self::Percent(_) => "%",
        };
        json!({ "value": self.value(), "unit": unit })
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::Seconds(seconds) if seconds < 1e-3 => format!("{} µs", digits(seconds * 1e6)),
            Self::Seconds(seconds) if seconds < 1.0 => format!("{} ms", digits(seconds * 1e3)),
            Self::Seconds(seconds) => format!("{} s", digits(seconds)),
            Self::Bytes(bytes) => size(bytes),
            Self::BytesPerSecond(speed) => format!("{}/s", size(speed)),
            Self::PerSecond(rate) => format!("{rate:.0} /s"),
            Self::Times(times) => format!("{} ×", digits(times)),
            Self::Percent(percent) => format!("{percent:.1} %"),
            Self::Count(count) => format!("{count:.0}"),
        };
        formatter.pad(&text)
    }
}

fn size(bytes: f64) -> String {
    match bytes {
        small if small < 1e4 => format!("{small:.0} B"),
        kilo if kilo < 1e6 => format!("{} kB", digits(kilo / 1e3)),
        mega if mega < 1e9 => format!("{} MB", digits(mega / 1e6)),
        giga => format!("{} GB", digits(giga / 1e9)),
    }
}

/// Returns a number with three digits that mean something.
pub(super) fn digits(number: f64) -> String {
    match number {
        large if large >= 99.95 => format!("{large:.0}"),
        middle if middle >= 9.995 => format!("{middle:.1}"),
        small if small >= 0.0995 => format!("{small:.2}"),
        tiny => format!("{tiny:.3}"),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure is read to three digits, and 53 bits hold 15")]
const fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_in_their_own_size() {
        let cases = [
            (Figure::time(Duration::from_nanos(1_234)), "1.23 µs"),
            (Figure::time(Duration::from_micros(257)), "257 µs"),
            (Figure::time(Duration::from_micros(12_340)), "12.3 ms"),
            (Figure::time(Duration::from_millis(1_034)), "1.03 s"),
            (Figure::bytes(188), "188 B"),
            (Figure::bytes(2_316_994), "2.32 MB"),
            (Figure::speed(22_000_000, Duration::from_millis(50)), "440 MB/s"),
            (Figure::rate(8_000, Duration::from_secs(2)), "4000 /s"),
            (Figure::times(45, 100), "0.45 ×"),
            (Figure::count(8), "8"),
        ];
        for (figure, expected) in cases {
            assert_eq!(figure.to_string(), expected);
        }
    }
}
