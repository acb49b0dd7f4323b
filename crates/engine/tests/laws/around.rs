//! Pages of a chain's entries, joined, are the chain.

use proptest::prelude::*;
use stemmata_engine::{Around, AroundQuery, Engine, EngineError, Stop};
use stemmata_model::{CommitId, Entry};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, answer, bytes_of, chain, engine, import, user};

fn around(engine: &Engine, ctx: CommitId, entry: Option<&str>, (around, tokens_max): (u64, u64)) -> Around {
    let entry = entry.map(str::to_owned);
    engine.around(&AroundQuery { ctx, entry, around, tokens_max }).expect("a page")
}

/// Returns the entries of a chain of deltas, each with its commit.
fn entries_of(engine: &Engine, tip: CommitId) -> Vec<(CommitId, Entry)> {
    let of = |id| engine.entries(id).expect("entries").into_iter().map(move |entry| (id, entry));
    chain(engine, tip).iter().flat_map(|commit| of(commit.id)).collect()
}

fn held(page: &Around) -> Vec<(u64, CommitId, Entry)> {
    page.entries.iter().map(|found| (found.ordinal, found.ctx, found.entry.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pages_joined_are_the_chain(
        seed in any::<u64>(),
        around_each in 0_u64..6,
        tokens_max in 1_u64..400,
        start in any::<prop::sample::Index>(),
    ) {
        let (engine, folder) = (engine(), Folder::new());
        let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(seed).turns(4).build()));
        let Some(tip) = import(&engine, &path).session.tip else { return Ok(()) };
        let all = entries_of(&engine, tip);
        prop_assume!(!all.is_empty());
        let commits = chain(&engine, tip);
        // Any commit of it stands for the chain.
        let ctx = start.get(&commits).id;
        let mut joined = Vec::new();
        let mut next = 1;
        while next <= all.len() as u64 {
            let page = around(&engine, ctx, Some(&format!("@{next}")), (around_each, tokens_max));
            prop_assert_eq!((page.ctx, page.total, page.forgotten), (tip, all.len() as u64, 0));
            let shown: u64 = page.entries.iter().map(|found| if found.is_cut { 0 } else { found.tokens }).sum();
            prop_assert!(shown <= tokens_max);
            let matched: Vec<u64> =
                page.entries.iter().filter(|found| found.is_match).map(|found| found.ordinal).collect();
            prop_assert_eq!(matched, [next]);
            let ordinals: Vec<u64> = page.entries.iter().map(|found| found.ordinal).collect();
            let first = ordinals[0];
            prop_assert_eq!(&ordinals, &(first..first + ordinals.len() as u64).collect::<Vec<_>>());
            prop_assert!(ordinals.iter().all(|ordinal| ordinal.abs_diff(next) <= around_each));
            joined.extend(held(&page).into_iter().filter(|(ordinal, ..)| *ordinal >= next));
            next = ordinals[ordinals.len() - 1] + 1;
        }
        let expected: Vec<_> =
            (1..).zip(&all).map(|(ordinal, (ctx, entry))| (ordinal, *ctx, entry.clone())).collect();
        prop_assert_eq!(joined, expected);
    }

    #[test]
    fn an_entry_is_found_by_its_id_from_the_commit_that_holds_it(
        seed in any::<u64>(),
        which in any::<prop::sample::Index>(),
    ) {
        let (engine, folder) = (engine(), Folder::new());
        let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(seed).turns(4).build()));
        let Some(tip) = import(&engine, &path).session.tip else { return Ok(()) };
        let all = entries_of(&engine, tip);
        prop_assume!(!all.is_empty());
        let (ctx, entry) = which.get(&all).clone();
        let page = around(&engine, ctx, Some(entry.id.as_str()), (0, 100));
        prop_assert_eq!(page.entries.len(), 1);
        prop_assert_eq!(&page.entries[0].entry.id, &entry.id);
        prop_assert_eq!(page.entries[0].ctx, ctx);
    }
}

fn story() -> (Engine, Folder, CommitId) {
    let (engine, folder) = (engine(), Folder::new());
    let turn = |turn: u32| {
        let (asked, told) = (2 * turn + 1, 2 * turn + 2);
        user(asked, (turn > 0).then(|| asked - 1), "why") + &answer(told, asked, &"because ".repeat(50))
    };
    let lines: String = (0..4).map(turn).collect();
    let path = folder.write("s.jsonl", lines.as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    (engine, folder, tip)
}

#[test]
fn a_snapshot_adds_no_entries() {
    let (engine, _folder, tip) = story();
    let before = around(&engine, tip, Some("@3"), (50, 10_000));
    let snapshot = engine.snapshot(tip, Stop::Root).expect("a snapshot");
    let after = around(&engine, snapshot, Some("@3"), (50, 10_000));
    assert_eq!(after, Around { ctx: snapshot, ..before });
}

#[test]
fn what_has_too_many_tokens_is_cut_in_the_middle_of_a_page_and_left_out_beside_it() {
    let (engine, _folder, tip) = story();
    let page = around(&engine, tip, Some("@2"), (3, 10));
    let shown: Vec<_> = page.entries.iter().map(|found| (found.ordinal, found.is_cut)).collect();
    assert_eq!(shown, [(2, true)]);
    assert_eq!(page.entries[0].text.chars().count(), 40);
    // The neighbours of a prompt are longer than what is left.
    let page = around(&engine, tip, Some("@3"), (3, 10));
    assert_eq!(page.entries.iter().map(|found| found.ordinal).collect::<Vec<_>>(), [3]);
}

#[test]
fn an_entry_that_is_not_there_is_not_found() {
    let (engine, _folder, tip) = story();
    for text in ["@0", "@9", "@x", "@", "nothing", "e", ""] {
        let query = AroundQuery { ctx: tip, entry: Some(text.to_owned()), around: 3, tokens_max: 100 };
        let refused = engine.around(&query);
        assert!(matches!(refused, Err(EngineError::NotFound { .. })), "{text}: {refused:?}");
    }
    let last = around(&engine, tip, None, (0, 1_000));
    assert_eq!(
        last.entries.iter().map(|found| (found.ordinal, found.is_match)).collect::<Vec<_>>(),
        [(8, false)]
    );
}
