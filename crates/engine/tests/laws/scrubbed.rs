//! Scrubbing what is stored: it becomes what an import under the new rules gives, and the old bytes are gone.

use std::path::Path;
use std::sync::Arc;

use stemmata_engine::{
    CaptureOptions, Engine, EngineError, ForgetOptions, ForgetTarget, FoundIn, Holder, ScanTarget,
    ScrubReport, ScrubTarget, SecretFound, StoreRules, Update,
};
use stemmata_model::{CommitId, Principal, Trigger};
use stemmata_store::conformance::builders::damages;
use stemmata_store::maintain::forget::Tombstone;
use stemmata_store::{
    OnDisk, PackOptions, SessionFilter, SqliteOptions, SqliteStore, Store, StoreError, StoreIdentity,
};
use stemmata_testkit::faulty::{Fault, FaultyStore};
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, answer, engine_on, import, native, new_store, user};

/// What was leaked: no shipped rule knows it, and the store's own does from now on.
const SECRET: &str = "ACME-771234";
const RULES: &str = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n";

fn under_rules(store: Arc<dyn Store>) -> Engine {
    engine_on("m1", store).with_rules(StoreRules { name: "secrets.toml".to_owned(), text: RULES.to_owned() })
}

fn by() -> Principal {
    Principal::new("ada@m1").expect("a name")
}

/// Three closed turns, the secret in the first prompt and in the second answer, and an open one.
fn story() -> Vec<String> {
    vec![
        user(1, None, &format!("what is {SECRET} about")),
        answer(2, 1, "nothing much"),
        user(3, Some(2), "and now"),
        answer(4, 3, &format!("see {SECRET} again")),
        user(5, Some(4), "thanks"),
        answer(6, 5, "welcome"),
        user(7, Some(6), "one more"),
    ]
}

/// Captures a story as a client writes it, with a hook after each record.
fn live(engine: &Engine, folder: &Folder, name: &str) -> CommitId {
    let mut tip = None;
    for line in story() {
        folder.append(name, line.as_bytes());
        let captured = engine
            .capture(&folder.path().join(name), &CaptureOptions::live(Trigger::TurnBoundary))
            .expect("captured");
        tip = captured.session.tip;
    }
    tip.expect("a tip")
}

fn scan(engine: &Engine) -> Vec<SecretFound> {
    let mut found = Vec::new();
    engine
        .scan(&ScanTarget::All(None), &mut |secret| {
            found.push(secret);
            true
        })
        .expect("scanned");
    found
}

/// The law: what is scrubbed is what an import under the new rules gives, and capture goes on from there.
#[test]
fn scrubbing_gives_what_an_import_gives_and_capture_goes_on() {
    let (folder, store) = (Folder::new(), new_store());
    let before = engine_on("m1", Arc::clone(&store) as _);
    let old = live(&before, &folder, "s.jsonl");
    let engine = under_rules(Arc::clone(&store) as _);
    let lines = scan(&engine).into_iter().filter(|found| matches!(found.place, FoundIn::Line(_)));
    assert!(lines.count() >= 2);
    let session =
        before.store().sessions(&SessionFilter::default(), stemmata_store::Page { skip: 0, rows_max: 9 });
    let key = session.expect("sessions").remove(0).key;
    let report = engine.scrub(&ScrubTarget::Session(key.clone()), &by()).expect("scrubbed");
    assert!(report.redirects.len() >= 4, "{report:?}");
    let session = engine.store().session(&key).expect("read").expect("a session");
    let tip = session.tip.expect("a tip");
    assert_ne!(tip, old);
    assert!(!session.title.unwrap_or_default().contains(SECRET));
    assert_eq!(engine.find(&old.to_string()).expect("redirected"), tip);
    assert!(scan(&engine).is_empty(), "{:?}", scan(&engine));
    let stored = String::from_utf8(native(&engine, tip)).expect("text");
    assert_eq!(stored, story().concat().replace(SECRET, "[REDACTED:ticket]"));

    // Another store that never saw the old rules has the same chain.
    let fresh = under_rules(new_store() as _);
    let imported = import(&fresh, &folder.path().join("s.jsonl")).session.tip.expect("a tip");
    assert_eq!(imported, tip);

    // What the client writes next becomes a child; nothing is read or stored twice.
    let commits = engine.store().usage().expect("usage").commits;
    folder.append("s.jsonl", answer(8, 7, &format!("no more {SECRET}")).as_bytes());
    let captured = engine
        .capture(&folder.path().join("s.jsonl"), &CaptureOptions::live(Trigger::TurnBoundary))
        .expect("captured");
    assert!(captured.notes.is_empty(), "{:?}", captured.notes);
    assert_eq!(captured.new_commits, 1, "{captured:?}");
    assert!(engine.store().usage().expect("usage").commits <= commits + 1);
    let all = String::from_utf8(native(&engine, captured.session.tip.expect("a tip"))).expect("text");
    assert!(all.starts_with(&stored) && !all.contains(SECRET));
}

#[test]
fn what_was_said_of_commits_goes_along_without_the_secret() {
    let (folder, store) = (Folder::new(), new_store());
    let before = engine_on("m1", Arc::clone(&store) as _);
    let tip = live(&before, &folder, "s.jsonl");
    let update = Update {
        summary: Some(format!("about {SECRET}")),
        add_tags: vec!["kept".to_owned()],
        notes: vec![format!("ask about {SECRET}")],
        pin: Some(true),
        ..Update::default()
    };
    let ada = Principal::new("ada@m1").expect("a name");
    before.update(tip, update, &ada).expect("updated");
    let engine = under_rules(Arc::clone(&store) as _);
    let plan = engine.plan_scrub(&ScrubTarget::All).expect("planned").report;
    assert!(plan.redirects.is_empty() && plan.rewritten > 0 && plan.dirty > 0, "{plan:?}");
    assert_eq!(engine.find(&tip.to_string()).expect("unchanged"), tip);
    engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    let new = engine.find("kept").expect("the tag is there");
    let own = engine.store().annotations(new).expect("annotations");
    assert_eq!(own.summary.expect("a summary").0, "about [REDACTED:ticket]");
    assert_eq!(own.notes, ["ask about [REDACTED:ticket]"]);
    assert!(own.pinned);
    assert_eq!(engine.scrub(&ScrubTarget::All, &by()).expect("again").rewritten, 0, "twice is once");
}

fn holds_secret(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(holds_secret(&path));
        } else {
            let bytes = std::fs::read(&path).expect("read");
            if bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Packed or not, with copies that share its bytes: no file of the store holds the secret, nor a content that unpacks
/// to it.
#[test]
fn no_file_of_the_store_holds_the_secret() {
    for packed in [false, true] {
        let (folder, home) = (Folder::new(), tempfile::tempdir().expect("a folder"));
        let options = SqliteOptions { busy_timeout_ms: 500, ..SqliteOptions::default() };
        let store = Arc::new(SqliteStore::open(home.path(), options.clone()).expect("a store"));
        let before = engine_on("m1", Arc::clone(&store) as _);
        live(&before, &folder, "s.jsonl");
        // Another one without secrets, of which one was said.
        let clean = story().concat().replace(SECRET, "nothing").replace("aaaaaaaa", "bbbbbbbb");
        let noted = import(&before, &folder.write("u.jsonl", clean.as_bytes())).session.tip.expect("a tip");
        let update = Update { notes: vec![format!("ask about {SECRET}")], ..Update::default() };
        before.update(noted, update, &by()).expect("updated");
        // A client's copy of the session, with an id of its own and one turn more.
        let copied =
            story().concat().replace("\"sessionId\":\"s\"", "\"sessionId\":\"t\"") + &answer(9, 7, "a copy");
        import(&before, &folder.write("t.jsonl", copied.as_bytes()));
        if packed {
            store
                .pack(&PackOptions::new(stemmata_model::Timestamp::from_micros(1_800_000_000_000_000)))
                .expect("packed");
        }
        let engine = under_rules(Arc::clone(&store) as _);
        let report = engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
        assert_eq!(report.forgotten.unfinished, None);
        assert!(scan(&engine).is_empty(), "{:?}", scan(&engine));
        assert_eq!(damages(engine.store()), []);
        drop((engine, before));
        drop(Arc::into_inner(store).expect("nobody else has it"));
        assert_eq!(holds_secret(home.path()), Vec::<String>::new(), "packed: {packed}");
    }
}

/// A scrub that fails at any write leaves a store in which everything can be read, and the next one ends it.
#[test]
fn a_scrub_that_is_interrupted_anywhere_goes_on() {
    let mut reached_end = false;
    for number in 1..80 {
        for fault in [Fault::Before, Fault::After] {
            let folder = Folder::new();
            let identity = StoreIdentity { store_id: [1; 16], secret: [2; 32] };
            let faulty = Arc::new(FaultyStore::new(MemoryStore::new(identity)));
            live(&engine_on("m1", Arc::clone(&faulty) as _), &folder, "s.jsonl");
            faulty.fail(number, fault);
            let engine = under_rules(Arc::clone(&faulty) as _);
            let interrupted = engine.scrub(&ScrubTarget::All, &by());
            let page = stemmata_store::Page { skip: 0, rows_max: 9 };
            let session =
                engine.store().sessions(&SessionFilter::default(), page).expect("sessions").remove(0);
            let text = String::from_utf8(native(&engine, session.tip.expect("a tip"))).expect("text");
            assert_eq!(text.replace("[REDACTED:ticket]", SECRET), story().concat(), "write {number}");
            let again: ScrubReport = engine.scrub(&ScrubTarget::All, &by()).expect("goes on");
            assert!(scan(&engine).is_empty(), "write {number}: {:?} after {again:?}", scan(&engine));
            let fresh = under_rules(new_store() as _);
            let imported = import(&fresh, &folder.path().join("s.jsonl")).session.tip;
            assert_eq!(engine.store().session(&session.key).expect("read").expect("there").tip, imported);
            reached_end |= interrupted.is_ok();
        }
        if reached_end {
            return;
        }
    }
    panic!("every write failed: the test does not reach the end");
}

/// What is said of a commit is no part of it: the chain stays, and only the words go.
#[test]
fn words_about_a_clean_chain_are_replaced_and_nothing_else() {
    let clean = story().concat().replace(SECRET, "nothing");
    for at_root in [false, true] {
        let (folder, store) = (Folder::new(), new_store());
        let before = engine_on("m1", Arc::clone(&store) as _);
        let tip = import(&before, &folder.write("s.jsonl", clean.as_bytes())).session.tip.expect("a tip");
        let root = before.history(tip, 0, 99).expect("a chain").last().expect("a root").commit.id;
        let (noted, ada) = (if at_root { root } else { tip }, Principal::new("ada@m1").expect("a name"));
        let update = Update {
            notes: vec![format!("ask about {SECRET}"), "plain".to_owned()],
            add_tags: vec![format!("about-{SECRET}")],
            ..Update::default()
        };
        before.update(noted, update, &ada).expect("updated");
        let commits = before.store().usage().expect("usage").commits;
        let engine = under_rules(Arc::clone(&store) as _);
        let report = engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
        assert_eq!((report.rewritten, report.redirects.len(), report.dirty), (0, 0, 1), "{report:?}");
        assert_eq!((report.forgotten.reworded, report.forgotten.removed.len()), (1, 0), "{report:?}");
        assert_eq!(engine.store().usage().expect("usage").commits, commits);
        assert_eq!(engine.find(&tip.to_string()).expect("there"), tip);
        assert_eq!(native(&engine, tip), clean.as_bytes());
        let own = engine.store().annotations(noted).expect("annotations");
        assert_eq!(own.notes, ["ask about [REDACTED:ticket]", "plain"]);
        assert_eq!(own.tags, ["about-[REDACTED:ticket]"]);
        assert!(scan(&engine).is_empty(), "{:?}", scan(&engine));
    }
}

/// The words stand at the beginning, the secret behind it: what does not change stays, what does goes on from it.
#[test]
fn words_about_what_stays_and_a_secret_behind_it() {
    let lines = story();
    let clean_first = lines.concat().replacen(SECRET, "nothing", 1);
    let (folder, store) = (Folder::new(), new_store());
    let before = engine_on("m1", Arc::clone(&store) as _);
    let tip = import(&before, &folder.write("s.jsonl", clean_first.as_bytes())).session.tip.expect("a tip");
    let root = before.history(tip, 0, 99).expect("a chain").last().expect("a root").commit.id;
    let ada = Principal::new("ada@m1").expect("a name");
    let update = Update { notes: vec![format!("ask about {SECRET}")], ..Update::default() };
    before.update(root, update, &ada).expect("updated");
    let engine = under_rules(Arc::clone(&store) as _);
    for _ in 0..2 {
        engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
        assert!(engine.store().commit(root).expect("read").is_some(), "the root is what it was");
        let new = engine.find(&tip.to_string()).expect("redirected");
        assert_eq!(native(&engine, new), clean_first.replace(SECRET, "[REDACTED:ticket]").as_bytes());
        assert!(scan(&engine).is_empty(), "{:?}", scan(&engine));
    }
}

/// What is scrubbed and then taken back by its old rules is itself again: a later scrub does not remove it.
#[test]
fn what_is_unforgotten_leads_nowhere_else() {
    let (folder, store) = (Folder::new(), new_store());
    let before = engine_on("m1", Arc::clone(&store) as _);
    let path = folder.write("s.jsonl", story().concat().as_bytes());
    let old = import(&before, &path).session.tip.expect("a tip");
    let engine = under_rules(Arc::clone(&store) as _);
    engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    assert_ne!(engine.find(&old.to_string()).expect("redirected"), old);
    assert!(engine.store().lift(&Tombstone::Commit(old)).expect("lifted") > 0);
    assert_eq!(engine.store().redirects(None, 9).expect("redirects"), []);
}

/// What is captured while its chain is rewritten is not lost, under the old rules or the new ones: where the scrub
/// cannot take it along it says so, and the next one does.
#[test]
fn a_capture_during_a_scrub_is_not_lost() {
    let mut refused = 0;
    for is_under_rules in [false, true] {
        let mut number = 1;
        loop {
            let folder = Folder::new();
            let identity = StoreIdentity { store_id: [1; 16], secret: [2; 32] };
            let store = Arc::new(FaultyStore::new(MemoryStore::new(identity)));
            let path = folder.write("s.jsonl", story().concat().as_bytes());
            import(&engine_on("m1", Arc::clone(&store) as _), &path);
            folder.append("s.jsonl", answer(8, 7, "the last word").as_bytes());
            let other: Arc<dyn Store> = Arc::clone(&store) as _;
            let other = if is_under_rules { under_rules(other) } else { engine_on("m1", other) };
            let (file, captured) = (path.clone(), CaptureOptions::live(Trigger::TurnBoundary));
            store.meddle(number, move || drop(other.capture(&file, &captured).expect("captured")));
            let engine = under_rules(Arc::clone(&store) as _);
            let report = engine.scrub(&ScrubTarget::All, &by());
            if store.has_meddler() {
                break;
            }
            refused += u32::from(report.is_err());
            engine.scrub(&ScrubTarget::All, &by()).expect("goes on");
            assert!(scan(&engine).is_empty(), "write {number}: {:?}", scan(&engine));
            let page = stemmata_store::Page { skip: 0, rows_max: 9 };
            let session = engine.store().sessions(&SessionFilter::default(), page).expect("read").remove(0);
            // What a scrub before could not know is read when the client writes again, at the latest.
            let again =
                engine.capture(&path, &CaptureOptions::live(Trigger::TurnBoundary)).expect("captured");
            let tip = again.session.tip.or(session.tip).expect("a tip");
            let text = String::from_utf8(native(&engine, tip)).expect("text");
            let wanted = std::fs::read_to_string(&path).expect("read").replace(SECRET, "[REDACTED:ticket]");
            assert_eq!(text, wanted, "write {number}, under the new rules: {is_under_rules}");
            number += 1;
        }
        assert!(number > 3, "nothing was tried");
    }
    assert!(refused > 0, "no scrub was refused");
}

/// What is removed while everything is looked at and rewritten is no damage: the scrub goes on, or says that its plan is of before.
#[test]
fn a_session_that_is_forgotten_during_a_scrub_is_no_damage() {
    let mut stale = 0;
    for number in 1.. {
        let folder = Folder::new();
        let identity = StoreIdentity { store_id: [1; 16], secret: [2; 32] };
        let store = Arc::new(FaultyStore::new(MemoryStore::new(identity)));
        let engine = engine_on("m1", Arc::clone(&store) as _);
        import(&engine, &folder.write("a.jsonl", story().concat().as_bytes()));
        let other = story().concat().replace("thanks", "thank you").replace("what is", "say what is");
        let gone = import(&engine, &folder.write("b.jsonl", other.as_bytes())).session.key;
        let scrubber = under_rules(Arc::clone(&store) as _);
        store.meddle_at_read(number, move || {
            let options = ForgetOptions { everywhere: false, even_pinned: false, by: by() };
            // Once the scrub holds the store there is nothing to forget it with.
            let _refused = engine.forget(&ForgetTarget::Session(gone), &options);
        });
        let done = scrubber.scrub(&ScrubTarget::All, &by());
        if store.has_meddler() {
            break;
        }
        match done {
            Ok(_) => {}
            Err(EngineError::Store(StoreError::PlanMoved) | EngineError::Refused { .. }) => stale += 1,
            Err(error) => panic!("read {number}: {error}"),
        }
        scrubber.scrub(&ScrubTarget::All, &by()).expect("goes on");
        assert!(scan(&scrubber).is_empty(), "read {number}");
    }
    assert!(stale > 0, "no plan was of before");
}

/// What is known of sessions is scrubbed too, where no commit has anything to replace.
#[test]
fn titles_and_directories_are_scrubbed_where_no_commit_changes() {
    let (folder, home) = (Folder::new(), tempfile::tempdir().expect("a folder"));
    let store = Arc::new(SqliteStore::open(home.path(), SqliteOptions::default()).expect("a store"));
    let before = engine_on("m1", Arc::clone(&store) as _);
    let array = r#"[{"role":"user","content":"hello"},{"role":"assistant","content":"yes"}]"#;
    let path = folder.write("talk.json", array.as_bytes());
    let cwd = Some(format!("/srv/{SECRET}/shop"));
    let options = CaptureOptions { cwd, ..CaptureOptions::import() };
    let captured = before.capture(&path, &options).expect("captured");
    let mut session = captured.session.clone();
    session.title = Some(format!("about {SECRET}"));
    session.git_branch = Some(format!("fix-{SECRET}"));
    before.store().commit_batch(vec![stemmata_store::Write::Session(Box::new(session))]).expect("written");
    let engine = under_rules(Arc::clone(&store) as _);
    let mut fields: Vec<&str> = Vec::new();
    for found in scan(&engine) {
        let FoundIn::Session(field) = found.place else { panic!("{found:?}") };
        assert_eq!(Some(found.holder), captured.session.tip.map(Holder::Commit));
        fields.push(field);
    }
    assert_eq!(fields, ["title", "cwd", "git_branch"]);
    let report = engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    assert_eq!((report.dirty, report.rewritten, report.sessions.len()), (1, 0, 1), "{report:?}");
    assert!(!format!("{:?}", report.sessions[0].title).contains(SECRET));
    assert!(scan(&engine).is_empty());
    let now = engine.store().session(&captured.session.key).expect("read").expect("there");
    let word = |text: &str| Some(text.replace(SECRET, "[REDACTED:ticket]"));
    assert_eq!(now.title, word(&format!("about {SECRET}")));
    assert_eq!(now.cwd, word(&format!("/srv/{SECRET}/shop")));
    assert_eq!(now.git_branch, word(&format!("fix-{SECRET}")));
    assert_eq!(now.tip, captured.session.tip);
    drop((engine, before));
    drop(Arc::into_inner(store).expect("nobody else has it"));
    assert_eq!(holds_secret(home.path()), Vec::<String>::new());
}

/// A program that tries again with the key or the parent that it knows is led to what these became.
#[test]
fn programs_are_led_from_old_ids_to_new_ones() {
    use stemmata_engine::CheckpointRequest;
    use stemmata_model::{FormatId, SessionId, Template};
    let store = new_store();
    let before = engine_on("m1", Arc::clone(&store) as _);
    let request = |text: &str, parent, key: Option<&str>| CheckpointRequest {
        parent,
        idempotency_key: key.map(str::to_owned),
        ..CheckpointRequest::delta(
            format!("{{\"said\":\"{text}\"}}\n").into_bytes(),
            FormatId::new("own-v1").expect("a name"),
            Template::new("own").expect("a name"),
            SessionId::new("own").expect("a name"),
        )
    };
    let first = request(SECRET, None, Some("k1"));
    let old = before.checkpoint(&first).expect("a checkpoint").id;
    let engine = under_rules(Arc::clone(&store) as _);
    engine.scrub(&ScrubTarget::All, &by()).expect("scrubbed");
    let again = engine.checkpoint(&first).expect("again");
    assert!(again.existed && again.id != old);
    assert!(engine.store().commit(again.id).expect("read").is_some());
    let next = engine.checkpoint(&request("more", Some(old), None)).expect("goes on");
    let commit = engine.store().commit(next.id).expect("read").expect("there");
    assert_eq!(commit.core.parent, Some(again.id));
    assert!(next.notes.iter().any(|note| note.message.contains("was scrubbed")), "{:?}", next.notes);
}
