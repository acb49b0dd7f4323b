//! Times for people: how long ago, or the point itself in UTC; and the other way, what a person means by `2h`.
//!
//! JSON has RFC 3339 in UTC. The present comes in as an argument.

use stemmata_model::Timestamp;

use crate::errors::CliError;

const MINUTE: i64 = 60;
/// How far in the future a time may be to count as the present: clocks differ.
const SKEW: i64 = -MINUTE;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const MICROS: i64 = 1_000_000;

/// Says whether a point in time is to come: the clock of what wrote it was wrong.
pub(crate) fn is_to_come(point: Timestamp, now: Timestamp) -> bool {
    now.as_micros().saturating_sub(point.as_micros()) < SKEW * MICROS
}

/// Returns how long ago a point in time was, in one unit: `3h ago`; the day where it is over four weeks, the month
/// where it was another year, `future` where it is to come. At most 8 characters. A dash for what has no time of its own, as a file
/// beside a transcript.
pub(crate) fn ago(point: Timestamp, now: Timestamp) -> String {
    if point == Timestamp::EPOCH {
        return "-".to_owned();
    }
    if is_to_come(point, now) {
        return "future".to_owned();
    }
    let seconds = now.as_micros().saturating_sub(point.as_micros()) / MICROS;
    match seconds {
        ..MINUTE => "just now".to_owned(),
        MINUTE..HOUR => format!("{}m ago", seconds / MINUTE),
        HOUR..DAY => format!("{}h ago", seconds / HOUR),
        DAY.. if seconds < 28 * DAY => format!("{}d ago", seconds / DAY),
        _ => date(point, now),
    }
}

fn date(point: Timestamp, now: Timestamp) -> String {
    let of = |format: &str, point: Timestamp| {
        jiff::Timestamp::from_microsecond(point.as_micros())
            .map_or_else(|_| "?".to_owned(), |point| point.strftime(format).to_string())
    };
    if of("%Y", point) == of("%Y", now) { of("%-d %b", point) } else { of("%b %Y", point) }
}

/// Returns a point in time as a person reads it in a list: the time of day, with the day before it where that is another one, and
/// the day alone where it was another year. A dash for what has no time of its own.
pub(crate) fn moment(point: Timestamp, now: Timestamp, zone: &jiff::tz::TimeZone) -> String {
    if point == Timestamp::EPOCH {
        return "-".to_owned();
    }
    let local = |point: Timestamp| {
        jiff::Timestamp::from_microsecond(point.as_micros()).ok().map(|point| point.to_zoned(zone.clone()))
    };
    let (Some(point), Some(now)) = (local(point), local(now)) else { return "?".to_owned() };
    let form = if point.date() == now.date() {
        "%H:%M"
    } else if point.year() == now.year() {
        "%-d %b %H:%M"
    } else {
        "%-d %b %Y"
    };
    point.strftime(form).to_string()
}

/// Returns the day of a point in time, in UTC: `9 Mar 2026`.
pub(crate) fn day(point: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(point.as_micros())
        .map_or_else(|_| "?".to_owned(), |point| point.strftime("%-d %b %Y").to_string())
}

/// Returns a point in time to the second, in UTC: `2026-11-21 20:20:08Z`.
pub(crate) fn exact(point: Timestamp) -> String {
    jiff::Timestamp::from_microsecond(point.as_micros())
        .map_or_else(|_| point.to_string(), |point| point.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

/// Returns how long something took.
pub(crate) fn took(from: Timestamp, to: Timestamp) -> String {
    let millis = to.as_micros().saturating_sub(from.as_micros()).max(0) / 1000;
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{}.{} s", millis / 1000, millis % 1000 / 100),
        _ => format!("{} min {} s", millis / 60_000, millis % 60_000 / 1000),
    }
}

/// Reads a point in time: RFC 3339, a day for its beginning in UTC, `now`, or how long ago (`45s`, `30m`, `2h`, `3d`, `1w`).
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Timestamp, CliError> {
    if text == "now" {
        return Ok(now);
    }
    if let Ok(point) = Timestamp::parse(text).or_else(|_| Timestamp::parse(&format!("{text}T00:00:00Z"))) {
        return Ok(point);
    }
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => MINUTE,
        Some('h') => HOUR,
        Some('d') => DAY,
        Some('w') => 7 * DAY,
        _ => 0,
    };
    let number = text.get(..text.len().saturating_sub(1)).and_then(|digits| digits.parse::<u32>().ok());
    match (number, unit) {
        (Some(number), 1..) => {
            let back = i64::from(number).saturating_mul(unit).saturating_mul(MICROS);
            // Nothing before that can be written as a time.
            let point = now.as_micros().checked_sub(back).map(Timestamp::from_micros);
            let point = point.filter(|point| Timestamp::parse(&point.to_string()).is_ok());
            point.ok_or_else(|| {
                CliError::Usage(format!("`{text}` ago is before the first year that can be named"))
            })
        }
        _ => Err(CliError::Usage(format!(
            "`{text}` is not a time: use how long ago (`2h`, `3d`, `2w`), a day (`2026-02-14`), a moment \
             (`2026-02-14T09:30:00Z`) or `now`"
        ))),
    }
}

/// Reads the point in time that something ends with: of a day its last moment.
pub(crate) fn parse_end(text: &str, now: Timestamp) -> Result<Timestamp, CliError> {
    let of_day = Timestamp::parse(&format!("{text}T23:59:59.999999Z"));
    of_day.or_else(|_| parse(text, now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_one_unit() {
        let now = Timestamp::parse("2026-03-09T12:00:00Z").unwrap();
        for (point, shown) in [
            ("2026-03-09T11:59:59Z", "just now"),
            ("2026-03-09T12:00:59Z", "just now"),
            ("2026-03-09T11:58:01Z", "1m ago"),
            ("2026-03-09T09:00:00Z", "3h ago"),
            ("2026-03-07T12:00:00Z", "2d ago"),
            ("2026-02-01T12:00:00Z", "1 Feb"),
            ("2026-04-21T12:00:00Z", "future"),
            ("2099-01-01T00:00:00Z", "future"),
            ("2025-12-31T12:00:00Z", "Dec 2025"),
            // A commit of a file beside a transcript has no time: every machine gives it the same id.
            ("1970-01-01T00:00:00Z", "-"),
        ] {
            assert_eq!(ago(Timestamp::parse(point).unwrap(), now), shown, "{point}");
        }
        assert_eq!(exact(now), "2026-03-09 12:00:00Z");
        assert_eq!(ago(Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX)), "?");
    }

    #[test]
    fn a_person_means_a_point_in_time() {
        let now = Timestamp::parse("2026-03-09T12:00:00Z").unwrap();
        for text in ["9999999d", "4294967295w", "2027w "] {
            assert!(parse(text, now).is_err() && parse_end(text, now).is_err(), "{text}");
        }
        let error = parse("9999999d", now).unwrap_err().to_string();
        assert!(error.contains("`9999999d`") && !error.contains("µs"), "{error}");
        assert!(parse("500000d", now).is_ok());
        for (text, point) in [
            ("now", "2026-03-09T12:00:00Z"),
            ("2h", "2026-03-09T10:00:00Z"),
            ("1w", "2026-03-02T12:00:00Z"),
            ("2026-03-09T13:00:00+01:00", "2026-03-09T12:00:00Z"),
            ("2026-02-14", "2026-02-14T00:00:00Z"),
        ] {
            assert_eq!(parse(text, now).unwrap(), Timestamp::parse(point).unwrap(), "{text}");
        }
        let end = Timestamp::parse("2026-02-14T23:59:59.999999Z").unwrap();
        assert_eq!(parse_end("2026-02-14", now).unwrap(), end);
        assert_eq!(parse_end("2h", now).unwrap(), parse("2h", now).unwrap());
        for bad in ["", "h", "-2h", "2", "yesterday", "2ä", "99999999999h", "2026-02-31"] {
            assert!(parse(bad, now).is_err() && parse_end(bad, now).is_err(), "{bad}");
        }
    }
}
