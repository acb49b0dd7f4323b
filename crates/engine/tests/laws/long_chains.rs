//! A chain of megabytes, which several threads read, says what the same chain says commit by commit.

use std::sync::Arc;

use stemmata_engine::{EngineError, Stop};
use stemmata_model::CommitId;
use stemmata_store::{SqliteOptions, SqliteStore, StoreError};
use stemmata_testkit::faulty::FaultyStore;

use crate::support::{Folder, answer, chain, engine_on, import, user};

/// Turns of the chain. Each has so many bytes that pages of four of them are read by several threads.
const TURNS: u32 = 25;
const ANSWER_BYTES: usize = 300_000;

fn story() -> String {
    let turn = |turn: u32| {
        let (asked, told) = (2 * turn + 1, 2 * turn + 2);
        let text = format!("{turn:02} ").repeat(ANSWER_BYTES / 3);
        user(asked, (turn > 0).then(|| asked - 1), &format!("prompt {}", turn + 1))
            + &answer(told, asked, &text)
    };
    (0..TURNS).map(turn).collect()
}

/// A store on a disk: of one in memory all threads are readers of one lock.
fn faulty(folder: &Folder) -> Arc<FaultyStore<SqliteStore>> {
    let store = SqliteStore::open(&folder.path().join("store"), SqliteOptions::default()).expect("a store");
    Arc::new(FaultyStore::new(store))
}

#[test]
fn prompts_and_turns_of_a_long_chain_are_whole_and_in_order() {
    let folder = Folder::new();
    let store = faulty(&folder);
    let engine = engine_on("m1", store.clone());
    let path = folder.write("s.jsonl", story().as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");

    let prompts = engine.numbered_prompts(tip).expect("prompts");
    let texts: Vec<&str> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
    let wanted: Vec<String> = (1..=TURNS).map(|turn| format!("prompt {turn}")).collect();
    assert_eq!(texts, wanted);
    let mut told = Vec::new();
    engine.materialize(Some(tip), None, Stop::Root, &mut told).expect("materialized");
    assert_eq!(told, story().into_bytes());
    let overview = engine.overview(tip, None).expect("an overview");
    let turns: Vec<(Option<u64>, CommitId)> =
        overview.story.turns.iter().map(|turn| (turn.number, turn.commit)).collect();
    let wanted: Vec<(Option<u64>, CommitId)> =
        prompts.iter().map(|prompt| (Some(prompt.number), prompt.ctx)).collect();
    assert_eq!(turns, wanted);
}

#[test]
fn a_lost_content_of_a_long_chain_is_what_is_named_wherever_it_is() {
    for lost in [0, 6, 11, 24] {
        let folder = Folder::new();
        let path = folder.write("s.jsonl", story().as_bytes());
        let store = faulty(&folder);
        let engine = engine_on("m1", store.clone());
        let tip = import(&engine, &path).session.tip.expect("a tip");
        let commits = chain(&engine, tip);
        let content = commits.iter().rev().nth(lost).expect("a commit").core.native_artifact();
        store.lose(content);
        let named = |error: EngineError| matches!(error, EngineError::Store(StoreError::ContentMissing(id)) if id == content);
        assert!(engine.numbered_prompts(tip).is_err_and(named), "{lost}");
        assert!(engine.overview(tip, None).is_err_and(named), "{lost}");
    }
}
