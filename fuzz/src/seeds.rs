//! The first inputs of a target: a made-up conversation in its own format, and torn.
//! Not a corpus: what fuzzing finds on its own is kept below the build folder.

use std::path::Path;

use stemmata_model::{
    Body, Entry, EntryId, EntryKind, EntryMeta, ImageSource, NativeSpan, Part, Role, Timestamp,
};

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
                adapter.encode_compaction("so far", &adapter.decode(&whole), Timestamp::EPOCH),
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
    };
    for (number, seed) in seeds.iter().enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed).expect("the folder can be written");
    }
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
