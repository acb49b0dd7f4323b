//! Made-up time: a start and steps forward.
//! Not the machine's clock, which no test may read.

use stemmata_model::Timestamp;

/// The moment most made-up sessions begin: 2026-03-02T09:00:00Z.
pub const START: &str = "2026-03-02T09:00:00.000Z";

/// A clock that only moves when told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    millis: i64,
}

impl Clock {
    /// Starts at a point in time.
    pub const fn at(start: Timestamp) -> Self {
        Self { millis: start.as_micros().div_euclid(1000) }
    }

    /// Starts at `START`.
    pub fn start() -> Self {
        Self::at(Timestamp::parse(START).expect("START is a timestamp"))
    }

    /// Moves forward.
    pub fn advance_ms(&mut self, millis: u64) {
        self.millis = self.millis.saturating_add_unsigned(millis);
    }

    /// Returns milliseconds since 1970.
    pub const fn millis(self) -> i64 {
        self.millis
    }

    /// Returns the point in time.
    pub const fn now(self) -> Timestamp {
        Timestamp::from_micros(self.millis.saturating_mul(1000))
    }

    /// Returns the point in time as JavaScript prints it: `2026-03-02T09:00:00.000Z`.
    pub fn iso(self) -> String {
        let micros = self.now().to_string();
        // The model prints microseconds; the last three digits are zero here.
        micros.strip_suffix("000Z").map_or(micros.clone(), |millis| format!("{millis}Z"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_prints_as_transcripts_have_it() {
        let mut clock = Clock::start();
        assert_eq!(clock.iso(), START);
        clock.advance_ms(61_007);
        assert_eq!(clock.iso(), "2026-03-02T09:01:01.007Z");
    }
}
