//! What is placed: results with files in them, ids that name others, and what the import refuses.

use stemmata_model::Part;

use super::context_tests::{answer, mark, prompt, said, session};
use super::samples_tests::placed;
use super::*;
use crate::adapter::{PlanStop, Severity};
use crate::chain_tests::checked;
use crate::json::owned;
use crate::messages::Messages;
use crate::translate::translate;

fn fatal(document: &[u8]) -> Vec<String> {
    let findings = checked(&Opencode, document).findings;
    findings
        .into_iter()
        .filter(|finding| finding.severity == Severity::Fatal)
        .map(|finding| finding.message)
        .collect()
}

/// A conversation whose tool returned a picture, a text file and a text, or failed with a picture.
fn with_picture(is_error: bool) -> String {
    format!(
        r#"[{{"role":"user","content":"look"}},{{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"Look","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","is_error":{is_error},"content":[{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}}},{{"type":"document","title":"n.txt","source":{{"type":"text","media_type":"text/plain","data":"noon"}}}},{{"type":"text","text":"a tower"}}]}}]}},{{"role":"assistant","content":"seen"}}]"#
    )
}

fn to_opencode(array: &str) -> (Vec<u8>, stemmata_model::Losses) {
    let from = Messages::ANTHROPIC;
    let done = translate(from.decode(array.as_bytes()).entries, &from.format(), &Opencode.format());
    (Opencode.encode(&done.entries), done.report)
}

#[test]
fn files_of_results_are_attachments_that_the_import_takes() {
    let (bytes, report) = to_opencode(&with_picture(false));
    let told: Vec<_> = report.entries.iter().map(|loss| loss.part.as_str()).collect();
    assert_eq!((fatal(&bytes), told), (Vec::new(), vec!["tool_name"]));
    let written = String::from_utf8(bytes.clone()).expect("text");
    assert!(written.contains(r#""output":"File n.txt:\nnoon\na tower""#), "{written}");
    let (out, _) = placed(&bytes);
    assert_eq!(fatal(&out), Vec::<String>::new());
    let ids = attachment_ids(&out);
    assert!(ids.iter().all(|id| id.starts_with("prt_")) && ids.len() == 1, "{ids:?}");
    assert_ne!(ids, attachment_ids(&bytes), "each id is new");
    let results = Opencode.decode(&out).entries.into_iter().flat_map(|entry| entry.parts);
    let is_picture = |part: &Part| matches!(part, Part::ToolResult { parts, .. } if parts.iter().any(|part| matches!(part, Part::Image { .. })));
    assert_eq!(results.filter(is_picture).count(), 1);
}

fn attachment_ids(document: &[u8]) -> Vec<String> {
    let read = record::Session::read(whole(document).expect("JSON")).expect("a session");
    let mut ids = Vec::new();
    for message in read.messages.expect("a list").elements().expect("a list") {
        let parts = record::Message::read(message).expect("a message").parts.expect("parts").elements();
        for part in parts.expect("a list") {
            let state = record::Piece::read(part).expect("a part").state;
            let state = state.and_then(|state| record::State::read(state).ok()).unwrap_or_default();
            let files = state.attachments.and_then(|files| files.elements()).unwrap_or_default();
            ids.extend(files.into_iter().filter_map(|file| owned(record::Piece::read(file).ok()?.id)));
        }
    }
    ids
}

#[test]
fn pictures_of_failed_results_are_told_of_and_reported() {
    let (bytes, report) = to_opencode(&with_picture(true));
    let told: Vec<_> = report.entries.iter().map(|loss| (loss.part.as_str(), loss.reason.as_str())).collect();
    let reason = "a file in the result of a failed call, where opencode has no place for files";
    assert!(told.contains(&("image", reason)), "{told:?}");
    let written = String::from_utf8(bytes).expect("text");
    assert!(written.contains(r#""error":"[image]\nFile n.txt:\nnoon\na tower""#), "{written}");
}

#[test]
fn attachments_without_ids_get_some_when_they_are_placed() {
    let file = r#""type":"tool","tool":"look","callID":"c1","state":{"status":"completed","input":{},"output":"x","title":"","metadata":{},"time":{"start":1,"end":2},"attachments":[{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA"}]}"#;
    let document = session("", &[prompt(1, "one"), answer(2, "", &[file])]);
    assert_eq!(fatal(document.as_bytes()).len(), 3);
    let (out, _) = placed(document.as_bytes());
    assert_eq!(fatal(&out), Vec::<String>::new());
    assert_eq!(attachment_ids(&out).len(), 1);
}

#[test]
fn ids_that_name_other_messages_are_the_new_ones() {
    let summary = answer(6, r#","summary":true,"finish":"stop""#, &[r#""type":"text","text":"so far""#]);
    let document = session(
        r#","revert":{"messageID":"msg_008","partID":"prt_0080"}"#,
        &[
            prompt(1, "one"),
            prompt(3, "three"),
            mark(5, Some(3)),
            summary,
            prompt(7, "seven"),
            said(8, "eight"),
        ],
    );
    let (out, _) = placed(document.as_bytes());
    let written = String::from_utf8(out.clone()).expect("text");
    assert!(!written.contains("msg_00") && !written.contains("prt_00"), "{written}");
    let said = |bytes: &[u8]| {
        let told = as_told(Opencode.decode(bytes).entries, PlanStop::Compaction).entries;
        told.into_iter()
            .filter(|entry| entry.meta.visibility.agent)
            .map(|entry| entry.parts)
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&out), said(document.as_bytes()));
    assert_eq!(said(&out).len(), 3, "summary, tail, what came behind; not what was taken back");
}

#[test]
fn what_the_import_refuses_is_fatal() {
    let good = session("", &[prompt(1, "one"), said(2, "two")]);
    assert_eq!(fatal(good.as_bytes()), Vec::<String>::new());
    for (key, lacks) in [
        (r#""agent":"build","model""#, r#""model""#),
        (r#""providerID":"mock","modelID":"m1""#, r#""providerID":"mock""#),
        (r#""mode":"build","#, ""),
        (r#""cwd":"/tower","#, ""),
        (r#""cost":0,"#, ""),
        (r#""reasoning":0,"#, ""),
        (r#""read":0,"#, ""),
        (r#""messageID":"msg_001","#, ""),
        (r#""sessionID":"ses_e1","messageID":"msg_002","#, r#""messageID":"msg_002","#),
        (r#""updated":1790000009000"#, r#""other":1"#),
    ] {
        let bad = good.replacen(key, lacks, 1);
        assert_ne!(bad, good, "{key}");
        assert_eq!(fatal(bad.as_bytes()).len(), 1, "{key}: {:?}", fatal(bad.as_bytes()));
    }
    let tool = |more: &str| {
        let part = format!(
            r#""type":"tool","tool":"look","callID":"c1","state":{{"status":"completed","input":{{}},"output":"x","title":"","metadata":{{}},"time":{{"start":1,"end":2}}{more}}}"#
        );
        fatal(session("", &[prompt(1, "one"), answer(2, "", &[&part])]).as_bytes())
    };
    assert_eq!(tool(""), Vec::<String>::new());
    let file = |kind: &str| {
        format!(
            r#","attachments":[{{"id":"prt_1","sessionID":"s","messageID":"m","type":"{kind}","mime":"m","url":"u"}}]"#
        )
    };
    assert_eq!((tool(&file("file")).len(), tool(&file("text")).len()), (0, 1));
}

#[test]
fn reasoning_that_is_hidden_is_its_own_providers() {
    for (model, wanted) in [
        ("claude-opus-4-5", r#"{"anthropic":{"redactedData":"c2VjcmV0"}}"#),
        ("gpt-5", r#"{"openai":{"reasoningEncryptedContent":"c2VjcmV0"}}"#),
    ] {
        let mut entries =
            Opencode.decode(session("", &[prompt(1, "one"), said(2, "two")]).as_bytes()).entries;
        let answer = entries.last_mut().expect("an answer");
        answer.meta.model = Some(model.to_owned());
        let encrypted = Some("c2VjcmV0".to_owned());
        answer.parts.insert(0, Part::Thinking { text: String::new(), signature: None, encrypted });
        let written = String::from_utf8(Opencode.encode(&entries)).expect("text");
        assert!(written.contains(wanted), "{model}: {written}");
    }
}
