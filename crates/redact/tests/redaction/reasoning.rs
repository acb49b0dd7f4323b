//! Signed thoughts and what is never touched, in the shape of every client's format.
//! What a secret looks like is `fixtures.rs`.

use serde_json::{Value, json};
use stemmata_redact::Scrubber;

use crate::support::draw;

fn key() -> String {
    draw("ghp_{alnum:36}", 3)
}

fn scrub(line: &Value) -> Value {
    let line = line.to_string();
    let scrubbed = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned();
    let again = Scrubber::builtin().scrub_line(&scrubbed).unwrap();
    assert!(again.findings.is_empty(), "{:?}", again.findings);
    serde_json::from_slice(&scrubbed).unwrap()
}

/// A signed thought with a secret says nothing any more, and everything beside it stays.
#[test]
fn signed_thoughts_with_a_secret_are_hidden() {
    let thought = format!("I use {} for it", key());
    let clean = "nothing to see";
    let rows = [
        // Claude Code.
        (
            json!({"type":"assistant","uuid":"1","message":{"content":[{"type":"thinking","thinking":thought,"signature":"EqQB"}]}}),
            json!({"type":"assistant","uuid":"1","message":{"content":[{"type":"text","text":"[REDACTED:thinking]"}]}}),
        ),
        // pi.
        (
            json!({"type":"message","id":"a1","parentId":"a0","message":{"role":"assistant","content":[{"type":"thinking","thinking":thought,"thinkingSignature":"EqQB"}]}}),
            json!({"type":"message","id":"a1","parentId":"a0","message":{"role":"assistant","content":[{"type":"text","text":"[REDACTED:thinking]"}]}}),
        ),
        // Codex: the summary stands beside ciphertext that is sent back as it is.
        (
            json!({"type":"response_item","payload":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":thought},{"type":"summary_text","text":clean}],"encrypted_content":"gAAAA"}}),
            json!({"type":"response_item","payload":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"[REDACTED:thinking]"},{"type":"summary_text","text":clean}],"encrypted_content":"gAAAA"}}),
        ),
        // The same with its type and ciphertext first.
        (
            json!({"payload":{"encrypted_content":"gAAAA","summary":[{"text":thought,"type":"summary_text"}],"type":"reasoning"}}),
            json!({"payload":{"encrypted_content":"gAAAA","summary":[{"text":"[REDACTED:thinking]","type":"summary_text"}],"type":"reasoning"}}),
        ),
        // opencode: a part keeps its ids.
        (
            json!({"id":"prt_1","messageID":"msg_1","type":"reasoning","text":thought,"metadata":{"anthropic":{"signature":"EqQB"}},"time":{"start":1}}),
            json!({"id":"prt_1","messageID":"msg_1","type":"text","text":"[REDACTED:thinking]","metadata":{"anthropic":{"signature":"EqQB"}},"time":{"start":1}}),
        ),
        // Nothing is signed: only the secret goes.
        (
            json!({"type":"reasoning","text":thought,"time":{"start":1}}),
            json!({"type":"reasoning","text":"I use [REDACTED:github-token] for it","time":{"start":1}}),
        ),
        // Anyone can name a field so in what a tool was given.
        (
            json!({"input":{"type":"reasoning","text":thought,"signature":"x"}}),
            json!({"input":{"type":"reasoning","text":"I use [REDACTED:github-token] for it","signature":"x"}}),
        ),
    ];
    for (line, expected) in rows {
        assert_eq!(scrub(&line), expected);
        let harmless = line.to_string().replace(&thought, clean);
        assert_eq!(scrub(&serde_json::from_str(&harmless).unwrap()).to_string(), harmless);
    }
}

/// Signatures, ciphertext, images, hashes and ids of every format, each with what a rule would find in it.
#[test]
fn what_no_format_lets_change_stays() {
    let aws = draw("AKIA{upper:16}", 3);
    let seal = format!("{}{aws}+{}", draw("{b64:60}/", 1), draw("{b64:60}==", 2));
    for line in [
        json!({"content":[{"type":"thinking","thinking":"x","signature":seal},{"type":"redacted_thinking","data":seal}]}),
        json!({"payload":{"type":"reasoning","summary":[],"encrypted_content":seal}}),
        json!({"payload":{"type":"compaction","encrypted_content":seal}}),
        json!({"payload":{"type":"message","content":[{"type":"input_image","image_url":format!("data:image/png;base64,{seal}")}]}}),
        json!({"content":[{"text":"x","thoughtSignature":seal},{"inlineData":{"mimeType":"image/png","data":seal}}]}),
        json!({"message":{"content":[{"type":"thinking","thinking":"x","thinkingSignature":seal},{"type":"image","data":seal,"mimeType":"image/png"}]}}),
        json!({"parts":[{"type":"reasoning","text":"x","metadata":{"openai":{"reasoningEncryptedContent":seal}}},{"type":"file","mime":"image/png","url":format!("data:image/png;base64,{seal}")}]}),
        json!({"sessionID":aws,"messageID":aws,"callID":aws,"parentId":aws,"tool_call_id":aws,"call_id":aws,"uuid":aws}),
        json!({"content":[{"type":"web_search_result","encrypted_content":seal,"title":"x"}]}),
    ] {
        assert_eq!(scrub(&line), line);
    }
}

/// A transcript scrubbed as a whole is its lines scrubbed one by one, whatever stands beside them.
#[test]
fn a_line_does_not_know_its_neighbours() {
    let line = json!({"t": format!("key {}", key())}).to_string();
    let one = Scrubber::builtin().scrub_line(line.as_bytes()).unwrap().bytes.into_owned();
    let scrubber = Scrubber::builtin();
    for before in ["", "{\"type\":\"reasoning\",\"signature\":\"x\"", "-----BEGIN PRIVATE KEY-----"] {
        scrubber.scrub_line(before.as_bytes()).unwrap();
        assert_eq!(scrubber.scrub_line(line.as_bytes()).unwrap().bytes.as_ref(), one);
    }
}
