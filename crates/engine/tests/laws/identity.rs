//! Invariants 6, 7 and 8: commits are a function of the bytes, and the bytes come back.

use proptest::prelude::*;
use stemmata_model::CommitId;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{
    Folder, bytes_of, chain, corpus, engine, engine_on, import, jsonl_below, native, new_store, usage,
};

fn session(seed: u64) -> ClaudeSession {
    ClaudeSession::new(seed).turns(4).compactions(seed % 3).rewinds(seed % 2)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    #[test]
    fn invariant_06_same_bytes_same_ids_on_every_machine(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let bytes = bytes_of(&session(seed).build());
        let here = folder.write("a.jsonl", &bytes);
        let there = folder.write("elsewhere.jsonl", &bytes);
        let one = import(&engine_on("m1", new_store()), &here);
        let two = import(&engine_on("m2", new_store()), &there);
        prop_assert_eq!(one.session.tip, two.session.tip);
    }

    #[test]
    fn invariant_06_the_order_of_import_makes_no_difference(seeds in proptest::collection::vec(0..10_000_u64, 2..5)) {
        let folder = Folder::new();
        let mut paths: Vec<_> = seeds
            .iter()
            .enumerate()
            .map(|(number, seed)| folder.write(&format!("{number}.jsonl"), &bytes_of(&session(*seed).build())))
            .collect();
        let forward = engine();
        let mut tips: Vec<Option<CommitId>> = paths.iter().map(|path| import(&forward, path).session.tip).collect();
        paths.reverse();
        let backward = engine();
        let again: Vec<Option<CommitId>> = paths.iter().map(|path| import(&backward, path).session.tip).collect();
        tips.reverse();
        prop_assert_eq!(tips, again);
    }

    #[test]
    fn invariant_07_native_equals_the_input_and_every_commit_is_a_prefix(seed in 0..10_000_u64, cut in 0..200_usize) {
        let folder = Folder::new();
        let mut bytes = bytes_of(&session(seed).build());
        // A torn tail of any length is part of the file.
        bytes.truncate(bytes.len().saturating_sub(cut).max(1));
        let engine = engine();
        let captured = import(&engine, &folder.write("s.jsonl", &bytes));
        let tip = captured.session.tip.expect("a tip");
        prop_assert_eq!(&native(&engine, tip), &bytes);
        let mut longest = Vec::new();
        for commit in chain(&engine, tip) {
            let prefix = native(&engine, commit.id);
            prop_assert!(prefix.starts_with(&longest) && bytes.starts_with(&prefix));
            longest = prefix;
        }
    }

    #[test]
    fn invariant_08_a_second_import_stores_nothing(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = engine();
        let path = folder.write("s.jsonl", &bytes_of(&session(seed).build()));
        let first = import(&engine, &path);
        let before = usage(&engine);
        let second = import(&engine, &path);
        let full = stemmata_engine::CaptureOptions { full: true, ..stemmata_engine::CaptureOptions::import() };
        let third = engine.capture(&path, &full).expect("read again");
        prop_assert_eq!(usage(&engine), before);
        prop_assert_eq!(first.session.tip, second.session.tip);
        prop_assert_eq!(first.session.tip, third.session.tip);
        prop_assert_eq!((second.new_commits, third.new_commits), (0, 0));
        prop_assert_eq!(first.entries, second.entries);
    }
}

#[test]
fn a_rewritten_file_branches_at_the_last_common_commit_and_the_old_commits_stay() {
    let folder = Folder::new();
    let engine = engine();
    let lines = ClaudeSession::new(7).turns(5).build().lines;
    let text = lines.join("\n") + "\n";
    let old = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.tip.expect("a tip");
    let old_chain = chain(&engine, old);
    let keep: usize =
        old_chain.iter().take(3).map(|commit| usize::try_from(commit.native_bytes).expect("small")).sum();
    let rewritten =
        [&text.as_bytes()[..keep], b"{\"type\":\"custom-title\",\"customTitle\":\"x\"}\n"].concat();
    let captured = import(&engine, &folder.write("s.jsonl", &rewritten));
    let new = captured.session.tip.expect("a tip");
    assert_eq!(native(&engine, new), rewritten);
    assert_eq!(native(&engine, old), text.as_bytes(), "the old commits stay");
    let new_chain = chain(&engine, new);
    assert_eq!(new_chain.first().map(|commit| commit.id), old_chain.first().map(|commit| commit.id));
    assert!(
        captured.notes.iter().any(|note| note.code == stemmata_model::NoteCode::Rewritten),
        "{:?}",
        captured.notes
    );
}

#[test]
fn a_file_with_nothing_in_common_is_a_new_chain_derived_from_the_old_one() {
    let folder = Folder::new();
    let engine = engine();
    let old =
        import(&engine, &folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(1).build()))).session.tip;
    let new =
        import(&engine, &folder.write("s.jsonl", &bytes_of(&ClaudeSession::new(2).build()))).session.tip;
    let root = chain(&engine, new.expect("a tip")).first().map(|commit| commit.id).expect("a root");
    let links = engine.store().links(root, 10).expect("links");
    let old_closed = crate::support::closed(&engine, old.expect("a tip")).last().copied();
    assert_eq!(links.first().map(|link| (link.from, Some(link.to))), Some((root, old_closed)), "{links:?}");
}

#[test]
fn corpus_files_of_other_runtimes_come_back_byte_for_byte() {
    let Some(corpus) = corpus("corpus_files_of_other_runtimes_come_back_byte_for_byte") else { return };
    for runtime in ["codex", "gemini", "pi"] {
        let engine = engine();
        let (mut files, mut commits, mut entries) = (0, 0, 0);
        for path in jsonl_below(&corpus.join(runtime)) {
            // The events of `codex exec` are no rollout.
            if path.to_string_lossy().ends_with(".exec.jsonl") {
                continue;
            }
            let captured = import(&engine, &path);
            let tip = captured.session.tip.expect("a tip");
            if captured.bytes_redacted == 0 {
                assert_eq!(native(&engine, tip), std::fs::read(&path).expect("a file"), "{}", path.display());
            }
            (files, commits, entries) =
                (files + 1, commits + captured.session.commits, entries + captured.entries);
        }
        assert!(files > 0, "no session of {runtime}");
        println!("{runtime}: {files} files, {commits} commits, {entries} entries");
    }
}

#[test]
fn corpus_every_claude_code_file_comes_back_byte_for_byte() {
    let Some(corpus) = corpus("corpus_every_claude_code_file_comes_back_byte_for_byte") else { return };
    let engine = engine();
    let mut redacted = Vec::new();
    let mut totals = (0_u64, 0_u64, 0_u64);
    for path in jsonl_below(&corpus.join("claude-code")) {
        let bytes = std::fs::read(&path).expect("a file");
        let captured = import(&engine, &path);
        let is_stream = path.to_string_lossy().ends_with(".stream.jsonl");
        let format = if is_stream { "claude-stream-v1" } else { "claude-code-v1" };
        assert_eq!(captured.session.format.as_str(), format, "{}", path.display());
        let tip = captured.session.tip.expect("a tip");
        totals = (totals.0 + 1, totals.1 + captured.session.commits, totals.2 + captured.entries);
        if captured.bytes_redacted == 0 {
            assert_eq!(native(&engine, tip), bytes, "{}", path.display());
        } else {
            redacted.push((path.clone(), captured.bytes_redacted));
        }
        let mut longest = 0;
        for commit in chain(&engine, tip) {
            assert_eq!(commit.cumulative_bytes, longest + commit.native_bytes);
            longest = commit.cumulative_bytes;
        }
    }
    println!("claude-code: {} files, {} commits, {} entries", totals.0, totals.1, totals.2);
    for (path, bytes) in redacted {
        println!("  {bytes} bytes replaced in {}", path.display());
    }
    assert!(totals.0 >= 30, "only {} files", totals.0);
}
