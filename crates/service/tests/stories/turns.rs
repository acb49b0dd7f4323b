//! Turns as programs write them: JSON in, and what a provider would refuse, or a loop go on with for ever, is said.

use serde_json::{Value, json};
use stemmata_api::v1::{
    BeginTurnRequest, RecoverTurnRequest, TurnBegun, TurnMadeRequest, TurnStored, TurnWindowReport,
};
use stemmata_api::{Answer, Service};

use crate::{Stage, code};

/// One session in one window.
struct Loop<'s> {
    service: &'s dyn Service,
    window: Value,
}

impl Loop<'_> {
    fn with(&self, more: &Value) -> Value {
        let mut request = json!({
            "turn": { "ledger": "cluster", "session": "s", "agent": "w", "template": "t" },
            "window": self.window,
        });
        let fields = request.as_object_mut().expect("an object");
        fields.extend(more.as_object().cloned().unwrap_or_default());
        fields.retain(|_, value| !value.is_null());
        request
    }

    fn begin(&self, number: usize, text: &str) -> Answer<TurnBegun> {
        let said = json!({ "id": format!("u{number}"), "role": "user", "text": text });
        let request: BeginTurnRequest =
            serde_json::from_value(self.with(&json!({ "said": said }))).expect("a request");
        self.service.begin_turn(&request)
    }

    fn made(&self, entries: &Value) -> TurnMadeRequest {
        serde_json::from_value(self.with(&json!({ "entries": entries }))).expect("a request")
    }

    fn answer(&self, number: usize, text: &str, tokens: u64) -> TurnStored {
        let entries = json!([{
            "id": format!("z{number}"), "role": "assistant", "text": text, "model": "x",
            "usage": { "input_tokens": tokens, "output_tokens": 9 },
        }]);
        self.service.end_turn(&self.made(&entries)).expect("ended")
    }
}

fn notes(window: &TurnWindowReport) -> String {
    window.notes.iter().map(|note| format!("{}: {}\n", note.code, note.message)).collect()
}

fn in_a_window_of(stage: &Stage, tokens: u64) -> Loop<'_> {
    Loop { service: &stage.service, window: json!({ "tokens": tokens, "entries": true }) }
}

#[test]
fn sums_of_a_session_are_no_usage_of_a_call() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    let mut said = String::new();
    for number in 1..=8 {
        of.begin(number, &format!("question {number}")).expect("begun");
        let ended = of.answer(number, "answer", u64::try_from(number).expect("small") * 3_000);
        said += &notes(&ended.window.expect("a window"));
    }
    assert!(said.contains("usage is that of one call"), "{said}");
    let window = of.begin(9, "still there?").expect("begun").window.expect("a window");
    assert!(window.may_call && window.overhead_tokens < 3_100, "{window:?}");
}

#[test]
fn an_absurd_usage_leaves_nothing_behind() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    for (number, tokens) in [(1, u64::MAX), (2, 30_000), (3, 20_100)] {
        of.begin(number, "question").expect("begun");
        let ended = of.answer(number, "answer", tokens).window.expect("a window");
        assert!(notes(&ended).contains("left aside"), "{ended:?}");
        assert!(ended.may_call && ended.overhead_tokens == 0, "{ended:?}");
        assert!(
            ended.compaction.is_none() && !notes(&ended).contains("compact"),
            "it shows no overflow: {ended:?}"
        );
    }
    of.begin(4, "question").expect("begun");
    let ended = of.answer(4, "answer", 3_000).window.expect("a window");
    assert!((2_900..3_000).contains(&ended.overhead_tokens), "{ended:?}");
}

#[test]
fn usage_far_below_what_was_said_is_left_aside_with_a_note() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, &"lorem ipsum dolor ".repeat(900)).expect("begun");
    let ended = of.answer(1, "ok", 3).window.expect("a window");
    assert!(ended.tokens > 3_000 && notes(&ended).contains("left aside"), "{ended:?}");
}

#[test]
fn system_prompt_and_tools_above_the_limit_of_compaction_do_not_compact_for_ever() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 32_000);
    let long = "lorem ".repeat(60);
    let (mut said, mut compactions) = (String::new(), 0);
    for number in 1..=20 {
        of.begin(number, &long).expect("begun");
        let ended = of.answer(number, &long, 16_000 + u64::try_from(number).expect("small") * 240);
        let window = ended.window.expect("a window");
        said += &notes(&window);
        compactions += usize::from(window.compaction.is_some());
    }
    assert_eq!(compactions, 0);
    assert!(said.contains("`reserve_tokens`") && said.contains("15616"), "{said}");
}

#[test]
fn a_provider_takes_the_entries_whatever_a_harness_left() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, "start").expect("begun");
    let orphan = json!([{ "id": "r9", "role": "tool", "results": [{ "id": "nobody", "text": "x" }] }]);
    let stored = of.service.step(&of.made(&orphan)).expect("a step");
    assert!(
        stored.notes.iter().any(|note| note.code == "orphan_result" && note.message.contains("`nobody`"))
    );
    let again = of.service.step(&of.made(&orphan)).expect("a step");
    assert_eq!((again.first, again.last), (stored.first, stored.last));
    let call = |id: &str| json!({ "id": id, "name": "bash", "input": { "c": "make" } });
    let calls = json!([{ "id": "a1", "role": "assistant", "calls": [call("k1"), call("k2")] }]);
    of.service.step(&of.made(&calls)).expect("a step");
    let result =
        |entry: &str| json!([{ "id": entry, "role": "tool", "results": [{ "id": "k2", "text": "made" }] }]);
    assert_eq!(of.service.step(&of.made(&result("r2"))).expect("a step").notes, []);
    // The harness was killed here.
    let begun = of.begin(2, "are you there?").expect("begun");
    let window = begun.window.expect("a window");
    assert!(notes(&window).contains("synthetic_result") && notes(&window).contains("`k1`"), "{window:?}");
    let entries = window.entries.expect("entries");
    let told: Vec<String> = entries
        .iter()
        .flat_map(|entry| {
            let calls = entry.calls.iter().map(|call| format!("call {}", call.id));
            let results = entry.results.iter().map(|result| format!("{} {}", result.id, result.is_error));
            entry.text.clone().into_iter().chain(calls).chain(results).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(told, ["start", "call k1", "call k2", "k2 false", "k1 true", "are you there?"]);
    let second = of.service.step(&of.made(&result("r3"))).expect("a step");
    assert!(second.notes.iter().any(|note| note.code == "orphan_result"), "{:?}", second.notes);
    let late = json!([{ "id": "r1", "role": "tool", "results": [{ "id": "k1", "text": "late" }] }]);
    assert_eq!(of.service.step(&of.made(&late)).expect("a step").notes, []);
}

#[test]
fn a_model_that_nothing_is_known_of_has_not_the_limit_of_the_one_before() {
    let stage = Stage::new();
    let of = |model: &str| Loop { service: &stage.service, window: json!({ "model": model }) };
    of("gemini-3-pro").begin(1, "hi").expect("begun");
    assert_eq!(of("gemini-3-pro").answer(1, "ok", 100).window.expect("a window").limit, 1_048_576);
    assert_eq!(code(of("my-local-llm").begin(2, "hi")), "window_bad");
    let named = Loop { service: &stage.service, window: json!({ "model": "my-local-llm", "tokens": 9_000 }) };
    named.begin(2, "hi").expect("begun");
    let told = of("my-local-llm").begin(3, "hi").expect("it was said").window.expect("a window");
    assert_eq!(told.limit, 9_000);
}

#[test]
fn an_error_that_is_no_overflow_is_none_whatever_is_known_of_the_window() {
    let stage = Stage::new();
    let of = Loop { service: &stage.service, window: Value::Null };
    of.begin(1, "hi").expect("begun");
    let error = json!({ "error": "429 rate limit reached, try again in 20 s" });
    let request: RecoverTurnRequest = serde_json::from_value(of.with(&error)).expect("a request");
    assert!(!of.service.recover_turn(&request).expect("an answer").retry);
}

#[test]
fn an_entry_says_who_sees_it_what_it_is_for_and_shows_images() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    let image = json!({ "media_type": "image/png", "data": "aGk=" });
    let said = json!({ "id": "u1", "role": "user", "text": "look", "images": [image] });
    let request: BeginTurnRequest =
        serde_json::from_value(of.with(&json!({ "said": said }))).expect("a request");
    let shown = of.service.begin_turn(&request).expect("begun").window.expect("a window");
    assert!(shown.tokens >= 1_200, "an image counts: {shown:?}");
    let entries = json!([
        { "id": "h", "role": "assistant", "text": "hidden ".repeat(500), "agent_visible": false },
        { "id": "d", "role": "assistant", "text": "digest", "kind": "tool_summary", "user_visible": false },
    ]);
    let stored = of.service.step(&of.made(&entries)).expect("a step").window.expect("a window");
    let seen: Vec<String> = stored.entries.expect("entries").into_iter().map(|entry| entry.id).collect();
    assert_eq!(seen, ["u1", "d"]);
    assert!(stored.tokens < 1_300, "what the model does not see does not count: {}", stored.tokens);
    for (field, value) in
        [("kind", json!("compaction_boundary")), ("images", json!([{ "media_type": "image/png" }]))]
    {
        let mut entry = json!({ "id": "x", "role": "user", "text": "x" });
        entry[field] = value;
        assert_eq!(code(of.service.step(&of.made(&json!([entry])))), "bad_request", "{field}");
    }
}

#[test]
fn a_call_that_is_repeated_without_a_session_finds_its_own() {
    let stage = Stage::new();
    let service: &dyn Service = &stage.service;
    let begin = |request: Option<&str>, text: &str| {
        let mut of = json!({
            "turn": { "ledger": "cluster", "agent": "w", "template": "t" },
            "said": { "role": "user", "text": text },
        });
        if text == "named" {
            // An id of what is said names no session: the next try begins another one.
            of["said"]["id"] = json!("u1");
        }
        if let Some(request) = request {
            of["request"] = json!(request);
        }
        service.begin_turn(&serde_json::from_value(of).expect("a request"))
    };
    let first = begin(Some("r"), "hi").expect("begun");
    let again = begin(Some("r"), "hi").expect("begun");
    assert_eq!((&again.session, &again.said), (&first.session, &first.said));
    assert_eq!(code(begin(Some("r"), "ho")), "request_taken");
    for text in ["hi", "named"] {
        let plain = begin(None, text).expect("begun");
        assert_ne!(plain.session, first.session);
        assert_eq!(plain.notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(), ["not_repeatable"]);
    }
    for id in [String::new(), "x".repeat(257)] {
        assert_eq!(code(begin(Some(&id), "hi")), "bad_request");
    }
    let nobody = json!({ "turn": { "ledger": "cluster", "session": "none", "agent": "w", "template": "t" }, "ends": true });
    let refused = service.end_turn(&serde_json::from_value(nobody).expect("a request"));
    assert_eq!(code(refused), "session_not_begun");
}

/// What a step brings of a session that was forgotten may say what went: it is told apart from one that nobody began.
#[test]
fn a_step_or_end_of_a_forgotten_session_says_so() {
    let stage = Stage::new();
    let service: &dyn Service = &stage.service;
    let of = Loop { service, window: Value::Null };
    of.begin(1, "go").expect("begun");
    of.answer(1, "done", 9);
    let request = serde_json::from_value(json!({ "session": "s", "events": [] })).expect("a request");
    let digest = service.plan_forget_events(&request).expect("a plan").digest.expect("a digest");
    service.apply_forget_events(&request, &digest).expect("forgotten");
    let late = of.made(&json!([{ "id": "z2", "role": "assistant", "text": "late" }]));
    assert_eq!(code(service.step(&late)), "session_forgotten");
    assert_eq!(code(service.end_turn(&late)), "session_forgotten");
}
