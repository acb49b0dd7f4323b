//! What each stop gives, on transcripts with several compactions, against expectations made by hand.

use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{CaptureOptions, Engine, Materialized, Stop};
use stemmata_model::{CommitId, CommitType, Counts, Granularity};
use stemmata_runtimes::adapter::SegmentFacts;
use stemmata_runtimes::registry;
use stemmata_store::Store;
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::support::{
    Folder, bytes_of, chain, closed, compaction_at, corpus, engine, engine_on, import, jsonl_below, native,
};

fn context(engine: &Engine, ctx: CommitId, stop: Stop) -> String {
    let mut bytes = Vec::new();
    let made = engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    assert_eq!(made.bytes.0, u64::try_from(bytes.len()).expect("small"));
    String::from_utf8(bytes).expect("text")
}

fn user(uuid: &str, parent: Option<&str>, text: &str, second: u32) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{}\"", id(parent)));
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.39","type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"{}","timestamp":"2026-01-01T00:00:{second:02}.000Z"}}"#,
        id(uuid)
    )
}

fn assistant(uuid: &str, parent: &str, text: &str, second: u32) -> String {
    format!(
        r#"{{"parentUuid":"{}","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.39","type":"assistant","message":{{"id":"msg_{uuid}","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn"}},"uuid":"{}","timestamp":"2026-01-01T00:00:{second:02}.000Z"}}"#,
        id(parent),
        id(uuid)
    )
}

fn boundary(uuid: &str, logical: &str, preserved: Option<(&str, &str)>, second: u32) -> String {
    let kept = preserved.map_or(String::new(), |(anchor, kept)| {
        format!(
            r#","preservedMessages":{{"anchorUuid":"{}","uuids":["{}"],"allUuids":["{}"]}}"#,
            id(anchor),
            id(kept),
            id(kept)
        )
    });
    format!(
        r#"{{"parentUuid":null,"logicalParentUuid":"{}","isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"2026-01-01T00:00:{second:02}.000Z","uuid":"{}","level":"info","compactMetadata":{{"trigger":"manual","preTokens":100{kept}}},"cwd":"/w","sessionId":"s","version":"2.1.39"}}"#,
        id(logical),
        id(uuid)
    )
}

fn summary(uuid: &str, parent: &str, text: &str, second: u32) -> String {
    format!(
        r#"{{"parentUuid":"{}","isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s","version":"2.1.39","type":"user","message":{{"role":"user","content":"{text}"}},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"{}","timestamp":"2026-01-01T00:00:{second:02}.000Z"}}"#,
        id(parent),
        id(uuid)
    )
}

/// Spells a short name as a UUID.
fn id(name: &str) -> String {
    let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{hex:0>8}-0000-4000-8000-000000000000")
}

/// Two turns, a compaction, a turn, a compaction that preserves one message, a turn.
fn twice_compacted() -> Vec<String> {
    vec![
        user("u1", None, "first", 1),
        assistant("a1", "u1", "one", 2),
        user("u2", Some("a1"), "second", 3),
        assistant("a2", "u2", "two", 4),
        boundary("b1", "a2", None, 5),
        summary("s1", "b1", "summary of two turns", 5),
        user("u3", Some("s1"), "third", 6),
        assistant("a3", "u3", "three", 7),
        boundary("b2", "a3", Some(("s2", "a3")), 8),
        summary("s2", "b2", "summary of three turns", 8),
        user("u4", Some("a3"), "fourth", 9),
        assistant("a4", "u4", "four", 10),
    ]
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Replaces the parent of a line, as skipping a compaction does.
fn reparented(line: &str, from: &str, to: &str) -> String {
    line.replacen(&format!("\"parentUuid\":\"{}\"", id(from)), &format!("\"parentUuid\":\"{}\"", id(to)), 1)
}

#[test]
fn each_stop_is_what_the_specification_says() {
    let lines = twice_compacted();
    let folder = Folder::new();
    let engine = engine();
    let tip = import(&engine, &folder.write("s.jsonl", text(&lines).as_bytes())).session.tip.expect("a tip");
    let commits = chain(&engine, tip);
    let types: Vec<&str> = commits.iter().map(|commit| commit.core.commit_type.as_str()).collect();
    assert_eq!(types, ["delta", "delta", "compaction", "delta", "compaction", "delta"]);

    // The nearest compaction: its boundary, its summary and what it preserves, then what follows.
    let newest = [&lines[8..10], &lines[7..8], &lines[10..]].concat();
    assert_eq!(context(&engine, tip, Stop::Compaction), text(&newest));
    // At the compaction itself: only what stands for everything before.
    assert_eq!(context(&engine, commits[4].id, Stop::Compaction), text(&newest[..3]));
    // Before it: the older compaction and what follows.
    assert_eq!(context(&engine, commits[3].id, Stop::Compaction), text(&lines[4..8]));
    // Before any: everything.
    assert_eq!(context(&engine, commits[1].id, Stop::Compaction), text(&lines[..4]));

    // The root: all real entries once, summaries skipped, the next record hung onto the last kept one.
    let mut all = lines.clone();
    all[6] = reparented(&lines[6], "s1", "a2");
    let kept: Vec<String> = [&all[..4], &all[6..8], &all[10..]].concat();
    assert_eq!(context(&engine, tip, Stop::Root), text(&kept));
    // An ancestor, inclusive: the compaction that follows it is skipped too.
    let from_third: Vec<String> = [&all[6..8], &all[10..]].concat();
    let third = context(&engine, tip, Stop::Ancestor(commits[3].id));
    assert_eq!(third.lines().count(), from_third.len(), "{third}");
    assert!(third.ends_with(&text(&from_third[1..])), "{third}");

    // Both `native` and every stop of every commit are pure.
    assert_eq!(native(&engine, tip), text(&lines).as_bytes());
    assert_eq!(context(&engine, tip, Stop::Root), context(&engine, tip, Stop::Root));
}

#[test]
fn a_compaction_of_ours_is_reversible_and_branch_local() {
    let folder = Folder::new();
    let engine = engine();
    let lines = ClaudeSession::new(21).turns(6).build().lines;
    let tip = import(&engine, &folder.write("s.jsonl", text(&lines).as_bytes())).session.tip.expect("a tip");
    let before = context(&engine, tip, Stop::Compaction);
    let made = engine.compact_given(tip, "We fixed the parser; next come the tests.").expect("compacted");
    assert!(made.tokens_after < made.tokens_before);
    let after = context(&engine, made.id, Stop::Compaction);
    assert!(after.contains("We fixed the parser"), "{after}");
    assert_eq!(
        after.lines().count(),
        2,
        "the loader of that version finds nothing behind a summary: {after}"
    );
    assert_eq!(context(&engine, tip, Stop::Compaction), before, "the branch beside it is untouched");
    assert_eq!(compaction_at(&engine, made.id), (made.id, tip));
    let diff = engine.diff(made.id).expect("a diff");
    assert!(!diff.lost_entries.is_empty() && diff.before == tip && diff.compaction == made.id);

    for (summary, reason) in [("  \n", "the summary is empty"), (&*"long ".repeat(200_000), "tokens")] {
        let error = engine.compact_given(tip, summary).expect_err("refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let error = engine.newest_compaction(tip, None).expect_err("nothing to undo");
    assert_eq!(error.kind(), stemmata_engine::ErrorKind::NotFound);
}

#[test]
fn a_snapshot_restates_its_parent_and_the_root_skips_it() {
    let folder = Folder::new();
    let engine = engine();
    let lines = twice_compacted();
    let tip = import(&engine, &folder.write("s.jsonl", text(&lines).as_bytes())).session.tip.expect("a tip");
    let (before, root) = (context(&engine, tip, Stop::Compaction), context(&engine, tip, Stop::Root));
    let snapshot = engine.snapshot(tip, Stop::Compaction).expect("a snapshot");
    let commit = engine.store().commit(snapshot).expect("read").expect("there");
    assert_eq!(commit.core.commit_type, CommitType::Snapshot { restated_entries: 5 });
    assert_eq!(context(&engine, snapshot, Stop::Compaction), before);
    assert_eq!(context(&engine, snapshot, Stop::Root), root);
    assert_eq!(native(&engine, snapshot), before.as_bytes(), "native starts at the nearest snapshot");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn invariant_07_materialize_is_pure_and_each_entry_stands_once(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = engine();
        let session = ClaudeSession::new(seed).turns(5).compactions(seed % 3).rewinds(seed % 2);
        let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session.build()))).session.tip.expect("a tip");
        for ctx in closed(&engine, tip) {
            for stop in [Stop::Compaction, Stop::Root] {
                let made = context(&engine, ctx, stop);
                prop_assert_eq!(&made, &context(&engine, ctx, stop));
                let mut ids: Vec<&str> = made
                    .lines()
                    .filter_map(|line| line.split("\"uuid\":\"").nth(1).and_then(|rest| rest.get(..36)))
                    .collect();
                let count = ids.len();
                ids.sort_unstable();
                ids.dedup();
                prop_assert_eq!(ids.len(), count, "an entry stands twice");
            }
        }
    }
}

/// Contents are read ahead of the planner, so what it never gets to must not stop it.
#[test]
fn what_a_context_does_not_need_may_be_lost() {
    let folder = Folder::new();
    let store = Arc::new(FaultyStore::new(MemoryStore::default()));
    let engine = engine_on("m1", Arc::clone(&store) as Arc<dyn Store>);
    let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(5).turns(20).build()));
    let options = CaptureOptions { granularity: Granularity::Message, ..CaptureOptions::import() };
    let tip = engine.capture(&path, &options).expect("imported").session.tip.expect("a tip");
    let commits = chain(&engine, tip);
    assert!(commits.len() > 40);
    let stops = [commits.len() - 1, commits.len() - 2, commits.len() - 9, commits.len() - 30];
    let whole = stops.map(|at| context(&engine, tip, Stop::Ancestor(commits[at].id)));
    // From the root on, so that each loss is one that the stops behind it do not need.
    for (lost, commit) in commits.iter().enumerate() {
        store.lose(commit.core.native_artifact());
        for (at, whole) in stops.iter().zip(&whole) {
            let mut bytes = Vec::new();
            let stop = Stop::Ancestor(commits[*at].id);
            let made = engine.materialize(Some(tip), None, stop, &mut bytes);
            if lost < *at {
                made.expect("it is not needed");
                assert_eq!(
                    String::from_utf8(bytes).expect("text"),
                    *whole,
                    "{lost} is lost, {at} is the stop"
                );
            } else {
                let error = made.expect_err("it is needed").to_string();
                assert!(error.contains("is not in the store"), "{error}");
            }
        }
    }
}

/// Counts every line anew.
fn counted(made: &Materialized, bytes: &[u8]) -> Counts {
    let adapter = registry::by_format(&made.format).expect("an adapter");
    let mut splitter = adapter.splitter(Granularity::Turn, None);
    let mut counts = Counts::default();
    let mut add = |facts: SegmentFacts| {
        counts.messages += facts.counts.messages;
        counts.entries += facts.counts.entries;
        counts.tokens += facts.counts.tokens;
    };
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n")) {
        let cut = splitter.line(line, &mut Vec::new());
        [cut.before, cut.after].into_iter().flatten().for_each(&mut add);
    }
    add(splitter.open());
    counts
}

fn counts_hold(engine: &Engine, ctx: CommitId) -> u64 {
    let mut reparented = 0;
    for stop in [Stop::Compaction, Stop::Root] {
        let mut bytes = Vec::new();
        let made = engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
        assert_eq!(made.counts, counted(&made, &bytes), "{ctx} {stop:?}");
        reparented += u64::try_from(made.reparented.len()).expect("small");
    }
    reparented
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// What is known of whole commits is not counted again, though a plan replaces their entries' parents.
    #[test]
    fn counts_of_a_context_are_those_of_its_bytes(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = engine();
        let session = ClaudeSession::new(seed).turns(6).compactions(seed % 3).rewinds(seed % 4);
        let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session.build()))).session.tip.expect("a tip");
        for ctx in closed(&engine, tip) {
            counts_hold(&engine, ctx);
        }
    }
}

#[test]
fn counts_of_a_context_of_the_corpus_are_those_of_its_bytes() {
    let Some(corpus) = corpus("counts_of_a_context_of_the_corpus_are_those_of_its_bytes") else { return };
    let (mut looked, mut reparented) = (0, 0);
    for path in
        ["claude-code", "codex", "gemini", "pi"].iter().flat_map(|name| jsonl_below(&corpus.join(name)))
    {
        let engine = engine();
        let Ok(taken) = engine.capture(&path, &CaptureOptions::import()) else { continue };
        let Some(tip) = taken.session.tip else { continue };
        let commits = closed(&engine, tip);
        let step = (commits.len() / 4).max(1);
        for ctx in commits.into_iter().step_by(step).chain([tip]) {
            reparented += counts_hold(&engine, ctx);
            looked += 1;
        }
    }
    assert!(looked > 100 && reparented > 0, "{looked} contexts, {reparented} reparented entries");
}
