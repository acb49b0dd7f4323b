//! What every placer does: directories moved with their session, calls closed that had no result.

use std::ops::Range;

use stemmata_model::{Note, NoteCode, plural};

use crate::adapter::{ClientPlace, PlaceRequest, Placer, Placing, Shape, Validation, Validator};
use crate::json::{Field, is_blank, quote};

/// What a call is answered with that had no result when its session was placed.
pub(crate) const CLOSED_TEXT: &str = "[Closed by Stemmata: this tool call had no result when the session was placed here. It may or may not have run.]";

/// The session's id in what is encoded and not placed yet.
pub(crate) const UNPLACED_SESSION: &str = "00000000-0000-4000-8000-000000000000";

/// The directory of entries that do not say theirs, in what is encoded and not placed yet.
pub(crate) const UNKNOWN_CWD: &str = "/";

/// What stands between the names of a path, on any platform: a transcript may come from another one.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// Returns the new name of a directory when its session moves from `origin` to `cwd`. Returns nothing for a directory that does not
/// move: one that is neither `origin` nor below it. [`UNKNOWN_CWD`] becomes `cwd`.
pub(crate) fn moved(old: &str, origin: Option<&str>, cwd: &str) -> Option<String> {
    if old == UNKNOWN_CWD {
        return (cwd != old).then(|| cwd.to_owned());
    }
    let below = old.strip_prefix(origin?.trim_end_matches(SEPARATORS))?;
    let moved = match below.trim_start_matches(SEPARATORS) {
        "" => cwd.to_owned(),
        _ => format!("{}{below}", cwd.trim_end_matches(SEPARATORS)),
    };
    let is_below = below.is_empty() || below.starts_with(SEPARATORS);
    (is_below && moved != old).then_some(moved)
}

/// A range of a text, and its replacement.
pub(crate) type Edit = (Range<usize>, String);

/// Returns what gives an object these members: one that is there gets the value, the others stand ahead of all. `object` is all
/// bytes from `at` on of the text that the places are of; the first brace in it begins the object.
pub(crate) fn put<'k>(
    (object, at): (&[u8], usize),
    members: impl IntoIterator<Item = (&'k str, Option<Field<'k>>, String)>,
) -> Vec<Edit> {
    let (mut edits, mut added) = (Vec::new(), Vec::new());
    for (key, field, value) in members {
        match field {
            Some(field) => edits.push((field.span(), value)),
            None => added.push(format!("{}:{value}", quote(key))),
        }
    }
    if let Some(brace) = memchr::memchr(b'{', object).filter(|_| !added.is_empty()) {
        let inside = object.get(brace + 1..).unwrap_or_default().trim_ascii_start();
        let comma = if inside.starts_with(b"}") { "" } else { "," };
        edits.push((at + brace + 1..at + brace + 1, added.join(",") + comma));
    }
    edits
}

/// Replaces parts of a line; the places must not overlap.
pub(crate) fn replace(line: &[u8], mut edits: Vec<Edit>, out: &mut Vec<u8>) {
    edits.sort_by_key(|(span, _)| span.start);
    let mut written = 0;
    for (span, with) in edits {
        out.extend_from_slice(line.get(written..span.start).unwrap_or_default());
        out.extend_from_slice(with.as_bytes());
        written = span.end;
    }
    out.extend_from_slice(line.get(written..).unwrap_or_default());
}

/// Writes a line that is no record, but not a torn end; returns how many ends were left out: one or none.
pub(crate) fn unreadable(line: &[u8], out: &mut Vec<u8>) -> u64 {
    let is_torn = !line.ends_with(b"\n") && !is_blank(line);
    if !is_torn && !is_blank(line) {
        out.extend_from_slice(line);
    }
    u64::from(is_torn)
}

/// Returns what a placer or a plan says of what it did: of each kind how often, with a noun, unless it was never.
pub(crate) fn counted<const KINDS: usize>(kinds: [(u64, NoteCode, (&str, &str)); KINDS]) -> Vec<Note> {
    let done = kinds.into_iter().filter(|(count, ..)| *count > 0);
    done.map(|(count, code, (noun, what))| Note::new(code, format!("{} {what}", plural(count, noun))))
        .collect()
}

/// What is said of ends that were left out.
pub(crate) const TORN: (&str, &str) = ("line", "cut in its middle left out");

/// What is said of calls that were closed.
pub(crate) const CLOSED: (&str, &str) = ("tool call", "without a result got a marked one");

/// Says how a transcript would be called that no client looks for.
pub(crate) fn unplaced(request: &PlaceRequest, ending: &str) -> ClientPlace {
    let relative_path = vec![format!("{}{ending}", request.session)];
    ClientPlace { relative_path, resume_command: Vec::new(), import_command: None }
}

/// Rewrites and checks one after the other: what is written is read again.
pub(crate) struct Apart {
    pub(crate) placer: Box<dyn Placer>,
    pub(crate) validator: Box<dyn Validator>,
    pub(crate) shape: Shape,
}

impl Apart {
    fn check(&mut self, added: &[u8]) {
        self.shape.written_units(added).for_each(|unit| self.validator.line(unit));
    }
}

impl Placer for Apart {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        self.placer.line(line, out);
        self.check(out.get(start..).unwrap_or_default());
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Vec<Note> {
        let start = out.len();
        let notes = self.placer.finish(out);
        self.check(out.get(start..).unwrap_or_default());
        notes
    }
}

impl Placing for Apart {
    fn verdict(&mut self) -> Validation {
        self.validator.finish()
    }
}

/// Writes a transcript as it is: nobody loads it.
pub(crate) struct Verbatim;

impl Placer for Verbatim {
    fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(line);
    }

    fn finish(&mut self, _out: &mut Vec<u8>) -> Vec<Note> {
        Vec::new()
    }
}
