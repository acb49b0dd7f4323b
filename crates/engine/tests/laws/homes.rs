//! A data directory: what hooks leave is captured once, within limits, and what is excluded is not.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{Home, HomeOptions, MachineFacts, Settings, TakeUpLimits};
use stemmata_store::{OpenFor, Page, SessionFilter, Store};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{CountingIds, FixedClock, Folder, bytes_of, new_store};

/// What a hook left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftFile {
    Whole,
    /// A client deleted it meanwhile.
    Gone,
    NoTranscript,
    Excluded,
}

fn left_file() -> impl Strategy<Value = LeftFile> {
    prop_oneof![
        3 => Just(LeftFile::Whole),
        1 => Just(LeftFile::Gone),
        1 => Just(LeftFile::NoTranscript),
        1 => Just(LeftFile::Excluded),
    ]
}

fn home(folder: &Folder) -> Home {
    home_over(folder, new_store())
}

fn home_over(folder: &Folder, store: Arc<dyn Store>) -> Home {
    let options = HomeOptions {
        settings: Settings::parse(&|_| None).expect("the defaults"),
        machine: MachineFacts { mark: None, host_name: "box".to_owned(), user_id: 0 },
        open_for: OpenFor::Command,
        clock: Arc::new(FixedClock),
        ids: Arc::new(CountingIds::default()),
        temp: None,
    };
    Home::over(&folder.path().join("data"), options, store).expect("a home")
}

/// Found by a review: a session of more turns than a chain may have was said not to be read by every command, for ever.
#[test]
fn what_goes_beyond_a_bound_is_told_once_and_set_aside() {
    let (folder, store) = (Folder::new(), Arc::new(FaultyStore::new(MemoryStore::default())));
    let home = home_over(&folder, Arc::<FaultyStore<MemoryStore>>::clone(&store));
    let told = || {
        store.fail(1, Fault::Beyond);
        let trouble = home.take_up(TakeUpLimits::COMMAND).expect("taken up");
        trouble.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let bytes = bytes_of(&ClaudeSession::new(1).turns(1).build());
    let path = folder.write("long.jsonl", &bytes);
    for (round, is_told) in [(0, true), (1, false)] {
        // A hook names it after each turn.
        home.markers().leave(&path, "it was busy", 7).expect("a marker");
        let said = told();
        assert_eq!((said.len(), home.markers().count()), (usize::from(is_told), 0), "{round}: {said:?}");
    }
    let (stream, mut file) = home.streams().open("s", folder.path(), None).expect("a stream");
    file.write_all(&bytes).expect("written");
    drop(file);
    assert!(told().first().is_some_and(|said| said.contains("is kept in")));
    assert_eq!(told(), [""; 0]);
    assert!(!stream.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn law_what_hooks_left_is_captured_once_within_limits(
        files in proptest::collection::vec(left_file(), 0..9), transcripts_max in 1..5_usize,
    ) {
        let folder = Folder::new();
        let home = home(&folder);
        let mut wanted: Vec<PathBuf> = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let bytes = bytes_of(&ClaudeSession::new(number as u64).turns(1).build());
            let name = format!("{number}.jsonl");
            let path = match file {
                LeftFile::Gone => folder.path().join(&name),
                LeftFile::NoTranscript => folder.write(&name, b"nothing that is known\n"),
                LeftFile::Whole | LeftFile::Excluded => folder.write(&name, &bytes),
            };
            home.markers().leave(&path, "it was busy", 7).expect("a marker");
            if *file == LeftFile::Whole {
                wanted.push(path);
            }
        }
        // The engine is open when somebody excludes something: taking up goes by what is excluded then.
        home.engine().expect("an engine");
        home.change_policy(|policy| {
            let all = files.iter().enumerate().filter(|(_, file)| **file == LeftFile::Excluded);
            let path = |number: usize| folder.path().join(format!("{number}.jsonl"));
            policy.excluded = all.map(|(number, _)| path(number).to_string_lossy().into_owned()).collect();
            Ok::<(), stemmata_engine::EngineError>(())
        })
        .expect("changed");
        let limits = TakeUpLimits { transcripts_max, streams_max: 1 };
        for rest in (0..=files.len()).rev().step_by(transcripts_max).skip(1).chain([0]) {
            prop_assert!(home.take_up(limits).expect("taken up").is_empty());
            prop_assert_eq!(home.markers().count(), rest);
        }
        let page = Page { skip: 0, rows_max: 100 };
        let stored = home.engine().expect("an engine").store().sessions(&SessionFilter::default(), page);
        let mut stored: Vec<PathBuf> =
            stored.expect("sessions").into_iter().map(|session| PathBuf::from(session.key.path)).collect();
        stored.sort();
        prop_assert_eq!(stored, wanted);
    }
}
