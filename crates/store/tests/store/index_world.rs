//! A store that is only a list of commits, and an index that follows it: what the tests of the index share.
//!
//! What an entry says follows from its key.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stemmata_model::CommitId;
use stemmata_store::conformance::builders::key;
use stemmata_store::{
    EntryRef, Index, IndexBatch, IndexEntry, IndexError, IndexLock, IndexOptions, IndexPlace, IndexReader,
    IndexedCommit, IndexedState, Patience, StoredAt, SystemFiles, Watermark,
};

pub(crate) const STORE: [u8; 16] = *b"the index's own.";

/// How long locks are waited for.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// The key of an entry that names one of its terms twice.
pub(crate) const TWICE: u64 = u64::MAX;

pub(crate) fn options() -> IndexOptions {
    IndexOptions {
        files: Arc::new(SystemFiles),
        patience: Patience::each(PATIENCE),
        terms: 1,
        store_id: STORE,
        can_write: true,
    }
}

pub(crate) fn open(dir: &Path) -> Index {
    Index::open(dir, options()).expect("an index")
}

pub(crate) fn lock(dir: &Path) -> IndexLock {
    Index::lock(dir, &SystemFiles).expect("a folder").expect("nobody has it")
}

/// A commit of the list.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) parent: Option<usize>,
    /// The keys of its entries; `None` for an entry that search leaves out.
    pub(crate) keys: Vec<Option<u64>>,
    pub(crate) starts: Vec<u32>,
    pub(crate) place: u8,
    pub(crate) is_open: bool,
    pub(crate) is_gap: bool,
    /// The open turn that it closes.
    pub(crate) covers: Option<usize>,
}

/// All commits in the order of storing.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) turns: Vec<Turn>,
    /// Those that a later commit covers that is not in the list.
    pub(crate) gone: BTreeSet<usize>,
}

pub(crate) fn id(turn: usize) -> CommitId {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&(turn as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    CommitId::from_bytes(bytes)
}

/// The place of a turn as a store has it that numbers no rows: longer than a number. Engines' tests have those of rows.
pub(crate) fn stored(turns: u64) -> StoredAt {
    StoredAt::from_bytes(&u128::from(turns).to_be_bytes()).expect("few bytes")
}

/// Returns how many turns there are through a place.
pub(crate) fn turns_of(at: StoredAt) -> u64 {
    let bytes = at.as_bytes().try_into().expect("as it was written");
    u64::try_from(u128::from_be_bytes(bytes)).expect("small")
}

/// A word that only this entry has and that shares no beginning with others.
pub(crate) fn word(key: u64) -> String {
    let mut word = String::new();
    let mut seed = key.wrapping_add(1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    for _ in 0..12 {
        seed ^= seed >> 29;
        seed = seed.wrapping_mul(0x9fb2_1c65_1e98_df25);
        word.push(char::from(b'a' + u8::try_from(seed >> 40 & 15).expect("four bits")));
    }
    word
}

pub(crate) fn author(key: u64) -> Option<String> {
    key.is_multiple_of(3).then(|| format!("author {}", word(key)))
}

pub(crate) fn entry(key: u64) -> IndexEntry {
    let count = |times: u64| u16::try_from(times).expect("small");
    let mut terms = BTreeMap::from([(word(key), 1), ("the".to_owned(), count(1 + key % 5))]);
    terms.insert(format!("w{}", key % 7), count(1 + key % 300));
    terms.insert(format!("even{}", key % 2), 2);
    let length = terms.values().sum();
    let mut terms: Vec<(String, u16)> = terms.into_iter().collect();
    if key == TWICE {
        terms.extend([("twice".to_owned(), 2), ("twice".to_owned(), 3)]);
    }
    IndexEntry {
        key: key.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        terms,
        length,
        class: u8::try_from(key % 16).expect("small"),
        marks: u8::try_from(key % 128).expect("small"),
        minute: u32::try_from(key.min(1_000_000) * 3).expect("small"),
        author: author(key),
    }
}

pub(crate) fn place(number: u8) -> IndexPlace {
    IndexPlace {
        key: key(&format!("session-{number}")),
        session: format!("session-{number}"),
        client: "claude-code".to_owned(),
        cwd: Some(format!("/work/{number}")),
        branch: None,
    }
}

impl World {
    /// Returns whether a later commit of the first so many covers one.
    fn is_covered(&self, turn: usize, until: usize) -> bool {
        self.gone.contains(&turn) || self.turns.iter().take(until).any(|later| later.covers == Some(turn))
    }

    /// Has an index follow the first so many commits, as an engine does.
    pub(crate) fn settle(&self, index: &Index, lock: &IndexLock, until: usize) {
        let expected = index.meta().expect("a state").watermark;
        let from = expected.through.map_or(0, |(at, _)| usize::try_from(turns_of(at)).expect("small"));
        let reader = index.reader().expect("a view");
        let mut batch = IndexBatch { expected, next: expected, ..IndexBatch::default() };
        let mut new: BTreeMap<u64, usize> = BTreeMap::new();
        for turn in from..until {
            if self.is_covered(turn, until) {
                continue;
            }
            let commit = self.commit(&reader, turn, (&mut batch, &mut new), until);
            batch.next = Watermark { through: Some((commit.stored, commit.id)) };
            batch.commits.push(commit);
        }
        drop(reader);
        match index.settle(lock, &batch) {
            Ok(_) => {}
            Err(IndexError::Rewritten { before }) => {
                index.cut(lock, before).expect("a cut");
                self.settle(index, lock, until);
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn commit(
        &self,
        reader: &IndexReader<'_>,
        number: usize,
        (batch, new): (&mut IndexBatch, &mut BTreeMap<u64, usize>),
        until: usize,
    ) -> IndexedCommit {
        let turn = &self.turns[number];
        let entries = turn.keys.iter().map(|key| {
            let key = (*key)?;
            let made = entry(key);
            if let [Some(known)] = reader.known(&[made.key]).expect("a look-up")[..] {
                return Some(EntryRef::Known(known));
            }
            let place = *new.entry(key).or_insert_with(|| {
                batch.entries.push(made);
                batch.entries.len() - 1
            });
            Some(EntryRef::New(place))
        });
        let entries = if turn.is_gap { Vec::new() } else { entries.collect() };
        let parent = turn.parent.map(id);
        let seen = [place(turn.place).key];
        let mut covers = reader.open_beside(parent, &seen).expect("a look-up");
        let is_covered =
            |open: &CommitId| (0..until).any(|turn| id(turn) == *open && self.is_covered(turn, until));
        covers.retain(is_covered);
        batch.places.push(place(turn.place));
        IndexedCommit {
            stored: stored(number as u64 + 1),
            id: id(number),
            parent,
            state: match (turn.is_gap, turn.is_open) {
                (true, _) => IndexedState::Skipped,
                (false, true) => IndexedState::Provisional,
                (false, false) => IndexedState::Closed,
            },
            entries,
            starts: if turn.is_gap { Vec::new() } else { turn.starts.clone() },
            places: vec![batch.places.len() - 1],
            covers,
        }
    }
}

/// What an index says of one entry, by keys instead of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    terms: BTreeMap<String, u16>,
    columns: (u16, u8, u8, u32),
    author: Option<String>,
    group: Vec<u64>,
    commits: BTreeSet<(u64, CommitId, usize)>,
    places: BTreeSet<String>,
}

/// Returns all that an index says, and checks that it is sound.
pub(crate) fn dump(index: &Index) -> BTreeMap<u64, Said> {
    let mut wrong = Vec::new();
    index.verify(&mut |what| wrong.push(what)).expect("a check");
    assert_eq!(wrong, [""; 0]);
    let reader = index.reader().expect("a view");
    let authors: BTreeMap<u16, String> = reader.authors().expect("authors").into_iter().collect();
    let mut keys: BTreeMap<u32, u64> = BTreeMap::new();
    for segment in reader.segments() {
        keys.extend((segment.base()..).zip(segment.keys().expect("keys").iter().copied()));
    }
    let mut places: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    let mut rows = Vec::new();
    reader.places(&mut |row, place| rows.push((row, place.session))).expect("places");
    for (row, session) in rows {
        let mut mark = |run: std::ops::Range<u32>| {
            for number in run {
                places.entry(number).or_default().insert(session.clone());
            }
        };
        let commits = reader.commits_in(&[row], &[]).expect("commits");
        reader.numbers_in(&[row], &commits, &mut mark).expect("numbers");
    }
    let mut said = BTreeMap::new();
    for segment in reader.segments() {
        let mut terms: Vec<BTreeMap<String, u16>> = vec![BTreeMap::new(); segment.span() as usize];
        segment
            .each_term(b"", &mut |term, _| {
                let term = std::str::from_utf8(term).expect("text");
                let postings = segment.postings(term)?.expect("it is there");
                let (mut numbers, mut tfs) = ([0; 128], [0; 128]);
                for block in 0..postings.blocks() {
                    let count = postings.unpack(block, &mut numbers, &mut tfs)?;
                    assert_eq!(numbers[count - 1], postings.block_last(block));
                    assert!(tfs[..count].iter().all(|tf| *tf <= postings.bound().tf_max));
                    for (number, tf) in numbers[..count].iter().zip(tfs) {
                        assert!(segment.lengths()?[*number as usize] >= postings.bound().length_min);
                        terms[*number as usize].insert(term.to_owned(), tf);
                    }
                }
                Ok(true)
            })
            .expect("terms");
        for (offset, terms) in terms.into_iter().enumerate() {
            let number = segment.base() + u32::try_from(offset).expect("small");
            let group = reader.groups_of(&[number], |runs| runs).expect("a group").remove(0);
            let author = segment.authors().expect("authors").get(offset).copied().unwrap_or_default();
            let found = Said {
                terms,
                columns: (
                    segment.lengths().expect("a column")[offset],
                    segment.classes().expect("a column")[offset],
                    segment.marks().expect("a column")[offset],
                    segment.minutes().expect("a column")[offset],
                ),
                author: authors.get(&author).cloned(),
                group: group.iter().cloned().flatten().map(|number| keys[&number]).collect(),
                commits: reader
                    .occurrences(number, 1_000, None)
                    .expect("commits")
                    .into_iter()
                    .map(|at| (turns_of(at.stored), at.id, at.position))
                    .collect(),
                places: places.get(&number).cloned().unwrap_or_default(),
            };
            assert!(said.insert(keys[&number], found).is_none(), "an entry is there once");
        }
    }
    said
}
