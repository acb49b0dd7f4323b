//! The order in which records were said, where a file has another one: a record that was written late stands behind those that
//! hang on it, and one that was written again stands there twice.

use super::keys::ByKey;
use super::row::{Kind, Link, Row};

/// Sorts lines into the order in which they were said. Returns where each stands in the file; none where that is the order.
///
/// Of a record that is there more than once the last copy counts, at the place of the first; the others become `Restated`. Behind a
/// compaction that does not keep it, a copy is nothing new.
pub(super) fn sort(rows: &mut Vec<Row>, last: &ByKey<usize>) -> Option<Vec<usize>> {
    let seen = firsts(rows, last);
    let first = copies(rows, &seen, last);
    let is_late =
        |(position, row): (usize, &Row)| late_parent(rows, (last, &seen), position, row.kind).is_some();
    if first.is_empty() && !rows.iter().enumerate().any(is_late) {
        return None;
    }
    let entered = vec![false; rows.len()];
    let mut sorter = Sorter { rows, last, first: &first, seen: &seen, order: Vec::new(), entered };
    for position in 0..sorter.rows.len() {
        sorter.place(position);
    }
    let order = sorter.order;
    for (key, &first) in &first {
        let last = last.get(key).copied().unwrap_or_default();
        let Some(copy) = rows.get(last).cloned() else { continue };
        let earlier = rows.iter_mut().take(last).skip(first);
        for row in earlier.filter(|row| row.key == Some(*key) && is_copy(row, &copy)) {
            row.again = Some(std::mem::replace(&mut row.kind, Kind::Restated));
        }
    }
    let mut unsorted: Vec<Option<Row>> = std::mem::take(rows).into_iter().map(Some).collect();
    rows.extend(order.iter().filter_map(|&position| unsorted.get_mut(position).and_then(Option::take)));
    Some(order)
}

/// Returns the first places of the ids that several messages have.
fn firsts(rows: &[Row], last: &ByKey<usize>) -> ByKey<usize> {
    let mut first: ByKey<usize> = ByKey::default();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.kind.is_message()) {
        if let Some(key) = row.key
            && last.get(&key).is_some_and(|&last| last != position)
        {
            first.entry(key).or_insert(position);
        }
    }
    first
}

/// Returns the first places of the messages that are there again with no compaction between; marks those with one.
fn copies(rows: &mut [Row], seen: &ByKey<usize>, last: &ByKey<usize>) -> ByKey<usize> {
    let mut first = seen.clone();
    first.retain(|key, first| {
        let last = last.get(key).copied().unwrap_or_default();
        let between = rows.get(*first..=last).unwrap_or_default();
        let boundary = between.iter().position(|row| row.kind == Kind::Boundary);
        let is_same = between.first().zip(between.last()).is_some_and(|(first, last)| is_copy(first, last));
        let Some(boundary) = boundary else { return is_same && between.len() > 1 };
        let is_kept = between.iter().any(|row| row.preserved.contains(key));
        let behind = rows.iter_mut().take(last + 1).skip(*first + boundary);
        for row in behind.filter(|row| is_same && !is_kept && row.key == Some(*key)) {
            row.is_said_again = true;
        }
        false
    });
    first
}

/// Returns whether a record is another one again, and not a second one that got its id.
fn is_copy(first: &Row, last: &Row) -> bool {
    let facts = |row: &Row| (row.length, row.kind, row.time, row.parent, row.message, row.sidechain);
    facts(first) == facts(last) && first.calls == last.calls && first.answers == last.answers
}

/// Returns the message that a message hangs on, where it stands behind it.
fn late_parent(
    rows: &[Row],
    (last, seen): (&ByKey<usize>, &ByKey<usize>),
    position: usize,
    kind: Kind,
) -> Option<usize> {
    let Link::Of(parent) = rows.get(position).filter(|_| kind.is_message())?.parent else { return None };
    let place = seen.get(&parent).or_else(|| last.get(&parent)).copied()?;
    let is_message = |row: &Row| row.kind.is_message() && row.kind != Kind::Summary;
    (place > position && rows.get(place).is_some_and(is_message)).then_some(place)
}

struct Sorter<'r> {
    rows: &'r [Row],
    last: &'r ByKey<usize>,
    first: &'r ByKey<usize>,
    seen: &'r ByKey<usize>,
    order: Vec<usize>,
    /// Lines that were placed, or wait for their parents.
    entered: Vec<bool>,
}

impl Sorter<'_> {
    /// Places a line behind the messages that it hangs on.
    fn place(&mut self, position: usize) {
        let mut waiting = Vec::new();
        let mut next = Some(position);
        while let Some(position) = next.filter(|&position| self.enter(position)) {
            waiting.push(position);
            let kind = self.rows.get(position).map_or(Kind::Blank, |row| row.kind);
            next = late_parent(self.rows, (self.last, self.seen), position, kind);
        }
        while let Some(position) = waiting.pop() {
            self.order.push(position);
            let key = self.rows.get(position).and_then(|row| row.key);
            let again = key.filter(|key| self.first.get(key) == Some(&position));
            if let Some(&last) = again.and_then(|key| self.last.get(&key))
                && self.enter(last)
            {
                self.order.push(last);
            }
        }
    }

    /// Returns whether nobody was there before.
    fn enter(&mut self, position: usize) -> bool {
        self.entered.get_mut(position).is_some_and(|entered| !std::mem::replace(entered, true))
    }
}

#[cfg(test)]
mod tests;
