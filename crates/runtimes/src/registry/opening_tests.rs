//! The law of the table: whoever is left out would have claimed nothing.

use proptest::prelude::*;
use stemmata_model::{Entry, Timestamp};

use super::{adapters, detect, surest};
use crate::adapter::{Adapter, DETECT_BYTES_MAX, Detection};
use crate::corpus_tests::files_below;
use crate::document::summary_entry;

/// Asks every adapter about every beginning, as was done before there was a table.
fn ask_all(head: &[u8]) -> Option<(&'static dyn Adapter, Detection)> {
    let first = head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let begins = |adapter: &&dyn Adapter| first.is_some_and(|line| adapter.detect(line).is_some());
    surest(adapters().iter().filter_map(|adapter| Some((*adapter, adapter.detect(head)?))), begins)
}

fn check(head: &[u8]) {
    let named = |found: Option<(&'static dyn Adapter, Detection)>| {
        found.map(|(adapter, detection)| (adapter.format(), detection))
    };
    assert_eq!(named(detect(head)), named(ask_all(head)), "{}", String::from_utf8_lossy(head));
}

/// Beginnings of every format: what each adapter writes, and records that none of ours writes.
fn samples() -> Vec<Vec<u8>> {
    let entry = |text: &str| -> Entry { summary_entry(text, Timestamp::from_micros(1_000_000)) };
    let entries = [entry("fix the lock"), entry("it is fixed")];
    let mut samples: Vec<Vec<u8>> = adapters().iter().map(|adapter| adapter.encode(&entries)).collect();
    samples.extend(
        [
            r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"content":"hi"}}"#,
            r#"{"type":"summary","summary":"x","leafUuid":"y"}"#,
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cli_version":"0.1"}}"#,
            r#"{"timestamp":"2026-01-01T00:00:00Z","ordinal":1,"type":"response_item","payload":{"type":"message"}}"#,
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","a":{"payload":{}},"long":"and then"#,
            "{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"session_meta\",\"a\":{\"payload\":{}},\n\"b\":1}",
            r#"{"id":"x","timestamp":"2026-01-01T00:00:00Z","instructions":null,"git":{}}"#,
            r#"{"sessionId":"s","projectHash":"h","startTime":"t","lastUpdated":"t"}"#,
            r#"{"sessionId":"s","projectHash":"h","messages":[]}"#,
            r#"{"id":"1","timestamp":"t","type":"gemini","content":"hi"}"#,
            r#"{"id":"1","timestamp":"t","type":"user","content":"hi"}"#,
            r#"{"$set":{"summary":"x"}}"#,
            r#"{"$rewindTo":"1"}"#,
            r#"{"type":"session","version":3,"id":"x","timestamp":"t","cwd":"/w"}"#,
            r#"{"type":"session","id":"x","timestamp":"t","cwd":"/w"}"#,
            r#"{"ty\u0070e":"session","version":2,"id":"x"}"#,
            r#"{"kind":"header","version":4,"id":"x","createdAt":1,"cwd":"/w"}"#,
            r#"{"info":{"id":"ses_1","version":"1.2.0"},"messages":[]}"#,
            r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","uuid":"u","claude_code_version":"2.1.330"}"#,
            r#"{"type":"user","message":{"content":"hi"},"parent_tool_use_id":null,"session_id":"s"}"#,
            r#"{"type":"stream_event","event":{},"session_id":"s"}"#,
            r#"{"type":"thread.started","thread_id":"t"}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.completed","item":{"id":"i","type":"agent_message"}}"#,
            r#"{"t":"2026-01-01T00:00:00Z","fd":"stdout","line":"hi"}"#,
            r#"{"id":1,"timestamp":"t","source":"agent","action":"run"}"#,
            r#"[{"id":1,"timestamp":"t","source":"agent","action":"run"}]"#,
            r#"{"v":"stemmata-v2","role":"user","parts":[]}"#,
            r#"{"trajectory":[{"action":"ls","observation":"a"}],"history":[]}"#,
            r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]"#,
            r#"[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[]}]"#,
            r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]"#,
            "# aider chat started at 2026-01-01 00:00:00\n\n#### hi\n",
            "\n \u{c}\n# aider chat started at 2026-01-01 00:00:00\n",
            "",
            "dear diary",
            "{}",
            "[]",
        ]
        .map(|sample| sample.as_bytes().to_vec()),
    );
    samples
}

#[test]
fn every_sample_is_told_as_if_all_were_asked() {
    let samples = samples();
    let told: std::collections::BTreeSet<String> =
        samples.iter().filter_map(|head| Some(detect(head)?.0.format().to_string())).collect();
    assert_eq!(told.len(), adapters().len(), "the samples are of every format: {told:?}");
    for head in &samples {
        check(head);
        for other in &samples {
            // A file that goes on in another format, and one that is written over lines.
            check(&[head.as_slice(), b"\n", other].concat());
        }
        for cut in 0..head.len().min(400) {
            check(&head[..cut]);
            check(&head[cut..]);
        }
    }
}

#[test]
fn the_corpus_is_told_as_if_all_were_asked() {
    let folders =
        ["aider", "claude-code", "codex", "gemini", "opencode", "openhands", "parser-fixtures", "pi"];
    for (_, bytes) in files_below(&folders, |_| true) {
        let head = bytes.get(..DETECT_BYTES_MAX).unwrap_or(&bytes);
        check(head);
        for line in head.split(|byte| *byte == b'\n').take(40) {
            check(line);
        }
    }
}

/// Names that some format has for a key, and some that none has.
const KEYS: [&str; 40] = [
    "type",
    "uuid",
    "parentUuid",
    "sessionId",
    "session_id",
    "timestamp",
    "payload",
    "instructions",
    "git",
    "ordinal",
    "projectHash",
    "messages",
    "id",
    "content",
    "$set",
    "$rewindTo",
    "version",
    "cwd",
    "info",
    "subtype",
    "parent_tool_use_id",
    "message",
    "event",
    "thread_id",
    "item",
    "t",
    "fd",
    "line",
    "source",
    "kind",
    "action",
    "observation",
    "v",
    "role",
    "parts",
    "trajectory",
    "history",
    "isSidechain",
    "leafUuid",
    "other",
];

const VALUES: [&str; 30] = [
    "null",
    "1",
    "3",
    "{}",
    "[]",
    "\"x\"",
    "\"user\"",
    "\"assistant\"",
    "\"system\"",
    "\"session\"",
    "\"session_meta\"",
    "\"response_item\"",
    "\"gemini\"",
    "\"thread.started\"",
    "\"turn.started\"",
    "\"item.completed\"",
    "\"stream_event\"",
    "\"summary\"",
    "\"agent\"",
    "\"stdout\"",
    "\"2026-01-01T00:00:00Z\"",
    "{\"id\":\"ses_1\",\"type\":\"message\",\"role\":\"user\"}",
    "[{\"action\":\"a\",\"observation\":\"b\"}]",
    "\"stemmata-v1\"",
    "\"stemmata-v2\"",
    "{\"payload\":{\"a\":1}}",
    "{\"role\":\"user\",\"content\":\"hi\"}",
    "true",
    "\"\\u0073ession\"",
    "\"init\"",
];

fn object() -> impl Strategy<Value = String> {
    let member = (prop::sample::select(&KEYS[..]), prop::sample::select(&VALUES[..]));
    prop::collection::vec(member, 0..9).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #[test]
    fn made_up_records_are_told_as_if_all_were_asked(
        objects in prop::collection::vec(object(), 1..4),
        between in prop::sample::select(&["\n", "", ",", "\r\n", "\n\n"][..]),
        is_list in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let joined = objects.join(between);
        let joined = if is_list { format!("[{joined}]") } else { joined };
        check(joined.as_bytes());
        check(&joined.as_bytes()[..cut.index(joined.len() + 1)]);
    }

    #[test]
    fn damaged_samples_are_told_as_if_all_were_asked(
        sample in prop::sample::select(samples()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..5),
    ) {
        let mut head = sample;
        for (at, byte) in damage {
            if !head.is_empty() {
                let at = at.index(head.len());
                head[at] = byte;
            }
        }
        check(&head);
    }
}
