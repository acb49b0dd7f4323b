//! Invariant 13: secrets are replaced before bytes reach the store.

use stemmata_engine::{CaptureOptions, Engine, ErrorKind, StoreRules, Update};
use stemmata_model::Principal;
use stemmata_store::{Page, SessionFilter};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, engine, engine_on, import, memory, native};

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

/// The store's own rules, over a store that is there.
fn with_rules(store: &std::sync::Arc<stemmata_store::MemoryStore>, text: &str) -> Engine {
    let rules = StoreRules { name: "secrets.toml".to_owned(), text: text.to_owned() };
    engine_on("m1", std::sync::Arc::clone(store) as _).with_rules(rules)
}

/// A line of a session that works in a directory.
fn said(cwd: &std::path::Path, text: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"aaaaaaaa-0000-4000-8000-000000000001","parentUuid":null,"cwd":"{}","message":{{"role":"user","content":"{text}"}},"timestamp":"2026-01-01T00:00:00.000Z","sessionId":"s"}}"#,
        cwd.display()
    ) + "\n"
}

const TICKETS: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

#[test]
fn an_import_under_other_rules_is_a_derived_branch_and_nothing_is_scrubbed_again() {
    let (folder, store) = (Folder::new(), memory());
    let text = said(folder.path(), "see ACME-123456");
    let path = folder.write("s.jsonl", text.as_bytes());
    let before =
        import(&engine_on("m1", std::sync::Arc::clone(&store) as _), &path).session.tip.expect("a tip");
    let engine = with_rules(&store, TICKETS);
    // Looking, and giving back, is under the rules of then.
    assert_eq!(native(&engine, before), text.as_bytes());
    let captured = import(&engine, &path);
    let after = captured.session.tip.expect("a tip");
    assert_ne!(after, before);
    assert_eq!(
        String::from_utf8(native(&engine, after)).expect("text"),
        text.replace("ACME-123456", "[REDACTED:ticket]")
    );
    assert_eq!(native(&engine, before), text.as_bytes(), "what was imported stays as it was");
    let links = engine.store().links(after, 10).expect("links");
    assert!(links.iter().any(|link| link.from == after && link.to == before), "{links:?}");
    let commit = |id| engine.store().commit(id).expect("read").expect("there");
    assert_eq!(commit(after).rules, engine.rules().expect("rules").0);
    assert_ne!(commit(after).rules, commit(before).rules);
    assert_eq!(import(&engine, &path).new_commits, 0, "and then it rests");
}

#[test]
fn a_project_has_rules_of_its_own() {
    let (folder, store) = (Folder::new(), memory());
    let project = folder.path().join("work/deep");
    std::fs::create_dir_all(&project).expect("a folder");
    std::fs::create_dir_all(folder.path().join("work/.stemmata")).expect("a folder");
    folder.write("work/.stemmata/secrets.toml", TICKETS.as_bytes());
    let engine = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let inside = import(&engine, &folder.write("a.jsonl", said(&project, "see ACME-123456").as_bytes()));
    let outside =
        import(&engine, &folder.write("b.jsonl", said(folder.path(), "see ACME-123456").as_bytes()));
    assert_eq!((inside.bytes_redacted, outside.bytes_redacted), (11, 0));
    // It goes on where it stopped: the rules are the same.
    folder.append("a.jsonl", said(&project, "and ACME-999999").as_bytes());
    let more = import(&engine, &folder.path().join("a.jsonl"));
    assert_eq!((more.bytes_redacted, more.session.origin), (22, inside.session.origin));
    assert!(
        more.notes.iter().all(|note| note.code != stemmata_model::NoteCode::Rewritten),
        "{:?}",
        more.notes
    );
}

/// A scrubber that fails: no content reaches the store, and that the session is there does.
#[test]
fn a_failing_scrubber_blocks_content_and_keeps_metadata() {
    let huge =
        "[[rules]]\nkind = 'huge'\nkeywords = ['see ']\nregex = 'see (?:[a-z]{1,900}[0-9]{1,900}){400}'\n";
    for broken in ["[[rules]]\nkind = 'x'\n", huge] {
        let (folder, store) = (Folder::new(), memory());
        let path = folder.write("s.jsonl", said(folder.path(), "see the plans").as_bytes());
        let engine = with_rules(&store, broken);
        let error = engine.capture(&path, &CaptureOptions::import()).expect_err("blocked");
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("secret"), "{error}");
        let page = Page { skip: 0, rows_max: 10 };
        let sessions = engine.store().sessions(&SessionFilter::default(), page).expect("sessions");
        assert_eq!(sessions.len(), 1);
        assert_eq!((sessions[0].tip, sessions[0].title.clone(), sessions[0].cwd.clone()), (None, None, None));
        assert_eq!(engine.store().usage().expect("usage").contents, 0);
        assert_eq!(engine.store().cursor(&sessions[0].key).expect("cursor"), None);
        let by = Principal::new("ada@m1").expect("a name");
        // Once the rule is mended everything comes.
        let mended = with_rules(&store, "");
        let captured = import(&mended, &path);
        assert_eq!(
            native(&mended, captured.session.tip.expect("a tip")),
            said(folder.path(), "see the plans").as_bytes()
        );
        let update = Update { summary: Some("see the plans".to_owned()), ..Update::default() };
        let tip = captured.session.tip.expect("a tip");
        assert!(engine.update(tip, update.clone(), &by).is_err(), "a summary is content too");
        mended.update(tip, update, &by).expect("updated");
    }
}
