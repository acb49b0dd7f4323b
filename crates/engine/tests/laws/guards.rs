//! The guard over stored contexts: what a model sees of one, and what it takes.

use proptest::prelude::*;
use stemmata_engine::{CheckpointRequest, Engine, GuardWanted, Guarded, LiveWindow};
use stemmata_model::{
    CommitId, Entry, EntryId, Estimate, FormatId, Part, Role, SessionId, Template, Timestamp, Tokens, Usage,
};
use stemmata_prompt::guard::{Window, WindowSettings};
use stemmata_runtimes::captured::visibility::{ShowAs, Shown, line};
use stemmata_runtimes::registry;

use crate::support::engine;

fn at(minute: i64) -> Timestamp {
    Timestamp::from_micros(minute * 60_000_000)
}

fn said(name: &str, minute: i64, role: Role, chars: usize) -> Entry {
    let id = EntryId::new(name).expect("a name");
    let mut entry = Entry::said(id, role, vec![Part::Text("x".repeat(chars))]);
    entry.timestamp = Some(at(minute));
    entry
}

fn answer(name: &str, minute: i64, chars: usize, reported: u64) -> Entry {
    let mut entry = said(name, minute, Role::Assistant, chars);
    entry.meta.usage = Some(Usage { input_tokens: reported, ..Usage::default() });
    entry
}

fn lines(entries: &[Entry]) -> Vec<u8> {
    registry::by_format(&own()).expect("an adapter").encode(entries)
}

fn own() -> FormatId {
    FormatId::new("stemmata-v1").expect("a name")
}

fn shown(id: &str, show_as: ShowAs) -> Vec<u8> {
    let entries = vec![EntryId::new(id).expect("a name")];
    line(&[Shown { entries, show_as, reason: String::new() }], at(9))
}

fn stored(engine: &Engine, bytes: &[u8]) -> CommitId {
    let template = Template::new("worker/main").expect("a name");
    let session = SessionId::new("own").expect("a name");
    let request = CheckpointRequest::delta(bytes.to_vec(), own(), template, session);
    engine.checkpoint(&request).expect("a checkpoint").id
}

fn guarded(live: &LiveWindow, limit: u64, overhead: u64) -> Guarded {
    let window = Window::new(WindowSettings::of(Tokens(limit))).expect("limits");
    let wanted = GuardWanted {
        window: &window,
        counter: &Estimate,
        overhead: Tokens(overhead),
        tasks_completed: 0,
        next_operation: None,
        now: at(10),
    };
    live.guard(&wanted).expect("guarded")
}

fn live(bytes: &[u8]) -> LiveWindow {
    let engine = engine();
    engine.live_window(stored(&engine, bytes)).expect("a window")
}

#[test]
fn reported_usage_holds_the_system_prompt_until_the_window_became_another_one() {
    let said = [said("p", 1, Role::User, 400), answer("a", 2, 400, 1_000), said("q", 3, Role::User, 80)];
    let found = guarded(&live(&lines(&said)), 10_000, 7);
    assert_eq!((found.tokens, found.overhead, found.is_reported), (Tokens(1_020), Tokens(800), true));
    let pruned = live(&[lines(&said), shown("p", ShowAs::Pruned)].concat());
    assert_eq!((pruned.hidden_entries, pruned.notes.len()), (1, 1), "{:?}", pruned.notes);
    let found = guarded(&pruned, 10_000, 7);
    assert_eq!((found.tokens, found.overhead, found.is_reported), (Tokens(127), Tokens(7), false));
}

/// Usage that is that of the session so far.
#[test]
fn sums_of_a_stored_session_are_left_aside() {
    let said: Vec<Entry> = (1..=8)
        .flat_map(|turn: i64| {
            let sum = u64::try_from(turn).expect("positive") * 20_000;
            [said(&format!("p{turn}"), turn, Role::User, 80), answer(&format!("a{turn}"), turn, 200, sum)]
        })
        .collect();
    let found = guarded(&live(&lines(&said)), 200_000, 0);
    assert_eq!((found.is_reported, found.overhead), (false, Tokens(19_980)));
    assert!(found.tokens < Tokens(21_000) && found.notes.len() == 1, "{:?}", found.notes);
    assert!(found.notes[0].message.contains("usage is that of one call"), "{:?}", found.notes);
    // A session of long turns, whose usage is that of one call.
    let said: Vec<Entry> = (1..=8)
        .map(|turn: i64| {
            answer(&format!("a{turn}"), turn, 12_000, 20_000 + u64::try_from(turn).expect("positive") * 3_500)
        })
        .collect();
    let found = guarded(&live(&lines(&said)), 200_000, 0);
    assert_eq!((found.is_reported, found.tokens, found.notes), (true, Tokens(48_000), Vec::new()));
}

#[test]
fn a_pinned_entry_is_kept_and_says_so() {
    let said: Vec<Entry> = (0..9).map(|turn| said(&format!("p{turn}"), turn, Role::User, 400)).collect();
    let is_kept = |bytes: &[u8]| {
        let found = guarded(&live(bytes), 500, 0);
        let item = found.items.into_iter().find(|item| item.decision.id.as_str() == "p1").expect("an item");
        (item.decision.is_kept, item.is_pinned, item.ordinal)
    };
    assert_eq!(is_kept(&lines(&said)), (false, false, Some(2)));
    assert_eq!(is_kept(&[lines(&said), shown("p1", ShowAs::Pinned)].concat()), (true, true, Some(2)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn entries_and_overhead_are_all_that_a_window_takes(
        sizes in proptest::collection::vec((0..2_000_usize, proptest::option::of(0..4_000_u64)), 1..12),
        overhead in 0..500_u64, limit in 1..4_000_u64,
    ) {
        let entries: Vec<Entry> = sizes.iter().enumerate().map(|(number, (chars, reported))| {
            let minute = i64::try_from(number).unwrap_or_default();
            match reported {
                Some(reported) => answer(&format!("e{number}"), minute, *chars, *reported),
                None => said(&format!("e{number}"), minute, Role::User, *chars),
            }
        }).collect();
        let found = guarded(&live(&lines(&entries)), limit, overhead);
        let items: Tokens = found.items.iter().map(|item| item.decision.size).sum();
        prop_assert_eq!(items + found.overhead, found.tokens);
        prop_assert_eq!(found.items.len(), entries.len());
        prop_assert!(found.tokens_after <= found.tokens);
    }
}

/// A window is judged by its translation, which has no usage of another client's.
#[test]
fn what_a_client_reported_is_what_its_window_takes() {
    let claude = |kind: &str, id: &str, parent: &str, message: &str| {
        format!(
            r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","message":{message}}}"#
        ) + "\n"
    };
    let usage = r#"{"input_tokens":10,"cache_read_input_tokens":4000,"cache_creation_input_tokens":900,"output_tokens":90}"#;
    let answer = format!(
        r#"{{"id":"m","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"text","text":"hello to you"}}],"usage":{usage}}}"#
    );
    let transcript = [
        claude("user", "u1", "null", r#"{"role":"user","content":"hello"}"#),
        claude("assistant", "a1", r#""u1""#, &answer),
    ];
    let rollout_line = |kind: &str, payload: &str| {
        format!("{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let item = |role: &str, part: &str| {
        let content = format!(r#"[{{"type":"{part}","text":"hello"}}]"#);
        rollout_line("response_item", &format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#))
    };
    let last = r#"{"input_tokens":4910,"cached_input_tokens":4000,"output_tokens":90}"#;
    let count = format!(r#"{{"type":"token_count","info":{{"last_token_usage":{last}}}}}"#);
    let rollout =
        [item("user", "input_text"), item("assistant", "output_text"), rollout_line("event_msg", &count)];
    for (format, bytes) in [("claude-code-v1", transcript.concat()), ("codex-v1", rollout.concat())] {
        let engine = engine();
        let (format, template) =
            (FormatId::new(format).expect("a name"), Template::new("a/main").expect("a name"));
        let session = SessionId::new("client").expect("a name");
        let request = CheckpointRequest::delta(bytes.into_bytes(), format.clone(), template, session);
        let ctx = engine.checkpoint(&request).expect("a checkpoint").id;
        let found = guarded(&engine.live_window(ctx).expect("a window"), 10_000, 7);
        assert_eq!((found.tokens, found.is_reported), (Tokens(5_000), true), "{format}");
        assert!(found.overhead > Tokens(4_900), "{format}: {}", found.overhead);
    }
}

/// A rollout says the window beside every answer: another one than what is known of the client counts.
#[test]
fn the_window_that_a_rollout_reports_is_known() {
    let line = |kind: &str, payload: &str| {
        format!("{{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
    };
    let said = |role: &str, part: &str, text: &str| {
        let content = format!(r#"[{{"type":"{part}","text":"{text}"}}]"#);
        line("response_item", &format!(r#"{{"type":"message","role":"{role}","content":{content}}}"#))
    };
    let lines = [
        said("user", "input_text", "hello"),
        said("assistant", "output_text", "hello to you"),
        line("event_msg", r#"{"type":"token_count","info":{"model_context_window":272000}}"#),
    ];
    let engine = engine();
    let format = FormatId::new("codex-v1").expect("a name");
    let template = Template::new("codex/main").expect("a name");
    let session = SessionId::new("rollout").expect("a name");
    let request = CheckpointRequest::delta(lines.concat().into_bytes(), format, template, session);
    let ctx = engine.checkpoint(&request).expect("a checkpoint").id;
    assert_eq!(engine.live_window(ctx).expect("a window").window_tokens, Some(272_000));
}
