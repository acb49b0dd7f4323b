//! Sessions of one id: transcripts that were moved, that were overwritten, and that have nothing in common.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{
    CaptureOptions, Engine, EngineError, SearchFilter, SearchForm, SearchQuery, SessionOnly, SessionQuery,
    SessionRow, SettleBudget, transcript_of,
};
use stemmata_model::{Closure, CommitId, FormatId, Timestamp, Trigger};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{Session, SessionFilter, StoreIdentity, Write};
use stemmata_testkit::claude::{ClaudeSession, CopyKind, copy_of};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, answer, bytes_of, chain, engine, engine_on, import, native, user};

const ID: &str = "5e1f0000-0000-4000-8000-0000000000a1";
const NAME: &str = "5e1f0000-0000-4000-8000-0000000000a1.jsonl";

fn made(seed: u64, turns: u64) -> Vec<u8> {
    bytes_of(&ClaudeSession::new(seed).turns(turns).session_id(ID).build())
}

/// The folders of two projects of one client.
fn projects(folder: &Folder) -> (PathBuf, PathBuf) {
    let both = ["old", "new"].map(|name| folder.path().join(name));
    for path in &both {
        std::fs::create_dir_all(path).expect("a folder");
    }
    let [old, new] = both;
    (old.join(NAME), new.join(NAME))
}

fn put(path: &Path, bytes: &[u8]) {
    std::io::Write::write_all(&mut std::fs::File::create(path).expect("a file"), bytes).expect("written");
}

pub(crate) fn listed(engine: &Engine, folded: bool) -> Vec<SessionRow> {
    let query = SessionQuery {
        filter: SessionFilter::default(),
        only: SessionOnly::default(),
        with_emptied: true,
        folded,
        counts: false,
        tips: false,
        skip: 0,
        rows_max: 100,
    };
    engine.sessions(&query).expect("a list").rows
}

fn gone(engine: &Engine) -> usize {
    let mut count = 0;
    engine.only_here(&mut |_| count += 1).expect("a list");
    count
}

/// The only session, whose transcript lies at a path and is whole.
fn check_moved(engine: &Engine, path: &Path, bytes: &[u8]) {
    let rows = listed(engine, false);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let session = &rows[0].session;
    assert_eq!((session.key.path.as_str(), gone(engine)), (path.to_str().expect("text"), 0));
    let tip = session.tip.expect("a tip");
    assert_eq!(native(engine, tip), bytes);
    assert_eq!(engine.find(&rows[0].reference).expect("it is there"), tip);
    // What was open at the old place is covered, and all is seen at the new one.
    let all = engine.store().commits_after(None, 10_000).expect("a read");
    for commit in all.iter().filter(|commit| commit.closure != Closure::Covered) {
        assert!(chain(engine, tip).contains(commit), "{commit:?}");
        let seen = engine.store().sightings(commit.id, 9).expect("a read");
        assert!(seen.iter().all(|seen| seen.source.as_ref().is_some_and(|at| at.path == session.key.path)));
        assert_eq!(
            engine.first_session(commit.id).expect("a read").map(|of| of.key),
            Some(session.key.clone())
        );
    }
    let totals = engine.session_totals(100, &mut drop).expect("counted");
    assert_eq!((totals.listed, totals.copies), (1, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(5)))]

    /// However much of a transcript was read where it was, and whatever came to it since: moved, it is one session.
    #[test]
    fn a_transcript_that_was_moved_is_one_session(
        seed in 0..10_000_u64,
        turns in 1..4_u64,
        read in 0.0..1.0_f64,
        moved in 0.0..1.0_f64,
        is_live in any::<bool>(),
    ) {
        let (engine, folder) = (engine(), Folder::new());
        let (old, new) = projects(&folder);
        let bytes = made(seed, turns);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a small length")]
        let cut = |share: f64| bytes[..(bytes.len() as f64 * share) as usize].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (first, second) = (cut(read.min(moved)), cut(read.max(moved)));
        put(&old, &bytes[..first]);
        let options = if is_live { CaptureOptions::live(Trigger::ToolCall) } else { CaptureOptions::import() };
        // Too little to be told from any other file is for the next look.
        let _early = engine.capture(&old, &options);
        std::fs::rename(&old, &new).expect("moved");
        put(&new, &bytes[..second]);
        let _early = engine.capture(&new, &options);
        put(&new, &bytes);
        import(&engine, &new);
        check_moved(&engine, &new, &bytes);
        // And back, as from an archive.
        std::fs::rename(&new, &old).expect("moved");
        import(&engine, &old);
        check_moved(&engine, &old, &bytes);
    }
}

type Faulty = FaultyStore<MemoryStore>;

fn faulty() -> (Arc<Faulty>, Engine) {
    let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(memory));
    (Arc::clone(&store), engine_on("m1", store))
}

#[test]
fn a_crash_at_any_write_leaves_what_the_next_import_makes_one_session() {
    let bytes = made(3, 3);
    let other = made(4, 5);
    for fault in [Fault::Before, Fault::After] {
        for is_overwritten in [false, true] {
            let mut number = 1;
            loop {
                let ((store, engine), folder) = (faulty(), Folder::new());
                let (old, new) = projects(&folder);
                put(&old, &bytes);
                import(&engine, &old);
                if !is_overwritten {
                    std::fs::rename(&old, &new).expect("moved");
                }
                let path = if is_overwritten { &old } else { &new };
                put(path, if is_overwritten { &other } else { &bytes });
                store.fail(number, fault);
                let options = CaptureOptions::import();
                let read_all = || engine.import(std::slice::from_ref(path), &options, 1, &|_| ());
                // A file that cannot be stored is a part of the report.
                let is_whole = read_all().is_ok_and(|report| report.failures.is_empty());
                assert_eq!(damages(store.inner()), [], "after fault {number}");
                read_all().expect("read");
                if is_overwritten {
                    let mut said: Vec<Vec<u8>> = listed(&engine, false)
                        .iter()
                        .map(|row| native(&engine, row.session.tip.expect("a tip")))
                        .collect();
                    said.sort();
                    let mut wanted = vec![bytes.clone(), other.clone()];
                    wanted.sort();
                    assert!(said == wanted, "after fault {number}: {} sessions", said.len());
                } else {
                    check_moved(&engine, path, &bytes);
                }
                if is_whole {
                    break;
                }
                number += 1;
            }
            assert!(number > 1, "the workload makes writes");
        }
    }
}

#[test]
fn a_placed_session_that_was_moved_goes_on_from_what_it_was_placed_from() {
    let (engine, folder) = (engine(), Folder::new());
    let tip = import(&engine, &folder.write("s.jsonl", &made(5, 2))).session.tip.expect("a tip");
    let placed = engine.place(tip, &crate::support::placing(&folder)).expect("placed");
    let name = placed.path.file_name().expect("a name").to_owned();
    let moved = folder.path().join("elsewhere");
    std::fs::create_dir_all(&moved).expect("a folder");
    std::fs::rename(&placed.path, moved.join(&name)).expect("moved");
    let more = user(90, None, "and more") + &answer(91, 90, "done");
    std::io::Write::write_all(
        &mut std::fs::OpenOptions::new().append(true).open(moved.join(&name)).expect("a file"),
        more.as_bytes(),
    )
    .expect("written");
    let captured = import(&engine, &moved.join(&name));
    let own = chain(&engine, captured.session.tip.expect("a tip"));
    assert!(own.iter().any(|commit| commit.id == tip), "it goes on from there");
    let original =
        listed(&engine, false).into_iter().find(|row| row.session.tip == Some(tip)).expect("listed");
    assert!(original.session.title.is_some());
    assert_eq!(captured.session.title, original.session.title, "it has the title of what it continues");
    assert_eq!((listed(&engine, false).len(), gone(&engine)), (2, 0));
}

#[test]
fn sessions_of_one_id_with_nothing_in_common_are_sessions_and_copies_are_copies() {
    let (engine, folder) = (engine(), Folder::new());
    let (one, two) = projects(&folder);
    put(&one, &made(6, 2));
    put(&two, &made(7, 3));
    let tips = [&one, &two].map(|path| import(&engine, path).session.tip.expect("a tip"));
    for folded in [true, false] {
        let rows = listed(&engine, folded);
        assert_eq!((rows.len(), rows.iter().map(|row| row.folded).sum::<u64>()), (2, 0), "{rows:?}");
        for row in &rows {
            assert_eq!(engine.find(&row.reference).ok(), row.session.tip, "each is named by itself");
        }
    }
    let totals = engine.session_totals(100, &mut drop).expect("counted");
    assert_eq!((totals.listed, totals.copies), (2, 0));
    let error = engine.find(ID).expect_err("it means both");
    let EngineError::Ambiguous { candidates, .. } = error else { panic!("{error}") };
    let named: std::collections::BTreeSet<String> = candidates.into_iter().map(|one| one.id).collect();
    assert_eq!(named, tips.iter().map(CommitId::to_string).collect());
    // A file that was copied, and went on, is a copy of one of them.
    let third = folder.path().join(NAME);
    std::fs::copy(&one, &third).expect("copied");
    let more = user(90, None, "and more") + &answer(91, 90, "done");
    put(&third, &[made(6, 2), more.into_bytes()].concat());
    import(&engine, &third);
    assert_eq!((listed(&engine, true).len(), listed(&engine, false).len()), (2, 3));
    let totals = engine.session_totals(100, &mut drop).expect("counted");
    assert_eq!((totals.listed, totals.copies), (2, 1));
}

#[test]
fn a_clients_copy_under_the_same_id_is_a_copy() {
    let (engine, folder) = (engine(), Folder::new());
    let (one, two) = projects(&folder);
    let original = String::from_utf8(made(8, 3)).expect("text");
    put(&one, original.as_bytes());
    put(&two, copy_of(&original, ID, ID, CopyKind::NewIds).as_bytes());
    import(&engine, &one);
    import(&engine, &two);
    assert_eq!((listed(&engine, true).len(), listed(&engine, false).len()), (1, 2));
}

#[test]
fn a_conversation_that_took_the_place_of_another_one_has_nothing_of_it() {
    let (engine, folder) = (engine(), Folder::new());
    let (path, _) = projects(&folder);
    let (first, second) = (made(9, 2), made(10, 6));
    put(&path, &first);
    let before = import(&engine, &path).session;
    put(&path, &second);
    let after = import(&engine, &path).session;
    let alone = {
        let (engine, folder) = (crate::support::engine(), Folder::new());
        let (path, _) = projects(&folder);
        put(&path, &second);
        import(&engine, &path).session
    };
    let facts =
        |of: &Session| (of.title.clone(), of.started_at, of.last_at, of.cwd.clone(), of.version.clone());
    assert_eq!(facts(&after), facts(&alone));
    let kept = listed(&engine, false).into_iter().find(|row| row.session.tip == before.tip).expect("listed");
    assert_eq!(facts(&kept.session), facts(&before));
}

#[test]
fn a_record_later_than_its_file_orders_nothing() {
    let (engine, folder) = (engine(), Folder::new());
    // Two sessions of 2026, of which one has a record that is later than the file, and yet of the past.
    let late = user(1, None, "one")
        + &answer(2, 1, "done")
        + &user(3, Some(2), "two").replace("2026-01-01", "2026-12-30");
    let path = folder.write("s.jsonl", late.as_bytes());
    let set = |seconds: u64| {
        let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(&path).expect("a file").set_modified(at).expect("a time");
    };
    let second = |number: i64| Timestamp::from_micros((1_767_225_600 + number) * 1_000_000);
    set(1_767_225_600 + 60);
    assert_eq!(import(&engine, &path).session.last_at, Some(second(2)));
    // Earlier versions took any time that had passed.
    let session = engine.find_session(path.to_str().expect("text")).expect("a read").expect("a session");
    let wrong = Session { last_at: Some(second(31_000_000)), ..session };
    engine.store().commit_batch(vec![Write::Session(Box::new(wrong))]).expect("written");
    crate::anew::make_older(&engine);
    engine.import(&[], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
    assert_eq!(listed(&engine, false)[0].session.last_at, Some(second(2)));
    // A file that says to be older than all that it holds says nothing.
    let again = crate::support::engine();
    set(1_000);
    assert_eq!(import(&again, &path).session.last_at.map(|at| at > second(2)), Some(true));
}

/// What is missing of a transcript, as `doctor` asks.
fn lost(engine: &Engine, folder: &Folder, path: &Path) -> Option<(CommitId, String)> {
    let session = engine.find_session(path.to_str().expect("text")).expect("a read").expect("known");
    let judged_by = |_: &FormatId| None;
    let lost = engine.lost_state(&session, folder.path(), &judged_by).expect("a read");
    lost.map(|lost| (lost.ctx, lost.why))
}

#[test]
fn what_a_transcript_held_before_another_conversation_stays_and_can_be_recovered() {
    let (engine, folder) = (engine(), Folder::new());
    let (path, _) = projects(&folder);
    let (first, second) = (made(9, 2), made(10, 6));
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(lines(&second) > lines(&first), "it has more lines than what it takes the place of");
    put(&path, &first);
    let before = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!(lost(&engine, &folder, &path), None);
    put(&path, &second);
    for is_read in [false, true] {
        if is_read {
            import(&engine, &path);
        }
        let (ctx, why) = lost(&engine, &folder, &path).expect("it is missing");
        assert_eq!(ctx, before);
        assert!(why.contains("that were read before are missing"), "{why}");
    }
    for folded in [true, false] {
        let rows = listed(&engine, folded);
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert!(rows.iter().all(|row| engine.find(&row.reference).ok() == row.session.tip));
        assert!(rows.iter().all(|row| transcript_of(&row.session) == path));
    }
    assert_eq!(gone(&engine), 1, "only the store has it");
    let now = import(&engine, &path).session.tip;
    assert_eq!(engine.find(ID).ok(), now, "an id means what is there");
    assert_ne!(now, Some(before));
    let old = engine.first_session(before).expect("a read").expect("it is known");
    assert_eq!((old.tip, transcript_of(&old)), (Some(before), path.as_path()));
    // Put back, it is there again, and the other one is what is kept.
    put(&path, &first);
    assert_eq!(import(&engine, &path).session.tip, Some(before));
    assert_eq!(lost(&engine, &folder, &path), None, "it was there first");
    let rows = listed(&engine, false);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(engine.find(ID).ok(), Some(before));
}

#[test]
fn a_hit_in_what_was_overwritten_leads_to_it() {
    let (engine, folder) = (engine(), Folder::new());
    let (path, _) = projects(&folder);
    let ids = |text: String, drawn: &str| text.replace("aaaaaaaa-0000-4000-8000-0000000000", drawn);
    let first = user(1, None, "the first kilnwright") + &answer(2, 1, "cobalt");
    put(&path, ids(first, "1e2feb89-414c-443c-9027-c4d1c38600").as_bytes());
    let before = import(&engine, &path);
    let intruder = user(3, None, "an intruder") + &answer(4, 3, "zinc");
    put(&path, ids(intruder, "4d7cf73e-5a5b-4c8e-9d1a-0b7e6f4a2c").as_bytes());
    let after = import(&engine, &path);
    let query = SearchQuery {
        text: "kilnwright".to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::default(),
        is_unfinished: false,
        is_spread: true,
        hits_max: 9,
        budget: SettleBudget::All,
    };
    let found = engine.search(&query, &mut |_, _, _| std::ops::ControlFlow::Continue(())).expect("found");
    let hit = found.hits.first().expect("a hit");
    assert_eq!((hit.ctx, &hit.place.title), (before.session.tip, &before.session.title));
    assert_ne!(before.session.title, after.session.title);
}

/// Earlier versions left only a link from what a transcript holds to what it held before.
#[test]
fn what_was_overwritten_in_an_older_store_is_found_once() {
    let (engine, folder) = (engine(), Folder::new());
    let (path, _) = projects(&folder);
    put(&path, &made(9, 2));
    let before = import(&engine, &path).session;
    put(&path, &made(10, 6));
    import(&engine, &path);
    let rows = |engine: &Engine| -> Vec<stemmata_store::Session> {
        let mut rows: Vec<_> = listed(engine, false).into_iter().map(|row| row.session).collect();
        rows.sort_by(|one, other| one.key.cmp(&other.key));
        rows
    };
    let wanted = rows(&engine);
    let leave = |engine: &Engine| {
        let kept = rows(engine).into_iter().filter(|row| row.tip == before.tip);
        let batch = kept.map(|row| stemmata_store::Write::Leave(row.key)).collect();
        engine.store().commit_batch(batch).expect("left");
    };
    leave(&engine);
    assert_eq!(rows(&engine).len(), 1);
    let again =
        || engine.import(std::slice::from_ref(&path), &CaptureOptions::import(), 1, &|_| ()).expect("read");
    again();
    let found = rows(&engine);
    let told = |rows: &[stemmata_store::Session]| -> Vec<_> {
        rows.iter()
            .map(|row| (row.key.clone(), row.tip, row.title.clone(), row.messages, row.last_at))
            .collect()
    };
    assert_eq!(told(&found), told(&wanted));
    // Found once: whoever has it gone has it gone.
    leave(&engine);
    again();
    assert_eq!(rows(&engine).len(), 1);
}

/// A transcript that was cut, and went on until it had as many lines, lacks what was cut; one that only grew lacks nothing.
#[test]
fn lines_are_missed_by_what_they_are_and_not_by_how_many() {
    let turn = |number: u32, text: &str| {
        user(number, number.checked_sub(1).filter(|before| *before > 0), text)
            + &answer(number + 1, number, "done")
    };
    let first = turn(1, "one") + &turn(3, "two") + &turn(5, "three");
    for (then, wanted) in [
        (turn(1, "one") + &turn(3, "two") + &turn(5, "three") + &turn(7, "four"), None),
        // Their own records stay the same, however a client writes them anew.
        (first.replace("\"cwd\":\"/old\",", ""), None),
        (turn(1, "one") + &turn(21, "other") + &turn(23, "more") + &turn(25, "and more"), Some("4 lines")),
        (turn(1, "one") + &turn(3, "two") + &user(5, Some(4), "three") + &answer(31, 5, "anew"), None),
        (turn(1, "one") + &turn(3, "two") + &turn(21, "other"), Some("2 lines")),
    ] {
        let (engine, folder) = (engine(), Folder::new());
        let path = folder.write("s.jsonl", first.as_bytes());
        import(&engine, &path);
        folder.write("s.jsonl", then.as_bytes());
        for is_read in [false, true] {
            if is_read {
                import(&engine, &path);
            }
            let why = lost(&engine, &folder, &path).map(|(_, why)| why);
            assert_eq!(why.is_some(), wanted.is_some(), "{then}: {why:?}");
            assert!(wanted.is_none_or(|wanted| why.unwrap_or_default().contains(wanted)));
        }
        // What is missing stays in the lists, as a conversation of its own, until it is there again.
        let known = 1 + usize::from(wanted.is_some());
        for folded in [true, false] {
            let rows = listed(&engine, folded);
            assert_eq!(rows.len(), known, "{then}: {rows:?}");
            assert!(rows.iter().all(|row| engine.find(&row.reference).ok() == row.session.tip));
        }
        assert_eq!(gone(&engine), known - 1, "{then}");
        for row in listed(&engine, false) {
            let tip = row.session.tip.expect("a tip");
            let held = engine.first_session(tip).expect("a read").expect("it is known");
            assert_eq!(held.key, row.session.key, "each commit leads to the conversation that it is of");
        }
        folder.write("s.jsonl", first.as_bytes());
        let back = import(&engine, &path).session.tip;
        let rows = listed(&engine, false);
        assert_eq!(rows.iter().filter(|row| row.session.tip == back).count(), 1, "{then}: {rows:?}");
    }
}

/// A record of a time to come keeps its time, and its session its place.
#[test]
fn records_of_the_future_order_nothing() {
    let (engine, folder) = (engine(), Folder::new());
    let turn = |number: u32, day: &str| {
        (user(number, None, "words") + &answer(number + 1, number, "done"))
            .replace("2026-01-01T", &format!("{day}T"))
    };
    for (name, text) in [
        ("whole.jsonl", turn(1, "2099-01-01")),
        ("begins.jsonl", turn(1, "2099-01-01") + &turn(3, "2026-02-01")),
        ("ends.jsonl", turn(1, "2026-01-05") + &turn(3, "2099-01-01")),
        ("between.jsonl", turn(1, "2026-01-05") + &turn(3, "2099-01-01") + &turn(5, "2026-03-01")),
        ("plain.jsonl", turn(1, "2026-04-01")),
    ] {
        import(&engine, &folder.write(name, text.as_bytes()));
    }
    let day = |row: &SessionRow| {
        let name =
            Path::new(&row.session.key.path).file_stem().expect("a name").to_string_lossy().into_owned();
        (name, row.session.last_at.map(|at| at.to_string().get(..10).unwrap_or_default().to_owned()))
    };
    let rows: Vec<_> = listed(&engine, false).iter().map(day).filter(|(name, _)| name != "whole").collect();
    let wanted = [
        ("plain", "2026-04-01"),
        ("between", "2026-03-01"),
        ("begins", "2026-02-01"),
        ("ends", "2026-01-05"),
    ];
    assert_eq!(rows, wanted.map(|(name, day)| (name.to_owned(), Some(day.to_owned()))));
    assert!(
        listed(&engine, false)
            .iter()
            .all(|row| row.session.last_at < Some(Timestamp::from_micros(1_800_000_000_000_000)))
    );
    // Read on, they say the same.
    folder.append("ends.jsonl", turn(5, "2026-01-06").as_bytes());
    let grown = import(&engine, &folder.path().join("ends.jsonl")).session.last_at.map(|at| at.to_string());
    assert_eq!(grown.and_then(|at| at.get(..10).map(str::to_owned)).as_deref(), Some("2026-01-06"));
}

/// A store of an earlier version has such times; the next import mends them, and goes on from the same place in each transcript.
#[test]
fn times_to_come_of_an_older_store_are_mended() {
    let (engine, folder) = (engine(), Folder::new());
    let path = folder.write("s.jsonl", (user(1, None, "words") + &answer(2, 1, "done")).as_bytes());
    let known = import(&engine, &path);
    let cursor = engine.store().cursor(&known.session.key).expect("a read");
    let to_come = Timestamp::parse("2099-01-01T00:00:00Z").expect("a time");
    let old = stemmata_store::Session { last_at: Some(to_come), ..known.session.clone() };
    let write = stemmata_store::Write::Session(Box::new(old));
    engine.store().commit_batch(vec![write]).expect("stored");
    engine.import(std::slice::from_ref(&path), &CaptureOptions::import(), 1, &|_| ()).expect("read");
    let mended = engine.store().session(&known.session.key).expect("a read").expect("known");
    assert_eq!(mended, known.session);
    assert_eq!(engine.store().cursor(&known.session.key).expect("a read").is_some(), cursor.is_some());
    folder.append("s.jsonl", (user(3, Some(2), "more") + &answer(4, 3, "done")).as_bytes());
    let grown = import(&engine, &path);
    assert_eq!((grown.new_commits, grown.notes.len()), (1, 0), "{:?}", grown.notes);
}
