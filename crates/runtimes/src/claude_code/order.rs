//! The order in which records were said, where a file has another one: a record that was written late stands behind those that
//! hang on it, and one that was written again stands there twice.

use std::collections::{HashMap, HashSet};

use super::keys::ByKey;
use super::row::{Key, Kind, Link, Row};

/// Sorts lines into the order in which they were said. Returns where each stands in the file; none where that is the order.
///
/// Of a record that is there more than once the last copy counts, at the place of the first; the others become `Restated`. Behind a
/// compaction that does not keep it, a copy is nothing new. What a compaction keeps stands before it.
pub(super) fn sort(rows: &mut Vec<Row>, last: &ByKey<usize>) -> Option<Vec<usize>> {
    let repeated_boundaries = repeat_boundaries(rows);
    let mut places = repeated(rows, last);
    let seen: ByKey<usize> = places.iter().filter_map(|(key, at)| Some((*key, *at.first()?))).collect();
    keep_copies(rows, last, &mut places);
    let is_late = |(position, row): (usize, &Row)| {
        said_before(rows, (last, &seen), position, row.kind).is_some_and(|parent| parent > position)
    };
    let kept = kept_late(rows, (last, &seen));
    if places.is_empty() && kept.is_empty() && !rows.iter().enumerate().any(is_late) {
        return repeated_boundaries.then(|| (0..rows.len()).collect());
    }
    let ends = ends(rows, last);
    let entered = vec![false; rows.len()];
    let mut sorter = Sorter { rows, last, seen: &seen, copies: &places, ends, order: Vec::new(), entered };
    for position in 0..sorter.rows.len() {
        for &kept in kept.get(&position).into_iter().flatten() {
            sorter.place(kept);
        }
        sorter.place(position);
    }
    let order = sorter.order;
    // Parents that lead in a circle are late, and stay where they are.
    if places.is_empty() && !repeated_boundaries && order.is_sorted() {
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

/// Takes boundaries that stand there again, which the client reads in the place of the first, for what says nothing new.
fn repeat_boundaries(rows: &mut [Row]) -> bool {
    let mut first: ByKey<usize> = ByKey::default();
    let mut again = Vec::new();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Boundary) {
        let Some(key) = row.key else { continue };
        let first = *first.entry(key).or_insert(position);
        if first < position && rows.get(first).is_some_and(|first| is_copy(first, row)) {
            again.push(position);
        }
    }
    for &position in &again {
        if let Some(row) = rows.get_mut(position) {
            row.again = Some(std::mem::replace(&mut row.kind, Kind::Restated));
            row.preserved = Box::default();
        }
    }
    !again.is_empty()
}

/// Returns for each boundary which messages that it keeps were written behind what followed its compaction. In what is placed, they
/// stand right behind the summary, and stay there.
fn kept_late(rows: &[Row], (last, seen): (&ByKey<usize>, &ByKey<usize>)) -> HashMap<usize, Vec<usize>> {
    let place = |key: &Key| seen.get(key).or_else(|| last.get(key)).copied();
    let is_boundary = |(_, row): &(usize, &Row)| row.kind == Kind::Boundary && !row.of_artifact;
    let late = rows.iter().enumerate().filter(is_boundary).map(|(boundary, row)| {
        let kept: HashSet<usize> = chain(row, rows, last).iter().filter_map(place).collect();
        let behind = rows.iter().enumerate().skip(boundary + 1);
        let is_next = |&(position, row): &(usize, &Row)| {
            row.kind.is_message() && row.kind != Kind::Summary && !kept.contains(&position)
        };
        let next = behind.clone().find(is_next).map_or(rows.len(), |(next, _)| next);
        let is_late = |position: &usize| {
            *position > next && rows.get(*position).is_some_and(|row| row.kind.is_message())
        };
        let mut late: Vec<usize> = kept.iter().copied().filter(is_late).collect();
        late.sort_unstable();
        (boundary, late)
    });
    late.filter(|(_, late)| !late.is_empty()).collect()
}

/// Returns the records that a boundary keeps, those between the ends of a chain too; of a chain that is broken, its ends.
pub(super) fn chain(boundary: &Row, rows: &[Row], by_key: &ByKey<usize>) -> Vec<Key> {
    let Some([head, tail]) = boundary.keeps_chain.then_some(&*boundary.preserved) else {
        return boundary.preserved.to_vec();
    };
    let mut chain = vec![*tail];
    while let Some(last) = chain.last().filter(|last| *last != head && chain.len() <= rows.len()) {
        match by_key.get(last).and_then(|&position| rows.get(position)).map(|row| row.parent) {
            Some(Link::Of(parent)) => chain.push(parent),
            _ => break,
        }
    }
    if chain.last() != Some(head) {
        return vec![*head, *tail];
    }
    chain.reverse();
    chain
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
fn keep_copies(rows: &mut [Row], last: &ByKey<usize>, places: &mut ByKey<Vec<usize>>) {
    let is_boundary = |(position, row): (usize, &Row)| (row.kind == Kind::Boundary).then_some(position);
    let boundaries: Vec<usize> = rows.iter().enumerate().filter_map(is_boundary).collect();
    let kept = |boundary: &usize| Some((*boundary, chain(rows.get(*boundary)?, rows, last)));
    let kept: HashMap<usize, Vec<Key>> =
        if places.is_empty() { HashMap::new() } else { boundaries.iter().filter_map(kept).collect() };
    places.retain(|key, at| {
        let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return false };
        let is_same = rows.get(first).zip(rows.get(last)).is_some_and(|(first, last)| is_copy(first, last));
        let from = boundaries.partition_point(|&boundary| boundary < first);
        let to = boundaries.partition_point(|&boundary| boundary < last);
        let between = boundaries.get(from..to).unwrap_or_default();
        let Some(&boundary) = between.first() else { return is_same && first < last };
        let keeps = |boundary: &usize| kept.get(boundary).is_some_and(|kept| kept.contains(key));
        if is_same && between.iter().all(keeps) {
            return true;
        }
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
