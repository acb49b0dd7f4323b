//! Lines of one transcript that another one does not have, found by what they are and not by how many there are.

use std::collections::HashSet;
use std::path::Path;

use memchr::memmem::Finder;
use stemmata_model::Entry;
use stemmata_runtimes::adapter::{Adapter, IdKind, Shape};

use crate::capture::transcript_file::Transcript;
use crate::error::Result;
use crate::verbs::place::secrets::PLACEHOLDER;

/// What a transcript lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct MissingLines {
    /// How many lines.
    pub(super) lines: u64,
    /// Whether a person's prompt is among them: a client takes a record of its own back now and then, and never a prompt.
    pub(super) has_prompt: bool,
}

/// Compares a transcript with what it was, which may have secrets replaced. Of documents nothing is said: their clients write them anew
/// each time.
pub(super) fn missing(was: &Path, is: &Path) -> Result<MissingLines> {
    let mut missing = MissingLines::default();
    let mut now = Transcript::open_whole(is)?;
    let (adapter, _) = now.detected()?;
    if adapter.shape() != Shape::Lines {
        return Ok(missing);
    }
    let mut there = HashSet::new();
    let mut lines = now.lines(0, 1)?;
    while let Some(line) = lines.next()? {
        there.insert(mark_of(adapter, line.bytes).0);
    }
    // Where records have ids, those without one are the client's own notes, which it writes anew as it likes.
    let mut without_ids = MissingLines::default();
    let mut has_ids = false;
    let mut before = Transcript::open_whole(was)?;
    let (adapter, _) = before.detected()?;
    let mut lines = before.lines(0, 1)?;
    while let Some(line) = lines.next()? {
        let (mark, is_id) = mark_of(adapter, line.bytes);
        has_ids |= is_id;
        let is_changed = !is_id && Finder::new(PLACEHOLDER).find(line.bytes).is_some();
        if there.contains(&mark) || is_changed {
            continue;
        }
        let found = if is_id { &mut missing } else { &mut without_ids };
        found.lines += 1;
        found.has_prompt |= adapter.decode(line.bytes).entries.iter().any(Entry::is_prompt);
    }
    Ok(if has_ids { missing } else { without_ids })
}

/// Returns what a line is known by, and whether that is a record's own id.
fn mark_of(adapter: &dyn Adapter, line: &[u8]) -> (u64, bool) {
    let mut id = None;
    adapter.ids(line, &mut |kind, own| {
        if kind == IdKind::Entry && id.is_none() {
            id = Some(own.to_owned());
        }
    });
    let is_id = id.is_some();
    let bytes = id.map_or_else(|| line.trim_ascii_end().to_vec(), String::into_bytes);
    let mut mark = [0; 8];
    blake3::Hasher::new().update(&bytes).finalize_xof().fill(&mut mark);
    (u64::from_le_bytes(mark), is_id)
}
