//! Which counter a turn gets: learned from what sessions report, and fixed once it is chosen.

use std::sync::Arc;

use stemmata_engine::{BundleSelection, ChosenCounter, CounterChoice, Engine, EngineError};
use stemmata_model::{FactorFrom, TokenCounter as _};
use stemmata_store::Store;
use stemmata_tokens::Encoding;
use tempfile::TempDir;

use crate::bundles::{export, other, take};
use crate::search::{indexed, settle};
use crate::support::{Folder, corpus, import, jsonl_below, new_store, record, user};

const MODEL: &str = "claude-opus-4-5";

/// Words of a tool's result, each a token.
const WORDS: u64 = 2_000;

/// A turn in which the model is sent `permille` tokens for a thousand of ours.
fn session(calls: u32, permille: u64) -> Vec<u8> {
    let mut lines = vec![user(1, None, "read them all")];
    let result = " word".repeat(usize::try_from(WORDS).expect("fits"));
    for call in 0..calls {
        let sent = 5_000 + u64::from(call) * WORDS * permille / 1_000;
        let number = 2 + call * 2;
        let message = format!(
            r#"{{"id":"msg_{call}","type":"message","role":"assistant","model":"{MODEL}","content":[{{"type":"tool_use","id":"toolu_{call}","name":"Read","input":{{}}}}],"usage":{{"input_tokens":10,"cache_read_input_tokens":{},"cache_creation_input_tokens":0,"output_tokens":3}}}}"#,
            sent - 10
        );
        lines.push(record("assistant", number, Some(number - 1), &message));
        let told = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{call}","content":"{result}"}}]}}"#
        );
        lines.push(record("user", number + 1, Some(number), &told));
    }
    lines.push(crate::support::answer(2 + calls * 2, 1 + calls * 2, "done"));
    lines.push(user(3 + calls * 2, Some(2 + calls * 2), "thanks"));
    lines.concat().into_bytes()
}

/// An engine that keeps what it learns in `cache` below a folder. Not beside the index, which deletes what is not its own.
fn learning(store: &Arc<dyn Store>, dir: &TempDir) -> Engine {
    let cache = dir.path().join("cache");
    std::fs::create_dir_all(&cache).expect("made");
    indexed(store, &dir.path().join("index")).with_calibration(&cache)
}

fn auto(engine: &Engine, model: &str) -> ChosenCounter {
    engine.counter(&CounterChoice::Auto { model: Some(model.to_owned()) }).expect("a counter")
}

#[test]
fn a_turn_keeps_its_counter_while_more_is_learned() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = learning(&store, &dir);
    let before = auto(&engine, MODEL);
    assert_eq!((before.spec.to_string().as_str(), before.spec.from), ("o200k*1.180", FactorFrom::Shipped));
    let counted = before.count("what is counted");
    import(&engine, &folder.write("a.jsonl", &session(20, 1_400)));
    settle(&engine);
    let learned = auto(&engine, MODEL);
    assert_eq!(learned.spec.from, FactorFrom::Learned { pairs: 19 }, "{}", learned.spec);
    assert!((1_380..=1_410).contains(&learned.spec.factor_permille), "{}", learned.spec);
    assert_eq!(before.count("what is counted"), counted, "a counter is fixed when it is chosen");
    let text = learned.spec.to_string();
    let again = engine.counter(&CounterChoice::Exactly(text.parse().expect("a counter"))).expect("a counter");
    assert_eq!(
        again.count(&text.repeat(100)),
        learned.count(&text.repeat(100)),
        "{text} gives the same counts"
    );
    let neighbour = auto(&engine, "claude-sonnet-4-5");
    assert_eq!(neighbour.spec.from, FactorFrom::Shipped, "each model by itself");
}

#[test]
fn no_session_is_learned_from_twice() {
    let (store, folder, dir) = (new_store(), Folder::new(), TempDir::new().expect("a folder"));
    let engine = learning(&store, &dir);
    import(&engine, &folder.write("a.jsonl", &session(20, 1_400)));
    settle(&engine);
    let learned = auto(&engine, MODEL).spec;
    engine.rebuild_index(&mut |_, _, _| std::ops::ControlFlow::Continue(())).expect("made anew");
    settle(&engine);
    assert_eq!(auto(&engine, MODEL).spec, learned, "an index that is made anew reads all again");
    std::fs::remove_file(dir.path().join("cache").join("calibration-v1.json")).expect("removed");
    assert_eq!(
        auto(&engine, MODEL).spec.from,
        FactorFrom::Shipped,
        "deleting it loses what was learned, no more"
    );
}

#[test]
fn a_strangers_bundle_teaches_nothing() {
    let folder = Folder::new();
    let stranger = other();
    import(&stranger, &folder.write("a.jsonl", &session(20, 2_400)));
    let bundle = export(&stranger, &BundleSelection::All, &[]).0;
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = learning(&store, &dir);
    take(&engine, &bundle);
    settle(&engine);
    assert_eq!(auto(&engine, MODEL).spec.from, FactorFrom::Shipped);
}

#[test]
fn a_model_of_which_nothing_is_known_is_refused_with_what_was_meant() {
    let store = new_store();
    let dir = TempDir::new().expect("a folder");
    let engine = learning(&store, &dir);
    let long = "x".repeat(1_000);
    for (model, near) in [("gpt5", Some("gpt-5")), ("somebody/new", None), ("", None), (long.as_str(), None)]
    {
        let refused = engine.counter(&CounterChoice::Auto { model: Some(model.to_owned()) });
        let error = refused.expect_err("nothing is known of it");
        let found = match &error {
            EngineError::ModelUnknown { near, .. } => *near,
            other => panic!("{other}"),
        };
        assert_eq!(found, near, "{model}");
        assert!(error.to_string().len() < 200, "{error}");
    }
    let none = engine.counter(&CounterChoice::Auto { model: None }).expect("a counter");
    assert_eq!((none.spec.to_string().as_str(), none.notes.len()), ("estimate", 0));
    std::fs::create_dir(dir.path().join("cache").join("calibration-v1.json")).expect("made");
    let shipped = auto(&engine, MODEL);
    assert_eq!((shipped.spec.from, shipped.notes.len()), (FactorFrom::Shipped, 1), "{:?}", shipped.notes);
    assert!(!Encoding::Cl100k.is_loaded());
}

/// Real sessions of Claude give pairs that agree; the factor is that of their model, whichever session they are of.
#[test]
fn usage_of_recorded_sessions_gives_factors() {
    let Some(corpus) = corpus("usage_of_recorded_sessions_gives_factors") else { return };
    let (store, dir) = (new_store(), TempDir::new().expect("a folder"));
    let engine = learning(&store, &dir);
    for path in jsonl_below(&corpus.join("claude-code").join("entireio_cli")).iter().take(12) {
        import(&engine, path);
    }
    settle(&engine);
    let learned = auto(&engine, "claude-opus-4-5-20251101");
    assert!(matches!(learned.spec.from, FactorFrom::Learned { .. }), "{}", learned.spec);
    assert!((1_000..1_500).contains(&learned.spec.factor_permille), "{}", learned.spec);
    println!("claude-opus-4-5-20251101: {} {:?}", learned.spec, learned.spec.from);
}
