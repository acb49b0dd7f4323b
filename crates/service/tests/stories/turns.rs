//! Turns as programs write them: JSON in, and what a provider would refuse, or a loop go on with for ever, is said.

use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_api::v1::{
    BeginTurnRequest, RecoverTurnRequest, TurnBegun, TurnMadeRequest, TurnStored, TurnWindowReport,
};
use stemmata_api::{Answer, Control, Service};

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
    window.notes.iter().map(|note| format!("{}: {}\n", note.code.as_str(), note.message)).collect()
}

fn in_a_window_of(stage: &Stage, tokens: u64) -> Loop<'_> {
    Loop { service: stage.service.as_ref(), window: json!({ "tokens": tokens, "entries": true }) }
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
    let of = |model: &str| Loop { service: stage.service.as_ref(), window: json!({ "model": model }) };
    of("gemini-3-pro").begin(1, "hi").expect("begun");
    assert_eq!(of("gemini-3-pro").answer(1, "ok", 100).window.expect("a window").limit, 1_048_576);
    assert_eq!(code(of("my-local-llm").begin(2, "hi")), "window_bad");
    let named =
        Loop { service: stage.service.as_ref(), window: json!({ "model": "my-local-llm", "tokens": 9_000 }) };
    named.begin(2, "hi").expect("begun");
    let told = of("my-local-llm").begin(3, "hi").expect("it was said").window.expect("a window");
    assert_eq!(told.limit, 9_000);
}

#[test]
fn an_error_that_is_no_overflow_is_none_whatever_is_known_of_the_window() {
    let stage = Stage::new();
    let of = Loop { service: stage.service.as_ref(), window: Value::Null };
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
    let entries = stored.entries.expect("entries").into_iter();
    let seen: Vec<String> = entries.map(|entry| entry.id.to_string()).collect();
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
    let service: &dyn Service = stage.service.as_ref();
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

/// What a call says that reports `tokens` of input in all.
fn reports(of: &Loop<'_>, number: usize, text: &str, tokens: u64) -> TurnWindowReport {
    of.answer(number, text, tokens).window.expect("a window")
}

/// A text of about so many tokens.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

#[test]
fn a_report_just_above_the_window_ends_no_session() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, &words(675)).expect("begun");
    let ended = reports(&of, 1, &words(675), 20_001);
    assert!(notes(&ended).contains("left aside") && ended.overhead_tokens == 0, "{ended:?}");
    for number in 2..=4 {
        let begun = of.begin(number, &words(675)).expect("begun").window.expect("a window");
        assert!(begun.may_call && begun.overhead_tokens == 0, "{begun:?}");
    }
}

/// What is reported may be anything; what is said and what the caller says of the system prompt fits.
#[test]
fn a_report_within_the_window_that_leaves_nothing_to_say_ends_no_session() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    for number in 1..=3 {
        of.begin(number, &words(675)).expect("begun");
        reports(&of, number, &words(675), 19_980);
    }
    let begun = of.begin(4, &words(3_000)).expect("begun").window.expect("a window");
    assert!(begun.may_call && notes(&begun).contains("reported usage"), "{begun:?}");
    reports(&of, 4, &words(675), 5_000);
    let begun = of.begin(5, &words(1_350)).expect("begun").window.expect("a window");
    assert!(begun.may_call && begun.overhead_tokens < 5_000, "{begun:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(16)))]

    /// Whatever was reported, a session whose entries fit beside the true overhead is not stopped for ever.
    #[test]
    fn no_usage_stops_a_session_for_ever(
        lies in prop::collection::vec(prop_oneof![0..25_000_u64, 15_000..20_500_u64, Just(u64::MAX)], 1..8),
        sizes in prop::collection::vec(1..1_350_usize, 12), overhead in 0..6_000_u64, true_again: bool, growing: bool,
    ) {
        let stage = Stage::new();
        let of = in_a_window_of(&stage, 20_000);
        let (mut sum, mut number) = (0_u64, 0);
        for lie in lies {
            number += 1;
            of.begin(number, &words(sizes[number])).expect("begun");
            sum = if growing { sum.saturating_add(lie / 4) } else { lie };
            reports(&of, number, &words(20), sum);
        }
        let mut held = 0;
        for after in 0..3 {
            number += 1;
            let begun = of.begin(number, &words(sizes[number])).expect("begun").window.expect("a window");
            prop_assert!(begun.may_call, "{after}: {begun:?}");
            if true_again {
                held = begun.entries.iter().flatten().map(|entry| entry.text.as_deref().unwrap_or_default().len() as u64 / 4).sum();
                reports(&of, number, &words(20), overhead + held);
            }
        }
        if true_again && held > 0 {
            let begun = of.begin(number + 1, &words(20)).expect("begun").window.expect("a window");
            prop_assert!(begun.may_call && begun.overhead_tokens <= overhead + held / 2 + 300, "{begun:?}");
        }
    }
}

/// Turns of ordinary length, and usage that is that of the session so far.
#[test]
fn running_sums_are_recognized_where_texts_are_of_ordinary_length() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    let mut said = String::new();
    for (number, sum) in [2_852, 7_056, 12_612, 19_520, 27_780, 37_000].into_iter().enumerate() {
        let begun = of.begin(number, &words(675)).expect("begun").window.expect("a window");
        assert!(begun.may_call && begun.zone != "critical", "{begun:?}");
        let ended = reports(&of, number, &words(675), sum);
        assert!(ended.zone != "critical", "{sum}: {ended:?}");
        said += &notes(&ended);
    }
    assert!(said.contains("usage is that of one call"), "{said}");
    let window = of.begin(9, "still there?").expect("begun").window.expect("a window");
    assert!(window.may_call && window.overhead_tokens < 2_300, "{window:?}");
}

#[test]
fn a_model_that_answered_where_nothing_was_guarded_counts_too() {
    for (known, unknown, limit) in
        [("gemini-3-pro", "my-local-llm", 1_048_576), ("claude-opus-9-9", "llama3.1:8b", 1_000_000)]
    {
        let stage = Stage::new();
        let of = Loop { service: stage.service.as_ref(), window: Value::Null };
        let answer = |number: usize, model: &str| {
            let entries = json!([{
                "id": format!("z{number}"), "role": "assistant", "text": "ok", "model": model,
                "usage": { "input_tokens": 120_000, "output_tokens": 9 },
            }]);
            of.service.end_turn(&of.made(&entries)).expect("ended")
        };
        of.begin(1, "hi").expect("begun");
        assert_eq!(answer(1, known).window.expect("a window").limit, limit);
        of.begin(2, "hi").expect("begun");
        let ended = answer(2, unknown);
        let begun = of.begin(3, "hi").expect("begun");
        for (window, notes) in [(ended.window, ended.notes), (begun.window, begun.notes)] {
            assert_eq!(window, None);
            let said = notes.iter().any(|note| note.code == "degraded" && note.message.contains(unknown));
            assert!(said, "{notes:?}");
        }
        answer(3, known);
        assert_eq!(of.begin(4, "hi").expect("begun").window.expect("a window").limit, limit);
    }
}

/// A window that is only assumed is refuted by an answer that took more.
#[test]
fn an_answer_above_an_assumed_window_says_that_the_window_is_not_known() {
    let stage = Stage::new();
    let of = Loop { service: stage.service.as_ref(), window: json!({ "model": "claude-opus-9-9" }) };
    let answer = |number: usize, tokens: u64| {
        let entries = json!([{
            "id": format!("z{number}"), "role": "assistant", "text": "ok", "model": "claude-opus-9-9",
            "usage": { "input_tokens": tokens, "output_tokens": 9 },
        }]);
        of.service.end_turn(&of.made(&entries)).expect("ended")
    };
    of.begin(1, "hi").expect("begun");
    let ended = answer(1, 1_200_000);
    assert!(ended.window.is_none(), "{ended:?}");
    let said = |notes: &[stemmata_api::v1::Note]| notes.iter().any(|note| note.message.contains("1200009"));
    assert!(said(&ended.notes), "{:?}", ended.notes);
    let begun = of.begin(2, "hi").expect("begun");
    assert!(begun.window.is_none() && said(&begun.notes), "{begun:?}");
    answer(2, 90_000);
    assert_eq!(of.begin(3, "hi").expect("begun").window.expect("a window").limit, 1_000_000);
}

/// The ids of the entries, and of their calls and results.
fn ids(window: TurnWindowReport) -> Vec<String> {
    let of = |entry: stemmata_api::v1::WindowEntry| {
        let calls = entry.calls.into_iter().map(|call| format!("+{}", call.id));
        let results = entry.results.into_iter().map(|result| format!("-{}", result.id));
        std::iter::once(entry.id.to_string()).chain(calls).chain(results).collect::<Vec<_>>()
    };
    window.entries.expect("entries").into_iter().flat_map(of).collect()
}

#[test]
fn ids_in_the_window_are_unique() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    let call = |id: &str| json!({ "id": id, "name": "bash", "input": {} });
    let result = |id: &str| json!({ "id": id, "text": "x" });
    of.begin(1, "start").expect("begun");
    let entries = json!([
        { "id": "a1", "role": "assistant", "calls": [call("kc"), call("ke"), call("ke"), call("open")] },
        { "id": "r1", "role": "tool", "results": [result("kc"), result("ke"), result("ke")] },
        { "id": "a2", "role": "assistant", "calls": [call("kc")] },
        { "id": "r2", "role": "tool", "results": [result("kc")] },
    ]);
    of.service.step(&of.made(&entries)).expect("a step");
    let begun = of.begin(2, "go on").expect("begun").window.expect("a window");
    assert!(notes(&begun).contains("`kc`") && notes(&begun).contains("`ke`"), "{}", notes(&begun));
    let ids = ids(begun);
    let unique = |all: Vec<&String>| all.iter().collect::<std::collections::HashSet<_>>().len() == all.len();
    for sign in ['+', '-'] {
        let of: Vec<&String> = ids.iter().filter(|id| id.starts_with(sign)).collect();
        assert_eq!(of.len(), 5, "{ids:?}");
        assert!(unique(of), "{ids:?}");
    }
    assert!(unique(ids.iter().collect()), "{ids:?}");
}

#[test]
fn a_result_that_answers_nothing_is_said_once_and_given_to_nobody() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, "start").expect("begun");
    let orphan = json!([{ "id": "r9", "role": "tool", "results": [{ "id": "nobody", "text": "stray" }] }]);
    let ended = of.service.end_turn(&of.made(&orphan)).expect("ended");
    let window = ended.window.expect("a window");
    let count =
        |notes: &[stemmata_api::v1::Note]| notes.iter().filter(|note| note.code == "orphan_result").count();
    assert_eq!(count(&ended.notes) + count(&window.notes), 1, "{:?} {:?}", ended.notes, window.notes);
    assert!(!format!("{:?}", window.entries).contains("stray"));
}

#[test]
fn an_image_that_is_none_is_refused_by_its_field() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, "hi").expect("begun");
    let shown = |image: Value| {
        let entries = json!([{ "id": "x", "role": "user", "text": "look", "images": [image] }]);
        of.service.step(&of.made(&entries))
    };
    for (field, image) in [
        ("data", json!({ "media_type": "image/png", "data": "not base64!" })),
        ("data", json!({ "media_type": "image/png", "data": "" })),
        ("data", json!({ "media_type": "image/png", "data": "data:text/html;base64,aGk=" })),
        ("media_type", json!({ "media_type": "text/html", "data": "aGk=" })),
        ("media_type", json!({ "media_type": "image/png\n## x", "data": "aGk=" })),
        ("media_type", json!({ "media_type": "image/", "data": "aGk=" })),
        ("url", json!({ "media_type": "image/png", "url": "file:///etc/passwd" })),
        ("url", json!({ "media_type": "image/png", "url": "" })),
    ] {
        let problem = shown(image.clone()).expect_err("refused");
        assert!(problem.detail.contains(&format!("`{field}`")), "{image}: {}", problem.detail);
    }
    shown(json!({ "media_type": "image/png", "data": "data:image/jpeg;base64,aGk=" })).expect("a step");
    let result = json!([
        { "id": "a", "role": "assistant", "calls": [{ "id": "k", "name": "shot", "input": {} }] },
        { "id": "r", "role": "tool", "results": [{ "id": "k", "text": "", "images": [
            { "media_type": "image/png", "url": "https://example.org/x.png" }] }] },
    ]);
    let window = of.service.step(&of.made(&result)).expect("a step").window.expect("a window");
    let entries = serde_json::to_value(window.entries).expect("JSON");
    assert_eq!(entries[1]["images"], json!([{ "media_type": "image/jpeg", "data": "aGk=" }]));
    assert_eq!(entries[0].get("images"), None);
    let shown = &entries[3]["results"][0];
    assert_eq!(shown["images"], json!([{ "media_type": "image/png", "url": "https://example.org/x.png" }]));
    assert_eq!(shown["text"], "");
}

#[test]
fn a_long_error_of_a_provider_is_cut_and_answered() {
    let stage = Stage::new();
    let of = in_a_window_of(&stage, 20_000);
    of.begin(1, "hi").expect("begun");
    let error = format!("429 rate limit reached {}", "é".repeat(70_000));
    let request: RecoverTurnRequest =
        serde_json::from_value(of.with(&json!({ "error": error }))).expect("a request");
    assert!(!of.service.recover_turn(&request).expect("an answer").retry);
}

/// What a step brings of a session that was forgotten may say what went: it is told apart from one that nobody began.
#[test]
fn a_step_or_end_of_a_forgotten_session_says_so() {
    let stage = Stage::new();
    let service: &dyn Service = stage.service.as_ref();
    let of = Loop { service, window: Value::Null };
    of.begin(1, "go").expect("begun");
    of.answer(1, "done", 9);
    let request = serde_json::from_value(json!({ "session": "s", "events": [] })).expect("a request");
    let digest = service.plan_forget_events(&request).expect("a plan").digest.expect("a digest");
    service.apply_forget_events(&request, &digest, &Control::none()).expect("forgotten");
    let late = of.made(&json!([{ "id": "z2", "role": "assistant", "text": "late" }]));
    assert_eq!(code(service.step(&late)), "session_forgotten");
    assert_eq!(code(service.end_turn(&late)), "session_forgotten");
}
