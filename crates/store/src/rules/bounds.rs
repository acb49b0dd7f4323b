//! The bounds that every backend holds writes and pages to, checked before anything is applied: each fails as `Bound` or `Empty`.
//!
//! What needs a look into the store (parents, ranges of slices) is each backend's own.

use stemmata_model::{CommitId, Sighting};

use crate::error::StoreError;
use crate::ledger::EVENT_BYTES_MAX;
use crate::maintain::costs::COSTED_COMMITS_MAX;
use crate::rules::checks::{check_append, check_change, check_state};
use crate::seam::{
    ANCHORS_MAX, BATCH_WRITES_MAX, CURSOR_BYTES_MAX, HOLE_BYTES_MAX, MERGED_RECORDS_MAX, PAGE_ROWS_MAX,
    PART_BYTES_MAX, PARTS_MAX, Page,
};
use crate::write::{Annotation, ContentPart, Session, Write};

/// Bytes that the events of one page say at most, where there is more than one of them: twice the largest event, so that
/// a page which ends by them is half full at least, and little enough to have a few pages in memory at once.
pub const EVENT_PAGE_BYTES_MAX: usize = 2 * EVENT_BYTES_MAX;

/// Bytes of a path at most: what Linux and macOS allow, so that no real path is refused.
const PATH_BYTES_MAX: usize = 4096;

/// Characters of a session's title at most: a title is one line of a listing.
const TITLE_CHARS_MAX: usize = 200;

/// Bytes of a summary or a note at most: more is content, not metadata.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a tag at most: a tag is a name that people type.
const TAG_BYTES_MAX: usize = 128;

/// Holds a batch to the bounds of every write in it.
///
/// # Errors
/// `Bound`, `Empty`.
pub fn check_batch(batch: &[Write]) -> Result<(), StoreError> {
    at_most("writes of a batch", batch.len(), BATCH_WRITES_MAX)?;
    batch.iter().try_for_each(check_write)
}

/// Holds a page of a listing to [`PAGE_ROWS_MAX`].
///
/// # Errors
/// `Bound`, as for all below.
pub fn check_page(page: Page) -> Result<(), StoreError> {
    at_most("rows of a page", page.rows_max, PAGE_ROWS_MAX)
}

/// Holds hashes that are written or looked for at once to [`ANCHORS_MAX`].
pub fn check_anchors(hashes: &[u64]) -> Result<(), StoreError> {
    at_most("anchors at once", hashes.len(), ANCHORS_MAX)
}

/// Holds commits whose costs are asked for at once to [`COSTED_COMMITS_MAX`].
pub fn check_costed(commits: &[CommitId]) -> Result<(), StoreError> {
    at_most("commits at once", commits.len(), COSTED_COMMITS_MAX)
}

/// Holds commits that are described at once to [`PAGE_ROWS_MAX`].
pub fn check_described(commits: &[CommitId]) -> Result<(), StoreError> {
    at_most("commits at once", commits.len(), PAGE_ROWS_MAX)
}

/// Returns the end of a range that lies within a content of `length` bytes.
pub fn check_range(offset: u64, length: u64, whole: u64) -> Result<u64, StoreError> {
    let end = offset.saturating_add(length);
    if end <= whole {
        return Ok(end);
    }
    Err(StoreError::Bound { what: "end of a range of a content in bytes", value: end, bound: whole })
}

fn check_write(write: &Write) -> Result<(), StoreError> {
    match write {
        Write::Content(content) => check_parts(content.parts()),
        Write::Commit(_)
        | Write::Link(_)
        | Write::Unlink(_)
        | Write::Cover { .. }
        | Write::Counts { .. }
        | Write::Covers(_)
        | Write::ExpectEpoch { .. }
        | Write::Redirect { .. } => Ok(()),
        Write::Append(append) => check_append(append),
        Write::SaveStates { states, .. } => states.iter().try_for_each(check_state),
        Write::ChangeLedger(change) => check_change(change),
        Write::Hole(hole) => check_hole(hole.artifact_bytes.max(hole.native_bytes)),
        Write::Anchors { hashes, .. } => check_anchors(hashes),
        Write::Sighting { sighting, .. } => check_sighting(sighting),
        Write::Session(session) => check_session(session),
        Write::ExpectCursor { key, .. } | Write::ExpectTip { key, .. } | Write::Leave(key) => {
            check_path(&key.path)
        }
        Write::Cursor { key, value } => {
            check_path(&key.path)?;
            at_most("bytes of a cursor", value.len(), CURSOR_BYTES_MAX)
        }
        Write::Placement(placement) => check_path(&placement.path),
        Write::Annotate { change, .. } => check_annotation(change),
        Write::MergeAnnotations { records, .. } => {
            at_most("records of a merge", records.len(), MERGED_RECORDS_MAX)?;
            records.iter().try_for_each(|record| check_annotation(&record.change))
        }
    }
}

fn check_hole(bytes: u64) -> Result<(), StoreError> {
    if bytes <= HOLE_BYTES_MAX {
        return Ok(());
    }
    Err(StoreError::Bound { what: "bytes of a content of a hole", value: bytes, bound: HOLE_BYTES_MAX })
}

fn check_parts(parts: &[ContentPart]) -> Result<(), StoreError> {
    at_most("parts of a content", parts.len(), PARTS_MAX)?;
    parts.iter().try_for_each(|part| match part {
        ContentPart::Bytes(bytes) => at_most("bytes of a part", bytes.len(), PART_BYTES_MAX),
        ContentPart::Slice { .. } => Ok(()),
    })
}

fn check_sighting(sighting: &Sighting) -> Result<(), StoreError> {
    match &sighting.source {
        Some(source) => check_path(&source.path),
        None => Ok(()),
    }
}

fn check_session(session: &Session) -> Result<(), StoreError> {
    check_path(&session.key.path)?;
    let title_chars = session.title.as_ref().map_or(0, |title| title.chars().count());
    at_most("characters of a session's title", title_chars, TITLE_CHARS_MAX)?;
    [&session.cwd, &session.git_branch, &session.version]
        .into_iter()
        .flatten()
        .try_for_each(|text| check_path(text))
}

fn check_annotation(change: &Annotation) -> Result<(), StoreError> {
    match change {
        Annotation::Summary { text, .. } => {
            at_most("bytes of a summary", text.as_ref().map_or(0, String::len), TEXT_BYTES_MAX)
        }
        Annotation::AddTag(tag) | Annotation::RemoveTag(tag) => {
            if tag.is_empty() {
                return Err(StoreError::Empty { what: "a tag" });
            }
            at_most("bytes of a tag", tag.len(), TAG_BYTES_MAX)
        }
        Annotation::AddNote(text) => at_most("bytes of a note", text.len(), TEXT_BYTES_MAX),
        Annotation::Pin | Annotation::Unpin => Ok(()),
    }
}

fn check_path(path: &str) -> Result<(), StoreError> {
    at_most("bytes of a path or a session's text", path.len(), PATH_BYTES_MAX)
}

/// Holds a number of things to a bound.
pub fn at_most(what: &'static str, value: usize, bound: usize) -> Result<(), StoreError> {
    if value <= bound {
        return Ok(());
    }
    Err(StoreError::Bound {
        what,
        value: u64::try_from(value).unwrap_or(u64::MAX),
        bound: u64::try_from(bound).unwrap_or(u64::MAX),
    })
}
