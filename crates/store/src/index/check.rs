//! Looking an index over: whether it is what was written, and what it takes.
//!
//! Whether it is what the store says is the engine's.

use std::collections::HashSet;
use stemmata_model::to_u64;

use super::current::damaged;
use super::error::{IndexError, While};
use super::segment::{SegmentFamily, SegmentRead};
use super::{Index, IndexReader};
use crate::sqlite::statements::one;

/// What an index takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IndexUsage {
    /// Entries and events.
    pub entries: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of all files of the folder.
    pub bytes: u64,
    /// Folders of damaged indexes that are kept.
    pub damaged: Vec<String>,
}

pub(super) fn usage(index: &Index) -> Result<IndexUsage, IndexError> {
    let reader = index.reader()?;
    let segments = reader.segments();
    let damaged = damaged(&index.dir, index.files());
    let length = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |found| found.len());
    let folders = std::iter::once(index.dir.clone()).chain(damaged.iter().map(|name| index.dir.join(name)));
    let files = folders.flat_map(|folder| {
        let names = index.files().list(&folder).unwrap_or_default();
        names.into_iter().map(move |name| folder.join(name)).filter(|path| path.is_file())
    });
    Ok(IndexUsage {
        entries: segments.iter().map(|segment| u64::from(segment.span())).sum(),
        segments: to_u64(segments.len()),
        bytes: files.map(|path| length(&path)).sum(),
        damaged,
    })
}

/// Reads everything once.
pub(super) fn verify(reader: &IndexReader<'_>, found: &mut dyn FnMut(String)) -> Result<(), IndexError> {
    let checked: Vec<String> =
        reader.raw().while_("checking the search index").list("PRAGMA quick_check", [], one)?;
    checked.into_iter().filter(|line| line != "ok").for_each(&mut *found);
    let mut checked = HashSet::new();
    for segment in reader.segments() {
        let base = segment.base();
        if let Err(error) = check_segment(reader, &segment, &mut checked) {
            found(format!("segment {base}: {error}"));
        }
    }
    Ok(())
}

fn check_segment(
    reader: &IndexReader<'_>,
    segment: &SegmentRead<'_>,
    checked: &mut HashSet<u32>,
) -> Result<(), IndexError> {
    let wrong = |what: &str| Err(IndexError::damaged(what));
    let mut before: Option<Vec<u8>> = None;
    segment.each_term(b"", &mut |term, postings| {
        if before.as_deref().is_some_and(|before| before >= term) {
            return wrong("its terms are out of order").map(|()| true);
        }
        before = Some(term.to_vec());
        let mut entries = 0;
        postings.each(&mut |_, _| entries += 1)?;
        if entries == postings.entries() {
            Ok(true)
        } else {
            wrong("a term has other entries").map(|()| true)
        }
    })?;
    segment.classes()?;
    segment.marks()?;
    segment.minutes()?;
    segment.authors()?;
    let lengths = segment.lengths()?;
    if lengths.iter().copied().map(u64::from).sum::<u64>() != segment.length() {
        return wrong("its length is another one");
    }
    segment.homes()?.all()?;
    let numbers = (segment.base()..).zip(segment.keys()?);
    if segment.family() == SegmentFamily::Events {
        return Ok(());
    }
    for (number, key) in numbers {
        if reader.known(&[*key])? != [Some(number)] {
            return wrong("an entry is not found by its key");
        }
        if reader.occurrences(number, 1, None)?.is_empty() {
            return wrong("an entry is in no commit");
        }
    }
    for group in segment.groups()?.all()? {
        if checked.insert(group) {
            reader.group(group)?;
        }
    }
    Ok(())
}
