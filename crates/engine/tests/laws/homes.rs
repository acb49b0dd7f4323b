//! A data directory: what hooks leave is captured once, within limits, and what is excluded is not.

use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{Home, HomeOptions, MachineFacts, Settings, TakeUpLimits};
use stemmata_store::{OpenFor, Page, SessionFilter};
use stemmata_testkit::claude::ClaudeSession;

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
    let options = HomeOptions {
        settings: Settings::parse(&|_| None).expect("the defaults"),
        machine: MachineFacts { mark: None, host_name: "box".to_owned(), user_id: 0 },
        open_for: OpenFor::Command,
        clock: Arc::new(FixedClock),
        ids: Arc::new(CountingIds::default()),
        temp: None,
    };
    Home::over(&folder.path().join("data"), options, new_store()).expect("a home")
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
