//! What opening a data directory does, and what it does not.

use std::io::Write as _;

use super::*;
use crate::ports::{RandomIds, SystemClock};

pub(super) fn options(open_for: OpenFor, config: &str) -> HomeOptions {
    HomeOptions {
        settings: Settings::of_texts(config, &|_| None).unwrap(),
        machine: MachineFacts { mark: None, host_name: "box".to_owned(), user_id: 0 },
        open_for,
        clock: Arc::new(SystemClock),
        ids: Arc::new(RandomIds),
        temp: None,
    }
}

pub(super) fn put(path: &Path, text: &str) {
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn opening_makes_folders_of_the_owner_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(&folder.path().join("a/b"), options(OpenFor::Command, "")).unwrap();
    assert_eq!(names(home.dir()), ["cache", "logs", "run", "store"]);
    assert!(home.take_up(TakeUpLimits::COMMAND).unwrap().is_empty());
    for own in names(home.dir()) {
        assert_eq!(names(&home.dir().join(own)), Vec::<String>::new());
    }
    #[cfg(unix)]
    for name in ["", "store", "logs"] {
        let metadata = std::fs::metadata(home.dir().join(name)).unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&metadata) & 0o777, 0o700, "{name}");
    }
}

/// What an act stores that is overtaken by a scrub is looked at by these.
#[test]
fn an_engine_knows_that_rules_for_secrets_changed_since_it_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path(), options(OpenFor::Command, "")).unwrap();
    let engine = home.renewed().unwrap();
    assert!(engine.scrubbing.is_of(home.dir()));
    let file = home.dir().join("secrets.toml");
    for text in ["[[rules]]\nkind = 'x'\nregex = 'acme-[0-9]{4}'\n", "[[rules]]\nkind = 'y'\nregex = '('\n"] {
        put(&file, text);
        assert!(!engine.scrubbing.is_of(home.dir()), "{text}");
        assert!(home.renewed().unwrap().scrubbing.is_of(home.dir()), "{text}");
    }
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(!engine.scrubbing.is_of(home.dir()));
    let unusable = home.renewed().unwrap();
    assert!(unusable.scrubbing.is_of(home.dir()) && unusable.scrubber().is_err());
}

#[test]
fn changes_that_come_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path(), options(OpenFor::Command, "")).unwrap();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let home = &home;
            scope.spawn(move || {
                home.change_policy(|policy| {
                    policy.excluded.push(format!("/kiln/{number}"));
                    Ok::<(), EngineError>(())
                })
                .unwrap();
            });
        }
    });
    assert_eq!(home.policy().unwrap().excluded.len(), 16);
}

/// Found by a newcomer: after a change of the file nobody was told that it does not count any more.
#[test]
fn rules_that_nobody_trusts_are_told_of_once_for_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(&folder.path().join("home"), options(OpenFor::Command, "")).unwrap();
    let rules = folder.path().join("secrets.toml");
    put(&rules, "one");
    home.untrusted.add(rules.clone(), "nobody trusted it".to_owned());
    let told = |may_tell| home.remember_untrusted(may_tell).unwrap();
    assert!(told(false).is_empty());
    assert_eq!((told(true), told(true)), (vec![rules.clone()], Vec::new()));
    put(&rules, "two");
    assert!(told(false).is_empty(), "a hook tells nobody");
    assert_eq!((told(true), told(true)), (vec![rules], Vec::new()));
}

/// A hook must be able to leave what it cannot capture.
#[test]
fn a_damaged_machine_file_stops_the_engine_and_no_marker() {
    let folder = tempfile::tempdir().unwrap();
    put(&folder.path().join("machine.json"), "{}");
    let home = Home::open(folder.path(), options(OpenFor::Command, "")).unwrap();
    assert!(matches!(home.engine().err(), Some(EngineError::MachineFile { .. })));
    home.markers().leave(Path::new("/t.jsonl"), "it was busy", 7).unwrap();
    let damaged = home.take_up(TakeUpLimits::COMMAND).unwrap_err();
    assert!(matches!(damaged, EngineError::MachineFile { .. }), "{damaged}");
    assert_eq!(home.markers().count(), 1);
    std::fs::remove_file(folder.path().join("machine.json")).unwrap();
    // The transcript is gone, so there is nothing to try again.
    assert!(home.take_up(TakeUpLimits::COMMAND).unwrap().is_empty());
    assert_eq!(home.markers().count(), 0);
}

#[test]
fn an_engine_is_opened_once_and_renewed_by_what_the_files_say() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path(), options(OpenFor::Command, "")).unwrap();
    let first = home.engine().unwrap();
    assert!(std::ptr::eq(first, home.engine().unwrap()));
    let shipped = first.rules().unwrap().0;
    assert_eq!(home.renewed().unwrap().rules().unwrap().0, shipped);
    let changed = home.change_policy(|policy| {
        policy.excluded.push("/secret".to_owned());
        Ok::<(), EngineError>(())
    });
    assert_eq!(home.renewed().unwrap().policy(), &changed.unwrap());
    assert!(first.policy().is_empty());
    put(
        &folder.path().join("secrets.toml"),
        "[[rules]]\nkind = 'a'\nkeywords = ['acme']\nregex = 'acme[0-9]{4}'\n",
    );
    let renewed = home.renewed().unwrap();
    assert_ne!(renewed.rules().unwrap().0, shipped);
    assert!(
        Arc::ptr_eq(&renewed.scrubbing, &home.renewed().unwrap().scrubbing),
        "made anew only where it changed"
    );
    std::fs::remove_file(folder.path().join("secrets.toml")).unwrap();
    assert_eq!(home.renewed().unwrap().rules().unwrap().0, shipped);
    put(&folder.path().join("capture.json"), "{");
    assert!(home.policy().is_err() && home.renewed().unwrap().policy().unknown.is_some());
}

#[test]
fn threads_that_open_at_once_get_one_engine() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path(), options(OpenFor::Command, "")).unwrap();
    let engines = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| std::ptr::from_ref(home.engine().unwrap()).addr())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(engines.len(), 1);
}

#[test]
fn settings_reach_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[identity]\nuser = \"ada\"\nmachine_label = \"lab\"\n[ledger]\nengine = \"files\"\nsave_events = 7\n";
    let home = Home::open(folder.path(), options(OpenFor::Recorder, config)).unwrap();
    let engine = home.engine().unwrap();
    assert_eq!(engine.identity().principal("pi").unwrap().as_str(), "ada@lab/pi");
    assert_eq!((engine.save_events, engine.is_log_the_store), (7, false));
    assert!(
        home.ledger_files().unwrap().is_some() && home.quota_of(&stemmata_store::Usage::default()).is_none()
    );
}

#[test]
fn labels_are_plain() {
    for (text, label) in
        [("anns mac", "annsmac"), ("", "machine"), ("a\nb@c/d", "abcd"), ("x-1.y_z", "x-1.y_z")]
    {
        assert_eq!(label_of(text), label);
    }
}
