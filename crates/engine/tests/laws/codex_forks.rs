//! Codex sessions that hang together: forks that point into their parent's file, and subagents.

use serde_json::{Value, json};
use stemmata_engine::{CaptureOptions, Engine, Placed, ScrubTarget, Stop, StoreRules};
use stemmata_model::{CommitId, NoteCode, Principal};
use stemmata_store::LinkKind;

use crate::support::{Folder, chain, engine, engine_on, import, native, new_store, placing};

const PARENT: &str = "01a20275-dd97-7313-aa29-9ee1dea2165b";
const FORK: &str = "01a20275-ee23-7542-a20c-13d979be1bc0";

/// A rollout whose lines are numbered from `first`.
fn rollout(session: &str, first: u64, header: &Value, said: &[(&str, &str)]) -> Vec<u8> {
    let mut payload = json!({ "session_id": session, "id": session, "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/srv/project", "originator": "codex_exec", "cli_version": "0.169.0", "source": "exec",
        "history_mode": "paginated" });
    for (key, value) in header.as_object().expect("an object") {
        payload[key] = value.clone();
    }
    let mut lines = vec![("session_meta", payload)];
    for (role, text) in said {
        let kind = if *role == "user" { "input_text" } else { "output_text" };
        let item = match *role {
            "output" => json!({ "type": "function_call_output", "call_id": "call_1", "output": text }),
            "call" => {
                json!({ "type": "function_call", "call_id": "call_1", "name": text, "arguments": "{}" })
            }
            role => json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] }),
        };
        lines.push(("response_item", item));
    }
    let mut out = Vec::new();
    for ((kind, payload), ordinal) in lines.into_iter().zip(first..) {
        let line = json!({ "timestamp": format!("2026-01-01T00:{:02}:{:02}.000Z", ordinal / 60, ordinal % 60),
            "ordinal": ordinal, "type": kind, "payload": payload });
        out.extend_from_slice(format!("{line}\n").as_bytes());
    }
    out
}

const TALK: &[(&str, &str)] = &[("user", "one"), ("assistant", "1"), ("user", "two"), ("assistant", "2")];

fn fork_at(ordinal: u64) -> Vec<u8> {
    let base = json!({ "thread_id": PARENT, "end_ordinal_exclusive": ordinal, "end_byte_offset": 4711 });
    let header = json!({ "forked_from_id": PARENT, "history_base": base });
    rollout(FORK, ordinal, &header, &[("user", "elsewhere"), ("assistant", "3")])
}

fn name(session: &str) -> String {
    format!("rollout-2026-01-01T00-00-00-{session}.jsonl")
}

fn tip(engine: &Engine, folder: &Folder, session: &str, bytes: &[u8]) -> CommitId {
    import(engine, &folder.write(&name(session), bytes)).session.tip.expect("a tip")
}

/// The texts of a context, and the codes of its notes.
fn context(engine: &Engine, ctx: CommitId, stop: Stop) -> (Vec<String>, Vec<NoteCode>) {
    let mut bytes = Vec::new();
    let made = engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    let notes: Vec<NoteCode> = made.notes.into_iter().map(|note| note.code).collect();
    let points = String::from_utf8_lossy(&bytes).contains("4711");
    assert!(!points || !notes.is_empty(), "nothing points into another file whose lines are here");
    (texts(&bytes), notes)
}

fn texts(bytes: &[u8]) -> Vec<String> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines
        .filter_map(|line| {
            let line: Value = serde_json::from_slice(line).expect("JSON");
            Some(line["payload"]["content"][0]["text"].as_str()?.to_owned())
        })
        .collect()
}

fn placed(engine: &Engine, folder: &Folder, ctx: CommitId) -> (Placed, Vec<u8>) {
    let placed = engine.place(ctx, &placing(folder)).expect("placed");
    let bytes = std::fs::read(&placed.path).expect("a file");
    (placed, bytes)
}

#[test]
fn a_fork_goes_on_from_the_lines_of_its_parent() {
    for (ordinal, wanted) in [
        (5, vec!["one", "1", "two", "2", "elsewhere", "3"]),
        (3, vec!["one", "1", "elsewhere", "3"]),
        // In the middle of a turn, and so of a commit.
        (4, vec!["one", "1", "two", "elsewhere", "3"]),
    ] {
        let (folder, engine) = (Folder::new(), engine());
        tip(&engine, &folder, PARENT, &rollout(PARENT, 0, &json!({}), TALK));
        let bytes = fork_at(ordinal);
        let fork = tip(&engine, &folder, FORK, &bytes);
        assert_eq!(chain(&engine, fork)[0].core.parent, None, "a fork is a root");
        assert_eq!(native(&engine, fork), bytes, "its own bytes are its own");
        for stop in [Stop::Compaction, Stop::Root] {
            assert_eq!(
                context(&engine, fork, stop),
                (wanted.iter().map(|&text| text.to_owned()).collect(), vec![]),
                "{ordinal} {stop:?}"
            );
        }
        let (placed, bytes) = placed(&engine, &folder, fork);
        assert_eq!(
            (texts(&bytes), placed.notes),
            (wanted.iter().map(|&text| text.to_owned()).collect(), vec![])
        );
        let text = String::from_utf8(bytes).expect("text");
        assert!(!text.contains("4711") && text.matches(placed.session.as_str()).count() == 2, "{text}");
    }
}

/// Pages of long chains are read ahead, also where the fork itself ends.
#[test]
fn a_long_fork_goes_on_from_a_long_parent() {
    let (folder, engine) = (Folder::new(), engine());
    let long = |letter: &str| letter.repeat(1_500_000);
    let (first, second, third) = (long("one "), long("two "), long("elsewhere "));
    let said = [("user", first.as_str()), ("assistant", "1"), ("user", &second), ("assistant", "2")];
    tip(&engine, &folder, PARENT, &rollout(PARENT, 0, &json!({}), &said));
    let base = json!({ "thread_id": PARENT, "end_ordinal_exclusive": 5, "end_byte_offset": 4711 });
    let header = json!({ "forked_from_id": PARENT, "history_base": base });
    let bytes = rollout(FORK, 5, &header, &[("user", &third), ("assistant", "3")]);
    let fork = tip(&engine, &folder, FORK, &bytes);
    let (texts, notes) = context(&engine, fork, Stop::Root);
    let lengths: Vec<usize> = texts.iter().map(String::len).collect();
    assert_eq!((lengths, notes), (vec![first.len(), 1, second.len(), 1, third.len(), 1], vec![]));
}

#[test]
fn a_fork_is_the_same_whether_its_parent_is_here_or_not() {
    let (folder, engine) = (Folder::new(), engine());
    let fork = tip(&engine, &folder, FORK, &fork_at(5));
    let (alone, notes) = context(&engine, fork, Stop::Compaction);
    assert_eq!((alone, notes), (vec!["elsewhere".to_owned(), "3".to_owned()], vec![NoteCode::MissingParent]));
    let (placed, _) = placed(&engine, &folder, fork);
    assert!(placed.notes.iter().any(|note| note.message.contains(PARENT)), "{:?}", placed.notes);
    // The parent comes later, written anew: longer lines with the same numbers.
    let written = String::from_utf8(rollout(PARENT, 0, &json!({}), TALK)).expect("text");
    let written = written.replace("{\"ordinal\"", "{ \"ordinal\"").into_bytes();
    tip(&engine, &folder, PARENT, &written);
    let (whole, notes) = context(&engine, fork, Stop::Compaction);
    assert_eq!((whole.len(), notes), (6, vec![]));
    let again = crate::support::engine();
    assert_eq!(tip(&again, &folder, FORK, &fork_at(5)), fork, "the commit is the same");
}

#[test]
fn a_parent_that_ends_too_early_is_named() {
    let (folder, engine) = (Folder::new(), engine());
    tip(&engine, &folder, PARENT, &rollout(PARENT, 0, &json!({}), &TALK[..2]));
    let fork = tip(&engine, &folder, FORK, &fork_at(5));
    let (texts, notes) = context(&engine, fork, Stop::Compaction);
    assert_eq!((texts.len(), notes), (4, vec![NoteCode::MissingParent]));
}

#[test]
fn forks_of_forks_are_followed_and_circles_end() {
    let (folder, engine) = (Folder::new(), engine());
    tip(&engine, &folder, PARENT, &rollout(PARENT, 0, &json!({}), TALK));
    tip(&engine, &folder, FORK, &fork_at(3));
    let second = "01a20276-b7f3-7753-8125-e4fa5846ae6d";
    let base = |of: &str| json!({ "history_base": { "thread_id": of, "end_ordinal_exclusive": 6, "end_byte_offset": 4711 } });
    let deep = tip(&engine, &folder, second, &rollout(second, 6, &base(FORK), &[("user", "deeper")]));
    let (texts, notes) = context(&engine, deep, Stop::Compaction);
    assert_eq!((texts.join(" "), notes), ("one 1 elsewhere 3 deeper".to_owned(), vec![]));
    let circle = "01a20277-00ad-74c2-9326-4c82959261ed";
    let own = tip(&engine, &folder, circle, &rollout(circle, 6, &base(circle), &[("user", "round")]));
    let mut bytes = Vec::new();
    let made = engine.materialize(Some(own), None, Stop::Compaction, &mut bytes).expect("materialized");
    assert!(made.notes.iter().any(|note| note.code == NoteCode::MissingParent), "{:?}", made.notes);
}

#[test]
fn forks_and_subagents_are_linked_to_where_they_come_from() {
    let (folder, engine) = (Folder::new(), engine());
    let agent = "01a20277-03b0-7392-8f70-6ebe920074e7";
    let mut said = TALK.to_vec();
    let told = format!("{{\"agent_id\":\"{agent}\",\"nickname\":\"Hilbert\"}}");
    said.extend([("user", "three"), ("call", "spawn_agent"), ("output", told.as_str()), ("assistant", "4")]);
    folder.write(&name(PARENT), &rollout(PARENT, 0, &json!({}), &said));
    folder.write(&name(FORK), &fork_at(3));
    let spawn = json!({ "parent_thread_id": PARENT, "depth": 1, "agent_nickname": "Hilbert" });
    let header = json!({ "session_id": PARENT, "source": { "subagent": { "thread_spawn": spawn } },
        "thread_source": "subagent" });
    folder.write(&name(agent), &rollout(agent, 0, &header, &[("user", "look"), ("assistant", "seen")]));
    let report =
        engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 2, &|_| ()).expect("imported");
    let session = |id: &str| {
        let found = report.sessions.iter().find(|known| known.captured.session.session.as_str() == id);
        found.expect("a session").captured.session.clone()
    };
    let side = session(agent);
    assert_eq!(side.parent_session.as_ref().map(stemmata_model::SessionId::as_str), Some(PARENT));
    assert_eq!(side.template.as_str(), "codex/subagent");
    assert_eq!(session(FORK).parent_session, None);
    let parent = chain(&engine, session(PARENT).tip.expect("a tip"));
    let link = |id: &str| {
        let root = chain(&engine, session(id).tip.expect("a tip"))[0].id;
        let mut links = engine.store().links(root, 10).expect("links");
        links.retain(|link| link.from == root);
        assert_eq!(links.len(), 1, "{links:?}");
        links.remove(0)
    };
    let of_fork = link(FORK);
    assert_eq!((of_fork.kind, of_fork.to), (LinkKind::DerivedFrom, parent[0].id));
    let of_agent = link(agent);
    assert_eq!((of_agent.kind, of_agent.to), (LinkKind::Subagent, parent[2].id));
    assert!(of_agent.entry.is_some(), "it names the entry that says who was started");
}

#[test]
fn sessions_that_still_grow_in_older_folders_are_caught_up_with() {
    let (folder, engine) = (Folder::new(), engine());
    let home = stemmata_engine::RuntimeHome {
        runtime: "codex",
        config_dir: folder.path().to_owned(),
        transcripts: folder.path().join("sessions"),
    };
    let write = |day: &str, session: &str, header: &Value, said: &[(&str, &str)]| {
        std::fs::create_dir_all(home.transcripts.join(day)).expect("a folder");
        folder.write(&format!("sessions/{day}/{}", name(session)), &rollout(session, 0, header, said));
    };
    write("2025/11/30", PARENT, &json!({}), TALK);
    write("2026/01/01", FORK, &json!({ "cwd": "/srv/project/below" }), &TALK[..2]);
    write("2026/01/02", "01a20277-00ad-74c2-9326-4c82959261ed", &json!({ "cwd": "/srv/other" }), TALK);
    let caught = || {
        let failures = engine
            .catch_up(std::slice::from_ref(&home), std::path::Path::new("/srv/project"))
            .expect("looked");
        assert!(failures.is_empty(), "{failures:?}");
        let filter = stemmata_store::SessionFilter::default();
        let page = stemmata_store::Page { skip: 0, rows_max: 10 };
        let mut found: Vec<(String, u64)> = engine
            .store()
            .sessions(&filter, page)
            .expect("sessions")
            .into_iter()
            .map(|session| (session.session.to_string(), session.messages))
            .collect();
        found.sort();
        found
    };
    assert_eq!(caught(), [(PARENT.to_owned(), 4), (FORK.to_owned(), 2)]);
    // Known, and in a folder that nobody would look into any more.
    std::fs::create_dir_all(home.transcripts.join("old")).expect("a folder");
    let old = format!("sessions/old/{}", name("01a20276-b7f3-7753-8125-e4fa5846ae6d"));
    let path =
        folder.write(&old, &rollout("01a20276-b7f3-7753-8125-e4fa5846ae6d", 0, &json!({}), &TALK[..2]));
    import(&engine, &path);
    folder.write(&old, &rollout("01a20276-b7f3-7753-8125-e4fa5846ae6d", 0, &json!({}), TALK));
    assert!(caught().contains(&("01a20276-b7f3-7753-8125-e4fa5846ae6d".to_owned(), 4)));
}

/// The fork points into its parent by thread and line, and neither changes when the parent is scrubbed.
#[test]
fn a_fork_goes_on_from_a_parent_that_was_scrubbed() {
    let (folder, store) = (Folder::new(), new_store());
    let plain = engine_on("m1", std::sync::Arc::clone(&store) as _);
    let said = [("user", "one ACME-771234"), ("assistant", "1"), ("user", "two"), ("assistant", "2")];
    let parent = tip(&plain, &folder, PARENT, &rollout(PARENT, 0, &json!({}), &said));
    let fork = tip(&plain, &folder, FORK, &fork_at(3));
    let (before, notes) = context(&plain, fork, Stop::Root);
    assert_eq!((before, notes), (texts_of(&["one ACME-771234", "1", "elsewhere", "3"]), vec![]));
    let rules = "[[rules]]\nkind = 'ticket'\nkeywords = ['ACME-']\nregex = 'ACME-[0-9]{6}'\n".to_owned();
    let engine = engine_on("m1", std::sync::Arc::clone(&store) as _)
        .with_rules(StoreRules { name: "secrets.toml".to_owned(), text: rules });
    let by = Principal::new("ada@m1").expect("a name");
    let key = engine.find_session(PARENT).expect("read").expect("there").key;
    engine.scrub(&ScrubTarget::Session(key), &by).expect("scrubbed");
    assert!(engine.store().commit(parent).expect("read").is_none(), "the old one is gone");
    let now = engine.find_session(FORK).expect("read").expect("there").tip.expect("a tip");
    for stop in [Stop::Root, Stop::Compaction] {
        let (after, notes) = context(&engine, now, stop);
        assert_eq!((after, notes), (texts_of(&["one [REDACTED:ticket]", "1", "elsewhere", "3"]), vec![]));
    }
    let (_, bytes) = placed(&engine, &folder, now);
    assert_eq!(texts(&bytes), texts_of(&["one [REDACTED:ticket]", "1", "elsewhere", "3"]));
    // Its links lead to the new one.
    let root = chain(&engine, now).first().expect("a root").id;
    for link in engine.store().links(root, 10).expect("links") {
        assert!(engine.store().commit(link.to).expect("read").is_some(), "{link:?}");
    }
}

fn texts_of(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
