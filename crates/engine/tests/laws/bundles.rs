//! Bundles: what comes back from one is what went in, wherever it comes back.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;
use stemmata_api::v1::{BundleExported, BundleImported};
use stemmata_engine::{
    BundleImportOptions, BundleLimits, BundleSelection, Engine, ErrorKind, Stop, Update, parse_have,
    render_have,
};
use stemmata_model::{Commit, CommitId, NoteCode, Principal, Sighting, Timestamp};
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{
    Annotations, AuditRecord, Link, Page, Session, SessionFilter, SessionKey, Store, StoreIdentity,
};
use stemmata_testkit::claude::ClaudeSession;
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{
    Folder, bytes_of, chain, closed, corpus, engine, engine_on, import, jsonl_below, native, new_store,
    placing, usage,
};

/// Makes an engine of another machine over an empty store.
pub(crate) fn other() -> Engine {
    engine_on("m2", new_store())
}

/// Exports to bytes.
pub(crate) fn export(
    engine: &Engine,
    what: &BundleSelection,
    have: &[CommitId],
) -> (Vec<u8>, BundleExported) {
    let mut bytes = Vec::new();
    let done = engine.export_bundle(what, have, &mut bytes).expect("exported");
    assert_eq!(done.bytes, u64::try_from(bytes.len()).expect("a length"));
    (bytes, done)
}

/// Imports from bytes.
pub(crate) fn take(engine: &Engine, bundle: &[u8]) -> BundleImported {
    let found = engine.import_bundle(&bundle.to_vec(), &BundleImportOptions::default());
    found.unwrap_or_else(|error| panic!("imported: {error}"))
}

/// Everything of a store that a bundle carries, in an order that does not depend on it.
#[derive(Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) commits: Vec<(Commit, Vec<Sighting>)>,
    said: Vec<(Annotations, BTreeSet<AuditRecord>, Vec<Link>)>,
    sessions: Vec<Session>,
}

pub(crate) fn told(engine: &Engine) -> Told {
    let store = engine.store();
    let commits = store.commits_after(None, usize::MAX).expect("commits");
    let said = commits.iter().map(|commit| {
        (
            store.annotations(commit.id).expect("annotations"),
            // That it came in a bundle is each store's own knowledge.
            store.audit(commit.id, 1_000).expect("a trail").into_iter().map(AuditRecord::unmarked).collect(),
            store.links(commit.id, 1_000).expect("links"),
        )
    });
    let said = said.collect();
    let seen = |id| store.sightings(id, 1_000).expect("sightings");
    let page = Page { skip: 0, rows_max: 10_000 };
    Told {
        said,
        commits: commits.into_iter().map(|commit| (commit.clone(), seen(commit.id))).collect(),
        sessions: store.sessions(&SessionFilter::default(), page).expect("sessions"),
    }
}

pub(crate) fn forgetting(sessions: Vec<SessionKey>) -> Forget {
    let nothing = Forget::new(Timestamp::EPOCH, Principal::new("ann").expect("a name"));
    Forget { sessions, even_sighted: true, even_pinned: true, ..nothing }
}

fn damages(store: &dyn Store) -> Vec<String> {
    let mut found = Vec::new();
    store
        .verify(&mut |damage| found.push(format!("{}: {}", damage.object, damage.message)))
        .expect("verified");
    found
}

/// An engine with sessions that have forks, compactions, snapshots, subagents, open turns looked at early, tags,
/// notes, pins and placed copies.
fn history(seed: u64, folder: &Folder) -> Engine {
    let engine = engine();
    let session = ClaudeSession::new(seed).turns(3 + seed % 3).compactions(seed % 3).rewinds(seed % 2);
    let bytes = bytes_of(&session.subagents(seed % 2).build());
    // The same transcript read in three looks, so that contents are made of ranges.
    let cuts = [bytes.len() / 3, bytes.len() * 2 / 3, bytes.len()];
    let name = format!("s{seed}.jsonl");
    let mut path = None;
    for (from, to) in [0, cuts[0], cuts[1]].into_iter().zip(cuts) {
        folder.append(&name, &bytes[from..to]);
        let file = folder.path().join(&name);
        import(&engine, &file);
        path = Some(file);
    }
    let tip = import(&engine, &path.expect("a file")).session.tip.expect("a tip");
    let ids = closed(&engine, tip);
    let by = Principal::new("ann").expect("a name");
    let update = Update {
        summary: Some("what it was about".to_owned()),
        add_tags: vec!["one".to_owned(), "two".to_owned()],
        notes: vec!["a note".to_owned()],
        pin: Some(true),
        ..Update::default()
    };
    engine.update(tip, update, &by).expect("updated");
    engine
        .update(tip, Update { remove_tags: vec!["one".to_owned()], ..Update::default() }, &by)
        .expect("updated");
    engine.snapshot(tip, Stop::Root).expect("a snapshot");
    if let Some(middle) = ids.get(ids.len() / 2) {
        let placed = engine.place(*middle, &placing(folder)).expect("placed");
        import(&engine, &placed.path);
        let text = std::fs::read_to_string(&placed.path).expect("a file");
        let more = text.lines().last().expect("a line").replace("\"uuid\":\"", "\"uuid\":\"f");
        let mut file = std::fs::OpenOptions::new().append(true).open(&placed.path).expect("a file");
        std::io::Write::write_all(&mut file, format!("{more}\n").as_bytes()).expect("appended");
        import(&engine, &placed.path);
    }
    engine
}

fn same_natives(one: &Engine, two: &Engine) {
    for commit in one.store().commits_after(None, usize::MAX).expect("commits") {
        assert!(native(one, commit.id) == native(two, commit.id), "{}", commit.id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(6)))]

    #[test]
    fn everything_comes_back_from_a_bundle(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = history(seed, &folder);
        let (bundle, done) = export(&engine, &BundleSelection::All, &[]);
        let all = engine.store().usage().expect("usage");
        prop_assert_eq!(done.commits, all.commits);
        let other = other();
        let taken = take(&other, &bundle);
        prop_assert_eq!((taken.new_commits, taken.known_commits, taken.skipped_commits), (all.commits, 0, 0));
        prop_assert_eq!(told(&other), told(&engine));
        prop_assert_eq!(damages(other.store()), Vec::<String>::new());
        same_natives(&engine, &other);
        let again = take(&other, &bundle);
        prop_assert_eq!((again.new_commits, again.sessions, again.new_bytes), (0, 0, 0));
        prop_assert_eq!(told(&other), told(&engine));
        // Contents made of ranges travel as ranges.
        let there = other.store().usage().expect("usage");
        prop_assert!(there.distinct_bytes <= all.distinct_bytes, "{} > {}", there.distinct_bytes, all.distinct_bytes);
    }

    #[test]
    fn the_same_is_exported_to_the_same_bytes(seed in 0..10_000_u64) {
        let folder = Folder::new();
        let engine = history(seed, &folder);
        let (bundle, _) = export(&engine, &BundleSelection::All, &[]);
        prop_assert!(export(&engine, &BundleSelection::All, &[]).0 == bundle);
        let secret = engine.store().identity().expect("an identity").secret;
        prop_assert!(!bundle.windows(32).any(|window| window == secret));
    }

    #[test]
    fn a_chain_alone_comes_back_from_a_bundle(seed in 0..10_000_u64, place in 0..100_usize) {
        let folder = Folder::new();
        let engine = history(seed, &folder);
        let all = engine.store().commits_after(None, usize::MAX).expect("commits");
        let tip = all[place % all.len()].id;
        let (bundle, _) = export(&engine, &BundleSelection::Commits(vec![tip]), &[]);
        let other = other();
        let taken = take(&other, &bundle);
        prop_assert_eq!(&taken.tips, &vec![tip]);
        prop_assert_eq!(chain(&other, tip), chain(&engine, tip));
        prop_assert!(native(&other, tip) == native(&engine, tip));
        prop_assert_eq!(damages(other.store()), Vec::<String>::new());
        for session in told(&other).sessions {
            prop_assert!(session.tip.is_some_and(|tip| other.store().commit(tip).expect("a read").is_some()));
        }
    }

    #[test]
    fn only_what_is_missing_travels(seed in 0..10_000_u64, place in 0..100_usize) {
        let folder = Folder::new();
        let engine = history(seed, &folder);
        let all = engine.store().commits_after(None, usize::MAX).expect("commits");
        let known = all[place % all.len()].id;
        let other = other();
        take(&other, &export(&engine, &BundleSelection::Commits(vec![known]), &[]).0);
        let have = other.bundle_have(&BundleSelection::All).expect("a list");
        prop_assert_eq!(&parse_have(&render_have(&have)).expect("a list"), &have);
        let (thin, done) = export(&engine, &BundleSelection::All, &have);
        let before = other.store().usage().expect("usage").commits;
        prop_assert_eq!(done.commits, u64::try_from(all.len()).expect("few") - before);
        // Another store cannot take it, and says what is missing.
        if !done.prerequisites.is_empty() {
            let refused = crate::bundles::other().import_bundle(&thin, &BundleImportOptions::default());
            let error = refused.expect_err("something is missing");
            prop_assert_eq!(error.kind(), ErrorKind::NotFound);
            prop_assert!(error.to_string().contains(&done.prerequisites[0].to_string()), "{}", error);
        }
        let taken = take(&other, &thin);
        prop_assert_eq!((taken.new_commits, taken.known_commits), (done.commits, 0));
        same_natives(&engine, &other);
        prop_assert_eq!(damages(other.store()), Vec::<String>::new());
        prop_assert_eq!(told(&other).said, told(&engine).said);
    }

    #[test]
    fn a_hole_travels_with_what_continues_it(seed in 0..10_000_u64, place in 0..100_usize) {
        let folder = Folder::new();
        let engine = history(seed, &folder);
        let (whole, _) = export(&engine, &BundleSelection::All, &[]);
        let complete = told(&engine);
        let all = engine.store().commits_after(None, usize::MAX).expect("commits");
        let cut = vec![all[place % all.len()].id];
        let wish = Forget { cut, ..forgetting(Vec::new()) };
        engine.store().forget(&wish).expect("forgotten");
        let (bundle, done) = export(&engine, &BundleSelection::All, &[]);
        let other = other();
        let taken = take(&other, &bundle);
        let shown = Engine::show_bundle(&bundle, BundleLimits::default()).expect("a bundle");
        prop_assert!(shown.forgotten > 0);
        prop_assert_eq!((taken.new_commits, taken.skipped_commits, taken.links_left_out), (done.commits, 0, 0));
        prop_assert_eq!(told(&other), told(&engine));
        prop_assert_eq!(damages(other.store()), Vec::<String>::new());
        for commit in &all {
            let read = |engine: &Engine| {
                let mut bytes = Vec::new();
                engine.native(commit.id, &mut bytes).map(|_| bytes).map_err(|error| error.to_string())
            };
            prop_assert_eq!(read(&other), read(&engine));
        }
        prop_assert!(export(&other, &BundleSelection::All, &[]).0 == bundle);
        let again = take(&other, &bundle);
        prop_assert_eq!((again.new_commits, again.skipped_commits, again.notes.len()), (0, 0, 0));
        // Who was told to forget keeps the hole, who only heard of it has the commit as soon as somebody gives it.
        take(&engine, &whole);
        prop_assert_eq!(told(&engine).commits, told(&other).commits);
        take(&other, &whole);
        prop_assert_eq!(told(&other).commits, complete.commits);
        prop_assert_eq!(damages(other.store()), Vec::<String>::new());
        take(&other, &bundle);
        prop_assert_eq!(told(&other).said, complete.said, "a hole takes nothing away");
    }

    #[test]
    fn two_stores_that_exchange_bundles_know_the_same(one in 0..5_000_u64, two in 0..5_000_u64) {
        let (first, second) = (Folder::new(), Folder::new());
        let ann = history(one, &first);
        let bob = other();
        // Both have one session, and each has another; both then say something about the shared one.
        let (shared, _) = export(&ann, &BundleSelection::All, &[]);
        take(&bob, &shared);
        let tip = ann.store().tips(&stemmata_store::TipFilter::default(), Page { skip: 0, rows_max: 1 }).expect("tips")[0].id;
        import(&bob, &second.write("b.jsonl", &bytes_of(&ClaudeSession::new(two + 10_000).turns(2).build())));
        import(&ann, &first.write("a.jsonl", &bytes_of(&ClaudeSession::new(two + 20_000).turns(2).build())));
        let say = |engine: &Engine, who: &str| {
            let by = Principal::new(who).expect("a name");
            let update = Update {
                summary: Some(format!("{who} says so")),
                add_tags: vec![who.to_owned()],
                remove_tags: vec!["two".to_owned()],
                notes: vec![who.to_owned()],
                pin: Some(who == "ann"),
                ..Update::default()
            };
            engine.update(tip, update, &by).expect("updated");
        };
        say(&ann, "ann");
        say(&bob, "bob");
        let (from_ann, _) = export(&ann, &BundleSelection::All, &[]);
        let (from_bob, _) = export(&bob, &BundleSelection::All, &[]);
        take(&bob, &from_ann);
        take(&ann, &from_bob);
        let (of_ann, of_bob) = (told(&ann), told(&bob));
        prop_assert_eq!((&of_ann.commits, &of_ann.sessions), (&of_bob.commits, &of_bob.sessions));
        for (one, other) in of_ann.said.iter().zip(&of_bob.said) {
            prop_assert_eq!((&one.1, &one.2), (&other.1, &other.2), "they know of each other's words");
        }
        // What one said itself stands, whoever said something else later.
        for (engine, who) in [(&ann, "ann"), (&bob, "bob")] {
            let own = engine.store().annotations(tip).expect("annotations");
            prop_assert_eq!(own.summary.map(|(text, _)| text), Some(format!("{who} says so")));
            prop_assert_eq!(own.tags, vec!["ann".to_owned(), "bob".to_owned()]);
        }
        same_natives(&ann, &bob);
    }
}

#[test]
fn a_thin_bundle_of_one_more_turn_is_small() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = bytes_of(&ClaudeSession::new(7).turns(40).compactions(0).build());
    let text = String::from_utf8(bytes.clone()).expect("text");
    let cut = bytes.len() - text.lines().rev().take(4).map(|line| line.len() + 1).sum::<usize>();
    let path = folder.write("s.jsonl", &bytes[..cut]);
    import(&engine, &path);
    let (whole, _) = export(&engine, &BundleSelection::All, &[]);
    let other = other();
    take(&other, &whole);
    folder.append("s.jsonl", &bytes[cut..]);
    let tip = import(&engine, &path).session.tip.expect("a tip");
    let have = other.bundle_have(&BundleSelection::All).expect("a list");
    let (thin, _) = export(&engine, &BundleSelection::All, &have);
    assert!(thin.len() * 5 < whole.len(), "{} of {}", thin.len(), whole.len());
    take(&other, &thin);
    assert!(native(&other, tip) == bytes);
}

#[test]
fn the_state_of_a_session_travels_with_it() {
    let folder = Folder::new();
    let engine = engine();
    let bytes = bytes_of(&ClaudeSession::new(3).turns(4).build());
    let first = import(&engine, &folder.write("s.jsonl", &bytes)).session;
    let other = other();
    take(&other, &export(&engine, &BundleSelection::Project(first.cwd.clone().expect("a folder")), &[]).0);
    let there = other.find_session(first.session.as_str()).expect("a read").expect("a session");
    assert_eq!(there, first);
    assert_eq!(there.key.machine.as_str(), "m1", "it is still the other machine's");
    assert_eq!(other.find(first.session.as_str()).expect("found"), first.tip.expect("a tip"));
    // It can be carried on here, and what is said then is a child of it.
    let place = Folder::new();
    let done = other.place(first.tip.expect("a tip"), &placing(&place)).expect("placed");
    let placed = std::fs::read_to_string(&done.path).expect("a file");
    assert!(placed.contains("/new/place") && !placed.contains(first.session.as_str()));
    let origin = first.cwd.expect("a folder");
    assert!(!placed.contains(&format!("\"cwd\":\"{origin}\"")), "paths of the other machine are mapped");
    assert_eq!(import(&other, &done.path).session.tip, first.tip);
    // `current` gives what is known, and never opens a path of another machine.
    folder.append("s.jsonl", b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"more\"}}\n");
    assert_eq!(other.current(&there).expect("a commit"), first.tip.expect("a tip"));
}

#[test]
fn what_was_forgotten_does_not_come_back_in_a_bundle() {
    let folder = Folder::new();
    let engine = engine();
    let gone =
        import(&engine, &folder.write("a.jsonl", &bytes_of(&ClaudeSession::new(1).turns(2).build()))).session;
    let kept =
        import(&engine, &folder.write("b.jsonl", &bytes_of(&ClaudeSession::new(2).turns(2).build()))).session;
    let (bundle, _) = export(&engine, &BundleSelection::All, &[]);
    let gone_tip = gone.tip.expect("a tip");
    let ids: Vec<CommitId> = chain(&engine, gone_tip).iter().map(|commit| commit.id).collect();
    let wish = Forget { unroot: ids.clone(), ..forgetting(vec![gone.key.clone()]) };
    engine.store().forget(&wish).expect("forgotten");
    assert!(engine.store().commit(gone_tip).expect("a read").is_none());
    let before = told(&engine);
    let taken = take(&engine, &bundle);
    assert_eq!(taken.skipped_commits, u64::try_from(ids.len()).expect("few"));
    assert!(taken.notes.iter().any(|note| note.code == NoteCode::Forgotten), "{:?}", taken.notes);
    assert_eq!(told(&engine), before);
    assert!(native(&engine, kept.tip.expect("a tip")).len() > 10);
    assert_eq!(damages(engine.store()), Vec::<String>::new());
}

/// What the receiver said that it has, it may have forgotten by the time that the bundle comes.
#[test]
fn a_bundle_that_leans_on_what_was_forgotten_is_refused_whole() {
    let folder = Folder::new();
    let (sender, receiver) = (engine(), other());
    let bytes = bytes_of(&ClaudeSession::new(31).turns(3).build());
    folder.append("s.jsonl", &bytes[..bytes.len() * 2 / 3]);
    import(&sender, &folder.path().join("s.jsonl"));
    take(&receiver, &export(&sender, &BundleSelection::All, &[]).0);
    let have = receiver.bundle_have(&BundleSelection::All).expect("a list");
    folder.append("s.jsonl", &bytes[bytes.len() * 2 / 3..]);
    import(&sender, &folder.path().join("s.jsonl"));
    let (thin, _) = export(&sender, &BundleSelection::All, &have);
    let summary = Engine::show_bundle(&thin, BundleLimits::default()).expect("a bundle");
    assert!(summary.needed_contents > 0, "the open turn was sent before");
    let all = receiver.store().commits_after(None, 1_000).expect("commits");
    let wish = Forget { cut: all.iter().map(|commit| commit.id).collect(), ..forgetting(Vec::new()) };
    receiver.store().forget(&wish).expect("forgotten");
    let before = told(&receiver);
    let error = receiver.import_bundle(&thin, &BundleImportOptions::default()).expect_err("it is refused");
    assert!(error.to_string().contains("forgotten"), "{error}");
    assert_eq!(told(&receiver), before);
    assert_eq!(damages(receiver.store()), Vec::<String>::new());
    // All of it has what was named, but what was forgotten stays away.
    take(&receiver, &export(&sender, &BundleSelection::All, &[]).0);
    assert_eq!(damages(receiver.store()), Vec::<String>::new());
}

#[test]
fn a_dry_run_checks_everything_and_stores_nothing() {
    let folder = Folder::new();
    let engine = history(5, &folder);
    let (bundle, done) = export(&engine, &BundleSelection::All, &[]);
    let other = other();
    let options = BundleImportOptions { dry_run: true, ..BundleImportOptions::default() };
    let said = other.import_bundle(&bundle, &options).expect("checked");
    assert_eq!((said.new_commits, said.new_bytes), (done.commits, 0));
    assert_eq!(usage(&other), stemmata_store::Usage::default());
    assert_eq!(said.sessions, done.sessions);
}

#[test]
fn a_store_that_fails_at_each_write_of_an_import_in_turn_stays_sound_and_recovers() {
    let folder = Folder::new();
    let engine = history(8, &folder);
    let (bundle, _) = export(&engine, &BundleSelection::All, &[]);
    let expected = told(&engine);
    for fault in [Fault::Before, Fault::After] {
        for number in 1.. {
            let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
            let store = Arc::new(FaultyStore::new(memory));
            let shared: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
            let other = engine_on("m2", shared);
            store.fail(number, fault);
            let options = BundleImportOptions { batch_writes_max: 5, ..BundleImportOptions::default() };
            let failed = other.import_bundle(&bundle, &options).is_err();
            assert_eq!(damages(store.inner()), Vec::<String>::new(), "after fault {number}");
            if !failed {
                assert!(number > 5, "the import makes several writes");
                break;
            }
            take(&other, &bundle);
            assert_eq!(told(&other), expected, "after fault {number}");
        }
    }
}

#[test]
fn bundles_of_the_corpus_come_back_byte_for_byte() {
    let Some(corpus) = corpus("bundles_of_the_corpus_come_back_byte_for_byte") else { return };
    let engine = engine();
    let mut tips = Vec::new();
    for path in jsonl_below(&corpus.join("claude-code")) {
        if !path.to_string_lossy().ends_with(".stream.jsonl") {
            tips.extend(import(&engine, &path).session.tip);
        }
    }
    let (bundle, done) = export(&engine, &BundleSelection::All, &[]);
    println!("{} commits, {} bytes of content in {} bytes", done.commits, done.content_bytes, done.bytes);
    let other = other();
    take(&other, &bundle);
    assert!(!tips.is_empty());
    for tip in tips {
        assert!(native(&other, tip) == native(&engine, tip), "{tip}");
    }
    assert_eq!(damages(other.store()), Vec::<String>::new());
}
