//! The entries of loaded commits as a tree: who is whose parent, without their content.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::record::{Kind, MAIN_LANE, Record, apart};
use super::ways::Ways;
use crate::json::{is_blank, is_string, text};
use crate::lines::emit::{Place, places};

/// What an entry hangs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parent {
    /// The entry with this id.
    Id(Box<str>),
    /// Nothing: the conversation begins with it.
    Root,
    /// The entry before it, in lines that do not say.
    Before,
}

/// Which entry a compaction keeps first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    Id(Box<str>),
    /// Its number among the records of the file, the header being 0.
    Index(u64),
}

/// What a line of the fourth version says of where the conversation stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stands {
    /// At this entry.
    Here,
    /// At the entry with this id.
    At(Box<str>),
    /// At none: it begins anew.
    Nowhere,
    /// Nothing: the line is of another conversation, or of none.
    Elsewhere,
}

/// Where lines of the fourth version say that the conversation stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Standing<I> {
    /// There is no such line: the last entry says it.
    #[default]
    Unsaid,
    Nowhere,
    At(I),
}

impl Stands {
    fn of(record: &Record<'_>) -> Option<Self> {
        let kind = record.envelope.fourth()?;
        let is_main = record.envelope.lane.is_none_or(|lane| is_string(lane, MAIN_LANE));
        Some(match kind.as_ref() {
            "entry" if is_main && record.entry_id().is_some() => Self::Here,
            "lane" if is_main => {
                text(record.envelope.leaf_id).map_or(Self::Nowhere, |id| Self::At(id.into()))
            }
            _ => Self::Elsewhere,
        })
    }
}

/// A line.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "facts of one line that do not depend on each other")]
pub(super) struct Row {
    pub(super) place: Place,
    pub(super) id: Option<Box<str>>,
    pub(super) parent: Parent,
    /// Where the parent stands in the line; without one, where it would.
    pub(super) parent_span: Range<usize>,
    /// Where the first kept entry is named.
    pub(super) kept_span: Option<Range<usize>>,
    pub(super) kept: Option<Kept>,
    /// How many messages that are sent it holds word for word, as a compaction of pi's library does.
    pub(super) retained: usize,
    /// The call that it is the result of.
    pub(super) answers: Option<Box<str>>,
    pub(super) is_header: bool,
    pub(super) is_compaction: bool,
    pub(super) is_message: bool,
    /// Whether the client sends that message.
    pub(super) is_sent: bool,
    /// Whether the line could be read.
    pub(super) is_record: bool,
    /// Whether it is an entry of the tree.
    pub(super) is_node: bool,
    /// Whether it says again what an older commit said.
    pub(super) is_restated: bool,
    /// Whether the line ends.
    pub(super) has_newline: bool,
    /// Whether another part of the same line follows.
    pub(super) is_joined: bool,
    /// Of a line of the fourth version: where it says that the conversation stands.
    pub(super) stands: Option<Stands>,
    /// What the line says, where it is no record as it stands.
    pub(super) found: Option<Box<str>>,
}

impl Row {
    /// A line that is no record.
    fn none() -> Self {
        Self {
            place: Place { segment: 0, offset: 0, length: 0 },
            id: None,
            parent: Parent::Before,
            parent_span: 0..0,
            kept_span: None,
            kept: None,
            retained: 0,
            answers: None,
            is_header: false,
            is_compaction: false,
            is_message: false,
            is_sent: false,
            is_record: false,
            is_node: false,
            is_restated: false,
            has_newline: false,
            is_joined: false,
            stands: None,
            found: None,
        }
    }

    /// Returns what a record is.
    pub(super) fn of(record: &Record<'_>, is_linear: bool) -> Self {
        let mut row = Self::none();
        row.is_record = true;
        row.stands = Stands::of(record);
        row.is_header = record.kind == Kind::Session;
        row.is_compaction = record.kind == Kind::Compaction;
        row.is_message = record.is_seen();
        row.is_sent = record.is_sent();
        row.answers = record.answers().map(Into::into);
        let own = record.entry_id();
        row.id = own.and_then(|id| Some(id.text()?.into()));
        row.is_node = row.id.is_some() || (is_linear && !row.is_header);
        match (own, record.envelope.parent_id) {
            (Some(_), Some(field)) => {
                let parent = field.text().filter(|parent| !parent.is_empty());
                row.parent = parent.map_or(Parent::Root, |parent| Parent::Id(parent.into()));
                row.parent_span = field.span();
            }
            (Some(id), None) => row.parent_span = id.span().end..id.span().end,
            (None, _) => {}
        }
        if row.is_compaction {
            row.retained = record.retained().iter().filter(|message| message.is_sent()).count();
            let index = record.envelope.kept_index.filter(|field| field.number().is_some());
            let kept_id = record.envelope.kept_id.filter(|field| field.text().is_some());
            row.kept_span = kept_id.or(index).map(|field| field.span());
            row.kept = kept_id
                .and_then(|id| Some(Kept::Id(id.text()?.into())))
                .or_else(|| Some(Kept::Index(index?.number()?)));
        }
        row
    }
}

/// Reads the lines of a commit; the first `restated` entries of them say again what older ones said.
pub(super) fn rows(segment: usize, bytes: &[u8], restated: u64, is_linear: bool) -> Vec<Row> {
    let mut entries = 0;
    let mut rows = Vec::new();
    for (place, line) in places(segment, bytes) {
        let mut add = |(place, is_joined): (Place, bool), read: Row| {
            entries += u64::from(!is_blank(line));
            let ends = u64::try_from(line.len()).is_ok_and(|length| length < place.length);
            rows.push(Row {
                place,
                is_joined,
                has_newline: ends && !is_joined,
                is_restated: entries <= restated,
                ..read
            });
        };
        if let Ok(record) = Record::parse(line) {
            add((place, false), Row::of(&record, is_linear));
            continue;
        }
        for part in apart(line) {
            let record = part.record.as_ref().and_then(|text| Record::parse(text.as_bytes()).ok());
            let row = record.map_or_else(Row::none, |record| Row {
                found: Some(record.whole.raw().into()),
                ..Row::of(&record, is_linear)
            });
            add(place.part(&part.range, line), row);
        }
    }
    rows
}

/// Where a row stands: the commit, counted from the newest, and the line in it.
pub(super) type At = (usize, usize);

/// Returns whether one row stands before another one.
pub(super) const fn is_before((segment, row): At, (other_segment, other_row): At) -> bool {
    segment > other_segment || segment == other_segment && row < other_row
}

/// The rows of the commits loaded so far.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Newest commit first.
    pub(super) segments: Vec<Vec<Row>>,
    by_id: HashMap<Box<str>, At>,
    /// Ids of entries that are said again.
    restated: HashSet<Box<str>>,
    /// Whether lines that are no record as they stand are none.
    pub(super) is_strict: bool,
}

impl Tree {
    /// A tree of what compactions are made of: their ids do not change with what is read of a broken line.
    pub(super) fn strict() -> Self {
        Self { is_strict: true, ..Self::default() }
    }

    /// Adds the next older commit.
    pub(super) fn push(&mut self, mut rows: Vec<Row>) {
        for row in rows.iter_mut().filter(|row| self.is_strict && row.found.is_some()) {
            *row = Row { place: row.place, has_newline: row.has_newline, ..Row::none() };
        }
        let segment = self.segments.len();
        let mut own: HashMap<Box<str>, At> = HashMap::new();
        for (index, row) in rows.iter().enumerate() {
            let Some(id) = &row.id else { continue };
            if row.is_restated {
                self.restated.insert(id.clone());
            } else {
                own.insert(id.clone(), (segment, index));
            }
        }
        // Of two entries with one id the loader takes the later.
        for (id, at) in own {
            self.by_id.entry(id).or_insert(at);
        }
        self.segments.push(rows);
    }

    pub(super) fn row(&self, (segment, row): At) -> Option<&Row> {
        self.segments.get(segment)?.get(row)
    }

    pub(super) fn find(&self, id: &str) -> Option<At> {
        self.by_id.get(id).copied()
    }

    /// Returns the nearest entry before a place.
    pub(super) fn before(&self, (segment, row): At) -> Option<At> {
        let last = |segment: usize, rows: &[Row]| {
            let at = rows.iter().rposition(|row| row.is_node && !row.is_restated)?;
            Some((segment, at))
        };
        let own = self.segments.get(segment)?;
        last(segment, own.get(..row.min(own.len())).unwrap_or_default()).or_else(|| {
            let older = self.segments.iter().enumerate().skip(segment + 1);
            older.into_iter().find_map(|(segment, rows)| last(segment, rows))
        })
    }

    /// Returns where the conversation stands (see [`Ways::leaf`]). `is_all` says whether nothing older is to be loaded: else there
    /// is no answer before what could hang on the last message is loaded.
    pub(super) fn leaf(&self, is_all: bool) -> Option<At> {
        match self.stands() {
            Standing::Unsaid => {}
            Standing::Nowhere => return None,
            Standing::At(at) => return Some(at),
        }
        let last = self.before((0, usize::MAX))?;
        if !is_all {
            // What is loaded may lead in a circle that is mended when all is there.
            let mut seen = HashSet::new();
            let way = std::iter::successors(Some(last), |at| self.parent_of(*at));
            let message = way
                .take_while(|at| seen.insert(*at))
                .find(|at| self.row(*at).is_some_and(|row| row.is_message))?;
            // What hangs on a message stands behind what that hangs on, unless that was written late itself.
            let is_in_place = |parent: At| is_before(parent, message);
            self.parent_of(message).filter(|parent| is_in_place(*parent))?;
        }
        let (places, ways) = self.ways(is_all);
        ways.leaf().and_then(|leaf| places.get(leaf).copied()).or_else(|| Some(last).filter(|_| is_all))
    }

    /// Returns the entries that are loaded, and what hangs on what.
    pub(super) fn ways(&self, is_all: bool) -> (Vec<At>, Ways<'_>) {
        let entries = self.in_order().filter(|(_, row)| row.is_node && !row.is_restated);
        let (places, rows) = entries.unzip();
        (places, Ways::of(rows, false, is_all))
    }

    /// Returns the way from an entry to the root, the entry first, and how many of its entries hang on the one before them because
    /// what they name is not there, or leads in a circle.
    pub(super) fn mended(&self, from: Option<At>, is_all: bool) -> (Vec<At>, u64) {
        let (places, ways) = self.ways(is_all);
        let way = ways.way(from.and_then(|from| places.iter().position(|at| *at == from)));
        let at = |index: &usize| places.get(*index).copied();
        let is_restated = |row: &Row| matches!(&row.parent, Parent::Id(id) if self.restated.contains(id));
        let is_mended = |index: &&usize| {
            let row = at(index).and_then(|at| self.row(at));
            ways.mended(**index).is_some() && ways.up(**index).is_some() && !row.is_some_and(is_restated)
        };
        let mended = way.iter().filter(is_mended).count();
        (way.iter().filter_map(at).collect(), u64::try_from(mended).unwrap_or(u64::MAX))
    }

    /// Returns whether a row is what its id stands for.
    pub(super) fn counts(&self, at: At) -> bool {
        let id = self.row(at).and_then(|row| row.id.as_deref());
        id.and_then(|id| self.find(id)).is_none_or(|counted| counted == at)
    }

    /// Returns whether a row is the last compaction of a way, given newest first up to it, and stands before all that follows on it:
    /// its artifact then stands for all that is older.
    pub(super) fn is_compacted(&self, at: At, way: &[At]) -> bool {
        let is_compaction = |at: At| self.row(at).is_some_and(|row| row.is_compaction);
        let follows = |other: &At| *other == at || is_before(at, *other) && !is_compaction(*other);
        is_compaction(at) && way.iter().all(follows)
    }

    /// Returns whether an entry behind a compaction may be one that was written late, of those that it keeps: it hangs on what stands
    /// before the compaction. Else another branch begins with it.
    pub(super) fn has_late(&self, compaction: At) -> bool {
        let is_behind = |at: At| is_before(compaction, at);
        self.in_order().any(|(at, row)| {
            let parent = match &row.parent {
                Parent::Id(id) => self.find(id),
                Parent::Before | Parent::Root => return false,
            };
            row.is_node
                && !row.is_restated
                && is_behind(at)
                && parent.is_none_or(|parent| is_before(parent, compaction))
        })
    }

    /// Returns where lines of the fourth version say that the conversation stands, of what is loaded.
    fn stands(&self) -> Standing<At> {
        let mut stands = Standing::Unsaid;
        for (segment, rows) in self.segments.iter().enumerate() {
            for (index, row) in rows.iter().enumerate().rev().filter(|(_, row)| !row.is_restated) {
                match row.stands.as_ref() {
                    None => {}
                    Some(Stands::Here) => return Standing::At((segment, index)),
                    Some(Stands::At(id)) => return self.find(id).map_or(Standing::Nowhere, Standing::At),
                    Some(Stands::Nowhere) => return Standing::Nowhere,
                    Some(Stands::Elsewhere) => stands = Standing::Nowhere,
                }
            }
        }
        stands
    }

    /// Returns the entry that another one hangs on, of those that are loaded.
    fn parent_of(&self, at: At) -> Option<At> {
        match &self.row(at)?.parent {
            Parent::Id(id) => self.find(id),
            Parent::Before => self.before(at),
            Parent::Root => None,
        }
    }

    pub(super) fn has_header(&self) -> bool {
        self.segments.iter().flatten().any(|row| row.is_header)
    }

    /// Puts what stands for everything before into the place of a compaction and all older rows, and returns how
    /// many rows that is.
    pub(super) fn replace(&mut self, (segment, row): At, mut prefix: Vec<Row>) -> usize {
        let count = prefix.len();
        self.segments.truncate(segment + 1);
        let own = self.segments.pop().unwrap_or_default();
        prefix.extend(own.into_iter().skip(row + 1));
        self.segments.push(prefix);
        count
    }

    /// Returns the places of all rows, oldest first.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (At, &Row)> {
        let newest_last = self.segments.iter().enumerate().rev();
        newest_last.flat_map(|(segment, rows)| {
            rows.iter().enumerate().map(move |(index, row)| ((segment, index), row))
        })
    }
}
