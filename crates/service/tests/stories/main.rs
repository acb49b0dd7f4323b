//! What programs do with a store, told over the facets alone: each story holds for whatever answers it.
//!
//! Here a service over a store in files of this machine does. What comes from its clients is brought by the stage.

mod chains;

use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;

use stemmata_api::Answer;
use stemmata_engine::{CaptureOptions, Clock, Home, HomeOptions, MachineFacts, RandomIds, Settings};
use stemmata_model::Timestamp;
use stemmata_service::Local;
use stemmata_store::OpenFor;
use stemmata_testkit::claude::{ClaudeSession, Transcript};
use tempfile::TempDir;

/// A clock that stands still.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

/// A data directory, and the folder of a client.
struct Stage {
    folder: TempDir,
    home: Arc<Home>,
    service: Local,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = HomeOptions {
            settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None).expect("settings"),
            machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
            open_for: OpenFor::Command,
            clock: Arc::new(FixedClock),
            ids: Arc::new(RandomIds),
        };
        let home = Arc::new(Home::open(&folder.path().join("data"), options).expect("a home"));
        let by = home.identity().expect("an identity").principal("stemma").expect("a name");
        Self { service: Local::new(Arc::clone(&home), by), folder, home }
    }

    /// Writes a session as its client does, with what its subagents left, and captures it.
    fn import(&self, transcript: &Transcript) {
        let project = self.folder.path().join("projects");
        let own = (format!("{}.jsonl", transcript.session_id), &transcript.lines);
        let beside = transcript.subagents.iter().map(|file| (file.path.clone(), &file.lines));
        for (name, lines) in beside.chain([own]) {
            let path = project.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut file = File::create(path).expect("a file");
            file.write_all((lines.join("\n") + "\n").as_bytes()).expect("written");
        }
        let engine = self.home.engine().expect("an engine");
        let report = engine.import(&[project], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }
}

/// Returns the code of an answer that is a problem.
fn code<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    answer.expect_err("a problem").code
}

#[test]
fn chains_are_found_read_and_grown() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(14).compactions(1).subagents(1).build();
    chains::first(&stage.service, &session, &|| stage.import(&session));
}
