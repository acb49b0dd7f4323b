//! Invariant 9 and the way back: what is placed passes the validator, and what a client appends is a child.

use std::sync::Arc;

use proptest::prelude::*;
use stemmata_engine::{Engine, EngineError, PlaceOptions, Placed, Placing, PlacingWish, Stop, TempFiles};
use stemmata_model::CommitId;
use stemmata_runtimes::registry;
use stemmata_store::{SqliteOptions, SqliteStore};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{
    CountingIds, FixedClock, Folder, bytes_of, chain, closed, corpus, engine, engine_on, import, jsonl_below,
    native, placing,
};

fn place(engine: &Engine, ctx: CommitId, folder: &Folder) -> Placed {
    engine.place(ctx, &placing(folder)).expect("placed")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(5)))]

    #[test]
    fn invariant_09_whatever_is_placed_passes_the_validator(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = engine();
        let session = ClaudeSession::new(seed).turns(4).compactions(seed % 3).rewinds(seed % 2).subagents(seed % 2);
        let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session.build()))).session.tip.expect("a tip");
        for ctx in closed(&engine, tip).into_iter().chain([tip]) {
            for stop in [Stop::Compaction, Stop::Root] {
                let done = engine.place(ctx, &PlaceOptions { stop, ..placing(&folder) }).expect("placed");
                let adapter = registry::by_format(&done.format).expect("an adapter");
                let mut validator = adapter.validator(None);
                let bytes = std::fs::read(&done.path).expect("a file");
                bytes.split_inclusive(|byte| *byte == b'\n').for_each(|line| validator.line(line));
                let verdict = validator.finish();
                prop_assert!(verdict.is_accepted(), "{:?}", verdict.findings);
                prop_assert_eq!(verdict.messages_sent, verdict.messages_present);
                prop_assert_eq!(verdict.messages_sent, done.messages);
            }
        }
    }
}

#[test]
fn invariant_09_every_commit_of_every_corpus_session_can_be_placed() {
    let Some(corpus) = corpus("invariant_09_every_commit_of_every_corpus_session_can_be_placed") else {
        return;
    };
    let engine = engine();
    let folder = Folder::new();
    let mut placed = 0;
    for path in jsonl_below(&corpus.join("claude-code")) {
        if path.to_string_lossy().ends_with(".stream.jsonl") {
            continue;
        }
        let tip = import(&engine, &path).session.tip.expect("a tip");
        // Every commit would write gigabytes: the ends, and some between.
        let ids: Vec<CommitId> = chain(&engine, tip).iter().map(|commit| commit.id).collect();
        let step = (ids.len() / 4).max(1);
        for ctx in ids.iter().step_by(step).chain([&tip]) {
            let done = engine.place(*ctx, &placing(&folder));
            let done = done.unwrap_or_else(|error| panic!("{ctx} of {}: {error}", path.display()));
            assert!(done.path.exists() && done.messages > 0, "{ctx} of {}", path.display());
            std::fs::remove_file(&done.path).expect("removed");
            placed += 1;
        }
    }
    println!("placed {placed} contexts");
    assert!(placed > 100);
}

#[test]
fn what_a_client_appends_to_a_placed_session_is_a_child_of_the_commit() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(31).turns(4).build();
    let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session))).session.tip.expect("a tip");
    let ctx = closed(&engine, tip)[1];
    let done = place(&engine, ctx, &folder);
    assert_eq!(done.ctx, ctx);
    let text = std::fs::read_to_string(&done.path).expect("a file");
    assert!(text.lines().all(|line| !line.contains(&session.session_id)), "the old session id is gone");
    assert!(text.contains("/new/place"), "paths are mapped");

    let unchanged = import(&engine, &done.path);
    assert_eq!(
        (unchanged.new_commits, unchanged.session.tip),
        (0, Some(ctx)),
        "placing alone captures nothing"
    );

    let more = format!(
        "{}\n",
        r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"cccccccc-0000-4000-8000-000000000001","timestamp":"2027-01-01T00:00:00.000Z","sessionId":"n","cwd":"/new/place","version":"2.1.39"}"#
    );
    let mut file = std::fs::OpenOptions::new().append(true).open(&done.path).expect("a file");
    std::io::Write::write_all(&mut file, more.as_bytes()).expect("appended");
    let child = import(&engine, &done.path).session.tip.expect("a tip");
    assert_eq!(chain(&engine, child).iter().rev().nth(1).map(|commit| commit.id), Some(ctx));
    assert!(native(&engine, child).ends_with(more.as_bytes()));
    assert!(
        native(&engine, child).starts_with(&native(&engine, ctx)),
        "a child's bytes start with its parent's"
    );

    let again = place(&engine, child, &folder);
    assert_ne!(again.path, done.path, "never an existing file");
}

#[test]
fn what_is_recorded_of_a_placement_a_third_time_changes_nothing() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(31).turns(4).build();
    let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session))).session.tip.expect("a tip");
    let options = placing(&folder);
    let prepared = engine.prepare_placement(tip, None, Stop::Compaction, None).expect("prepared");
    let wish = PlacingWish {
        format: prepared.format,
        continues: prepared.continues,
        config_dir: options.config_dir,
        cwd: options.cwd,
        origin_cwd: prepared.origin_cwd,
        client_version: None,
        conversion_of: None,
    };
    let mut placing =
        Placing::begin(&wish, &TempFiles::default(), (&CountingIds::default(), &FixedClock)).expect("begun");
    engine.materialize(Some(tip), None, Stop::Compaction, &mut placing).expect("written");
    let (mut records, machine) = (Vec::new(), engine.identity().machine.clone());
    let ready = placing.check().expect("loadable");
    let placed = ready.settle::<EngineError>(&machine, &mut |record| {
        records.push(record.clone());
        engine.record_placement(record)
    });
    let path = placed.expect("placed").path;
    let bytes = std::fs::read(&path).expect("a file");
    for record in &records {
        let taken = bytes.get(..usize::try_from(record.taken_bytes).expect("small")).expect("so many bytes");
        let lines = taken.split_inclusive(|byte| *byte == b'\n').count();
        assert_eq!(record.taken_lines, u64::try_from(lines).expect("small"));
    }
    assert_eq!(records.iter().map(|record| record.written.is_some()).collect::<Vec<_>>(), [false, true]);
    let known = import(&engine, &path);
    assert_eq!((known.new_commits, known.session.tip), (0, Some(tip)));

    let more = r#"{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"cccccccc-0000-4000-8000-000000000001","timestamp":"2027-01-01T00:00:00.000Z","sessionId":"n","cwd":"/new/place","version":"2.1.39"}"#;
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("a file");
    std::io::Write::write_all(&mut file, format!("{more}\n").as_bytes()).expect("appended");
    let child = import(&engine, &path).session;
    assert_ne!(child.tip, Some(tip));
    for record in &records {
        engine.record_placement(record).expect("recorded again");
    }
    let again = import(&engine, &path);
    assert_eq!((again.new_commits, again.session), (0, child));
}

#[test]
fn a_fork_at_an_entry_includes_an_answer_and_gives_a_prompt_back() {
    let folder = Folder::new();
    let engine = engine();
    let session = ClaudeSession::new(41).turns(3).compactions(0).build();
    let tip = import(&engine, &folder.write("s.jsonl", &bytes_of(&session))).session.tip.expect("a tip");
    let before = engine.store().usage().expect("usage");
    let field = |line: &str, key: &str| {
        let rest = line.split(&format!("\"{key}\":\"")).nth(1)?;
        rest.split('"').next().map(str::to_owned)
    };
    let prompt = session
        .lines
        .iter()
        .rfind(|line| {
            line.contains("\"role\":\"user\"")
                && !line.contains("tool_result")
                && !line.contains("isMeta\":true")
        })
        .expect("a prompt");
    let uuid = field(prompt, "uuid").expect("an id");
    let done = engine
        .place(tip, &PlaceOptions { at_entry: Some(uuid.clone()), ..placing(&folder) })
        .expect("placed");
    assert!(done.prompt.is_some_and(|text| !text.is_empty()), "the prompt comes back for editing");
    assert!(!std::fs::read_to_string(&done.path).expect("a file").contains(&format!("\"uuid\":\"{uuid}\"")));

    let answer =
        session.lines.iter().find(|line| line.contains("\"type\":\"assistant\"")).expect("an answer");
    let uuid = field(answer, "uuid").expect("an id");
    let done = engine
        .place(tip, &PlaceOptions { at_entry: Some(uuid.clone()), ..placing(&folder) })
        .expect("placed");
    assert!(done.prompt.is_none());
    assert!(std::fs::read_to_string(&done.path).expect("a file").contains(&uuid));
    assert_eq!(
        engine.store().usage().expect("usage").distinct_bytes,
        before.distinct_bytes,
        "a fork stores no content"
    );

    let first = session
        .lines
        .iter()
        .find(|line| line.contains("\"role\":\"user\"") && !line.contains("isMeta\":true"))
        .expect("a prompt");
    let uuid = field(first, "uuid").expect("an id");
    let refused = engine.place(tip, &PlaceOptions { at_entry: Some(uuid), ..placing(&folder) });
    assert!(refused.is_err_and(|error| error.kind() == stemmata_engine::ErrorKind::Refused));
}

/// Forks that are placed to find out what one costs.
const FORKS: u64 = 20;

/// What the rows of a fork may take, with those of the indexes that find a session by its ids and its end.
const FORK_BYTES_MAX: u64 = 1_350;

#[test]
fn a_placed_fork_costs_the_store_little_more_than_a_thousand_bytes() {
    let folder = Folder::new();
    let home = folder.path().join("store");
    let store = SqliteStore::open(&home, SqliteOptions::default()).expect("a store");
    let engine = engine_on("0123456789abcdef0123456789abcdef", Arc::new(store));
    let bytes = bytes_of(&ClaudeSession::new(7).turns(6).build());
    let tip = import(&engine, &folder.write("s.jsonl", &bytes)).session.tip.expect("a tip");
    let used = || -> u64 {
        let database = rusqlite::Connection::open(home.join("stemmata.db")).expect("a database");
        let sql = "SELECT sum(pgsize - unused) FROM dbstat";
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a sum").cast_unsigned()
    };
    let before = used();
    let paths = (0..FORKS).map(|_| place(&engine, tip, &folder).path.as_os_str().len());
    let path = paths.max().expect("a fork");
    let each = (used() - before) / FORKS;
    assert!(path > 80 && each < FORK_BYTES_MAX, "{each} bytes of a fork whose path has {path}");
}
