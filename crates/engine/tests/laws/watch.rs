//! Watching: whatever is heard and whenever it is looked at, the chains are those of one import.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{Agenda, CaptureOptions, CapturePolicy, Engine, Look, Looked, WatchPace};
use stemmata_model::Trigger;
use stemmata_store::StoreIdentity;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, bytes_of, closed, engine, engine_on, import, native};

const PACE: WatchPace = WatchPace { quiet_ms: 20, busy_ms: 60, sweep_ms: 500, retry_ms: 40, waiting_max: 16 };

fn look(engine: &Engine, folder: &Folder, look: &Look) -> Looked {
    let roots = [folder.path().to_owned()];
    engine.look(look, &roots, &CaptureOptions::live(Trigger::TurnBoundary), 1).expect("looked")
}

/// What happens to the files between two moments.
#[derive(Debug, Clone)]
enum Step {
    /// A session gains bytes up to this share, and the watcher hears of it.
    Grow { session: usize, share: f64, heard: bool },
    /// Nothing is heard any more: events were lost.
    Lost,
    /// Time goes by.
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_usize..3, 0.0..1.0_f64, prop::bool::weighted(0.8))
            .prop_map(|(session, share, heard)| Step::Grow { session, share, heard }),
        1 => Just(Step::Lost),
        4 => (1_u64..80).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn invariant_06_what_is_watched_equals_what_is_imported(
        seed in 0..10_000_u64,
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let sessions: Vec<Vec<u8>> =
            (0..3).map(|number| bytes_of(&ClaudeSession::new(seed + number).turns(3).build())).collect();
        let (watched, whole) = (Folder::new(), Folder::new());
        let (live, once) = (engine(), engine());
        let mut agenda = Agenda::new(PACE, 0);
        let mut now_ms = 0;
        let mut written = [0_usize; 3];
        let grow = |session: usize, end: usize, written: &mut [usize; 3]| {
            watched.append(&format!("{session}.jsonl"), &sessions[session][written[session]..end]);
            written[session] = end;
        };
        for step in steps {
            match step {
                Step::Grow { session, share, heard } => {
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        clippy::cast_precision_loss,
                        reason = "a share of a small length"
                    )]
                    let end = ((sessions[session].len() as f64 * share) as usize).max(written[session]);
                    grow(session, end, &mut written);
                    if heard {
                        agenda.changed(&watched.path().join(format!("{session}.jsonl")), now_ms);
                    }
                }
                Step::Lost => agenda.missed(now_ms),
                Step::Wait(ms) => {
                    now_ms += ms;
                    while let Some(what) = agenda.take(now_ms) {
                        let looked = look(&live, &watched, &what);
                        prop_assert!(looked.failures.is_empty(), "{:?}", looked.failures);
                    }
                }
            }
        }
        for (session, bytes) in sessions.iter().enumerate() {
            grow(session, bytes.len(), &mut written);
        }
        // Nobody heard of that; the next look at everything finds it.
        now_ms += PACE.sweep_ms;
        let what = agenda.take(now_ms);
        prop_assert_eq!(&what, &Some(Look::Everything));
        look(&live, &watched, &Look::Everything);
        for (session, bytes) in sessions.iter().enumerate() {
            let imported = import(&once, &whole.write(&format!("{session}.jsonl"), bytes));
            let wanted = imported.session.tip.expect("a tip");
            let found = import(&live, &watched.path().join(format!("{session}.jsonl")));
            prop_assert_eq!(found.new_commits, 0, "watching left something to an import");
            let found = found.session.tip.expect("a tip");
            prop_assert_eq!(closed(&once, wanted), closed(&live, found));
            prop_assert_eq!(&native(&live, found), bytes);
        }
    }
}

fn session(seed: u64) -> Vec<u8> {
    bytes_of(&ClaudeSession::new(seed).turns(2).build())
}

#[test]
fn what_is_moved_removed_or_no_transcript_does_not_stop_a_look() {
    let (folder, engine) = (Folder::new(), engine());
    let (kept, moved) = (folder.write("kept.jsonl", &session(1)), folder.write("moved.jsonl", &session(2)));
    let gone = folder.write("gone.jsonl", &session(3));
    let junk = folder.write("junk.jsonl", b"dear diary\n");
    let odd = folder.write("odd.txt", &session(4));
    std::fs::create_dir(folder.path().join("new")).expect("a folder");
    let below = folder.write("new/below.jsonl", &session(5));
    let rotated = folder.path().join("rotated.jsonl");
    std::fs::rename(&moved, &rotated).expect("moved");
    std::fs::remove_file(&gone).expect("removed");
    let paths =
        vec![kept.clone(), moved, gone, junk, odd, rotated.clone(), below.parent().expect("one").to_owned()];
    let looked = look(&engine, &folder, &Look::At(paths));
    assert!(looked.failures.is_empty(), "{:?}", looked.failures);
    let found: Vec<&PathBuf> = looked.captured.iter().map(|session| &session.path).collect();
    assert_eq!(found, [&kept, &below, &rotated]);
    assert_eq!(look(&engine, &folder, &Look::Everything).files, 0, "all of it is known");
}

#[test]
fn what_is_excluded_is_not_looked_at() {
    let folder = Folder::new();
    let path = folder.write("a.jsonl", &session(1));
    let policy = CapturePolicy {
        excluded: vec![folder.path().to_string_lossy().into_owned()],
        ..CapturePolicy::default()
    };
    let held = engine();
    let held = held.clone().with_policy(policy);
    for what in [Look::Everything, Look::At(vec![path])] {
        let looked = look(&held, &folder, &what);
        assert!(looked.captured.is_empty() && looked.failures.is_empty(), "{looked:?}");
    }
}

#[test]
fn a_store_that_fails_leaves_the_file_for_the_next_look() {
    let folder = Folder::new();
    let path = folder.write("a.jsonl", &session(1));
    let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(memory));
    let engine = engine_on("m1", Arc::clone(&store) as _);
    store.fail(1, Fault::Before);
    let what = Look::At(vec![path.clone()]);
    let looked = look(&engine, &folder, &what);
    assert_eq!(looked.failures.iter().map(|failure| &failure.path).collect::<Vec<_>>(), [&path]);
    assert_eq!(look(&engine, &folder, &what).captured.len(), 1);
}
