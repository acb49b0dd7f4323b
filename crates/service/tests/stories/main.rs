//! What programs do with a store, told over the facets alone: each story holds for whatever answers it.
//!
//! Here a service over a store in files of this machine does. What comes from its clients is brought by the stage.

mod chains;
mod give_back;
mod maintain;
mod prompts;
mod refused;
mod rows;
mod turns;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use stemmata_api::v1::CommitRequest;
use stemmata_api::{Answer, Chains as _, Control, GiveBack as _};
use stemmata_engine::{CaptureOptions, Clock, Home, HomeOptions, MachineFacts, RandomIds, Settings};
use stemmata_model::Timestamp;
use stemmata_service::{Host, ImportRequest, Local, Machine, PolicyChange, Reader};
use stemmata_store::OpenFor;
use stemmata_testkit::claude::{ClaudeSession, Transcript};
use tempfile::TempDir;

/// The id of a commit that no store has.
const MISSING: &str = "ctx-00000000000000000000000000";

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
            temp: None,
        };
        let home = Arc::new(Home::open(&folder.path().join("data"), options).expect("a home"));
        let by = home.identity().expect("an identity").principal("stemma").expect("a name");
        Self { service: Local::new(Arc::clone(&home), by), folder, home }
    }

    /// Makes [`maintain::SECRET`] a secret.
    fn write_rule(&self) {
        let text = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
        let mut file = File::create(self.home.dir().join("secrets.toml")).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
    }

    /// Writes a session as its client does, with what its subagents left, and captures it.
    fn import(&self, transcript: &Transcript) {
        let project = self.write(transcript);
        let engine = self.home.engine().expect("an engine");
        let report = engine.import(&[project], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
        assert!(report.failures.is_empty(), "{:?}", report.failures);
    }

    /// Writes a session into the folder of its project, and returns that.
    fn write(&self, transcript: &Transcript) -> PathBuf {
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
fn code<T: std::fmt::Debug>(answer: Answer<T>) -> String {
    answer.expect_err("a problem").code
}

#[test]
fn chains_are_found_read_and_grown() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(14).compactions(1).subagents(1).build();
    chains::first(&stage.service, &session, &|| stage.import(&session));
}

#[test]
fn an_operation_answers_by_its_row_as_by_its_method() {
    let stage = Stage::new();
    let session = ClaudeSession::new(7).turns(6).compactions(1).subagents(1).build();
    rows::strict(&stage.service);
    stage.import(&session);
    rows::strict(&stage.service);
    rows::alike(&stage.service, &session);
}

#[test]
fn what_was_recorded_is_given_back() {
    let (stage, other) = (Stage::new(), Stage::new());
    let session = ClaudeSession::new(11).turns(8).compactions(1).build();
    give_back::back(&stage.service, &other.service, &session, &|session| stage.import(session));
}

#[test]
fn what_destroys_is_done_only_as_it_was_shown() {
    let stage = Stage::new();
    let [kept, gone] = [3, 5].map(|seed| ClaudeSession::new(seed).turns(4).build());
    let import = |session: &Transcript| stage.import(session);
    maintain::plans(&stage.service, [&kept, &gone], &import, &|| stage.write_rule());
}

/// A server lives long: it went on with the rules and the exclusions of its first minute.
#[test]
fn rules_and_exclusions_that_are_written_later_count_for_what_is_stored_next() {
    let stage = Stage::new();
    let keeps_secret = |session: &str| {
        let wish = chains::by_hand(session);
        let made = stage.service.checkpoint(&wish, &mut maintain::SECRET.as_bytes()).expect("a commit");
        let mut out = Vec::new();
        let request = CommitRequest { ctx: made.id.to_string() };
        stage.service.native(&request, &mut out, &Control::none()).expect("bytes");
        out == maintain::SECRET.as_bytes()
    };
    assert!(keeps_secret("first"));
    stage.write_rule();
    assert!(!keeps_secret("second"));
    let host = Host::new(Arc::clone(&stage.home), Machine::alone());
    let path = stage.write(&ClaudeSession::new(2).build());
    let request = ImportRequest {
        paths: vec![path.clone()],
        are_named: false,
        full: true,
        granularity: None,
        threads: Some(1),
        briefs: false,
        reader: Reader::Program,
    };
    let import = || host.import(&request, &Control::none()).expect("imported").totals;
    let before = import();
    assert_eq!((before.sessions, before.excluded), (1, 0));
    host.policy(Some(PolicyChange::Exclude(path.display().to_string()))).expect("excluded");
    let after = import();
    assert_eq!((after.sessions, after.excluded), (0, 1));
}
