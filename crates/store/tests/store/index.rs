//! The search index follows a store: in any batches, cut anywhere, and nothing stays of what was cut.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_store::conformance::builders::at;
use stemmata_store::{
    Index, IndexBatch, IndexError, IndexLock, IndexOptions, IndexedEvent, IndexedLedger, SystemFiles,
    Watermark,
};
use stemmata_testkit::disk::{Disk, Failure, Fault, Image};
use stemmata_testkit::files::RecordedFiles;
use tempfile::TempDir;

use super::index_world::{
    PATIENCE, Said, TWICE, Turn, World, author, dump, entry, id, lock, open, options, place, stored,
    turns_of, word,
};

/// How often an index is replaced while others open it.
const REPLACED_TIMES: usize = 40;

/// What happens next in a store.
#[derive(Debug, Clone)]
struct Op {
    parent: u8,
    kind: u8,
    entries: Vec<u8>,
    starts: u8,
    place: u8,
}

fn op() -> impl Strategy<Value = Op> {
    (any::<u8>(), 0..8_u8, proptest::collection::vec(0..8_u8, 0..7), any::<u8>(), 0..3_u8)
        .prop_map(|(parent, kind, entries, starts, place)| Op { parent, kind, entries, starts, place })
}

/// Makes a store of what happens. An open turn begins a group, and its entries are nobody else's: where it goes on with another
/// turn's group, and a fork does so too before it is closed, which of them is in the group depends on when the index looked.
fn world(ops: &[Op]) -> World {
    let mut world = World::default();
    let mut next = 0;
    let mut shareable: Vec<u64> = Vec::new();
    for (number, op) in ops.iter().enumerate() {
        let open = world.turns.iter().position(|turn| turn.is_open);
        let grown = open.filter(|_| op.kind < 3);
        let covered: BTreeSet<usize> = world.turns.iter().filter_map(|turn| turn.covers).collect();
        let grown = grown.filter(|open| !covered.contains(open));
        let mut keys: Vec<Option<u64>> = grown.map_or(Vec::new(), |open| world.turns[open].keys.clone());
        for choice in &op.entries {
            keys.push(match choice {
                0 => None,
                1 if grown.is_none() && op.kind != 3 && !shareable.is_empty() => {
                    Some(shareable[(number * 7 + keys.len()) % shareable.len()])
                }
                _ => {
                    next += 1;
                    Some(next)
                }
            });
        }
        let is_open = op.kind == 3 && open.is_none_or(|open| covered.contains(&open));
        if !is_open {
            shareable.extend(keys.iter().flatten());
        }
        let starts = op.starts | u8::from(op.kind == 3);
        let starts = (0..keys.len()).filter(|place| starts >> (place % 8) & 1 == 1);
        let starts: Vec<u32> = starts.map(|place| u32::try_from(place).expect("small")).collect();
        let parents: Vec<usize> = (0..number).filter(|turn| !world.turns[*turn].is_open).collect();
        let parent = match usize::from(op.parent) % (parents.len() + 1) {
            0 => None,
            place => Some(parents[place - 1]),
        };
        world.turns.push(match grown {
            Some(open) => {
                let before = world.turns[open].clone();
                let kept = before.starts.iter().copied();
                let later = starts_after(&starts, before.keys.len());
                Turn {
                    keys,
                    starts: kept.chain(later).collect(),
                    is_open: false,
                    covers: Some(open),
                    ..before
                }
            }
            None => Turn {
                parent,
                keys,
                starts,
                place: op.place,
                is_open,
                is_gap: op.kind == 4 && number % 3 == 0,
                covers: None,
            },
        });
    }
    world
}

fn starts_after(starts: &[u32], length: usize) -> Vec<u32> {
    starts.iter().copied().filter(|start| *start as usize >= length).collect()
}

/// Builds an index of the first so many commits at once.
fn anew(world: &World, until: usize) -> std::collections::BTreeMap<u64, Said> {
    let home = TempDir::new().expect("a directory");
    let index = open(home.path());
    world.settle(&index, &lock(home.path()), until);
    dump(&index)
}

/// Returns the parts of these words that some file of a folder holds.
/// Settles a world in steps, and returns how many of its turns the index has then.
fn follow(world: &World, (index, lock): (&Index, &IndexLock), steps: &[usize]) -> usize {
    let mut until = 0;
    for step in steps {
        until = (until + step).min(world.turns.len());
        world.settle(index, lock, until);
    }
    until
}

fn held(dir: &Path, words: &[String]) -> Vec<String> {
    let mut held = Vec::new();
    for file in std::fs::read_dir(dir).expect("names") {
        let path = file.expect("a name").path();
        if path.is_dir() {
            held.extend(self::held(&path, words));
            continue;
        }
        let bytes = std::fs::read(&path).expect("readable");
        // Terms share their beginnings with their neighbours: the end of a word stands there whole.
        let stands = |word: &&String| {
            let end = &word.as_bytes()[word.len() - 9..];
            bytes.windows(end.len()).any(|window| window == end)
        };
        held.extend(words.iter().filter(stands).cloned());
    }
    held
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(4)))]

    /// In whatever batches an index follows a store, it says what one says that is built at once.
    #[test]
    fn any_batches_make_the_same_index(
        ops in proptest::collection::vec(op(), 1..24),
        steps in proptest::collection::vec(1..5_usize, 24),
    ) {
        let world = world(&ops);
        let home = TempDir::new().expect("a directory");
        let (index, lock) = (open(home.path()), lock(home.path()));
        let until = follow(&world, (&index, &lock), &steps);
        prop_assert_eq!(until, world.turns.len());
        prop_assert_eq!(dump(&index), anew(&world, until));
    }

    /// A cut leaves what an index of the commits before has, and following the store again makes it whole.
    #[test]
    fn a_cut_index_is_one_of_the_commits_before(
        ops in proptest::collection::vec(op(), 1..24),
        steps in proptest::collection::vec(1..5_usize, 24),
        before in any::<prop::sample::Index>(),
    ) {
        let world = world(&ops);
        let home = TempDir::new().expect("a directory");
        let (index, lock) = (open(home.path()), lock(home.path()));
        let until = follow(&world, (&index, &lock), &steps);
        let before = before.index(world.turns.len()) + 1;
        let meta = index.cut(&lock, stored(before as u64)).expect("a cut");
        let through = meta.watermark.through.map_or(0, |(at, _)| usize::try_from(turns_of(at)).expect("small"));
        prop_assert!(through < before);
        // A commit that is covered later is not there any more.
        let mut left = world.clone();
        left.turns.truncate(through);
        left.gone = world.turns.iter().filter_map(|turn| turn.covers).collect();
        prop_assert_eq!(dump(&index), anew(&left, through));
        world.settle(&index, &lock, until);
        prop_assert_eq!(dump(&index), anew(&world, until));
    }
}

/// Makes a store of so many turns of three new entries each, in two sessions.
fn turns(count: usize) -> World {
    let turn = |number: usize| Turn {
        parent: number.checked_sub(2),
        keys: (0..3).map(|place| Some(number as u64 * 3 + place)).collect(),
        starts: vec![0],
        place: u8::from(number % 2 == 1),
        is_open: false,
        is_gap: false,
        covers: None,
    };
    World { turns: (0..count).map(turn).collect(), ..World::default() }
}

#[test]
fn nothing_of_what_was_cut_is_in_any_file() {
    let home = TempDir::new().expect("a directory");
    let (index, world) = (open(home.path()), turns(20));
    let lock = lock(home.path());
    for until in 1..=20 {
        world.settle(&index, &lock, until);
    }
    let aside = quarantine(home.path(), &lock).expect("it was there");
    assert!(aside.is_dir());
    drop(index);
    let index = Index::begin_anew(home.path(), options(), &lock).expect("made");
    index.publish(&lock).expect("published");
    for until in 1..=20 {
        world.settle(&index, &lock, until);
    }
    let names = |range: std::ops::Range<u64>| -> Vec<String> {
        range.flat_map(|key| std::iter::once(word(key)).chain(author(key))).collect()
    };
    let all: BTreeSet<String> = held(home.path(), &names(0..60)).into_iter().collect();
    assert_eq!(all.len(), 80, "words and authors are found where they are");
    let meta = index.cut(&lock, stored(18)).expect("a cut");
    let index = cleaned(index, &lock);
    let through = turns_of(meta.watermark.through.expect("some are left").0);
    assert!((1..=17).contains(&through), "{through}");
    assert_eq!(held(home.path(), &names(through * 3..60)), [""; 0]);
    assert!(!held(home.path(), &names(0..through * 3)).is_empty(), "the rest is there");
    // A session that is gone leaves no path, and its commits stay.
    let mut row = None;
    let mut seen = |place, found: stemmata_store::IndexPlace| {
        if found.session == "session-1" {
            row = Some(place);
        }
    };
    index.reader().expect("a view").places(&mut seen).expect("places");
    let entries = index.meta().expect("a state").entries;
    assert_eq!(index.drop_places(&lock, &[row.expect("it is there")]).expect("dropped").entries, entries);
    let index = cleaned(index, &lock);
    assert_eq!(held(home.path(), &["ann/session-1.jsonl".to_owned()]), [""; 0]);
    // Who reads goes on with what was, and keeps nobody waiting.
    world.settle(&index, &lock, 20);
    let said = dump(&index);
    let (other, began) = (open(home.path()), std::time::Instant::now());
    let reader = other.reader().expect("a view");
    index.cut(&lock, stored(18)).expect("a cut");
    let index = cleaned(index, &lock);
    assert!(began.elapsed() < PATIENCE * 10, "{:?}", began.elapsed());
    assert_eq!(held(home.path(), &names(through * 3..60)), [""; 0]);
    assert_eq!(reader.meta().expect("a state").entries, said.len() as u64);
    // A turn that is only settled again needs no copy.
    index.rewind(&lock, stored(2)).expect("a cut");
    assert!(!index.meta().expect("a state").is_unclean && index.is_current());
}

/// Cleans an index, and returns the one that is there then.
fn cleaned(index: Index, lock: &IndexLock) -> Index {
    let dir = index.dir().to_owned();
    index.clean(lock).expect("cleaned");
    drop(index);
    let index = open(&dir);
    assert!(!index.meta().expect("a state").is_unclean);
    index
}

fn quarantine(dir: &Path, lock: &IndexLock) -> Option<PathBuf> {
    let named = Index::named(dir).expect("readable").expect("it is there");
    Index::quarantine(dir, &SystemFiles, (&named, at(5)), lock).expect("set aside")
}

/// A folder that somebody empties has an index of another name then: a process that has the old one open neither takes it for
/// the new one nor removes that.
#[test]
fn an_index_that_is_gone_is_never_taken_for_the_one_that_is_there() {
    let home = TempDir::new().expect("a directory");
    let dir = home.path().join("index");
    let stale = open(&dir);
    std::fs::remove_dir_all(&dir).expect("removed");
    let index = open(&dir);
    turns(4).settle(&index, &lock(&dir), 4);
    assert!(index.is_current() && !stale.is_current());
    let refused = stale.clean(&lock(&dir));
    assert!(matches!(refused, Err(IndexError::Moved)), "{refused:?}");
    assert_eq!(open(&dir).meta().expect("a state").entries, 12);
    // What was found damaged before another one was made is not there any more to be set aside.
    let found = Index::named(&dir).expect("readable").expect("it is there");
    let lock = lock(&dir);
    Index::begin_anew(&dir, options(), &lock).and_then(|made| made.publish(&lock)).expect("made");
    let aside = Index::quarantine(&dir, &SystemFiles, (&found, at(5)), &lock).expect("nothing to do");
    assert_eq!(aside, None);
    assert!(quarantine(&dir, &lock).is_some());
}

/// Whoever opens an index while others put new ones in its place finds one, and none that is damaged.
#[test]
fn an_index_is_opened_while_others_replace_it() {
    let home = TempDir::new().expect("a directory");
    drop(open(home.path()));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let lock = lock(home.path());
            for _ in 0..REPLACED_TIMES {
                Index::begin_anew(home.path(), options(), &lock)
                    .and_then(|made| made.publish(&lock))
                    .expect("made");
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            let opened = Index::open(home.path(), options());
            assert!(matches!(opened, Ok(_) | Err(IndexError::Moved)), "{opened:?}");
        }
    });
    let names = std::fs::read_dir(home.path()).expect("names").flatten().map(|file| file.file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    assert!(names.len() <= 5, "one database, and the lock: {names:?}");
}

/// `current` may hold anything: it is set aside with all databases, and another index is made.
#[test]
fn a_folder_whose_current_cannot_be_read_is_set_aside() {
    for bytes in [&b""[..], b"../elsewhere", b"search-1.db", b"search-00000000000000zz.db", &[0xff; 100]] {
        let home = TempDir::new().expect("a directory");
        turns(4).settle(&open(home.path()), &lock(home.path()), 4);
        std::fs::File::create(home.path().join("current"))
            .and_then(|mut file| std::io::Write::write_all(&mut file, bytes))
            .expect("written");
        let damaged = Index::open(home.path(), options());
        assert!(matches!(damaged, Err(IndexError::Damaged { .. })), "{damaged:?}");
        let aside = quarantine(home.path(), &lock(home.path())).expect("set aside");
        assert!(std::fs::read_dir(aside).expect("names").count() > 1, "the database is there, too");
        assert_eq!(open(home.path()).meta().expect("a state").entries, 0);
    }
}

/// What clients write may have a term twice: postings say it once, with both counts.
#[test]
fn a_term_that_an_entry_has_twice_is_there_once() {
    let home = TempDir::new().expect("a directory");
    let (index, lock) = (open(home.path()), lock(home.path()));
    let mut world = turns(1);
    world.turns[0].keys = vec![Some(TWICE)];
    world.settle(&index, &lock, 1);
    let reader = index.reader().expect("a view");
    let segments = reader.segments();
    let postings = segments[0].postings("twice").expect("readable").expect("it is there");
    let (mut numbers, mut tfs) = ([0; 128], [0; 128]);
    assert_eq!(postings.unpack(0, &mut numbers, &mut tfs).expect("readable"), 1);
    assert_eq!((numbers[0], tfs[0]), (0, 5));
}

/// Rows that have no checksum are held to what they can say.
#[test]
fn segments_with_impossible_numbers_are_damaged() {
    for sql in [
        "UPDATE segment SET length = -1",
        "UPDATE segment SET span = 0",
        "UPDATE segment SET span = 200000",
        "UPDATE segment SET base = 4294967295",
        "UPDATE segment SET length = 9223372036854775807",
        "INSERT INTO segment SELECT base + 1, family, span, made, length, NULL, NULL FROM segment",
    ] {
        let home = TempDir::new().expect("a directory");
        let index = open(home.path());
        turns(3).settle(&index, &lock(home.path()), 3);
        drop(index);
        let name = std::fs::read_to_string(home.path().join("current")).expect("named");
        let connection = rusqlite::Connection::open(home.path().join(name)).expect("opened");
        connection.execute(sql, []).expect("changed");
        let read = open(home.path()).meta();
        assert!(matches!(read, Err(IndexError::Damaged { .. })), "{sql}: {read:?}");
    }
}

/// A turn with more entries than are kept together is indexed whole, and cut whole.
#[test]
fn a_turn_of_any_length_is_indexed_and_cut() {
    const ENTRIES: u64 = 65_536 + 300;
    let home = TempDir::new().expect("a directory");
    let (index, lock) = (open(home.path()), lock(home.path()));
    let mut world = turns(3);
    world.turns[1].keys = (100..100 + ENTRIES).map(Some).collect();
    world.settle(&index, &lock, 3);
    assert_eq!(index.meta().expect("a state").entries, ENTRIES + 6);
    let reader = index.reader().expect("a view");
    for key in [100, 100 + ENTRIES / 2, 100 + ENTRIES - 1] {
        let number = reader.known(&[entry(key).key]).expect("a look-up")[0].expect("it is there");
        let found = reader.occurrences(number, 9, None).expect("commits");
        assert_eq!(found.iter().map(|at| at.position as u64).collect::<Vec<_>>(), [key - 100]);
    }
    drop(reader);
    // The last turn's entries are in the segment that the long one ends in.
    let meta = index.cut(&lock, stored(3)).expect("a cut");
    assert_eq!((meta.entries, meta.watermark.through), (0, None));
}

/// A session that saw only what was indexed before becomes a place of it, and of what that continues.
#[test]
fn a_session_that_comes_later_is_a_place_of_what_it_saw() {
    let home = TempDir::new().expect("a directory");
    let (index, lock, world) = (open(home.path()), lock(home.path()), turns(5));
    world.settle(&index, &lock, 5);
    let watermark = index.meta().expect("a state").watermark;
    let batch = IndexBatch {
        expected: watermark,
        next: watermark,
        places: vec![place(9)],
        seen: vec![(0, vec![id(2), id(77)])],
        ..IndexBatch::default()
    };
    for _ in 0..2 {
        index.settle(&lock, &batch).expect("settled");
    }
    let reader = index.reader().expect("a view");
    let mut row = 0;
    let mut seen = |place, found: stemmata_store::IndexPlace| {
        if found.session == "session-9" {
            row = place;
        }
    };
    reader.places(&mut seen).expect("places");
    let commits = reader.commits_in(&[row], &[]).expect("commits");
    let mut keys = Vec::new();
    reader.numbers_in(&[row], &commits, &mut |run| keys.extend(run)).expect("numbers");
    assert_eq!(keys, [0, 1, 2, 6, 7, 8], "the third turn, and the first, which it continues");
}

#[test]
fn events_are_found_and_dropped_by_themselves() {
    let home = TempDir::new().expect("a directory");
    let (index, world) = (open(home.path()), turns(4));
    let lock = lock(home.path());
    world.settle(&index, &lock, 2);
    let id = stemmata_model::LedgerId::new("ledger-1").expect("a short name");
    let watermark = index.meta().expect("a state").watermark;
    let batch = IndexBatch {
        expected: watermark,
        next: watermark,
        places: vec![place(9)],
        events: (0..3)
            .map(|seq| IndexedEvent { ledger: id.clone(), seq, place: 0, entry: entry(1_000 + seq) })
            .collect(),
        ledgers: vec![IndexedLedger { id: id.clone(), through: 2, epoch: 4 }],
        ..IndexBatch::default()
    };
    index.settle(&lock, &batch).expect("settled");
    world.settle(&index, &lock, 4);
    let stale = index.settle(&lock, &IndexBatch { expected: Watermark::default(), ..batch.clone() });
    assert!(matches!(stale, Err(IndexError::Moved)), "{stale:?}");
    let reader = index.reader().expect("a view");
    assert_eq!(reader.ledgers().expect("ledgers"), batch.ledgers);
    let event = reader.segments().iter().find_map(|segment| {
        let place = segment.keys().ok()?.iter().position(|key| *key == entry(1_001).key)?;
        Some(segment.base() + u32::try_from(place).expect("small"))
    });
    let event = event.expect("it is there");
    assert_eq!(reader.event(event).expect("a look-up"), Some((id, 1)));
    assert_eq!(
        *reader.groups_of(&[event], |runs| runs).expect("a group")[0],
        std::iter::once(event..event + 1).collect::<Vec<_>>()
    );
    let mut row = 0;
    reader
        .places(&mut |place, found| {
            if found.session == "session-9" {
                row = place;
            }
        })
        .expect("places");
    let mut numbers = Vec::new();
    let commits = reader.commits_in(&[row], &[]).expect("commits");
    reader.numbers_in(&[row], &commits, &mut |run| numbers.extend(run)).expect("numbers");
    assert_eq!(numbers, [event - 1, event, event + 1]);
    drop(reader);
    index.cut(&lock, stored(1)).expect("a cut");
    assert_eq!(index.meta().expect("a state").entries, 3, "events are not of a commit");
    world.settle(&index, &lock, 4);
    index.drop_events(&lock).expect("dropped");
    let index = cleaned(index, &lock);
    assert_eq!(held(home.path(), &[word(1_000), word(1_001)]), [""; 0]);
    assert_eq!(dump(&index), anew(&world, 4));
}

#[test]
fn an_index_that_is_not_ours_or_not_whole_is_told_apart() {
    let home = TempDir::new().expect("a directory");
    let world = turns(9);
    let index = open(home.path());
    world.settle(&index, &lock(home.path()), 9);
    let said = dump(&index);
    drop(index);
    let try_open = |options: IndexOptions| Index::open(home.path(), options);
    let other = try_open(IndexOptions { store_id: [1; 16], ..options() });
    assert!(matches!(other, Err(IndexError::OtherStore)), "{other:?}");
    assert_eq!(open(home.path()).meta().expect("a state").terms, 1);
    let file = home.path().join(std::fs::read_to_string(home.path().join("current")).expect("named"));
    let sound = std::fs::read(&file).expect("readable");
    let mut found = 0;
    for page in 0..sound.len() / 4096 {
        let mut bytes = sound.clone();
        bytes[page * 4096..][..4096].fill(0x5a);
        std::fs::File::create(&file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, &bytes))
            .expect("written");
        let mut damaged = Vec::new();
        let looked = try_open(options()).and_then(|index| index.verify(&mut |what| damaged.push(what)));
        assert!(!matches!(looked, Err(IndexError::Newer { .. })), "{looked:?}");
        if looked.is_err() || !damaged.is_empty() {
            found += 1;
        } else {
            assert_eq!(dump(&open(home.path())), said, "what is not found out changes nothing");
        }
    }
    assert!(found * 2 > sound.len() / 4096, "{found} of {}", sound.len() / 4096);
    std::fs::File::create(&file)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"no database, but text"))
        .expect("written");
    let damaged = try_open(options());
    assert!(matches!(damaged, Err(IndexError::Damaged { .. })), "{damaged:?}");
    let lock = lock(home.path());
    assert!(quarantine(home.path(), &lock).is_some());
    let read_only = try_open(IndexOptions { can_write: false, ..options() });
    assert!(matches!(read_only, Err(IndexError::Storage(_))), "{read_only:?}");
    drop(lock);
    let index = open(home.path());
    assert_eq!(index.meta().expect("a state").entries, 0);
    assert_eq!(index.usage().expect("usage").damaged.len(), 1);
}

/// A turn that was rewritten while it was open takes the index back to before it; one that only grew does not.
#[test]
fn an_open_turn_that_was_rewritten_is_cut_out() {
    for (keys, is_cut) in [(vec![Some(1), Some(2), Some(3)], false), (vec![Some(1), Some(3)], true)] {
        let home = TempDir::new().expect("a directory");
        let (index, lock) = (open(home.path()), lock(home.path()));
        let mut world = turns(1);
        world.turns[0] = Turn { keys: vec![Some(1), Some(2)], is_open: true, ..world.turns[0].clone() };
        world.settle(&index, &lock, 1);
        let epoch = index.meta().expect("a state").epoch;
        world.turns.push(Turn { keys, is_open: false, covers: Some(0), ..world.turns[0].clone() });
        world.settle(&index, &lock, 2);
        let rose = index.meta().expect("a state").epoch - epoch;
        assert_eq!(rose, if is_cut { 2 } else { 1 });
        let said = dump(&index);
        assert_eq!(said.len(), world.turns[1].keys.len());
        assert_eq!(said, anew(&world, 2));
    }
}

/// A row that was taken over is cut with all that came since its first commit: what covers it may be gone, and then it is open
/// again.
#[test]
fn a_cut_reaches_back_to_what_a_commit_covered() {
    let home = TempDir::new().expect("a directory");
    let (index, lock) = (open(home.path()), lock(home.path()));
    let open_turn =
        |place: u8, key| Turn { keys: vec![Some(key)], is_open: true, place, ..turns(1).turns[0].clone() };
    let closed = |open: &Turn, covers, key: Option<u64>| Turn {
        keys: open.keys.iter().copied().chain(key.map(Some)).collect(),
        is_open: false,
        covers: Some(covers),
        ..open.clone()
    };
    let (first, second) = (open_turn(0, 1), open_turn(1, 2));
    // What takes the first one's place brings no entry of its own: nothing but its place in the order says when it came.
    let world = World {
        turns: vec![first.clone(), second.clone(), closed(&first, 0, None), closed(&second, 1, Some(4))],
        ..World::default()
    };
    for until in [1, 3, 4] {
        world.settle(&index, &lock, until);
    }
    // The last goes: the second turn is open again, and was stored before what took the first one's place.
    let meta = index.cut(&lock, stored(4)).expect("a cut");
    assert_eq!(meta.watermark.through, None);
    world.settle(&index, &lock, 3);
    assert_eq!(dump(&index), anew(&world, 3));
}

/// Operations of making an index and naming it, at most.
const OPERATIONS_MAX: u64 = 60;

#[test]
fn an_index_that_is_made_anew_is_there_or_the_one_from_before_is() {
    let world = turns(3);
    for failure in Failure::ALL {
        for place in 0..OPERATIONS_MAX {
            let home = TempDir::new().expect("a directory");
            let top = home.path().canonicalize().expect("it is there");
            let disk = Disk::new();
            disk.plant("home", &Image::default());
            let files = Arc::new(RecordedFiles::new(&disk, "home", &top).expect("a folder"));
            let recorded = IndexOptions { files: files.clone(), ..options() };
            let dir = top.join("index");
            let index = Index::open(&dir, recorded.clone()).expect("an index");
            let lock = Index::lock(&dir, files.as_ref()).expect("a folder").expect("nobody has it");
            world.settle(&index, &lock, 1);
            disk.arm(Fault { failure, at: place });
            let made = Index::begin_anew(&dir, recorded, &lock).and_then(|made| {
                world.settle(&made, &lock, 3);
                made.publish(&lock)
            });
            let came = disk.disarm();
            assert!(came || made.is_ok(), "{failure:?} at {place}: {made:?}");
            let now = open(&dir).meta().expect("a state").entries;
            assert!(now == 9 || now == 3 && made.is_err(), "{failure:?} at {place}: {now} entries");
            let again = Index::begin_anew(&dir, options(), &lock).expect("the next one is made");
            again.publish(&lock).expect("and named");
            assert!(again.is_current() && !index.is_current());
            if !came {
                break;
            }
        }
    }
}
