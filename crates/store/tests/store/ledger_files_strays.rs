//! What stands beside ledgers of files and is none: copies, plain files, other programs' files, damaged neighbours.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use stemmata_model::Timestamp;
use stemmata_store::{
    Append, EventLog, EventQuery, FileLog, FileLogOptions, Finding, IntegrityMode, LedgerChange, StoreError,
};
use stemmata_testkit::disk::{Disk, Image};
use stemmata_testkit::files::RecordedFiles;
use tempfile::TempDir;

use stemmata_store::conformance::ledger::builders::session;

use super::ledger_files::{append, folder, id, open, put, restore, said, sample, saved};

fn marked(mark: &str) -> LedgerChange {
    LedgerChange { marks: vec![mark.to_owned()], ..LedgerChange::new(id("p"), Timestamp::EPOCH) }
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

#[test]
fn stray_names_beside_ledgers_harm_nobody() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let root = home.path().join("contexts-v2");
    put(&root.join("notes.txt"), b"mine");
    put(&root.join("notes~"), b"mine");
    fs::create_dir(root.join("p~")).expect("a folder");
    put(&root.join("p~/events.ndjson"), b"anything\n");
    put(&home.path().join("contexts"), b"a plain file");
    let log = open(home.path());
    log.change_ledger(marked("m")).expect("marked");
    assert_eq!(log.ledger_marked("m").expect("a read"), Some(id("p")));
    assert_eq!(log.ledger_marked("n").expect("a read"), None);
    let found = log.ledgers(None, 9).expect("a listing");
    assert_eq!(found.iter().map(|ledger| ledger.id.to_string()).collect::<Vec<_>>(), ["p"]);
    assert_eq!(log.ledger(&id("notes.txt")).expect("a read"), None);
    assert_eq!(restore(&log).findings, []);
    assert_eq!(log.forget_events(&session("s")).expect("forgotten"), 5);
}

#[test]
fn a_copy_of_a_ledgers_folder_is_told_and_ignored() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    open(home.path()).change_ledger(marked("m")).expect("marked");
    let copy = home.path().join("contexts-v2/backup");
    copy_folder(&folder(home.path()), &copy);
    let log = open(home.path());
    assert_eq!(log.ledger_marked("m").expect("a read"), Some(id("p")));
    let told = [Finding::Misplaced { path: copy.clone(), ledger: id("p") }];
    assert_eq!(log.findings(), told);
    assert!(told[0].to_string().contains(&copy.display().to_string()) && !told[0].stops());
    assert_eq!(log.ledgers(None, 9).expect("a listing").len(), 1);
    let refused = log.append(Append { ledger: id("backup"), ..append(vec![said("s", "t", "x")]) });
    assert!(matches!(refused, Err(StoreError::NotAStore { .. })), "{refused:?}");
    assert_eq!(log.restore(&id("backup"), Timestamp::EPOCH).expect("a restore").findings, told);
}

#[test]
fn forgetting_takes_the_quarantine_where_no_event_of_the_session_is_left() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let quarantine = folder(home.path()).join("quarantine.ndjson");
    let left = folder(home.path()).join(".stemma-1-0.tmp");
    put(&quarantine, b"{\"text\":\"hush\"}\n");
    put(&left, b"hush");
    let log = open(home.path());
    assert_eq!(log.forget_events(&session("damaged")).expect("nothing to forget"), 0);
    assert!(!quarantine.exists() && !left.exists());
    assert_eq!(log.forget_events(&session("s")).expect("forgotten"), 5);
}

#[test]
fn forgetting_goes_on_past_a_damaged_ledger() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    for name in ["a", "b", "c"] {
        log.append(Append { ledger: id(name), ..append(vec![said("s", "t", "hush")]) }).expect("appended");
    }
    drop(log);
    let events = |name: &str| home.path().join("contexts-v2").join(name).join("events.ndjson");
    let whole = fs::read(events("a")).expect("a file");
    put(&events("a"), &[b"noise\n", &whole[..]].concat());
    let log = open(home.path());
    let refused = log.forget_events(&session("s")).expect_err("one is left");
    assert!(matches!(&refused, StoreError::LedgerDamaged { path, .. } if path.contains("/a/")), "{refused}");
    for name in ["b", "c"] {
        let text = fs::read_to_string(events(name)).expect("a file");
        assert!(!text.contains("hush"), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_folder_is_told_and_not_followed() {
    use std::os::unix::fs::symlink;
    let (home, other) = (TempDir::new().expect("a directory"), TempDir::new().expect("a directory"));
    sample(other.path(), IntegrityMode::Checksum);
    open(home.path())
        .append(Append { ledger: id("q"), ..append(vec![said("t", "t", "x")]) })
        .expect("appended");
    let (link, target) = (folder(home.path()), folder(other.path()));
    symlink(&target, &link).expect("a link");
    let before = Image::read(other.path()).expect("an image");
    let log = open(home.path());
    let refused = [
        log.append(append(vec![said("s", "t", "x")])).map(drop),
        log.append(Append { expected: Some(5), ..append(vec![said("s", "t", "x")]) }).map(drop),
        log.events(&id("p"), &EventQuery::after(None, 9)).map(drop),
        log.ledger(&id("p")).map(drop),
        log.saved_states(&id("p"), "").map(drop),
        log.save_states(&id("p"), vec![saved(1)]),
        log.drop_states(&id("p"), ""),
        log.change_ledger(marked("m")),
        log.trim(&id("p"), &said("s", "t", "x").topic, super::ledger_files::seq(5)).map(drop),
        log.repair(&id("p")).map(drop),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        let Err(StoreError::NotAStore { path, reason }) = refused else { panic!("{number}: {refused:?}") };
        assert!(path.contains(&link.display().to_string()) && reason.contains("link"), "{path} {reason}");
    }
    assert_eq!(restore(&log).findings, [Finding::Linked { path: link.clone() }]);
    let found = log.ledgers(None, 9).expect("a listing");
    assert_eq!(found.iter().map(|ledger| ledger.id.to_string()).collect::<Vec<_>>(), ["q"]);
    assert_eq!(log.findings(), [Finding::Linked { path: link }]);
    assert_eq!(log.forget_events(&session("s")).expect("nothing of ours"), 0);
    assert_eq!(Image::read(other.path()).expect("an image").fingerprint(), before.fingerprint());
    // The folder of all ledgers, too.
    let home = TempDir::new().expect("a directory");
    symlink(other.path().join("contexts-v2"), home.path().join("contexts-v2")).expect("a link");
    let opened = FileLog::open(home.path(), FileLogOptions::default());
    assert!(matches!(opened, Err(StoreError::NotAStore { .. })), "{opened:?}");
}

#[test]
fn a_network_file_system_is_refused_and_named_until_it_is_allowed() {
    let home = TempDir::new().expect("a directory");
    for (file_system, is_refused) in [("nfs4", true), ("fuse.sshfs", true), ("9p", false), ("ext4", false)] {
        let disk = Disk::new();
        disk.plant("home", &Image::default());
        let files = RecordedFiles::new(&disk, "home", home.path()).expect("a folder");
        let files = Arc::new(files.lying_on(file_system));
        let options = FileLogOptions { files, ..FileLogOptions::default() };
        let opened = FileLog::open(home.path(), options.clone());
        if !is_refused {
            opened.expect("a disk of this machine");
            continue;
        }
        let error = opened.expect_err("other machines may write it");
        let StoreError::Network { file_system: named, mount, .. } = &error else { panic!("{error}") };
        assert_eq!(named.as_str(), file_system);
        assert_eq!(Path::new(mount), home.path().canonicalize().expect("it is there"));
        FileLog::open(home.path(), FileLogOptions { allow_network: true, ..options }).expect("it is allowed");
    }
}

#[test]
fn what_dead_writers_left_goes_with_the_first_write() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let left = folder(home.path()).join(".stemma-1-0.tmp");
    put(&left, b"half of a snapshot");
    let log = open(home.path());
    assert_eq!(restore(&log).events, 5);
    assert!(left.exists(), "only whoever has the lock alone may take it");
    log.append(append(vec![said("s", "t", "x")])).expect("appended");
    assert!(!left.exists());
}

#[test]
fn forgetting_takes_states_that_were_made_of_events_which_are_none_any_more() {
    let home = TempDir::new().expect("a directory");
    sample(home.path(), IntegrityMode::Checksum);
    let path = folder(home.path()).join("events.ndjson");
    let log = open(home.path());
    log.save_states(&id("p"), vec![saved(4)]).expect("saved");
    let epoch = log.ledger(&id("p")).expect("a read").expect("there").epoch;
    let text =
        fs::read_to_string(&path).expect("a file").replace("\"session_id\":\"s\"", "\"session_id\":\"S\"");
    put(&path, text.as_bytes());
    let log = open(home.path());
    assert_eq!(log.repair(&id("p")).expect("repaired").lost.len(), 5);
    log.append(append(vec![said("other", "t", "x")])).expect("appended");
    log.save_states(
        &id("p"),
        vec![saved(4), stemmata_store::SavedState { name: "cursor/x".to_owned(), ..saved(4) }],
    )
    .expect("saved");
    assert_eq!(log.forget_events(&session("s")).expect("none is left"), 0);
    let left = log.saved_states(&id("p"), "").expect("a read");
    assert_eq!(left.iter().map(|state| state.name.as_str()).collect::<Vec<_>>(), ["cursor/x"]);
    assert!(log.save_folded(&id("p"), epoch, vec![saved(4)]).is_err(), "no fold that is under way is saved");
}

#[test]
fn forgetting_takes_snapshots_that_were_set_aside() {
    for session_name in ["s", "nobody"] {
        let home = TempDir::new().expect("a directory");
        sample(home.path(), IntegrityMode::Checksum);
        let aside = folder(home.path()).join("snapshot.json.unreadable-1");
        put(&aside, b"hush");
        open(home.path()).forget_events(&session(session_name)).expect("forgotten");
        assert!(!aside.exists(), "{session_name}");
    }
}

#[test]
fn a_mark_of_any_other_ledger_is_taken() {
    let home = TempDir::new().expect("a directory");
    let log = open(home.path());
    let marks = |name: &str, marks: &[&str]| LedgerChange {
        ledger: id(name),
        marks: marks.iter().map(|mark| (*mark).to_owned()).collect(),
        ..marked("m")
    };
    log.change_ledger(marks("a", &["one", "two"])).expect("marked");
    log.change_ledger(marks("a", &["two", "three"])).expect("its own");
    let taken = log.change_ledger(marks("b", &["four", "three"]));
    assert!(matches!(&taken, Err(StoreError::MarkTaken { mark, .. }) if mark == "three"), "{taken:?}");
}
