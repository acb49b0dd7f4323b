//! The order in which records were said, where a file has another one: a record that was written late stands behind those that
//! hang on it, and one that was written again stands there twice.

use std::collections::{HashMap, HashSet};

use super::keys::ByKey;
use super::row::{Key, Kind, Link, Row};
use crate::circles::ways_end;

/// Sorts lines into the order in which they were said. Returns where each stands in the file; none where that is the order.
///
/// A client knows a record by its id alone. Of one that is there more than once the last copy counts, at the place of the first,
/// whatever was changed in it and whatever compactions lie between; the others become `Restated`.
///
/// `units` says which lines are one message with its results, as `tree::group` finds them in the order of the file.
pub(super) fn sort(rows: &mut Vec<Row>, last: &ByKey<usize>, units: &[usize]) -> Option<Vec<usize>> {
    let repeated_boundaries = repeat_boundaries(rows);
    let repeated = repeated(rows, last);
    let known_ends = (!repeated.is_empty()).then(|| ends(rows, last));
    let copies = copies(rows, last, repeated, known_ends.as_deref().unwrap_or_default());
    let seen: ByKey<usize> = copies.iter().map(|(key, copies)| (*key, copies.first)).collect();
    let is_late = |(position, row): (usize, &Row)| {
        said_before(rows, (last, &seen), position, row.kind).is_some_and(|parent| parent > position)
    };
    let mut early = kept_late(rows, (last, &seen), units);
    for (next, results) in results_late(rows, units) {
        early.entry(next).or_default().extend(results);
    }
    if copies.is_empty() && early.is_empty() && !rows.iter().enumerate().any(is_late) {
        return repeated_boundaries.then(|| (0..rows.len()).collect());
    }
    let ends = known_ends.unwrap_or_else(|| ends(rows, last));
    let entered = vec![false; rows.len()];
    let mut sorter = Sorter { rows, last, seen: &seen, copies: &copies, ends, order: Vec::new(), entered };
    for position in 0..sorter.rows.len() {
        for &ahead in early.get(&position).into_iter().flatten() {
            sorter.place(ahead);
        }
        sorter.place(position);
    }
    let order = sorter.order;
    // Parents that lead in a circle are late, and stay where they are.
    if copies.is_empty() && !repeated_boundaries && order.is_sorted() {
        return None;
    }
    for position in copies.values().flat_map(|copies| &copies.others) {
        if let Some(row) = rows.get_mut(*position) {
            row.again = Some(std::mem::replace(&mut row.kind, Kind::Restated));
        }
    }
    let mut unsorted: Vec<Option<Row>> = std::mem::take(rows).into_iter().map(Some).collect();
    rows.extend(order.iter().filter_map(|&position| unsorted.get_mut(position).and_then(Option::take)));
    Some(order)
}

/// How many times the lines of a file the chains of its compactions may have together.
const CHAINS_MAX: usize = 16;

/// Where the copies of a message stand.
struct Copies {
    /// The place of the first.
    first: usize,
    /// The one that counts.
    counted: usize,
    /// The others.
    others: Vec<usize>,
}

/// Takes boundaries that stand there again for what says nothing new: their client reads them in the place of the first.
fn repeat_boundaries(rows: &mut [Row]) -> bool {
    let mut first: ByKey<usize> = ByKey::default();
    let mut again = Vec::new();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| row.kind == Kind::Boundary) {
        let Some(key) = row.key else { continue };
        let first = *first.entry(key).or_insert(position);
        if first < position {
            again.push((first, position));
        }
    }
    for &(first, position) in &again {
        let Some(row) = rows.get_mut(position) else { continue };
        row.again = Some(std::mem::replace(&mut row.kind, Kind::Restated));
        let copy = row.clone();
        row.preserved = Box::default();
        // What it keeps is what the last copy says.
        if let Some(row) = rows.get_mut(first).filter(|_| !copy.is_unread) {
            row.say_again(&copy);
        }
    }
    !again.is_empty()
}

/// Returns for each boundary which messages that it keeps were written behind what followed its compaction. In what is placed, they
/// stand right behind the summary, and stay there, with the calls and results beside them.
fn kept_late(
    rows: &[Row],
    (last, seen): (&ByKey<usize>, &ByKey<usize>),
    units: &[usize],
) -> HashMap<usize, Vec<usize>> {
    let unit = |position: usize| units.get(position).copied().unwrap_or(position);
    let place = |key: &Key| seen.get(key).or_else(|| last.get(key)).copied();
    let is_boundary = |(_, row): &(usize, &Row)| row.kind == Kind::Boundary && !row.of_artifact;
    let mut steps = steps_max(rows);
    let boundaries = rows.iter().enumerate().rev().filter(is_boundary);
    let late = boundaries.map(|(boundary, row)| {
        let kept: HashSet<usize> = chain(row, rows, last, &mut steps).iter().filter_map(place).collect();
        let beside: HashSet<usize> = kept.iter().map(|&kept| unit(kept)).collect();
        let behind = rows.iter().enumerate().skip(boundary + 1);
        let is_next = |&(position, row): &(usize, &Row)| {
            row.kind.is_message() && row.kind != Kind::Summary && !beside.contains(&unit(position))
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

/// Returns how many records of chains are looked at in a file at most.
pub(super) const fn steps_max(rows: &[Row]) -> usize {
    rows.len().saturating_mul(CHAINS_MAX)
}

/// Returns the records that a boundary keeps, those between the ends of a chain too; of a chain that is broken, none, as in the
/// client.
pub(super) fn chain(boundary: &Row, rows: &[Row], by_key: &ByKey<usize>, steps: &mut usize) -> Vec<Key> {
    let Some([head, tail]) = boundary.keeps_chain.then_some(&*boundary.preserved) else {
        return boundary.preserved.to_vec();
    };
    let mut chain = vec![*tail];
    while let Some(last) = chain.last().filter(|last| *last != head && chain.len() <= rows.len()) {
        let Some(left) = steps.checked_sub(1) else { return Vec::new() };
        *steps = left;
        match by_key.get(last).and_then(|&position| rows.get(position)).map(|row| row.parent) {
            Some(Link::Of(parent)) => chain.push(parent),
            _ => break,
        }
    }
    if chain.last() != Some(head) || chain.iter().any(|key| !by_key.contains_key(key)) {
        return Vec::new();
    }
    chain.reverse();
    chain
}

/// Returns where the records stand that are there more than once.
fn repeated(rows: &[Row], last: &ByKey<usize>) -> ByKey<Vec<usize>> {
    let mut places: ByKey<Vec<usize>> = ByKey::default();
    for (position, row) in rows.iter().enumerate().filter(|(_, row)| is_said(row.kind)) {
        let Some(key) = row.key else { continue };
        if last.get(&key).is_some_and(|&last| last != position) {
            places.entry(key).or_default().push(position);
        }
    }
    places
}

/// Returns which of the records that are there more than once are copies. `ends` says of each line whether the way from it ends.
fn copies(rows: &[Row], last: &ByKey<usize>, repeated: ByKey<Vec<usize>>, ends: &[bool]) -> ByKey<Copies> {
    let copies = repeated.into_iter().filter_map(|(key, places)| {
        let &counted = last.get(&key)?;
        let row = rows.get(counted)?;
        let way_ends = ends.get(counted).is_some_and(|ends| *ends);
        let is_copy =
            |position: &usize| rows.get(*position).is_some_and(|first| is_copy(first, row, way_ends));
        let others: Vec<usize> = places.into_iter().filter(is_copy).collect();
        let first = others.iter().copied().min()?.min(counted);
        Some((key, Copies { first, counted, others }))
    });
    copies.collect()
}

/// Says of each line whether the way from it to the root ends. Parents that lead in a circle have no order.
fn ends(rows: &[Row], last: &ByKey<usize>) -> Vec<bool> {
    ways_end(rows.len(), |at| match rows.get(at)?.parent {
        Link::Of(parent) => last.get(&parent).copied(),
        Link::Absent | Link::Root => None,
    })
}

/// Returns whether a record is another one again, and not a second one that got its id: what a user said is no answer, and what
/// was said at another time does not hang below itself.
fn is_copy(first: &Row, last: &Row, way_ends: bool) -> bool {
    let is_answer = |row: &Row| row.kind == Kind::Assistant;
    is_answer(first) == is_answer(last)
        && (first.parent == last.parent || first.time == last.time || way_ends)
}

/// Returns the record that a record hangs on: what was said before it, or a note of the runtime; of a summary, its boundary.
fn said_before(
    rows: &[Row],
    (last, seen): (&ByKey<usize>, &ByKey<usize>),
    position: usize,
    kind: Kind,
) -> Option<usize> {
    let Link::Of(parent) = rows.get(position).filter(|_| is_said(kind))?.parent else { return None };
    let place = seen.get(&parent).or_else(|| last.get(&parent)).copied()?;
    let is_above = |row: &Row| match row.kind {
        Kind::Boundary => kind == Kind::Summary,
        above => is_said(above),
    };
    rows.get(place).is_some_and(is_above).then_some(place)
}

/// Returns whether a line has its place in what is said.
const fn is_said(kind: Kind) -> bool {
    kind.is_message() || matches!(kind, Kind::System | Kind::Attachment)
}

/// Returns which results came late: behind what followed when others of the same message were there. They are put before that.
fn results_late(rows: &[Row], units: &[usize]) -> HashMap<usize, Vec<usize>> {
    // Of each unit where the message behind it stands, and which units have a result.
    let (mut next, mut answered) = (HashMap::new(), HashSet::new());
    let mut open: HashMap<bool, usize> = HashMap::new();
    let mut late: HashMap<usize, Vec<usize>> = HashMap::new();
    for (position, row) in rows.iter().enumerate() {
        if row.kind == Kind::Boundary {
            // A summary says what was said before its boundary.
            open.remove(&row.sidechain).map(|before| next.entry(before).or_insert(position));
        }
        if !row.kind.is_message() {
            continue;
        }
        let unit = units.get(position).copied().unwrap_or(position);
        if row.kind == Kind::Result && unit != position {
            if let Some(&next) = next.get(&unit).filter(|_| answered.contains(&unit)) {
                late.entry(next).or_default().push(position);
            }
            answered.insert(unit);
        } else if let Some(before) = open.insert(row.sidechain, unit).filter(|before| *before != unit) {
            next.entry(before).or_insert(position);
        }
    }
    late
}

struct Sorter<'r> {
    rows: &'r [Row],
    last: &'r ByKey<usize>,
    /// The first places of ids that several messages have.
    seen: &'r ByKey<usize>,
    /// Messages that are there again.
    copies: &'r ByKey<Copies>,
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
            // Of a message that is there again the counted copy says what it hangs on.
            let counted = self.copies_at(position).map_or(position, |copies| copies.counted);
            let has_order = self.ends.get(counted).is_some_and(|ends| *ends);
            // One that stands before this line, and behind the line for which this one is placed early, goes ahead as well.
            next = said_before(self.rows, (self.last, self.seen), counted, kind).filter(|_| has_order);
        }
        while let Some(position) = waiting.pop() {
            self.order.push(position);
            if let Some(counted) = self.copies_at(position).map(|copies| copies.counted)
                && self.enter(counted)
            {
                self.order.push(counted);
            }
        }
    }

    /// Returns the copies of the message whose first copy a line is.
    fn copies_at(&self, position: usize) -> Option<&Copies> {
        let copies = self.copies.get(&self.rows.get(position)?.key?)?;
        Some(copies).filter(|copies| copies.first == position)
    }

    /// Marks a line as placed. Returns false if it already was.
    fn enter(&mut self, position: usize) -> bool {
        self.entered.get_mut(position).is_some_and(|entered| !std::mem::replace(entered, true))
    }
}

#[cfg(test)]
mod tests;
