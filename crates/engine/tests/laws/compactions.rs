//! Compactions of sessions of ours: the session goes on from them, nothing is lost, and all of it is there or nothing.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use stemmata_engine::{
    AroundQuery, BeginTurn, BundleSelection, CheckpointRequest, Clock, CompactOf, CompactWanted, CompactWith,
    Compacted, Engine, EngineError, RandomIds, Refusal, Result, SameCall, ScrubTarget, Stop, StoreRules,
    TurnMade, TurnOf,
};
use stemmata_model::{
    CommitId, CommitType, Entry, EntryId, EntryKind, FormatId, LedgerId, NewEvent, NewPayload, Part, Party,
    Principal, Reason, Role, SessionId, Template, Timestamp, Tokens, Trigger, topics,
};
use stemmata_prompt::compact::summary::Size;
use stemmata_prompt::compact::{SummarizeError, Summarizer, SummaryAsked};
use stemmata_prompt::window::KeepRecent;
use stemmata_runtimes::captured::visibility::{ShowAs, Shown, line};
use stemmata_runtimes::registry;
use stemmata_store::{Commits, EventQuery, FileLog, FileLogOptions, SessionKey, Store};
use stemmata_testkit::claude::{ClaudeSession, Transcript};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::bundles::{export, other, take as take_bundle};
use crate::support::{
    Folder, bytes_of, chain, compaction_at, engine, engine_on, import, memory, native, new_store,
};

const SUMMARY: &str = "They mended the parser. Next come the tests.";

fn turn() -> TurnOf {
    TurnOf::new(
        LedgerId::new("p").expect("a name"),
        SessionId::new("s").expect("a name"),
        Party::new("worker").expect("a name"),
        Template::new("worker/main").expect("a name"),
    )
}

fn said(id: &str, role: Role, part: Part) -> Entry {
    Entry::said(EntryId::new(id).expect("a name"), role, vec![part])
}

fn call(name: &str) -> Entry {
    let arguments = format!("{{\"command\":\"make {name}\"}}");
    let (call_id, tool) = (name.to_owned(), "Bash".to_owned());
    said(&format!("{name}-call"), Role::Assistant, Part::ToolCall { call_id, name: tool, arguments })
}

fn result(name: &str) -> Entry {
    let parts = vec![Part::Text(format!("src/{name}.rs: {}", "all of it is fine. ".repeat(40)))];
    let part = Part::ToolResult { call_id: name.to_owned(), is_error: false, parts };
    said(&format!("{name}-result"), Role::Tool, part)
}

fn made(name: &str) -> TurnMade {
    let answer = Part::Text(format!("{name} is done. {}", "It went as it should. ".repeat(20)));
    let answer = said(&format!("{name}-answer"), Role::Assistant, answer);
    TurnMade { entries: vec![call(name), result(name), answer], ..TurnMade::default() }
}

fn begin(engine: &Engine, name: &str) {
    let prompt = said(&format!("{name}-prompt"), Role::User, Part::Text(format!("do {name} now")));
    engine.begin_turn(&BeginTurn::new(turn(), prompt)).expect("begun");
}

fn take(engine: &Engine, name: &str) -> CommitId {
    begin(engine, name);
    engine.end_turn(&turn(), made(name)).expect("ended").checkpoint.expect("a commit").id
}

/// An engine with a session of so many turns, and its newest commit.
fn talked(turns: usize) -> (Engine, CommitId) {
    let engine = engine();
    for number in 0..turns {
        take(&engine, &format!("t{number}"));
    }
    let tip = tip(&engine);
    (engine, tip)
}

fn wanted(with: CompactWith<'_>) -> CompactWanted<'_> {
    CompactWanted { keep: KeepRecent::Tokens(Tokens(400)), ..CompactWanted::new(with) }
}

fn compact(engine: &Engine, ctx: CommitId) -> Compacted {
    engine.compact(&CompactOf::Commit(ctx), &wanted(CompactWith::Given(SUMMARY))).expect("compacted")
}

/// Compacts once more what the newest compaction stands for, as `compact --again` does.
fn compact_again(engine: &Engine, ctx: CommitId, wanted: &CompactWanted<'_>) -> Compacted {
    let newest = engine.newest_compaction(ctx, wanted.session).expect("a compaction");
    engine.compact(&CompactOf::Branch(newest.before), wanted).expect("compacted")
}

fn context(engine: &Engine, ctx: CommitId, stop: Stop) -> String {
    let mut bytes = Vec::new();
    engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    String::from_utf8(bytes).expect("text")
}

/// The ids of a context's entries; a summary is `S`.
fn ids(engine: &Engine, ctx: CommitId, stop: Stop) -> String {
    let adapter = registry::by_format(&FormatId::new("stemmata-v1").expect("a name")).expect("an adapter");
    let entries = adapter.decode(context(engine, ctx, stop).as_bytes()).entries;
    let name = |entry: &Entry| match entry.kind {
        EntryKind::CompactionSummary => "S".to_owned(),
        _ => entry.id.to_string(),
    };
    entries.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn tip(engine: &Engine) -> CommitId {
    let machine = engine.identity().machine.clone();
    let key = SessionKey { machine, path: "api:s".to_owned() };
    engine.store().session(&key).expect("a read").and_then(|session| session.tip).expect("a tip")
}

fn topics_of(engine: &Engine) -> Vec<String> {
    let events = engine.log().events(&turn().ledger, &EventQuery::after(None, 1_000)).expect("events");
    events.into_iter().map(|event| event.topic.to_string()).collect()
}

/// Writes what a test says, and does what it says on the way.
struct Writer<F>(F);

impl<F: Fn(&SummaryAsked<'_>) -> std::result::Result<String, SummarizeError> + Send + Sync> Summarizer
    for Writer<F>
{
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn window_tokens(&self) -> Option<u64> {
        None
    }

    fn summarize(&self, asked: &SummaryAsked<'_>) -> std::result::Result<String, SummarizeError> {
        (self.0)(asked)
    }
}

const T2: &str = "t2-prompt t2-call t2-result t2-answer";
const T3: &str = "t3-prompt t3-call t3-result t3-answer";

#[test]
fn compacting_the_live_session_moves_its_tip_and_the_next_turn_goes_on_from_it() {
    let (engine, before) = talked(3);
    let reasons = [Reason::Emergency, Reason::ContextSizeThreshold].into_iter().collect();
    let wish = CompactWanted { reasons, ..wanted(CompactWith::Given(SUMMARY)) };
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted");
    assert_eq!((made.parent, tip(&engine)), (before, made.id));
    assert_eq!(made.moved, Some(turn().session));
    assert!(made.tokens_after < made.tokens_before);
    assert_eq!(ids(&engine, made.id, Stop::Compaction), format!("S {T2}"));
    let next = take(&engine, "t3");
    let parent = chain(&engine, next).iter().rev().nth(1).map(|commit| commit.id);
    assert_eq!(parent, Some(made.id));
    assert_eq!(ids(&engine, next, Stop::Compaction), format!("S {T2} {T3}"));
    // Nothing is lost, and nothing is there twice.
    assert_eq!(ids(&engine, next, Stop::Root), format!("{} {T3}", ids(&engine, before, Stop::Root)));
    assert_eq!(compaction_at(&engine, next), (made.id, before));
    let topics = topics_of(&engine);
    let compactions: Vec<&String> = topics.iter().filter(|topic| topic.starts_with("COMPACTION")).collect();
    assert_eq!(compactions, [topics::COMPACTION_START, topics::COMPACTION_END]);
    let sightings = engine.show(made.id).expect("shown").sightings;
    let causes = sightings.first().map(|sighting| (sighting.trigger, sighting.reasons));
    assert_eq!(causes, Some((Trigger::Compaction, reasons)));
    let ledger = engine.log().ledger(&turn().ledger).expect("a read").expect("a ledger");
    assert!(ledger.compacted_at.is_some());
}

#[test]
fn a_compaction_and_its_reasons_travel_in_a_bundle() {
    let (engine, before) = talked(3);
    let reasons = [Reason::TimeInterval, Reason::RiskyOperation].into_iter().collect();
    let wish = CompactWanted { reasons, ..wanted(CompactWith::Given(SUMMARY)) };
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted").id;
    let (bytes, _) = export(&engine, &BundleSelection::All, &[]);
    let there = other();
    take_bundle(&there, &bytes);
    for stop in [Stop::Compaction, Stop::Root] {
        assert_eq!(context(&there, made, stop), context(&engine, made, stop));
    }
    let [here, there] = [&engine, &there].map(|engine| engine.show(made).expect("shown").sightings);
    assert_eq!(here, there);
    assert_eq!(there.first().map(|sighting| sighting.reasons), Some(reasons));
}

#[test]
fn a_session_in_a_log_of_files_is_compacted_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = Arc::new(FileLog::open(folder.path(), FileLogOptions::default()).expect("a log"));
    let engine = engine().with_log(log);
    for name in ["t0", "t1", "t2"] {
        take(&engine, name);
    }
    let made = engine.compact(&CompactOf::Session(turn()), &wanted(CompactWith::Given(SUMMARY)));
    let made = made.expect("compacted");
    let next = take(&engine, "t3");
    assert_eq!(ids(&engine, next, Stop::Compaction), format!("S {T2} {T3}"));
    assert_eq!(compaction_at(&engine, next), (made.id, made.parent));
    assert_eq!(topics_of(&engine).iter().filter(|topic| topic.starts_with("COMPACTION")).count(), 2);
}

#[test]
fn a_compaction_leaves_the_delta_before_it_first() {
    let (engine, old) = talked(2);
    begin(&engine, "t2");
    let step = engine.step(&turn(), made("t2")).expect("a step").checkpoint.expect("a commit").id;
    let made = engine.compact(&CompactOf::Session(turn()), &wanted(CompactWith::Given(SUMMARY)));
    let made = made.expect("compacted");
    let commits = chain(&engine, made.id);
    let [.., second, delta, compaction] = &commits[..] else { panic!("three commits") };
    assert_eq!((second.id, delta.core.commit_type, compaction.id), (old, CommitType::Delta, made.id));
    assert!(String::from_utf8(native(&engine, delta.id)).expect("text").contains("t2-answer"));
    let step = engine.store().commit(step).expect("a read").expect("a commit");
    assert!(step.id == delta.id || step.closure == stemmata_model::Closure::Covered, "{step:?}");
    let ended = engine.end_turn(&turn(), TurnMade::default()).expect("ended");
    assert!(ended.checkpoint.is_none(), "all of the turn is committed");
}

#[test]
fn what_waits_for_its_result_stays_behind_the_compaction() {
    let (engine, _) = talked(3);
    begin(&engine, "t3");
    engine.step(&turn(), TurnMade { entries: vec![call("t3")], ..TurnMade::default() }).expect("a step");
    let wish = wanted(CompactWith::Given(SUMMARY));
    let compacted = engine.compact(&CompactOf::Session(turn()), &wish).expect("compacted");
    assert!(!ids(&engine, compacted.id, Stop::Compaction).contains("t3-call"));
    let entries = made("t3").entries.into_iter().skip(1).collect();
    let ended = engine.end_turn(&turn(), TurnMade { entries, ..TurnMade::default() }).expect("ended");
    let next = ended.checkpoint.expect("a commit").id;
    let all = ids(&engine, next, Stop::Compaction);
    assert!(all.starts_with('S') && all.ends_with("t3-call t3-result t3-answer"), "{all}");
    assert_eq!(all.matches("t3-call").count(), 1);
    assert_eq!(chain(&engine, next).iter().rev().nth(1).map(|commit| commit.id), Some(compacted.id));
}

#[test]
fn a_compaction_is_one_act() {
    // What is said before the compaction, and the compaction.
    for number in 1..=2 {
        for fault in [Fault::Before, Fault::After] {
            let store = Arc::new(FaultyStore::new(MemoryStore::default()));
            let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
            for name in ["t0", "t1", "t2"] {
                take(&engine, name);
            }
            let before = ids(&engine, tip(&engine), Stop::Root);
            store.fail(number, fault);
            let done = engine.compact(&CompactOf::Session(turn()), &wanted(CompactWith::Given(SUMMARY)));
            let ends = topics_of(&engine).iter().filter(|topic| *topic == topics::COMPACTION_END).count();
            let is_compaction = |engine: &Engine| {
                let commit = engine.store().commit(tip(engine)).expect("a read").expect("a commit");
                commit.core.commit_type == CommitType::Compaction
            };
            if done.is_ok() {
                assert!(is_compaction(&engine) && ends == 1, "{number} {fault:?}");
            } else if fault == Fault::Before {
                assert!(!is_compaction(&engine), "{number} {fault:?}");
            }
            // Whatever was there, the session goes on, and has everything once.
            let next = take(&engine, "t3");
            assert_eq!(ids(&engine, next, Stop::Root), format!("{before} {T3}"), "{number} {fault:?}");
        }
    }
}

#[test]
fn compacting_again_reads_from_the_root() {
    let seen = Mutex::new(String::new());
    let writer = Writer(|asked: &SummaryAsked<'_>| {
        asked.conversation.clone_into(&mut seen.lock().expect("no panic"));
        Ok("They mended the other parser.".to_owned())
    });
    let (engine, before) = talked(3);
    let first = compact(&engine, before);
    let next = take(&engine, "t3");
    let second =
        engine.compact(&CompactOf::Commit(next), &wanted(CompactWith::By(&writer))).expect("compacted");
    assert_eq!(ids(&engine, second.id, Stop::Compaction), format!("S {T3}"));
    let seen = seen.into_inner().expect("no panic");
    for (number, said) in
        [(1, "[User]: do t0 now"), (2, "[Assistant tool calls]: Bash("), (9, "[User]: do t2 now")]
    {
        assert!(seen.contains(&format!("@{number} {said}")), "{seen}");
    }
    assert!(
        !seen.contains(SUMMARY) && !seen.contains("do t3 now"),
        "the entries, not the first summary: {seen}"
    );
    let text = context(&engine, second.id, Stop::Compaction);
    assert!(text.contains("They mended the other parser.\\n## User, verbatim"), "{text}");
    assert_eq!(text.matches("[Previous conversation summary]").count(), 1, "one heading: {text}");
    // The same of a chain that was never compacted, but for the number of the first summary.
    let (plain, _) = talked(4);
    let text = |engine: &Engine, ctx| {
        let wish = CompactWanted { size: Some(Size::DEFAULT), ..wanted(CompactWith::Heuristic) };
        let made = engine.compact(&CompactOf::Branch(ctx), &wish).expect("compacted");
        let context = context(engine, made.id, Stop::Compaction);
        context.split_once("t0").map(|(_, rest)| rest.to_owned()).expect("a summary")
    };
    assert_eq!(text(&engine, next), text(&plain, tip(&plain)));
    assert_ne!(first.id, second.id);
}

#[test]
fn a_better_summary_is_a_branch() {
    let (engine, before) = talked(3);
    let first = compact(&engine, before);
    let next = take(&engine, "t3");
    let better = CompactWanted { size: Some(Size::Tokens(Tokens(200))), ..wanted(CompactWith::Heuristic) };
    let again = compact_again(&engine, next, &better);
    assert_eq!((again.parent, again.moved, tip(&engine)), (before, None, next));
    assert_eq!(ids(&engine, again.id, Stop::Compaction), ids(&engine, first.id, Stop::Compaction));
    assert_ne!(again.id, first.id);
}

/// A summary is of the whole chain, which has many windows: a tenth of it is larger than one.
#[test]
fn the_summary_of_a_chain_of_many_windows_fits_one() {
    let (engine, before) = talked(110);
    let chain = engine.compact_dry(before, &wanted(CompactWith::Off)).expect("a plan").0.tokens_before;
    compact(&engine, before);
    for number in 110..118 {
        take(&engine, &format!("t{number}"));
    }
    let tip = tip(&engine);
    let window = Tokens(3_400);
    assert!(chain / 10 > window.0, "{chain}");
    let known = CompactWanted { window: Some(window), ..wanted(CompactWith::Heuristic) };
    let unknown = wanted(CompactWith::Heuristic);
    let kept = engine.compact_dry(tip, &wanted(CompactWith::Off)).expect("a plan").0.tokens_after;
    for (wish, summary_max) in [(&known, window.0 / 8), (&unknown, window.0 / 4)] {
        let (made, _) = engine.compact_dry(tip, wish).expect("it fits");
        assert!(made.tokens_before < window.0, "{made:?}");
        assert!(made.tokens_after <= kept + summary_max, "{} of {kept} and {summary_max}", made.tokens_after);
        let again = compact_again(&engine, tip, wish);
        assert!(again.tokens_after < chain / 4, "{again:?}");
    }
    let larger = CompactWanted { size: Some(Size::DEFAULT), ..unknown };
    let larger = engine.compact_dry(tip, &larger).expect("a plan").0.tokens_after;
    let bounded = engine.compact_dry(tip, &known).expect("a plan").0.tokens_after;
    assert!(larger > bounded, "{larger} and {bounded}: a tenth of all would take the window");
}

#[test]
fn a_window_is_judged_without_reading_what_was_before_its_compaction() {
    let store = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let turns: Vec<CommitId> = (0..6).map(|number| take(&engine, &format!("t{number}"))).collect();
    let made = compact(&engine, turns[5]);
    let whole = engine.live_window(made.id).expect("a window");
    // The last turn is kept, and all before it cannot be read any more.
    for commit in &turns[..5] {
        store.lose(store.commit(*commit).expect("a read").expect("a commit").core.artifact);
    }
    assert_eq!(engine.live_window(made.id).expect("a window"), whole);
    assert_eq!(whole.ordinals[1..], [21, 22, 23, 24].map(Some));
    assert!(engine.live_window(turns[5]).is_err(), "what is needed is gone");
}

#[test]
fn too_many_results_in_what_is_kept_are_archived_with_a_digest_in_the_same_commit() {
    let (engine, before) = talked(5);
    let wish = CompactWanted {
        keep: KeepRecent::Tokens(Tokens(1_500)),
        tool_call_cutoff: 2,
        ..CompactWanted::new(CompactWith::Given(SUMMARY))
    };
    let (dry, _) = engine.compact_dry(before, &wish).expect("a plan");
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted");
    assert_eq!(dry.tokens_after, made.tokens_after);
    let t1 = "t1-prompt t1-answer";
    let shown = ids(&engine, made.id, Stop::Compaction);
    let (kept, digest) = shown.rsplit_once(' ').expect("a digest");
    let (t2, t4) = ("t2-prompt t2-answer", T3.replace("t3", "t4"));
    assert_eq!(kept, format!("S {t1} {t2} {T3} {t4}"));
    assert!(digest.starts_with("digest-"), "{shown}");
    let text = context(&engine, made.id, Stop::Compaction);
    assert!(text.contains("[Compaction tool digest]\\n- Bash (ok): src/t1.rs"), "{text}");
    assert_eq!(made.kept_entries, 12);
    // All of it is in the chain, and the next turn goes on from it.
    assert_eq!(ids(&engine, made.id, Stop::Root), ids(&engine, before, Stop::Root));
    let next = take(&engine, "t5");
    let after = ids(&engine, next, Stop::Compaction);
    assert_eq!(after, format!("{shown} t5-prompt t5-call t5-result t5-answer"));
    let lines = |of: CommitId| native(&engine, of).iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines(made.id) - lines(before), 3, "summary, visibility and digest are one commit");
    let none = CompactWanted { tool_call_cutoff: 0, ..wish };
    let branch = engine.compact(&CompactOf::Branch(before), &none).expect("compacted");
    assert!(!ids(&engine, branch.id, Stop::Compaction).contains("digest-"));
}

#[test]
fn a_range_is_compacted_alone() {
    let (engine, before) = talked(4);
    let wish = CompactWanted { range: Some(("t1-prompt", "@9")), ..wanted(CompactWith::Given(SUMMARY)) };
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted");
    let t0 = T2.replace("t2", "t0");
    assert_eq!(ids(&engine, made.id, Stop::Compaction), format!("{t0} S {T2} {T3}"));
    assert_eq!(ids(&engine, made.id, Stop::Root), ids(&engine, before, Stop::Root));
    assert_eq!(made.kept_entries, 12);
    let keeps_less = CompactWanted { range: None, keep: KeepRecent::Tokens(Tokens(1)), ..wish.clone() };
    let keeps_less = engine.compact(&CompactOf::Branch(before), &keeps_less).expect("compacted");
    for earlier in [made.id, keeps_less.id] {
        let like = CompactWanted {
            like: Some(earlier),
            ..wanted(CompactWith::Given("What t1 did, in other words."))
        };
        let again = compact_again(&engine, earlier, &like);
        let covered = |of: CommitId| ids(&engine, of, Stop::Compaction);
        assert_eq!(covered(again.id), covered(earlier), "compacted again, what is covered is the same");
        let unlike = compact_again(&engine, earlier, &CompactWanted { like: None, ..like });
        assert_ne!(covered(unlike.id), covered(earlier));
    }
    for (range, what) in [
        (("t1-call", "t1-result"), "at @6 to @7"),
        (("t2-prompt", "t3-prompt"), ""),
        (("t0-prompt", "nobody"), "nobody"),
    ] {
        let wish = CompactWanted { range: Some(range), ..wish.clone() };
        let done = engine.compact(&CompactOf::Branch(made.id), &wish);
        match what {
            "" => assert_eq!(
                ids(&engine, done.expect("compacted").id, Stop::Compaction),
                format!("{t0} S S {T3}")
            ),
            "at @6 to @7" => {
                let error = engine.compact(&CompactOf::Branch(before), &wish).expect_err("refused");
                assert!(error.to_string().contains(what), "{error}");
            }
            _ => assert!(done.expect_err("refused").to_string().contains(what)),
        }
    }
}

#[test]
fn one_group_cannot_be_compacted_and_one_turn_can() {
    let (engine, one) = talked(1);
    let engine_of_one = engine_with_one_group();
    let (group, before) = (&engine_of_one, tip_of(&engine_of_one));
    for of in [CompactOf::Commit(before), CompactOf::Branch(before)] {
        let error =
            group.compact(&of, &CompactWanted::new(CompactWith::Given(SUMMARY))).expect_err("refused");
        assert!(matches!(error, EngineError::Refused { what: Refusal::NothingToCompact, .. }), "{error}");
        assert!(error.to_string().contains("one call with its results"), "{error}");
    }
    assert_eq!(tip_of(group), before);
    let made = engine.compact(&CompactOf::Branch(one), &CompactWanted::new(CompactWith::Given(SUMMARY)));
    assert_eq!(ids(&engine, made.expect("compacted").id, Stop::Compaction), "S t0-answer");
    for (summary, what) in [(" \n", "is empty"), (&*"long ".repeat(9_000), "tokens")] {
        let (engine, before) = talked(3);
        let error = engine.compact_given(before, summary).expect_err("refused");
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(tip(&engine), before);
    }
}

#[test]
fn a_session_that_is_written_meanwhile_is_compacted_after_a_second_look() {
    let (engine, before) = talked(3);
    let times = AtomicUsize::new(0);
    let writer = Writer(|_: &SummaryAsked<'_>| {
        if times.fetch_add(1, Ordering::SeqCst) == 0 {
            // Another session's event: only the number is another one.
            engine.publish(&turn().ledger, vec![note("other")]).expect("published");
        }
        Ok(SUMMARY.to_owned())
    });
    let made =
        engine.compact(&CompactOf::Commit(before), &wanted(CompactWith::By(&writer))).expect("compacted");
    assert_eq!((made.parent, tip(&engine), times.load(Ordering::SeqCst)), (before, made.id, 1));
    // A turn that ends meanwhile: the summary is made anew.
    let (engine, before) = talked(3);
    let writer = Writer(|_: &SummaryAsked<'_>| {
        if times.fetch_add(1, Ordering::SeqCst) == 1 {
            take(&engine, "t3");
        }
        Ok(SUMMARY.to_owned())
    });
    let made =
        engine.compact(&CompactOf::Commit(before), &wanted(CompactWith::By(&writer))).expect("compacted");
    assert_eq!((tip(&engine), times.load(Ordering::SeqCst)), (made.id, 3));
    assert_eq!(ids(&engine, made.id, Stop::Compaction), format!("S {T3}"));
}

#[test]
fn two_who_compact_make_one_compaction() {
    let (engine, before) = talked(3);
    let writer = Writer(|_: &SummaryAsked<'_>| {
        compact(&engine, before);
        Ok("another summary".to_owned())
    });
    let done = engine.compact(&CompactOf::Session(turn()), &wanted(CompactWith::By(&writer)));
    let error = done.expect_err("refused");
    assert!(matches!(error, EngineError::Refused { what: Refusal::NothingToCompact, .. }), "{error}");
    let compactions = chain(&engine, tip(&engine));
    let is_compaction = |commit: &&stemmata_model::Commit| commit.core.commit_type == CommitType::Compaction;
    assert_eq!(compactions.iter().filter(is_compaction).count(), 1);
}

#[test]
fn every_entry_number_of_a_summary_can_be_read() {
    let (engine, before) = talked(3);
    compact(&engine, before);
    let next = take(&engine, "t3");
    take(&engine, "t4");
    let made =
        engine.compact(&CompactOf::Session(turn()), &wanted(CompactWith::Heuristic)).expect("compacted");
    let entries = engine.entries(made.id).expect("entries");
    let [Part::Summary { text, .. }] = &entries[0].parts[..] else { panic!("a summary") };
    assert!(text.starts_with("[Previous conversation summary]\n"), "{text}");
    assert!(text.contains(&format!("`stemma show {} --entry @N`", made.parent)), "{text}");
    let numbers: Vec<&str> = text
        .split('@')
        .skip(1)
        .filter_map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..end).filter(|number| !number.is_empty())
        })
        .collect();
    assert!(!numbers.is_empty(), "{text}");
    for number in numbers {
        let query = AroundQuery {
            ctx: made.parent,
            entry: Some(format!("@{number}")),
            around: 0,
            tokens_max: 10_000,
        };
        let around = engine.around(&query).expect("an entry");
        assert_ne!(around.entries[0].entry.kind, EntryKind::CompactionSummary, "@{number}");
    }
    assert_ne!(next, made.parent);
}

#[test]
fn a_summary_that_cannot_be_used_is_made_by_rules() {
    let (engine, before) = talked(3);
    for answer in [Ok(String::new()), Err(SummarizeError::Failed { reason: "it is overloaded".to_owned() })] {
        let writer = Writer(|_: &SummaryAsked<'_>| answer.clone());
        let made =
            engine.compact(&CompactOf::Branch(before), &wanted(CompactWith::By(&writer))).expect("compacted");
        assert_eq!((made.with, made.notes.len()), ("heuristic", 1));
        assert!(made.notes[0].message.contains("made by rules"), "{:?}", made.notes);
    }
}

#[test]
fn an_imported_session_is_never_moved() {
    let folder = Folder::new();
    let engine = engine();
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(21).turns(6).build()));
    let session = import(&engine, &path).session;
    let tip = session.tip.expect("a tip");
    let made = engine.compact_given(tip, SUMMARY).expect("compacted");
    assert_eq!(made.moved, None);
    let known = engine.store().session(&session.key).expect("a read").expect("a session");
    assert_eq!(known.tip, Some(tip));
}

fn engine_with_one_group() -> Engine {
    let engine = engine();
    stored(&engine, &lines(&[call("t0"), result("t0")]), None);
    engine
}

fn tip_of(engine: &Engine) -> CommitId {
    let key = SessionKey { machine: engine.identity().machine.clone(), path: "api:own".to_owned() };
    engine.store().session(&key).expect("a read").and_then(|session| session.tip).expect("a tip")
}

/// A session as a version of the client would have written it.
fn of_version(session: &Transcript, version: &str) -> Vec<u8> {
    let text = String::from_utf8(bytes_of(session)).expect("text");
    let mut parts = text.split("\"version\":\"");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').expect("a string ends");
        out += &["\"version\":\"", version, "\"", rest].concat();
    }
    out.into_bytes()
}

#[test]
fn a_client_s_session_keeps_its_recent_turns_and_its_loader_takes_it() {
    let folder = Folder::new();
    let engine = engine();
    let claude = folder.write("s.jsonl", &of_version(&ClaudeSession::new(33).turns(20).build(), "2.1.330"));
    let claude = import(&engine, &claude).session.tip.expect("a tip");
    for (format, keeps) in
        [("claude-code-v1", true), ("pi-v3", true), ("codex-v1", false), ("gemini-v1", false)]
    {
        let format = FormatId::new(format).expect("a name");
        let adapter = registry::by_format(&format).expect("an adapter");
        let mut bytes = Vec::new();
        engine.materialize(Some(claude), Some(&format), Stop::Root, &mut bytes).expect("materialized");
        let before = if format.as_str() == "claude-code-v1" {
            claude
        } else {
            let path = folder.write(&format!("{format}.jsonl"), &bytes);
            import(&engine, &path).session.tip.expect("a tip")
        };
        let whole = context(&engine, before, Stop::Compaction);
        let root = context(&engine, before, Stop::Root);
        let wish = wanted(CompactWith::Heuristic);
        let made = engine.compact(&CompactOf::Branch(before), &wish).expect("compacted");
        assert_eq!((made.kept_entries > 0, made.moved), (keeps, None), "{format}");
        let after = context(&engine, made.id, Stop::Compaction);
        let entries = |text: &str| adapter.decode(text.as_bytes()).entries;
        let seen = |text: &str| -> Vec<EntryId> {
            let said = |entry: &Entry| entry.kind == EntryKind::Message && entry.meta.visibility.agent;
            entries(text).into_iter().filter(said).map(|entry| entry.id).collect()
        };
        let (all, kept) = (seen(&whole), seen(&after));
        assert!(all.ends_with(&kept) && kept.is_empty() != keeps, "{format}: {kept:?}");
        let summary = entries(&after).into_iter().find(|entry| entry.kind == EntryKind::CompactionSummary);
        let summary = format!("{:?}", summary.expect("a summary").parts);
        let heading = summary.split_once("Data about entries ").and_then(|(_, rest)| rest.split_once(','));
        let through = heading
            .and_then(|(numbers, _)| numbers.split_once(" to "))
            .unwrap_or_else(|| panic!("{format}: {summary}"))
            .1;
        let through: usize = through.parse().expect("a number");
        let total = engine.numbered_entries(before, Stop::Root).expect("entries").numbers.last().copied();
        assert_eq!(Some(through as u64) < total, keeps, "{format}: {through} of {total:?}");
        if keeps {
            // The others' records have no header: the placer writes it.
            let mut validator = adapter.validator(None);
            after.lines().for_each(|line| validator.line(line.as_bytes()));
            let verdict = validator.finish();
            let bad =
                verdict.findings.iter().filter(|found| found.severity > stemmata_engine::Severity::Info);
            assert_eq!(bad.collect::<Vec<_>>(), Vec::<&stemmata_engine::Finding>::new(), "{format}: {after}");
        }
        // Nothing is lost, and a second compaction begins at the root.
        assert_eq!(context(&engine, made.id, Stop::Root), root, "{format}");
        assert_eq!(context(&engine, made.parent, Stop::Compaction), whole, "{format}");
        assert!(native(&engine, made.id).starts_with(&native(&engine, before)), "{format}");
        let again = compact_again(&engine, made.id, &wish);
        assert_eq!(again.parent, before, "{format}");
        // In pi's files a compaction stands behind what it keeps: right behind one, it is what was said last.
        if format.as_str() == "claude-code-v1" {
            let twice = CompactWanted { keep: KeepRecent::Tokens(Tokens(1)), ..wish };
            let twice = engine.compact(&CompactOf::Branch(made.id), &twice).expect("compacted");
            let fewer = seen(&context(&engine, twice.id, Stop::Compaction));
            assert!(!fewer.is_empty() && fewer.len() < kept.len() && all.ends_with(&fewer), "{format}");
        }
    }
}

/// Lines of a session that a program stores by itself, without turns.
fn stored(engine: &Engine, lines: &[u8], parent: Option<CommitId>) -> CommitId {
    let format = FormatId::new("stemmata-v1").expect("a name");
    let (template, session) = (turn().template, SessionId::new("own").expect("a name"));
    let request = CheckpointRequest::delta(lines.to_vec(), format, template, session);
    engine.checkpoint(&CheckpointRequest { parent, ..request }).expect("a checkpoint").id
}

fn lines(entries: &[Entry]) -> Vec<u8> {
    let format = FormatId::new("stemmata-v1").expect("a name");
    registry::by_format(&format).expect("an adapter").encode(entries)
}

fn three_turns() -> Vec<u8> {
    let turn = |name: &str| {
        let prompt = said(&format!("{name}-prompt"), Role::User, Part::Text(format!("do {name} now")));
        std::iter::once(prompt).chain(made(name).entries).collect::<Vec<_>>()
    };
    lines(&["t0", "t1", "t2"].map(turn).concat())
}

#[test]
fn a_diff_names_the_decisions_that_are_gone() {
    let (engine, _) = talked(1);
    let prompt = said("rule", Role::User, Part::Text("Always weigh the clay first.".to_owned()));
    engine.begin_turn(&BeginTurn::new(turn(), prompt)).expect("begun");
    engine.end_turn(&turn(), made("t1")).expect("ended");
    let before = take(&engine, "t2");
    let diff = |summary: &str| {
        let wish = wanted(CompactWith::Given(summary));
        let made = engine.compact(&CompactOf::Branch(before), &wish).expect("compacted");
        engine.diff(made.id).expect("a diff")
    };
    let lost = diff(SUMMARY);
    assert_eq!(lost.lost_decisions, ["Always weigh the clay first."]);
    assert_eq!(lost.kept_entries, 4, "{lost:?}");
    assert_eq!(diff("The user said: Always weigh the clay first.").lost_decisions, Vec::<String>::new());
}

#[test]
fn a_session_without_a_ledger_moves_too() {
    let engine = engine();
    let before = stored(&engine, &three_turns(), None);
    let made = compact(&engine, before);
    assert_eq!(made.moved.map(|session| session.to_string()), Some("own".to_owned()));
    let next = stored(&engine, &lines(&[call("t3"), result("t3")]), Some(made.id));
    assert_eq!(ids(&engine, next, Stop::Compaction), format!("S {T2} t3-call t3-result"));
}

fn shown(ids: &[&str], show_as: ShowAs) -> Vec<u8> {
    let entries = ids.iter().map(|id| EntryId::new(*id).expect("a name")).collect();
    line(&[Shown { entries, show_as, reason: String::new() }], Timestamp::EPOCH)
}

#[test]
fn pruned_entries_stay_out_of_what_is_kept_and_pins_stay_in_the_summary() {
    let engine = engine();
    let before = stored(&engine, &three_turns(), None);
    let hidden = [
        shown(&["t0-call", "t0-result", "t2-call", "t2-result"], ShowAs::Pruned),
        shown(&["t0-prompt"], ShowAs::Pinned),
    ];
    let before = stored(&engine, &hidden.concat(), Some(before));
    let wish = wanted(CompactWith::Heuristic);
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted");
    let kept = ids(&engine, made.id, Stop::Compaction);
    assert!(kept.contains("t2-prompt t2-answer") && !kept.contains("t2-call"), "{kept}");
    // Nothing else tells of what was pruned before: the summary does.
    let text = context(&engine, made.id, Stop::Compaction);
    assert!(text.contains("do t0 now") && text.contains("make t0"), "{text}");
    assert!(ids(&engine, made.id, Stop::Root).contains("t2-call t2-result"));
    // The pin holds in the next compaction, too.
    let next = stored(&engine, &lines(&made_up("t3")), Some(made.id));
    let again = engine.compact(&CompactOf::Commit(next), &wish).expect("compacted");
    assert!(context(&engine, again.id, Stop::Compaction).contains("do t0 now"));
}

#[test]
fn a_pin_larger_than_the_summary_may_be_is_in_it_word_by_word() {
    let engine = engine();
    let pin = "never forget this constraint ".repeat(200).trim().to_owned();
    let said = |id: &str, role, text: &str| said(id, role, Part::Text(text.to_owned()));
    let begun = [said("pin", Role::User, &pin), said("bulk", Role::Assistant, &"words ".repeat(4_000))];
    let text = [lines(&begun), three_turns(), shown(&["pin"], ShowAs::Pinned)].concat();
    let before = stored(&engine, &text, None);
    let wish = CompactWanted { size: Some(Size::Tokens(Tokens(300))), ..wanted(CompactWith::Heuristic) };
    let made = engine.compact(&CompactOf::Commit(before), &wish).expect("compacted");
    assert!(context(&engine, made.id, Stop::Compaction).contains(&pin));
    assert!(made.notes.iter().any(|note| note.message.contains("what is pinned takes")), "{:?}", made.notes);
}

fn made_up(name: &str) -> Vec<Entry> {
    let prompt = said(&format!("{name}-prompt"), Role::User, Part::Text(format!("do {name} now")));
    std::iter::once(prompt).chain(made(name).entries).collect()
}

#[test]
fn scrubbing_a_compacted_chain_gives_what_compacting_the_scrubbed_one_gives() {
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";
    let under_rules = |store: Arc<dyn Store>| {
        engine_on("m1", store)
            .with_rules(StoreRules { name: "secrets.toml".to_owned(), text: rules.to_owned() })
    };
    let leaked = || {
        let text = String::from_utf8(three_turns()).expect("text");
        let pin = String::from_utf8(shown(&["t2-prompt"], ShowAs::Pinned)).expect("text");
        let text = format!("{text}{pin}");
        text.replace("t2 is done", "t2 is ACME-771234").replace("t2-prompt", "ACME-771234-prompt")
    };
    let store = new_store();
    let engine = engine_on("m1", Arc::clone(&store));
    let before = stored(&engine, leaked().as_bytes(), None);
    let old = compact(&engine, before).id;
    let engine = under_rules(store);
    engine.scrub(&ScrubTarget::All, &Principal::new("ada@m1").expect("a name")).expect("scrubbed");
    let scrubbed = engine.find(&old.to_string()).expect("redirected");
    assert_ne!(scrubbed, old);
    let fresh = under_rules(memory());
    let clean = compact(&fresh, stored(&fresh, leaked().as_bytes(), None)).id;
    let [one, two] = [(&engine, scrubbed), (&fresh, clean)].map(|(engine, ctx)| {
        let text = context(engine, ctx, Stop::Compaction);
        // The summary names the commit before it, which is another one.
        text.split_once("reads one entry.").map(|(_, rest)| rest.to_owned()).expect("a heading")
    });
    assert_eq!(one, two);
    // Ids are what lines are found by: they stay, in the border of the summary and in the pin as in the entry.
    assert!(one.contains("t2 is [REDACTED:ticket]") && one.contains("\"as\":\"pinned\""), "{one}");
}

fn note(session: &str) -> NewEvent {
    let payload = NewPayload::Plain { text: Some("look".to_owned()), data: None };
    let session = SessionId::new(session).expect("a name");
    let topic = topics::topic(topics::CONTEXT_SIZE_ALERT);
    NewEvent::new(session, topic, Party::new("worker").expect("a name"), payload)
}

#[test]
fn a_turn_that_is_begun_again_behind_an_alert_is_begun_once() {
    let (engine, _) = talked(1);
    begin(&engine, "t1");
    engine.publish(&turn().ledger, vec![note("s")]).expect("published");
    begin(&engine, "t1");
    let prompts = topics_of(&engine).iter().filter(|topic| *topic == topics::USER_TURN).count();
    assert_eq!(prompts, 2, "one for each turn");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn law_a_compaction_never_grows_and_uncompact_is_the_context_before(
        acts in proptest::collection::vec((0_u8..4, 1_u64..900), 1..12),
    ) {
        let engine = engine();
        let mut turns = 0;
        let mut said = String::new();
        for (act, keep) in acts {
            if act > 0 || turns == 0 {
                take(&engine, &format!("t{turns}"));
                said = format!("{said} {}", T2.replace("t2", &format!("t{turns}"))).trim().to_owned();
                turns += 1;
                continue;
            }
            let before = tip(&engine);
            let seen = context(&engine, before, Stop::Compaction);
            let wish = CompactWanted { keep: KeepRecent::Tokens(Tokens(keep)), ..wanted(CompactWith::Heuristic) };
            let done: Result<Compacted> = engine.compact(&CompactOf::Session(turn()), &wish);
            match done {
                Ok(made) => {
                    prop_assert!(made.tokens_after < made.tokens_before);
                    let (_, parent) = compaction_at(&engine, tip(&engine));
                    prop_assert_eq!(context(&engine, parent, Stop::Compaction), seen);
                    prop_assert_eq!(tip(&engine), made.id);
                }
                Err(EngineError::Refused { .. }) => prop_assert_eq!(tip(&engine), before),
                Err(error) => panic!("{error}"),
            }
            prop_assert_eq!(ids(&engine, tip(&engine), Stop::Root), said.clone());
        }
    }
}

/// A clock at which somebody else writes to the ledger, so that no act that was measured before it is the next one.
struct Meddled {
    other: Engine,
    is_on: AtomicBool,
}

impl Clock for Meddled {
    fn now(&self) -> Timestamp {
        if self.is_on.load(Ordering::Relaxed) {
            let payload = NewPayload::Plain { text: Some("meanwhile".to_owned()), data: None };
            let session = SessionId::new("another").expect("a name");
            let event = NewEvent::new(session, topics::topic(topics::STATUS_EVENT), turn().agent, payload);
            self.other.publish(&turn().ledger, vec![event]).expect("published");
        }
        Timestamp::from_micros(1_800_000_000_000_000)
    }
}

#[test]
fn a_session_that_is_written_without_end_is_busy_and_stays_as_it_was() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let other = engine_on("m1", Arc::clone(&store));
    let identity = other.identity().clone();
    let clock = Arc::new(Meddled { other, is_on: AtomicBool::new(false) });
    let engine = Engine::over(store, Arc::<Meddled>::clone(&clock), Arc::new(RandomIds), identity);
    for number in 0..3 {
        take(&engine, &format!("t{number}"));
    }
    let before = tip(&engine);
    clock.is_on.store(true, Ordering::Relaxed);
    let error =
        engine.compact(&CompactOf::Commit(before), &wanted(CompactWith::Given(SUMMARY))).expect_err("busy");
    clock.is_on.store(false, Ordering::Relaxed);
    assert!(matches!(error, EngineError::Refused { what: Refusal::CompactBusy, .. }), "{error}");
    assert_eq!(tip(&engine), before, "the session goes on from where it was");
    compact(&engine, before);
}

#[test]
fn a_compaction_of_an_open_turn_says_that_more_may_come() {
    let (engine, _) = talked(3);
    begin(&engine, "t3");
    let open = TurnMade { entries: vec![call("t3"), result("t3")], ..TurnMade::default() };
    let open = engine.step(&turn(), open).expect("a step").checkpoint.expect("a commit").id;
    let notes = |ctx| {
        let made = engine.compact(&CompactOf::Branch(ctx), &wanted(CompactWith::Given(SUMMARY)));
        made.expect("compacted").notes.iter().map(|note| note.message.clone()).collect::<Vec<_>>().join("\n")
    };
    assert!(notes(open).contains("the last turn was still open"));
    let closed = engine.end_turn(&turn(), made("t3")).expect("ended").checkpoint.expect("a commit").id;
    assert!(!notes(closed).contains("still open"));
}

/// What follows an entry changes nothing about its number.
#[test]
fn each_copy_of_an_id_has_its_own_number() {
    let engine = engine();
    let take = |answer: &str| {
        let again = said("again", Role::User, Part::Text("and again".to_owned()));
        let again = BeginTurn { identity: SameCall::None, ..BeginTurn::new(turn(), again) };
        engine.begin_turn(&again).expect("begun");
        let answer = said(answer, Role::Assistant, Part::Text("done".to_owned()));
        let made = TurnMade { entries: vec![answer], ..TurnMade::default() };
        engine.end_turn(&turn(), made).expect("ended").checkpoint.expect("a commit").id
    };
    for (answer, numbers) in [("a1", vec![1, 2]), ("a2", vec![1, 2, 3, 4]), ("a3", (1..=6).collect())] {
        let ctx = take(answer);
        assert_eq!(engine.numbered_entries(ctx, Stop::Root).expect("entries").numbers, numbers);
    }
}
