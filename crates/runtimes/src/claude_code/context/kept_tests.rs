//! What a compaction keeps is in a context wherever it was written, and whatever became of the compaction's own lines. Each of these
//! contexts was sent whole by Claude Code 2.1.330, and `sent` is what it sent of the transcript itself.

use serde_json::json;
use stemmata_model::{CommitType, Granularity};

use super::super::ClaudeCode;
use super::super::chain_tests::{placed, validated};
use super::super::samples_tests::uuid;
use super::super::story_tests::{Story, numbers};
use crate::adapter::{Adapter as _, PlanStop};
use crate::chain_tests::{Chain, commits, segment, written};
use crate::repair::repair;

/// Two turns of four lines, a compaction (lines 8 and 9) that keeps the second, and a turn behind it (lines 10 to 13).
fn compacted(is_chain: bool) -> Story {
    let mut story = Story::default();
    let mut last = None;
    let turn = |story: &mut Story, last: Option<usize>| {
        let prompt = story.prompt(last);
        let call = story.call(prompt, &format!("call {prompt}"));
        let result = story.result(call);
        let answer = story.answer(result);
        story.wait();
        answer
    };
    for _ in 0..2 {
        last = Some(turn(&mut story, last));
    }
    story.compaction(7, &[4, 5, 6, 7]);
    if is_chain {
        let kept = json!({ "headUuid": uuid(4), "anchorUuid": uuid(9), "tailUuid": uuid(7) });
        story.set(8, "compactMetadata", json!({ "preservedSegment": kept }));
    }
    turn(&mut story, Some(9));
    story
}

/// Cuts bytes into a chain, with artifacts that may lack what was not there yet.
fn chain(bytes: &[u8]) -> Chain<'static> {
    let mut chain = Chain::new(&ClaudeCode);
    for (commit_type, native) in commits(&ClaudeCode, Granularity::Turn, bytes) {
        let mut earlier = chain.clone();
        chain.segments.insert(0, segment(commit_type, &native));
        if commit_type == CommitType::Compaction {
            let plan = ClaudeCode.plan_compaction(&native, &mut earlier).expect("no storage");
            chain.segments[0].prefix = Some(written(&plan.pieces, &chain.segments).into());
        }
    }
    chain
}

/// Puts the line with this number and the next one on one line.
fn joined(bytes: &[u8], number: usize) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    lines.flat_map(|(at, line)| if at == number { line.trim_ascii_end() } else { line }.to_vec()).collect()
}

/// What became of a compaction, and how many messages the client sends then.
fn cases(is_chain: bool) -> Vec<(&'static str, Vec<u8>, u64)> {
    let made = |change: &dyn Fn(&mut Story)| {
        let mut story = compacted(is_chain);
        change(&mut story);
        story.bytes()
    };
    let late = |line: usize| made(&|story| story.late(line));
    let again = |line: usize| made(&|story| story.again(line));
    let changed = |line: usize| {
        made(&|story| {
            story.again(line);
            story.set(story.len() - 1, "slug", json!("x"));
        })
    };
    let whole = made(&|_| {});
    vec![
        ("the first late", late(4), 9),
        ("one in the middle late", late(5), 9),
        ("the last late", late(7), 9),
        ("one again", again(6), 9),
        ("one again, changed", changed(6), 9),
        ("the first again, changed", changed(4), 9),
        ("what followed again, changed", changed(10), 9),
        ("the end again, changed", changed(13), 9),
        ("an old one again", again(1), 9),
        ("an old one again, changed", changed(1), 9),
        ("the boundary again", again(8), 9),
        ("the summary again", again(9), 9),
        ("the summary again, changed", changed(9), 9),
        // Of these the client loses a part, or goes on from another one.
        ("both on one line", joined(&whole, 8), 8),
        ("a mark before the boundary", marked(&whole, 8), 5),
        ("nothing odd", whole, 9),
    ]
}

/// Puts a byte order mark before the line with this number.
fn marked(bytes: &[u8], number: usize) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
    lines
        .flat_map(|(at, line)| [if at == number { "\u{feff}".as_bytes() } else { b"" }, line].concat())
        .collect()
}

#[test]
fn what_a_compaction_keeps_is_in_a_context_wherever_it_stands() {
    for is_chain in [true, false] {
        for (name, bytes, sent) in cases(is_chain) {
            let found = validated(&bytes, None);
            assert_eq!(
                (found.messages_sent, found.messages_present),
                (sent, 9),
                "{name} {is_chain}: {found:?}"
            );
            assert!(
                !found.findings.iter().any(|finding| finding.check == "other_branch"),
                "{name}: {found:?}"
            );
            let (plan, context) = chain(&bytes).context(PlanStop::Compaction);
            let (context, _) = placed(&context);
            let mut lines = numbers(&context);
            lines.sort_unstable();
            assert_eq!(lines, (4..14).collect::<Vec<_>>(), "{name} {is_chain}: {plan:?}");
            let found = validated(&context, None);
            assert_eq!((found.messages_sent, found.messages_present), (9, 9), "{name} {is_chain}: {found:?}");
            assert!(
                !found.findings.iter().any(|finding| finding.check == "other_branch"),
                "{name}: {found:?}"
            );
            let (_, context) = chain(&bytes).context(PlanStop::Root);
            let lines: Vec<usize> =
                numbers(&context).into_iter().filter(|line| *line != 8 && *line != 9).collect();
            let mut sorted = lines.clone();
            sorted.sort_unstable();
            assert_eq!(
                sorted,
                (0..8).chain(10..14).collect::<Vec<_>>(),
                "{name} {is_chain} from the root: {lines:?}"
            );
        }
    }
}

#[test]
fn a_fork_that_renamed_what_a_compaction_keeps_has_it_in_its_context() {
    for is_chain in [true, false] {
        let mut story = compacted(is_chain);
        for line in 0..story.len() {
            let from =
                json!({ "sessionId": "99999999-2222-4333-8444-555555555555", "messageUuid": uuid(line) });
            story.set(line, "forkedFrom", from);
        }
        // All ids are new, but those in what the boundary keeps.
        let text = String::from_utf8(story.bytes()).expect("text");
        let renamed = |line: &str| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("a line");
            for field in ["uuid", "parentUuid", "logicalParentUuid"] {
                if let Some(id) = line[field].as_str() {
                    line[field] = json!(id.replacen("0000", "ffff", 1));
                }
            }
            format!("{line}\n")
        };
        let bytes: Vec<u8> = text.lines().map(renamed).collect::<String>().into_bytes();
        assert_ne!(bytes, story.bytes());
        assert_eq!((validated(&bytes, None).messages_sent, validated(&bytes, None).messages_present), (5, 9));
        let (_, context) = chain(&bytes).context(PlanStop::Compaction);
        let mut lines = numbers(&context);
        lines.sort_unstable();
        assert_eq!(lines, (4..14).collect::<Vec<_>>(), "{is_chain}");
        // What the compaction says it keeps has the ids of the copy.
        let found = validated(&placed(&context).0, None);
        assert_eq!((found.messages_sent, found.messages_present), (9, 9), "{is_chain}: {found:?}");
    }
}

#[test]
fn what_a_compaction_keeps_and_is_not_there_is_kept_no_longer() {
    let mut story = compacted(false);
    story.set(
        8,
        "compactMetadata",
        json!({ "preservedMessages": { "anchorUuid": uuid(9), "uuids": [uuid(4), uuid(5), uuid(6), uuid(7), uuid(70)] } }),
    );
    let bytes = story.bytes();
    let found = validated(&bytes, None);
    assert_eq!((found.messages_sent, found.messages_present), (5, 9), "{found:?}");
    let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
    let found = validated(&context, None);
    assert_eq!((found.messages_sent, found.messages_present), (9, 9), "{found:?}");
    // Of a chain that is broken the client keeps nothing, and nobody can tell what it was.
    let kept = json!({ "headUuid": uuid(70), "anchorUuid": uuid(9), "tailUuid": uuid(7) });
    story.set(8, "compactMetadata", json!({ "preservedSegment": kept }));
    let bytes = story.bytes();
    let found = validated(&bytes, None);
    assert_eq!((found.messages_sent, found.messages_present), (5, 5), "{found:?}");
    assert!(found.findings.iter().any(|finding| finding.check == "preserved_missing"), "{found:?}");
    let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
    let found = validated(&context, None);
    assert_eq!((found.messages_sent, found.messages_present), (5, 5), "{found:?}");
}

#[test]
fn of_a_boundary_that_stands_there_again_the_last_copy_says_what_is_kept() {
    for is_chain in [false, true] {
        let (mut story, kept) = (compacted(is_chain), 9);
        story.again(8);
        let copy = story.len() - 1;
        let kept_now = if is_chain {
            json!({ "preservedSegment": { "anchorUuid": uuid(9), "headUuid": uuid(4), "tailUuid": uuid(7) } })
        } else {
            let kept = [4, 5, 6, 7].map(uuid);
            json!({ "preservedMessages": { "anchorUuid": uuid(9), "uuids": kept } })
        };
        story.set(8, "compactMetadata", json!({ "trigger": "auto" }));
        story.set(copy, "compactMetadata", kept_now);
        let bytes = story.bytes();
        let found = validated(&bytes, None);
        assert_eq!((found.messages_sent, found.messages_present), (kept, kept), "{found:?}");
        let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
        let found = validated(&context, None);
        assert_eq!((found.messages_sent, found.messages_present), (kept, kept), "{found:?}");
    }
}

#[test]
fn what_hangs_on_a_record_that_is_not_there_hangs_on_the_summary() {
    for is_chain in [false, true] {
        let mut story = compacted(is_chain);
        let whole = validated(&story.bytes(), None);
        let metadata = story.bytes();
        let line = metadata.split(|&byte| byte == b'\n').nth(8).expect("a boundary");
        let said = String::from_utf8_lossy(line).replace(&uuid(9), &uuid(777));
        let mut boundary: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        story.set(8, "compactMetadata", boundary["compactMetadata"].take());
        let bytes = story.bytes();
        let found = validated(&bytes, None);
        assert!(found.messages_sent < found.messages_present, "{found:?}");
        assert_eq!(found.messages_present, whole.messages_present);
        let mended = repair(&ClaudeCode, &bytes, None);
        let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
        for found in [mended.validation, validated(&context, None)] {
            assert_eq!(
                (found.messages_sent, found.messages_present),
                (whole.messages_sent, whole.messages_sent)
            );
        }
    }
}

#[test]
fn what_an_artifact_has_of_a_chain_that_is_broken_is_not_kept() {
    let mut story = compacted(true);
    story.set(5, "parentUuid", json!(uuid(999)));
    let bytes = story.bytes();
    let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
    let (sent, placed) = (validated(&bytes, None), validated(&context, None));
    assert_eq!((placed.messages_sent, placed.messages_present), (sent.messages_sent, sent.messages_sent));
}

/// The state that a session is in right after each compaction.
#[test]
fn a_session_that_ends_at_its_compaction_begins_with_the_summary() {
    for is_chain in [true, false] {
        let whole = compacted(is_chain).bytes();
        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let mut behind = compacted(is_chain);
        for length in [10, 11, 14] {
            let bytes = lines[..length].concat();
            let sent = (length - 5) as u64;
            let found = validated(&bytes, None);
            assert_eq!((found.messages_sent, found.messages_present), (sent, sent), "{is_chain} {length}");
            let (context, _) = placed(&chain(&bytes).context(PlanStop::Compaction).1);
            assert!(numbers(&context).contains(&9), "{is_chain} {length}: the summary");
            let found = validated(&context, None);
            assert_eq!((found.messages_sent, found.messages_present), (sent, sent), "{is_chain} {length}");
        }
        // A note of the runtime behind the summary changes nothing.
        behind.system(9);
        let mut with_note: Vec<&[u8]> = lines[..10].to_vec();
        let all = behind.bytes();
        let line = all.split_inclusive(|byte| *byte == b'\n').next_back().expect("a line");
        with_note.push(line);
        let (context, _) = placed(&chain(&with_note.concat()).context(PlanStop::Compaction).1);
        let found = validated(&context, None);
        assert_eq!((found.messages_sent, found.messages_present), (5, 5), "{is_chain}");
    }
}

/// A compaction that keeps a chain from the given line on to the answer of two parallel calls, by the results' order.
fn parallel(head: usize, is_through_second: bool) -> (Story, [usize; 6]) {
    let mut story = Story::default();
    let prompt = story.prompt(None);
    let first = story.call(prompt, "m");
    let second = story.call(first, "m");
    let results = [story.result(first), story.result(second)];
    let answer = story.answer(results[usize::from(is_through_second)]);
    story.wait();
    let summary = story.compaction(answer, &[prompt, answer]);
    let ids = [prompt, first, second, results[0], results[1], answer];
    let kept = json!({ "headUuid": uuid(ids[head]), "anchorUuid": uuid(summary), "tailUuid": uuid(answer) });
    story.set(summary - 1, "compactMetadata", json!({ "trigger": "auto", "preservedSegment": kept }));
    let next = story.prompt(Some(summary));
    story.answer(next);
    (story, ids)
}

/// The client walks from one end of a chain to the other, and loses a call or a result beside it.
#[test]
fn parallel_calls_beside_a_kept_chain_are_part_of_it() {
    for (head, is_through_second, sent, present) in [
        // Without its result a call is not sent.
        (0, true, 7, 9),
        (1, true, 6, 8),
        (0, false, 7, 9),
        (1, false, 6, 8),
        // What was said before the chain is not part of it.
        (2, true, 6, 6),
    ] {
        let (story, [_, first, second, ..]) = parallel(head, is_through_second);
        let name = format!("from {head}, through the second: {is_through_second}");
        let bytes = story.bytes();
        let found = validated(&bytes, None);
        assert_eq!((found.messages_sent, found.messages_present), (sent, present), "{name}: {found:?}");
        let is_lost = found.findings.iter().any(|finding| finding.check == "sibling_lost");
        assert_eq!(is_lost, sent < present, "{name}: {found:?}");
        let mended = repair(&ClaudeCode, &bytes, None);
        let found = &mended.validation;
        assert_eq!((found.messages_sent, found.messages_present), (present, present), "{name}: {found:?}");
        assert_eq!(mended.changes.len(), usize::from(is_lost), "{name}: {:?}", mended.changes);
        let (_, context) = chain(&bytes).context(PlanStop::Compaction);
        let found = validated(&placed(&context).0, None);
        let all = found.messages_present;
        assert!(all >= present && found.messages_sent == all, "{name}: {found:?}");
        if !is_lost {
            continue;
        }
        // A result that came late is in the context too.
        let mut late = story.clone();
        late.late(if is_through_second { first + 2 } else { second + 2 });
        let (_, context) = chain(&late.bytes()).context(PlanStop::Compaction);
        let found = validated(&placed(&context).0, None);
        assert_eq!(found.messages_sent, found.messages_present, "{name}, late: {found:?}");
        assert!(found.messages_present >= present, "{name}, late: {found:?}");
    }
}

#[test]
fn a_list_that_begins_inside_parallel_calls_keeps_no_more() {
    let mut story = Story::default();
    let prompt = story.prompt(None);
    let calls = [story.call(prompt, "m"), story.call(prompt + 1, "m")];
    let results = calls.map(|call| story.result(call));
    let answer = story.answer(results[1]);
    let kept = [calls[1], results[0], results[1], answer];
    let summary = story.compaction(answer, &kept);
    let next = story.prompt(Some(summary));
    let end = story.answer(next);
    let (_, context) = chain(&story.bytes()).context(PlanStop::Compaction);
    let said: Vec<usize> = [summary - 1, summary].into_iter().chain(kept).chain([next, end]).collect();
    assert_eq!(numbers(&context), said);
    let checked = validated(&placed(&context).0, None);
    assert_eq!((checked.messages_sent, checked.messages_present), (6, 6), "{checked:?}");
}

/// A turn (lines 0 to 3), a prompt with three parallel calls (4 to 11), a compaction (12 and 13) that keeps these, and a turn behind it
/// (14 to 17). The chain leads through the last call and its result.
fn compacted_parallel(is_chain: bool) -> Story {
    let mut story = Story::default();
    let turn = |story: &mut Story, last: Option<usize>| {
        let prompt = story.prompt(last);
        let call = story.call(prompt, &format!("call {prompt}"));
        let result = story.result(call);
        story.answer(result)
    };
    let last = turn(&mut story, None);
    story.wait();
    let prompt = story.prompt(Some(last));
    let calls = [story.call(prompt, "m"), story.call(prompt + 1, "m"), story.call(prompt + 2, "m")];
    let results = calls.map(|call| story.result(call));
    let answer = story.answer(results[2]);
    story.wait();
    let summary = story.compaction(answer, &[4, 5, 6, 7, 8, 9, 10, 11]);
    if is_chain {
        keep_chain(&mut story, 12, (4, 11));
    }
    story.wait();
    turn(&mut story, Some(summary));
    story.wait();
    story
}

fn keep_chain(story: &mut Story, boundary: usize, (head, tail): (usize, usize)) {
    let kept = json!({ "headUuid": uuid(head), "anchorUuid": uuid(boundary + 1), "tailUuid": uuid(tail) });
    story.set(boundary, "compactMetadata", json!({ "trigger": "auto", "preservedSegment": kept }));
}

/// Checks what `doctor` says of a story, and that its context and its repair have all that is present.
fn assert_whole(name: &str, story: &Story, (sent, present): (u64, u64)) {
    let bytes = story.bytes();
    let found = validated(&bytes, None);
    assert_eq!((found.messages_sent, found.messages_present), (sent, present), "{name}: {found:?}");
    let (plan, context) = chain(&bytes).context(PlanStop::Compaction);
    let (context, _) = placed(&context);
    let found = validated(&context, None);
    let all = (present, present);
    assert_eq!((found.messages_sent, found.messages_present), all, "{name}: {found:?} {plan:?}");
    let mended = repair(&ClaudeCode, &bytes, None);
    let found = &mended.validation;
    assert_eq!((found.messages_sent, found.messages_present), all, "{name}: {:?}", mended.changes);
}

/// The client goes on at the kept record, with all calls and results of its message, and drops what is kept behind it.
#[test]
fn going_back_to_what_a_compaction_keeps_leaves_what_is_kept_behind_that() {
    for (is_chain, at, sent, present) in [
        (false, 4, 6, 6),
        (false, 5, 12, 12),
        (false, 7, 12, 12),
        (false, 9, 12, 12),
        (false, 11, 13, 13),
        (true, 4, 6, 6),
        (true, 5, 8, 12),
        (true, 10, 8, 12),
        (true, 11, 9, 13),
        // A result beside the chain is put away: what hangs on it hangs on the last one that is kept.
        (true, 8, 9, 13),
    ] {
        let mut story = compacted_parallel(is_chain);
        let prompt = story.prompt(Some(at));
        let call = story.call(prompt, "last");
        let result = story.result(call);
        story.answer(result);
        assert_whole(&format!("a prompt at {at}, {is_chain}"), &story, (sent, present));
    }
}

#[test]
fn a_choice_of_what_a_compaction_keeps_is_a_place_behind_the_summary() {
    for (is_chain, at, sent, present) in [
        (false, 4, 2, 2),
        (false, 5, 8, 8),
        (false, 9, 8, 8),
        (false, 11, 9, 9),
        (true, 4, 2, 2),
        // The client makes up the results of the two calls beside the chain.
        (true, 7, 6, 8),
        (true, 11, 5, 9),
        // A choice of what was put away is none.
        (true, 8, 9, 13),
    ] {
        let mut story = compacted_parallel(is_chain);
        story.checkpoint(at, true);
        assert_whole(&format!("a choice of {at}, {is_chain}"), &story, (sent, present));
    }
}

/// The client reads over progress: a list that names some keeps nothing, and so does a chain that ends with it.
#[test]
fn progress_among_what_a_compaction_keeps_costs_nothing() {
    let story = |is_chain: bool, kept: &[usize], is_behind: bool| {
        let mut story = Story::default();
        let first = story.prompt(None);
        let answer = story.answer(first);
        // 2 to 7: the prompt, a call, its progress, its result, the answer and progress behind that.
        let prompt = story.prompt(Some(answer));
        let call = story.call(prompt, "m");
        story.progress(call);
        let result = story.result(call);
        let last = story.answer(result);
        story.progress(last);
        let summary = story.compaction(last, kept);
        if is_chain {
            keep_chain(&mut story, summary - 1, (kept[0], kept[kept.len() - 1]));
        }
        let next = story.prompt(Some(summary));
        story.answer(next);
        story.wait();
        if is_behind {
            story.prompt(Some(7));
        }
        story
    };
    for (is_chain, kept, sent) in [
        (false, &[2, 3, 4, 5, 6][..], 3),
        (false, &[2, 3, 5, 6, 7], 3),
        (true, &[2, 7], 3),
        (true, &[2, 6], 7),
        (false, &[2, 3, 5, 6], 7),
    ] {
        let story = story(is_chain, kept, false);
        assert_whole(&format!("{kept:?} {is_chain}"), &story, (sent, 7));
    }
    // What hangs on progress behind the last kept record hangs on that.
    for (is_chain, kept) in [(false, &[2, 3, 5, 6][..]), (true, &[2, 6])] {
        let story = story(is_chain, kept, true);
        assert_whole(&format!("behind {kept:?} {is_chain}"), &story, (6, 6));
    }
}
