//! Copies that clients made are linked to their originals, whatever the order in which they come.

use std::collections::BTreeSet;

use proptest::prelude::*;
use stemmata_engine::{BundleImportOptions, BundleSelection, CaptureOptions, Engine};
use stemmata_model::{Closure, CommitId, Trigger};
use stemmata_store::{Link, LinkKind};
use stemmata_testkit::claude::{ClaudeSession, CopyKind, copy_of};

use crate::support::{Folder, bytes_of, chain, corpus, engine, import, jsonl_below};

const COPIES: [&str; 4] = [
    "c0c0c0c0-0000-4000-8000-000000000001",
    "c0c0c0c0-0000-4000-8000-000000000002",
    "c0c0c0c0-0000-4000-8000-000000000003",
    "c0c0c0c0-0000-4000-8000-000000000004",
];

/// All links between copies and originals, as (copy's file, original's file, entry): by the files of the roots.
fn links(engine: &Engine) -> BTreeSet<(String, String, Option<String>)> {
    let root = |id: CommitId| {
        let root = chain(engine, id).into_iter().next().expect("a root");
        assert_ne!(root.closure, Closure::Covered, "nothing is linked to what is covered");
        let seen = engine.store().sightings(root.id, 9).expect("a read");
        let path = seen.first().and_then(|seen| seen.source.as_ref()).expect("a file").path.clone();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    };
    all(engine)
        .into_iter()
        .filter(|link| link.kind == LinkKind::DerivedFrom)
        .map(|link| (root(link.from), root(link.to), link.entry.map(|entry| entry.to_string())))
        .collect()
}

fn all(engine: &Engine) -> BTreeSet<Link> {
    let commits = engine.store().commits_after(None, 100_000).expect("a read");
    commits.iter().flat_map(|commit| engine.store().links(commit.id, 1000).expect("a read")).collect()
}

/// A family: an original, copies of it, a copy of a copy, an unrelated session; the beginning of each.
fn family(seed: u64, turns: u64) -> Vec<(&'static str, String)> {
    let original = ClaudeSession::new(seed).turns(turns).build();
    let text = String::from_utf8(bytes_of(&original)).expect("text");
    let more = |seed: u64, id: &str| {
        let more = ClaudeSession::new(seed + 10_000).turns(3).session_id(id).build();
        String::from_utf8(bytes_of(&more)).expect("text")
    };
    let cli = copy_of(&text, &original.session_id, COPIES[0], CopyKind::KeepsIds) + &more(seed, COPIES[0]);
    let sdk = copy_of(&text, &original.session_id, COPIES[1], CopyKind::NewIds);
    let of_cli = copy_of(&cli, COPIES[0], COPIES[2], CopyKind::KeepsIds);
    let of_sdk = copy_of(&sdk, COPIES[1], COPIES[3], CopyKind::NewIds);
    let other = String::from_utf8(bytes_of(&ClaudeSession::new(seed + 20_000).build())).expect("text");
    vec![
        ("original.jsonl", text),
        ("cli.jsonl", cli),
        ("sdk.jsonl", sdk),
        ("of-cli.jsonl", of_cli),
        ("of-sdk.jsonl", of_sdk),
        ("other.jsonl", other),
    ]
}

fn imported(files: &[(&'static str, String)], order: &[usize]) -> Engine {
    let folder = Folder::new();
    let engine = engine();
    for place in order {
        let (name, text) = &files[*place];
        import(&engine, &folder.write(name, text.as_bytes()));
    }
    engine
}

#[test]
fn invariant_01_every_order_of_import_gives_the_same_copies() {
    let files = family(3, 2);
    let expected = links(&imported(&files, &[0, 1, 2, 3, 4, 5]));
    assert_eq!(expected.len(), 4, "each but the oldest and the stranger is a copy: {expected:?}");
    assert!(expected.iter().all(|(copy, original, _)| copy != "other.jsonl" && original != "other.jsonl"));
    let of = |name: &str| expected.iter().find(|(copy, ..)| copy == name).map(|(_, to, _)| to.as_str());
    assert!(matches!(of("sdk.jsonl"), Some("original.jsonl" | "cli.jsonl" | "of-cli.jsonl")), "{expected:?}");
    assert_eq!(of("of-sdk.jsonl"), Some("sdk.jsonl"), "it names the entries of the one it was copied from");
    let mut orders = Vec::new();
    permutations(&mut vec![0, 1, 2, 3, 4], 0, &mut orders);
    for mut order in orders {
        order.insert(order[0] % 3, 5);
        assert_eq!(links(&imported(&files, &order)), expected, "{order:?}");
    }
}

fn permutations(items: &mut Vec<usize>, at: usize, found: &mut Vec<Vec<usize>>) {
    if at == items.len() {
        found.push(items.clone());
        return;
    }
    for other in at..items.len() {
        items.swap(at, other);
        permutations(items, at + 1, found);
        items.swap(at, other);
    }
}

/// One look at a growing file: which, up to what share of it, and whether as an import.
type Look = (usize, f64, bool);

/// Reads files that grow by these steps and then to their ends, each step by one look.
fn read_live(files: &[(&'static str, String)], steps: &[Look]) -> Engine {
    let folder = Folder::new();
    let live = engine();
    let mut written = vec![0; files.len()];
    let ends = (0..files.len()).map(|file| (file, 1.0, true));
    for (file, at, is_import) in steps.iter().copied().chain(ends) {
        let (name, text) = &files[file];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a small length"
        )]
        let end = ((text.len() as f64 * at) as usize).max(written[file]);
        folder.append(name, &text.as_bytes()[written[file]..end]);
        written[file] = end;
        let how = if is_import { CaptureOptions::import() } else { CaptureOptions::live(Trigger::ToolCall) };
        // Too little to be told from any other file is for the next look.
        let _early = live.capture(&folder.path().join(name), &how);
    }
    live
}

/// A look at an open turn that holds all of it becomes the closed commit under the same id: which of two chains is
/// the older one may change by that, and then the link between them turns.
#[test]
fn a_root_that_closes_as_it_was_looked_at_turns_its_link() {
    let files = &family(9975, 2)[..3];
    let expected = links(&imported(files, &[0, 1, 2]));
    let live = read_live(files, &[(1, 0.324, false), (0, 0.721, false)]);
    assert_eq!(links(&live), expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(5)))]

    /// However the original grows beside its copy, what is linked in the end is what one import links.
    #[test]
    fn live_copies_are_linked_as_imported_ones(
        seed in 0..10_000_u64,
        turns in 1..5_u64,
        steps in proptest::collection::vec((0..3_usize, 0.0..1.0_f64, any::<bool>()), 0..10),
    ) {
        let mut files = family(seed, turns);
        files.truncate(3);
        let expected = links(&imported(&files, &[0, 1, 2]));
        prop_assert_eq!(expected.len(), 2);
        let live = read_live(&files, &steps);
        prop_assert_eq!(links(&live), expected);
    }
}

/// Where a transcript is read first.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Here,
    Elsewhere(usize),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// Whether a transcript is imported or comes in a bundle, whole or grown in between, and in whatever order:
    /// what is linked in the end is what one import of all links.
    #[test]
    fn what_bundles_bring_is_linked_as_imports_are(
        seed in 0..10_000_u64,
        turns in 1..4_u64,
        ways in proptest::collection::vec(prop_oneof![Just(Way::Here), (0..3_usize).prop_map(Way::Elsewhere)], 6),
        early in proptest::collection::vec((0..6_usize, 0.0..1.0_f64, any::<bool>()), 0..8),
        order in Just((0..9_usize).collect::<Vec<_>>()).prop_shuffle(),
        batch_writes_max in prop_oneof![Just(1_usize), Just(7), Just(16_384)],
    ) {
        let files = family(seed, turns);
        let expected = links(&imported(&files, &[0, 1, 2, 3, 4, 5]));
        let folder = Folder::new();
        let others = [engine(), engine(), engine()];
        let here = engine();
        let mut written = [0; 6];
        let grow = |file: usize, end: usize, written: &mut [usize; 6]| {
            let (name, text) = &files[file];
            let end = end.max(written[file]);
            folder.append(name, &text.as_bytes()[written[file]..end]);
            written[file] = end;
            let reader = match ways[file] {
                Way::Here => &here,
                Way::Elsewhere(number) => &others[number],
            };
            // Too little to be told from any other file is for the next look.
            let _early = reader.capture(&folder.path().join(name), &CaptureOptions::import());
        };
        let bring = |number: usize| {
            let mut bytes = Vec::new();
            let all = BundleSelection::All;
            others[number].export_bundle(&all, &[], &mut bytes).expect("exported");
            let options = BundleImportOptions { batch_writes_max, ..BundleImportOptions::default() };
            here.import_bundle(&bytes, &options).expect("imported");
        };
        for (file, at, is_brought) in early {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                clippy::cast_precision_loss,
                reason = "a share of a small length"
            )]
            grow(file, (files[file].1.len() as f64 * at) as usize, &mut written);
            if let (Way::Elsewhere(number), true) = (ways[file], is_brought) {
                bring(number);
            }
        }
        for step in order {
            match step {
                file @ 0..6 => grow(file, files[file].1.len(), &mut written),
                number => bring(number - 6),
            }
        }
        (0..3).for_each(bring);
        prop_assert_eq!(links(&here), expected.clone());
        // Nothing changes by being told once more.
        (0..3).for_each(bring);
        prop_assert_eq!(links(&here), expected);
    }
}

#[test]
fn one_shared_id_is_no_copy_and_a_second_import_links_nothing() {
    let one = r#"{"type":"user","uuid":"aaaa1111-0000-4000-8000-0000bcde0001","parentUuid":null,"sessionId":"s1","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"a"}}"#;
    let two = r#"{"type":"user","uuid":"aaaa1111-0000-4000-8000-0000bcde0001","parentUuid":null,"sessionId":"s2","timestamp":"2026-01-02T00:00:00Z","message":{"role":"user","content":"b"}}"#;
    let engine = engine();
    let folder = Folder::new();
    for (name, line) in [("one.jsonl", one), ("two.jsonl", two)] {
        let path = folder.write(name, format!("{line}\n").as_bytes());
        assert_eq!(import(&engine, &path).copies, []);
    }
    let files = family(7, 2);
    let mut paths = Vec::new();
    let mut made = 0;
    for (name, text) in files.iter().take(2) {
        paths.push(folder.write(name, text.as_bytes()));
        made += import(&engine, paths.last().expect("a path")).copies.len();
    }
    assert_eq!(made, 1);
    let again = |options: &CaptureOptions| -> usize {
        paths.iter().map(|path| engine.capture(path, options).expect("captured").copies.len()).sum()
    };
    assert_eq!(again(&CaptureOptions::import()), 0);
    assert_eq!(again(&CaptureOptions { full: true, ..CaptureOptions::import() }), 0);
    assert_eq!(links(&engine).len(), 1);
}

/// What the real clients of the corpus copied is found, and nothing else of a client is called a copy.
#[test]
fn the_forks_of_real_clients_are_found() {
    let Some(corpus) = corpus("the_forks_of_real_clients_are_found") else { return };
    let engine = engine();
    for path in jsonl_below(&corpus.join("claude-code")) {
        let _no_transcript = engine.capture(&path, &CaptureOptions::import());
    }
    let found = links(&engine);
    for (copy, original) in [
        ("62687def-4483-4411-af9e-0c4befd8968f.jsonl", "1.0.60"),
        ("a20ee0c8-dee5-4780-9c14-86e9436cd08e.jsonl", "1.0.60"),
        ("f160f67c-cda6-4130-84a7-aa52a6bfd44b.jsonl", "2.1.330"),
        ("f2644635-2de0-4c7b-86b0-1782b6e4acca.jsonl", "2.1.50"),
    ] {
        let to = found.iter().find(|(from, ..)| from == copy).map(|(_, to, _)| to.as_str());
        assert!(
            matches!(to, Some("11111111-1111-4111-8111-111111111111.jsonl" | "base.jsonl")),
            "{original}: {found:?}"
        );
    }
}
