//! A conversation that is a folder of events is one transcript, which grows file by file.

use std::path::PathBuf;

use stemmata_engine::{CaptureOptions, Engine, ImportReport, Look};
use stemmata_model::Trigger;

use crate::support::{Folder, engine, import, native};

const CONVERSATION: &str = "conversations/0a1b2c3d";

fn event(number: usize) -> String {
    let (role, source) = if number.is_multiple_of(2) { ("user", "user") } else { ("assistant", "agent") };
    format!(
        r#"{{"id":"e{number}","timestamp":"2026-01-01T00:00:{number:02}","source":"{source}","llm_message":{{"role":"{role}","content":[{{"type":"text","text":"word {number}"}}]}},"kind":"MessageEvent"}}"#
    )
}

fn lines(count: usize) -> String {
    (0..count).map(|number| event(number) + "\n").collect()
}

/// A folder in which a conversation has begun.
fn begun() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path().join(CONVERSATION).join("events")).expect("folders");
    folder
}

fn write(folder: &Folder, number: usize) -> PathBuf {
    let name = format!("{CONVERSATION}/events/event-{number:05}-e{number}.json");
    folder.write(&name, event(number).as_bytes())
}

fn all(engine: &Engine, folder: &Folder) -> ImportReport {
    let report = engine.import(&[folder.path().to_owned()], &CaptureOptions::import(), 1, &|_| ());
    let report = report.expect("imported");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    report
}

#[test]
fn a_folder_of_events_is_one_session_that_grows() {
    let (folder, engine) = (begun(), engine());
    folder.write(&format!("{CONVERSATION}/base_state.json"), b"{\"id\":\"0a1b2c3d\"}");
    (0..3).for_each(|number| drop(write(&folder, number)));
    let report = all(&engine, &folder);
    let [session] = report.sessions.as_slice() else { panic!("{:?}", report.sessions.len()) };
    let first = session.captured.session.tip.expect("a tip");
    assert_eq!(session.captured.session.session.to_string(), "0a1b2c3d");
    assert_eq!(session.captured.session.format.as_str(), "openhands-v1");
    assert_eq!(native(&engine, first), lines(3).as_bytes());
    let again = all(&engine, &folder);
    assert_eq!(again.sessions[0].captured.new_commits, 0, "idempotent");
    assert_eq!(again.sessions[0].captured.session.tip, Some(first));
    // More events, one of them spread over lines, and one that is being written.
    write(&folder, 3);
    folder.write(
        &format!("{CONVERSATION}/events/event-00004-e4.json"),
        event(4).replace(',', ",\n").as_bytes(),
    );
    let torn = event(5);
    folder.write(&format!("{CONVERSATION}/events/event-00005-e5.json"), &torn.as_bytes()[..torn.len() / 2]);
    let grown = all(&engine, &folder);
    let grown = &grown.sessions[0].captured;
    let tip = grown.session.tip.expect("a tip");
    let spread = event(4).replace(',', ", ") + "\n";
    assert_eq!(String::from_utf8(native(&engine, tip)).expect("text"), lines(4) + &spread);
    assert!(grown.notes.is_empty(), "{:?}", grown.notes);
    write(&folder, 5);
    let path = folder.path().join(CONVERSATION).join("events");
    let whole = import(&engine, &path);
    assert_eq!(
        String::from_utf8(native(&engine, whole.session.tip.expect("a tip"))).expect("text"),
        lines(4) + &spread + &event(5) + "\n"
    );
    // What was read piece by piece is what one import of the whole gives.
    let other = crate::support::engine();
    assert_eq!(import(&other, &path).session.tip, whole.session.tip);
}

#[test]
fn an_event_that_is_not_whole_is_a_finding() {
    let (folder, name) =
        (begun(), |number: usize| format!("{CONVERSATION}/events/event-{number:05}-e{number}.json"));
    let path = folder.path().join(CONVERSATION).join("events");
    let judge = || {
        let found = Engine::doctor(&path, &|_| None).expect("judged");
        let checks: Vec<String> =
            found.validation.findings.iter().map(|one| format!("{} {}", one.check, one.message)).collect();
        (checks, found.validation.messages_sent, found.loses())
    };
    (0..4).for_each(|number| drop(write(&folder, number)));
    assert_eq!(judge(), (Vec::new(), 4, false));
    // The client reads them all before it goes on, and fails on one that is cut, in the middle or at the end.
    for torn in [1, 3] {
        folder.write(&name(torn), &event(torn).as_bytes()[..40]);
        let (checks, sent, loses) = judge();
        assert!(
            checks.iter().any(|one| one.starts_with(&format!("event_damaged event {torn} is not whole"))),
            "{checks:?}"
        );
        assert_eq!((sent, loses), (0, true));
        write(&folder, torn);
    }
    folder.write(&name(2), b"");
    let (checks, sent, loses) = judge();
    assert_eq!(checks, ["event_damaged the file of event 2 is empty: the client passes over it"]);
    assert_eq!((sent, loses), (3, false));
    // What stands behind a gap it does not come to.
    write(&folder, 2);
    std::fs::remove_file(folder.path().join(name(1))).expect("gone");
    folder.write(&name(3), b"{");
    let (checks, sent, _) = judge();
    assert!(checks.iter().all(|one| !one.starts_with("event_damaged")), "{checks:?}");
    assert_eq!(sent, 1);
}

#[test]
fn lines_of_one_file_are_judged_too() {
    let folder = Folder::new();
    let path = folder.write(
        "events.jsonl",
        format!(
            "{}\n{}\n{}\n{}\n",
            event(0),
            &event(1)[..40],
            event(2),
            event(3).replace("MessageEvent", "RuneEvent")
        )
        .as_bytes(),
    );
    let found = Engine::doctor(&path, &|_| None).expect("judged").validation.findings;
    let found: Vec<(&str, Option<u64>)> = found.iter().map(|one| (one.check, one.line)).collect();
    assert_eq!(found, [("unreadable_line", Some(2)), ("unknown_type", Some(4))]);
}

#[test]
fn a_change_of_one_event_is_news_of_its_folder() {
    let (folder, engine) = (begun(), engine());
    let paths = vec![write(&folder, 0), write(&folder, 1)];
    let options = CaptureOptions::live(Trigger::TurnBoundary);
    let looked = engine.look(&Look::At(paths), &[], &options, 1).expect("looked");
    assert_eq!((looked.captured.len(), looked.files), (1, 1));
    let everything = |engine: &Engine| {
        engine.look(&Look::Everything, &[folder.path().to_owned()], &options, 1).expect("looked").files
    };
    assert_eq!(everything(&engine), 0, "all of it is known");
    write(&folder, 2);
    assert_eq!(everything(&engine), 1);
}

#[test]
fn older_events_in_an_array_are_a_document() {
    let (folder, engine) = (Folder::new(), engine());
    let array = r#"[
  {"id":1,"timestamp":"2025-01-01T00:00:01","source":"user","message":"mend it","action":"message","args":{"content":"mend it"}},
  {"id":3,"timestamp":"2025-01-01T00:00:02","source":"agent","message":"","action":"run","args":{"command":"ls","thought":"I look."}},
  {"id":4,"timestamp":"2025-01-01T00:00:03","source":"agent","message":"","cause":3,"observation":"run","content":"note.txt"}
]
"#;
    folder.write("trajectory.json", array.as_bytes());
    let report = all(&engine, &folder);
    let captured = &report.sessions[0].captured;
    assert_eq!(captured.session.format.as_str(), "openhands-legacy-v1");
    assert_eq!(captured.session.messages, 3);
    assert_eq!(native(&engine, captured.session.tip.expect("a tip")), array.as_bytes());
}

#[test]
fn the_folder_of_a_conversation_is_its_transcript_too() {
    let (folder, engine) = (begun(), engine());
    folder.write(&format!("{CONVERSATION}/base_state.json"), b"{\"id\":\"0a1b2c3d\"}");
    (0..3).for_each(|number| drop(write(&folder, number)));
    let captured = import(&engine, &folder.path().join(CONVERSATION));
    assert!(captured.session.key.path.ends_with("/events"), "{}", captured.session.key.path);
    assert_eq!(all(&engine, &folder).sessions[0].captured.new_commits, 0, "it is the same session");
}
