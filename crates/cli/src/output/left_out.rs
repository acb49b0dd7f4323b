//! What was not taken in, or not understood: one line for each kind, in every command alike.

use std::path::Path;

use stemmata_api::v1::LeftOut;

use crate::output::size::{grouped, many};
use crate::output::style::tame;
use crate::wiring::App;

/// Files that a person is shown of one kind; `--json` has the first of them by name.
const LISTED_MAX: usize = 10;

/// Returns the lines of an import's summary. What could not be read is told with its reason beside them.
pub(crate) fn lines(app: &App, all: &[LeftOut]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in all {
        match one.kind.as_str() {
            "not_a_transcript" => {
                let what = if one.count == 1 { "is not a transcript" } else { "are not transcripts" };
                lines.push(format!("  {} skipped that {what}:", many(one.count, "file")));
                let paths = one.paths.iter().take(LISTED_MAX);
                lines.extend(paths.map(|path| format!("    {}", app.environment.shown(Path::new(path)))));
                let listed = u64::try_from(LISTED_MAX).unwrap_or(u64::MAX);
                lines.extend(more(one.count.saturating_sub(listed)));
            }
            "excluded" => {
                let reason = one.what.as_deref().unwrap_or_default();
                lines.push(format!("  {} excluded: {reason}", many(one.count, "transcript")));
            }
            "unknown_record" => {
                let name = tame(one.what.as_deref().unwrap_or_default());
                lines.push(format!(
                    "  {} of the unknown type `{name}` kept as they are, not understood: {}",
                    many(one.count, "record"),
                    places(app, one)
                ));
            }
            // Each is a note with its line, and what failed is listed with its reason.
            _ => {}
        }
    }
    lines
}

/// Warns of sessions that no import reads.
pub(crate) fn warn(app: &App, unread: &[LeftOut]) {
    for one in unread {
        app.console.warn(one.what.as_deref().unwrap_or(&one.kind));
    }
}

/// Counts sessions that no import reads.
pub(crate) fn sessions(unread: &[LeftOut]) -> String {
    many(unread.iter().map(|one| one.count).sum(), "session")
}

fn places(app: &App, one: &LeftOut) -> String {
    let first = one.paths.first().map(|path| app.environment.shown(Path::new(path))).unwrap_or_default();
    match one.paths.len() {
        0 | 1 => first,
        _ => format!("{first} …"),
    }
}

fn more(rest: u64) -> Option<String> {
    (rest > 0).then(|| format!("    … and {} more (`--json` lists all)", grouped(rest)))
}
