//! Turns for programs that call a model themselves: answers are as small as asked for, and hold what a provider takes.

use serde_json::{Value, json};
use stemmata_api::Service;
use stemmata_api::v1::{AssembleRequest, BeginTurnRequest, ProviderMessages, TurnBegun, TurnMadeRequest};

use crate::chains::by_hand;
use crate::{Stage, code};

/// One session, without a window that anybody knows.
struct Agent<'s> {
    service: &'s dyn Service,
}

impl Agent<'_> {
    fn request(number: usize, more: &Value) -> BeginTurnRequest {
        let mut request = json!({
            "turn": { "ledger": "cluster", "session": "s", "agent": "w", "template": "t" },
            "said": { "id": format!("u{number}"), "role": "user", "text": format!("question {number}") },
            "prompt": {
                "strategy": { "name": "live" }, "counter": "estimate",
                "profile": "id = \"w\"\nrole = \"builder\"\ninstructions = \"Be brief.\"\n",
            },
        });
        for (name, value) in more.as_object().expect("an object") {
            request[name] = value.clone();
        }
        serde_json::from_value(request).expect("a request")
    }

    fn begin(&self, number: usize, more: &Value) -> TurnBegun {
        self.service.begin_turn(&Self::request(number, more)).expect("begun")
    }

    /// Stores an answer, and a call with its result before it.
    fn answer(&self, number: usize) {
        let call = json!({ "id": format!("k{number}"), "name": "bash", "input": { "c": "make" } });
        let result = json!({ "id": format!("k{number}"), "text": format!("made {number}") });
        let request: TurnMadeRequest = serde_json::from_value(json!({
            "turn": { "ledger": "cluster", "session": "s", "agent": "w", "template": "t" },
            "entries": [
                { "id": format!("a{number}"), "role": "assistant", "calls": [call] },
                { "id": format!("r{number}"), "role": "tool", "results": [result] },
                { "id": format!("z{number}"), "role": "assistant", "text": format!("answer {number}") },
            ],
        }))
        .expect("a request");
        self.service.end_turn(&request).expect("ended");
    }
}

fn body(messages: Option<&ProviderMessages>) -> Value {
    serde_json::from_str(messages.expect("messages").body.as_str()).expect("JSON")
}

/// The roles of a list of messages, and the type of each block of them.
fn outline(messages: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let messages = messages.as_array().expect("a list").iter();
    messages
        .map(|one| {
            let blocks = one["content"].as_array().expect("blocks").iter();
            (text(&one["role"]), blocks.map(|block| text(&block["type"])).collect())
        })
        .collect()
}

#[test]
fn a_turn_says_as_much_of_its_prompt_as_was_asked_for() {
    let stage = Stage::new();
    let agent = Agent { service: stage.service.as_ref() };
    let with = |detail: Value| {
        let prompt = json!({ "strategy": { "name": "live" }, "counter": "estimate", "trace": detail });
        agent.begin(1, &json!({ "prompt": prompt })).prompt.expect("a prompt")
    };
    let (none, summary, full) = (with(json!("none")), with(json!("summary")), with(json!("full")));
    assert_eq!((&none.trace, &none.trace_summary, &none.metrics), (&None, &None, &None));
    let trace = full.trace.clone().expect("all of it");
    assert!(full.trace_summary.is_none() && full.metrics.is_some());
    let told = summary.trace_summary.clone().expect("a summary");
    assert_eq!((&told.budget, &told.through), (&trace.budget, &trace.through));
    let tokens: u64 = trace.candidates.iter().map(|one| one.tokens).sum();
    assert_eq!(told.sections.iter().map(|one| one.tokens).sum::<u64>(), tokens);
    assert_eq!(told.reasons.iter().map(|one| one.candidates).sum::<u64>(), trace.candidates.len() as u64);
    assert_eq!(with(Value::Null), summary, "a program that says nothing gets the small answer");
    let bytes = |of: &stemmata_api::v1::Assembled| serde_json::to_vec(of).expect("JSON").len();
    assert!(bytes(&none) < bytes(&summary) && bytes(&summary) * 2 < bytes(&full), "{}", bytes(&summary));
}

#[test]
fn a_turn_has_what_its_provider_takes_with_what_the_user_says_last() {
    let stage = Stage::new();
    let agent = Agent { service: stage.service.as_ref() };
    let asked = json!({ "messages": "anthropic" });
    let first = agent.begin(1, &asked);
    let one = body(first.messages.as_ref());
    assert!(first.window.is_none(), "nobody said which window it is");
    let system = one["system"][0]["text"].as_str().expect("a text");
    assert!(system.starts_with("You are agent `w`") && system.ends_with("Be brief."), "{system}");
    agent.answer(1);
    agent.begin(2, &asked);
    agent.answer(2);
    let third = agent.begin(3, &asked);
    let body = body(third.messages.as_ref());
    let of = |kind: &str| vec![kind.to_owned()];
    let row = |role: &str, kind: &str| (role.to_owned(), of(kind));
    let turn = [
        row("user", "text"),
        row("assistant", "tool_use"),
        row("user", "tool_result"),
        row("assistant", "text"),
    ];
    let outlined = outline(&body["messages"]);
    let (last, before) = outlined.split_last().expect("messages");
    assert_eq!(before, [turn.clone(), turn].concat(), "{body}");
    let said = body["messages"][8]["content"].as_array().expect("blocks");
    assert_eq!(
        (last.0.as_str(), said.last()),
        ("user", Some(&json!({ "type": "text", "text": "question 3" })))
    );
    let text = body.to_string();
    assert_eq!(text.matches("question 1").count(), 1, "the prompt's own turns are not said twice: {text}");
    let prompt = third.prompt.expect("a prompt").prompt;
    assert!(prompt.contains("question 1"), "the prompt itself has them");
    let messages = third.messages.expect("messages");
    assert_eq!((messages.stable, messages.breakpoints), (8, 3));
    assert_eq!(text.matches("cache_control").count(), 3, "{text}");
    for at in [3, 7] {
        assert_eq!(
            body["messages"][at]["content"][0]["cache_control"],
            json!({ "type": "ephemeral" }),
            "{body}"
        );
    }
    assert_eq!(one["system"], body["system"], "the system prompt stays the same");
}

#[test]
fn a_turn_that_is_begun_again_after_its_answer_is_answered_alike() {
    let stage = Stage::new();
    let agent = Agent { service: stage.service.as_ref() };
    for api in ["chat_completions", "responses"] {
        let number = if api == "responses" { 2 } else { 1 };
        let asked = json!({ "messages": api });
        let begun = agent.begin(number, &asked);
        agent.answer(number);
        assert_eq!(agent.begin(number, &asked).messages, begun.messages, "{api}");
        let body = body(begun.messages.as_ref());
        let field = if api == "responses" { "input" } else { "messages" };
        let last = body[field].as_array().and_then(|all| all.last()).expect("a message");
        assert!(last.to_string().contains(&format!("question {number}")), "{body}");
        assert_eq!(begun.messages.map(|messages| messages.breakpoints), Some(0));
    }
    // Without a prompt there is the conversation alone.
    let mut request = Agent::request(3, &json!({ "messages": "responses" }));
    request.prompt = None;
    let begun = agent.service.begin_turn(&request).expect("begun");
    let body = body(begun.messages.as_ref());
    assert_eq!(body["input"].as_array().map(Vec::len), Some(9), "{body}");
    assert!(body.get("instructions").is_none(), "{body}");
}

#[test]
fn a_continuation_is_the_one_message_that_is_new() {
    let stage = Stage::new();
    let agent = Agent { service: stage.service.as_ref() };
    let first = agent.begin(1, &json!({}));
    agent.answer(1);
    let prompt = json!({ "strategy": { "name": "live" }, "counter": "estimate", "after": first.said });
    let second = agent.begin(2, &json!({ "prompt": prompt, "messages": "responses" }));
    let body = body(second.messages.as_ref());
    let input = body["input"].as_array().expect("a list");
    assert!(input.len() == 1 && body.get("instructions").is_none(), "{body}");
    let told = input[0].to_string();
    assert!(told.contains("## Continuation") && told.contains("question 2"), "{told}");
}

#[test]
fn a_turn_whose_conversation_cannot_be_read_stores_nothing() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let agent = Agent { service };
    agent.begin(1, &json!({}));
    agent.answer(1);
    // Somebody puts content that nobody can read into the session.
    service.checkpoint(&by_hand("s"), &mut &b"in a format of its own"[..]).expect("a commit");
    let last = || {
        let of = serde_json::from_value(json!({ "ledger": "cluster" })).expect("a request");
        service.ledger(&of).expect("a ledger").last
    };
    let before = last();
    let asked = Agent::request(2, &json!({ "messages": "anthropic" }));
    assert_eq!(code(service.begin_turn(&asked)), "format_unreadable");
    assert_eq!(last(), before, "a problem means that nothing was stored");
}

#[test]
fn a_prompt_that_is_no_turn_is_a_request_too() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    Agent { service }.begin(1, &json!({}));
    let ask = |more: Value| -> stemmata_api::v1::Assembled {
        let mut request =
            json!({ "ledger": "cluster", "strategy": { "name": "live" }, "counter": "estimate" });
        for (name, value) in more.as_object().expect("an object") {
            request[name] = value.clone();
        }
        let request: AssembleRequest = serde_json::from_value(request).expect("a request");
        service.assemble(&request).expect("a prompt")
    };
    let made = ask(json!({ "trigger": { "said": "Why?" }, "messages": "chat_completions" }));
    let body = body(made.messages.as_ref());
    let roles: Vec<&str> =
        body["messages"].as_array().expect("a list").iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user"], "{body}");
    let told = body["messages"][1].to_string();
    assert!(told.contains("question 1") && told.contains("Why?"), "its turns are in it: {told}");
    assert!(made.trace.is_none() && made.trace_summary.is_some());
    let silent = ask(
        json!({ "strategy": { "text": "{\"sources\":[{\"topic\":\"PLAN\",\"amount\":1}]}" }, "messages": "anthropic" }),
    );
    assert!(
        silent.notes.iter().any(|note| note.message.contains("name what began the turn")),
        "{:?}",
        silent.notes
    );
    let unknown: Result<AssembleRequest, _> = serde_json::from_value(
        json!({ "ledger": "cluster", "strategy": { "name": "live" }, "messages": "telegraph" }),
    );
    assert!(unknown.is_err());
    assert_eq!(
        code(service.begin_turn(&Agent::request(2, &json!({ "said": { "role": "user" } })))),
        "bad_request"
    );
}
