//! Runs of numbers: what groups and places are made of.
//!
//! Specified in `docs/format/index.md`.

use std::ops::Range;

use super::error::IndexError;
use crate::varint;

/// Numbers in an order of their own, as ranges.
pub(super) type Runs = Vec<Range<u32>>;

/// Numbers of one list at most: what says that there are more is damaged.
const NUMBERS_MAX: i64 = 1 << 26;

/// Adds a number at the end.
pub(super) fn push(runs: &mut Runs, number: u32) {
    match runs.last_mut() {
        Some(last) if last.end == number => last.end = number.saturating_add(1),
        _ => runs.push(number..number.saturating_add(1)),
    }
}

/// Returns how many numbers there are.
pub(super) fn count(runs: &[Range<u32>]) -> usize {
    runs.iter().map(ExactSizeIterator::len).sum()
}

/// Returns the last number.
pub(super) fn last(runs: &[Range<u32>]) -> Option<u32> {
    runs.last().map(|run| run.end - 1)
}

/// Returns the numbers below a bound.
pub(super) fn below(runs: &[Range<u32>], bound: u32) -> Runs {
    let cut = runs.iter().map(|run| run.start..run.end.min(bound));
    cut.filter(|run| !run.is_empty()).collect()
}

/// Returns whether ascending runs hold a number.
pub(super) fn holds(ascending: &[Range<u32>], number: u32) -> bool {
    let place = ascending.partition_point(|run| run.end <= number);
    ascending.get(place).is_some_and(|run| run.contains(&number))
}

pub(super) fn encode(runs: &[Range<u32>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0_i64;
    for run in runs {
        let step = i64::from(run.start) - at;
        varint::put(&mut bytes, zigzag(step));
        varint::put(&mut bytes, u64::from(run.end - run.start));
        at = i64::from(run.end);
    }
    bytes
}

pub(super) fn decode(mut bytes: &[u8]) -> Result<Runs, IndexError> {
    let damaged = || IndexError::damaged("a list of runs cannot be read");
    let mut runs = Runs::new();
    let mut at = 0_i64;
    let mut left = NUMBERS_MAX;
    while !bytes.is_empty() {
        let step = varint::take(&mut bytes).map(unzigzag).ok_or_else(damaged)?;
        let length = varint::take(&mut bytes).and_then(|length| i64::try_from(length).ok());
        let start = at.checked_add(step).ok_or_else(damaged)?;
        at = length.and_then(|length| start.checked_add(length)).ok_or_else(damaged)?;
        let run = u32::try_from(start).ok().zip(u32::try_from(at).ok()).map(|(start, end)| start..end);
        runs.push(run.filter(|run| !run.is_empty()).ok_or_else(damaged)?);
        left = length
            .and_then(|length| left.checked_sub(length))
            .filter(|left| *left >= 0)
            .ok_or_else(damaged)?;
    }
    Ok(runs)
}

/// Maps small numbers of both signs to small ones.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}
