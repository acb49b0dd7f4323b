//! Forgetting reaches the index: no forgotten word in any file of it, and no hit, whatever crashes between.

use std::path::Path;
use std::sync::Arc;

use stemmata_engine::{CollectOptions, Engine, ForgetOptions, ForgetTarget, RetentionRules, SettleBudget};
use stemmata_model::Principal;
use stemmata_store::Store;
use tempfile::TempDir;

use crate::search::{assert_rebuilt, conversation, hits, indexed, settle};
use crate::support::{Folder, engine_on, import, new_store};

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
    _folder: Folder,
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
    Told { store, _folder: folder, dir, target }
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
