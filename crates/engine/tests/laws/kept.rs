//! Kept prompts: they hold no secret, and nothing that was forgotten or scrubbed; what a session goes on from may go.

use std::sync::Arc;

use stemmata_api::v1::TurnTask;
use stemmata_engine::prompt::assemble::TaskFacts;
use stemmata_engine::prompt::profile::Profile;
use stemmata_engine::{
    BeginTurn, Engine, ForgetOptions, ForgetTarget, PromptWanted, ScrubTarget, StoreRules, Told, TurnContext,
    TurnMade,
};
use stemmata_model::{Estimate, LedgerId, Principal, Role, topics};
use stemmata_store::conformance::ledger::builders;
use stemmata_store::{FileLog, FileLogOptions, SqliteOptions, SqliteStore, Store};
use tempfile::TempDir;

use crate::contexts::{begin, ledger, profile, said, strategy, take, turn};
use crate::search::{indexed, settle};
use crate::search_forget::holding_packed;
use crate::support::{Folder, answer, import, user};

const WORD: &str = "zqkilnwright";

fn by() -> Principal {
    Principal::new("ada").expect("a name")
}

fn rules() -> StoreRules {
    let text = format!("[[rules]]\nkind = 'craft'\nkeywords = ['{WORD}']\nregex = '{WORD}'\n");
    StoreRules { name: "secrets.toml".to_owned(), text }
}

/// A home with a store of tables, and a log that may be in files.
struct Home {
    dir: TempDir,
    store: Arc<dyn Store>,
    log: Option<Arc<FileLog>>,
}

impl Home {
    fn new(has_files: bool) -> Self {
        let dir = TempDir::new().expect("a folder");
        let store = SqliteStore::open(&dir.path().join("store"), SqliteOptions::default()).expect("a store");
        let log = dir.path().join("log");
        std::fs::create_dir(&log).expect("a folder");
        let files = || FileLog::open(&log, FileLogOptions::default()).expect("a log");
        let log = has_files.then(|| Arc::new(files()));
        Self { dir, store: Arc::new(store), log }
    }

    /// One with all in tables, and one with a log in files.
    fn each() -> [Self; 2] {
        [Self::new(false), Self::new(true)]
    }

    fn engine(&self) -> Engine {
        let engine = indexed(&self.store, &self.dir.path().join("index"));
        match &self.log {
            Some(log) => engine.with_log(Arc::clone(log) as Arc<_>),
            None => engine,
        }
    }

    /// Returns the files that hold a word.
    fn holding(&self, word: &str) -> Vec<String> {
        holding_packed(self.dir.path(), word)
    }
}

/// Begins a turn with a prompt of a profile, and returns its text.
fn told(engine: &Engine, profile: &Profile, task: TaskFacts) -> String {
    let strategy = strategy();
    let prompt = Some(PromptWanted::new(profile, &strategy, &Estimate));
    let begin = BeginTurn { task, prompt, ..BeginTurn::new(turn("s"), said("q", Role::User, "Go on")) };
    engine.begin_turn(&begin).expect("begun").prompt.expect("a prompt").text
}

#[test]
fn invariant_13_a_kept_prompt_holds_no_secret() {
    let (in_task, in_profile) = ("akiaiosfodnn7qqqqqq2", "akiaiosfodnn7rrrrrr3");
    for home in Home::each() {
        let engine = home.engine();
        let current = TurnTask {
            id: "T1".to_owned(),
            text: format!("deploy with {}", in_task.to_uppercase()),
            depends_on: Vec::new(),
        };
        let task = TaskFacts { current: Some(current), ..TaskFacts::NONE };
        let instructions = format!("Use {} to push", in_profile.to_uppercase());
        let profile = Profile { instructions, ..profile() };
        let text = told(&engine, &profile, task.clone());
        assert!(
            text.contains("deploy with [REDACTED"),
            "the prompt says of the task what the event does: {text}"
        );
        assert!(text.contains(&in_profile.to_uppercase()), "the agent gets its profile as it is: {text}");
        let kept = engine.kept_prompts(&ledger(), &turn("s").session).expect("kept").pop().expect("a prompt");
        let kept = format!("{kept:?}");
        assert!(kept.contains("to push") && !kept.to_lowercase().contains(in_profile), "{kept}");
        for secret in [in_task, in_profile] {
            assert_eq!(home.holding(secret), [""; 0]);
        }
        // A try that is repeated gets what the first one got.
        assert_eq!(told(&engine, &profile, task), text);
    }
}

#[test]
fn a_session_goes_on_when_its_context_was_scrubbed_or_forgotten() {
    for is_scrubbed in [true, false] {
        for home in Home::each() {
            let folder = Folder::new();
            let engine = home.engine();
            let lines =
                [user(1, None, &format!("Why is the {WORD} slow?")), answer(2, 1, "It is cold.")].concat();
            let captured = import(&engine, &folder.write("s.jsonl", lines.as_bytes()));
            let ctx = captured.session.tip.expect("a tip");
            let (_, first) =
                begin(&engine, turn("new"), (TurnContext::Resume(ctx), "Warm it")).expect("begun");
            assert!(first.text.contains(WORD) && first.text.contains("It is cold."), "{}", first.text);
            drop(engine);
            let engine = home.engine().with_rules(rules());
            if is_scrubbed {
                engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
            } else {
                let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
                let target = ForgetTarget::Session(captured.session.key.clone());
                engine
                    .apply_forget(engine.plan_forget(&target, &options).expect("a plan"))
                    .expect("forgotten");
            }
            assert_eq!(home.holding(WORD), [""; 0], "scrubbed: {is_scrubbed}");
            let (_, next) = begin(&engine, turn("new"), (TurnContext::None, "And now")).expect("begun");
            assert!(!next.text.contains(WORD), "{}", next.text);
            assert_eq!(next.text.contains("It is cold."), is_scrubbed, "{}", next.text);
            assert_eq!(next.text.contains("[REDACTED:craft]"), is_scrubbed, "{}", next.text);
            let says_so = next.notes.iter().any(|note| note.message.contains("nothing of"));
            assert_eq!(says_so, !is_scrubbed, "{:?}", next.notes);
            let made = TurnMade { entries: vec![said("a", Role::Assistant, "Warm.")], ..TurnMade::default() };
            engine.end_turn(&turn("new"), made).expect("ended");
            begin(&engine, turn("new"), (TurnContext::None, "Then")).expect("begun");
        }
    }
}

/// Of three ways to forget or scrub what an event says each reaches the kept prompts of all ledgers.
#[test]
fn what_events_said_is_in_no_kept_prompt_of_any_ledger() {
    for way in 0..3 {
        for home in Home::each() {
            let engine = home.engine();
            take(&engine, "before", "before", Vec::new());
            // The prompt says the word by a way that no event and no commit of its ledger has.
            let profile = Profile { instructions: format!("Mind the {WORD}"), ..profile() };
            assert!(told(&engine, &profile, TaskFacts::NONE).contains(WORD));
            let other = LedgerId::new("other").expect("a name");
            let event = builders::said("who", topics::DECISION_EVENT, WORD);
            let published = engine.publish(&other, vec![event]).expect("published");
            settle(&engine);
            assert_ne!(home.holding(WORD), [""; 0]);
            drop(engine);
            let engine = home.engine().with_rules(rules());
            match way {
                0 => {
                    let told = Told::Events(other, [published.appended.last].into());
                    let plan = engine.plan_forget_events(&told).expect("a plan");
                    engine.apply_forget_events(&plan).expect("forgotten");
                }
                1 => {
                    let told = Told::Session(builders::session("who"), None);
                    engine
                        .apply_forget_events(&engine.plan_forget_events(&told).expect("a plan"))
                        .expect("gone");
                }
                _ => drop(engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed")),
            }
            assert_eq!(home.holding(WORD), [""; 0], "way {way}");
            assert_eq!(engine.kept_prompts(&ledger(), &turn("s").session).expect("kept"), []);
            let (_, next) = begin(&engine, turn("s"), (TurnContext::None, "And now")).expect("begun");
            assert!(next.text.contains("And now"), "{}", next.text);
        }
    }
}
