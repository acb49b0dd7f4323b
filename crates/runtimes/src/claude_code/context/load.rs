//! Reads a chain from its newest segment back, as far as the asked context needs, into an index of lines.
//!
//! It follows single links only, to know when to stop; the path is found when all lines are there.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use stemmata_model::CommitType;

use super::super::keys::ByKey;
use super::super::order::{chain, steps_max};
use super::super::row::{Key, Kind, Link, Names, Place, Row};
use super::super::tree::{Older, index};
use crate::adapter::{PlanStop, Segment, Segments, SourceError, segment_number};

/// What was read of a chain, newest segment first.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    segments: Vec<Lines>,
    /// Ids that are no UUIDs.
    pub(super) names: Names,
    side: Option<bool>,
    /// The segment that the caller asked to stop at, if it is a compaction.
    pub(super) stop: Option<usize>,
    /// What is known of the lines that were not read.
    pub(super) older: Older,
}

/// The lines of one segment.
#[derive(Debug, Default)]
struct Lines {
    rows: Vec<Row>,
    /// What stands for everything before, where the segment is a compaction.
    artifact: Option<Arc<Vec<u8>>>,
    /// The latest time in it and in what is before it.
    latest: i64,
}

/// Reads as much of a chain as a context with this stop needs.
///
/// # Errors
/// What the chain's storage says.
pub(super) fn load(chain: &mut dyn Segments, stop: PlanStop) -> Result<Loaded, SourceError> {
    let mut loaded = Loaded::default();
    let mut trace = Trace::default();
    loop {
        let position = loaded.segments.len();
        let Some(segment) = chain.next()? else {
            return Ok(loaded);
        };
        let ends_here = match stop {
            PlanStop::Root => false,
            PlanStop::Ancestor => segment.is_stop,
            PlanStop::Compaction => segment.commit_type == CommitType::Snapshot { restated_entries: 0 },
        };
        if ends_here && segment.commit_type == CommitType::Compaction {
            loaded.stop = Some(position);
        }
        loaded.take(position, segment);
        if ends_here || (stop == PlanStop::Compaction && trace.follow(&mut loaded)) {
            break;
        }
    }
    loaded.older = match stop {
        PlanStop::Ancestor if loaded.has_gap() => loaded.read_keys(chain)?,
        PlanStop::Ancestor | PlanStop::Root | PlanStop::Compaction => Older::Some,
    };
    Ok(loaded)
}

impl Loaded {
    /// Returns how many segments were read.
    pub(super) fn segments_read(&self) -> usize {
        self.segments.len()
    }

    /// Returns whether the conversation is a subagent's: all its lines are marked as a sidechain.
    pub(super) fn side(&self) -> bool {
        self.side.unwrap_or_else(|| {
            let mut messages =
                self.segments.iter().flat_map(|lines| &lines.rows).filter(|row| row.kind.is_message());
            messages.clone().next().is_some() && messages.all(|row| row.sidechain)
        })
    }

    /// Takes the lines out, in the order of the file.
    pub(super) fn take_rows(&mut self) -> Vec<Row> {
        let newest_first = self.segments.iter_mut().rev();
        newest_first.flat_map(|lines| std::mem::take(&mut lines.rows)).collect()
    }

    /// Puts a compaction's artifact in the place of everything before it and of its own lines.
    ///
    /// Lines of the compaction's own segment that are in the tree and not in the artifact stay behind it. `rows` are in the order in
    /// which they were said: what was said before the compaction and written behind it goes with what is replaced, but for what it
    /// keeps.
    pub(super) fn replace(&mut self, rows: Vec<Row>, position: usize, kept: &HashSet<Key>) -> Vec<Row> {
        let Some(artifact) = self.segments.get_mut(position).and_then(|lines| lines.artifact.take()) else {
            return rows;
        };
        let mut replaced = read_lines(&artifact, segment_number(position, true), &mut self.names);
        for row in &mut replaced {
            row.of_artifact = true;
        }
        drop_broken_chain(&mut replaced);
        let known: HashSet<Key> = replaced.iter().filter_map(|row| row.key).collect();
        let own = segment_number(position, false);
        let is_boundary = |row: &&Row| row.kind == Kind::Boundary && row.segment == own;
        let boundary = rows.iter().rposition(|row| is_boundary(&row));
        if let Some(row) = boundary.and_then(|boundary| rows.get(boundary))
            && let Some(stated) =
                replaced.iter_mut().rfind(|stated| stated.kind == Kind::Boundary && stated.key == row.key)
        {
            stated.say_again(row);
        }
        let lines = rows.into_iter().enumerate().filter(|(at, row)| {
            let is_new = row.key.is_some_and(|key| !known.contains(&key));
            let is_kept = row.key.is_some_and(|key| kept.contains(&key));
            // What a compaction keeps stands in its artifact, and where that lacks it, behind that: also what came late.
            if is_kept {
                return is_new;
            }
            let is_behind = boundary.is_none_or(|boundary| boundary < *at);
            match row.segment.cmp(&own) {
                Ordering::Less => is_behind || !row.kind.is_message(),
                Ordering::Equal => is_new && (is_behind || !row.kind.is_message()),
                // The compaction was written late, and what hangs on it stands before it.
                Ordering::Greater => is_new && is_behind && row.kind.is_node(),
            }
        });
        replaced.extend(lines.map(|(_, row)| row));
        replaced
    }

    /// Returns whether a line behind the first message hangs on one that was not read: it may be older, or
    /// never have been written.
    fn has_gap(&self) -> bool {
        let rows = || self.segments.iter().rev().flat_map(|lines| &lines.rows);
        let known: HashSet<Key> = rows().filter_map(|row| row.key).collect();
        let mut behind =
            rows().skip_while(|row| !row.kind.is_message()).skip(1).filter(|row| row.kind.is_node());
        behind.any(|row| matches!(row.parent, Link::Of(key) if !known.contains(&key)))
    }

    /// Reads the rest of a chain for its ids only.
    fn read_keys(&mut self, chain: &mut dyn Segments) -> Result<Older, SourceError> {
        let mut keys = HashSet::new();
        while let Some(segment) = chain.next()? {
            let rows = read_lines(&segment.native, 0, &mut self.names);
            keys.extend(rows.iter().filter_map(|row| row.key));
        }
        Ok(Older::Known(keys))
    }

    fn take(&mut self, position: usize, segment: Segment) {
        let latest = segment.created_at.as_micros();
        let lines = match segment.commit_type {
            CommitType::Delta => Lines {
                rows: read_lines(&segment.native, segment_number(position, false), &mut self.names),
                artifact: None,
                latest,
            },
            CommitType::Compaction => Lines {
                rows: read_lines(&segment.native, segment_number(position, false), &mut self.names),
                artifact: segment.prefix,
                latest,
            },
            CommitType::Snapshot { restated_entries } => {
                let number = segment_number(position, segment.prefix.is_some());
                let whole = segment.prefix.unwrap_or(segment.native);
                let mut rows = read_lines(&whole, number, &mut self.names);
                let entries = rows.iter_mut().filter(|row| row.kind != Kind::Blank);
                let restated = usize::try_from(restated_entries).unwrap_or(usize::MAX);
                for row in entries.take(restated) {
                    row.kind = Kind::Restated;
                    // What a restated boundary keeps is kept by the boundary that it restates.
                    row.preserved = Box::default();
                }
                Lines { rows, artifact: None, latest }
            }
        };
        self.segments.push(lines);
    }

    fn row(&self, (segment, row): (usize, usize)) -> Option<&Row> {
        self.segments.get(segment)?.rows.get(row)
    }
}

/// Drops what an artifact has of a chain that is broken: the client keeps nothing of it.
fn drop_broken_chain(artifact: &mut Vec<Row>) {
    if artifact.iter().any(|row| is_broken_chain(row, artifact)) {
        artifact.retain(|row| matches!(row.kind, Kind::Boundary | Kind::Summary));
    }
}

fn is_broken_chain(boundary: &Row, rows: &[Row]) -> bool {
    boundary.keeps_chain && chain(boundary, rows, &index(rows), &mut steps_max(rows)).is_empty()
}

fn read_lines(bytes: &[u8], segment: usize, names: &mut Names) -> Vec<Row> {
    let mut rows = Vec::with_capacity(memchr::memchr_iter(b'\n', bytes).count() + 1);
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1);
    for end in ends.chain(std::iter::once(bytes.len())) {
        let line = bytes.get(start..end).unwrap_or_default();
        if !line.is_empty() {
            let place = Place { segment, offset: start as u64 };
            Row::each((line, false), place, names, &mut |read| rows.push(read.row));
        }
        start = end;
    }
    rows
}

/// Follows the way back while a chain is read.
#[derive(Debug, Default)]
struct Trace {
    links: ByKey<(usize, usize)>,
    /// Calls and where they were made: a result leads to its call, whatever parent it names.
    calls: HashMap<u64, (usize, usize)>,
    /// Records that a compaction keeps, and where its boundary is: what hangs on them behind the boundary hangs on
    /// the compaction.
    kept: ByKey<(usize, usize)>,
    /// The line that leads on.
    at: Option<(usize, usize)>,
    /// The calls that the result in hand answers, while they were not found.
    sought: Box<[u64]>,
    next: Next,
    /// Segments whose lines are in `links`.
    indexed: usize,
    steps: usize,
    /// Whether a line of the tree stands behind where the start is looked for.
    behind: bool,
}

/// Where the way back stands.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// No message of the conversation was seen yet.
    #[default]
    Unknown,
    /// It leads on to this record.
    To(Key),
    /// It is at this line.
    At(usize, usize),
    /// It ends here, at a compaction whose records are of this time, unless some before it are later: then it was written late,
    /// and what hangs on it stands before it.
    Last(i64),
    /// It ends here.
    End,
    /// It is broken, so that only the order of all lines tells.
    Lost,
}

impl Trace {
    /// Goes on with a newly read segment; returns whether no older one is needed.
    fn follow(&mut self, loaded: &mut Loaded) -> bool {
        self.index(loaded);
        loop {
            self.next = match self.next {
                Next::Unknown => match start(loaded, &mut self.behind) {
                    Next::Unknown => return false,
                    next => next,
                },
                Next::To(key) => match self.compaction_of(key) {
                    // The call of a late result is in what the compaction keeps, and the result with it.
                    Some(_) if self.is_at_open_result(loaded) => Next::Lost,
                    Some(boundary) if self.lacks_kept(loaded, boundary) => Next::Lost,
                    Some(_) => Next::End,
                    None => match self.sought_call().or_else(|| self.links.get(&key).copied()) {
                        Some((segment, row)) => Next::At(segment, row),
                        None => return false,
                    },
                },
                Next::At(segment, row) => self.step(loaded, (segment, row)),
                Next::Last(time) => match loaded.segments.last() {
                    Some(oldest) if oldest.latest > time => return false,
                    _ => Next::End,
                },
                Next::End => return true,
                Next::Lost => return false,
            };
        }
    }

    /// Returns the boundary of the compaction that a line behind it hangs on, as it names a record which that keeps.
    fn compaction_of(&self, key: Key) -> Option<(usize, usize)> {
        let boundary = self.kept.get(&key).filter(|_| !self.links.contains_key(&key));
        // Segments are counted from the newest, lines from the oldest.
        let is_behind = |&&(segment, row): &&(usize, usize)| {
            self.at.is_none_or(|(at, line)| at < segment || (at == segment && line > row))
        };
        boundary.filter(is_behind).copied()
    }

    /// Returns whether the line that leads on is a result whose call was not found.
    fn is_at_open_result(&self, loaded: &Loaded) -> bool {
        let row = self.at.and_then(|at| loaded.row(at));
        row.is_some_and(|row| row.kind == Kind::Result) && !self.sought.is_empty()
    }

    /// Returns whether a compaction keeps what its artifact does not hold: its lines were broken, what it keeps was written behind it
    /// or has other ids in this copy.
    fn lacks_kept(&self, loaded: &Loaded, (segment, row): (usize, usize)) -> bool {
        // Of a boundary that stands there again the last copy says what is kept.
        let last = loaded.row((segment, row)).and_then(|boundary| self.links.get(&boundary.key?));
        let last = last.copied().unwrap_or((segment, row));
        let kept = loaded.row(last).map(|boundary| &*boundary.preserved).unwrap_or_default();
        if kept.is_empty() {
            return false;
        }
        let artifact = loaded.segments.get(segment).and_then(|lines| lines.artifact.as_deref());
        let rows = artifact.map_or_else(Vec::new, |artifact| read_lines(artifact, 0, &mut Names::new()));
        let found = rows.iter().filter(|row| row.kind != Kind::Progress);
        let held: HashSet<Key> = found.filter_map(|row| row.key).collect();
        !kept.iter().all(|key| held.contains(key))
            || loaded.row(last).is_some_and(|boundary| is_broken_chain(boundary, &rows))
    }

    /// Returns the call that the last result answers, once.
    fn sought_call(&mut self) -> Option<(usize, usize)> {
        let call = self.sought.iter().find_map(|call| self.calls.get(call)).copied();
        if call.is_some() {
            self.sought = Box::default();
        }
        call
    }

    fn index(&mut self, loaded: &Loaded) {
        for (segment, lines) in loaded.segments.iter().enumerate().skip(self.indexed) {
            // The last line with an id counts, so lines are taken from the end, newest segment first.
            for (position, row) in lines.rows.iter().enumerate().rev() {
                for &key in &row.preserved {
                    self.kept.entry(key).or_insert((segment, position));
                }
                for &call in &row.calls {
                    self.calls.entry(call).or_insert((segment, position));
                }
                // A restated record is looked for where it was stated first.
                if let Some(key) = row.key.filter(|_| row.kind != Kind::Restated) {
                    self.links.entry(key).or_insert((segment, position));
                }
            }
        }
        self.indexed = loaded.segments.len();
    }

    fn step(&mut self, loaded: &Loaded, at: (usize, usize)) -> Next {
        let Some(row) = loaded.row(at) else {
            return Next::Lost;
        };
        self.at = Some(at);
        // No way is longer than the lines that are there, unless it is a circle.
        self.steps += 1;
        if self.steps > self.links.len() + 1 {
            return Next::Lost;
        }
        match row.kind {
            // Where not all that it keeps is in its artifact, the rest is somewhere before it, or came late.
            Kind::Boundary if is_complete(loaded, at) && self.lacks_kept(loaded, at) => return Next::Lost,
            Kind::Boundary if is_complete(loaded, at) => return last(loaded, at.0),
            Kind::Boundary => return row.other.map_or(Next::Lost, Next::To),
            Kind::Result => {
                self.sought.clone_from(&row.answers);
            }
            _ => {}
        }
        match row.parent {
            Link::Of(key) => Next::To(key),
            // Also where a prompt seems to begin it all: one that was written late stands behind what hangs on it.
            Link::Root | Link::Absent => Next::Lost,
        }
    }
}

/// Finds where the way back starts in the segment that was read last.
fn start(loaded: &mut Loaded, behind: &mut bool) -> Next {
    let Some(segment) = loaded.segments.len().checked_sub(1) else {
        return Next::Unknown;
    };
    let rows = loaded.segments.get(segment).map_or(&[][..], |lines| &lines.rows);
    let Some(side) = loaded.side.or_else(|| side_of(rows)) else {
        // Only lines outside the tree, or a subagent's whose conversation is not known yet.
        return Next::Unknown;
    };
    let mut next = Next::Unknown;
    for (position, row) in rows.iter().enumerate().rev() {
        if let (Kind::Checkpoint, true, false, Link::Of(key)) = (row.kind, row.explicit, *behind, row.parent)
        {
            next = Next::To(key);
            break;
        }
        if row.kind.is_end() && row.sidechain == side {
            next = Next::At(segment, position);
            break;
        }
        *behind |= row.kind.is_node() && row.sidechain == side && row.kind != Kind::Progress;
    }
    loaded.side = Some(side);
    next
}

/// Returns whether the messages of a segment are a conversation's own or a subagent's, where they tell.
fn side_of(rows: &[Row]) -> Option<bool> {
    let mut messages = rows.iter().filter(|row| row.kind.is_message()).peekable();
    messages.peek()?;
    if messages.clone().any(|row| !row.sidechain) {
        return Some(false);
    }
    // The files of subagents name the agent in every line; inside a conversation's own file they do not.
    messages.all(|row| row.has_agent).then_some(true)
}

/// Returns what is known at a boundary where the way ends.
fn last(loaded: &Loaded, segment: usize) -> Next {
    let rows = loaded.segments.get(segment).map_or(&[][..], |lines| &lines.rows);
    rows.iter().filter_map(|row| row.time).max().map_or(Next::End, Next::Last)
}

fn is_complete(loaded: &Loaded, (segment, boundary): (usize, usize)) -> bool {
    let rows = loaded.segments.get(segment).map_or(&[][..], |lines| &lines.rows);
    let mut after = rows.iter().skip(boundary + 1);
    after.find(|row| row.kind.is_message()).is_some_and(|row| row.kind == Kind::Summary)
}
