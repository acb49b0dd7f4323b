//! Invariant 13: secrets are replaced before bytes reach the store.

use stemmata_engine::Update;
use stemmata_model::Principal;
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, engine, import, native};

/// A made-up key, in pieces so that no scanner takes this file for a leak.
fn made_up_key() -> String {
    ["ghp_", "a8F3kLmQ92xZ", "vB7nTy5Rw1Cd", "E4gH6jK0pSuX"].concat()
}

#[test]
fn invariant_13_a_secret_never_reaches_the_store() {
    let folder = Folder::new();
    let engine = engine();
    let key = made_up_key();
    let mut lines = ClaudeSession::new(9).build().lines;
    let planted = format!(
        r#"{{"type":"user","uuid":"aaaaaaaa-0000-4000-8000-000000000001","parentUuid":null,"message":{{"role":"user","content":"use {key} please"}},"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}}"#
    );
    lines.push(planted);
    let text = lines.join("\n") + "\n";
    let captured = import(&engine, &folder.write("s.jsonl", text.as_bytes()));
    assert_eq!(captured.bytes_redacted, u64::try_from(key.len()).expect("small"));
    let tip = captured.session.tip.expect("a tip");
    let stored = String::from_utf8(native(&engine, tip)).expect("text");
    assert!(!stored.contains(&key));
    let replaced = stored.find("[REDACTED:").expect("a mark");
    let end = replaced + stored[replaced..].find(']').expect("an end");
    let mark = &stored[replaced..=end];
    assert_eq!(stored.replacen(mark, &key, 1), text, "nothing else changed");

    let by = Principal::new("ada@m1").expect("a name");
    let update =
        Update { summary: Some(format!("pushed with {key}")), notes: vec![key.clone()], ..Update::default() };
    engine.update(tip, update, &by).expect("updated");
    let shown = engine.show(tip).expect("shown");
    assert!(!format!("{shown:?}").contains(&key), "{shown:?}");
}
