//! What of a session is sent: compactions that keep a tail, ones that were broken off, and what was taken back.

use stemmata_model::{EntryKind, Part};

use super::*;
use crate::adapter::PlanStop;
use crate::translate::{translate, translate_from};

/// Makes a session of messages; `more` is said of the session beside its id.
pub(super) fn session(more: &str, messages: &[String]) -> String {
    format!(
        r#"{{"info":{{"id":"ses_e1002233445566778899aabbcc","slug":"s","projectID":"global","directory":"/tower","title":"Bells","version":"1.18.33","time":{{"created":1790000000000,"updated":1790000009000}}{more}}},"messages":[{}]}}"#,
        messages.join(",")
    )
}

pub(super) fn user(number: u32, part: &str) -> String {
    format!(
        r#"{{"info":{{"id":"msg_{number:03}","sessionID":"ses_e1","role":"user","time":{{"created":{number}}},"agent":"build","model":{{"providerID":"mock","modelID":"m1"}}}},"parts":[{{"id":"prt_{number:03}0","sessionID":"ses_e1","messageID":"msg_{number:03}",{part}}}]}}"#
    )
}

pub(super) fn prompt(number: u32, text: &str) -> String {
    user(number, &format!(r#""type":"text","text":"{text}""#))
}

pub(super) fn mark(number: u32, tail: Option<u32>) -> String {
    let tail = tail.map(|tail| format!(r#","tail_start_id":"msg_{tail:03}""#)).unwrap_or_default();
    user(number, &format!(r#""type":"compaction","auto":true{tail}"#))
}

/// An answer to the message before it; `more` is said of it, and its parts are numbered.
pub(super) fn answer(number: u32, more: &str, parts: &[&str]) -> String {
    let own = format!(r#""sessionID":"ses_e1","messageID":"msg_{number:03}""#);
    let parts: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(at, part)| format!(r#"{{"id":"prt_{number:03}{at}",{own},{part}}}"#))
        .collect();
    format!(
        r#"{{"info":{{"id":"msg_{number:03}","sessionID":"ses_e1","role":"assistant","parentID":"msg_{:03}","modelID":"m1","providerID":"mock","mode":"build","agent":"build","path":{{"cwd":"/tower","root":"/"}},"cost":0,"tokens":{{"input":0,"output":0,"reasoning":0,"cache":{{"read":0,"write":0}}}},"time":{{"created":{number}}}{more}}},"parts":[{}]}}"#,
        number - 1,
        parts.join(",")
    )
}

pub(super) fn said(number: u32, text: &str) -> String {
    answer(number, r#","finish":"stop""#, &[&format!(r#""type":"text","text":"{text}""#)])
}

fn summary(number: u32, more: &str) -> String {
    let text = format!(r#""type":"text","text":"summary {number}""#);
    answer(number, &format!(r#","summary":true{more}"#), &[&text])
}

fn done(number: u32) -> String {
    summary(number, r#","finish":"stop""#)
}

/// Returns what a model is told, a word for each text.
fn told(document: &str, stop: PlanStop) -> Vec<String> {
    let told = as_told(Opencode.decode(document.as_bytes()).entries, stop);
    let seen = told.entries.into_iter().filter(|entry| entry.meta.visibility.agent);
    let texts = seen.flat_map(|entry| entry.parts).filter_map(|part| match part {
        Part::Text(text) | Part::Summary { text, .. } => Some(text),
        Part::ToolCall { name, .. } => Some(name),
        Part::ToolResult { parts, .. } => Some(format!("{} parts", parts.len())),
        _ => None,
    });
    texts.collect()
}

/// Six messages, a compaction that keeps the last two of them, and one prompt more.
fn with_tail() -> String {
    let messages = [
        prompt(1, "one"),
        said(2, "two"),
        prompt(3, "three"),
        said(4, "four"),
        mark(5, Some(3)),
        done(6),
        prompt(7, "seven"),
    ];
    session("", &messages)
}

#[test]
fn a_tail_that_a_compaction_kept_follows_its_summary() {
    assert_eq!(told(&with_tail(), PlanStop::Compaction), ["summary 6", "three", "four", "seven"]);
    let to = crate::messages::Messages::ANTHROPIC;
    let entries = Opencode.decode(with_tail().as_bytes()).entries;
    let translated = translate(entries, &Opencode.format(), &to.format());
    assert_eq!((translated.report.kept, translated.skipped_compactions), (4, 0));
}

#[test]
fn from_the_root_everything_is_told_and_skipped_compactions_are_counted() {
    assert_eq!(told(&with_tail(), PlanStop::Root), ["one", "two", "three", "four", "seven"]);
    let entries = Opencode.decode(with_tail().as_bytes()).entries;
    let to = crate::messages::Messages::ANTHROPIC.format();
    let translated = translate_from(PlanStop::Root, entries, &Opencode.format(), &to);
    assert_eq!((translated.report.kept, translated.skipped_compactions), (5, 1));
    // Nothing stands before it: it is what is known of the beginning.
    let only = session("", &[mark(5, None), done(6), prompt(7, "seven")]);
    assert_eq!(told(&only, PlanStop::Root), ["summary 6", "seven"]);
}

#[test]
fn the_last_compaction_that_is_done_is_where_a_context_begins() {
    let later = |last: [String; 2]| {
        let [mark, summary] = last;
        let first =
            [prompt(1, "one"), mark_and_done(2), prompt(4, "four"), mark, summary, prompt(7, "seven")];
        session("", &first)
    };
    let begun = later([mark(5, None), done(6)]);
    assert_eq!(told(&begun, PlanStop::Compaction), ["summary 6", "seven"]);
    let aborted = r#","error":{"name":"MessageAbortedError","data":{"message":""}}"#;
    for (name, broken) in
        [("aborted", summary(6, &format!(r#","finish":"stop"{aborted}"#))), ("unfinished", summary(6, ""))]
    {
        let document = later([mark(5, None), broken]);
        assert_eq!(told(&document, PlanStop::Compaction), ["summary 3", "four", "seven"], "{name}");
        assert_eq!(told(&document, PlanStop::Root), ["one", "four", "seven"], "{name}");
    }
}

fn mark_and_done(number: u32) -> String {
    format!("{},{}", mark(number, None), done(number + 1))
}

#[test]
fn a_tail_that_is_not_there_has_everything_sent_as_the_loader_does() {
    let document = session("", &[prompt(1, "one"), mark(5, Some(9)), done(6), prompt(7, "seven")]);
    assert_eq!(told(&document, PlanStop::Compaction), ["one", "summary 6", "seven"]);
    // A tail that is the mark itself is none.
    let document = session("", &[prompt(1, "one"), mark(5, Some(5)), done(6), prompt(7, "seven")]);
    assert_eq!(told(&document, PlanStop::Compaction), ["summary 6", "seven"]);
}

#[test]
fn a_compaction_within_a_session_is_a_document_of_its_own() {
    let found = |document: &str| Opencode.compactions(document.as_bytes());
    let [one] = &found(&with_tail())[..] else { panic!("one compaction") };
    let artifact = String::from_utf8(one.artifact.clone()).expect("text");
    assert_eq!(told(&artifact, PlanStop::Compaction), ["summary 6", "three", "four"]);
    let mut before = with_tail().as_bytes()[..one.before].to_vec();
    before.extend(Opencode.closing(with_tail().as_bytes(), one.before));
    assert_eq!(
        told(std::str::from_utf8(&before).expect("text"), PlanStop::Root),
        ["one", "two", "three", "four"]
    );
    // Two, the second without a tail; and none where nothing is before it, or where the loader sends everything.
    let twice = session("", &[prompt(1, "one"), mark_and_done(2), prompt(4, "four"), mark_and_done(5)]);
    assert_eq!(found(&twice).len(), 2);
    let later =
        session("", &[prompt(1, "one"), mark_and_done(2), prompt(4, "four"), mark(5, Some(9)), done(6)]);
    assert_eq!(found(&later).len(), 0);
    let only = session("", &[mark(5, None), done(6), prompt(7, "seven")]);
    assert_eq!(found(&only)[0].before, 0);
    let undone = session(r#","revert":{"messageID":"msg_005"}"#, &[prompt(1, "one"), mark_and_done(5)]);
    assert_eq!(found(&undone).len(), 0);
    for document in [with_tail(), twice, later, only, undone] {
        crate::conformance::check(&Opencode, document.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

#[test]
fn what_was_taken_back_is_not_told() {
    let tool = r#""type":"tool","tool":"look","callID":"c1","state":{"status":"completed","input":{},"output":"x","title":"","metadata":{},"time":{"start":1,"end":2}}"#;
    let messages = [
        prompt(1, "one"),
        answer(
            2,
            "",
            &[
                r#""type":"step-start""#,
                r#""type":"text","text":"two""#,
                tool,
                r#""type":"text","text":"behind""#,
            ],
        ),
        prompt(3, "three"),
        said(4, "four"),
    ];
    let revert =
        |id: &str, part: &str| session(&format!(r#","revert":{{"messageID":"{id}"{part}}}"#), &messages);
    let all = ["one", "two", "look", "behind", "1 parts", "three", "four"];
    assert_eq!(told(&session("", &messages), PlanStop::Compaction), all);
    for (document, expected) in [
        (revert("msg_003", ""), &["one", "two", "look", "behind", "1 parts"][..]),
        (revert("msg_001", ""), &[]),
        (revert("msg_002", r#","partID":"prt_0022""#), &["one", "two"]),
        (revert("msg_002", r#","partID":"prt_0023""#), &["one", "two", "look", "1 parts"]),
        (revert("msg_002", r#","partID":"prt_none""#), &["one", "two", "look", "behind", "1 parts"]),
        (revert("msg_none", ""), &all[..]),
    ] {
        for stop in [PlanStop::Compaction, PlanStop::Root] {
            assert_eq!(told(&document, stop), expected, "{document}");
        }
        crate::conformance::check(&Opencode, document.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
    }
}

#[test]
fn a_compaction_that_was_taken_back_stands_for_nothing() {
    let document = session(
        r#","revert":{"messageID":"msg_005"}"#,
        &[prompt(1, "one"), said(2, "two"), mark(5, None), done(6), prompt(7, "seven")],
    );
    assert_eq!(told(&document, PlanStop::Compaction), ["one", "two"]);
}

#[test]
fn files_that_the_client_tells_as_text_are_told_once() {
    let file = r#""type":"file","mime":"text/plain","filename":"n.md","url":"file:///tower/n.md""#;
    let entries = Opencode.decode(session("", &[user(1, file)]).as_bytes()).entries;
    let message = entries.iter().find(|entry| entry.kind == EntryKind::Message).expect("a message");
    assert_eq!(message.parts, []);
}
