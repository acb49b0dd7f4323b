//! Invariant 13: secrets are replaced before bytes reach the store.

use stemmata_engine::{
    CaptureOptions, CheckpointContent, CheckpointRequest, Engine, ErrorKind, FoundIn, Holder, ScanTarget,
    StoreRules, StreamForm, StreamRecorder, StreamRules, StreamSide, Update,
};
use stemmata_model::{CommitId, FormatId, NoteCode, Principal, SessionId, Template, Timestamp};
use stemmata_store::{Page, SessionFilter};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, engine, engine_on, import, native, new_store};

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
fn with_rules(store: &std::sync::Arc<dyn stemmata_store::Store>, text: &str) -> Engine {
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
    let (folder, store) = (Folder::new(), new_store());
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
    let (folder, store) = (Folder::new(), new_store());
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
    assert!(more.notes.iter().all(|note| note.code != NoteCode::Rewritten), "{:?}", more.notes);
}

/// A folder in which a project has rules, and a directory in it.
fn project(folder: &Folder) -> std::path::PathBuf {
    let project = folder.path().join("work/deep");
    std::fs::create_dir_all(&project).expect("a folder");
    std::fs::create_dir_all(folder.path().join("work/.stemmata")).expect("a folder");
    folder.write("work/.stemmata/secrets.toml", TICKETS.as_bytes());
    project
}

fn below(parent: Option<CommitId>, text: &str) -> CheckpointRequest {
    CheckpointRequest {
        parent,
        summary: Some("from ACME-123456".to_owned()),
        ..CheckpointRequest::delta(
            text.as_bytes().to_vec(),
            FormatId::new("claude-code-v1").expect("a name"),
            Template::new("own").expect("a name"),
            SessionId::new("own").expect("a name"),
        )
    }
}

fn found(engine: &Engine) -> Vec<(Holder, FoundIn)> {
    let mut found = Vec::new();
    let mut tell = |secret: stemmata_engine::SecretFound| {
        found.push((secret.holder, secret.place));
        true
    };
    engine.scan(&ScanTarget::All(None), &mut tell).expect("scanned");
    found
}

#[test]
fn a_projects_rules_count_for_what_is_said_of_its_sessions_and_made_below_them() {
    let folder = Folder::new();
    let (project, store) = (project(&folder), new_store());
    let engine = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let first = said(&project, &"many words about all and nothing ".repeat(40));
    let second = first.replace("0001", "0002").replace("null", r#""aaaaaaaa-0000-4000-8000-000000000001""#);
    let text = first + &second;
    let tip = import(&engine, &folder.write("a.jsonl", text.as_bytes())).session.tip.expect("a tip");
    let by = Principal::new("ada@m1").expect("a name");
    let secret = || "ACME-123456".to_owned();
    let update = Update {
        summary: Some(secret()),
        add_tags: vec![secret()],
        remove_tags: vec![secret()],
        notes: vec![secret()],
        ..Update::default()
    };
    engine.update(tip, update, &by).expect("updated");
    let compacted = engine.compact_given(tip, "see ACME-123456").expect("compacted").id;
    let again = engine.update(compacted, Update { notes: vec![secret()], ..Update::default() }, &by);
    again.expect("updated");
    let line = said(&project, "see ACME-123456");
    let first = engine.checkpoint(&below(Some(tip), &line)).expect("a checkpoint");
    assert_eq!(first.notes.iter().filter(|note| note.code == NoteCode::Redacted).count(), 1);
    let second = engine.checkpoint(&below(Some(first.id), &line)).expect("a checkpoint");
    for id in [compacted, first.id, second.id] {
        let bytes = String::from_utf8(native(&engine, id)).expect("text");
        assert!(bytes.contains("see [REDACTED:ticket]") && !bytes.contains("ACME-"), "{bytes}");
    }
    let said = format!("{:?}", [tip, compacted, first.id].map(|id| engine.show(id).expect("shown")));
    let audit = [tip, compacted, first.id].map(|id| engine.store().audit(id, 100).expect("an audit"));
    assert!(!said.contains("ACME-") && !format!("{audit:?}").contains("ACME-"), "{said} {audit:?}");
    assert_eq!(found(&engine), []);
    // They say under which rules their bytes went.
    let rules = |id| engine.store().commit(id).expect("read").expect("there").rules;
    assert_eq!([rules(compacted), rules(first.id), rules(second.id)], [rules(tip); 3]);
}

/// What was tagged before there was a rule can be untagged by its name.
#[test]
fn a_tag_that_is_a_secret_by_now_can_be_removed() {
    let (folder, store) = (Folder::new(), new_store());
    let before = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let path = folder.write("s.jsonl", said(folder.path(), "hello").as_bytes());
    let tip = import(&before, &path).session.tip.expect("a tip");
    let by = Principal::new("ada@m1").expect("a name");
    let tags = vec!["ACME-123456".to_owned()];
    before.update(tip, Update { add_tags: tags.clone(), ..Update::default() }, &by).expect("tagged");
    let engine = with_rules(&store, TICKETS);
    engine.update(tip, Update { remove_tags: tags, ..Update::default() }, &by).expect("untagged");
    assert_eq!(engine.store().annotations(tip).expect("annotations").tags, Vec::<String>::new());
}

#[test]
fn a_stream_has_the_rules_of_its_directory() {
    let folder = Folder::new();
    let (project, store) = (project(&folder), new_store());
    let at = Timestamp::from_micros(0);
    for (cwd, is_kept) in [(project.as_path(), false), (folder.path(), true)] {
        let rules = StreamRules { cwd: Some(cwd), ..StreamRules::default() };
        let mut recorder = StreamRecorder::new(Some(StreamForm::Timed), Some(rules));
        let kept = recorder.take(StreamSide::Output, b"see ACME-123456\n", at);
        assert_eq!(String::from_utf8(kept).expect("text").contains("ACME-123456"), is_kept);
    }
    let store_rules = StoreRules { name: "secrets.toml".to_owned(), text: TICKETS.to_owned() };
    for (rules, expected) in [
        (Some(StreamRules { store: Some(store_rules), ..StreamRules::default() }), "see [REDACTED:ticket]"),
        (None, "[REDACTED:unscrubbed]"),
    ] {
        let mut recorder = StreamRecorder::new(Some(StreamForm::Timed), rules);
        let kept = recorder.take(StreamSide::Output, b"see ACME-123456\n", at);
        assert!(String::from_utf8(kept).expect("text").contains(expected), "{expected}");
    }
    // Its records name no directory: the one that is given counts, and from then on the one that is known.
    let line = "{\"t\":\"2026-01-01T00:00:00.000Z\",\"fd\":\"stdout\",\"line\":\"see ACME-123456\"}\n";
    let path = folder.write("s.jsonl", line.as_bytes());
    let engine = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let cwd = Some(project.display().to_string());
    let options = CaptureOptions { cwd, ..CaptureOptions::import() };
    let captured = engine.capture(&path, &options).expect("captured");
    assert_eq!(captured.bytes_redacted, 11);
    let again = engine.capture(&path, &CaptureOptions::import()).expect("captured");
    assert_eq!((again.new_commits, again.session.tip), (0, captured.session.tip));
}

/// A rule that is there and cannot be read blocks; a directory that is none does not.
#[test]
fn rules_of_a_project_that_cannot_be_read_are_not_passed_over() {
    let (folder, engine) = (Folder::new(), engine());
    let project = project(&folder);
    let rules = folder.path().join("work/.stemmata/secrets.toml");
    std::fs::remove_file(&rules).expect("removed");
    std::os::unix::fs::symlink(&rules, &rules).expect("a link");
    let path = folder.write("a.jsonl", said(&project, "see ACME-123456").as_bytes());
    let error = engine.capture(&path, &CaptureOptions::import()).expect_err("blocked").to_string();
    assert!(error.contains("secrets.toml"), "{error}");
    for cwd in
        ["/nowhere/at/all".to_owned(), format!("/{}", "deep".repeat(2_000)), "/proc/1/\u{1}".to_owned()]
    {
        let cwd = serde_json::to_string(&cwd).expect("text");
        let line = said(std::path::Path::new("CWD"), "hello").replace("\"CWD\"", &cwd);
        import(&engine, &folder.write("b.jsonl", line.as_bytes()));
    }
}

/// What a program gives is looked at as a whole when it is stored, and so it is when it is looked at again.
#[test]
fn a_secret_of_several_lines_in_a_text_that_was_given_is_found_and_scrubbed() {
    let store = new_store();
    let before = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let text = "plain text\nKEY-BEGIN\nabcdef\nKEY-END\n";
    let request = CheckpointRequest { summary: None, ..below(None, text) };
    let id = before.checkpoint(&request).expect("a checkpoint").id;
    let rule = "[[rules]]\nkind = 'acme'\nkeywords = ['KEY-BEGIN']\nregex = 'KEY-BEGIN\\n[a-z]+\\nKEY-END'\n";
    let engine = with_rules(&store, rule);
    assert_eq!(found(&engine), [(Holder::Commit(id), FoundIn::Line(2))]);
    let fresh = with_rules(&new_store(), rule);
    let written = fresh.checkpoint(&request).expect("a checkpoint").id;
    assert!(matches!(&request.content, CheckpointContent::Bytes(_)));
    assert_eq!(native(&fresh, written), b"plain text\n[REDACTED:acme]\n");
    assert_eq!(found(&fresh), []);
}

/// A scrubber that fails: no content reaches the store, and that the session is there does.
#[test]
fn a_failing_scrubber_blocks_content_and_keeps_metadata() {
    let huge =
        "[[rules]]\nkind = 'huge'\nkeywords = ['see ']\nregex = 'see (?:[a-z]{1,900}[0-9]{1,900}){400}'\n";
    for broken in ["[[rules]]\nkind = 'x'\n", huge] {
        let (folder, store) = (Folder::new(), new_store());
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
