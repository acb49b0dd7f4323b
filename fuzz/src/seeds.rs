//! The first inputs of a target: a made-up conversation in its own format, and torn.
//! Not a corpus: what fuzzing finds on its own is kept below the build folder.

use std::path::Path;

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, EventSeq, ImageSource, Json, LedgerId, NativeSpan, NewEvent,
    NewPayload, Part, Party, Role, SessionId, Timestamp, Topic,
};
use stemmata_runtimes::adapter::Keeps;
use stemmata_store::{Append, Durability, EventLog, FileLog, FileLogOptions, IntegrityMode, SavedState};

use super::Target;

/// Writes the first inputs of a target into a folder. An input that is there is the same.
///
/// # Panics
/// When the folder cannot be written.
pub(crate) fn write(target: &Target, folder: &Path) {
    let seeds = match target {
        Target::Adapter(adapter) => {
            let whole = adapter.encode(&conversation());
            let compacted = [
                whole.clone(),
                adapter.encode_compaction("so far", &Keeps::nothing(&adapter.decode(&whole)), Timestamp::EPOCH),
            ]
            .concat();
            let torn = whole.get(..whole.len() * 2 / 3).unwrap_or_default().to_vec();
            vec![whole, compacted, torn]
        }
        Target::Scrub(_) => [
            r#"{"text":"token = ghp_","n":[1.5,null,"-----BEGIN RSA PRIVATE KEY-----\nabc\n"]}"#,
            r#"{"signature":"c2ln","a":"\ud83d\ude00\u00e9 https://user:word@host/?key=value"}"#,
            "export API_KEY='not json'",
        ]
        .map(|seed| seed.as_bytes().to_vec())
        .to_vec(),
        Target::Ledger => ledger(),
        Target::Acts => [
            "Bash\n{\"command\":\"cd a && sed -i s/x/y/ b.rs > log; rm -r c || bash -lc 'mv d e'\"}\nExit code 1\nerror: no",
            "apply_patch\n*** Begin Patch\\n*** Update File: a\\n@@\\n-x\\n+y\\n*** End Patch\nDone",
            "exec\n{\"input\":\"const r = await tools.exec_command({cmd:'ls'}); text(r)\"}\nScript completed",
            "TodoWrite\n{\"todos\":[{\"content\":\"a\",\"status\":\"pending\"}]}\n",
        ]
        .map(|seed| seed.as_bytes().to_vec())
        .to_vec(),
        Target::Tokens => ["\u{1}It's 1234 ﬁx_ups, isn't it?\r\n\n  日本", "\u{ff}a", "\u{7f}aA'LL \u{301}==/", "\u{1}GIF89a\u{80}\u{2}"]
            .map(|seed| seed.as_bytes().to_vec())
            .to_vec(),
    };
    for (number, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed).expect("the folder can be written");
    }
}

/// The files of a small ledger, for each way to protect lines.
fn ledger() -> Vec<Vec<u8>> {
    let home = std::env::temp_dir().join(format!("stemmata-fuzz-{}", std::process::id()));
    let mut seeds = Vec::new();
    for integrity in [IntegrityMode::None, IntegrityMode::Checksum, IntegrityMode::Chain] {
        std::fs::create_dir_all(&home).expect("a folder");
        let log =
            FileLog::open(&home, FileLogOptions { integrity, ..FileLogOptions::default() }).expect("a log");
        let id = LedgerId::new("p").expect("a name");
        let said = |text: &str| {
            let payload = NewPayload::Plain {
                text: Some(text.to_owned()),
                data: Some(Json::parse("{\"n\":1.50}").expect("JSON")),
            };
            let (topic, sender) = (Topic::new("t").expect("a name"), Party::new("a").expect("a name"));
            NewEvent::new(SessionId::new("s").expect("a name"), topic, sender, payload)
        };
        for events in [vec![said("one")], vec![said("two"), said("three")]] {
            let (ledger, now) = (id.clone(), Timestamp::EPOCH);
            let append = Append { ledger, events, expected: None, now, durability: Durability::None };
            log.append(append).expect("appended");
        }
        let first = EventSeq::FIRST;
        log.trim(&id, &Topic::new("t").expect("a name"), first).expect("trimmed");
        let state = Json::parse("[null]").expect("JSON");
        let (name, version, through, position) = ("memory".to_owned(), 1, 3, None);
        log.save_states(&id, vec![SavedState { name, version, through, position, state }]).expect("saved");
        log.close().expect("closed");
        let folder = home.join("contexts-v2/p");
        for name in ["events.ndjson", "meta.json", "snapshot.json", "index.json"] {
            seeds.push(std::fs::read(folder.join(name)).expect("a file"));
        }
        std::fs::remove_dir_all(&home).expect("removed");
    }
    seeds
}

fn time(second: u32) -> Option<Timestamp> {
    Timestamp::parse(&format!("2026-01-01T00:00:{second:02}.000Z")).ok()
}

fn entry(number: u32, role: Role, kind: EntryKind, parts: Vec<Part>) -> Entry {
    Entry {
        id: EntryId::new(format!("00000000-0000-4000-8000-00000000000{number}")).expect("a name"),
        parent: None,
        timestamp: time(number),
        role,
        kind,
        body: Body::Blocks,
        parts,
        meta: EntryMeta::default(),
        native: NativeSpan { offset: 0, length: 0 },
    }
}

fn conversation() -> Vec<Entry> {
    let text = |text: &str| Part::Text(text.to_owned());
    let image =
        Part::Image { media_type: "image/png".to_owned(), source: ImageSource::Base64("iVBOR".to_owned()) };
    let call = Part::ToolCall {
        call_id: "call_1".to_owned(),
        name: "Bash".to_owned(),
        arguments: r#"{"command":"ls","description":"look"}"#.to_owned(),
    };
    let result =
        Part::ToolResult { call_id: "call_1".to_owned(), is_error: false, parts: vec![text("note.txt")] };
    let thought =
        Part::Thinking { text: "hm".to_owned(), signature: Some("c2ln".to_owned()), encrypted: None };
    vec![
        entry(1, Role::User, EntryKind::Message, vec![text("please look"), image]),
        entry(2, Role::Assistant, EntryKind::Message, vec![thought, text("I do"), call]),
        entry(3, Role::Tool, EntryKind::ToolResult, vec![result]),
        entry(4, Role::Assistant, EntryKind::Message, vec![text("there is a note")]),
        entry(5, Role::User, EntryKind::Message, vec![text("thanks \u{1f600}")]),
    ]
}
