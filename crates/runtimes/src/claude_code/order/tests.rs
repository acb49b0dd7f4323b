//! Records that came late, twice, or below the wrong one: what Claude Code 2.1.330 sent of each of these, and what was said.

use proptest::prelude::*;
use serde_json::json;
use stemmata_model::{CommitType, Granularity};

use super::super::ClaudeCode;
use super::super::chain_tests::{import, placed, validated};
use super::super::row::Place;
use super::super::samples_tests::uuid;
use super::super::story_tests::{Story, numbers};
use super::super::tree::group;
use super::*;
use crate::adapter::{Adapter as _, PlanStop, Validation};
use crate::chain_tests::{Chain, commits, segment, written};
use crate::repair::repair;

/// Three turns of four lines: prompt, call, result, answer.
fn turns() -> Story {
    let mut story = Story::default();
    let mut last = None;
    for turn in 0..3 {
        let prompt = story.prompt(last);
        let call = story.call(prompt, &format!("call {turn}"));
        let result = story.result(call);
        last = Some(story.answer(result));
        story.wait();
    }
    story
}

/// Turns with a compaction (lines 8 and 9) before the last one (lines 10 to 13), which hangs on `parent`.
fn compacted(kept: &[usize], parent: usize) -> Story {
    let mut story = Story::default();
    let mut last = None;
    for turn in 0..2 {
        let prompt = story.prompt(last);
        let call = story.call(prompt, &format!("call {turn}"));
        let result = story.result(call);
        last = Some(story.answer(result));
        story.wait();
    }
    story.compaction(7, kept);
    let prompt = story.prompt(Some(parent));
    let call = story.call(prompt, "call 2");
    let result = story.result(call);
    story.answer(result);
    story.wait();
    story
}

fn made(mut story: Story, change: impl FnOnce(&mut Story)) -> Story {
    change(&mut story);
    story
}

/// An automatic continuation below a record, lines `n` and `n + 1`.
fn goes_on(story: &mut Story, parent: usize) {
    let meta = story.meta(parent);
    story.answer(meta);
}

/// A record again as the last line, with another value somewhere.
fn again_with(story: &mut Story, line: usize, field: &str, value: serde_json::Value) {
    story.again(line);
    story.set(story.len() - 1, field, value);
}

/// Name, transcript, messages that reached the model, lines of the conversation in their order.
type Case = (&'static str, Story, u64, Vec<usize>);

fn in_one_conversation() -> Vec<Case> {
    let all: Vec<usize> = (0..12).collect();
    let longer: Vec<usize> = (0..14).collect();
    let mut cases: Vec<Case> = Vec::new();
    for (name, line) in [("prompt", 4), ("call", 5), ("result", 6), ("answer", 7), ("first prompt", 0)] {
        cases.push((name, made(turns(), |story| story.late(line)), 12, all.clone()));
        let story = made(turns(), |story| {
            story.checkpoint(11, false);
            story.late(line);
        });
        cases.push((name, story, 12, all.clone()));
        let story = made(turns(), |story| {
            story.checkpoint(11, false);
            story.again(line);
        });
        cases.push((name, story, 12, all.clone()));
        cases.push((name, made(turns(), |story| story.again(line)), 12, all.clone()));
        cases.push((
            name,
            made(turns(), |story| again_with(story, line, "slug", json!("x"))),
            12,
            all.clone(),
        ));
    }
    let story = made(turns(), |story| (0..12).for_each(|line| again_with(story, line, "slug", json!("x"))));
    cases.push(("everything again, changed", story, 12, all.clone()));
    let story = made(turns(), |story| again_with(story, 8, "parentUuid", json!(uuid(3))));
    cases.push(("again, below an older record", story, 8, (0..4).chain(8..12).collect()));
    cases.push((
        "a prompt written late, and an old checkpoint above it",
        made(turns(), |story| {
            story.checkpoint(3, false);
            story.late(4);
        }),
        5,
        all.clone(),
    ));
    cases.push(("all lines in the wrong order", made(turns(), Story::reverse), 12, all.clone()));
    cases.push(("the last answer again", made(turns(), |story| story.again(11)), 12, all));
    for checkpoint in [None, Some(3)] {
        let story = made(turns(), |story| {
            if let Some(leaf) = checkpoint {
                story.checkpoint(leaf, false);
            }
            goes_on(story, 3);
        });
        let shift = usize::from(checkpoint.is_some());
        let lines = (0..12).chain([12 + shift, 13 + shift]).collect();
        cases.push(("the client went on from an older record", story, 6, lines));
    }
    let story = made(turns(), |story| goes_on(story, 11));
    cases.push(("the client went on from the last record", story, 14, longer));
    cases
}

fn across_a_compaction() -> Vec<Case> {
    let rest: Vec<usize> = (8..14).collect();
    vec![
        ("nothing odd", compacted(&[], 9), 5, rest.clone()),
        ("its prompt late", made(compacted(&[], 9), |story| story.late(10)), 5, rest.clone()),
        ("an old prompt late", made(compacted(&[], 9), |story| story.late(4)), 0, rest.clone()),
        ("an old prompt again", made(compacted(&[], 9), |story| story.again(4)), 0, rest.clone()),
        ("an old answer again", made(compacted(&[], 9), |story| story.again(7)), 0, rest.clone()),
        ("an old call late", made(compacted(&[], 9), |story| story.late(5)), 0, rest.clone()),
        ("an old result late", made(compacted(&[], 9), |story| story.late(6)), 0, rest.clone()),
        (
            "an old prompt again, changed",
            made(compacted(&[], 9), |story| again_with(story, 4, "slug", json!("x"))),
            0,
            rest.clone(),
        ),
        (
            "the summary again, changed",
            made(compacted(&[], 9), |story| again_with(story, 9, "slug", json!("x"))),
            5,
            rest.clone(),
        ),
        (
            "a record of after it again, changed",
            made(compacted(&[], 9), |story| again_with(story, 10, "slug", json!("x"))),
            5,
            rest.clone(),
        ),
        (
            "an old prompt late, and a checkpoint",
            made(compacted(&[], 9), |story| {
                story.checkpoint(13, false);
                story.late(4);
            }),
            5,
            rest.clone(),
        ),
        (
            "the client went on from before it",
            made(compacted(&[], 9), |story| goes_on(story, 3)),
            2,
            rest.iter().copied().chain([14, 15]).collect(),
        ),
        (
            "the client went on from its summary",
            made(compacted(&[], 9), |story| goes_on(story, 9)),
            3,
            rest.iter().copied().chain([14, 15]).collect(),
        ),
        (
            "the client went on from its boundary",
            made(compacted(&[], 9), |story| goes_on(story, 8)),
            2,
            rest.iter().copied().chain([14, 15]).collect(),
        ),
    ]
}

#[test]
fn a_compaction_that_was_written_late_whole_is_one_all_the_same() {
    let late = |mut story: Story, boundary: usize| {
        story.late(boundary);
        story.late(boundary);
        story
    };
    let mut before_more = late(compacted(&[], 9), 8);
    let prompt = before_more.prompt(Some(13));
    before_more.answer(prompt);
    let mut second = compacted(&[], 9);
    let summary = second.compaction(13, &[]);
    let prompt = second.prompt(Some(summary));
    let answer = second.answer(prompt);
    let prompt = second.prompt(Some(answer));
    second.answer(prompt);
    let stories = [
        (late(compacted(&[], 9), 8), (8..14).collect::<Vec<_>>()),
        (before_more, (8..16).collect()),
        (late(second, 14), (14..20).collect()),
    ];
    for (story, said) in stories {
        let bytes = story.bytes();
        assert_eq!(context(&bytes), said);
        let (checked, messages) = (validated(&bytes, None), said.len() as u64 - 1);
        assert_eq!((checked.messages_sent, checked.messages_present), (messages, messages), "{checked:?}");
    }
}

#[test]
fn what_goes_on_from_before_two_compactions_goes_on_behind_the_last() {
    for parent in [7, 8, 9, 10, 13] {
        let mut story = compacted(if parent == 7 { &[6, 7] } else { &[] }, 9);
        let summary = story.compaction(13, &[]);
        let prompt = story.prompt(Some(summary));
        let answer = story.answer(prompt);
        story.wait();
        goes_on(&mut story, parent);
        let (meta, end) = (answer + 1, answer + 2);
        assert_eq!(context(&story.bytes()), [summary - 1, summary, prompt, answer, meta, end], "{parent}");
        let mended = repair(&ClaudeCode, &story.bytes(), None);
        assert_eq!(mended.validation.messages_sent, 5, "{parent}");
    }
}

/// The lines of a context that stand in the tree.
fn context(bytes: &[u8]) -> Vec<usize> {
    let (_, context) = import(bytes, Granularity::Turn).context(PlanStop::Compaction);
    numbers(&context)
}

fn is_whole(validation: &Validation) -> bool {
    validation.is_accepted() && validation.messages_sent == validation.messages_present
}

#[test]
fn what_was_said_is_found_and_what_the_client_loses_is_told() {
    let marked = |is_compacted: bool| move |case: Case| (is_compacted, case);
    let cases = in_one_conversation().into_iter().map(marked(false));
    let cases = cases.chain(across_a_compaction().into_iter().map(marked(true)));
    for (is_compacted, (name, story, sent, said)) in cases {
        let bytes = story.bytes();
        let shown = || format!("{name}\n{}", String::from_utf8_lossy(&bytes));
        let found = context(&bytes);
        assert_eq!(found, said, "{}", shown());
        let checked = validated(&bytes, None);
        let boundary = said.iter().filter(|&&line| line == 8 && is_compacted).count();
        let messages = (said.len() - boundary) as u64;
        assert_eq!((checked.messages_sent, checked.messages_present), (sent, messages), "{}", shown());
        assert_eq!(checked.is_accepted(), sent == messages, "{:?} {}", checked.findings, shown());
        let repaired = repair(&ClaudeCode, &bytes, None);
        assert!(is_whole(&repaired.validation), "{:?} {}", repaired.validation, shown());
        assert_eq!(repaired.validation.messages_present, messages, "{}", shown());
        assert_eq!(repaired.changes.is_empty(), sent == messages, "{:?} {}", repaired.changes, shown());
        let (_, forked) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
        let verdict = validated(&placed(&forked).0, None);
        assert!(is_whole(&verdict), "{verdict:?} {}", shown());
        assert_eq!(verdict.messages_present, messages, "{}", shown());
    }
}

/// What was said just before stands in, for the client only if it is near enough in time.
#[test]
fn parents_that_lead_in_a_circle_lead_nowhere() {
    let all: Vec<usize> = (0..12).collect();
    for (line, parent, sent) in [(4, 4, 8), (4, 7, 8), (5, 7, 12), (0, 11, 12)] {
        let bytes = made(turns(), |story| story.set(line, "parentUuid", json!(uuid(parent)))).bytes();
        let checked = validated(&bytes, None);
        assert_eq!(
            (checked.messages_sent, checked.messages_present),
            (sent, 12),
            "{line} {parent} {checked:?}"
        );
        let found = context(&bytes);
        assert_eq!(found, all, "{line} {parent}");
        let (_, forked) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
        for mended in [placed(&forked).0, repair(&ClaudeCode, &bytes, None).bytes] {
            let verdict = validated(&mended, None);
            assert!(is_whole(&verdict), "{verdict:?}");
            assert_eq!(verdict.messages_present, 12, "{line} {parent}");
        }
    }
}

fn whole_everywhere(name: &str, story: &Story, sent: u64, messages: u64) {
    let bytes = story.bytes();
    let shown = || format!("{name}\n{}", String::from_utf8_lossy(&bytes));
    let checked = validated(&bytes, None);
    assert_eq!(
        (checked.messages_sent, checked.messages_present),
        (sent, messages),
        "{checked:?} {}",
        shown()
    );
    let (_, forked) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
    let (forked, notes) = placed(&forked);
    assert!(
        !notes.iter().any(|note| note.code == stemmata_model::NoteCode::SyntheticResult),
        "{notes:?} {}",
        shown()
    );
    for mended in [forked, repair(&ClaudeCode, &bytes, None).bytes] {
        let verdict = validated(&mended, None);
        assert!(is_whole(&verdict), "{verdict:?} {}", shown());
        assert_eq!(verdict.messages_present, messages, "{}", shown());
    }
}

/// Two calls of one message, and an answer: lines 4 to 8 of a session.
fn parallel() -> (Story, [usize; 4]) {
    let mut story = Story::default();
    let prompt = story.prompt(None);
    let first = story.call(prompt, "both");
    let second = story.call(first, "both");
    let result = story.result(second);
    let answer = story.answer(result);
    (story, [first, second, result, answer])
}

#[test]
fn a_result_of_parallel_calls_that_came_late_goes_to_the_others() {
    let (mut story, [first, _, _, answer]) = parallel();
    story.result(first);
    let prompt = story.prompt(Some(answer));
    story.answer(prompt);
    whole_everywhere("behind the answer", &story, 8, 8);
    let (mut story, [first, _, _, answer]) = parallel();
    let prompt = story.prompt(Some(answer));
    story.result(first);
    story.answer(prompt);
    whole_everywhere("behind the next prompt", &story, 8, 8);
    let (mut story, [first, _, _, answer]) = parallel();
    let prompt = story.prompt(Some(answer));
    story.answer(prompt);
    story.result(first);
    whole_everywhere("as the last line", &story, 5, 8);
    let (mut story, [first, _, _, answer]) = parallel();
    let boundary = story.compaction(answer, &[]);
    let prompt = story.prompt(Some(boundary + 1));
    story.answer(prompt);
    story.result(first);
    whole_everywhere("behind a compaction", &story, 0, 3);
    // The compaction came between the results.
    let mut story = Story::default();
    let prompt = story.prompt(None);
    let first = story.call(prompt, "both");
    let second = story.call(first, "both");
    let result = story.result(second);
    let summary = story.compaction(result, &[]);
    story.result(first);
    let prompt = story.prompt(Some(summary));
    story.answer(prompt);
    whole_everywhere("behind a compaction in the middle of a turn", &story, 3, 3);
}

#[test]
fn notes_that_came_late_or_again_cut_nothing_off() {
    for is_progress in [false, true] {
        for is_again in [false, true] {
            let mut story = Story::default();
            let prompt = story.prompt(None);
            let answer = story.answer(prompt);
            let note = if is_progress { story.progress(answer) } else { story.system(answer) };
            let prompt = story.prompt(Some(note));
            story.answer(prompt);
            if is_again {
                story.again(note);
            } else {
                story.late(note);
            }
            whole_everywhere("a note", &story, 4, 4);
        }
    }
}

#[test]
fn a_boundary_behind_its_summary_is_a_compaction_all_the_same() {
    for (kept, sent, messages) in [(vec![], 5, 5), (vec![4, 5, 6, 7], 8, 9)] {
        let mut story = compacted(&kept, 9);
        story.late(8);
        let mut lines: Vec<String> =
            String::from_utf8(story.bytes()).expect("text").lines().map(str::to_owned).collect();
        let boundary = lines.pop().expect("the boundary");
        lines.insert(9, boundary);
        let bytes = (lines.join("\n") + "\n").into_bytes();
        let checked = validated(&bytes, None);
        assert_eq!((checked.messages_sent, checked.messages_present), (sent, messages), "{checked:?}");
        let (_, forked) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
        for mended in [placed(&forked).0, repair(&ClaudeCode, &bytes, None).bytes] {
            let verdict = validated(&mended, None);
            assert!(is_whole(&verdict), "{verdict:?}");
            assert_eq!(verdict.messages_present, messages, "{verdict:?}");
        }
    }
}

#[test]
fn where_the_user_went_back_the_rest_stays_away() {
    let mut story = turns();
    story.checkpoint(3, true);
    goes_on(&mut story, 3);
    assert_eq!(context(&story.bytes()), [0, 1, 2, 3, 13, 14]);
    let mut story = turns();
    let prompt = story.prompt(Some(3));
    story.answer(prompt);
    assert_eq!(context(&story.bytes()), [0, 1, 2, 3, 12, 13]);
}

/// The fork of the SDK renames all records but in what a boundary keeps: its client then sends all that was replaced.
#[test]
fn a_copy_whose_compaction_names_other_ids_is_not_all_of_the_old_conversation() {
    let mut story = compacted(&[6, 7], 7);
    for line in 0..story.len() {
        story.set(line, "forkedFrom", json!({ "sessionId": "s", "messageUuid": uuid(900 + line) }));
    }
    let other = json!([uuid(906), uuid(907)]);
    story.set(
        8,
        "compactMetadata",
        json!({ "preservedMessages": { "uuids": other, "anchorUuid": uuid(909) } }),
    );
    let bytes = story.bytes();
    let checked = validated(&bytes, None);
    assert!(!checked.is_accepted(), "{checked:?}");
    let mut chain = Chain::new(&ClaudeCode);
    for (commit_type, native) in commits(&ClaudeCode, Granularity::Turn, &bytes) {
        let mut earlier = chain.clone();
        chain.segments.insert(0, segment(commit_type, &native));
        if commit_type == CommitType::Compaction {
            let plan = ClaudeCode.plan_compaction(&native, &mut earlier).expect("no storage");
            chain.segments[0].prefix = Some(written(&plan.pieces, &chain.segments).into());
        }
    }
    let context = numbers(&chain.context(PlanStop::Compaction).1);
    assert!(context.contains(&13) && !context.iter().any(|&line| line < 6), "{context:?}");
    let repaired = repair(&ClaudeCode, &bytes, None);
    assert!(is_whole(&repaired.validation), "{:?}", repaired.validation);
    // A result whose call is not kept is not sent.
    assert_eq!(repaired.validation.messages_present, 6);
}

#[test]
fn what_hangs_in_the_way_is_sent_a_subagents_too() {
    let mut story = turns();
    for line in 4..8 {
        story.set(line, "isSidechain", json!(true));
    }
    let bytes = story.bytes();
    let checked = validated(&bytes, None);
    assert_eq!((checked.messages_sent, checked.messages_present), (12, 12), "{checked:?}");
    let (_, context) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
    assert_eq!(numbers(&context), (0..12).collect::<Vec<_>>());
    assert!(!String::from_utf8_lossy(&context).contains("\"isSidechain\":true"));
    // At the end they are no part of it, and a checkpoint there hides all.
    let mut story = turns();
    for line in 8..12 {
        story.set(line, "isSidechain", json!(true));
    }
    let checked = validated(&story.bytes(), None);
    assert_eq!((checked.messages_sent, checked.messages_present), (8, 8), "{checked:?}");
    story.checkpoint(11, false);
    let checked = validated(&story.bytes(), None);
    assert_eq!((checked.messages_sent, checked.messages_present), (0, 8), "{checked:?}");
    assert!(!checked.is_accepted());
}

#[test]
fn a_subagent_is_placed_as_a_session_of_its_own() {
    for agent in [None, Some("a77")] {
        let mut story = turns();
        for line in 0..12 {
            story.set(line, "isSidechain", json!(true));
            if let Some(agent) = agent {
                story.set(line, "agentId", json!(agent));
            }
        }
        let bytes = story.bytes();
        assert_eq!(validated(&bytes, None).is_accepted(), agent.is_some());
        let (_, context) = import(&bytes, Granularity::Turn).context(PlanStop::Compaction);
        let (placed, _) = placed(&context);
        let text = String::from_utf8_lossy(&placed);
        assert!(!text.contains("agentId") && !text.contains("\"isSidechain\":true"), "{text}");
        let verdict = validated(&placed, None);
        assert!(is_whole(&verdict), "{verdict:?}");
        assert_eq!(verdict.messages_sent, 12);
    }
}

/// Older clients wrote subagents into the file of their session, and one may stand before its first prompt.
#[test]
fn a_subagent_ahead_of_the_first_prompt_does_not_make_the_session_one() {
    let mut story = Story::default();
    let side = story.prompt(None);
    story.set(side, "isSidechain", json!(true));
    let prompt = story.prompt(None);
    story.answer(prompt);
    let placed = placed(&story.bytes()).0;
    let text = String::from_utf8_lossy(&placed);
    assert_eq!((text.matches("\"isSidechain\":true").count(), text.lines().count()), (1, 3), "{text}");
    let checked = validated(&placed, None);
    assert_eq!((checked.messages_sent, checked.messages_present), (2, 2), "{checked:?}");
}

proptest! {
    /// Whatever hangs on what, in circles too: what is in order has no other order.
    #[test]
    fn lines_are_sorted_once(parents in proptest::collection::vec(proptest::option::of(0..12_usize), 1..12)) {
        let mut story = Story::default();
        for (line, parent) in parents.iter().enumerate() {
            if line % 2 == 0 { story.prompt(*parent) } else { story.answer(parent.unwrap_or(0)) };
        }
        let mut names = Vec::new();
        let bytes = story.bytes();
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let mut rows: Vec<Row> =
            lines.map(|line| Row::read(line, Place { segment: 0, offset: 0 }, &mut names)).collect();
        let by_key = |rows: &[Row]| rows.iter().enumerate().filter_map(|(at, row)| Some((row.key?, at))).collect();
        let last = by_key(&rows);
        let units = group(&rows);
        let order = sort(&mut rows, &last, &units);
        if let Some(mut order) = order {
            order.sort_unstable();
            prop_assert_eq!(order, (0..rows.len()).collect::<Vec<_>>(), "no line is lost");
        }
        let last = by_key(&rows);
        let units = group(&rows);
        prop_assert_eq!(sort(&mut rows, &last, &units), None);
    }
}

#[test]
fn a_transcript_that_stands_there_twice_is_sorted_in_time() {
    let mut story = Story::default();
    let mut last = None;
    for _ in 0..10_000 {
        let prompt = story.prompt(last);
        last = Some(story.answer(prompt));
    }
    let bytes = [story.bytes(), story.bytes()].concat();
    let checked = validated(&bytes, None);
    assert_eq!((checked.messages_sent, checked.messages_present), (20_000, 20_000));
}
