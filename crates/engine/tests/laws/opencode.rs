//! opencode's sessions: out of its database, exported, placed for its import.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use stemmata_engine::{
    CaptureOptions, CapturePolicy, Engine, EngineError, ErrorKind, FileState, HomeHints, Later, Look,
    NUDGE_BYTES_MAX, Nudged, PlaceOptions, Stop,
};
use stemmata_model::{CommitId, Entry, FormatId, Trigger};

use crate::support::{Folder, bytes_of, chain, corpus, engine, import, native, placing};

const SESSION: &str = "ses_e1002233445566778899aabbcc";

const TABLES: &str = "
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);";

/// A database as the client keeps it, open as the client has it open.
struct Client {
    path: PathBuf,
    connection: Connection,
}

impl Client {
    fn new(folder: &Folder) -> Self {
        let path = folder.path().join("opencode.db");
        let connection = Connection::open(&path).expect("a database");
        connection.pragma_update(None, "journal_mode", "WAL").expect("a log");
        connection.pragma_update(None, "wal_autocheckpoint", 0).expect("nothing is merged");
        connection.execute_batch(TABLES).expect("tables");
        Self { path, connection }
    }

    fn begins(&self, session: &str) {
        let row = "INSERT INTO session VALUES (?1, 'global', NULL, 'loud-bell', '/tower', 'Bells', '1.18.33', 1000, 1000)";
        self.connection.execute(row, [session]).expect("a session");
    }

    fn says(&self, session: &str, number: i64, text: &str) {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let about = if role == "user" {
            r#""model":{"providerID":"p","modelID":"m"}"#.to_owned()
        } else {
            let parent = number - 1;
            let tokens = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
            format!(
                r#""parentID":"msg_{parent:026}","modelID":"m","providerID":"p","mode":"build","path":{{"cwd":"/tower","root":"/"}},"cost":0,"tokens":{tokens}"#
            )
        };
        let about = format!(r#"{{"role":"{role}","agent":"build",{about},"time":{{"created":{number}}}}}"#);
        let message = "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)";
        let id = format!("msg_{number:026}");
        self.connection.execute(message, (&id, session, number, about)).expect("a message");
        let part = "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
        let said = format!(r#"{{"type":"text","text":"{text}"}}"#);
        self.connection
            .execute(part, (format!("prt_{number:026}"), &id, session, number, said))
            .expect("a part");
    }

    fn session(&self) -> PathBuf {
        self.path.join(SESSION)
    }

    fn files(&self) -> Vec<Option<Vec<u8>>> {
        let named = |ending: &str| PathBuf::from(format!("{}{ending}", self.path.display()));
        ["", "-wal"].map(|ending| std::fs::read(named(ending)).ok()).to_vec()
    }
}

fn said(engine: &Engine, ctx: CommitId) -> Vec<String> {
    let entries: Vec<Entry> = engine.entries(ctx).expect("entries");
    let texts = entries.iter().flat_map(|entry| &entry.parts).filter_map(|part| match part {
        stemmata_model::Part::Text(text) => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn a_database_and_its_exports_give_the_same_entries() {
    let Some(corpus) = corpus("a_database_and_its_exports_give_the_same_entries") else { return };
    let folder = corpus.join("opencode/generated/opencode-1.18.33");
    let engine = engine();
    let report = engine
        .import(&[folder.join("opencode.db")], &CaptureOptions::import(), 2, &|_| {})
        .expect("imported");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert_eq!(report.sessions.len(), 2);
    for imported in report.sessions {
        let session = imported.captured.session;
        let export = std::fs::read(folder.join(format!("{}.json", session.session))).expect("its export");
        let adapter = stemmata_runtimes::registry::by_format(&session.format).expect("an adapter");
        let plain = |mut entry: Entry| {
            // Where bytes stand, and how what nobody reads is spelled, is each one's own.
            entry.native = stemmata_model::NativeSpan { offset: 0, length: 0 };
            entry.parts.retain(|part| !matches!(part, stemmata_model::Part::Opaque { .. }));
            for part in &mut entry.parts {
                if let stemmata_model::Part::ToolCall { arguments, .. } = part {
                    let value: serde_json::Value = serde_json::from_str(arguments).expect("JSON");
                    *arguments = value.to_string();
                }
            }
            let id = if entry.kind == stemmata_model::EntryKind::Metadata { None } else { Some(entry.id) };
            (id, entry.role, entry.kind, entry.parts, entry.meta, entry.timestamp)
        };
        let ours: Vec<_> =
            engine.entries(session.tip.expect("a tip")).expect("entries").into_iter().map(plain).collect();
        let theirs: Vec<_> = adapter.decode(&export).entries.into_iter().map(plain).collect();
        assert!(ours.len() >= 8, "{}", ours.len());
        assert_eq!(ours, theirs);
    }
    let again = engine
        .import(&[folder.join("opencode.db")], &CaptureOptions::import(), 2, &|_| {})
        .expect("imported");
    assert!(again.sessions.iter().all(|session| session.captured.new_commits == 0));
}

#[test]
fn a_database_in_use_is_read_with_what_is_not_merged_and_left_as_it_is() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    client.says(SESSION, 3, "The east bell does.");
    assert!(client.files()[1].as_ref().is_some_and(|log| !log.is_empty()), "nothing is merged");
    let before = client.files();
    let engine = engine();
    let captured = import(&engine, &client.session());
    let tip = captured.session.tip.expect("a tip");
    assert_eq!(said(&engine, tip), ["Which bells ring at noon?", "The east bell does."]);
    assert_eq!(captured.session.session.as_str(), SESSION);
    assert_eq!(captured.session.cwd.as_deref(), Some("/tower"));
    assert_eq!(client.files(), before);
    assert_eq!(import(&engine, &client.session()).new_commits, 0);
    client.says(SESSION, 4, "And the west one?");
    let grown = import(&engine, &client.session()).session.tip.expect("a tip");
    assert_eq!((said(&engine, grown).len(), chain(&engine, grown).len()), (3, 2));
}

#[test]
fn a_log_that_nobody_merged_is_read_from_a_copy() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Not merged.");
    // As a client leaves them that was killed, or a backup that took two files of three.
    let other = Folder::new();
    for (bytes, name) in client.files().into_iter().zip(["opencode.db", "opencode.db-wal"]) {
        other.write(name, &bytes.expect("a file"));
    }
    let engine = engine();
    let tip = import(&engine, &other.path().join("opencode.db").join(SESSION)).session.tip.expect("a tip");
    assert_eq!(said(&engine, tip), ["Not merged."]);
    let left: Vec<String> = std::fs::read_dir(other.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_database_of_another_form_is_refused_with_the_way_out() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.connection.execute_batch("ALTER TABLE part RENAME TO part_v2").expect("renamed");
    client.begins(SESSION);
    let read = engine().capture(&client.session(), &CaptureOptions::import());
    let Err(EngineError::UnknownSchema { reason, sessions, .. }) = &read else { panic!("{read:?}") };
    assert!(reason.contains("opencode export") && reason.contains("part"), "{reason}");
    assert_eq!(*sessions, Some(1));
    folder.write("opencode.db-journal", b"");
    let torn = Folder::new();
    let path = torn.write("opencode.db", b"SQLite format 3\0 and no more");
    let report = engine().import(&[path], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
    assert_eq!(report.failures.len(), 1);
}

/// Has the client take a placed file in, as its import does.
fn take_in(client: &Client, file: &Path) -> String {
    let bytes = std::fs::read(file).expect("the file");
    let session: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
    let id = session["info"]["id"].as_str().expect("an id").to_owned();
    client.begins(&id);
    for message in session["messages"].as_array().expect("messages") {
        let of = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
        let own = of(&message["info"]["id"]);
        let row = "INSERT INTO message VALUES (?1, ?2, 5, 5, ?3)";
        client.connection.execute(row, (&own, &id, message["info"].to_string())).expect("a message");
        for part in message["parts"].as_array().expect("parts") {
            let row = "INSERT INTO part VALUES (?1, ?2, ?3, 5, 5, ?4)";
            client.connection.execute(row, (of(&part["id"]), &own, &id, part.to_string())).expect("a part");
        }
    }
    id
}

#[test]
fn a_session_that_goes_on_in_opencode_is_one_history() {
    let folder = Folder::new();
    let engine = engine();
    let transcript = stemmata_testkit::claude::ClaudeSession::new(5).turns(2).build();
    let tip =
        import(&engine, &folder.write("talk.jsonl", &bytes_of(&transcript))).session.tip.expect("a tip");
    let home = folder.path().join("client");
    std::fs::create_dir_all(&home).expect("a folder");
    let options = PlaceOptions { runtime: Some("opencode".to_owned()), ..placing(&folder) };
    let placed = engine.place(tip, &options).expect("placed");
    let import_command = placed.import_command.clone().expect("an import");
    assert_eq!(import_command.last().map(PathBuf::from), Some(placed.path.clone()));
    assert_eq!(placed.resume_command.last().map(String::as_str), Some(placed.session.as_str()));

    let inside = Folder::new();
    let client = Client::new(&inside);
    let id = take_in(&client, &placed.path);
    assert_eq!(id, placed.session.as_str());
    client.says(&id, 100, "Go on.");
    drop(client.connection);
    std::fs::rename(&client.path, home.join("opencode.db")).expect("moved");
    let report =
        engine.import(&[home.join("opencode.db")], &CaptureOptions::import(), 1, &|_| {}).expect("imported");
    let [imported] = report.sessions.as_slice() else { panic!("{:?}", report.failures) };
    let grown = imported.captured.session.tip.expect("a tip");
    let ancestors: Vec<CommitId> = chain(&engine, grown).iter().map(|commit| commit.id).collect();
    assert!(
        ancestors.contains(&tip) && ancestors.contains(&placed.ctx),
        "one line from the first turn to the last"
    );
    assert!(said(&engine, grown).contains(&"Go on.".to_owned()));
    // And back, as an array for an API.
    let mut bytes = Vec::new();
    let format = FormatId::new("anthropic-messages-v1").expect("a name");
    engine.materialize(Some(grown), Some(&format), Stop::Compaction, &mut bytes).expect("materialized");
    let adapter = stemmata_runtimes::registry::by_format(&format).expect("an adapter");
    let mut validator = adapter.validator(None);
    validator.line(&bytes);
    let verdict = validator.finish();
    assert!(verdict.is_accepted(), "{:?}", verdict.findings);
    let fork = PlaceOptions { runtime: None, ..placing(&folder) };
    assert_ne!(engine.place(grown, &fork).expect("placed again").session, placed.session);
    assert!(!native(&engine, grown).is_empty());
}

#[test]
fn when_and_where_a_session_was_written_is_told_without_reading_it() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    // Whoever reads the session stumbles.
    client.connection.execute_batch("ALTER TABLE part RENAME COLUMN data TO data_v2").expect("renamed");
    let engine = engine();
    assert!(engine.is_silent(&client.session()), "it was written in 1970");
    let now = stemmata_engine::Clock::now(&crate::support::FixedClock).as_micros() / 1_000;
    client.connection.execute("UPDATE session SET time_updated = ?1", [now]).expect("written");
    assert!(!engine.is_silent(&client.session()));
    let excluded = vec!["/tower".to_owned()];
    let kept_out = engine.with_policy(CapturePolicy { excluded, ..CapturePolicy::default() });
    let found = kept_out.survey(std::slice::from_ref(&client.path)).expect("surveyed");
    assert_eq!(found.iter().map(|file| file.state).collect::<Vec<_>>(), [FileState::HeldBack]);
}

/// Found by a check: each look at a session that had gone on told all its prompts again, since the record of the session stands before
/// them and changes with each.
#[test]
fn a_session_that_goes_on_between_looks_tells_its_prompts_once() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    let engine = engine();
    for look in 0..4_u8 {
        let at = i64::from(look);
        client.says(SESSION, 2 * at, &format!("ring {look}"));
        client.says(SESSION, 2 * at + 1, &format!("rung {look}"));
        let change = "UPDATE session SET time_updated = ?1, title = ?2 WHERE id = ?3";
        client
            .connection
            .execute(change, (2_000 + at, format!("Bells {look}"), SESSION))
            .expect("a change of the session");
        let tip = import(&engine, &client.session()).session.tip.expect("a tip");
        let prompts = engine.numbered_prompts(tip).expect("prompts");
        assert_eq!(prompts.len(), usize::from(look) + 1, "look {look}");
        let texts = said(&engine, tip);
        let rings = texts.iter().filter(|text| text.starts_with("ring"));
        assert_eq!(rings.count(), usize::from(look) + 1);
    }
}

fn nudged(engine: &Engine, path: &Path) -> Nudged {
    engine.nudge(path, &CaptureOptions::live(Trigger::TurnBoundary)).expect("nudged")
}

#[test]
fn a_nudge_reads_a_session_that_is_known_and_small_and_leaves_others_to_an_import() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    let engine = engine();
    let path = client.session();
    assert!(matches!(nudged(&engine, &path), Nudged::Later(Later::FirstContact)));
    import(&engine, &path);
    client.says(SESSION, 3, "The east bell does.");
    let Nudged::Captured(captured) = nudged(&engine, &path) else { panic!("left to an import") };
    assert_eq!(captured.new_commits, 1);
    let Nudged::Captured(captured) = nudged(&engine, &path) else { panic!("left to an import") };
    assert_eq!(captured.new_commits, 0, "nothing is new");
    let long = "x".repeat(usize::try_from(NUDGE_BYTES_MAX).expect("a length"));
    client.says(SESSION, 4, &long);
    let later = nudged(&engine, &path);
    assert!(matches!(later, Nudged::Later(Later::TooMuch { bytes }) if bytes > NUDGE_BYTES_MAX), "{later:?}");
    import(&engine, &path);
    let Nudged::Captured(captured) = nudged(&engine, &path) else { panic!("it is as it was") };
    assert_eq!(captured.new_commits, 0);
}

#[test]
fn a_database_that_changed_is_looked_at_and_only_sessions_with_news_are_read() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    let other = "ses_e2002233445566778899aabbcc";
    for (session, number) in [(SESSION, 2), (other, 4)] {
        client.begins(session);
        client.says(session, number, "Which bells ring at noon?");
    }
    let engine = engine();
    let options = CaptureOptions::live(Trigger::TurnBoundary);
    let roots = [client.path.clone()];
    let look = |look: &Look| engine.look(look, &roots, &options, 1).expect("looked");
    let first = look(&Look::Everything);
    assert_eq!((first.captured.len(), first.files), (2, 2));
    let changed = Look::At(roots.to_vec());
    let none = look(&changed);
    assert_eq!((none.captured.len(), none.files), (0, 0), "nothing is read");
    client.says(other, 5, "The east bell does.");
    let one = look(&changed);
    assert_eq!(one.files, 1);
    let [captured] = one.captured.as_slice() else { panic!("{:?}", one.failures) };
    assert_eq!(captured.path, client.path.join(other));
    assert_eq!(look(&Look::Everything).files, 0);
}

#[test]
fn a_database_that_somebody_holds_is_told_and_nothing_of_it_is_lost() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    // A rollback journal, as of a client that changes its form, and a lock that keeps readers out.
    client.connection.pragma_update(None, "journal_mode", "DELETE").expect("no log");
    client.connection.execute_batch("BEGIN EXCLUSIVE").expect("held");
    client.connection.execute("UPDATE session SET title = 'Held'", []).expect("a page in the journal");
    let engine = engine();
    let options = CaptureOptions::live(Trigger::TurnBoundary);
    let roots = [client.path.clone()];
    for look in [Look::At(roots.to_vec()), Look::Everything] {
        let looked = engine.look(&look, &roots, &options, 1).expect("looked");
        assert!(looked.captured.is_empty());
        let [failure] = looked.failures.as_slice() else { panic!("{:?}", looked.failures) };
        assert_eq!(failure.error.kind(), ErrorKind::Locked);
        assert!(failure.error.to_string().contains("nothing of it is lost"), "{}", failure.error);
    }
    client.connection.execute_batch("COMMIT").expect("let go");
    let looked = engine.look(&Look::Everything, &roots, &options, 1).expect("looked");
    assert_eq!(looked.captured.len(), 1, "{:?}", looked.failures);
}

/// Writes a session as the client did before it had a database.
fn store_records(folder: &Folder, session: &str, texts: &[&str]) -> PathBuf {
    let about = format!(
        "{{\n  \"id\": \"{session}\",\n  \"version\": \"0.15.2\",\n  \"projectID\": \"global\",\n  \"directory\": \"/tower\",\n  \
         \"title\": \"Bells\",\n  \"time\": {{ \"created\": 1000, \"updated\": 1000 }}\n}}"
    );
    let write = |name: &str, record: &str| {
        let below = folder.path().join(name);
        std::fs::create_dir_all(below.parent().expect("a folder")).expect("a folder");
        folder.write(name, record.as_bytes())
    };
    let path = write(&format!("storage/session/global/{session}.json"), &about);
    for (number, text) in texts.iter().enumerate() {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        let id = format!("msg_{number:026}");
        let message = format!(
            r#"{{ "id": "{id}", "sessionID": "{session}", "role": "{role}", "parentID": "", "modelID": "m", "providerID": "p", "time": {{ "created": {number} }} }}"#
        );
        write(&format!("storage/message/{session}/{id}.json"), &message);
        let part = format!(
            r#"{{ "id": "prt_{number:026}", "messageID": "{id}", "sessionID": "{session}", "type": "text", "text": "{text}" }}"#
        );
        write(&format!("storage/part/{id}/prt_{number:026}.json"), &part);
    }
    path
}

#[test]
fn folders_of_records_are_a_session_that_grows() {
    let folder = Folder::new();
    let path = store_records(&folder, SESSION, &["Which bells ring at noon?", "The east bell does."]);
    let engine = engine();
    let storage = [folder.path().join("storage")];
    let all = || engine.import(&storage, &CaptureOptions::import(), 2, &|_| {}).expect("imported");
    let report = all();
    let [imported] = report.sessions.as_slice() else { panic!("{report:?}") };
    assert!(report.failures.is_empty() && report.skipped.is_empty(), "{report:?}");
    let session = &imported.captured.session;
    assert_eq!((session.session.as_str(), session.cwd.as_deref()), (SESSION, Some("/tower")));
    assert_eq!(session.format.as_str(), "opencode-v1");
    let tip = session.tip.expect("a tip");
    assert_eq!(said(&engine, tip), ["Which bells ring at noon?", "The east bell does."]);
    assert_eq!(all().sessions[0].captured.new_commits, 0);
    store_records(
        &folder,
        SESSION,
        &["Which bells ring at noon?", "The east bell does.", "And the west one?"],
    );
    let grown = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!((said(&engine, grown).len(), chain(&engine, grown).len()), (3, 2));
    // A record that is cut is carried, and takes nothing else with it.
    folder.write(&format!("storage/part/msg_{:026}/prt_{:026}.json", 1, 1), b"{ \"id\": \"prt_");
    let cut = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!(said(&engine, cut), ["Which bells ring at noon?", "And the west one?"]);
}

#[test]
fn records_that_are_written_within_one_tick_of_the_clock_are_seen() {
    let folder = Folder::new();
    let path = store_records(&folder, SESSION, &["Which bells ring at noon?", "The east bell does."]);
    let name = format!("storage/part/msg_{:026}/prt_{:026}.json", 1, 1);
    let part = folder.path().join(&name);
    let tick = std::fs::metadata(&path).and_then(|metadata| metadata.modified()).expect("a time");
    let written = |bytes: &[u8]| {
        folder.write(&name, bytes);
        std::fs::File::options().write(true).open(&part).expect("open").set_modified(tick).expect("a time");
    };
    let whole = std::fs::read(&part).expect("a record");
    written(&whole);
    let engine = engine();
    let tip = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!(said(&engine, tip).len(), 2);
    written(&whole[..9]);
    let cut = import(&engine, &path).session.tip.expect("a tip");
    assert_eq!(said(&engine, cut), ["Which bells ring at noon?"]);
}

#[test]
fn a_session_in_folders_is_looked_at_by_what_a_turn_writes() {
    let folder = Folder::new();
    let path = store_records(&folder, SESSION, &["Which bells ring at noon?", "The east bell does.", "Why?"]);
    let engine = engine();
    let storage = [folder.path().join("storage")];
    let later = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(24 * 365 * 100);
    let state = || engine.survey(&storage).expect("surveyed").first().map(|file| file.state);
    let touch = |name: &str, bytes: &str| {
        let path = folder.write(name, bytes.as_bytes());
        std::fs::File::options().write(true).open(path).expect("open").set_modified(later).expect("a time");
    };
    assert_eq!(state(), Some(FileState::New));
    let read = || import(&engine, &path);
    read();
    assert_eq!(state(), Some(FileState::Unchanged));
    // The last message and its parts, the session's own file, and a message more or less.
    let part = format!("storage/part/msg_{:026}/prt_{:026}.json", 2, 2);
    touch(&part, r#"{ "type": "text", "text": "Why so?" }"#);
    assert_eq!(state(), Some(FileState::Changed));
    read();
    assert_eq!(state(), Some(FileState::Unchanged));
    std::fs::remove_file(folder.path().join(&part)).expect("gone");
    std::fs::remove_file(folder.path().join(format!("storage/message/{SESSION}/msg_{:026}.json", 2)))
        .expect("gone");
    let messages =
        std::fs::File::open(folder.path().join(format!("storage/message/{SESSION}"))).expect("a folder");
    messages.set_modified(later + std::time::Duration::from_secs(9)).expect("a time");
    assert_eq!(state(), Some(FileState::Changed));
    read();
    assert_eq!(state(), Some(FileState::Unchanged));
}

#[test]
fn records_that_the_client_took_into_its_database_are_not_read_twice() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    let other = "ses_e2002233445566778899aabbcc";
    store_records(&folder, SESSION, &["Which bells ring at noon?"]);
    let left = store_records(&folder, other, &["It was never taken over."]);
    let report = engine()
        .import(&[folder.path().to_owned()], &CaptureOptions::import(), 1, &|_| {})
        .expect("imported");
    let paths: Vec<&PathBuf> = report.sessions.iter().map(|session| &session.path).collect();
    assert_eq!(paths, [&client.session(), &left]);
}

#[test]
fn what_a_directory_was_worked_in_is_found_in_the_database() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    let homes = HomeHints { home: None, overrides: vec![("opencode", folder.path().to_owned())] };
    let engine = engine();
    let elsewhere = engine.catch_up(&homes.existing(), Path::new("/towers")).expect("caught up");
    assert!(elsewhere.is_empty() && engine.latest_session(None).is_err());
    assert!(engine.catch_up(&homes.existing(), Path::new("/tower")).expect("caught up").is_empty());
    assert_eq!(engine.latest_session(Some("/tower")).expect("a session").session.as_str(), SESSION);
}

/// A session of two exchanges and a compaction that keeps the second of them.
fn compacted() -> String {
    let user = |number: u32, part: &str| {
        format!(
            r#"{{"info":{{"id":"msg_{number}","sessionID":"{SESSION}","role":"user","agent":"build","model":{{"providerID":"p","modelID":"m"}},"time":{{"created":{number}}}}},"parts":[{{"id":"prt_{number}","sessionID":"{SESSION}","messageID":"msg_{number}",{part}}}]}}"#
        )
    };
    let answer = |number: u32, more: &str, text: &str| {
        format!(
            r#"{{"info":{{"id":"msg_{number}","sessionID":"{SESSION}","role":"assistant","parentID":"msg_{}","agent":"build","mode":"build","modelID":"m","providerID":"p","path":{{"cwd":"/tower","root":"/"}},"cost":0,"tokens":{{"input":0,"output":0,"reasoning":0,"cache":{{"read":0,"write":0}}}},"finish":"stop","time":{{"created":{number}}}{more}}},"parts":[{{"id":"prt_{number}","sessionID":"{SESSION}","messageID":"msg_{number}","type":"text","text":"{text}"}}]}}"#,
            number - 1
        )
    };
    let messages = [
        user(1, r#""type":"text","text":"the first prompt""#),
        answer(2, "", "the first answer"),
        user(3, r#""type":"text","text":"the second prompt""#),
        answer(4, "", "the second answer"),
        user(5, r#""type":"compaction","auto":true,"tail_start_id":"msg_3""#),
        answer(6, r#","summary":true"#, "what came first"),
        user(7, r#""type":"text","text":"the last prompt""#),
    ];
    format!(
        r#"{{"info":{{"id":"{SESSION}","slug":"s","projectID":"global","directory":"/tower","title":"Bells","version":"1.18.33","time":{{"created":1,"updated":9}}}},"messages":[{}]}}"#,
        messages.join(",")
    )
}

#[test]
fn a_compacted_session_is_told_from_the_root_or_as_the_client_sends_it() {
    let folder = Folder::new();
    let engine = engine();
    let tip = import(&engine, &folder.write("talk.json", compacted().as_bytes())).session.tip.expect("a tip");
    let all = [
        "the first prompt",
        "the first answer",
        "what came first",
        "the second prompt",
        "the second answer",
        "the last prompt",
    ];
    let found = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut found: Vec<(usize, &str)> =
            all.iter().filter_map(|said| Some((text.find(said)?, *said))).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, said)| said).collect::<Vec<_>>()
    };
    let format = FormatId::new("anthropic-messages-v1").expect("a name");
    for (stop, expected, skipped) in
        [(Stop::Root, [&all[..2], &all[3..]].concat(), 1), (Stop::Compaction, all[2..].to_vec(), 0)]
    {
        let mut text = Vec::new();
        let projection = stemmata_model::ExportForm::Markdown;
        engine.export(tip, (projection, stop, None), &mut text).expect("exported");
        assert_eq!(found(&text), expected, "{stop:?}");
        let mut bytes = Vec::new();
        let made = engine.materialize(Some(tip), Some(&format), stop, &mut bytes).expect("materialized");
        assert_eq!((found(&bytes), made.skipped_compactions), (expected, skipped), "{stop:?}");
    }
}

/// What versions 2.x add to a database.
const TABLES_2: &str = "
    CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text, version text NOT NULL, cost real DEFAULT 0 NOT NULL,
        tokens_input integer DEFAULT 0 NOT NULL, tokens_output integer DEFAULT 0 NOT NULL,
        tokens_reasoning integer DEFAULT 0 NOT NULL, tokens_cache_read integer DEFAULT 0 NOT NULL,
        tokens_cache_write integer DEFAULT 0 NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
    CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);";

impl Client {
    /// A database as versions 2.x make it, without what is of 1.x.
    fn second(folder: &Folder) -> Self {
        let client = Self::new(folder);
        client
            .connection
            .execute_batch("DROP TABLE session; DROP TABLE message; DROP TABLE part")
            .expect("dropped");
        client.connection.execute_batch(TABLES_2).expect("tables");
        client
    }

    /// Takes a session over as the upgrade does; the rows of before stay as they are.
    fn upgrades(&self, session: &str) {
        let row = "INSERT INTO session_v2 (id, project_id, slug, directory, title, version, time_created, time_updated) \
                   VALUES (?1, 'global', 'loud-bell', '/tower', 'Bells', '2.0.12', 1000, 1000)";
        self.connection.execute(row, [session]).expect("a session");
    }

    fn tells(&self, session: &str, number: i64, text: &str) {
        let (kind, said) = if number % 2 == 0 {
            ("user", format!(r#""text":"{text}""#))
        } else {
            let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
            (
                "assistant",
                format!(r#""agent":"build","model":{{"providerID":"p","id":"m"}},"content":{content}"#),
            )
        };
        let data = format!(r#"{{{said},"time":{{"created":{number},"completed":{number}}}}}"#);
        let row = "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?5)";
        let id = format!("msg_{number:026}{session}");
        self.connection.execute(row, (id, session, kind, number, data)).expect("a message");
    }
}

fn all_of(engine: &Engine, path: &Path) -> stemmata_engine::ImportReport {
    engine.import(&[path.to_owned()], &CaptureOptions::import(), 1, &|_| {}).expect("imported")
}

/// Returns what was said in each session of an import, in the order of their ids.
fn heard(engine: &Engine, report: &stemmata_engine::ImportReport) -> Vec<Vec<String>> {
    report.sessions.iter().map(|one| said(engine, one.captured.session.tip.expect("a tip"))).collect()
}

const OTHER: &str = "ses_e2002233445566778899aabbcc";

#[test]
fn an_upgraded_database_is_read_as_it_is_now_and_each_session_once() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 2, "Which bells ring at noon?");
    let engine = engine();
    let before = import(&engine, &client.session()).session.tip.expect("a tip");
    client.connection.execute_batch(TABLES_2).expect("tables");
    client.upgrades(SESSION);
    client.tells(SESSION, 2, "Which bells ring at noon?");
    client.tells(SESSION, 3, "The east bell does.");
    client.upgrades(OTHER);
    client.tells(OTHER, 4, "Who rings it?");
    // The older client made one that nobody took over.
    let left = "ses_e3002233445566778899aabbcc";
    client.begins(left);
    client.says(left, 6, "It stayed behind.");
    let report = all_of(&engine, &client.path);
    assert!(report.failures.is_empty() && report.skipped.is_empty(), "{report:?}");
    assert_eq!(
        heard(&engine, &report),
        [
            vec!["Which bells ring at noon?".to_owned(), "The east bell does.".to_owned()],
            vec!["Who rings it?".to_owned()],
            vec!["It stayed behind.".to_owned()],
        ]
    );
    let first = &report.sessions[0].captured.session;
    assert_eq!((first.version.as_deref(), first.cwd.as_deref()), (Some("2.0.12"), Some("/tower")));
    let ancestors = chain(&engine, first.tip.expect("a tip"));
    assert!(ancestors.iter().any(|commit| commit.id == before), "one line through the upgrade");
    assert!(all_of(&engine, &client.path).sessions.iter().all(|one| one.captured.new_commits == 0));
    // Who goes back to the older client goes on there.
    let later = stemmata_engine::Clock::now(&crate::support::FixedClock).as_micros() / 1_000;
    client.says(SESSION, 8, "Back in the old client.");
    client
        .connection
        .execute("UPDATE session SET time_updated = ?1 WHERE id = ?2", (later, SESSION))
        .expect("written");
    let report = all_of(&engine, &client.path);
    assert_eq!(heard(&engine, &report)[0], ["Which bells ring at noon?", "Back in the old client."]);
}

#[test]
fn a_database_of_2_without_older_tables_and_a_beta_s_are_read() {
    let folder = Folder::new();
    let client = Client::second(&folder);
    client.upgrades(SESSION);
    client.tells(SESSION, 2, "Which bells ring at noon?");
    client.tells(SESSION, 3, "The east bell does.");
    let engine = engine();
    let wanted = [["Which bells ring at noon?".to_owned(), "The east bell does.".to_owned()].to_vec()];
    assert_eq!(heard(&engine, &all_of(&engine, &client.path)), wanted);
    client.tells(SESSION, 4, "And the west one?");
    let grown = import(&engine, &client.session()).session.tip.expect("a tip");
    assert_eq!((said(&engine, grown).len(), chain(&engine, grown).len()), (3, 2));
    // The betas called the table `session`, and had fewer columns or more.
    let beta = Folder::new();
    let client = Client::second(&beta);
    let shape = "ALTER TABLE session_v2 RENAME TO session; ALTER TABLE session DROP COLUMN time_updated; \
                 ALTER TABLE session DROP COLUMN tokens_cache_write; ALTER TABLE session ADD COLUMN mood text; \
                 ALTER TABLE session_message DROP COLUMN seq; ALTER TABLE session_message DROP COLUMN time_updated";
    client.connection.execute_batch(shape).expect("a beta");
    let row = "INSERT INTO session (id, project_id, slug, directory, version, time_created) VALUES (?1, 'p', 's', '/tower', '0', 1)";
    client.connection.execute(row, [SESSION]).expect("a session");
    let row = "INSERT INTO session_message VALUES (?1, ?2, 'user', 5, '{\"text\":\"A beta says so.\",\"time\":{\"created\":5}}')";
    client.connection.execute(row, ("msg_1", SESSION)).expect("a message");
    let report = all_of(&engine, &client.path);
    assert!(report.failures.is_empty(), "{report:?}");
    assert_eq!(heard(&engine, &report), [["A beta says so."]]);
}

#[test]
fn a_session_that_was_taken_over_without_its_content_is_read_out_of_the_older_folder() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    let engine = engine();
    // Read while it was empty.
    all_of(&engine, &client.path);
    store_records(&folder, SESSION, &["Which bells ring at noon?", "The east bell does."]);
    let wanted = [["Which bells ring at noon?", "The east bell does."]];
    let report = all_of(&engine, folder.path());
    assert_eq!(heard(&engine, &report), wanted);
    assert_eq!(report.sessions[0].path, client.session(), "it is one session, the database's");
    assert_eq!(all_of(&engine, folder.path()).sessions[0].captured.new_commits, 0);
    // Messages without a single part say nothing either.
    client
        .connection
        .execute("INSERT INTO message VALUES ('msg_1', ?1, 5, 5, '{}')", [SESSION])
        .expect("a message");
    assert_eq!(heard(&engine, &all_of(&engine, folder.path())), wanted);
    client.says(SESSION, 12, "Taken over.");
    let joined = [["Which bells ring at noon?", "The east bell does.", "Taken over."]];
    assert_eq!(heard(&engine, &all_of(&engine, folder.path())), joined);
}

fn notes_of(report: &stemmata_engine::ImportReport) -> Vec<String> {
    report.sessions.iter().flat_map(|one| &one.captured.notes).map(|note| note.message.clone()).collect()
}

#[test]
fn a_session_that_was_taken_over_in_part_is_joined_with_the_rest_and_says_so() {
    let texts = ["Who cast the bell?", "The monks did.", "When?", "In 1204."];
    let rows = "DELETE FROM message WHERE id <> 'msg_00000000000000000000000002'; DELETE FROM part WHERE message_id <> 'msg_00000000000000000000000002'";
    let parts = "DELETE FROM part WHERE message_id > 'msg_00000000000000000000000002'";
    for (what, change, joined) in
        [("one message of four", rows, 3), ("all messages, not all parts", parts, 1)]
    {
        let folder = Folder::new();
        let client = Client::new(&folder);
        client.begins(SESSION);
        for (number, text) in (0..).zip(texts) {
            client.says(SESSION, number, text);
        }
        client.connection.execute_batch(change).expect(what);
        let engine = engine();
        let alone = import(&engine, &client.session());
        store_records(&folder, SESSION, &texts);
        // The database's spelling wins.
        let newer = "UPDATE part SET data = '{\"type\":\"text\",\"text\":\"WHEN?\"}' WHERE id = 'prt_00000000000000000000000002'";
        client.connection.execute_batch(newer).expect(what);
        let report = all_of(&engine, folder.path());
        assert_eq!(
            heard(&engine, &report),
            [["Who cast the bell?", "The monks did.", "WHEN?", "In 1204."]],
            "{what}"
        );
        assert_eq!(report.sessions[0].path, client.session(), "{what}");
        assert!(alone.bytes_in < report.sessions[0].captured.bytes_in, "{what}");
        let said = notes_of(&report);
        assert!(
            matches!(said.as_slice(), [one] if one.starts_with(&format!("{joined} message"))),
            "{what}: {said:?}"
        );
        let again = all_of(&engine, folder.path());
        assert_eq!((again.sessions[0].captured.new_commits, notes_of(&again).len()), (0, 0), "{what}");
        client.says(SESSION, 9, "Who says so?");
        assert_eq!(
            heard(&engine, &all_of(&engine, folder.path()))[0].last().map(String::as_str),
            Some("Who says so?")
        );
    }
    // What 2.x took over cannot be joined with the form of 1.x.
    let folder = Folder::new();
    let client = Client::second(&folder);
    client.upgrades(SESSION);
    client.tells(SESSION, 0, "Who cast the bell?");
    let as_before = "UPDATE session_message SET id = 'msg_00000000000000000000000000'";
    client.connection.execute_batch(as_before).expect("an id");
    store_records(&folder, SESSION, &texts);
    let engine = engine();
    let report = all_of(&engine, folder.path());
    assert_eq!(heard(&engine, &report), [["Who cast the bell?"]]);
    let said = notes_of(&report);
    assert!(
        matches!(said.as_slice(), [one] if one.starts_with("3 messages only in the older folder")),
        "{said:?}"
    );
}

#[test]
fn what_a_user_took_back_does_not_come_back_out_of_the_older_folder() {
    let texts = ["Who cast the bell?", "The monks did.", "When?", "In 1204."];
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    for (number, text) in (0..).zip(texts) {
        client.says(SESSION, number, text);
    }
    store_records(&folder, SESSION, &texts);
    let engine = engine();
    assert_eq!(heard(&engine, &all_of(&engine, folder.path())), [texts]);
    // The next prompt removes what the user took back.
    let gone = "DELETE FROM message WHERE id > 'msg_00000000000000000000000001'; \
                DELETE FROM part WHERE message_id > 'msg_00000000000000000000000001'";
    client.connection.execute_batch(gone).expect("taken back");
    client.says(SESSION, 7, "Where?");
    let report = all_of(&engine, folder.path());
    assert_eq!(heard(&engine, &report), [["Who cast the bell?", "The monks did.", "Where?"]]);
    let said = notes_of(&report);
    assert!(said.iter().any(|note| note.starts_with("the last 2 messages in the older folder")), "{said:?}");
    assert!(!Engine::doctor(&client.session(), &|_| None).expect("judged").loses());
}

#[test]
fn a_row_without_a_readable_id_costs_no_session() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 0, "Who cast the bell?");
    store_records(&folder, SESSION, &["Who cast the bell?"]);
    let id = "UPDATE message SET id = CAST(x'ff' AS BLOB)";
    client.connection.execute_batch(id).expect("damaged");
    let report = all_of(&engine(), folder.path());
    assert!(report.failures.is_empty(), "{report:?}");
}

#[test]
fn what_lies_in_the_older_folder_alone_is_nothing_that_the_client_sends() {
    let texts = ["Who cast the bell?", "The monks did.", "When?", "In 1204."];
    let judge = |path: &Path| {
        let found = Engine::doctor(path, &|_| None).expect("judged");
        let checks: Vec<&str> = found.validation.findings.iter().map(|finding| finding.check).collect();
        let checks = checks.into_iter().filter(|check| *check == "half_migrated").count();
        (found.validation.messages_sent, found.validation.messages_present, checks, found.loses())
    };
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    client.says(SESSION, 0, texts[0]);
    client.says(SESSION, 1, texts[1]);
    assert_eq!(judge(&client.session()), (2, 2, 0, false));
    store_records(&folder, SESSION, &texts);
    assert_eq!(judge(&client.session()), (2, 4, 1, true));
    let mended = Engine::mend(&client.session(), &|_| None).expect("mended");
    let joined = mended.changes.iter().filter(|change| change.kind == "joined").count();
    assert_eq!((joined, mended.validation.messages_sent), (1, 4), "{:?}", mended.changes);
    // Nothing of it is in the database; and it is not there at all.
    client.connection.execute_batch("DELETE FROM message; DELETE FROM part").expect("gone");
    let (sent, _, checks, loses) = judge(&client.session());
    assert_eq!((sent, checks, loses), (0, 1, true));
    let other = store_records(&folder, "ses_e2002233445566778899aabbcc", &texts[..2]);
    let (sent, _, checks, loses) = judge(&other);
    assert_eq!((sent, checks, loses), (0, 1, true));
}

#[test]
fn a_reading_without_a_message_takes_the_place_of_none_that_has_some() {
    let texts = ["Who cast the bell?", "The monks did."];
    let gone = |what: &str, change: &dyn Fn(&Folder, &Client)| {
        let folder = Folder::new();
        let client = Client::new(&folder);
        client.begins(SESSION);
        if what == "the older folder" {
            store_records(&folder, SESSION, &texts);
        } else {
            client.says(SESSION, 0, texts[0]);
            client.says(SESSION, 1, texts[1]);
        }
        let engine = engine();
        let before = import(&engine, &client.session());
        assert_eq!(said(&engine, before.session.tip.expect("a tip")), texts, "{what}");
        change(&folder, &client);
        let after = import(&engine, &client.session());
        assert_eq!((after.session.tip, after.new_commits), (before.session.tip, 0), "{what}");
        let notes: Vec<&str> = after.notes.iter().map(|note| note.message.as_str()).collect();
        assert!(
            notes.iter().any(|note| note.contains("the 2 messages that were read before stay")),
            "{what}: {notes:?}"
        );
        let again = import(&engine, &client.session());
        assert_eq!((again.session.tip, again.notes.len()), (before.session.tip, 0), "{what}: said once");
        // What is said there later is read, behind what was there.
        client.says(SESSION, 12, "And then?");
        let on = import(&engine, &client.session()).session.tip.expect("a tip");
        assert!(said(&engine, on).iter().any(|text| text == "And then?"), "{what}");
        assert_eq!(chain(&engine, on).len(), 2, "{what}");
    };
    gone("the older folder", &|folder, _| {
        std::fs::remove_dir_all(folder.path().join("storage")).expect("gone");
    });
    gone("rows", &|_, client| {
        let change = "DELETE FROM message; DELETE FROM part; UPDATE session SET time_updated = 9000";
        client.connection.execute_batch(change).expect("gone");
    });
}

#[test]
fn rows_that_are_damaged_are_counted_and_named_and_cost_nothing_else() {
    let folder = Folder::new();
    let client = Client::new(&folder);
    client.begins(SESSION);
    for (number, text) in (0..).zip(["Who cast the bell?", "The monks did.", "When?", "In 1204."]) {
        client.says(SESSION, number, text);
    }
    client.connection.execute_batch(TABLES_2).expect("tables");
    client.upgrades(OTHER);
    for (number, text) in (10..).zip(["Who rings it?", "The sexton.", "Since when?"]) {
        client.tells(OTHER, number, text);
    }
    let damage = "
        UPDATE message SET data = '{\"role\":\"us' WHERE id = 'msg_00000000000000000000000002';
        UPDATE part SET data = X'7b22ff' WHERE id = 'prt_00000000000000000000000003';
        UPDATE session_message SET data = '{\"text\":\"Since' WHERE seq = 12;
        UPDATE session_v2 SET directory = ''";
    client.connection.execute_batch(damage).expect("damage");
    let engine = engine();
    let report = all_of(&engine, &client.path);
    assert!(report.failures.is_empty(), "{report:?}");
    assert_eq!(
        heard(&engine, &report),
        [["Who cast the bell?", "The monks did."], ["Who rings it?", "The sexton."]]
    );
    let unread: Vec<_> = report.sessions.iter().map(|one| one.captured.unread.clone()).collect();
    assert_eq!(
        unread.iter().map(|one| (one.unreadable, one.unknown.len())).collect::<Vec<_>>(),
        [(2, 0), (1, 0)]
    );
    let said = notes_of(&report).join("\n");
    for wanted in [
        "`msg_00000000000000000000000002`",
        "`msg_00000000000000000000000003`",
        "`msg_00000000000000000000000012ses_e2",
        "names no directory",
    ] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
}

#[test]
fn sessions_of_a_version_that_is_not_known_are_counted_and_said() {
    let newer = "CREATE TABLE session_v3 (id text PRIMARY KEY, body text); \
                 INSERT INTO session_v3 VALUES ('ses_a', ''), ('ses_b', ''), ('not-one', '')";
    let cases: [(&str, &str, Option<u64>, usize); 5] = [
        ("a newer table of sessions", newer, Some(2), 1),
        ("messages elsewhere", "ALTER TABLE session_message RENAME TO session_message_v9", Some(1), 0),
        ("messages of another form", "ALTER TABLE session_message RENAME COLUMN data TO body", Some(1), 0),
        (
            "no table that is known",
            "ALTER TABLE session_v2 RENAME TO talk; DROP TABLE session_message",
            None,
            0,
        ),
        ("nothing else", "CREATE TABLE session_share (id text PRIMARY KEY)", None, 1),
    ];
    for (what, change, wanted, readable) in cases {
        let folder = Folder::new();
        let client = Client::second(&folder);
        client.upgrades(SESSION);
        client.tells(SESSION, 2, "Which bells ring at noon?");
        client.connection.execute_batch(change).expect(what);
        let engine = engine();
        let report = all_of(&engine, &client.path);
        assert_eq!(report.sessions.len(), readable, "{what}: {report:?}");
        let counted: Vec<Option<u64>> = report
            .failures
            .iter()
            .map(|failure| match &failure.error {
                EngineError::UnknownSchema { sessions, .. } => *sessions,
                other => panic!("{what}: {other:?}"),
            })
            .collect();
        let expected = if what == "nothing else" { Vec::new() } else { vec![wanted] };
        assert_eq!(counted, expected, "{what}");
        let failures = engine.survey_all(std::slice::from_ref(&client.path)).expect("surveyed").failures;
        assert_eq!(failures.len(), expected.len(), "{what}");
        if readable == 0 {
            let read = engine.capture(&client.session(), &CaptureOptions::import());
            assert!(matches!(read, Err(EngineError::UnknownSchema { .. })), "{what}: {read:?}");
        }
    }
}

#[test]
fn another_channel_s_database_is_read_but_for_what_the_releases_one_took_over() {
    let folder = Folder::new();
    let client = Client::second(&folder);
    for (session, number) in [(SESSION, 2), (OTHER, 4)] {
        client.upgrades(session);
        client.tells(session, number, "From the beta.");
    }
    drop(client.connection);
    std::fs::rename(&client.path, folder.path().join("opencode-next.db")).expect("renamed");
    for ending in ["-wal", "-shm"] {
        let at = |name: &str| folder.path().join(format!("{name}{ending}"));
        let _gone = std::fs::rename(at("opencode.db"), at("opencode-next.db"));
    }
    let client = Client::second(&folder);
    client.upgrades(SESSION);
    client.tells(SESSION, 2, "Taken over.");
    let homes = HomeHints { home: None, overrides: vec![("opencode", folder.path().to_owned())] };
    let paths: Vec<PathBuf> = homes.existing().into_iter().map(|home| home.transcripts).collect();
    assert_eq!(paths.len(), 2, "{paths:?}");
    let engine = engine();
    let report = engine.import(&paths, &CaptureOptions::import(), 1, &|_| {}).expect("imported");
    let mut heard = heard(&engine, &report);
    heard.sort();
    assert_eq!(heard, [["From the beta."], ["Taken over."]]);
}

#[test]
fn a_session_goes_on_in_2_in_the_form_that_its_import_takes() {
    let folder = Folder::new();
    let engine = engine();
    let transcript = stemmata_testkit::claude::ClaudeSession::new(5).turns(2).build();
    let tip =
        import(&engine, &folder.write("talk.jsonl", &bytes_of(&transcript))).session.tip.expect("a tip");
    let home = folder.path().join("client");
    std::fs::create_dir_all(&home).expect("a folder");
    let options = PlaceOptions { runtime: Some("opencode".to_owned()), ..placing(&folder) };
    let older = engine.place(tip, &options).expect("placed");
    assert_eq!(older.import_command.expect("an import")[..2], ["opencode", "import"]);
    let inside = Folder::new();
    let client = Client::second(&inside);
    drop(client.connection);
    std::fs::rename(&client.path, home.join("opencode.db")).expect("moved");
    let placed = engine.place(tip, &options).expect("placed");
    assert_eq!(placed.import_command.expect("an import")[..3], ["opencode", "session", "import"]);
    let text = std::fs::read_to_string(&placed.path).expect("the file");
    assert!(text.contains(r#""type":"user""#) && !text.contains(r#""parts""#), "{text}");
    assert!(placed.notes.iter().any(|note| note.message.contains("2.x")), "{:?}", placed.notes);
}
