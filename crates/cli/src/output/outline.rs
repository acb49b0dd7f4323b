//! What a turn did, for people: calls, files, tests, time and outcome in a few words.
//!
//! What counts as what is the service's to say.

use stemmata_api::v1::{ChangedFile, TurnOutline};
use stemmata_model::Timestamp;

use crate::output::size::{grouped, many};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time::is_to_come;

/// Columns that the piece of a row keeps which gives way.
const FITTED_MIN: usize = 12;

/// Returns a point in time in UTC: `14 Feb 22:40`; with the year where it is another one.
pub(crate) fn moment(at: Timestamp, now: Timestamp) -> String {
    if at == Timestamp::EPOCH {
        // What stands for a time that nobody wrote down.
        return "no time".to_owned();
    }
    let of = |format: &str, at: Timestamp| {
        jiff::Timestamp::from_microsecond(at.as_micros())
            .map_or_else(|_| "?".to_owned(), |at| at.strftime(format).to_string())
    };
    let is_same = of("%Y", at) == of("%Y", now);
    let moment = of(if is_same { "%-d %b %H:%M" } else { "%-d %b %Y %H:%M" }, at);
    if is_to_come(at, now) { format!("{moment} (in the future)") } else { moment }
}

/// Returns how long something took in at most two units: `45 s`, `4 min`, `2 h 5 min`, `3 d 4 h`.
pub(crate) fn span(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, _, _) if minutes % 60 == 0 => format!("{hours} h"),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ if hours % 24 == 0 => format!("{days} d"),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// Returns how long a turn was worked on; nothing where that was no second, or its records have no times.
pub(crate) fn took(outline: &TurnOutline) -> Option<String> {
    (outline.active_seconds > 0).then(|| span(outline.active_seconds))
}

/// Returns how many calls a turn made: `8 calls`; nothing where there are none.
pub(crate) fn calls(outline: &TurnOutline) -> Option<String> {
    let calls: u64 = outline.tools.values().sum();
    (calls > 0).then(|| many(calls, "call"))
}

/// Returns lines that were put in and taken out: `+12 −3`, each where there are any.
pub(crate) fn lines(added: u64, removed: u64) -> Vec<(Style, String)> {
    let added = (added > 0).then(|| (Style::Good, format!("+{}", grouped(added))));
    let removed = (removed > 0).then(|| (Style::Error, format!("−{}", grouped(removed))));
    added.into_iter().chain(removed).collect()
}

/// Returns the sum over files: `3 files +45 −12`; nothing where there are none.
pub(crate) fn files(files: &[ChangedFile]) -> Vec<(Style, String)> {
    if files.is_empty() {
        return Vec::new();
    }
    let sum = |of: fn(&ChangedFile) -> u64| files.iter().map(of).sum::<u64>();
    let mut pieces = vec![(Style::Plain, many(files.len() as u64, "file"))];
    pieces.extend(lines(sum(|file| file.added), sum(|file| file.removed)));
    pieces
}

/// Returns an outcome in words, where it is news.
pub(crate) fn ended(outcome: &str, is_asked: bool) -> Option<(Style, String)> {
    let (style, text) = match outcome {
        "interrupted" => (Style::Warning, "interrupted"),
        "tests_failed" => (Style::Error, "tests ✗"),
        "tests_passed" => (Style::Good, "tests ✓"),
        "open" if is_asked => (Style::Open, "no answer"),
        _ => return None,
    };
    Some((style, text.to_owned()))
}

/// Returns how a turn ended, where that is news: tests, errors, commits, a stop. Nobody waits for an answer where nothing was asked.
pub(crate) fn outcome(outline: &TurnOutline, is_asked: bool) -> Vec<(Style, String)> {
    let mut pieces: Vec<(Style, String)> = ended(&outline.outcome, is_asked).into_iter().collect();
    if outline.failures > 0 {
        // Calls; the errors of an overview are what they reported, and several calls may report the same.
        pieces.push((Style::Warning, format!("{} failed", many(outline.failures, "call"))));
    }
    if let Some(last) = outline.git_commits.last() {
        let hash = last
            .hash
            .as_deref()
            .map_or_else(|| "committed".to_owned(), |hash| format!("commit {}", tame(hash)));
        let more = outline.git_commits.len() - 1;
        let more = if more > 0 { format!(" +{more}") } else { String::new() };
        pieces.push((Style::Good, format!("{hash}{more}")));
    }
    if outline.compactions > 0 {
        pieces.push((Style::Compaction, "◆".to_owned()));
    }
    pieces
}

/// Returns pieces on one line of so many columns: one of them gives way where that is not enough.
pub(crate) fn row(pieces: &[(Style, String)], gives_way: usize, width: usize) -> String {
    let columns = |text: &str| unicode_width::UnicodeWidthStr::width(text);
    let others = pieces.iter().enumerate().filter(|(at, _)| *at != gives_way);
    let used: usize = others.map(|(_, (_, text))| columns(text) + 1).sum();
    let fitted = pieces.iter().enumerate().map(|(at, (style, text))| {
        if at == gives_way {
            (*style, fit(text, width.saturating_sub(used).max(FITTED_MIN)))
        } else {
            (*style, text.clone())
        }
    });
    let fitted: Vec<(Style, String)> = fitted.filter(|(_, text)| !text.is_empty()).collect();
    painted(&fitted, " ")
}

/// Paints pieces, with something between them.
pub(crate) fn painted(pieces: &[(Style, String)], between: &str) -> String {
    pieces.iter().map(|(style, text)| style.paint(text)).collect::<Vec<_>>().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_nobody_wrote_down_is_none() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        assert_eq!(moment(Timestamp::EPOCH, now), "no time");
        assert_eq!(moment(now, now), "15 Jan 08:00");
    }

    #[test]
    fn spans_in_two_units() {
        for (seconds, shown) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_599, "59 min"),
            (3_600, "1 h"),
            (7_500, "2 h 5 min"),
            (86_400, "1 d"),
            (100_000, "1 d 3 h"),
        ] {
            assert_eq!(span(seconds), shown, "{seconds}");
        }
    }
}
