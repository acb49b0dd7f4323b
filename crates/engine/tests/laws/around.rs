//! Pages of a chain's entries, joined, are the chain.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stemmata_engine::{Around, AroundQuery, Engine, EngineError, ForgetOptions, ForgetTarget, Stop};
use stemmata_model::{CommitId, Entry, Principal};
use stemmata_store::StoreError;
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
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

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
            let with_text = page.entries.iter().filter(|found| !found.text.trim().is_empty());
            let (before, rest): (Vec<u64>, Vec<u64>) =
                with_text.map(|found| found.ordinal).filter(|ordinal| *ordinal != next).partition(|at| *at < next);
            prop_assert!(before.len().max(rest.len()) as u64 <= around_each);
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

/// Clients write many records beside what is said.
#[test]
fn records_without_text_use_up_no_neighbours() {
    let (engine, folder) = (engine(), Folder::new());
    let record = "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"snapshot\":{},\"isSnapshotUpdate\":false}\n";
    let lines: String = [
        user(1, None, "why"),
        record.repeat(3),
        answer(2, 1, "because"),
        record.repeat(3),
        user(3, Some(2), "and then"),
    ]
    .concat();
    let path = folder.write("s.jsonl", lines.as_bytes());
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let page = around(&engine, tip, Some("@5"), (1, 1_000));
    let ordinals: Vec<u64> = page.entries.iter().map(|found| found.ordinal).collect();
    assert_eq!(ordinals, (1..=9).collect::<Vec<u64>>());
    assert_eq!((page.before, page.next), (None, None));
    let alone = around(&engine, tip, Some("@5"), (0, 1_000));
    assert_eq!(alone.entries.iter().map(|found| found.ordinal).collect::<Vec<_>>(), [5]);
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

/// An id that is the beginning of others names its own entry, one that looks like an ordinal is none, and short ones are ids.
#[test]
fn counted_ids_name_their_own_entries() {
    let (engine, folder) = (engine(), Folder::new());
    let said = |id: &str| {
        let at = "2026-03-09T12:00:00Z";
        format!(
            "{{\"v\":\"stemmata-v1\",\"id\":\"{id}\",\"role\":\"user\",\"timestamp\":\"{at}\",\"parts\":[{{\"type\":\"text\",\"text\":\"{id} said\"}}]}}\n"
        )
    };
    let lines: String = ["@3", "D1:1", "D1:17", "e1"].map(said).concat();
    let tip = import(&engine, &folder.write("s.jsonl", lines.as_bytes())).session.tip.expect("a tip");
    for (name, wanted) in [("D1:1", 2), ("D1:17", 3), ("e1", 4), ("@3", 3), ("@1", 1)] {
        let page = around(&engine, tip, Some(name), (0, 100));
        assert_eq!(page.entries.iter().map(|one| one.ordinal).collect::<Vec<_>>(), [wanted], "{name}");
        let cut = engine.prepare_placement(tip, None, Stop::Root, Some(name));
        assert!(
            !matches!(cut, Err(EngineError::NotFound { .. } | EngineError::Ambiguous { .. })),
            "{name}: {cut:?}"
        );
    }
}

/// Returns the entries beside one that a page has, of two with text or forgotten ones, and how many of these were forgotten.
fn near<'a>(
    beside: impl Iterator<Item = &'a (u64, CommitId, Entry)>,
    (holes, with_text): (&[CommitId], &BTreeSet<u64>),
) -> (Vec<(u64, CommitId, Entry)>, u64) {
    let (mut shown, mut wordless, mut forgotten, mut left) = (Vec::new(), Vec::new(), 0, 2);
    for one in beside {
        if left == 0 {
            return (shown, forgotten);
        }
        if holes.contains(&one.1) {
            forgotten += 1;
            left -= 1;
        } else if with_text.contains(&one.0) {
            shown.append(&mut wordless);
            shown.push(one.clone());
            left -= 1;
        } else {
            wordless.push(one.clone());
        }
    }
    if left > 0 {
        shown.append(&mut wordless);
    }
    (shown, forgotten)
}

/// The ordinals of what was forgotten are given to nothing else: pages joined are the rest of the chain, in its places.
#[test]
fn pages_joined_leave_out_what_was_forgotten() {
    for seed in 1..6 {
        let (engine, folder) = (engine(), Folder::new());
        let path = folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(seed).turns(4).build()));
        let tip = import(&engine, &path).session.tip.expect("a tip");
        let all: Vec<(u64, CommitId, Entry)> = (1..)
            .zip(entries_of(&engine, tip))
            .map(|(ordinal, (ctx, entry))| (ordinal, ctx, entry))
            .collect();
        let commits = chain(&engine, tip);
        let gone = commits.get(1).expect("several turns").id;
        let by = Principal::new("ada").expect("a name");
        let options = ForgetOptions { everywhere: true, even_pinned: false, by };
        let done = engine.forget(&ForgetTarget::Commit(gone), &options).expect("forgotten").forgotten;
        assert!(done.cut.contains(&gone), "{done:?}");
        let holes: Vec<CommitId> = done.cut.iter().chain(&done.cut_too).copied().collect();
        let total = all.len() as u64;
        let has_text = |ordinal: &u64| {
            let alone = around(&engine, tip, Some(&format!("@{ordinal}")), (0, 1_000_000));
            !alone.entries[0].text.trim().is_empty()
        };
        let there = all.iter().filter(|(_, ctx, _)| !holes.contains(ctx)).map(|(ordinal, ..)| *ordinal);
        let with_text: BTreeSet<u64> = there.filter(has_text).collect();
        let mut joined: Vec<(u64, CommitId, Entry)> = Vec::new();
        for (ordinal, ctx, entry) in &all {
            let asked = AroundQuery {
                ctx: tip,
                entry: Some(format!("@{ordinal}")),
                around: 2,
                tokens_max: 1_000_000,
            };
            if holes.contains(ctx) {
                let refused = engine.around(&asked);
                let is_hole = |id: &CommitId| id == ctx;
                assert!(
                    matches!(&refused, Err(EngineError::Store(StoreError::Forgotten(id))) if is_hole(id)),
                    "{refused:?}"
                );
                let named = AroundQuery { entry: Some(entry.id.to_string()), ..asked };
                assert!(engine.around(&named).is_err(), "{ordinal}");
                continue;
            }
            let page = engine.around(&asked).expect("a page");
            let (above, below) = all.split_at(usize::try_from(*ordinal).expect("few") - 1);
            let (mut shown, left_out) = near(above.iter().rev(), (&holes, &with_text));
            shown.reverse();
            let (after, left_out_after) = near(below.iter().skip(1), (&holes, &with_text));
            let forgotten = left_out + left_out_after;
            assert_eq!((page.total, page.forgotten), (total, forgotten), "seed {seed} @{ordinal}");
            let shown: Vec<_> = shown.into_iter().chain(below.first().cloned()).chain(after).collect();
            assert_eq!(held(&page), shown, "seed {seed} @{ordinal}");
            joined.extend(held(&page).into_iter().filter(|(found, ..)| found == ordinal));
        }
        let mut rest = all;
        rest.retain(|(_, ctx, _)| !holes.contains(ctx));
        assert_eq!(joined, rest, "seed {seed}");
        assert!(!joined.is_empty() && joined.len() < usize::try_from(total).expect("few"), "seed {seed}");
        // Page by page, as each says where the next one begins.
        let ordinals: Vec<u64> = rest.iter().map(|(ordinal, ..)| *ordinal).collect();
        let mut next = ordinals.first().copied();
        let mut followed = Vec::new();
        while let Some(ordinal) = next {
            let page = around(&engine, tip, Some(&format!("@{ordinal}")), (0, 1_000_000));
            let before = ordinals.iter().rev().find(|other| **other < ordinal).copied();
            assert_eq!(page.before, before, "seed {seed} @{ordinal}");
            followed.extend(page.entries.iter().map(|entry| entry.ordinal));
            next = page.next;
        }
        assert_eq!(followed, ordinals, "seed {seed}");
    }
}

/// A document is written anew each time: what it says again stands in the chain once, where it was said first.
#[test]
fn a_document_that_grows_says_each_message_once() {
    let (engine, folder) = (engine(), Folder::new());
    let mut tips = Vec::new();
    for messages in [3, 9, 14] {
        let path = folder.write("talk.json", crate::documents::array(messages, "word").as_bytes());
        tips.push(import(&engine, &path).session.tip.expect("a tip"));
    }
    let last = *tips.last().expect("three states");
    let all = engine.entries(last).expect("entries");
    for tip in tips {
        let mut joined = Vec::new();
        for ordinal in (1..=all.len()).step_by(5) {
            let page = around(&engine, tip, Some(&format!("@{ordinal}")), (4, 1_000_000));
            assert_eq!((page.ctx, page.total), (last, all.len() as u64));
            let from = |found: &(u64, CommitId, Entry)| found.0 >= ordinal as u64;
            joined.extend(held(&page).into_iter().filter(from).map(|(_, _, entry)| entry));
        }
        joined.dedup();
        assert_eq!(joined, all);
    }
}
