//! A store in files of this machine, with what its clients brought, and the service that answers for it.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use stemmata_api::{Answer, Service};
use stemmata_engine::{CaptureOptions, Clock, Home, HomeOptions, MachineFacts, OpenFor, RandomIds, Settings};
use stemmata_model::Timestamp;
use stemmata_service::Local;
use stemmata_testkit::claude::Transcript;
use tempfile::TempDir;

/// The id of a commit that no store has.
pub(crate) const MISSING: &str = "ctx-00000000000000000000000000";

/// A clock that stands still.
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

/// A data directory, and the folder of a client.
pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) home: Arc<Home>,
    pub(crate) service: Box<dyn Service>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = HomeOptions {
            settings: Settings::of_texts("[identity]\nuser = \"ada\"\n", &|_| None).expect("settings"),
            machine: MachineFacts { mark: None, host_name: "workshop".to_owned(), user_id: 0 },
            open_for: OpenFor::Command,
            clock: Arc::new(FixedClock),
            ids: Arc::new(RandomIds),
            temp: None,
        };
        let home = Arc::new(Home::open(&folder.path().join("data"), options).expect("a home"));
        let by = home.identity().expect("an identity").principal("stemma").expect("a name");
        let service = crate::door::open(Local::new(Arc::clone(&home), by), &folder.path().join("run"));
        Self { folder, home, service }
    }

    /// Makes [`maintain::SECRET`] a secret.
    pub(crate) fn write_rule(&self) {
        let text = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
        let mut file = File::create(self.home.dir().join("secrets.toml")).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    /// Writes a session as its client does, with what its subagents left, and captures it.
    pub(crate) fn import(&self, transcript: &Transcript) {
        let project = self.write(transcript);
        let engine = self.home.engine().expect("an engine");
        let report = engine.import(&[project], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }

    /// Writes a session into the folder of its project, and returns that.
    pub(crate) fn write(&self, transcript: &Transcript) -> PathBuf {
        let project = self.folder.path().join("projects");
        let own = (format!("{}.jsonl", transcript.session_id), &transcript.lines);
        let beside = transcript.subagents.iter().map(|file| (file.path.clone(), &file.lines));
        for (name, lines) in beside.chain([own]) {
            let path = project.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            let mut file = File::create(path).expect("a file");
            file.write_all((lines.join("\n") + "\n").as_bytes()).expect("written");
        }
        project
    }
}

/// Returns the code of an answer that is a problem.
pub(crate) fn code<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    answer.expect_err("a problem").code
}
