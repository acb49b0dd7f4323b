//! Forgetting single events, whole ledgers, and of what commits had only some lines: what goes, and that no file keeps it.

use std::collections::BTreeSet;

use stemmata_model::{ArtifactId, Json, Payload, artifact_id, topics};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{
    BATCH_EVENTS_MAX, ContentPart, EventLog, NewContent, Places, SavedState, StoreError, Write,
};
use tempfile::TempDir;

use crate::erase::{holding, noise, wish};
use crate::ledger::{all, append, delta, ledger, line, on_both, put, said, seq, session};
use crate::ledger_let_go::is_stored;
use crate::packs::pack;
use crate::support::{damages, new_commit, open, read};

fn these(numbers: &[u64]) -> Places {
    Places::These(numbers.iter().map(|number| seq(*number)).collect())
}

fn state(name: &str, words: &str) -> SavedState {
    let state = Json::of(&serde_json::json!(words));
    SavedState { name: name.to_owned(), version: 1, through: 1, position: None, state }
}

/// Letters that no compression makes less of.
fn words(seed: u64) -> String {
    noise(seed, 600).iter().map(|byte| char::from(b'A' + (byte & 15))).collect()
}

fn is_gone(log: &dyn EventLog, of: &str) -> Vec<bool> {
    all(log, of).iter().map(|event| matches!(event.payload, Payload::Gone(gone) if gone.forgotten)).collect()
}

#[test]
fn nothing_of_events_named_by_their_places_is_left_in_any_file() {
    for is_packed in [false, true] {
        let home = TempDir::new().expect("a directory");
        let store = open(home.path());
        let secrets: Vec<String> = (1..6).map(words).collect();
        let (own, own_bytes) = line("s", "t", &secrets[2]);
        let noted = said("s", "t", "clean").with_metadata(Json::of(&serde_json::json!({ "m": secrets[1] })));
        put(&store, "p", vec![said("s", "t", &secrets[0]), noted, own, said("s", "t", "stays")]);
        put(
            &store,
            "p",
            vec![line("s", "t", "stays, too").0, said("s", topics::STATE_SNAPSHOT, &secrets[3])],
        );
        store.save_states(&ledger("p"), vec![state("memory", &secrets[4])]).expect("saved");
        if is_packed {
            pack(&store);
        }
        let parts: Vec<&[u8]> = secrets.iter().map(String::as_bytes).collect();
        assert!(!holding(home.path(), &parts).is_empty(), "it is there before");
        assert_eq!(store.forget_places(&ledger("p"), &these(&[1, 2, 3])).expect("forgotten"), 4);
        assert_eq!(holding(home.path(), &parts), Vec::<String>::new(), "packed: {is_packed}");
        assert!(!is_stored(&store, &own_bytes));
        assert_eq!(is_gone(&store, "p"), [true, true, true, false, false, true]);
        assert_eq!(damages(&store), []);
        // States that repeat it though no event says it any more.
        store.save_states(&ledger("p"), vec![state("memory", &secrets[4])]).expect("saved");
        assert!(!holding(home.path(), &parts).is_empty(), "it is there again");
        assert_eq!(store.forget_places(&ledger("p"), &these(&[])).expect("dropped"), 0);
        assert_eq!(holding(home.path(), &parts), Vec::<String>::new(), "packed: {is_packed}");
    }
}

#[test]
fn a_reader_in_the_way_is_told_and_the_next_asking_ends_it() {
    let home = TempDir::new().expect("a directory");
    let store = open(home.path());
    let secret = words(5);
    put(&store, "p", vec![said("s", "t", &secret), said("s", "t", "this stays")]);
    let reader = rusqlite::Connection::open(home.path().join("stemmata.db")).expect("a connection");
    reader.execute_batch("BEGIN; SELECT count(*) FROM event;").expect("a read");
    let count: i64 = reader.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).expect("a read");
    assert_eq!(count, 2);
    let error = store.forget_places(&ledger("p"), &these(&[1])).expect_err("the reader is in the way");
    assert!(matches!(error, StoreError::Unclean { .. }), "{error}");
    assert_eq!(is_gone(&store, "p"), [true, false], "nobody reads it any more");
    drop(reader);
    assert_eq!(store.forget_places(&ledger("p"), &these(&[1])).expect("cleaned"), 0);
    assert_eq!(holding(home.path(), &[secret.as_bytes()]), Vec::<String>::new());
}

#[test]
fn a_ledger_of_more_than_one_part_is_forgotten_whole() {
    on_both(|store| {
        put(store, "p", vec![said("s", "t", "x"); BATCH_EVENTS_MAX]);
        put(store, "p", vec![said("s", "t", "y"); 10]);
        let count = BATCH_EVENTS_MAX as u64 + 10;
        assert_eq!(store.forget_places(&ledger("p"), &Places::All).expect("forgotten"), count);
        assert!(is_gone(store, "p").into_iter().all(|gone| gone));
        assert_eq!(damages(store), []);
    });
}

/// Of the lines that a commit had, those that are named go with it, and what is said in the others stays.
#[test]
fn a_commit_takes_the_named_lines_along_and_leaves_the_others() {
    on_both(|store| {
        let lines = ["clean one", "secret", "clean two"].map(|text| line("s", "t", text));
        let bytes: Vec<Vec<u8>> = lines.iter().map(|(_, bytes)| bytes.clone()).collect();
        let (content, artifact) = delta(&bytes);
        let commit = new_commit(None, artifact, 7);
        let id = commit.core.id();
        let events = lines.iter().map(|(event, _)| event.clone()).collect();
        let appended = Write::Append(Box::new(append("p", events)));
        store.commit_batch(vec![appended, Write::Content(content), Write::Commit(commit)]).expect("stored");
        put(store, "q", vec![lines[1].0.clone(), lines[2].0.clone()]);
        let named: BTreeSet<ArtifactId> = [artifact_id(&bytes[1])].into();
        let done = store.forget(&Forget { lines: Some(named), ..wish(&[id], &[]) }).expect("forgotten");
        assert_eq!((done.removed, done.events), (vec![id], 2));
        assert_eq!(is_gone(store, "p"), [false, true, false]);
        assert_eq!(is_gone(store, "q"), [true, false], "the same line, wherever it was said");
        let stored: Vec<bool> = bytes.iter().map(|line| is_stored(store, line)).collect();
        assert_eq!(stored, [true, false, true]);
        assert_eq!(damages(store), []);
    });
}

/// A clean line that is kept as a range of something larger is copied out of it.
#[test]
fn a_line_that_is_a_part_of_what_goes_is_copied_out() {
    on_both(|store| {
        let (event, clean) = line("s", "t", "clean");
        let (_, secret) = line("s", "t", "secret");
        let whole = [secret.as_slice(), &clean].concat();
        let artifact = artifact_id(&whole);
        let content = NewContent::literal(whole.clone());
        let commit = new_commit(None, artifact, 7);
        let id = commit.core.id();
        let (offset, length) = (secret.len() as u64, clean.len() as u64);
        let range = ContentPart::Slice { of: artifact, offset, length };
        let range = NewContent::composed(artifact_id(&clean), vec![range]);
        let batch = vec![Write::Content(content), Write::Commit(commit), Write::Content(range)];
        store.commit_batch(batch).expect("stored");
        put(store, "p", vec![event]);
        let wish = Forget { lines: Some(BTreeSet::new()), ..wish(&[id], &[]) };
        assert_eq!(store.forget(&wish).expect("forgotten").events, 0);
        assert!(!is_stored(store, &whole), "what it was a part of is gone");
        assert_eq!(read(store, artifact_id(&clean)).expect("a read"), clean);
        assert_eq!(is_gone(store, "p"), [false]);
        assert_eq!(damages(store), []);
    });
}

#[test]
fn ledgers_that_a_wish_names_are_forgotten_in_the_same_transaction() {
    on_both(|store| {
        for of in ["p", "q"] {
            put(store, of, vec![said("s1", "t", "plain"), line("s2", "t", "line").0]);
            store.save_states(&ledger(of), vec![state("mem", "x"), state("cursor/x", "")]).expect("saved");
        }
        let dry = Forget { dry_run: true, ledgers: vec![ledger("p")], ..wish(&[], &[]) };
        assert_eq!(store.forget(&dry).expect("a plan").events, 2);
        assert_eq!(is_gone(store, "p"), [false, false], "a plan changes nothing");
        let asked = Forget { dry_run: false, ..dry };
        assert_eq!(store.forget(&asked).expect("forgotten").events, 2);
        assert_eq!((is_gone(store, "p"), is_gone(store, "q")), (vec![true, true], vec![false, false]));
        let names = |of| -> Vec<String> {
            let states = store.saved_states(&ledger(of), "").expect("a read");
            states.into_iter().map(|state| state.name).collect()
        };
        assert_eq!((names("p").len(), names("q").len()), (1, 2));
        assert_eq!(store.forget_events(&session("s1")).expect("forgotten"), 1);
        assert_eq!(damages(store), []);
    });
}
