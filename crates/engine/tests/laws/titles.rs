//! The title of a session of which something was forgotten: the one that an import of what is left would give.

use std::sync::Arc;

use stemmata_engine::{CaptureOptions, Captured, Engine, ForgetOptions, ForgetTarget, Nudged};
use stemmata_model::{CommitId, FormatId, NoteCode, Principal, Trigger};
use stemmata_store::{SessionKey, StoreIdentity};
use stemmata_testkit::faulty::FaultyStore;
use stemmata_testkit::memory::MemoryStore;

use crate::support::{Folder, answer, chain, engine, engine_on, import, native, user};

fn forget(engine: &Engine, commit: CommitId) {
    let by = Principal::new("ada").expect("a name");
    let options = ForgetOptions { everywhere: true, even_pinned: true, by };
    engine.forget(&ForgetTarget::Commit(commit), &options).expect("forgotten");
}

/// Four turns, of which the second and the third name the session.
fn claude() -> Vec<String> {
    let named = |line: &str, kind: &str, key: &str, title: &str| {
        format!("{line}{{\"type\":\"{kind}\",\"{key}\":\"{title}\",\"sessionId\":\"s\"}}\n")
    };
    let turn = |number: u32, before: Option<u32>, text: &str| {
        user(number, before, text) + &answer(number + 1, number, &format!("done with {text}"))
    };
    vec![
        turn(1, None, "prompt one"),
        named(&turn(3, Some(2), "prompt two"), "ai-title", "aiTitle", "a made up title"),
        named(&turn(5, Some(4), "prompt three"), "custom-title", "customTitle", "a given title"),
        turn(7, Some(6), "prompt four"),
    ]
}

fn pi() -> Vec<String> {
    let line = |number: u32, rest: &str| {
        let parent = number.checked_sub(1).filter(|parent| *parent > 0);
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"m{parent}\""));
        format!(
            "{{\"id\":\"m{number}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:0{number}.000Z\",{rest}}}\n"
        )
    };
    let said = |role: &str, text: &str| {
        format!(
            "\"type\":\"message\",\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}"
        )
    };
    let turn = |number: u32, text: &str| {
        line(number, &said("user", text)) + &line(number + 1, &said("assistant", "done"))
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n";
    vec![
        header.to_owned() + &turn(1, "prompt one"),
        turn(3, "prompt two") + &line(5, "\"type\":\"session_info\",\"name\":\"a given title\""),
        turn(6, "prompt three"),
        turn(8, "prompt four"),
    ]
}

/// Words that some line gives as a title.
const TITLES: [&str; 6] =
    ["prompt one", "prompt two", "prompt three", "prompt four", "a made up title", "a given title"];

#[test]
fn the_title_is_what_an_import_of_the_rest_would_give() {
    for (format, turns, more) in [
        ("claude-code-v1", claude(), user(9, Some(8), "prompt five")),
        ("pi-v3", pi(), pi()[3].replace("m9", "m11").replace("m8", "m10").replace("four", "five")),
    ] {
        for forgotten in 1..1_usize << turns.len() {
            check(format, &turns, &more, forgotten);
        }
    }
}

/// Forgets the turns whose bits are set, reads the transcript again, whole and as it goes on, and compares.
fn check(format: &str, turns: &[String], more: &str, forgotten: usize) {
    let is_left = |turn: &usize| forgotten >> turn & 1 == 0;
    let (one, folder) = (engine(), Folder::new());
    let path = folder.write("s.jsonl", turns.concat().as_bytes());
    let format = FormatId::new(format).expect("a name");
    let options = CaptureOptions { format: Some(format), ..CaptureOptions::import() };
    let tip = one.capture(&path, &options).expect("read").session.tip.expect("a tip");
    let ids: Vec<CommitId> = chain(&one, tip).iter().map(|commit| commit.id).collect();
    assert_eq!(ids.len(), turns.len(), "a commit for each turn");
    assert_eq!(native(&one, tip), turns.concat().as_bytes());
    (0..turns.len()).filter(|turn| !is_left(turn)).for_each(|turn| forget(&one, ids[turn]));
    let rest: String = (0..turns.len()).filter(is_left).map(|turn| turns[turn].as_str()).collect();
    let fresh = |bytes: &str| {
        let path = folder.write("rest.jsonl", bytes.as_bytes());
        engine().capture(&path, &options).ok().and_then(|captured| captured.session.title)
    };
    let holds_nothing_else = |key: &SessionKey, title: Option<&String>| {
        let cursor = one.store().cursor(key).expect("a read").unwrap_or_default();
        let row = format!("{:?} {}", one.store().session(key), String::from_utf8_lossy(&cursor));
        let other =
            TITLES.iter().find(|words| row.contains(*words) && Some(**words) != title.map(String::as_str));
        assert_eq!(other, None, "{forgotten:b}: {row}");
    };
    for full in [true, false, true] {
        let again = one.capture(&path, &CaptureOptions { full, ..options.clone() }).expect("read");
        let wanted = fresh(&rest);
        assert_eq!(again.session.title, wanted, "{forgotten:b} {full}");
        holds_nothing_else(&again.session.key, wanted.as_ref());
    }
    // What is appended goes on from the cursor, whose title is that of the rest too.
    folder.append("s.jsonl", more.as_bytes());
    let grown = one.capture(&path, &options).expect("read").session.title;
    assert_eq!(grown, fresh(&(rest + more)), "{forgotten:b}");
}

type Faulty = FaultyStore<MemoryStore>;

fn faulty() -> (Arc<Faulty>, Engine) {
    let memory = MemoryStore::new(StoreIdentity { store_id: [1; 16], secret: [2; 32] });
    let store = Arc::new(FaultyStore::new(memory));
    (Arc::clone(&store), engine_on("m1", store))
}

fn ids(engine: &Engine, captured: &Captured) -> Vec<CommitId> {
    let tip = captured.session.tip.expect("a tip");
    chain(engine, tip).iter().map(|commit| commit.id).collect()
}

fn lose(engine: &Engine, store: &Faulty, commit: CommitId) {
    store.lose(engine.store().commit(commit).expect("a read").expect("there").core.native_artifact());
}

fn is_degraded(captured: &Captured) -> bool {
    captured.notes.iter().any(|note| note.code == NoteCode::Degraded)
}

/// Found in review: each hook in an open turn whose beginning was forgotten read the whole chain for the title.
#[test]
fn an_open_turn_that_was_forgotten_has_no_history_read_again() {
    let (folder, (store, one)) = (Folder::new(), faulty());
    let turns = claude();
    let path = folder.write("s.jsonl", (turns.concat() + &user(9, Some(8), "prompt five")).as_bytes());
    let all = ids(&one, &import(&one, &path));
    let (open, closed) = all.split_last().expect("commits");
    assert_eq!(closed.len(), turns.len());
    forget(&one, *open);
    assert_eq!(import(&one, &path).session.title.as_deref(), Some("a given title"));
    for commit in closed {
        lose(&one, &store, *commit);
    }
    for number in 10..14 {
        folder.append("s.jsonl", answer(number, number - 1, "some more").as_bytes());
        let nudged = one.nudge(&path, &CaptureOptions::live(Trigger::TurnBoundary)).expect("read");
        let Nudged::Captured(captured) = nudged else { panic!("not read: {nudged:?}") };
        assert!(captured.notes.iter().any(|note| note.code == NoteCode::Forgotten), "{:?}", captured.notes);
        assert!(!is_degraded(&captured), "{:?}", captured.notes);
        assert_eq!(captured.session.title.as_deref(), Some("a given title"));
    }
}

/// Found in review: a transcript could not be captured any more where something else of its session is damaged.
#[test]
fn a_commit_that_cannot_be_read_leaves_the_title_that_forgetting_left() {
    for (forgotten, title) in [(1, Some("a given title")), (2, None)] {
        let (folder, (store, one)) = (Folder::new(), faulty());
        let path = folder.write("s.jsonl", claude().concat().as_bytes());
        let all = ids(&one, &import(&one, &path));
        forget(&one, all[forgotten]);
        lose(&one, &store, all[0]);
        let again = import(&one, &path);
        assert_eq!(again.session.title.as_deref(), title);
        assert_eq!(ids(&one, &again), all);
        let told = again.notes.iter().filter(|note| note.code == NoteCode::Degraded).count();
        assert_eq!(told, 1, "{:?}", again.notes);
        // A session does not begin with a prompt because nobody can read the one before.
        folder.append("s.jsonl", (user(9, Some(8), "prompt five") + &answer(10, 9, "done")).as_bytes());
        assert_eq!(import(&one, &path).session.title.as_deref(), title);
    }
}

/// Found in review: what another process forgot while a transcript was read was told as if nothing of it could be read.
#[test]
fn what_is_forgotten_meanwhile_is_gone_on_behind() {
    let (folder, (store, one)) = (Folder::new(), faulty());
    let path = folder.write("s.jsonl", claude().concat().as_bytes());
    let all = ids(&one, &import(&one, &path));
    // From now on what is read is looked up among what was forgotten.
    forget(&one, all[0]);
    let (another, second) = (engine_on("m1", Arc::clone(&store) as _), all[1]);
    store.meddle(1, move || forget(&another, second));
    let full = CaptureOptions { full: true, ..CaptureOptions::import() };
    let again = one.capture(&path, &full).expect("read");
    assert!(!store.has_meddler());
    assert_eq!(ids(&one, &again), all);
    assert_eq!(again.session.title.as_deref(), Some("a given title"));
}
