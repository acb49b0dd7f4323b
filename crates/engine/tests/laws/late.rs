//! Records that a client wrote late: shown, numbered and forked where they were said.

use stemmata_engine::{Engine, Stop};
use stemmata_model::CommitId;

use crate::support::{Folder, answer, engine, import, placing, user, uuid};

/// Three turns, of which the second one's prompt stands at the end of the file, behind the checkpoint that names the true end.
fn session(engine: &Engine, folder: &Folder) -> CommitId {
    let checkpoint =
        format!("{{\"type\":\"last-prompt\",\"leafUuid\":\"{}\",\"sessionId\":\"s\"}}\n", uuid(6));
    let lines = [
        user(1, None, "prompt one"),
        answer(2, 1, "answer one"),
        answer(4, 3, "answer two"),
        user(5, Some(4), "prompt three"),
        answer(6, 5, "answer three"),
        checkpoint,
        user(3, Some(2), "prompt two"),
    ];
    import(engine, &folder.write("s.jsonl", lines.concat().as_bytes())).session.tip.expect("a tip")
}

/// What a context says, in its order.
fn said(engine: &Engine, ctx: CommitId) -> Vec<String> {
    let mut bytes = Vec::new();
    engine.materialize(Some(ctx), None, Stop::Root, &mut bytes).expect("a context");
    said_in(&String::from_utf8(bytes).expect("text"))
}

fn said_in(text: &str) -> Vec<String> {
    let words = ["prompt one", "answer one", "prompt two", "answer two", "prompt three", "answer three"];
    let found = |line: &str| words.iter().find(|word| line.contains(**word)).map(|word| (*word).to_owned());
    text.lines().filter_map(found).collect()
}

const ALL: [&str; 6] =
    ["prompt one", "answer one", "prompt two", "answer two", "prompt three", "answer three"];

#[test]
fn a_prompt_that_was_written_late_has_the_number_of_its_place() {
    let (engine, folder) = (engine(), Folder::new());
    let tip = session(&engine, &folder);
    assert_eq!(said(&engine, tip), ALL);
    let prompts = engine.numbered_prompts(tip).expect("prompts");
    let told: Vec<_> = prompts.iter().map(|prompt| (prompt.number, prompt.text.as_str())).collect();
    assert_eq!(told, [(1, "prompt one"), (2, "prompt two"), (3, "prompt three")]);
    assert_eq!(prompts[1].ctx, tip, "the commit that holds it");
    // Its place in the chain is where it stands.
    let ordinals: Vec<_> = prompts.iter().map(|prompt| prompt.ordinal).collect();
    assert_eq!(ordinals, [Some(1), Some(7), Some(4)]);
    let overview = engine.overview(tip, None).expect("an overview");
    let told: Vec<_> = overview.story.turns.iter().map(|turn| (turn.number, turn.commit)).collect();
    let expected: Vec<_> = prompts.iter().map(|prompt| (Some(prompt.number), prompt.ctx)).collect();
    assert_eq!(told, expected);
    assert_eq!(overview.ordinals, ordinals);
}

#[test]
fn a_turn_whose_prompt_was_written_late_is_shown_with_its_answer() {
    let (engine, folder) = (engine(), Folder::new());
    let tip = session(&engine, &folder);
    for (number, ordinals) in [(1, vec![1, 2]), (2, vec![7, 3]), (3, vec![4, 5])] {
        let (_, turn) = engine.turn_of_prompt(tip, number).expect("a turn");
        let entries: Vec<_> = turn.entries.iter().take(2).map(|entry| entry.ordinal).collect();
        assert_eq!(entries, ordinals, "prompt {number}");
        assert!(turn.outline.answer.is_some(), "prompt {number}");
    }
}

#[test]
fn a_fork_at_an_entry_holds_what_was_said_before_it() {
    let (engine, folder) = (engine(), Folder::new());
    let tip = session(&engine, &folder);
    // A prompt is left out, an answer is the last entry.
    for (entry, count) in [(3, 2), (4, 4), (5, 4), (6, 6)] {
        let mut options = placing(&folder);
        options.at_entry = Some(uuid(entry));
        let placed = engine.place(tip, &options).expect("placed");
        let text = std::fs::read_to_string(&placed.path).expect("a file");
        assert_eq!(said_in(&text), ALL[..count], "at {entry}");
        let mut written = Vec::new();
        engine
            .materialize_at((tip, &uuid(entry)), None, (Stop::Root, u64::MAX), &mut written)
            .expect("a context");
        assert_eq!(said_in(&String::from_utf8(written).expect("text")), ALL[..count], "at {entry}");
    }
    let path = folder.path().join("s.jsonl");
    let session = engine.find_session(path.to_str().expect("text")).expect("a read").expect("a session");
    let short = engine.short_id(&session.session).expect("a read").text;
    for (number, count) in [(2, 2), (3, 4)] {
        let found = engine.meant(&format!("{short}:{number}"), None).expect("meant");
        assert_eq!(said(&engine, found.ctx), ALL[..count], "before prompt {number}");
    }
}

/// A subagent's records in the way are sent as the conversation, and counted as it; behind its end they are not.
#[test]
fn a_subagents_prompt_in_the_way_has_a_number() {
    let side = |line: String| line.replacen('{', "{\"isSidechain\":true,", 1);
    for (marked, wanted) in [(3..5, vec!["one", "two", "three"]), (5..7, vec!["one", "two"])] {
        let (engine, folder) = (engine(), Folder::new());
        let lines = [
            user(1, None, "one"),
            answer(2, 1, "answer one"),
            user(3, Some(2), "two"),
            answer(4, 3, "answer two"),
            user(5, Some(4), "three"),
            answer(6, 5, "answer three"),
        ];
        let lines =
            lines.into_iter().zip(1..).map(|(line, at)| if marked.contains(&at) { side(line) } else { line });
        let text: String = lines.collect();
        assert!(text.contains("\"isSidechain\":true"), "{text}");
        let tip = import(&engine, &folder.write("s.jsonl", text.as_bytes())).session.tip.expect("a tip");
        let prompts = engine.numbered_prompts(tip).expect("prompts");
        let told: Vec<_> = prompts.iter().map(|prompt| prompt.text.as_str()).collect();
        assert_eq!(told, wanted);
        let overview = engine.overview(tip, None).expect("an overview");
        let numbers: Vec<_> = overview.story.turns.iter().filter_map(|turn| turn.number).collect();
        assert_eq!(numbers.len(), wanted.len(), "{:?}", overview.story);
    }
}
