//! Laws of contexts, on made-up transcripts and on the corpus.

use proptest::prelude::*;
use serde_json::json;
use stemmata_model::{CommitType, Granularity};

use super::super::chain_tests::{import, placed, validated};
use super::super::record::Record;
use super::super::row::{Key, Link, Place, Row};
use super::super::samples_tests::{corpus_files, uuid};
use super::super::story_tests::{Story, numbers, parents};
use crate::adapter::{ContextPlan, PlanStop, Segment, Severity};
use crate::chain_tests::{Chain, segment};
use crate::claude_code::ClaudeCode;

const STOPS: [PlanStop; 2] = [PlanStop::Compaction, PlanStop::Root];

/// The context of a story, as line numbers: one that the loader takes and sends whole.
#[track_caller]
fn context(story: &Story, stop: PlanStop) -> (ContextPlan, Vec<usize>, Vec<u8>) {
    let (plan, bytes) = import(&story.bytes(), Granularity::Turn).context(stop);
    assert_eq!(trouble(&bytes), Vec::<String>::new(), "{stop:?}");
    let kept = numbers(&bytes);
    (plan, kept, bytes)
}

/// Returns how many segments a plan of a context reads.
fn reads(mut chain: Chain<'_>) -> usize {
    let all = chain.segments.len();
    super::plan(&mut chain, PlanStop::Compaction).expect("no storage, no error");
    all - chain.segments.len()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n').collect()
}

/// What a loader would refuse or lose.
fn trouble(bytes: &[u8]) -> Vec<String> {
    let validation = validated(bytes, None);
    let fatal = validation.findings.iter().filter(|finding| finding.severity == Severity::Fatal);
    let mut trouble: Vec<String> = fatal.map(|finding| format!("{finding:?}")).collect();
    if validation.messages_sent != validation.messages_present {
        trouble.push(format!("{} of {} sent", validation.messages_sent, validation.messages_present));
    }
    trouble
}

#[test]
fn a_branch_that_the_user_left_stays_out_with_all_that_hangs_on_it() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let duration = story.system(answer);
    let old = story.prompt(Some(duration));
    let note = story.system(old);
    let old_answer = story.answer(note);
    story.about(old);
    story.checkpoint(old_answer, false);
    story.wait();
    let new = story.prompt(Some(duration));
    let new_answer = story.answer(new);
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer, duration, new, new_answer]);
    assert_eq!(plan.abandoned_entries, 5);
    assert_eq!(plan.reparented, []);
}

#[test]
fn parallel_calls_stay_whole_with_all_results() {
    let mut story = Story::default();
    let prompt = story.prompt(None);
    let calls = [story.call(prompt, "m"), 0, 0];
    let calls = [calls[0], story.call(calls[0], "m"), 0];
    let calls = [calls[0], calls[1], story.call(calls[1], "m")];
    let results = calls.map(|call| story.result(call));
    let end = story.answer(results[1]);
    let (plan, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, (0..story.len()).collect::<Vec<_>>());
    assert_eq!((plan.abandoned_entries, plan.reparented.len()), (0, 0));
    assert_eq!(bytes, story.bytes());
    assert_eq!(validated(&bytes, None).messages_sent, end as u64 + 1);
}

#[test]
fn a_prompt_that_hangs_on_the_progress_of_a_tool_loses_nothing() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let progress = story.progress(call);
    let result = story.result(call);
    let answer = story.answer(result);
    story.wait();
    let next = story.prompt(Some(progress));
    let (plan, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, call, progress, result, answer, next]);
    assert!(parents(&bytes).contains(&(next, Some(answer))), "{:?}", parents(&bytes));
    assert_eq!(plan.reparented.len(), 1);
    // The client itself would drop the answer: here more is kept than it keeps.
    assert!(!trouble(&story.bytes()).is_empty());
}

#[test]
fn a_parent_that_was_never_written_costs_nothing() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let note = story.system(answer);
    story.wait();
    let next = story.prompt(Some(answer));
    story.set(next, "parentUuid", json!(uuid(9999)));
    let last = story.answer(next);
    let (plan, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer, note, next, last]);
    assert_eq!(plan.recovered, 1);
    assert!(parents(&bytes).contains(&(next, Some(note))));
    assert!(!trouble(&story.bytes()).is_empty(), "the client would lose it");
}

#[test]
fn a_late_note_on_an_old_record_does_not_lead_back() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let next = story.prompt(Some(answer));
    let last = story.answer(next);
    story.wait();
    let late = story.system(first);
    let (_, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer, next, last, late]);
    assert!(parents(&bytes).contains(&(late, Some(last))));
    assert!(!trouble(&story.bytes()).is_empty(), "the client would go on from the first prompt");
}

#[test]
fn a_checkpoint_at_a_dead_end_is_left_out() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let note = story.system(answer);
    story.checkpoint(note, false);
    story.wait();
    let next = story.prompt(Some(answer));
    let (_, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer, note, next]);
    assert!(!String::from_utf8_lossy(&bytes).contains("last-prompt"));
    assert!(!trouble(&story.bytes()).is_empty(), "the client would drop the last prompt");
}

#[test]
fn the_user_s_own_choice_of_an_earlier_record_is_the_end() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let old = story.prompt(Some(answer));
    story.answer(old);
    story.checkpoint(answer, true);
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer]);
    assert_eq!(plan.abandoned_entries, 2);
}

#[test]
fn an_answer_that_was_tried_again_stays_out_unless_tools_ran_in_it() {
    for worked in [false, true] {
        let mut story = Story::default();
        let first = story.prompt(None);
        let tried = if worked { story.call(first, "tried") } else { story.answer(first) };
        let mut done = vec![tried];
        if worked {
            done.push(story.result(tried));
        }
        story.wait();
        let again = story.answer(first);
        let (_, kept, _) = context(&story, PlanStop::Compaction);
        let done = if worked { done } else { Vec::new() };
        assert_eq!(kept, [vec![first], done, vec![again]].concat());
    }
}

#[test]
fn an_answer_that_hangs_on_nothing_goes_on_from_what_was_before() {
    let mut story = Story::default();
    let first = story.prompt(None);
    story.wait();
    let answer = story.answer(first);
    story.set(answer, "parentUuid", json!(null));
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!((kept, plan.recovered), (vec![first, answer], 1));
}

#[test]
fn a_result_that_names_no_record_goes_below_its_call() {
    for parent in [0, 9999] {
        let mut story = Story::default();
        let first = story.prompt(None);
        let call = story.call(first, "m");
        story.wait();
        let result = story.result_below(parent, call);
        let last = story.answer(result);
        let (_, kept, bytes) = context(&story, PlanStop::Compaction);
        assert_eq!(kept, [first, call, result, last]);
        assert!(parents(&bytes).contains(&(result, Some(call))), "{:?}", parents(&bytes));
    }
}

#[test]
fn a_conversation_that_the_user_left_altogether_stays_out() {
    let mut story = Story::default();
    let first = story.prompt(None);
    story.about(first);
    let old = story.answer(first);
    story.push(json!({ "type": "mode", "mode": "plan" }));
    story.wait();
    let new = story.prompt(None);
    let answer = story.answer(new);
    // Late, and of the old conversation: it must not look like a branch of the new one.
    story.answer(old);
    let last = story.prompt(Some(answer));
    for stop in STOPS {
        let (_, kept, bytes) = context(&story, stop);
        assert_eq!(kept, [new, answer, last], "{stop:?}");
        assert_eq!(lines(&bytes).len(), 3, "what was about the old conversation only goes with it");
    }
}

#[test]
fn what_leads_to_an_abandoned_prompt_goes_with_it() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let caveat = story.meta(answer);
    story.prompt(Some(caveat));
    story.wait();
    let new = story.prompt(Some(answer));
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, answer, new]);
    assert_eq!(plan.abandoned_entries, 2);
}

#[test]
fn a_choice_that_is_overtaken_does_not_count_again_when_less_follows() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let second = story.prompt(Some(answer));
    story.checkpoint(answer, true);
    story.compaction(second, &[]);
    let (_, kept, bytes) = context(&story, PlanStop::Root);
    assert_eq!(kept, [first, answer, second]);
    assert_eq!(validated(&bytes, None).messages_sent, 3);
}

#[test]
fn a_chain_that_a_compaction_keeps_is_kept_whole() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let result = story.result(call);
    let answer = story.answer(result);
    let summary = story.compaction(answer, &[]);
    let ends = json!({ "headUuid": uuid(call), "anchorUuid": uuid(summary), "tailUuid": uuid(answer) });
    let metadata = json!({ "trigger": "auto", "preTokens": 1, "preservedSegment": ends });
    story.set(summary - 1, "compactMetadata", metadata);
    let next = story.prompt(Some(summary));
    let (_, kept, bytes) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [summary - 1, summary, call, result, answer, next]);
    for bytes in [bytes, story.bytes()] {
        let validation = validated(&bytes, None);
        assert_eq!(
            (validation.messages_sent, validation.messages_present),
            (5, 5),
            "{:?}",
            validation.findings
        );
        assert!(validation.is_accepted());
    }
}

#[test]
fn lines_of_the_tree_between_boundary_and_summary_stay() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let boundary = story.boundary(answer, &[]);
    let note = story.system(boundary);
    let summary = story.summary(note);
    let next = story.prompt(Some(summary));
    let (_, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [boundary, note, summary, next]);
}

/// Two compactions; the second keeps the last answer before it.
fn compacted() -> (Story, [usize; 2], usize) {
    let mut story = Story::default();
    let mut last = None;
    let mut summaries = [0, 0];
    for summary in &mut summaries {
        let prompt = story.prompt(last);
        let call = story.call(prompt, &format!("m{prompt}"));
        let result = story.result(call);
        let answer = story.answer(result);
        let kept: &[usize] = if prompt > 0 { &[answer] } else { &[] };
        *summary = story.compaction(answer, kept);
        let note = story.meta(*summary);
        last = Some(note);
    }
    let prompt = story.prompt(last);
    let end = story.answer(prompt);
    (story, summaries, end)
}

#[test]
fn the_nearest_compaction_and_what_follows_it() {
    let (story, [_, summary], end) = compacted();
    let kept_answer = summary - 2;
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    let expected: Vec<usize> =
        [summary - 1, summary, kept_answer].into_iter().chain(summary + 1..=end).collect();
    assert_eq!(kept, expected);
    assert_eq!((plan.skipped_compactions, plan.reparented.len(), plan.abandoned_entries), (0, 0, 0));
    let chain = import(&story.bytes(), Granularity::Turn);
    let compaction = chain.segments.iter().position(|segment| segment.commit_type == CommitType::Compaction);
    assert_eq!(reads(chain), compaction.expect("a compaction") + 1);
}

#[test]
fn all_real_entries_from_the_beginning() {
    let (story, [first, second], end) = compacted();
    let (plan, kept, bytes) = context(&story, PlanStop::Root);
    let is_compaction = |line: &usize| [first - 1, first, second - 1, second].contains(line);
    assert_eq!(kept, (0..=end).filter(|line| !is_compaction(line)).collect::<Vec<_>>());
    assert_eq!(plan.skipped_compactions, 2);
    assert_eq!(plan.reparented.len(), 2);
    assert!(parents(&bytes).contains(&(first + 1, Some(first - 2))));
    assert!(parents(&bytes).contains(&(second + 1, Some(second - 2))));
    assert_eq!(validated(&bytes, None).messages_sent, kept.len() as u64);
}

#[test]
fn a_prompt_before_the_compaction_leads_around_it() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let second = story.prompt(Some(answer));
    let last = story.answer(second);
    story.compaction(last, &[]);
    story.wait();
    let new = story.prompt(Some(answer));
    for stop in STOPS {
        let (plan, kept, _) = context(&story, stop);
        assert_eq!(kept, [first, answer, new], "{stop:?}");
        assert_eq!(plan.skipped_compactions, 0);
        assert_eq!(plan.abandoned_entries, 4);
    }
}

#[test]
fn a_record_below_one_that_the_compaction_keeps_leads_to_the_compaction() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let summary = story.compaction(answer, &[answer]);
    story.wait();
    let next = story.prompt(Some(answer));
    let (_, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [summary - 1, summary, answer, next]);
    let chain = import(&story.bytes(), Granularity::Turn);
    assert_eq!(reads(chain), 2, "the prompt and the compaction");
    let (plan, kept, _) = context(&story, PlanStop::Root);
    assert_eq!(kept, [first, answer, next]);
    assert_eq!((plan.skipped_compactions, plan.reparented.len()), (1, 0));
}

#[test]
fn a_way_around_a_compaction_may_go_through_what_it_keeps() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let second = story.prompt(Some(answer));
    story.compaction(second, &[first]);
    story.wait();
    let new = story.prompt(Some(answer));
    for granularity in [Granularity::Turn, Granularity::Message] {
        let (_, bytes) = import(&story.bytes(), granularity).context(PlanStop::Compaction);
        assert_eq!(numbers(&bytes), [first, answer, new], "{granularity:?}");
    }
}

#[test]
fn a_compaction_without_its_summary_hides_nothing() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    story.boundary(answer, &[]);
    for stop in STOPS {
        let (plan, kept, _) = context(&story, stop);
        assert_eq!(kept, [first, answer]);
        assert_eq!(plan.skipped_compactions, 0);
    }
}

#[test]
fn an_ancestor_is_inclusive_and_its_first_record_hangs_on_nothing() {
    let (story, [first, second], end) = compacted();
    let mut chain = import(&story.bytes(), Granularity::Turn);
    let marked = chain.segments.iter().position(|segment| {
        segment.commit_type == CommitType::Delta && numbers(&segment.native).contains(&(first + 2))
    });
    chain.segments[marked.expect("the turn after the first compaction")].is_stop = true;
    let (plan, bytes) = chain.context(PlanStop::Ancestor);
    let from = numbers(&chain.segments[marked.expect("as above")].native)[0];
    let is_compaction = |line: &usize| [second - 1, second].contains(line);
    assert_eq!(numbers(&bytes), (from..=end).filter(|line| !is_compaction(line)).collect::<Vec<_>>());
    assert_eq!(parents(&bytes)[0], (from, None));
    assert_eq!(plan.skipped_compactions, 1);
    assert_eq!(plan.reparented.len(), 2);
    assert_eq!(plan.recovered, 0);
    assert_eq!(trouble(&bytes), Vec::<String>::new());
}

#[test]
fn an_ancestor_that_is_a_compaction_gives_its_artifact() {
    let (story, [first, second], end) = compacted();
    let mut chain = import(&story.bytes(), Granularity::Turn);
    let marked = chain.segments.iter().rposition(|segment| segment.commit_type == CommitType::Compaction);
    chain.segments[marked.expect("a compaction")].is_stop = true;
    let (plan, bytes) = chain.context(PlanStop::Ancestor);
    let is_second = |line: &usize| [second - 1, second].contains(line);
    assert_eq!(numbers(&bytes), (first - 1..=end).filter(|line| !is_second(line)).collect::<Vec<_>>());
    assert_eq!(plan.skipped_compactions, 1);
    assert_eq!(trouble(&bytes), Vec::<String>::new());
}

/// A snapshot whose artifact is its own bytes.
fn restating(restated_entries: u64, bytes: &[u8]) -> Segment {
    let snapshot = segment(CommitType::Snapshot { restated_entries }, bytes);
    Segment { prefix: Some(snapshot.native.clone()), ..snapshot }
}

#[test]
fn a_snapshot_says_nothing_twice() {
    let mut before = Story::default();
    let first = before.prompt(None);
    let answer = before.answer(first);
    let mut whole = before.clone();
    let next = whole.prompt(Some(answer));
    let last = whole.answer(next);
    let all: Vec<usize> = (0..=last).collect();
    for (restated, older) in [(2, true), (0, false)] {
        let mut chain = Chain::new(&ClaudeCode);
        if older {
            chain.push(CommitType::Delta, &before.bytes());
        }
        chain.segments.insert(0, restating(restated, &whole.bytes()));
        for stop in STOPS {
            let (plan, bytes) = chain.context(stop);
            assert_eq!(numbers(&bytes), all, "{restated} {stop:?}");
            assert_eq!(plan.reparented, []);
            assert_eq!(trouble(&bytes), Vec::<String>::new());
        }
    }
}

#[test]
fn a_snapshot_with_ids_of_its_own_hangs_on_what_it_restates() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let bytes = story.bytes();
    let copy = [story.prompt(None), 0];
    let copy = [copy[0], story.answer(copy[0])];
    let next = story.prompt(Some(copy[1]));
    let snapshot = story.bytes()[bytes.len()..].to_vec();
    let mut chain = Chain::new(&ClaudeCode);
    chain.push(CommitType::Delta, &bytes);
    chain.segments.insert(0, restating(2, &snapshot));
    for stop in STOPS {
        let (_, context) = chain.context(stop);
        assert_eq!(numbers(&context), [first, answer, next], "{stop:?}");
        assert_eq!(parents(&context)[2], (next, Some(answer)));
        assert_eq!(trouble(&context), Vec::<String>::new());
    }
}

#[test]
fn a_subagent_s_lines_inside_a_conversation_stay_with_their_call() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let side = story.prompt(None);
    story.set(side, "isSidechain", json!(true));
    let side_answer = story.answer(side);
    story.set(side_answer, "isSidechain", json!(true));
    let result = story.result(call);
    let last = story.answer(result);
    let (plan, kept, _) = context(&story, PlanStop::Compaction);
    assert_eq!(kept, [first, call, side, side_answer, result, last]);
    assert_eq!((plan.abandoned_entries, plan.reparented.len()), (0, 0));
}

/// What happens next in a made-up conversation.
#[derive(Debug, Clone)]
enum Act {
    Turn { calls: usize, reversed: bool, progress: bool },
    Rewind(prop::sample::Index),
    Compact { keep: bool },
    Metadata,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let turn = (0..4_usize, any::<bool>(), any::<bool>());
    let turn = turn.prop_map(|(calls, reversed, progress)| Act::Turn { calls, reversed, progress });
    let act = prop_oneof![
        6 => turn,
        2 => any::<prop::sample::Index>().prop_map(Act::Rewind),
        1 => any::<bool>().prop_map(|keep| Act::Compact { keep }),
        1 => Just(Act::Metadata),
    ];
    prop::collection::vec(act, 1..14)
}

/// A conversation and, for each place where a turn ended, the messages of its branch: all, and since the
/// last compaction.
#[derive(Debug, Clone, Default)]
struct Played {
    story: Story,
    ends: Vec<End>,
}

#[derive(Debug, Clone)]
struct End {
    line: usize,
    all: Vec<usize>,
    since: Vec<usize>,
}

fn play(acts: &[Act]) -> Played {
    let mut played = Played::default();
    let mut end: Option<End> = None;
    for act in acts {
        played.story.wait();
        match act {
            Act::Turn { calls, reversed, progress } => {
                let at = end.clone();
                let next = turn(&mut played.story, at, (*calls, *reversed, *progress));
                played.ends.push(next.clone());
                end = Some(next);
            }
            Act::Rewind(index) if !played.ends.is_empty() => end = Some(index.get(&played.ends).clone()),
            Act::Compact { keep } => {
                let Some(at) = end.take() else { continue };
                let kept: Vec<usize> = at.all.last().copied().filter(|_| *keep).into_iter().collect();
                let summary = played.story.compaction(at.line, &kept);
                let since = kept.into_iter().chain([summary]).collect();
                let next = End { line: summary, all: at.all, since };
                played.ends.push(next.clone());
                end = Some(next);
            }
            Act::Metadata => {
                played.story.push(json!({ "type": "mode", "mode": "default" }));
            }
            Act::Rewind(_) => {}
        }
    }
    // What the user went back to counts with the next prompt only.
    if let Some(at) = end {
        let next = turn(&mut played.story, Some(at), (1, false, true));
        played.ends.push(next);
    }
    played
}

fn turn(story: &mut Story, at: Option<End>, (count, reversed, progress): (usize, bool, bool)) -> End {
    let mut end = at.unwrap_or(End { line: 0, all: Vec::new(), since: Vec::new() });
    let parent = (!end.since.is_empty()).then_some(end.line);
    let mut messages = vec![story.prompt(parent)];
    let mut last = messages[0];
    if count > 0 {
        let message = format!("msg_calls_{}", story.len());
        let mut calls = Vec::new();
        for _ in 0..count {
            last = story.call(last, &message);
            calls.push(last);
        }
        if progress {
            story.progress(last);
        }
        if reversed {
            calls.reverse();
        }
        messages.extend(&calls);
        for call in calls {
            last = story.result(call);
            messages.push(last);
        }
    }
    last = story.answer(last);
    messages.push(last);
    end.line = story.system(last);
    end.all.extend(&messages);
    end.since.extend(&messages);
    end
}

fn sorted(mut lines: Vec<usize>) -> Vec<usize> {
    lines.sort_unstable();
    lines
}

proptest! {
    #[test]
    fn a_context_holds_the_active_branch_and_no_other(acts in acts()) {
        let played = play(&acts);
        let Some(end) = played.ends.last() else { return Ok(()) };
        let bytes = played.story.bytes();
        let messages = |bytes: &[u8]| {
            let lines = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| {
                Record::parse(line).is_ok_and(|record| record.is_type("user") || record.is_type("assistant"))
            });
            sorted(numbers(&lines.collect::<Vec<_>>().concat()))
        };
        let mut contexts = Vec::new();
        for granularity in [Granularity::Turn, Granularity::Message, Granularity::Every(3)] {
            let chain = import(&bytes, granularity);
            let (_, since) = chain.context(PlanStop::Compaction);
            let (_, all) = chain.context(PlanStop::Root);
            prop_assert_eq!(messages(&since), sorted(end.since.clone()));
            prop_assert_eq!(messages(&all), sorted(end.all.clone()));
            prop_assert_eq!(trouble(&since), Vec::<String>::new());
            prop_assert_eq!(trouble(&all), Vec::<String>::new());
            contexts.push((since, all));
        }
        prop_assert!(contexts.windows(2).all(|pair| pair[0] == pair[1]), "cuts make no difference");
    }

    #[test]
    fn any_lines_make_a_plan(lines in prop::collection::vec("[UATZRIBCmxdsSr?. ]{1,12}", 1..5), cut in any::<prop::sample::Index>()) {
        let mut bytes: Vec<u8> = lines.iter().flat_map(|letters| super::super::samples_tests::transcript(letters)).collect();
        bytes.truncate(cut.index(bytes.len() + 1));
        for granularity in [Granularity::Turn, Granularity::Message] {
            let chain = import(&bytes, granularity);
            for stop in STOPS {
                chain.context(stop);
            }
        }
    }
}

fn is_compaction(line: &[u8]) -> bool {
    Record::parse(line).is_ok_and(|record| record.is_compact_boundary() || record.is_compaction_summary())
}

#[test]
fn a_context_of_the_corpus_is_its_bytes_where_nothing_had_to_be_left_out() {
    for (name, bytes) in corpus_files() {
        let chain = import(&bytes, Granularity::Turn);
        let (plan, context) = chain.context(PlanStop::Compaction);
        let start = chain.segments.iter().position(|segment| segment.commit_type == CommitType::Compaction);
        let mut expected = Vec::new();
        if let Some(compaction) = start {
            expected.extend_from_slice(chain.segments[compaction].prefix.as_ref().expect("an artifact"));
        }
        let after = &chain.segments[..start.unwrap_or(chain.segments.len())];
        after.iter().rev().for_each(|segment| expected.extend_from_slice(&segment.native));
        if plan.recovered == 0 {
            assert_eq!((plan.abandoned_entries, plan.reparented.len()), (0, 0), "{name}");
            assert!(context == expected, "{name}: {} bytes, not {}", context.len(), expected.len());
        }
        let (plan, context) = chain.context(PlanStop::Root);
        if plan.recovered == 0 {
            let real = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_compaction(line));
            let about = context.split_inclusive(|&byte| byte == b'\n').count() as u64;
            assert_eq!(
                about + plan.abandoned_entries + metadata_of_compactions(&bytes),
                real.count() as u64,
                "{name}"
            );
        }
    }
}

/// Counts the lines outside the tree that speak of a compaction's records.
fn metadata_of_compactions(bytes: &[u8]) -> u64 {
    let lines = || bytes.split_inclusive(|&byte| byte == b'\n').filter_map(|line| Record::parse(line).ok());
    let of_compactions =
        lines().filter(|record| record.is_compact_boundary() || record.is_compaction_summary());
    let ids: Vec<String> =
        of_compactions.filter_map(|record| Some(record.uuid_text()?.into_owned())).collect();
    let about = lines().filter_map(|record| record.leaf_uuid.or(record.message_id)?.text());
    about.filter(|about| ids.iter().any(|id| id == about)).count() as u64
}

#[test]
fn every_cut_of_the_corpus_can_be_placed_and_is_accepted() {
    // A cut in every third of a file, moving on through the lines from file to file.
    for (index, (name, bytes)) in corpus_files().into_iter().enumerate() {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == b'\n').collect();
        for third in 1..=3 {
            let cut = (lines.len() * third / 3).saturating_sub(if third == 3 { 0 } else { index % 7 });
            let part = lines[..cut].concat();
            let chain = import(&part, Granularity::Turn);
            for stop in STOPS {
                let (_, context) = chain.context(stop);
                let (out, _) = placed(&context);
                if validated(&out, None).messages_present == 0 {
                    assert!(chain.segments.len() <= 1, "{name} cut at {cut}: nothing is left");
                    continue;
                }
                assert_eq!(trouble(&out), Vec::<String>::new(), "{name} cut at line {cut}, {stop:?}");
                let pairs =
                    validated(&out, None).findings.into_iter().filter(|finding| finding.check == "open_call");
                assert_eq!(pairs.count(), 0, "{name} cut at line {cut}, {stop:?}");
            }
        }
    }
}

/// Shows lines as number, kind and parent.
fn shown(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|&byte| byte == b'\n');
    let line = |line: &[u8]| {
        let row = Row::read(line, Place { segment: 0, offset: 0 }, &mut Vec::new());
        let tail = |key: Key| key.uuid_text().split_off(33);
        let parent = match row.parent {
            Link::Of(key) => tail(key),
            other => format!("{other:?}"),
        };
        format!("{:?} {} <- {parent}", row.kind, row.key.map(tail).unwrap_or_default())
    };
    lines.map(line).collect::<Vec<_>>().join("\n")
}

/// A line of any kind, what it hangs on, and whether time passes before it.
fn any_node() -> impl Strategy<Value = (u8, Option<prop::sample::Index>, bool)> {
    (0..9_u8, prop::option::weighted(0.9, any::<prop::sample::Index>()), prop::bool::weighted(0.1))
}

/// Hangs each on an earlier line, or with `forward` on any; one in so many on a line that is not there.
fn tangle(nodes: &[(u8, Option<prop::sample::Index>, bool)], forward: bool) -> Story {
    let mut story = Story::default();
    let mut spoken = Vec::new();
    let mut calls: Option<(usize, usize)> = None;
    for (number, (kind, parent, waits)) in nodes.iter().enumerate() {
        if *waits {
            story.wait();
        }
        let lines = if forward { nodes.len() } else { story.len() };
        let parent = parent.as_ref().map(|parent| parent.index(lines + 1));
        let parent = parent.map(|parent| if parent == story.len() { 9999 } else { parent });
        let near = number.saturating_sub(1);
        let line = story.len();
        let _number = match kind {
            0 => story.prompt(parent),
            1 => story.answer(parent.unwrap_or(near)),
            2 => {
                // Calls in a row are one message, each below the one before.
                let before = calls.take_if(|(_, last)| *last + 1 == line);
                let (first, parent) = before.unwrap_or((line, parent.unwrap_or(near)));
                story.call(parent, &format!("m{first}"));
                calls = Some((first, line));
                line
            }
            3 => {
                // A result hangs on its call, or on a record that was never written.
                let call = line.saturating_sub(1);
                story.result_below(parent.filter(|_| *waits).unwrap_or(call), call)
            }
            4 => story.progress(parent.unwrap_or(near)),
            5 => story.system(parent.unwrap_or(near)),
            6 => story.meta(parent.unwrap_or(near)),
            7 => {
                // Only messages are kept by compactions; what is kept of parallel calls has tests of its own.
                let kept = spoken.last().filter(|_| *waits).copied();
                story.compaction(parent.unwrap_or(near), &kept.into_iter().collect::<Vec<_>>())
            }
            _ => story.checkpoint(parent.unwrap_or(near), *waits),
        };
        if matches!(kind, 0 | 1) {
            spoken.push(line);
        }
    }
    story
}

proptest! {
    #[test]
    fn whatever_the_links_the_loader_finds_the_whole_context(nodes in prop::collection::vec(any_node(), 1..40)) {
        let bytes = tangle(&nodes, false).bytes();
        let mut contexts = Vec::new();
        for granularity in [Granularity::Turn, Granularity::Message] {
            let chain = import(&bytes, granularity);
            for stop in STOPS {
                let (_, context) = chain.context(stop);
                // Notes of the runtime alone are no conversation.
                if ["Prompt", "Assistant", "Result"].iter().any(|kind| shown(&context).contains(kind)) {
                    prop_assert_eq!(trouble(&context), Vec::<String>::new(), "{:?} {:?}\n{}\n{}", stop, granularity, shown(&bytes), shown(&context));
                }
                contexts.push(context);
            }
        }
        for (turns, messages) in contexts.iter().zip(&contexts[2..]) {
            prop_assert!(turns == messages, "{}\n=\n{}\nor\n{}", shown(&bytes), shown(turns), shown(messages));
        }
    }

    #[test]
    fn circles_and_links_to_later_lines_end(nodes in prop::collection::vec(any_node(), 1..40)) {
        let chain = import(&tangle(&nodes, true).bytes(), Granularity::Message);
        for stop in STOPS {
            let (_, context) = chain.context(stop);
            validated(&placed(&context).0, None);
            validated(&context, Some("2.1.50"));
        }
    }
}
