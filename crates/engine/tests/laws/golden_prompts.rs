//! Whole prompts as text, to be read: what planner, worker and validator of a cluster get, and what a live session gets.
//!
//! The cluster's history and the coding session are recorded files of ours. A change of a prompt is a change of
//! `tests/golden`, and is reviewed like one of the code; `STEMMATA_BLESS=1` writes the files anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stemmata_api::v1::PromptTrace;
use stemmata_engine::prompt::strategy::shipped;
use stemmata_engine::{BeginTurn, Engine, PromptMade, PromptOf, PromptTrigger, PromptWanted, TurnContext};
use stemmata_model::{
    Estimate, EventSeq, Json, LedgerId, NewEvent, NewPayload, Party, Role, SessionId, topics,
};
use stemmata_prompt::profile::Profile;
use stemmata_store::EventQuery;
use tempfile::TempDir;

use crate::contexts::{said, turn};
use crate::search::{indexed, settle};
use crate::support::{engine, import, new_store};

const HISTORY: &str = include_str!("../fixtures/cluster-history.ndjson");

fn cluster() -> LedgerId {
    LedgerId::new("parser-7").expect("a name")
}

fn event(line: &str) -> NewEvent {
    let line: Value = serde_json::from_str(line).expect("a line of the history");
    let text = |name: &str| line[name].as_str().map(str::to_owned);
    let payload = NewPayload::Plain { text: text("text"), data: line.get("data").map(Json::of) };
    let topic = stemmata_model::Topic::new(line["topic"].as_str().expect("a topic")).expect("a name");
    let sender = Party::new(line["sender"].as_str().expect("a sender")).expect("a name");
    let event = NewEvent::new(SessionId::new(cluster().as_str()).expect("a name"), topic, sender, payload);
    match text("receiver") {
        Some(receiver) => event.to(Party::new(receiver).expect("a name")),
        None => event,
    }
}

/// Publishes the history event by event, as a cluster does.
fn recorded() -> Engine {
    let engine = engine();
    for line in HISTORY.lines() {
        engine.publish(&cluster(), vec![event(line)]).expect("published");
    }
    engine
}

/// Returns the last event of a topic.
fn last(engine: &Engine, topic: &'static str) -> EventSeq {
    let query = EventQuery::latest(topics::topic(topic), 1);
    engine.log().events(&cluster(), &query).expect("a read").first().expect("an event").seq
}

/// Says a prompt, and below it what was decided.
fn shown(made: &PromptMade) -> String {
    format!("{}======== trace ========\n{}", made.text, decided(&made.trace))
}

fn decided(trace: &PromptTrace) -> String {
    let mut out = String::new();
    for one in &trace.candidates {
        let decision = (one.decision.as_str(), one.reason.as_str());
        writeln!(out, "{} {} {} ({}) {} tokens", one.id, one.priority, decision.0, decision.1, one.tokens)
            .expect("a string takes everything");
    }
    let budget = &trace.budget;
    writeln!(out, "{} of {} tokens", budget.used_tokens, budget.max_tokens.unwrap_or(0)).expect("a string");
    out
}

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    #[expect(clippy::disallowed_methods, reason = "a person asks for new golden files by the environment")]
    if std::env::var_os("STEMMATA_BLESS").is_some() {
        std::fs::write(&path, text).expect("written");
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, golden, "{name}: read the difference; STEMMATA_BLESS=1 takes it");
}

#[test]
fn the_prompts_of_a_recorded_cluster() {
    let engine = recorded();
    for (role, trigger, instructions) in [
        ("planner", topics::VALIDATION_RESULT, "Plan the work in small steps. Write no code."),
        (
            "worker",
            topics::VALIDATION_RESULT,
            "Carry the plan out. Run the tests before you say that you are done.",
        ),
        ("validator", topics::IMPLEMENTATION_READY, "Judge the work by the issue. Run the tests yourself."),
    ] {
        let profile = Profile {
            instructions: instructions.to_owned(),
            output_schema: Json::parse("{\"type\":\"object\",\"required\":[\"summary\"]}").ok(),
            non_interactive: true,
            skip_hints: vec!["No network here: what needs it cannot be run.".to_owned()],
            ..Profile::new(Party::new(role).expect("a name"), role)
        };
        let strategy = shipped(role).expect("a strategy");
        let trigger = last(&engine, trigger);
        let wanted = PromptWanted {
            trigger: Some(PromptTrigger::Event(trigger)),
            through: Some(trigger),
            iteration: Some(2),
            ..PromptWanted::new(&profile, &strategy, &Estimate)
        };
        let of = PromptOf { ledger: cluster(), session: None, tip: None };
        let made = engine.assemble(&of, &wanted).expect("a prompt");
        assert!(!made.text.contains("thinking about the plan"), "raw output is for the log alone");
        check(role, &shown(&made));
    }
}

/// Where a coding session that Claude Code recorded lies; it is an example of ours.
fn session() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(
        "../../examples/claude-code/projects/-home-robin-teatime/961444ca-2288-40cf-9fbb-3ff7b4c317f8.jsonl",
    )
}

#[test]
fn the_prompt_of_a_live_session() {
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let tip = import(&engine, &session()).session.tip.expect("a tip");
    settle(&engine);
    let profile = Profile {
        instructions: "Keep to the style of the file. No new dependencies.".to_owned(),
        ..Profile::new(Party::new("coder").expect("a name"), "coder")
    };
    let strategy = shipped("live").expect("a strategy");
    let asks = said("asks", Role::User, "Does the bell test still fail to compile?");
    let prompt = Some(PromptWanted::new(&profile, &strategy, &Estimate));
    let begin = BeginTurn { context: TurnContext::Resume(tip), prompt, ..BeginTurn::new(turn("live"), asks) };
    let made = engine.begin_turn(&begin).expect("begun").prompt.expect("a prompt");
    check("live", &shown(&made));
}
