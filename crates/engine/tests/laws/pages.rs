//! What goes over whole chains asks the store a page at a time, and not once for each commit.

use std::sync::Arc;

use stemmata_engine::{
    BundleSelection, CollectOptions, Engine, ForgetOptions, ForgetTarget, RetentionRules, ScrubTarget,
    StoreRules,
};
use stemmata_model::{CommitId, Principal};
use stemmata_store::Commits as _;
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, answer, engine_on, import, user};

/// Turns of the shorter chain; the other one has twice as many.
const TURNS: u32 = 700;

/// Commits a query, at least.
const COMMITS_A_QUERY: u64 = 40;

const RULES: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

/// What is done with a session that ends at a commit.
type Act<'a> = &'a dyn Fn(&Engine, CommitId);

/// A session of so many turns, with a secret of the first one that only the store's own rule knows.
fn story(turns: u32) -> String {
    let at = |line: String, number: u32| {
        let time = format!("T{:02}:{:02}:{:02}.000Z", number / 3_600, number / 60 % 60, number % 60);
        line.replace(&format!("T00:00:{number:02}.000Z"), &time)
    };
    let turn = |turn: u32| {
        let (asked, told) = (2 * turn + 1, 2 * turn + 2);
        let text = if turn == 0 { "what is ACME-771234" } else { "and now" };
        let before = (turn > 0).then(|| asked - 1);
        at(user(asked, before, text), asked) + &at(answer(told, asked, "it is done"), told)
    };
    (0..turns).map(turn).collect()
}

/// Returns how often commits were asked for while something was done with a session of so many turns.
fn reads(turns: u32, act: Act<'_>) -> u64 {
    let folder = Folder::new();
    let store = Arc::new(FaultyStore::new(MemoryStore::default()));
    let path = folder.write("s.jsonl", story(turns).as_bytes());
    let tip = import(&engine_on("m1", store.clone()), &path).session.tip.expect("a tip");
    let depth = store.commit(tip).expect("a read").expect("a commit").depth;
    assert!(depth + 2 > u64::from(turns), "a commit a turn");
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: RULES.to_owned() };
    let engine = engine_on("m1", store.clone()).with_rules(rules);
    let before = store.reads();
    act(&engine, tip);
    store.reads() - before
}

#[test]
fn what_goes_over_whole_chains_asks_for_many_commits_at_once() {
    let by = || Principal::new("ada@m1").expect("a name");
    let export = |engine: &Engine, tip: CommitId, what: &BundleSelection, has: bool| {
        let have = if has { vec![tip] } else { Vec::new() };
        let done = engine.export_bundle(what, &have, &mut Vec::new()).expect("exported");
        assert!(done.commits + done.known_commits >= u64::from(TURNS));
    };
    let acts: [(&str, Act<'_>); 8] = [
        ("export of a chain", &|engine, tip| {
            export(engine, tip, &BundleSelection::Commits(vec![tip]), false);
        }),
        ("export of all", &|engine, tip| export(engine, tip, &BundleSelection::All, false)),
        ("export of what is there", &|engine, tip| export(engine, tip, &BundleSelection::All, true)),
        ("scrub of a commit", &|engine, tip| {
            let done = engine.scrub(&ScrubTarget::Commit(tip), &by()).expect("scrubbed");
            assert!(done.rewritten >= u64::from(TURNS));
        }),
        ("scrub of all", &|engine, _| {
            engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
        }),
        ("gc", &|engine, _| {
            let rules = RetentionRules { sessions_days: Some(30), ..RetentionRules::default() };
            let options = CollectOptions { rules, grace_days: 14 };
            assert_eq!(engine.plan_collect(&options).expect("planned").report.retired.len(), 1);
        }),
        ("forget", &|engine, tip| {
            let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
            engine.plan_forget(&ForgetTarget::Commit(tip), &options).expect("planned");
        }),
        ("tree", &|engine, tip| assert!(engine.tree(tip).expect("a tree").nodes.len() >= TURNS as usize)),
    ];
    for (name, act) in acts {
        let more = reads(2 * TURNS, act).saturating_sub(reads(TURNS, act));
        assert!(more * COMMITS_A_QUERY <= u64::from(TURNS), "{name}: {more} queries for {TURNS} commits");
    }
}
