//! An index that is damaged, of another version or in use: an answer all the same, and a note that says why.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stemmata_engine::{
    CheckpointRequest, Engine, IndexState, IndexTrouble, SearchNote, SearchQuery, SettleBudget,
};
use stemmata_model::{FormatId, SessionId, Template};
use stemmata_store::{Files as _, Store, SystemFiles};
use stemmata_testkit::mount::Mount;
use tempfile::TempDir;

use crate::search::{conversation, hits, indexed, query, search, settle};
use crate::support::{Folder, import, new_store};

/// How far apart the places are at which a file is damaged.
const STEP: usize = 4_096;

fn settled() -> (Arc<dyn Store>, TempDir, Folder) {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "broker")));
    settle(&engine);
    (store, dir, folder)
}

fn database(dir: &Path) -> PathBuf {
    dir.join(std::fs::read_to_string(dir.join("current")).expect("named"))
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::File::create(path).and_then(|mut file| file.write_all(bytes)).expect("written");
}

/// Asks, and holds the answer to be whole: what is damaged is made again by the same call.
fn assert_answers(engine: &Engine) -> Vec<SearchNote> {
    let found = search(engine, &query("broker"));
    assert_eq!(found.hits.len(), 6, "{:?}", found.notes);
    found.notes
}

#[test]
fn a_damaged_index_is_set_aside_and_made_again() {
    let (store, dir, _folder) = settled();
    let path = database(dir.path());
    let sound = std::fs::read(&path).expect("read");
    for at in (0..sound.len()).step_by(STEP) {
        let mut bytes = sound.clone();
        bytes.iter_mut().skip(at).take(STEP).for_each(|byte| *byte = !*byte);
        for entry in std::fs::read_dir(dir.path()).expect("a folder").flatten() {
            if entry.path().is_file() && entry.file_name() != "settle.lock" {
                std::fs::remove_file(entry.path()).expect("removed");
            }
        }
        write(&path, &bytes);
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        write(&dir.path().join("current"), name.as_bytes());
        let engine = indexed(&store, dir.path());
        assert_answers(&engine);
        assert_eq!(hits(&indexed(&store, dir.path()), "broker").len(), 6, "at {at}");
    }
}

#[test]
fn a_file_that_is_cut_empty_or_gone_is_made_again() {
    let (store, dir, _folder) = settled();
    let assert_made_again = || {
        let engine = indexed(&store, dir.path());
        let notes = assert_answers(&engine);
        assert!(matches!(notes[..], [SearchNote::Index(IndexTrouble::Damaged { .. })]), "{notes:?}");
        assert_eq!(engine.index_report().expect("a report").state, IndexState::Whole);
        assert_eq!(assert_answers(&indexed(&store, dir.path())), [], "and nothing is left to say");
    };
    for bytes in [&b""[..], b"no database at all, and longer than nothing"] {
        write(&database(dir.path()), bytes);
        assert_made_again();
    }
    std::fs::remove_file(database(dir.path())).expect("removed");
    assert_made_again();
    write(&dir.path().join("current"), b"../elsewhere");
    assert_made_again();
    std::fs::remove_dir_all(dir.path()).expect("removed");
    assert_eq!(assert_answers(&indexed(&store, dir.path())), []);
}

#[test]
fn an_index_of_a_newer_version_is_left_alone() {
    let (store, dir, _folder) = settled();
    let connection = rusqlite::Connection::open(database(dir.path())).expect("opened");
    connection.execute("UPDATE meta SET format = 99", []).expect("changed");
    drop(connection);
    let engine = indexed(&store, dir.path());
    let notes = assert_answers(&engine);
    assert_eq!(notes, [SearchNote::Index(IndexTrouble::Newer)]);
    assert_eq!(engine.index_report().expect("a report").state, IndexState::Newer);
}

#[test]
fn an_index_with_other_words_is_made_anew() {
    let (store, dir, _folder) = settled();
    let connection = rusqlite::Connection::open(database(dir.path())).expect("opened");
    connection.execute("UPDATE meta SET terms = 0", []).expect("changed");
    drop(connection);
    let engine = indexed(&store, dir.path());
    assert_eq!(engine.index_report().expect("a report").state, IndexState::Older);
    assert_eq!(assert_answers(&engine), []);
    assert_eq!(engine.index_report().expect("a report").state, IndexState::Whole);
}

#[test]
fn what_another_process_has_not_settled_yet_is_read_directly() {
    let (store, dir, folder) = settled();
    let engine = indexed(&store, dir.path());
    let held = SystemFiles.lock(&dir.path().join("settle.lock")).expect("a lock").expect("free");
    import(&engine, &folder.write("b.jsonl", &conversation(3, "ledger")));
    let found = search(&engine, &query("ledger"));
    assert_eq!(found.hits.len(), 6, "{:?}", found.notes);
    assert_eq!(found.notes, [SearchNote::Index(IndexTrouble::Busy), SearchNote::Behind { commits: 0 }]);
    drop(held);
    assert_eq!(hits(&engine, "ledger").len(), 6);
}

/// Somebody who types searches again and again while another thread settles: a search that took the lock would end that.
#[test]
fn a_search_without_time_leaves_the_index_to_others() {
    let (store, dir, folder) = settled();
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("b.jsonl", &conversation(3, "ledger")));
    let behind = engine.index_report().expect("read").behind_commits;
    let budget = SettleBudget::Within(std::time::Duration::ZERO);
    let found = search(&engine, &SearchQuery { budget, ..query("ledger") });
    assert_eq!(found.hits.len(), 6, "{:?}", found.notes);
    assert_eq!((behind > 0, engine.index_report().expect("read").behind_commits), (true, behind));
}

#[test]
fn an_index_is_made_anew_on_demand() {
    let (store, dir, _folder) = settled();
    let engine = indexed(&store, dir.path());
    let before = hits(&engine, "broker");
    let settled = engine.rebuild_index(&mut |_, _, _| ControlFlow::Continue(())).expect("made");
    assert!(settled.is_whole);
    assert_eq!(hits(&engine, "broker"), before);
    let cancelled = engine.rebuild_index(&mut |_, _, _| ControlFlow::Break(())).expect("begun");
    assert!(cancelled.commits > 0);
    assert_eq!(hits(&engine, "broker"), before);
}

/// A disk that nobody may write: what the index has is searched, what is new is read from the store, and the answer says so.
#[test]
fn an_index_that_cannot_be_written_is_read_and_what_it_lacks_is_read_from_the_store() {
    let Some(mount) = Mount::new("8m") else { return };
    let (store, folder) = (new_store(), Folder::new());
    for (name, is_there) in [("there", true), ("missing", false)] {
        let dir = mount.path().join(name);
        let engine = indexed(&store, &dir);
        import(&engine, &folder.write("a.jsonl", &conversation(3, "broker")));
        if is_there {
            settle(&engine);
        }
        drop(engine);
        mount.remount("ro");
        let engine = indexed(&store, &dir);
        import(&engine, &folder.write(&format!("{name}.jsonl"), &conversation(3, name)));
        for (word, wanted) in [("broker", 6), (name, 6)] {
            let found = search(&engine, &query(word));
            assert_eq!(found.hits.len(), wanted, "{name} {word} {:?}", found.notes);
            let read_only = SearchNote::Index(IndexTrouble::ReadOnly);
            assert_eq!(found.notes.first(), Some(&read_only), "{name} {word}: {:?}", found.notes);
        }
        mount.remount("rw");
        assert_eq!(hits(&indexed(&store, &dir), name).len(), 6);
    }
}

/// Wherever the space ends, the answer is whole, and says why the index is not.
#[test]
fn an_index_on_a_full_disk_costs_no_hit() {
    let Some(mount) = Mount::new("8m") else { return };
    let (store, folder) = (new_store(), Folder::new());
    let plain = indexed(&store, &mount.path().join("plain"));
    import(&plain, &folder.write("a.jsonl", &conversation(3, "broker")));
    assert_eq!(hits(&plain, "broker").len(), 6);
    drop(plain);
    std::fs::remove_dir_all(mount.path().join("plain")).expect("removed");
    let (mut full, mut whole) = (0, 0);
    for kib in (4..2_000).step_by(128) {
        mount.remount(&format!("size={kib}k"));
        let dir = mount.path().join("index");
        let engine = indexed(&store, &dir);
        let found = search(&engine, &query("broker"));
        assert_eq!(found.hits.len(), 6, "{kib} KiB: {:?}", found.notes);
        match found.notes.first() {
            Some(SearchNote::Index(IndexTrouble::Full)) => full += 1,
            None => whole += 1,
            Some(other) => panic!("{kib} KiB: {other:?}"),
        }
        mount.remount("size=8m");
        assert_eq!(hits(&engine, "broker").len(), 6, "{kib} KiB, and space again");
        drop(engine);
        std::fs::remove_dir_all(&dir).expect("removed");
    }
    assert!(full > 0 && whole > 0, "{full} full, {whole} whole");
}

/// What nothing can be found of is counted: contents of other formats, and what was forgotten.
#[test]
fn commits_that_cannot_be_searched_are_counted() {
    let (store, dir, _folder) = settled();
    let engine = indexed(&store, dir.path());
    let skipped = || engine.index_report().expect("a report").skipped_commits;
    assert_eq!(skipped(), 0);
    let name = "own-v1";
    let request = CheckpointRequest::delta(
        b"{}\n".to_vec(),
        FormatId::new(name).expect("a name"),
        Template::new(name).expect("a name"),
        SessionId::new(name).expect("a name"),
    );
    engine.checkpoint(&request).expect("a checkpoint");
    assert_eq!(skipped(), 0, "it is not settled yet");
    settle(&engine);
    assert_eq!(skipped(), 1);
}
