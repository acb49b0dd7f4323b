//! Compactions that an API or a client made within a document: a record, or a block of one, that stands for what is before.
//!
//! A format says which of its records are compactions ([`Dialect::compactions`]). Where a context begins because of them,
//! what it leaves out from the root on, and which commits capture makes of them follows from that here.

use std::ops::Range;
use stemmata_model::to_u64;

use super::{Dialect, Record, head};
use crate::adapter::DocumentCompaction;

/// Compactions of one document that are looked at; the newest ones. Each may become two commits.
pub(crate) const COMPACTIONS_MAX: usize = 64;

/// A text that every document with a compaction holds: the others are not read for it.
const NEEDLE: &[u8] = b"compact";

/// Separates the names of compactions from every other use of the hash.
const NAME_CONTEXT: &str = "stemmata.document.compaction.v1";

/// A compaction within a document, in terms of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Within {
    /// The record with which a context begins since.
    pub(crate) first: usize,
    /// The record that holds the compaction.
    pub(crate) at: usize,
    /// Another record that goes where the record goes: the mark that a client puts before its compaction.
    pub(crate) mark: Option<usize>,
    /// The bytes of the document to leave out where what was compacted is there, or `None` for the whole record.
    pub(crate) part: Option<Vec<Range<usize>>>,
    /// What tells this compaction from others, wherever it stands.
    pub(crate) name: [u8; 32],
}

/// Returns the compactions of a document whose format has no form for one.
pub(crate) const fn none(_bytes: &[u8], _records: &[Record]) -> Vec<Within> {
    Vec::new()
}

/// Returns the name of a compaction by what it says.
pub(crate) fn name(said: &str) -> [u8; 32] {
    blake3::derive_key(NAME_CONTEXT, said.as_bytes())
}

/// Reads a document's records and the compactions in them. `None` where there are none.
fn read(dialect: &Dialect, bytes: &[u8]) -> Option<(Vec<Record>, Vec<Within>)> {
    memchr::memmem::find(bytes, NEEDLE)?;
    let records = (dialect.read)(bytes).ok()?;
    let within = (dialect.compactions)(bytes, &records);
    (!within.is_empty()).then_some((records, within))
}

/// Returns whether a context that begins at the nearest compaction begins in this document.
pub(crate) fn is_within(dialect: &Dialect, bytes: &[u8]) -> bool {
    read(dialect, bytes).is_some()
}

/// Returns where in a document a context begins that begins at its last compaction.
pub(crate) fn begin(dialect: &Dialect, bytes: &[u8]) -> Option<usize> {
    let (records, within) = read(dialect, bytes)?;
    Some(records.get(within.last()?.first)?.span.start)
}

/// Returns the bytes of the record that holds a document's last compaction.
pub(crate) fn own(dialect: &Dialect, bytes: &[u8]) -> Option<Range<usize>> {
    let (records, within) = read(dialect, bytes)?;
    Some(records.get(within.last()?.at)?.span.clone())
}

/// Returns the bytes of a document that a context from the root leaves out, ascending, and how many summaries they are. A
/// summary stays where nothing that it stands for is there: at the beginning of the document that is read first.
pub(crate) fn summaries(dialect: &Dialect, bytes: &[u8], is_oldest: bool) -> (Vec<Range<usize>>, u64) {
    let Some((records, within)) = read(dialect, bytes) else { return (Vec::new(), 0) };
    // A record may tell of the document itself, outside of its list.
    let list = (dialect.list)(bytes).unwrap_or(0..bytes.len());
    let mut is_cut = vec![false; records.len()];
    let (mut ranges, mut count) = (Vec::new(), 0);
    for one in within.into_iter().filter(|one| one.first > 0 || !is_oldest) {
        count += 1;
        match (one.part, is_cut.get_mut(one.at)) {
            (Some(part), _) => ranges.extend(part),
            (None, Some(is_cut)) => *is_cut = true,
            (None, None) => {}
        }
        if let Some(mark) = one.mark.and_then(|mark| is_cut.get_mut(mark)) {
            *mark = true;
        }
    }
    let of_list = records.into_iter().zip(is_cut).filter(|(record, _)| record.span.start >= list.start);
    let (spans, is_cut): (Vec<Range<usize>>, Vec<bool>) = of_list
        .filter(|(record, _)| record.span.end <= list.end)
        .map(|(record, cut)| (record.span, cut))
        .unzip();
    ranges.extend(without(&spans, &is_cut));
    ranges.sort_by_key(|range| range.start);
    (ranges, count)
}

/// Returns the bytes of a list to leave out, so that elements are gone with the commas that are too many then.
pub(crate) fn without(spans: &[Range<usize>], is_cut: &[bool]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut kept_end, mut from) = (None, None);
    let mut cut_end = 0;
    for (span, is_cut) in spans.iter().zip(is_cut) {
        if *is_cut {
            from.get_or_insert(kept_end.unwrap_or(span.start));
            cut_end = span.end;
            continue;
        }
        if let Some(from) = from.take() {
            // The comma behind what is left out goes where nothing is kept before it.
            ranges.push(from..if kept_end.is_some() { cut_end } else { span.start });
        }
        kept_end = Some(span.end);
    }
    ranges.extend(from.map(|from| from..cut_end));
    ranges
}

/// Returns the newest compactions within a document, oldest first (see `Adapter::compactions`).
pub(crate) fn compactions(dialect: &Dialect, bytes: &[u8]) -> Vec<DocumentCompaction> {
    let Some((records, within)) = read(dialect, bytes) else { return Vec::new() };
    let newest = within.len().saturating_sub(COMPACTIONS_MAX);
    let made = within.into_iter().skip(newest).filter_map(|one| made(dialect, bytes, &records, &one));
    made.collect()
}

fn made(dialect: &Dialect, bytes: &[u8], records: &[Record], within: &Within) -> Option<DocumentCompaction> {
    let (first, last) = (records.get(within.first)?, records.get(within.at)?);
    let start = (dialect.list)(bytes)?.start;
    let mut artifact = bytes.get(..start)?.to_vec();
    artifact.extend_from_slice(bytes.get(first.span.start.max(start)..last.span.end)?);
    artifact.extend(head::closing(bytes, last.span.end));
    // What a client keeps of the end is before its mark, too.
    let entries_before = if within.first == 0 { 0 } else { within.mark.unwrap_or(within.first) };
    let before = entries_before.checked_sub(1).and_then(|before| records.get(before));
    Some(DocumentCompaction {
        before: before.map_or(0, |before| before.span.end),
        entries_before: to_u64(entries_before),
        artifact,
        entries_through: to_u64(within.at + 1),
        name: within.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever elements go, what is left is a list of the others.
    #[test]
    fn law_a_list_without_some_of_its_elements_is_a_list_of_the_others() {
        let list = "[ 10 , 21,\n32 ,43]";
        let spans = [2..4, 7..9, 11..13, 15..17];
        for cut in 0..16_u32 {
            let is_cut: Vec<bool> = (0..4).map(|at| cut & (1 << at) != 0).collect();
            let mut left = String::new();
            let mut at = 0;
            for range in without(&spans, &is_cut) {
                left.push_str(&list[at..range.start]);
                at = range.end;
            }
            left.push_str(&list[at..]);
            let numbers: Vec<u32> = serde_json::from_str(&left).unwrap_or_else(|_| panic!("{left}"));
            let expected = [10, 21, 32, 43].into_iter().zip(&is_cut).filter(|(_, cut)| !**cut);
            assert_eq!(numbers, expected.map(|(number, _)| number).collect::<Vec<_>>(), "{left}");
        }
    }
}
