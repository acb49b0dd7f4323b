//! Transcripts that another conversation took the place of, found by what they say: of every client, with ids and without.

use serde_json::{Value, json};
use stemmata_engine::{Engine, SessionRow};
use stemmata_model::FormatId;

use crate::namesakes::listed;
use crate::support::{Folder, answer, engine, import, native, user};

/// Makes a transcript of prompts and answers.
type Made = fn(&[(&str, &str)]) -> String;

const CLIENTS: [(&str, Made); 6] = [
    ("claude.jsonl", claude),
    ("rollout-2026-01-01T00-00-00-01a1ffc3-10c3-7793-a024-3ccf54e49278.jsonl", codex),
    ("rollout-2026-01-01T00-00-01-01a1ffc3-10c3-7793-a024-3ccf54e49278.jsonl", codex_with_ids),
    ("session-log.jsonl", gemini_with_ids),
    ("session-log-without-ids.jsonl", gemini),
    ("session-2026-01-01T00-00-5f0c1c7e.json", gemini_legacy),
];

fn claude(turns: &[(&str, &str)]) -> String {
    let turn = |(at, (prompt, said)): (u32, &(&str, &str))| {
        user(2 * at + 1, (at > 0).then_some(2 * at), prompt) + &answer(2 * at + 2, 2 * at + 1, said)
    };
    (0..).zip(turns).map(turn).collect()
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

fn codex(turns: &[(&str, &str)]) -> String {
    rollout(turns, false)
}

fn codex_with_ids(turns: &[(&str, &str)]) -> String {
    rollout(turns, true)
}

fn rollout(turns: &[(&str, &str)], has_ids: bool) -> String {
    let line = |kind: &str, payload: Value| json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload });
    let header = line(
        "session_meta",
        json!({ "id": "01a1ffc3-10c3-7793-a024-3ccf54e49278", "timestamp": "2026-01-01T00:00:00.000Z",
            "cwd": "/srv/project", "originator": "codex_exec", "cli_version": "0.169.0" }),
    );
    let said = |id: String, role: &str, kind: &str, text: &str| {
        let mut payload =
            json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
        if has_ids {
            payload["id"] = json!(id);
        }
        line("response_item", payload)
    };
    let turn = |(at, (prompt, answer)): (usize, &(&str, &str))| {
        let ids = ["u", "a"].map(|of| format!("msg_1e2feb89-414c-443c-9027-c4d1c386bb{of}{at}"));
        let [asked, told] = ids;
        [said(asked, "user", "input_text", prompt), said(told, "assistant", "output_text", answer)]
    };
    lines(std::iter::once(header).chain(turns.iter().enumerate().flat_map(turn)))
}

fn gemini(turns: &[(&str, &str)]) -> String {
    let header = json!({ "sessionId": "5f0c1c7e-1111-4222-8333-944445555666", "projectHash": "abc",
        "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z", "kind": "main" });
    lines(std::iter::once(header).chain(messages(turns).into_iter().map(|mut message| {
        message.as_object_mut().expect("an object").remove("id");
        message
    })))
}

fn gemini_with_ids(turns: &[(&str, &str)]) -> String {
    let header = json!({ "sessionId": "5f0c1c7e-1111-4222-8333-944445555667", "projectHash": "abc",
        "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z", "kind": "main" });
    lines(std::iter::once(header).chain(messages(turns)))
}

fn gemini_legacy(turns: &[(&str, &str)]) -> String {
    json!({ "sessionId": "5f0c1c7e-1111-4222-8333-944445555668", "projectHash": "abc",
        "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:00:00.000Z",
        "messages": messages(turns) })
    .to_string()
}

fn messages(turns: &[(&str, &str)]) -> Vec<Value> {
    let turn = |(at, (prompt, answer)): (usize, &(&str, &str))| {
        let message = |of: &str, kind: &str, content: Value| {
            json!({ "id": format!("5f0c1c7e-414c-443c-9027-c4d1c386{of}{at}"), "timestamp": "2026-01-01T00:00:01.000Z",
                "type": kind, "content": content })
        };
        [message("aaa", "user", json!([{ "text": prompt }])), message("bbb", "gemini", json!(answer))]
    };
    turns.iter().enumerate().flat_map(turn).collect()
}

/// Says the same otherwise: other fields around the words, keys in another order, other white space.
fn rewritten(text: &str, is_document: bool) -> String {
    let more = |line: &str| {
        let mut value: Value = serde_json::from_str(line).expect("JSON");
        value["addedLater"] = json!({ "any": "thing" });
        value
    };
    if is_document {
        return serde_json::to_string_pretty(&more(text)).expect("JSON");
    }
    text.lines().map(|line| more(line).to_string().replace("\":", "\": ") + "\n").collect()
}

fn said(engine: &Engine, rows: &[SessionRow]) -> Vec<String> {
    let text =
        |row: &SessionRow| String::from_utf8(native(engine, row.session.tip.expect("a tip"))).expect("text");
    rows.iter().map(text).collect()
}

#[test]
fn an_overwritten_conversation_is_found_by_what_it_says() {
    let first = [("the first kiln", "cobalt blue"), ("and the second", "copper green")];
    for (name, made) in CLIENTS {
        let whole = made(&first);
        let is_document = !name.contains(".jsonl");
        for (what, then, is_other) in [
            ("as it was", whole.clone(), false),
            ("written otherwise", rewritten(&whole, is_document), false),
            ("grown", made(&[first[0], first[1], ("a third", "iron red")]), false),
            ("an answer that was not whole", whole.replace("copper green", "copper green and more"), false),
            ("all other words", made(&[("another oven", "zinc white"), ("and more", "tin")]), true),
            (
                "other words, and more",
                made(&[("another oven", "zinc"), ("more", "tin"), ("again", "lead")]),
                true,
            ),
            (
                "an edited prompt",
                made(&[("the first kiln", "cobalt blue"), ("and the third", "copper green")]),
                true,
            ),
            ("a longer prompt", made(&[("the first kiln, please", "cobalt blue"), first[1]]), true),
            ("one turn with the same end", made(&[("other", "cobalt blue"), first[1]]), true),
        ] {
            let (engine, folder) = (engine(), Folder::new());
            let path = folder.write(name, whole.as_bytes());
            let before = import(&engine, &path).session;
            folder.write(name, then.as_bytes());
            let after = import(&engine, &path).session;
            let rows = listed(&engine, false);
            let name = format!("{name}, {what}");
            assert_eq!(rows.len(), 1 + usize::from(is_other), "{name}: {rows:?}");
            if is_other {
                let mut wanted = vec![whole.clone(), then.clone()];
                let mut found = said(&engine, &rows);
                wanted.sort();
                found.sort();
                assert_eq!(found, wanted, "{name}");
                let old = rows.iter().find(|row| row.session.tip == before.tip).expect("listed");
                assert_eq!(old.session.title, before.title, "{name}");
                assert_eq!(engine.find(&old.reference).ok(), before.tip, "{name}");
                let held = engine.first_session(before.tip.expect("a tip")).expect("a read").expect("known");
                assert_eq!(held.key, old.session.key, "{name}");
                let none = |_: &FormatId| None;
                // A client that needs ids would not load it.
                if !name.contains("without-ids") {
                    let copy = engine.recovered(&old.session, folder.path(), &none);
                    assert_eq!(copy.map(|copy| Some(copy.ctx)).ok(), Some(before.tip), "{name}");
                    let lost = engine.lost_state(&after, folder.path(), &none).expect("a read");
                    assert_eq!(lost.map(|lost| lost.ctx), before.tip.filter(|_| !is_document), "{name}");
                }
            }
            // Put back, it is there again, and what took its place is what is kept.
            folder.write(path.file_name().and_then(|name| name.to_str()).expect("a name"), whole.as_bytes());
            import(&engine, &path);
            let rows = listed(&engine, false);
            let now = said(&engine, &rows);
            assert_eq!(now.iter().filter(|text| **text == whole).count(), 1, "{name}, put back: {now:?}");
            let kept = now.contains(&then) || !is_other;
            assert!(kept, "{name}, put back: {now:?}");
        }
    }
}
