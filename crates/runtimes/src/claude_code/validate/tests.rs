//! The loaders' behaviour as it was seen in the real clients, and what the checks say of broken files.

use serde_json::json;

use super::super::chain_tests::validated;
use super::super::loader::Loader;
use super::super::row::{Place, Row};
use super::super::samples_tests::{corpus_files, transcript, uuid};
use super::super::story_tests::Story;
use super::super::tree::{Older, Tree};
use crate::adapter::{Severity, Validation};

/// What a client was given, and which messages reached the scripted model.
struct Case {
    name: &'static str,
    story: Story,
    sent: Vec<usize>,
}

fn case(name: &'static str, build: impl FnOnce(&mut Story) -> Vec<usize>) -> Case {
    let mut story = Story::default();
    let sent = build(&mut story);
    Case { name, story, sent }
}

/// Two turns, a minute between them.
fn two_turns(story: &mut Story) -> [usize; 4] {
    let first = story.prompt(None);
    let answer = story.answer(first);
    story.wait();
    let second = story.prompt(Some(answer));
    let last = story.answer(second);
    [first, answer, second, last]
}

/// Each of these was given to Claude Code 2.1.330 as a session to resume.
fn cases() -> Vec<Case> {
    let mut cases = link_cases();
    cases.extend(call_cases());
    cases.extend(checkpoint_cases());
    cases.extend(compaction_cases());
    cases
}

fn link_cases() -> Vec<Case> {
    vec![
        case("a missing parent, a minute after what was before", |story| {
            let [_, _, second, last] = two_turns(story);
            story.set(second, "parentUuid", json!(uuid(999)));
            vec![second, last]
        }),
        case("a missing parent, seconds after what was before", |story| {
            let first = story.prompt(None);
            let answer = story.answer(first);
            let second = story.prompt(Some(answer));
            let last = story.answer(second);
            story.set(second, "parentUuid", json!(uuid(999)));
            vec![first, answer, second, last]
        }),
        case("no parent in the middle", |story| {
            let [_, _, second, last] = two_turns(story);
            story.set(second, "parentUuid", json!(null));
            vec![second, last]
        }),
        case("a result that hangs on nothing", |story| {
            let prompt = story.prompt(None);
            let call = story.call(prompt, "a call");
            let result = story.result(call);
            let last = story.answer(result);
            story.set(result, "parentUuid", json!(null));
            vec![result, last]
        }),
        case("what files were, below an older record, as the last line", |story| {
            let lines = two_turns(story);
            let snapshot = story.system(lines[1]);
            story.set(snapshot, "subtype", json!("file_snapshot"));
            lines.to_vec()
        }),
        case("a missing parent, and what a fork is told shortly before", |story| {
            let first = story.prompt(None);
            story.wait();
            let briefing = story.system(first);
            story.set(briefing, "type", json!("attachment"));
            story.set(briefing, "attachment", json!({ "type": "fork_briefing" }));
            let last = story.answer(first);
            story.set(last, "parentUuid", json!(uuid(999)));
            vec![first, last]
        }),
        case("a prompt that was stored anew, and an answer to what was sent", |story| {
            let lines = two_turns(story);
            story.set(lines[2], "uuid", json!(uuid(900)));
            story.set(lines[2], "sentAsUuid", json!(uuid(lines[2])));
            lines.to_vec()
        }),
        case("messages without content that lead in a circle", |story| {
            let lines = two_turns(story);
            let (one, other) = (story.prompt(None), story.prompt(None));
            for (empty, parent) in [(one, other), (other, one)] {
                story.set(empty, "message", json!({}));
                story.set(empty, "parentUuid", json!(uuid(parent)));
            }
            story.set(lines[2], "parentUuid", json!(uuid(one)));
            lines[2..].to_vec()
        }),
        case("a prompt below an earlier answer", |story| {
            let [first, answer, ..] = two_turns(story);
            let new = story.prompt(Some(answer));
            vec![first, answer, new]
        }),
    ]
}

fn call_cases() -> Vec<Case> {
    vec![
        case("parallel calls", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result(call), story.result(other)];
            let last = story.answer(results[1]);
            vec![first, call, other, results[0], results[1], last]
        }),
        case("parallel calls whose results came in the other order", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result(other), story.result(call)];
            let last = story.answer(results[1]);
            vec![first, call, other, results[0], results[1], last]
        }),
        case("parallel calls, and the result of the first one last", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result(other), story.result(call)];
            vec![first, call, other, results[0], results[1]]
        }),
        case("a result of two that hangs on another record", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result_below(first, call), story.result(other)];
            let last = story.answer(results[1]);
            vec![first, call, other, results[0], results[1], last]
        }),
        case("a result of two whose parent was never written", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result_below(999, call), story.result(other)];
            let last = story.answer(results[1]);
            vec![first, call, other, results[0], results[1], last]
        }),
        case("a prompt below the progress of a tool", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let progress = story.progress(call);
            let result = story.result(call);
            story.answer(result);
            story.wait();
            let next = story.prompt(Some(progress));
            vec![first, call, result, next]
        }),
        case("an answer below the progress of a tool", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let progress = story.progress(call);
            let progress = story.progress(progress);
            let result = story.result(call);
            let next = story.answer(progress);
            vec![first, call, result, next]
        }),
        case("a note at the end that hangs on the first prompt", |story| {
            let [first, ..] = two_turns(story);
            story.wait();
            story.system(first);
            vec![first]
        }),
    ]
}

fn checkpoint_cases() -> Vec<Case> {
    vec![
        case("a checkpoint on the path", |story| {
            let first = story.prompt(None);
            let answer = story.answer(first);
            story.checkpoint(answer, false);
            story.wait();
            let second = story.prompt(Some(answer));
            vec![first, answer, second]
        }),
        case("a checkpoint at a note beside the path", |story| {
            let first = story.prompt(None);
            let answer = story.answer(first);
            let note = story.system(answer);
            story.checkpoint(note, false);
            story.wait();
            story.prompt(Some(answer));
            vec![first, answer]
        }),
        case("a checkpoint at a result beside the path", |story| {
            let first = story.prompt(None);
            let call = story.call(first, "m");
            let other = story.call(call, "m");
            let results = [story.result(call), story.result(other)];
            story.checkpoint(results[0], false);
            let last = story.answer(results[1]);
            vec![first, call, other, results[0], results[1], last]
        }),
        case("a checkpoint on the branch that was left", |story| {
            let [first, answer, second, last] = two_turns(story);
            story.checkpoint(last, false);
            story.prompt(Some(answer));
            vec![first, answer, second, last]
        }),
        case("a checkpoint, and a note that hangs on the first prompt", |story| {
            let [first, answer, second, last] = two_turns(story);
            story.checkpoint(last, false);
            story.wait();
            story.system(first);
            vec![first, answer, second, last]
        }),
        case("a choice of an earlier record", |story| {
            let [first, answer, ..] = two_turns(story);
            story.checkpoint(answer, true);
            vec![first, answer]
        }),
        case("a checkpoint at a record that is not there", |story| {
            let all = two_turns(story);
            story.checkpoint(999, false);
            all.to_vec()
        }),
        case("an old checkpoint", |story| {
            let [first, answer, second, last] = two_turns(story);
            story.checkpoint(answer, false);
            vec![first, answer, second, last]
        }),
    ]
}

fn compaction_cases() -> Vec<Case> {
    vec![
        case("a compaction", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[]);
            let next = story.prompt(Some(summary));
            vec![summary, next]
        }),
        case("a compaction that keeps an answer", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[last]);
            let next = story.prompt(Some(summary));
            vec![last, summary, next]
        }),
        case("a compaction that keeps an answer, and what follows hangs on it", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[last]);
            story.wait();
            let next = story.prompt(Some(last));
            vec![last, summary, next]
        }),
        case("a compaction that keeps a record which is not there", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[last, 999]);
            let next = story.prompt(Some(summary));
            vec![summary, next]
        }),
        case("a prompt below an answer before the compaction", |story| {
            let [first, answer, _, last] = two_turns(story);
            story.compaction(last, &[]);
            story.wait();
            let next = story.prompt(Some(answer));
            vec![first, answer, next]
        }),
        case("two compactions, the first keeps an answer", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[last]);
            story.wait();
            let prompt = story.prompt(Some(summary));
            let answer = story.answer(prompt);
            let summary = story.compaction(answer, &[]);
            let next = story.prompt(Some(summary));
            vec![summary, next]
        }),
        case("a compaction that keeps an answer, and nothing after it", |story| {
            let [.., last] = two_turns(story);
            let summary = story.compaction(last, &[last]);
            vec![last, summary]
        }),
        case("a choice of an earlier record, and a prompt after it", |story| {
            let [first, answer, second, last] = two_turns(story);
            story.checkpoint(answer, true);
            let next = story.prompt(Some(last));
            vec![first, answer, second, last, next]
        }),
        case("a compaction that keeps two records, its summary lost", |story| {
            let [.., prompt, last] = two_turns(story);
            let summary = story.compaction(last, &[prompt, last]);
            story.wait();
            let next = story.prompt(Some(summary));
            story.set(summary, "type", serde_json::json!("mode"));
            story.set(summary, "uuid", serde_json::Value::Null);
            vec![prompt, last, next]
        }),
        case("a compaction without its summary", |story| {
            let [.., last] = two_turns(story);
            story.boundary(last, &[]);
            vec![0, 1, 2, last]
        }),
    ]
}

fn reached(loader: Loader, story: &Story) -> Vec<usize> {
    let mut names = Vec::new();
    let bytes = story.bytes();
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let rows = lines.map(|line| Row::read(line, Place { segment: 0, offset: 0 }, &mut names)).collect();
    let tree = Tree::new(rows, names, false, Older::None);
    let mut reached: Vec<usize> = loader.reached(&tree).into_iter().collect();
    reached.retain(|&line| tree.row(line).kind.is_message());
    reached.sort_unstable();
    reached
}

#[test]
fn the_new_loader_sends_what_the_real_one_sent() {
    for case in cases() {
        assert_eq!(reached(Loader::Recovering, &case.story), case.sent, "{}", case.name);
    }
}

#[test]
fn the_old_loader_walks_and_loses_parallel_results() {
    let lost = |name: &str| {
        let case = cases().into_iter().find(|case| case.name == name).expect("a case");
        let validation = validated(&case.story.bytes(), Some("2.1.50"));
        (checks(&validation), validation.messages_sent, validation.messages_present)
    };
    assert_eq!(lost("parallel calls"), (vec!["sibling_lost"], 4, 6));
    // Seconds apart or not: a missing parent ends the walk.
    let (checks, sent, present) = lost("a missing parent, seconds after what was before");
    assert_eq!((sent, present), (2, 4));
    assert!(checks.contains(&"history_lost"), "{checks:?}");
}

#[test]
fn versions_are_compared_as_numbers() {
    let rows = [
        (None, Loader::Recovering),
        (Some("2.1.330"), Loader::Recovering),
        (Some("2.1.331-beta.1"), Loader::Recovering),
        (Some("2.2.0"), Loader::Recovering),
        (Some("10.0.0"), Loader::Recovering),
        (Some("2.1.50"), Loader::Walking),
        (Some("2.1.99"), Loader::Walking),
        (Some("1.0.60"), Loader::Walking),
        (Some("2.1"), Loader::Walking),
    ];
    for (version, loader) in rows {
        assert_eq!(Loader::of(version), loader, "{version:?}");
    }
}

fn checks(validation: &Validation) -> Vec<&'static str> {
    validation.findings.iter().map(|finding| finding.check).collect()
}

fn fatal(validation: &Validation) -> Vec<&'static str> {
    let fatal = validation.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    fatal.map(|finding| finding.check).collect()
}

/// A line of three turns, changed.
fn changed(line: usize, change: impl FnOnce(&mut serde_json::Map<String, serde_json::Value>)) -> Vec<u8> {
    let bytes = transcript("UAUAUA");
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let mut value: serde_json::Value = serde_json::from_slice(&lines[line]).expect("a line of ours");
    change(value.as_object_mut().expect("an object"));
    lines[line] = format!("{value}\n").into_bytes();
    lines.concat()
}

#[test]
fn missing_fields_are_named_with_their_line() {
    let rows: [(&str, &str, Severity, Option<&str>); 6] = [
        ("type", "missing_type", Severity::Warning, None),
        ("message", "missing_message", Severity::Fatal, None),
        ("uuid", "missing_uuid", Severity::Fatal, None),
        ("parentUuid", "missing_parent_uuid", Severity::Fatal, None),
        ("timestamp", "missing_timestamp", Severity::Info, None),
        ("timestamp", "missing_timestamp", Severity::Fatal, Some("2.1.50")),
    ];
    for (field, check, severity, version) in rows {
        let validation = validated(&changed(2, |line| drop(line.remove(field))), version);
        let finding = validation.findings.iter().find(|finding| finding.check == check);
        let finding = finding.unwrap_or_else(|| panic!("{field}: {:?}", validation.findings));
        assert_eq!((finding.severity, finding.line), (severity, Some(3)), "{field}");
    }
}

#[test]
fn a_whole_transcript_has_nothing_to_say() {
    for version in [None, Some("1.0.60")] {
        let validation = validated(&transcript("UTRAUAdxm"), version);
        assert_eq!(validation.findings, []);
        assert_eq!((validation.messages_sent, validation.messages_present), (6, 6));
        assert!(validation.is_accepted());
    }
}

#[test]
fn calls_and_results_pair_both_ways() {
    assert_eq!(checks(&validated(&transcript("UTUA"), None)), ["open_call"]);
    assert_eq!(checks(&validated(&transcript("URUA"), None)), ["orphan_result"]);
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let result = story.result(call);
    story.result_below(result, call);
    assert_eq!(checks(&validated(&story.bytes(), None)), ["duplicate_result"]);
}

#[test]
fn torn_tails_and_garbage_are_told_apart() {
    let whole = transcript("UA");
    let rows: [(&[u8], &[&str]); 5] = [
        (b"{\"type\":\"us", &["torn_tail"]),
        (b"{\"type\":\"mode\"}", &["missing_newline"]),
        (b"garbage\n", &["unparsable_line"]),
        (b"\0\0\0\n", &["unparsable_line"]),
        (b"\r\n\n", &[]),
    ];
    for (tail, expected) in rows {
        let validation = validated(&[&whole[..], tail].concat(), None);
        assert_eq!(checks(&validation), expected, "{:?}", String::from_utf8_lossy(tail));
        assert!(validation.is_accepted());
    }
}

#[test]
fn a_transcript_without_messages_would_not_be_found() {
    for bytes in [&b""[..], b"\n", b"{\"type\":\"mode\"}\n", b"garbage"] {
        assert_eq!(fatal(&validated(bytes, None)), ["no_messages"]);
    }
}

#[test]
fn silent_loss_is_fatal() {
    for case in cases() {
        let validation = validated(&case.story.bytes(), None);
        assert!(validation.messages_sent <= case.sent.len() as u64, "{}", case.name);
        let is_lost = validation.messages_sent < validation.messages_present;
        assert_eq!(is_lost, fatal(&validation) == ["history_lost"], "{}: {validation:?}", case.name);
    }
}

#[test]
fn a_broken_file_is_not_told_line_by_line() {
    let bytes = [transcript("UA"), b"garbage\n".repeat(1000)].concat();
    let validation = validated(&bytes, None);
    assert_eq!(validation.findings.len(), crate::findings::FINDINGS_OF_A_CHECK_MAX);
}

#[test]
fn the_corpus_loads_as_its_clients_left_it() {
    for (name, bytes) in corpus_files() {
        let validation = validated(&bytes, None);
        // Subagents' forks for compactions start in the middle of another file: every parent is missing.
        if name.contains("agent-acompact") {
            continue;
        }
        assert_eq!(fatal(&validation), Vec::<&str>::new(), "{name}");
        assert_eq!(validation.messages_sent, validation.messages_present, "{name}");
    }
}
