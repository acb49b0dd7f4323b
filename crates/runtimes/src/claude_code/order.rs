//! The order in which records were said, where a file has another one: a record that was written late stands behind those that
//! hang on it, and one that was written again stands there twice.

use super::keys::ByKey;
use super::row::{Kind, Link, Row};

/// Sorts lines into the order in which they were said. Returns where each stands in the file; none where that is the order.
///
/// Of a record that is there more than once the last copy counts, at the place of the first; the others become `Restated`. Behind a
/// compaction that does not keep it, a copy is nothing new.
pub(super) fn sort(rows: &mut Vec<Row>, last: &ByKey<usize>) -> Option<Vec<usize>> {
    let mut places = repeated(rows, last);
    let seen: ByKey<usize> = places.iter().filter_map(|(key, at)| Some((*key, *at.first()?))).collect();
    keep_copies(rows, &mut places);
    let is_late = |(position, row): (usize, &Row)| {
        said_before(rows, (last, &seen), position, row.kind).is_some_and(|parent| parent > position)
    };
    if places.is_empty() && !rows.iter().enumerate().any(is_late) {
        return None;
    }
    let ends = ends(rows, last);
    let entered = vec![false; rows.len()];
    let mut sorter = Sorter { rows, last, seen: &seen, copies: &places, ends, order: Vec::new(), entered };
    for position in 0..sorter.rows.len() {
        sorter.place(position);
    }
    let order = sorter.order;
    // Parents that lead in a circle are late, and stay where they are.
    if places.is_empty() && order.is_sorted() {
        return None;
    }
    for at in places.values() {
        let Some((&last, earlier)) = at.split_last() else { continue };
        let Some(copy) = rows.get(last).cloned() else { continue };
        for &position in earlier {
            if let Some(row) = rows.get_mut(position).filter(|row| is_copy(row, &copy)) {
                row.again = Some(std::mem::replace(&mut row.kind, Kind::Restated));
            }
        }
    }
    let mut unsorted: Vec<Option<Row>> = std::mem::take(rows).into_iter().map(Some).collect();
    rows.extend(order.iter().filter_map(|&position| unsorted.get_mut(position).and_then(Option::take)));
    Some(order)
}

/// Returns the places of the ids that several messages have.
fn repeated(rows: &[Row], last: &ByKey<usize>) -> ByKey<Vec<usize>> {
    let mut places: ByKey<Vec<usize>> = ByKey::default();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.kind.is_message()) {
        let Some(key) = row.key else { continue };
        if last.get(&key).is_some_and(|&last| last != position) || places.contains_key(&key) {
            places.entry(key).or_default().push(position);
        }
    }
    places
}

/// Keeps the messages that are there again with no compaction between, and marks those with one.
fn keep_copies(rows: &mut [Row], places: &mut ByKey<Vec<usize>>) {
    let is_boundary = |(position, row): (usize, &Row)| (row.kind == Kind::Boundary).then_some(position);
    let boundaries: Vec<usize> = rows.iter().enumerate().filter_map(is_boundary).collect();
    places.retain(|key, at| {
        let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return false };
        let is_same = rows.get(first).zip(rows.get(last)).is_some_and(|(first, last)| is_copy(first, last));
        let from = boundaries.partition_point(|&boundary| boundary < first);
        let to = boundaries.partition_point(|&boundary| boundary < last);
        let between = boundaries.get(from..to).unwrap_or_default();
        let Some(&boundary) = between.first() else { return is_same && first < last };
        let keeps = |boundary: &usize| rows.get(*boundary).is_some_and(|row| row.preserved.contains(key));
        if is_same && !between.iter().any(keeps) {
            for &position in at.iter().filter(|&&position| position > boundary) {
                if let Some(row) = rows.get_mut(position) {
                    row.is_said_again = true;
                }
            }
        }
        false
    });
}

/// Says of each line whether the way from it to the root ends. Parents that lead in a circle have no order.
fn ends(rows: &[Row], last: &ByKey<usize>) -> Vec<bool> {
    // Whether a line's way ends, once that is known; what is walked over at the moment counts as a circle.
    let mut known: Vec<Option<bool>> = vec![None; rows.len()];
    for start in 0..rows.len() {
        let (mut walked, mut next) = (Vec::new(), Some(start));
        let ends = loop {
            let Some(at) = next else { break true };
            match known.get_mut(at) {
                Some(Some(ends)) => break *ends,
                Some(state) => *state = Some(false),
                None => break true,
            }
            walked.push(at);
            next = match rows.get(at).map(|row| row.parent) {
                Some(Link::Of(parent)) => last.get(&parent).copied(),
                _ => None,
            };
        };
        for at in walked {
            if let Some(state) = known.get_mut(at) {
                *state = Some(ends);
            }
        }
    }
    known.into_iter().map(|ends| ends.unwrap_or(true)).collect()
}

/// Returns whether a record is another one again, and not a second one that got its id.
fn is_copy(first: &Row, last: &Row) -> bool {
    let facts = |row: &Row| (row.length, row.kind, row.time, row.parent, row.message, row.sidechain);
    facts(first) == facts(last) && first.calls == last.calls && first.answers == last.answers
}

/// Returns the message that a message hangs on.
fn said_before(
    rows: &[Row],
    (last, seen): (&ByKey<usize>, &ByKey<usize>),
    position: usize,
    kind: Kind,
) -> Option<usize> {
    let Link::Of(parent) = rows.get(position).filter(|_| kind.is_message())?.parent else { return None };
    let place = seen.get(&parent).or_else(|| last.get(&parent)).copied()?;
    let is_message = |row: &Row| row.kind.is_message() && row.kind != Kind::Summary;
    rows.get(place).is_some_and(is_message).then_some(place)
}

struct Sorter<'r> {
    rows: &'r [Row],
    last: &'r ByKey<usize>,
    /// The first places of ids that several messages have.
    seen: &'r ByKey<usize>,
    /// The places of messages that are there again.
    copies: &'r ByKey<Vec<usize>>,
    /// Of which lines the way to the root ends.
    ends: Vec<bool>,
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
            let has_order = self.ends.get(position).is_some_and(|ends| *ends);
            // One that stands before this line, and behind the line for which this one is placed early, goes ahead as well.
            next = said_before(self.rows, (self.last, self.seen), position, kind).filter(|_| has_order);
        }
        while let Some(position) = waiting.pop() {
            self.order.push(position);
            let at = self.rows.get(position).and_then(|row| self.copies.get(&row.key?));
            let last = at.filter(|at| at.first() == Some(&position)).and_then(|at| at.last());
            if let Some(&last) = last
                && self.enter(last)
            {
                self.order.push(last);
            }
        }
    }

    /// Marks a line as placed. Returns false if it already was.
    fn enter(&mut self, position: usize) -> bool {
        self.entered.get_mut(position).is_some_and(|entered| !std::mem::replace(entered, true))
    }
}

#[cfg(test)]
mod tests;
