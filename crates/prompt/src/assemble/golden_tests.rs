//! Whole prompts as text, to be read: what planner, worker and validator of a cluster get, and what a live session gets.
//!
//! The history is a made-up cluster's, short enough to follow by eye.

use std::convert::Infallible;
use std::fmt::Write;

use serde_json::{Value, json};
use stemmata_model::{Estimate, Json, Party, Timestamp, Topic};

use super::v1::Trace;
use super::{Assembled, PromptRequest, Trigger, build};
use crate::profile::Profile;
use crate::select::{
    ContextReader, Hit, Message, MessagePage, MessageQuery, MessagesOf, ReadOrder, RetrieveQuery, StateQuery,
};
use crate::strategy::{Anchors, shipped};

/// When the history begins: 2026-01-01.
const START_MICROS: i64 = 1_767_225_600_000_000;

/// Events of a cluster, a minute apart: topic, sender, text, data.
struct History(Vec<(&'static str, Message)>);

impl History {
    fn of(events: &[(&'static str, &str, &str, Value)]) -> Self {
        let minute = |index: usize| i64::try_from(index).expect("small") * 60_000_000;
        let events = events.iter().enumerate().map(|(index, (topic, sender, text, data))| {
            let message = Message {
                id: (index + 1).to_string(),
                at: Timestamp::from_micros(START_MICROS + minute(index)),
                sender: Party::new(*sender).expect("a name"),
                text: (!text.is_empty()).then(|| (*text).to_owned()),
                data: (!data.is_null()).then(|| Json::of(data)),
                calls: Vec::new(),
                answers: Vec::new(),
                images: Vec::new(),
            };
            (*topic, message)
        });
        Self(events.collect())
    }

    fn cluster() -> Self {
        Self::of(&[
            (
                "ISSUE_OPENED",
                "user",
                "The parser drops the last line of a file without a newline.",
                json!({"issue_number": 7}),
            ),
            (
                "PLAN_READY",
                "planner",
                "1. Write a test with such a file.\n2. Flush the buffer at the end.",
                Value::Null,
            ),
            (
                "STATE_SNAPSHOT",
                "state-snapshotter",
                "Task: Parser drops the last line\nPlan: test, then flush",
                Value::Null,
            ),
            ("WORKER_PROGRESS", "worker", "The test fails as expected.", json!({"percentComplete": 40})),
            (
                "IMPLEMENTATION_READY",
                "worker",
                "The buffer is flushed at the end.",
                json!({"files": ["src/parse.rs"]}),
            ),
            (
                "VALIDATION_RESULT",
                "validator",
                "An empty file now gives one empty line.",
                json!({"approved": false}),
            ),
            (
                "STATE_SNAPSHOT",
                "state-snapshotter",
                "Task: Parser drops the last line\nValidation: rejected (1 errors)",
                Value::Null,
            ),
        ])
    }
}

impl ContextReader for History {
    type Error = Infallible;

    fn messages(&self, query: &MessageQuery) -> Result<MessagePage, Infallible> {
        let is_of = |topic: &str| match &query.of {
            MessagesOf::Topic(wanted) => wanted.as_str() == topic,
            MessagesOf::Turns => ["user_turn", "assistant_turn", "tool_event"].contains(&topic),
        };
        let asked = self.0.iter().filter(|(topic, _)| is_of(topic)).map(|(_, message)| message.clone());
        let mut messages: Vec<Message> =
            asked.filter(|message| query.since.is_none_or(|since| message.at >= since)).collect();
        if query.order == ReadOrder::NewestFirst {
            messages.reverse();
        }
        messages.truncate(query.limit);
        Ok(MessagePage { messages, is_stopped: false })
    }

    fn state(&self, _: &StateQuery<'_>) -> Result<Option<String>, Infallible> {
        Ok(Some("## Decisions and facts\n- user: keep the parser free of dependencies\n".to_owned()))
    }

    fn retrieve(&self, _: &RetrieveQuery<'_>) -> Result<Vec<Hit>, Infallible> {
        Ok(vec![Hit {
            left_out: None,
            id: "ctx-4fz1k2aa".to_owned(),
            at: Some(Timestamp::from_micros(START_MICROS)),
            origin: "session 7f3a (claude-code)".to_owned(),
            text: "The parser reads 8 KiB at a time and keeps the rest of a line.".to_owned(),
            score_permille: 812,
            reasons: vec!["words".to_owned(), "file".to_owned()],
        }])
    }
}

/// Says a prompt, and below it what was decided.
fn shown(Assembled { text, trace }: &Assembled) -> String {
    format!("{text}======== trace ========\n{}", decided(trace))
}

fn decided(trace: &Trace) -> String {
    let mut out = String::new();
    for one in &trace.candidates {
        writeln!(
            out,
            "{} {} {} ({}) {} tokens",
            one.id,
            one.priority,
            one.decision.as_str(),
            one.reason.as_str(),
            one.tokens
        )
        .expect("a string takes everything");
    }
    let budget = &trace.budget;
    writeln!(out, "{} of {} tokens", budget.used_tokens, budget.max_tokens.unwrap_or(0)).expect("a string");
    out
}

/// Returns the prompt of the turn that the last message of a topic begins.
fn prompt_of(name: &str, history: &History, (profile, trigger): (&Profile, &str)) -> String {
    let strategy = shipped(name).expect("a strategy");
    let (topic, message) = history.0.iter().rfind(|(topic, _)| *topic == trigger).expect("an event");
    let topic = Topic::new(*topic).expect("a name");
    let start = Timestamp::from_micros(START_MICROS);
    let anchors = Anchors { cluster_start: start, last_task_end: start, last_agent_start: start };
    let request = PromptRequest {
        trigger: Some(Trigger { topic: &topic, message }),
        iteration: (name != "live").then_some(2),
        ..PromptRequest::new(profile, &strategy, anchors, &Estimate)
    };
    let Ok(assembled) = build(&request, history);
    shown(&assembled)
}

#[test]
fn the_prompts_of_a_cluster() {
    for (role, trigger, instructions) in [
        ("planner", "VALIDATION_RESULT", "Plan the work in small steps. Write no code."),
        (
            "worker",
            "VALIDATION_RESULT",
            "Carry the plan out. Run the tests before you say that you are done.",
        ),
        ("validator", "IMPLEMENTATION_READY", "Judge the work by the issue. Run the tests yourself."),
    ] {
        let profile = Profile {
            instructions: instructions.to_owned(),
            output_schema: Some(Json::of(&json!({"type": "object", "required": ["summary"]}))),
            non_interactive: true,
            skip_hints: vec!["No network here: what needs it cannot be run.".to_owned()],
            ..Profile::new(Party::new(role).expect("a name"), role)
        };
        insta::assert_snapshot!(role, prompt_of(role, &History::cluster(), (&profile, trigger)));
    }
}

#[test]
fn the_prompt_of_a_live_session() {
    let history = History::of(&[
        ("user_turn", "user", "Why does the last line go missing?", Value::Null),
        (
            "assistant_turn",
            "coder",
            "I read the parser.\n[call Read] {\"file_path\":\"src/parse.rs\"}",
            Value::Null,
        ),
        ("tool_event", "coder", "[result] fn parse(…)", Value::Null),
        ("assistant_turn", "coder", "The rest of the buffer is never flushed.", Value::Null),
        ("user_turn", "user", "Mend it, and add a test.", Value::Null),
    ]);
    let profile = Profile {
        instructions: "Keep to the style of the file. No new dependencies.".to_owned(),
        ..Profile::new(Party::new("coder").expect("a name"), "coder")
    };
    insta::assert_snapshot!("live", prompt_of("live", &history, (&profile, "user_turn")));
}
