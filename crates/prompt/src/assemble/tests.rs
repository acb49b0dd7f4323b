//! Whole prompts over a made-up ledger.

use stemmata_api::v1::{PromptDecision, PromptReason, PromptTrace};
use stemmata_model::quote::is_hidden;
use stemmata_model::{Chars, Estimate, EventSeq, Json, Party, TokenCounter, Tokens, Topic};

use super::*;
use crate::profile::Profile;
use crate::select::Message;
use crate::select::tests::{MadeUp, anchors, hit};
use crate::strategy::{DocumentFormat, Priority, Strategy, parse, shipped};

fn profile(role: &str) -> Profile {
    Profile {
        instructions: "Do the work.".to_owned(),
        output_schema: Some(Json::parse("{\"type\":\"object\"}").expect("JSON")),
        non_interactive: true,
        skip_hints: vec!["no network\nin tests".to_owned()],
        ..Profile::new(Party::new("agent-1").expect("a name"), role)
    }
}

fn message(id: &str, text: &str) -> Message {
    Message {
        id: id.to_owned(),
        at: None,
        sender: Party::new("user").expect("a name"),
        text: Some(text.to_owned()),
        data: None,
        calls: Vec::new(),
        pieces: Vec::new(),
        answers: Vec::new(),
        images: Vec::new(),
    }
}

fn strategy(text: &str) -> Strategy {
    parse(text, DocumentFormat::Json).expect("a strategy")
}

fn places(text: &str, words: &[&str]) -> Vec<Option<usize>> {
    words.iter().map(|word| text.find(word)).collect()
}

#[test]
fn names_of_senders_agents_and_topics_begin_nothing() {
    let evil = "w\u{2028}## EVIL\u{202e}\u{200b}";
    let party = || Party::new(evil).expect("a name");
    let said = Message { sender: party(), ..message("7", "the plan") };
    let agent = Profile { id: party(), ..profile("validator") };
    let strategy = strategy(r#"{"sources": [{"topic": "Z", "priority": "low", "amount": 1}]}"#);
    let after = EventSeq::new(1).expect("a number");
    for mode in [Mode::Full, Mode::Continuation { after, is_profile_changed: false }] {
        let topic = Topic::new("PLAN_READY").expect("a name");
        let request = PromptRequest {
            trigger: Some(Trigger { topic: &topic, message: &said }),
            guidance: std::slice::from_ref(&said),
            mode,
            ..PromptRequest::new(&agent, &strategy, anchors(), &Estimate)
        };
        let Ok(Assembled { text, .. }) = build(&request, &MadeUp::of(9));
        assert!(text.contains("agent `w ## EVIL`") && text.contains("\nSender: w ## EVIL\n"), "{text}");
        assert!(!text.contains(|char| char != '\n' && is_hidden(char)), "{text:?}");
    }
}

#[test]
fn the_order_of_a_prompt_is_fixed_and_the_trigger_is_last() {
    let topic = Topic::new("PLAN_READY").expect("a name");
    let (said, guidance) = (message("7", "the plan"), [message("8", "be quick")]);
    let validator = profile("validator");
    let strategy = strategy(
        r#"{"sources": [{"topic": "Z", "priority": "low", "amount": 1}, {"topic": "A", "priority": "required", "amount": 1}]}"#,
    );
    let request = PromptRequest {
        trigger: Some(Trigger { topic: &topic, message: &said }),
        guidance: &guidance,
        iteration: Some(3),
        ..PromptRequest::new(&validator, &strategy, anchors(), &Estimate)
    };
    let Ok(Assembled { text, trace }) = build(&request, &MadeUp::of(9));
    let words = [
        "You are agent `agent-1`. Your role: validator.",
        "## Working alone",
        "## Instructions\n\nDo the work.",
        "## Output schema",
        "## Messages from topic: Z",
        "## Messages from topic: A",
        "## Guidance",
        "## Not to be checked again",
        "- no network in tests\n",
        "## Triggering message\n\nTopic: PLAN_READY\nSender: user\nIteration: 3\n\nthe plan\n",
    ];
    let places = places(&text, &words);
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    assert!(text.ends_with("the plan\n"));
    let ids: Vec<&str> = trace.candidates.iter().map(|one| one.id.as_str()).collect();
    let expected = [
        "header",
        "instructions",
        "output_schema",
        "source:Z:0",
        "source:A:1",
        "task",
        "guidance",
        "skip_hints",
        "trigger",
    ];
    assert_eq!(ids, expected);
    let other = profile("worker");
    let Ok(Assembled { text, .. }) = build(&PromptRequest { profile: &other, ..request }, &MadeUp::of(9));
    assert!(!text.contains("Not to be checked again"), "for validators only");
}

#[test]
fn a_live_session_gets_its_rules_state_hits_turns_and_the_user_s_turn() {
    let live = shipped("live").expect("a strategy");
    let topic = Topic::new("user_turn").expect("a name");
    let said = message("30", "Why does the test fail?");
    let ledger = MadeUp {
        state: Some("## Decisions\n- WAL".to_owned()),
        hits: vec![hit("ctx-1", "It failed before.")],
        ..MadeUp::of(30)
    };
    let agent = profile("coder");
    let request = PromptRequest {
        trigger: Some(Trigger { topic: &topic, message: &said }),
        ..PromptRequest::new(&agent, &live, anchors(), &Estimate)
    };
    let Ok(Assembled { text, trace }) = build(&request, &ledger);
    let places = places(
        &text,
        &["Do the work.", "## State", "## Retrieved", "## Recent turns", "says 29", "## User turn"],
    );
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{text}");
    assert!(!text.contains("says 30"), "the turn is not repeated");
    assert!(text.ends_with("\n## User turn\n\nWhy does the test fail?\n"));
    let retrieved =
        trace.candidates.iter().find(|one| one.id.starts_with("source:retriever")).expect("a candidate");
    let item = retrieved.items.first().expect("an item");
    assert_eq!((item.id.as_str(), item.included, item.score_permille), ("ctx-1", true, Some(900)));
}

#[test]
fn anchors_and_trigger_survive_a_tiny_budget_and_the_trace_says_what_it_cost() {
    let strategy = strategy(
        r#"{"maxTokens": 10, "sources": [{"topic": "A", "priority": "required", "amount": 3}, {"topic": "B", "priority": "high"}]}"#,
    );
    let worker = profile("worker");
    let request = PromptRequest::new(&worker, &strategy, anchors(), &Estimate);
    let Ok(Assembled { text, trace }) = build(&request, &MadeUp::of(9));
    assert!(text.contains("Messages from topic: A") && !text.contains("Messages from topic: B"));
    assert_eq!(trace.budget.over_budget_tokens, trace.budget.used_tokens - 10);
    let decisions: Vec<(&str, PromptDecision, PromptReason)> =
        trace.candidates.iter().map(|one| (one.id.as_str(), one.decision, one.reason)).collect();
    assert_eq!(decisions.get(3), Some(&("source:A:0", PromptDecision::Compact, PromptReason::OverBudget)));
    assert_eq!(decisions.get(4), Some(&("source:B:1", PromptDecision::Skipped, PromptReason::Budget)));
}

#[test]
fn what_does_not_change_keeps_its_bytes_and_the_prefix_is_reported() {
    let strategy = strategy(
        r#"{"sources": [{"topic": "A", "strategy": "oldest", "amount": 2}, {"topic": "B", "amount": 2}]}"#,
    );
    let worker = profile("worker");
    let request = PromptRequest::new(&worker, &strategy, anchors(), &Estimate);
    let Ok(first) = build(&request, &MadeUp::of(8));
    let Ok(second) = build(&PromptRequest { previous: Some(&first.text), ..request }, &MadeUp::of(9));
    let Ok(again) = build(&PromptRequest { previous: Some(&first.text), ..request }, &MadeUp::of(9));
    assert_eq!(second, again, "the same request gives the same bytes");
    let cached: Vec<(&str, bool)> = second
        .trace
        .candidates
        .iter()
        .filter(|one| one.chars > 0)
        .map(|one| (one.id.as_str(), one.cached))
        .collect();
    let expected = [
        ("header", true),
        ("instructions", true),
        ("output_schema", true),
        ("source:A:0", true),
        ("source:B:1", false),
    ];
    assert_eq!(cached, expected);
    let prefix = second.trace.cached_prefix.expect("a prefix");
    let shared: String = second.text.chars().take(usize::try_from(prefix.chars).expect("small")).collect();
    assert!(first.text.starts_with(&shared) && shared.contains("Messages from topic: B"));
    assert_eq!(prefix.tokens, prefix.chars / 4);
    assert_eq!(first.trace.cached_prefix, None);
}

#[test]
fn a_continuation_holds_what_came_after_the_cursor_and_nothing_twice() {
    let strategy = strategy(r#"{"sources": [{"topic": "A"}]}"#);
    let (topic, said) = (Topic::new("A").expect("a name"), message("9", "says 9"));
    let validator = profile("validator");
    let after = EventSeq::new(5).expect("a number");
    let continued = |is_profile_changed| PromptRequest {
        mode: Mode::Continuation { after, is_profile_changed },
        through: EventSeq::new(9),
        trigger: Some(Trigger { topic: &topic, message: &said }),
        ..PromptRequest::new(&validator, &strategy, anchors(), &Estimate)
    };
    // The ledger goes on while the prompt is made.
    let Ok(Assembled { text, trace }) = build(&continued(false), &MadeUp::of(20));
    assert!(text.starts_with("## Continuation\n"));
    let said: Vec<u64> = (1..=20).filter(|seq| text.contains(&format!("says {seq}\n"))).collect();
    assert_eq!(said, [6, 7, 8, 9]);
    assert_eq!(text.matches("says 9\n").count(), 1, "the trigger is not repeated");
    for word in ["Instructions", "Output schema", "Not to be checked"] {
        assert!(!text.contains(word), "{word} was said before");
    }
    assert_eq!(
        (trace.mode.as_str(), trace.after.as_deref(), trace.through.as_deref()),
        ("continuation", Some("5"), Some("9"))
    );
    let Ok(Assembled { text, .. }) = build(&continued(true), &MadeUp::of(20));
    assert!(text.contains("Do the work.") && text.contains("Output schema") && text.contains("no network"));
}

#[test]
fn the_longest_prompt_is_cut_between_characters_and_keeps_its_trigger() {
    let topic = Topic::new("A").expect("a name");
    let huge = message("0", &"é".repeat(300_000));
    let strategy = strategy(
        r#"{"maxTokens": 10000000, "sources": [{"topic": "B", "priority": "required"}, {"topic": "C"}]}"#,
    );
    let worker = profile("worker");
    let request = PromptRequest {
        trigger: Some(Trigger { topic: &topic, message: &huge }),
        ..PromptRequest::new(&worker, &strategy, anchors(), &Estimate)
    };
    let Ok(Assembled { text, trace }) = build(&request, &MadeUp { bytes: 100_000, ..MadeUp::of(4) });
    assert!(Chars::of(&text) <= CHARS_MAX);
    assert!(trace.truncation.applied && trace.truncation.after_chars <= 500_000);
    assert!(text.ends_with(&format!("{}\n", "é".repeat(300_000))), "what began the turn is whole");
    let decisions: Vec<PromptDecision> = trace.candidates.iter().map(|one| one.decision).collect();
    assert!(
        decisions.contains(&PromptDecision::Truncated) && decisions.contains(&PromptDecision::Dropped),
        "{decisions:?}"
    );
}

#[test]
fn metrics_are_a_function_of_the_trace_in_the_seed_s_names() {
    let strategy = strategy(r#"{"maxTokens": 500, "sources": [{"topic": "A", "amount": 2}]}"#);
    let worker = profile("worker");
    let Ok(Assembled { text, trace }) =
        build(&PromptRequest::new(&worker, &strategy, anchors(), &Estimate), &MadeUp::of(3));
    let read = metrics(&trace).to_value();
    let at = |pointer: &str| read.pointer(pointer).cloned().unwrap_or_default();
    assert_eq!(at("/agentId"), "agent-1");
    assert_eq!(at("/strategy"), serde_json::json!({"maxTokens": 500, "sourcesCount": 1}));
    assert_eq!(at("/total/chars"), Chars::of(&text).0);
    assert_eq!(at("/total/estimatedTokens"), Estimate.count(&text).0);
    assert_eq!(at("/budget/overBudgetTokens"), 0);
    assert_eq!(at("/packs/3/status"), "included");
    assert_eq!(at("/truncation/maxContextChars/limit"), 500_000);
    let sections = read["sections"].as_object().expect("sections");
    let chars: u64 = sections.values().map(|section| section["chars"].as_u64().expect("a number")).sum();
    assert_eq!(chars, Chars::of(&text).0, "the sections are the prompt");
}

#[test]
fn a_trace_comes_back_from_its_json() {
    let strategy = strategy(r#"{"sources": [{"topic": "A", "amount": 2}, {"topic": "retriever"}]}"#);
    let worker = profile("worker");
    let ledger = MadeUp { hits: vec![hit("ctx-1", "x")], ..MadeUp::of(3) };
    let Ok(Assembled { trace, .. }) =
        build(&PromptRequest::new(&worker, &strategy, anchors(), &Estimate), &ledger);
    let text = serde_json::to_string(&trace).expect("a trace has only text keys");
    assert_eq!(serde_json::from_str::<PromptTrace>(&text).expect("a trace"), trace);
    assert!(
        text.starts_with(
            "{\"version\":1,\"mode\":\"full\",\"turn\":{\"agent\":\"agent-1\",\"role\":\"worker\"}"
        ),
        "{text}"
    );
}

#[test]
fn an_optional_pack_whose_full_text_is_empty_is_given_in_its_compact_form() {
    for priority in [Priority::High, Priority::Medium, Priority::Low] {
        let compact = "short\n".to_owned();
        let pack = Pack { priority, compact, ..Pack::fixed("p", String::new()) };
        let limits = PackLimits {
            max_tokens: Some(Tokens(100)),
            chars_max: None,
            unit: LengthUnit::Scalars,
            counter: &Estimate,
            sections: &[],
        };
        let selected = select_packs(&[pack], &limits);
        assert_eq!(selected.text, "short\n");
        assert_eq!(selected.candidates.first().map(|one| one.decision), Some(PromptDecision::Compact));
    }
}

#[test]
fn packs_of_one_name_do_not_collide() {
    let pack = |text: &str, order| Pack { order, ..Pack::fixed("twin", text.to_owned()) };
    let limits = PackLimits {
        max_tokens: Some(Tokens(100)),
        chars_max: None,
        unit: LengthUnit::Scalars,
        counter: &Estimate,
        sections: &[],
    };
    let selected = select_packs(&[pack("AAAA", 0), pack("BBBBBBBB", 1)], &limits);
    assert_eq!(selected.text, "AAAABBBBBBBB");
    assert_eq!(selected.candidates.iter().map(|one| one.tokens).collect::<Vec<_>>(), [1, 2]);
}
