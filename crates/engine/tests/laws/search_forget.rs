//! Forgetting reaches the index: no forgotten word in any file of it, and no hit, whatever crashes between.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use stemmata_engine::prompt::profile::Profile;
use stemmata_engine::prompt::tool_output::OutputLimits;
use stemmata_engine::{
    BeginTurn, CollectOptions, Engine, ForgetOptions, ForgetTarget, OutputFiles, OutputRules, PromptWanted,
    RetentionRules, ScrubTarget, SettleBudget, StoreRules, TurnContext, TurnMade,
};
use stemmata_model::{Closure, Entry, EntryId, Estimate, Principal, Role, Timestamp, topics};
use stemmata_store::conformance::ledger::builders::{ledger, said};
use stemmata_store::{PackOptions, SqliteOptions, SqliteStore, Store, StoreError};
use tempfile::TempDir;

use crate::contexts::{profile, said as entry, strategy, turn};
use crate::search::{assert_rebuilt, conversation, hits, indexed, settle};
use crate::support::{Folder, engine_on, go_on, import, new_store};

/// A word that nothing else says; its stem is `kilnwright`.
const SECRET: &str = "kilnwrights";
const STEM: &str = "kilnwright";

fn options() -> ForgetOptions {
    ForgetOptions { everywhere: false, even_pinned: false, by: Principal::new("ada").expect("a name") }
}

/// Returns the files below a folder that hold some bytes.
pub(crate) fn holding(dir: &Path, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(files) = std::fs::read_dir(dir) else { return found };
    for path in files.flatten().map(|file| file.path()) {
        if path.is_dir() {
            found.extend(holding(&path, word));
            continue;
        }
        let bytes = std::fs::read(&path).expect("read").to_ascii_lowercase();
        if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// A store with three sessions, the second of which says the word, and its index.
struct Told {
    store: Arc<dyn Store>,
    transcripts: Folder,
    dir: TempDir,
    target: ForgetTarget,
}

fn told() -> Told {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    import(&engine, &folder.write("a.jsonl", &conversation(3, "broker")));
    settle(&engine);
    let captured = import(&engine, &folder.write(&format!("{SECRET}.jsonl"), &conversation(3, SECRET)));
    settle(&engine);
    import(&engine, &folder.write("c.jsonl", &conversation(3, "ledger")));
    settle(&engine);
    assert_eq!(hits(&engine, SECRET).len(), 6);
    // The dictionary shares beginnings of words, so that only what is whole is looked for: the transcript's path.
    assert_ne!(holding(dir.path(), STEM), [""; 0]);
    let target = ForgetTarget::Session(captured.session.key);
    Told { store, transcripts: folder, dir, target }
}

fn forget(engine: &Engine, target: &ForgetTarget) {
    engine.apply_forget(engine.plan_forget(target, &options()).expect("a plan")).expect("forgotten");
}

fn assert_forgotten(told: &Told, engine: &Engine) {
    assert_eq!(holding(told.dir.path(), STEM), [""; 0]);
    assert_eq!(hits(engine, SECRET), []);
    assert_eq!(hits(engine, "broker").len(), 6);
    assert_eq!(holding(told.dir.path(), STEM), [""; 0]);
    assert_rebuilt(engine, &told.store);
    assert_eq!(told.store.index_due().expect("read"), []);
}

#[test]
fn what_is_forgotten_is_in_no_file_of_the_index() {
    let told = told();
    let engine = indexed(&told.store, told.dir.path());
    forget(&engine, &told.target);
    assert_forgotten(&told, &engine);
}

/// The process that forgot it died before it reached the index: nothing is found even so, and the next one cleans up.
#[test]
fn a_crash_before_the_sweep_is_made_good_by_the_next_who_searches() {
    let told = told();
    forget(&engine_on("m1", Arc::clone(&told.store)), &told.target);
    assert_ne!(told.store.index_due().expect("read"), []);
    assert_ne!(holding(told.dir.path(), STEM), [""; 0]);
    let engine = indexed(&told.store, told.dir.path());
    assert_eq!(hits(&engine, SECRET), []);
    assert_forgotten(&told, &engine);
}

/// Without time to settle, which leaves the index as it is, what is gone from the store is no hit either.
#[test]
fn a_hit_that_the_store_no_longer_has_is_dropped() {
    let told = told();
    forget(&engine_on("m1", Arc::clone(&told.store)), &told.target);
    let engine = indexed(&told.store, told.dir.path());
    let query = stemmata_engine::SearchQuery {
        budget: SettleBudget::Within(std::time::Duration::ZERO),
        ..crate::search::query(SECRET)
    };
    assert_eq!(crate::search::search(&engine, &query).hits, []);
}

/// Retention expires what is old, and a second collection deletes it.
#[test]
fn what_retention_deletes_is_in_no_file_of_the_index() {
    let told = told();
    let engine = indexed(&told.store, told.dir.path());
    let rules =
        RetentionRules { sessions_days: Some(1), provisional_days: Some(1), ..RetentionRules::default() };
    for _ in 0..2 {
        engine.collect(&CollectOptions { rules: rules.clone(), grace_days: 0 }).expect("collected");
    }
    assert_eq!(hits(&engine, "broker"), []);
    assert_eq!(holding(told.dir.path(), STEM), [""; 0]);
    assert_eq!(told.store.index_due().expect("read"), []);
}

/// An open turn that another session ends at stays when what covered it goes: an index that has it still is one made anew.
#[test]
fn an_open_turn_that_outlives_what_covered_it_is_no_difference() {
    for is_settled in [false, true] {
        let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
        let engine = indexed(&store, dir.path());
        let bytes = conversation(2, "broker");
        let end = bytes.iter().position(|byte| *byte == b'\n').expect("lines") + 1;
        let first = import(&engine, &folder.write("a.jsonl", &bytes[..end]));
        let copy = import(&engine, &folder.write("b.jsonl", &bytes[..end]));
        assert_eq!(first.session.tip, copy.session.tip);
        settle(&engine);
        folder.append("a.jsonl", &bytes[end..]);
        import(&engine, &folder.path().join("a.jsonl"));
        if is_settled {
            settle(&engine);
        }
        forget(&engine, &ForgetTarget::Session(first.session.key));
        let left = store.commit(copy.session.tip.expect("a tip")).expect("read").expect("the copy's");
        assert_eq!(left.closure, Closure::Covered);
        assert_rebuilt(&engine, &store);
    }
}

/// A word that no other begins like: it stands whole in the index's dictionary.
const WORD: &str = "zqkilnwright";

/// Returns the files below a folder that hold a word as it is, or in a frame of zstd that can be read by itself.
pub(crate) fn holding_packed(dir: &Path, word: &str) -> Vec<String> {
    let mut found = holding(dir, word);
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|file| file.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("read");
            let is_frame = |at: &usize| bytes[*at..].starts_with(&0xfd2f_b528_u32.to_le_bytes());
            let is_in = (0..bytes.len()).filter(is_frame).any(|at| {
                let mut text = Vec::new();
                // What can be read before it breaks off counts, too.
                let _whole = zstd::Decoder::new(&bytes[at..])
                    .and_then(|frame| frame.single_frame().read_to_end(&mut text));
                text.to_ascii_lowercase().windows(word.len()).any(|window| window == word.as_bytes())
            });
            if is_in {
                found.push(format!("{} (packed)", path.display()));
            }
        }
    }
    found
}

/// Returns how many of a store's contents say a word.
fn contents_with(store: &dyn Store, word: &str) -> usize {
    let mut found = 0;
    for commit in store.commits_after(None, 10_000).expect("commits") {
        for content in std::iter::once(commit.core.artifact).chain(commit.core.native) {
            let mut bytes = Vec::new();
            let read = store.read_content(content, None, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            });
            let is_gone = matches!(read, Err(StoreError::ContentForgotten(_)));
            assert!(is_gone || read.is_ok(), "{read:?}");
            found += usize::from(String::from_utf8_lossy(&bytes).contains(word));
        }
    }
    found
}

/// The store with its WAL, the index, events, kept prompts: after `forget` and after `scrub` no file has the word, packed or not.
#[test]
fn what_is_forgotten_or_scrubbed_is_in_no_file_of_the_home() {
    for (is_scrubbed, is_packed) in [(false, false), (false, true), (true, true)] {
        let (home, folder) = (TempDir::new().expect("a folder"), Folder::new());
        let store = SqliteStore::open(&home.path().join("store"), SqliteOptions::default()).expect("a store");
        let store: Arc<dyn Store> = Arc::new(store);
        let text = format!("[[rules]]\nkind = 'craft'\nkeywords = ['{WORD}']\nregex = '{WORD}'\n");
        let before = indexed(&store, &home.path().join("index"));
        import(&before, &folder.write("a.jsonl", &conversation(3, "broker")));
        // The first turn is looked at while it is open, too.
        let bytes = conversation(30, WORD);
        let open = bytes.iter().position(|byte| *byte == b'\n').expect("lines") + 1;
        import(&before, &folder.write("b.jsonl", &bytes[..open]));
        settle(&before);
        folder.append("b.jsonl", &bytes[open..]);
        let captured = import(&before, &folder.path().join("b.jsonl"));
        let event = said(captured.session.session.as_str(), topics::DECISION_EVENT, WORD);
        before.publish(&ledger("c"), vec![event]).expect("published");
        // A prompt that is kept says the word, too: by its profile, and by what the session goes on from.
        let tip = captured.session.tip.expect("a tip");
        let profile = Profile { instructions: format!("Mind the {WORD}"), ..profile() };
        let strategy = strategy();
        let begin = BeginTurn {
            context: TurnContext::Resume(tip),
            prompt: Some(PromptWanted::new(&profile, &strategy, &Estimate)),
            ..BeginTurn::new(turn("goes-on"), entry("p", Role::User, "Go on"))
        };
        before.begin_turn(&begin).expect("begun");
        settle(&before);
        if is_packed {
            before.pack(&PackOptions::new(Timestamp::EPOCH)).expect("packed");
        }
        assert_eq!(hits(&before, WORD).len(), 50, "as many as are wanted");
        let named = holding_packed(home.path(), WORD);
        assert!(named.iter().any(|name| name.contains("/index/")), "{named:?}");
        assert!(named.iter().any(|name| name.contains("/store/")), "{named:?}");
        assert_eq!(named.iter().any(|name| name.contains("(packed)")), is_packed, "{named:?}");
        assert!(contents_with(&*store, WORD) > 0);
        drop(before);
        let engine = indexed(&store, &home.path().join("index"))
            .with_rules(StoreRules { name: "secrets.toml".to_owned(), text });
        if is_scrubbed {
            engine.scrub(&ScrubTarget::All, &options().by).expect("scrubbed");
        } else {
            forget(&engine, &ForgetTarget::Session(captured.session.key));
        }
        let what = format!("scrubbed: {is_scrubbed}, packed: {is_packed}");
        assert_eq!(holding_packed(home.path(), WORD), [""; 0], "{what}");
        assert_eq!(contents_with(&*store, WORD), 0, "{what}");
        assert_eq!(hits(&engine, WORD), [], "{what}");
        assert_eq!(hits(&engine, "broker").len(), 6, "{what}");
        assert!(!hits(&engine, "retries").is_empty(), "{what}");
        assert_rebuilt(&engine, &store);
        assert_eq!(holding_packed(home.path(), WORD), [""; 0], "{what}, and searched");
    }
}

/// The folder of briefs and of outputs' files beside an index.
fn beside(told: &Told, folder: &Folder) -> Engine {
    let temp = folder.path().join("temp");
    std::fs::create_dir_all(&temp).expect("a folder");
    let files = OutputFiles::new(Some(&temp), folder.path().join("outputs"));
    let limits = OutputLimits { spill_chars: 200, chars_max: 200, ..OutputLimits::default() };
    indexed(&told.store, told.dir.path())
        .with_briefs(folder.path())
        .with_outputs(OutputRules { limits, files: Some(files) })
}

/// Has everything say the word that is made of what is stored: the index, a brief, and the file of an output.
fn told_everywhere(folder: &Folder) -> Told {
    let told = told();
    let engine = beside(&told, folder);
    let path = told.transcripts.path().join(format!("{SECRET}.jsonl"));
    assert!(engine.prepare_brief(&path).expect("made"));
    engine.begin_turn(&BeginTurn::new(turn("w"), entry("w-prompt", Role::User, "go"))).expect("begun");
    let parts = vec![stemmata_model::Part::Text(format!("{SECRET} ").repeat(50))];
    let part = stemmata_model::Part::ToolResult { call_id: "c".to_owned(), is_error: false, parts };
    let printed = Entry::said(EntryId::new("w-result").expect("a name"), Role::Tool, vec![part]);
    engine.end_turn(&turn("w"), TurnMade { entries: vec![printed], ..TurnMade::default() }).expect("ended");
    settle(&engine);
    for made in ["briefs", "temp"] {
        assert_ne!(holding(&folder.path().join(made), STEM), [""; 0], "{made}");
    }
    told
}

/// Forgets as a process does that dies before it reaches anything but the store.
fn forget_and_die(told: &Told) {
    let engine = engine_on("m1", Arc::clone(&told.store));
    forget(&engine, &told.target);
    forget(&engine, &ForgetTarget::Session(engine.find_session("w").expect("read").expect("there").key));
    assert_ne!(told.store.index_due().expect("read"), []);
}

#[test]
fn a_crash_before_the_sweep_leaves_no_word_in_briefs_outputs_and_index() {
    let folder = Folder::new();
    let told = told_everywhere(&folder);
    forget_and_die(&told);
    assert_ne!(holding(folder.path(), STEM), [""; 0]);
    let engine = beside(&told, &folder);
    assert_eq!(hits(&engine, SECRET), []);
    assert_eq!(holding(folder.path(), STEM), [""; 0]);
    assert_forgotten(&told, &engine);
}

#[test]
fn a_file_that_cannot_be_removed_makes_no_search_fail_and_goes_with_the_next_collection() {
    let folder = Folder::new();
    let told = told_everywhere(&folder);
    // A folder where a brief would be: it cannot be removed as a file is.
    let stuck = folder.path().join("briefs").join("stuck.json");
    std::fs::create_dir(&stuck).expect("a folder");
    forget_and_die(&told);
    let engine = beside(&told, &folder);
    for _ in 0..2 {
        assert_eq!(hits(&engine, SECRET), []);
        assert_eq!(hits(&engine, "broker").len(), 6);
        assert_eq!(told.store.index_due().expect("read"), [], "no command is kept at it");
        // What could be removed is gone already.
        assert_eq!(holding(folder.path(), STEM), [""; 0]);
        assert_eq!(holding(told.dir.path(), STEM), [""; 0]);
    }
    let collect = || {
        let options = CollectOptions { rules: RetentionRules::default(), grace_days: 0 };
        engine.collect(&options).expect("collected").unfinished
    };
    assert!(collect().is_some_and(|why| why.contains("stuck.json")), "it says what stays, and does not fail");
    std::fs::remove_dir(&stuck).expect("removed");
    stemmata_store::write_file(&stuck, SECRET.as_bytes()).expect("a brief");
    assert_eq!(collect(), None);
    assert_forgotten(&told, &engine);
    assert_eq!(holding(folder.path(), STEM), [""; 0]);
}

#[test]
fn a_fork_is_found_when_the_session_that_it_continues_is_forgotten() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = indexed(&store, dir.path());
    let origin = import(&engine, &folder.write("a.jsonl", &conversation(3, "broker"))).session;
    let placed = engine.place(origin.tip.expect("a tip"), &crate::support::placing(&folder)).expect("placed");
    go_on(&engine, &placed.path);
    settle(&engine);
    let before = hits(&engine, "broker");
    assert_eq!(before.len(), 6);
    let target = ForgetTarget::Session(origin.key);
    engine.apply_forget(engine.plan_forget(&target, &options()).expect("a plan")).expect("forgotten");
    settle(&engine);
    let found = hits(&engine, "broker");
    assert_eq!(found.len(), before.len());
    assert!(found.iter().all(|hit| hit.place.session == placed.session.as_str()), "{found:?}");
    // An index that is made anew finds the same.
    let other = TempDir::new().expect("a folder");
    let again = indexed(&store, other.path());
    settle(&again);
    assert_eq!(hits(&again, "broker").len(), before.len());
}
