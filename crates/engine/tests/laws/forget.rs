//! Forgetting and retention, through captures: what goes stays gone, and what something needs stays.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{
    CaptureOptions, CollectOptions, Engine, EngineError, ForgetOptions, ForgetReport, ForgetTarget,
    RetentionRules, Stop, Update,
};
use stemmata_model::{Closure, CommitId, NoteCode, Principal};
use stemmata_store::conformance::builders::damages;
use stemmata_store::{SqliteOptions, SqliteStore, Store, StoreError};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, chain, engine, engine_on, go_on, import, native, new_store, placing};

fn options() -> ForgetOptions {
    ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") }
}

fn forget(engine: &Engine, target: &ForgetTarget, options: &ForgetOptions) -> ForgetReport {
    let plan = engine.plan_forget(target, options).expect("a plan");
    let planned = plan.report.clone();
    let done = engine.apply_forget(plan).expect("forgotten");
    assert_eq!(planned, done, "the plan is what happens");
    assert_eq!(damages(engine.store()), []);
    done
}

fn session(seed: u64) -> Vec<u8> {
    bytes_of(&ClaudeSession::new(seed).turns(5).build())
}

fn target(captured: &stemmata_engine::Captured) -> ForgetTarget {
    ForgetTarget::Session(captured.session.key.clone())
}

fn commits(engine: &Engine) -> usize {
    engine.store().commits_after(None, 10_000).expect("commits").len()
}

/// Who was shown a plan meant that plan: what others write before it is applied, they were not shown.
#[test]
fn a_plan_that_others_overtook_forgets_nothing() {
    let (engine, folder) = (engine(), Folder::new());
    let captured = import(&engine, &folder.write("a.jsonl", &session(1)));
    let plan = engine.plan_forget(&target(&captured), &options()).expect("a plan");
    let tip = captured.session.tip.expect("a tip");
    let by = options().by;
    engine.update(tip, Update { pin: Some(true), ..Update::default() }, &by).expect("pinned");
    let error = engine.apply_forget(plan).expect_err("it is pinned now");
    assert!(matches!(error, EngineError::Store(StoreError::PlanMoved)), "{error}");
    assert!(engine.store().commit(tip).expect("read").is_some());
    engine.update(tip, Update { pin: Some(false), ..Update::default() }, &by).expect("unpinned");
    forget(&engine, &target(&captured), &options());
    assert_eq!(commits(&engine), 0);
}

/// A session that was forgotten is gone, and no import brings it back: not the same file, not a grown one, not a copy
/// of the file under another name. Only taking it back does.
#[test]
fn what_is_forgotten_stays_gone_until_it_is_taken_back() {
    let (engine, folder) = (engine(), Folder::new());
    let other = import(&engine, &folder.write("other.jsonl", &session(2)));
    let bytes = session(1);
    let path = folder.write("gone.jsonl", &bytes);
    let captured = import(&engine, &path);
    let before = commits(&engine);
    let done = forget(&engine, &target(&captured), &options());
    assert_eq!(done.forgotten.kept, []);
    assert!(done.forgotten.removed.len() >= 5, "{:?}", done.forgotten);
    assert_eq!(commits(&engine), before - done.forgotten.removed.len());
    let held = commits(&engine);
    folder.append(
        "gone.jsonl",
        b"{\"type\":\"user\",\"uuid\":\"x\",\"message\":{\"role\":\"user\",\"content\":\"more\"}}\n",
    );
    folder.write("elsewhere.jsonl", &bytes);
    for name in ["gone.jsonl", "elsewhere.jsonl"] {
        for how in [CaptureOptions::import(), CaptureOptions { full: true, ..CaptureOptions::import() }] {
            let again = engine.capture(&folder.path().join(name), &how).expect("left alone");
            assert_eq!((again.new_commits, again.session.tip), (0, None), "{name}");
            assert!(again.notes.iter().any(|note| note.code == NoteCode::Forgotten), "{:?}", again.notes);
        }
    }
    assert_eq!(commits(&engine), held);
    let name = captured.session.session.to_string();
    assert!(engine.unforget(&name).expect("taken back") > 5);
    assert!(engine.unforget(&name).is_err(), "there is nothing left to take back");
    let again = import(&engine, &folder.path().join("elsewhere.jsonl"));
    assert_eq!(native(&engine, again.session.tip.expect("a tip")), bytes);
    assert_eq!(native(&engine, other.session.tip.expect("a tip")), session(2));
}

/// What a placed session goes on from stays, and is told; cut everywhere it is a hole that says what is missing.
#[test]
fn a_branch_keeps_what_it_needs_or_has_a_hole() {
    let (engine, folder) = (engine(), Folder::new());
    let path = folder.write("first.jsonl", &session(3));
    let first = import(&engine, &path);
    let chain_before: Vec<CommitId> =
        chain(&engine, first.session.tip.expect("a tip")).iter().map(|commit| commit.id).collect();
    let placed = engine.place(chain_before[2], &placing(&folder)).expect("placed");
    go_on(&engine, &placed.path);
    let done = forget(&engine, &target(&first), &options());
    assert_eq!(done.forgotten.kept.len(), 3, "{:?}", done.forgotten);
    assert!(done.branches.iter().any(|branch| {
        branch.from == chain_before[2]
            && branch.session.as_ref().is_some_and(|session| session.session == placed.session)
    }));
    assert!(!native(&engine, chain_before[2]).is_empty());
    assert!(engine.store().commit(chain_before[3]).expect("a read").is_none());

    let key = done.branches[0].session.as_ref().expect("a session").key.clone();
    let everywhere = ForgetOptions { everywhere: true, ..options() };
    let done = forget(&engine, &ForgetTarget::Commit(chain_before[1]), &everywhere);
    assert!(done.forgotten.cut.contains(&chain_before[1]), "{:?}", done.forgotten);
    let error = engine.native(chain_before[2], &mut Vec::new()).expect_err("a hole");
    assert!(error.to_string().contains(&chain_before[1].to_string()), "{error}");
    let mut context = Vec::new();
    let made =
        engine.materialize(Some(chain_before[2]), None, Stop::Root, &mut context).expect("what is left");
    assert!(!context.is_empty() && made.notes.iter().any(|note| note.code == NoteCode::Forgotten));
    assert!(matches!(
        engine.materialize(Some(chain_before[1]), None, Stop::Root, &mut Vec::new()),
        Err(stemmata_engine::EngineError::Store(StoreError::Forgotten(id))) if id == chain_before[1]
    ));
    assert!(engine.summary_of(chain_before[1]).expect("a summary").text.contains("forgotten"));
    assert!(engine.show(chain_before[1]).is_ok() && engine.tree(chain_before[1]).is_ok());

    let rest = forget(&engine, &ForgetTarget::Session(key), &options());
    assert_eq!(rest.forgotten.removed.len(), 4, "nothing else needs them any more: {:?}", rest.forgotten);
    assert_eq!(commits(&engine), 0);
}

/// One commit of a chain that others follow stays unless it is cut; what is imported again goes on behind the hole.
#[test]
fn a_transcript_goes_on_behind_a_hole() {
    let (engine, folder) = (engine(), Folder::new());
    let bytes = session(4);
    let path = folder.write("s.jsonl", &bytes);
    let captured = import(&engine, &path);
    let ids: Vec<CommitId> =
        chain(&engine, captured.session.tip.expect("a tip")).iter().map(|commit| commit.id).collect();
    let target = ForgetTarget::Commit(ids[1]);
    let done = forget(&engine, &target, &options());
    assert_eq!((done.forgotten.removed.as_slice(), done.forgotten.cut.as_slice()), (&[][..], &[][..]));
    assert_eq!(done.branches.first().map(|branch| branch.first), Some(Some(ids[2])));

    let everywhere = ForgetOptions { everywhere: true, ..options() };
    let done = forget(&engine, &target, &everywhere);
    assert!(done.forgotten.cut.contains(&ids[1]), "{:?}", done.forgotten);
    let held = commits(&engine);
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let again = engine.capture(&path, &full).expect("imported");
    assert_eq!((again.new_commits, again.session.tip), (0, captured.session.tip));
    assert!(again.notes.iter().any(|note| note.code == NoteCode::Forgotten), "{:?}", again.notes);
    assert_eq!(commits(&engine), held);
    let hole = engine.store().commit(ids[1]).expect("a read").expect("a hole");
    assert_eq!(hole.closure, Closure::Forgotten);
    let error = engine.store().read_content(hole.core.native_artifact(), None, &mut |_| Ok(()));
    assert!(matches!(error, Err(StoreError::ContentForgotten(_))), "nothing of it came back");

    engine.unforget(&ids[1].to_string()).expect("taken back");
    engine.capture(&path, &full).expect("imported");
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), bytes, "the hole is filled");
}

/// Early looks at a turn hold what it holds, and go with it.
#[test]
fn early_looks_at_a_turn_go_with_it() {
    let (engine, folder) = (engine(), Folder::new());
    let bytes = session(7);
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1).collect();
    let path = folder.write("s.jsonl", &bytes[..ends[0]]);
    for pair in ends.windows(2) {
        import(&engine, &path);
        folder.append("s.jsonl", &bytes[pair[0]..pair[1]]);
    }
    let captured = import(&engine, &path);
    let all = engine.store().commits_after(None, 10_000).expect("commits");
    let of = chain(&engine, captured.session.tip.expect("a tip"));
    let leaf = of.last().expect("a chain");
    let beside = |commit: &&stemmata_model::Commit| {
        commit.core.parent == leaf.core.parent && commit.closure == Closure::Covered
    };
    assert!(all.iter().filter(beside).count() > 0, "it was looked at");
    forget(&engine, &ForgetTarget::Commit(leaf.id), &options());
    let all = engine.store().commits_after(None, 10_000).expect("commits");
    assert_eq!(all.iter().filter(beside).count(), 0, "{all:?}");
    assert_eq!(chain(&engine, leaf.id).len(), of.len(), "what follows has its place");
}

/// An early look at a first turn is a root of its own: it goes with its session, and with the turn that closed it.
#[test]
fn early_looks_at_a_first_turn_go_with_it() {
    for is_session in [true, false] {
        let (engine, folder) = (engine(), Folder::new());
        let bytes = bytes_of(&ClaudeSession::new(2).turns(2).build());
        let ends: Vec<usize> = bytes
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(place, _)| place + 1)
            .collect();
        let path = folder.write("s.jsonl", &bytes[..ends[2]]);
        let first = import(&engine, &path).session.tip.expect("a tip");
        folder.append("s.jsonl", &bytes[ends[2]..ends[3]]);
        let whole = import(&engine, &path);
        let tip = whole.session.tip.expect("a tip");
        assert_ne!(first, tip);
        let covered = engine.store().commit(first).expect("read").expect("there");
        assert_eq!((covered.closure, covered.core.parent), (Closure::Covered, None));
        let meant = if is_session {
            folder.append("s.jsonl", &bytes[ends[3]..]);
            target(&import(&engine, &path))
        } else {
            ForgetTarget::Commit(tip)
        };
        forget(&engine, &meant, &options());
        assert!(engine.native(first, &mut Vec::new()).is_err(), "session: {is_session}");
        assert!(engine.find(&first.to_string()).is_err(), "session: {is_session}");
    }
}

/// How a transcript comes to be: lines are added, or it is written anew with the lines of another seed.
fn histories() -> impl Strategy<Value = Vec<(usize, bool)>> {
    proptest::collection::vec((1..12_usize, prop::bool::weighted(0.15)), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(8)))]

    /// Whatever a transcript was at any time goes with its session, and what it wrote is in no file of the store.
    #[test]
    fn law_all_that_a_session_ever_was_goes_with_it(history in histories(), has_copy in any::<bool>()) {
        let (home, folder) = (tempfile::tempdir().expect("a folder"), Folder::new());
        let store = SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store");
        let engine = engine_on("m1", Arc::new(store));
        let other = import(&engine, &folder.write("other.jsonl", &session(99)));
        let before = commits(&engine);
        let (mut seed, mut written, mut captured) = (0, 0, Vec::new());
        for (lines, is_anew) in history {
            if is_anew {
                (seed, written) = (seed + 1, 0);
            }
            let all = ClaudeSession::new(seed).turns(3).build().lines;
            let now: Vec<String> = all.iter().take(written + lines).map(|line| marked(line)).collect();
            written += lines;
            let path = folder.write("s.jsonl", now.concat().as_bytes());
            captured.extend(engine.capture(&path, &CaptureOptions::import()).ok());
            if has_copy && captured.len() == 1 {
                import(&engine, &folder.write("copy.jsonl", now.concat().as_bytes()));
            }
        }
        // What another conversation took the place of is a session of its own.
        for row in crate::namesakes::listed(&engine, false) {
            if row.session.key != other.session.key {
                forget(&engine, &ForgetTarget::Session(row.session.key), &options());
            }
        }
        prop_assert_eq!(commits(&engine), before);
        prop_assert_eq!(crate::search_forget::holding(home.path(), MARK), Vec::<String>::new());
        prop_assert_eq!(native(&engine, other.session.tip.expect("a tip")), session(99));
    }
}

/// A word that each line of a session has, and nothing else.
const MARK: &str = "kilnwright";

/// Has a line say the mark, in what is said and in where it was said.
fn marked(line: &str) -> String {
    let line = line.replacen(r#""text":""#, &format!(r#""text":"{MARK} "#), 1);
    line.replacen(r#""content":""#, &format!(r#""content":"{MARK} "#), 1) + "\n"
}

/// What is pinned or tagged is not forgotten by accident.
#[test]
fn what_is_protected_is_refused() {
    let (engine, folder) = (engine(), Folder::new());
    let captured = import(&engine, &folder.write("s.jsonl", &session(5)));
    let tip = captured.session.tip.expect("a tip");
    let by = Principal::new("ada").expect("a name");
    let pin = |pin| Update { pin: Some(pin), ..Update::default() };
    engine.update(tip, pin(true), &by).expect("pinned");
    let error = engine.forget(&target(&captured), &options()).expect_err("it is pinned");
    assert!(error.to_string().contains(&tip.to_string()), "{error}");
    let even = ForgetOptions { even_pinned: true, ..options() };
    forget(&engine, &target(&captured), &even);
    assert_eq!(commits(&engine), 0);
}

/// Retention lets go of old sessions in two steps, and takes a session that is written again in whole.
#[test]
fn retention_lets_go_and_takes_back_what_goes_on() {
    let store = new_store();
    let (engine, folder) = (engine_on("m1", Arc::clone(&store) as Arc<dyn Store>), Folder::new());
    let bytes = session(6);
    let cut = bytes.len() - bytes.iter().rev().skip(1).position(|byte| *byte == b'\n').expect("lines") - 1;
    let path = folder.write("old.jsonl", &bytes[..cut]);
    let captured = import(&engine, &path);
    let collect = |days: u32, grace_days: u32| {
        let rules = RetentionRules { sessions_days: Some(days), ..RetentionRules::default() };
        engine.collect(&CollectOptions { rules, grace_days }).expect("collected")
    };
    assert_eq!(collect(36_500, 0).retired, [], "it is not that old");
    let first = collect(1, 0);
    assert_eq!((first.retired.len(), first.collected.deleted.commits), (1, 0));
    assert!(first.collected.condemned.commits > 0, "{:?}", first.collected);
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), bytes[..cut], "it can be read yet");
    let second = collect(1, 0);
    assert_eq!(second.collected.deleted.commits, first.collected.condemned.commits);
    assert_eq!(commits(&engine), 0);
    let same = import(&engine, &path);
    assert_eq!((same.new_commits, same.session.tip), (0, None), "nothing new: nothing is taken in");
    append(&folder, &bytes[cut..]);
    let again = import(&engine, &path);
    assert_eq!(native(&engine, again.session.tip.expect("a tip")), bytes);
    assert_eq!(collect(1, 0).collected.deleted.commits, 0, "a grace begins anew");
}

fn append(folder: &Folder, bytes: &[u8]) {
    let _path: &Path = folder.path();
    folder.append("old.jsonl", bytes);
}

/// Returns the commits that hold a line.
fn holding(engine: &Engine, line: &[u8]) -> Vec<CommitId> {
    let line = std::str::from_utf8(line).expect("text");
    let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(line);
    let mut found = Vec::new();
    for commit in engine.store().commits_after(None, 10_000).expect("commits") {
        let mut bytes = Vec::new();
        let mut keep = |part: &[u8]| {
            bytes.extend_from_slice(part);
            Ok(())
        };
        match engine.store().read_content(commit.core.native_artifact(), None, &mut keep) {
            Ok(()) if has(&bytes) => found.push(commit.id),
            Ok(()) | Err(StoreError::ContentForgotten(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    found
}

/// The first prompt is a session's title and stands in its cursor: both go with the commit that it is of, also where
/// the session was placed, and reading the transcript again brings neither back.
#[test]
fn a_title_goes_with_its_commit() {
    let (engine, folder) = (engine(), Folder::new());
    let bytes = session(8);
    let path = folder.write("s.jsonl", &bytes);
    let captured = import(&engine, &path);
    let other = import(&engine, &folder.write("other.jsonl", &session(9)));
    let title = captured.session.title.clone().expect("a title");
    let ids: Vec<CommitId> =
        chain(&engine, captured.session.tip.expect("a tip")).iter().map(|commit| commit.id).collect();
    let placed = engine.place(ids[2], &placing(&folder)).expect("placed");
    let everywhere = ForgetOptions { everywhere: true, ..options() };
    let titles = || -> Vec<Option<String>> {
        let page = stemmata_store::Page { skip: 0, rows_max: 100 };
        let filter = stemmata_store::SessionFilter::default();
        engine.store().sessions(&filter, page).expect("a read").into_iter().map(|one| one.title).collect()
    };
    forget(&engine, &ForgetTarget::Commit(ids[3]), &everywhere);
    assert_eq!(
        titles().iter().filter(|one| one.as_ref() == Some(&title)).count(),
        2,
        "it was of another commit"
    );
    import(&engine, &path);
    forget(&engine, &ForgetTarget::Commit(ids[0]), &everywhere);
    assert!(!titles().contains(&Some(title.clone())), "{:?}", titles());
    assert!(titles().contains(&other.session.title), "another session keeps its own");
    let held = |key: &stemmata_store::SessionKey| {
        let cursor = engine.store().cursor(key).expect("a read").unwrap_or_default();
        String::from_utf8_lossy(&cursor).contains(&title)
    };
    for full in [false, true, false] {
        folder.append(
            "s.jsonl",
            b"{\"type\":\"user\",\"uuid\":\"x\",\"message\":{\"role\":\"user\",\"content\":\"more\"}}\n",
        );
        let again =
            engine.capture(&path, &CaptureOptions { full, ..CaptureOptions::import() }).expect("read");
        assert!(again.session.title.is_some_and(|now| now != title), "one of what is left");
        engine.capture(&placed.path, &CaptureOptions::import()).expect("read");
        assert!(!titles().contains(&Some(title.clone())) && !held(&captured.session.key));
    }
    engine.unforget(&ids[0].to_string()).expect("taken back");
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let again = engine.capture(&path, &full).expect("imported");
    assert_eq!(again.session.title, Some(title), "it may come back now");
}

/// An open turn that was forgotten does not come back with the closed one that it becomes, in however many steps it
/// grows, whether it is the first turn, and whether its transcript moved. Taking it back lets it.
#[test]
fn an_open_turn_that_was_forgotten_stays_so_when_it_closes() {
    let bytes = bytes_of(&ClaudeSession::new(10).turns(3).build());
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(place, _)| place + 1).collect();
    let mut tried = 0;
    for lines in 1..ends.len() - 1 {
        let (engine, folder) = (engine(), Folder::new());
        let path = folder.write("s.jsonl", &bytes[..ends[lines - 1]]);
        let captured = import(&engine, &path);
        let look = captured.session.tip.expect("a tip");
        let stored = engine.store().commit(look).expect("a read").expect("there");
        if stored.closure != Closure::Provisional || !(lines < 3 || lines % 7 == 0) {
            continue;
        }
        tried += 1;
        let from = if lines > 1 { ends[lines - 2] } else { 0 };
        let line = &bytes[from..ends[lines - 1]];
        assert_eq!(holding(&engine, line), [look]);
        forget(&engine, &ForgetTarget::Commit(look), &options());
        assert_eq!(holding(&engine, line), []);
        let mut notes = Vec::new();
        let grow = |upto: usize| {
            let now = ends.iter().position(|end| *end == upto).expect("a line's end");
            folder.append("s.jsonl", &bytes[ends[now - 1]..upto]);
        };
        for upto in &ends[lines..] {
            grow(*upto);
            let again = import(&engine, &path);
            notes.extend(again.notes.into_iter().map(|note| note.code));
            assert_eq!(holding(&engine, line), [], "after {lines} lines");
        }
        assert!(notes.contains(&NoteCode::Forgotten) && !notes.contains(&NoteCode::Rewritten), "{notes:?}");
        let tip = engine.store().session(&captured.session.key).expect("a read").expect("there").tip;
        let of = chain(&engine, tip.expect("a tip"));
        let holes: Vec<CommitId> =
            of.iter().filter(|commit| commit.closure == Closure::Forgotten).map(|commit| commit.id).collect();
        assert_eq!(holes.len(), 1, "one turn of the chain");
        let full = CaptureOptions { full: true, ..CaptureOptions::import() };
        for path in [path.clone(), folder.write("moved.jsonl", &bytes)] {
            let again = engine.capture(&path, &full).expect("read again");
            assert_eq!((again.session.tip, holding(&engine, line)), (tip, vec![]), "after {lines} lines");
        }
        assert_eq!(damages(engine.store()), []);
        engine.unforget(&look.to_string()).expect("taken back");
        let again = engine.capture(&path, &full).expect("imported");
        assert_eq!(native(&engine, again.session.tip.expect("a tip")), bytes, "it may come back now");
    }
    assert!(tried > 2, "{tried}");
}
