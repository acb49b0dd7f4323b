//! What was not taken in, or not understood: one line for each kind, in every command alike.

use std::path::Path;

use stemmata_api::v1::LeftOut;

use crate::output::size::{grouped, many};
use crate::output::style::tame;
use crate::wiring::App;

/// Files that a person is shown of one kind; `--json` has the first of them by name.
const LISTED_MAX: usize = 10;

/// Returns the lines of an import's summary: what no earlier one showed. What could not be read is told with its reason beside
/// them, and what stays is in `status`.
pub(crate) fn lines(app: &App, all: &[LeftOut]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in all.iter().filter(|one| one.new > 0) {
        match one.kind.as_str() {
            "not_a_transcript" => {
                let what = if one.new == 1 { "is not a transcript" } else { "are not transcripts" };
                lines.push(format!("  {} skipped that {what}:", many(one.new, "file")));
                let listed = u64::try_from(LISTED_MAX).unwrap_or(u64::MAX);
                let paths = one.paths.iter().take(usize::try_from(one.new.min(listed)).unwrap_or(LISTED_MAX));
                lines.extend(paths.map(|path| format!("    {}", app.environment.shown(Path::new(path)))));
                lines.extend(more(one.new.saturating_sub(listed)));
            }
            "excluded" => {
                let reason = one.what.as_deref().unwrap_or_default();
                lines.push(format!("  {} excluded: {reason}", many(one.new, "transcript")));
            }
            "unknown_record" => {
                lines.push(format!("  {}", records(app, one, one.new)));
            }
            "unknown_version" => lines.push(format!("  {}", sentence(app, one))),
            // Each is a note with its line, and what failed is listed with its reason.
            _ => {}
        }
    }
    lines.extend(others(all, |one| one.new).map(|others| format!("  {others} skipped: no transcripts")));
    lines
}

/// Counts files that are no transcripts by their names, by how these end.
pub(crate) fn others(all: &[LeftOut], count: impl Fn(&LeftOut) -> u64) -> Option<String> {
    let kinds = all.iter().filter(|one| one.kind == "other_file" && count(one) > 0);
    let counted = kinds.map(|one| match &one.what {
        Some(ending) => many(count(one), &format!("{} file", tame(ending))),
        None => many(count(one), "other file"),
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty()).then(|| counted.join(", "))
}

/// Warns of what is not read, or not understood, by any import.
pub(crate) fn warn(app: &App, unread: &[LeftOut]) {
    for sentence in sentences(app, unread) {
        app.console.warn(&sentence);
    }
}

/// Says what is not read, and of what is kept and not understood the first kinds.
pub(crate) fn sentences(app: &App, unread: &[LeftOut]) -> Vec<String> {
    let doubtful = unread.iter().filter(|one| one.may_be_session());
    let kept: Vec<&LeftOut> = unread.iter().filter(|one| one.is_kept()).collect();
    let mut sentences: Vec<String> = doubtful.map(|one| sentence(app, one)).collect();
    sentences.extend(kept.iter().take(LISTED_MAX).map(|one| sentence(app, one)));
    let more = kept.iter().skip(LISTED_MAX).map(|one| one.count).sum();
    if more > 0 {
        let records = many(more, "record");
        sentences.push(format!("{records} of other kinds, kept as they are (`--json` lists all)"));
    }
    sentences
}

/// Says of records of one kind that they are not understood.
fn records(app: &App, one: &LeftOut, count: u64) -> String {
    let (records, places) = (many(count, "record"), places(app, one));
    let kept = if count == 1 { "kept as it is" } else { "kept as they are" };
    match &one.what {
        Some(name) => {
            let name = tame(name);
            format!("{records} of the unknown type `{name}` {kept}, not understood: {places}")
        }
        None => format!("{records} that cannot be read {kept}: {places}"),
    }
}

/// Says of one kind what is not read.
fn sentence(app: &App, one: &LeftOut) -> String {
    if one.is_kept() {
        return records(app, one, one.count);
    }
    let what = tame(one.what.as_deref().unwrap_or_default());
    let (files, places) = (many(one.count, "file"), places(app, one));
    let is = if one.count == 1 { "is" } else { "are" };
    match one.kind.as_str() {
        "unknown_schema" | "transcript_damaged" => what,
        "unknown_version" => {
            format!(
                "{files} of a version that is not known ({what}), read as far as it is like a known one: {places}"
            )
        }
        "not_a_transcript" => format!("{files} {is} not read: no known client writes such a form: {places}"),
        kind => format!("{files} {is} not read ({}): {places}", tame(kind)),
    }
}

/// Counts what no import reads.
pub(crate) fn counted(unread: &[LeftOut]) -> String {
    let count = |is_one: fn(&LeftOut) -> bool| -> u64 {
        unread.iter().filter(|one| one.may_be_session() && is_one(one)).map(|one| one.count).sum()
    };
    let sessions = count(|one| one.kind == "unknown_schema");
    let versions = count(|one| one.kind == "unknown_version");
    let files = count(|one| one.kind != "unknown_schema" && one.kind != "unknown_version");
    let said = [
        (sessions, "session", "of a version that is not read"),
        (versions, "file", "of a version that is not known"),
        (files, "file", "not read"),
    ];
    let said = said.iter().filter(|(count, ..)| *count > 0);
    let said: Vec<String> = said.map(|(count, of, what)| format!("{} {what}", many(*count, of))).collect();
    said.join(", ")
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
