//! What is due for the index reaches it, whoever died before and whatever its folder held: no forgotten word stays in it, nothing
//! that the store has goes missing, and nothing is done twice.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stemmata_engine::{
    CollectOptions, Engine, ForgetOptions, ForgetTarget, IndexState, RetentionRules, ScrubTarget,
    SearchFilter, SearchQuery, SettleBudget, StoreRules, Told,
};
use stemmata_model::{Principal, SessionId, topics};
use stemmata_prompt::search::TERMS_VERSION;
use stemmata_store::conformance::ledger::builders::{ledger, said};
use stemmata_store::{EventLog, Files as _, Index, IndexOptions, Patience, Store, SystemFiles};
use stemmata_testkit::memory::MemoryStore;
use tempfile::TempDir;

use crate::search::{assert_rebuilt, conversation, hits, indexed, query, search, settle};
use crate::search_forget::holding;
use crate::support::{Folder, answer, engine_on, import, jsonl_below, memory, new_store, placing, user};

/// A word that no other begins like: it stands whole in the index's dictionary.
const WORD: &str = "zqkilnwright";

fn by() -> Principal {
    Principal::new("ada").expect("a name")
}

fn forget(engine: &Engine, target: &ForgetTarget) {
    let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
    engine.apply_forget(engine.plan_forget(target, &options).expect("a plan")).expect("forgotten");
}

fn tell(engine: &Engine, word: &str) {
    let event = said("s1", topics::DECISION_EVENT, word);
    engine.publish(&ledger("c"), vec![event]).expect("published");
}

fn forget_events(engine: &Engine) {
    let told = Told::Session(SessionId::new("s1").expect("a name"), Some(ledger("c")));
    engine.apply_forget_events(&engine.plan_forget_events(&told).expect("a plan")).expect("forgotten");
}

fn open_index(store: &Arc<dyn Store>, dir: &Path) -> Index {
    let options = IndexOptions {
        files: Arc::new(SystemFiles),
        patience: Patience::each(Duration::from_millis(100)),
        terms: TERMS_VERSION,
        store_id: store.identity().expect("read").store_id,
        can_write: false,
    };
    Index::open(dir, options).expect("an index")
}

fn assert_clean(store: &Arc<dyn Store>, dir: &Path) {
    assert_eq!(holding(dir, WORD), [""; 0]);
    assert_eq!(store.index_due().expect("read"), []);
}

/// Only events are forgotten, and the process dies before it reaches the index, or within; in the store and in a log beside it.
#[test]
fn words_of_forgotten_events_outlive_no_crash() {
    for (is_elsewhere, is_begun) in [(false, false), (false, true), (true, false), (true, true)] {
        let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
        let log: Arc<dyn EventLog> = Arc::new(MemoryStore::default());
        let with = |engine: Engine| if is_elsewhere { engine.with_log(Arc::clone(&log)) } else { engine };
        let engine = with(indexed(&store, dir.path()));
        tell(&engine, WORD);
        settle(&engine);
        assert_ne!(holding(dir.path(), WORD), [""; 0]);
        drop(engine);
        forget_events(&with(engine_on("m1", Arc::clone(&store))));
        assert_ne!(store.index_due().expect("read"), [], "elsewhere: {is_elsewhere}");
        if is_begun {
            let lock = Index::lock(dir.path(), &SystemFiles).expect("a folder").expect("free");
            open_index(&store, dir.path()).drop_events(&lock).expect("dropped");
        }
        settle(&with(indexed(&store, dir.path())));
        assert_clean(&store, dir.path());
    }
}

/// A scrub that finds something in events alone cleans the index by itself.
#[test]
fn a_scrub_of_events_alone_reaches_the_index() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let before = indexed(&store, dir.path());
    tell(&before, WORD);
    settle(&before);
    let text = format!("[[rules]]\nkind = 'craft'\nkeywords = ['{WORD}']\nregex = '{WORD}'\n");
    let rules = StoreRules { name: "secrets.toml".to_owned(), text };
    let done = indexed(&store, dir.path()).with_rules(rules).scrub(&ScrubTarget::All, &by());
    assert_eq!(done.expect("scrubbed").events_forgotten, 1);
    assert_clean(&store, dir.path());
}

/// What a collection deletes was mostly covered, and the index never held it: nothing is settled again for it.
#[test]
fn a_collection_of_old_looks_takes_nothing_back() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let bytes = conversation(3, "broker");
    let end = bytes.iter().position(|byte| *byte == b'\n').expect("lines") + 1;
    let open = import(&engine, &folder.write("a.jsonl", &bytes[..end])).session.tip.expect("a tip");
    folder.append("a.jsonl", &bytes[end..]);
    import(&engine, &folder.path().join("a.jsonl"));
    import(&engine, &folder.write("b.jsonl", &conversation(3, "ledger")));
    settle(&engine);
    let named = std::fs::read(dir.path().join("current")).expect("named");
    let rules = RetentionRules { provisional_days: Some(1), ..RetentionRules::default() };
    for _ in 0..2 {
        engine.collect(&CollectOptions { rules: rules.clone(), grace_days: 0 }).expect("collected");
    }
    assert_eq!(store.commit(open).expect("read"), None, "the look is deleted");
    let report = engine.index_report().expect("a report");
    assert_eq!((report.state, report.behind_commits), (IndexState::Whole, 0));
    assert_eq!(std::fs::read(dir.path().join("current")).expect("named"), named, "it is not written anew");
    assert_eq!(store.index_due().expect("read"), []);
    assert_rebuilt(&engine, &store);
}

/// Nobody waits for the index: who forgets leaves it to the process that settles, which does it before it lets go.
#[test]
fn what_is_forgotten_while_another_process_settles_is_gone_when_that_ends_and_nobody_waits() {
    for is_rebuilt in [false, true] {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let (settling, other) = (indexed(&store, dir.path()), indexed(&store, dir.path()));
        let key = import(&settling, &folder.write("a.jsonl", &conversation(3, WORD))).session.key;
        if is_rebuilt {
            settle(&settling);
        }
        let mut left = None;
        let mut step = |_, _, _| {
            if left.is_none() {
                let target = ForgetTarget::Session(key.clone());
                let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
                let plan = other.plan_forget(&target, &options).expect("a plan");
                left = Some(other.apply_forget(plan).expect("forgotten").forgotten.unfinished);
            }
            std::ops::ControlFlow::Continue(())
        };
        let settled = if is_rebuilt {
            settling.rebuild_index(&mut step)
        } else {
            settling.settle_index(SettleBudget::All, &mut step)
        };
        assert!(settled.expect("settled").is_whole);
        assert!(left.flatten().is_some_and(|why| why.contains("another process")), "rebuilt: {is_rebuilt}");
        assert_clean(&store, dir.path());
        assert_eq!(search(&settling, &query(WORD)).hits, []);
    }
}

/// Found in review: who ended early, by an error, a bound or a person, had turned the other process away and did not do its part.
#[test]
fn what_is_forgotten_while_another_process_ends_early_is_gone_as_well() {
    for is_rebuilt in [false, true] {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let (settling, other) = (indexed(&store, dir.path()), indexed(&store, dir.path()));
        let key = import(&settling, &folder.write("a.jsonl", &conversation(3, WORD))).session.key;
        if is_rebuilt {
            settle(&settling);
        }
        let mut steps = 0;
        let mut step = |_, _, _| {
            steps += 1;
            forget(&other, &ForgetTarget::Session(key.clone()));
            std::ops::ControlFlow::Break(())
        };
        if is_rebuilt {
            settling.rebuild_index(&mut step).expect("begun");
        } else {
            settling.settle_index(SettleBudget::All, &mut step).expect("begun");
        }
        assert_eq!(steps, 1, "rebuilt: {is_rebuilt}");
        assert_clean(&store, dir.path());
    }
}

/// A long-lived process has an index open whose folder somebody empties: it cleans the one that is there now.
#[test]
fn a_process_with_an_old_index_cleans_the_new_one() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let old = indexed(&store, dir.path());
    let captured = import(&old, &folder.write("a.jsonl", &conversation(3, WORD)));
    settle(&old);
    for file in std::fs::read_dir(dir.path()).expect("a folder").flatten() {
        std::fs::remove_file(file.path()).expect("removed");
    }
    settle(&indexed(&store, dir.path()));
    assert_ne!(holding(dir.path(), WORD), [""; 0]);
    forget(&old, &ForgetTarget::Session(captured.session.key));
    assert_clean(&store, dir.path());
    assert_eq!(hits(&old, WORD), []);
}

/// Indexes that were set aside hold what was forgotten, too: they go with it, by whatever command.
#[test]
fn damaged_indexes_keep_nothing_that_was_forgotten() {
    for (is_of_events, is_rebuilt) in [(false, true), (false, false), (true, true), (true, false)] {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let engine = indexed(&store, dir.path());
        let captured = import(&engine, &folder.write("a.jsonl", &conversation(3, WORD)));
        tell(&engine, WORD);
        settle(&engine);
        drop(engine);
        let bytes = std::fs::read(dir.path().join("current")).expect("named");
        std::fs::File::create(dir.path().join("current")).expect("emptied");
        if is_rebuilt {
            // It is set aside before anything is forgotten.
            assert_eq!(search(&indexed(&store, dir.path()), &query(WORD)).hits.len(), 7, "{bytes:?}");
            let aside = std::fs::read_dir(dir.path()).expect("a folder").flatten();
            assert!(aside.into_iter().any(|file| file.file_name().to_string_lossy().starts_with("damaged")));
        }
        let blind = engine_on("m1", Arc::clone(&store));
        forget_events(&blind);
        if !is_of_events {
            forget(&blind, &ForgetTarget::Session(captured.session.key));
        }
        let engine = indexed(&store, dir.path());
        if is_rebuilt {
            let built = engine.rebuild_index(&mut |_, _, _| std::ops::ControlFlow::Continue(()));
            assert!(built.expect("made").is_whole);
        } else {
            search(&engine, &query("queue"));
        }
        settle(&engine);
        assert_eq!(store.index_due().expect("read"), []);
        assert_eq!(holding(dir.path(), "damaged"), [""; 0]);
        let aside = std::fs::read_dir(dir.path()).expect("a folder").flatten();
        let aside: Vec<_> = aside.filter(|file| file.path().is_dir()).collect();
        assert!(aside.is_empty(), "of events: {is_of_events}, rebuilt: {is_rebuilt}: {aside:?}");
        if !is_of_events {
            assert_clean(&store, dir.path());
        }
    }
}

/// A copy of a transcript says nothing new; once the first is forgotten it is the one that what they said is found by.
#[test]
fn a_copy_is_a_place_of_what_was_indexed_before() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    settle(&engine);
    let copy = import(&engine, &folder.write("b.jsonl", &conversation(3, "kiln")));
    assert_eq!(first.session.tip, copy.session.tip);
    settle(&engine);
    assert_eq!(store.index_unseen(1).expect("read"), []);
    forget(&engine, &ForgetTarget::Session(first.session.key));
    let filter = SearchFilter { client: Some("claude-code".to_owned()), ..SearchFilter::default() };
    let found = search(&engine, &SearchQuery { filter, ..query("kiln") }).hits;
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|hit| hit.place.path == copy.session.key.path), "{found:?}");
}

/// A fork of a turn that was open continues what that continued, also where the index never held the turn.
#[test]
fn a_fork_of_a_turn_that_is_covered_keeps_its_past() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = engine_on("m1", Arc::clone(&store));
    let first = import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    let fork = engine.place(first.session.tip.expect("a tip"), &placing(&folder)).expect("placed").session;
    folder.append("a.jsonl", answer(7, 6, "the kiln goes on").as_bytes());
    import(&engine, &folder.path().join("a.jsonl"));
    let path = jsonl_below(folder.path());
    let path = path.iter().find(|path| path.to_string_lossy().contains(fork.as_str())).expect("the fork's");
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a file");
    std::io::Write::write_all(&mut file, user(9, Some(6), "and what of this kiln?").as_bytes())
        .expect("written");
    import(&engine, path);
    let engine = indexed(&store, dir.path());
    settle(&engine);
    let found = hits(&engine, "kiln");
    let of_fork = |number: &str| {
        let hit = found.iter().find(|hit| hit.snippet.contains(number)).expect("a hit");
        hit.place.session == fork.as_str() || hit.also_in.contains(&fork.to_string())
    };
    assert!(of_fork("why is kiln 0") && of_fork("why is kiln 1") && !of_fork("goes on"), "{found:?}");
}

/// Times that clients get wrong, by their unit or altogether, make an entry no worse to find.
#[test]
fn an_odd_time_costs_no_entry() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let text = String::from_utf8(conversation(3, "kiln")).expect("text");
    for (name, time) in [("a", "0008-05-08"), ("b", "0001-01-01"), ("c", "9999-12-09"), ("d", "0031-01-31")] {
        let text = text.replace("kiln", &format!("kiln{name}")).replace("2026-01-01", time);
        import(&engine, &folder.write(&format!("{name}.jsonl"), text.as_bytes()));
        assert_eq!(hits(&engine, &format!("kiln{name}")).len(), 6, "{time}");
    }
    assert_rebuilt(&engine, &store);
}

/// Where nothing is to be done it is no trouble that another process has the index.
#[test]
fn an_index_that_is_whole_needs_no_lock() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "kiln")));
    tell(&engine, WORD);
    settle(&engine);
    let held = SystemFiles.lock(&dir.path().join("settle.lock")).expect("a lock").expect("free");
    assert_eq!(hits(&engine, "kiln").len(), 6);
    tell(&engine, "kiln");
    assert_ne!(search(&engine, &query("kiln")).notes, [], "an event is not in it yet");
    drop(held);
    assert_eq!(hits(&engine, "kiln").len(), 7);
}

/// A store that is an older copy of itself may have other events under the same numbers.
#[test]
fn events_of_an_older_copy_of_the_store_are_read_again() {
    let dir = TempDir::new().expect("a folder");
    for words in [&["kiln one", "kiln two"][..], &["broker three"]] {
        let store: Arc<dyn Store> = memory();
        let engine = indexed(&store, dir.path()).with_log(Arc::new(MemoryStore::default()));
        for word in words {
            tell(&engine, word);
        }
        assert_eq!(hits(&engine, "kiln broker").len(), words.len());
        assert_eq!(engine.index_report().expect("a report").entries, words.len() as u64);
    }
}

/// Forgetting a session raises the epochs of all ledgers, whose events the index has still.
#[test]
fn forgetting_a_session_folds_no_event_again() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let session = import(&engine, &folder.write("a.jsonl", &conversation(2, WORD))).session;
    (0..3).for_each(|at| tell(&engine, &format!("the kiln {at}")));
    settle(&engine);
    let entries = || engine.index_report().expect("a report").entries;
    assert_eq!(entries(), 7);
    forget(&engine, &ForgetTarget::Session(session.key));
    assert_eq!(entries(), 3, "before any search");
    assert_clean(&store, dir.path());
    assert_eq!(hits(&engine, "kiln").len(), 3);
    assert_rebuilt(&engine, &store);
    forget_events(&engine);
    assert_eq!((entries(), hits(&engine, "kiln").len()), (0, 0));
}
