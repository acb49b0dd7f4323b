//! Compactions that an API made within an array: each is a commit behind what stood before it.

use proptest::prelude::*;
use stemmata_engine::{CheckpointRequest, Engine, Stop};
use stemmata_model::{CommitId, CommitType, Entry, FormatId, NoteCode, Part, SessionId, Template};
use stemmata_store::{Page, SessionFilter};

use crate::support::{Folder, chain, closed, compaction_at, engine, import, native};

/// An array in one of the two APIs' forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Api {
    Anthropic,
    Responses,
}

impl Api {
    fn user(self, text: &str) -> String {
        match self {
            Self::Anthropic => format!(r#"{{"role":"user","content":"{text}"}}"#),
            Self::Responses => format!(r#"{{"type":"message","role":"user","content":"{text}"}}"#),
        }
    }

    fn answer(self, text: &str) -> String {
        match self {
            Self::Anthropic => {
                format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}]}}"#)
            }
            Self::Responses => format!(
                r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
            ),
        }
    }

    fn compaction(self, text: &str) -> String {
        match self {
            Self::Anthropic => {
                format!(r#"{{"role":"assistant","content":[{{"type":"compaction","content":"{text}"}}]}}"#)
            }
            Self::Responses => format!(r#"{{"type":"compaction","encrypted_content":"{text}"}}"#),
        }
    }
}

fn array(messages: &[String], is_pretty: bool) -> String {
    if is_pretty {
        format!("[\n  {}\n]\n", messages.join(",\n  "))
    } else {
        format!("[{}]", messages.join(","))
    }
}

fn materialized(engine: &Engine, ctx: CommitId, stop: Stop) -> String {
    let mut bytes = Vec::new();
    engine.materialize(Some(ctx), None, stop, &mut bytes).expect("materialized");
    String::from_utf8(bytes).expect("text")
}

/// Returns what an array of either API says, one word for each message.
fn said(array: &str) -> Vec<String> {
    let list: Vec<serde_json::Value> = serde_json::from_str(array).expect("an array");
    let of = |message: &serde_json::Value| {
        let content = &message["content"];
        let block = &content[0];
        let texts = [content, &block["text"], &block["content"], &message["encrypted_content"]];
        texts.iter().find_map(|text| text.as_str()).expect("a text").to_owned()
    };
    list.iter().map(of).collect()
}

fn types(engine: &Engine, tip: CommitId) -> Vec<CommitType> {
    chain(engine, tip).iter().map(|commit| commit.core.commit_type).collect()
}

const fn state(restated_entries: u64) -> CommitType {
    CommitType::Snapshot { restated_entries }
}

#[test]
fn the_api_s_own_compaction_is_a_commit_pair() {
    for (api, is_pretty) in [(Api::Anthropic, false), (Api::Anthropic, true), (Api::Responses, true)] {
        let folder = Folder::new();
        let engine = engine();
        let all = [
            api.user("a"),
            api.answer("b"),
            api.user("c"),
            api.compaction("so far"),
            api.answer("d"),
            api.user("e"),
        ];
        let bytes = array(&all, is_pretty);
        let captured = import(&engine, &folder.write("talk.json", bytes.as_bytes()));
        let tip = captured.session.tip.expect("a tip");
        assert_eq!(types(&engine, tip), [state(0), CommitType::Compaction, state(4)], "{api:?}");
        assert_eq!(captured.session.messages, 6, "the state's own");
        assert_eq!(native(&engine, tip), bytes.as_bytes(), "a state stays byte for byte");
        assert_eq!(said(&materialized(&engine, tip, Stop::Compaction)), ["so far", "d", "e"]);
        assert_eq!(said(&materialized(&engine, tip, Stop::Root)), ["a", "b", "c", "d", "e"]);
        let (compaction, before) = compaction_at(&engine, tip);
        assert_eq!(said(&materialized(&engine, before, Stop::Compaction)), ["a", "b", "c"]);
        assert_eq!(said(&materialized(&engine, compaction, Stop::Compaction)), ["so far"]);
        let diff = engine.diff(tip).expect("a difference");
        let lost: Vec<&str> = diff.lost_entries.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!((lost, diff.before), (vec!["a", "b", "c"], before));
        assert_eq!(import(&engine, &folder.write("talk.json", bytes.as_bytes())).new_commits, 0);
    }
}

/// A message of opencode; its part and what is said of it are JSON members.
fn of_opencode(number: u32, role: &str, more: &str, part: &str) -> String {
    let before = number - 1;
    format!(
        r#"{{"info":{{"id":"msg_{number:03}","sessionID":"ses_e1","role":"{role}","parentID":"msg_{before:03}","time":{{"created":{number}}}{more}}},"parts":[{{"id":"prt_{number:03}","sessionID":"ses_e1","messageID":"msg_{number:03}",{part}}}]}}"#
    )
}

#[test]
fn opencode_s_compaction_is_a_commit_pair_with_the_tail_that_it_kept() {
    let text = |text: &str| format!(r#""type":"text","text":"{text}""#);
    let user = |number, said: &str| of_opencode(number, "user", "", &text(said));
    let answer = |number, said: &str| of_opencode(number, "assistant", r#","finish":"stop""#, &text(said));
    let messages = [
        user(1, "one"),
        answer(2, "two"),
        user(3, "three"),
        answer(4, "four"),
        of_opencode(5, "user", "", r#""type":"compaction","auto":true,"tail_start_id":"msg_003""#),
        of_opencode(6, "assistant", r#","summary":true,"finish":"stop""#, &text("so far")),
        user(7, "seven"),
    ];
    let about = r#"{"id":"ses_e1002233445566778899aabbcc","slug":"s","directory":"/tower","title":"Bells","version":"1.18.33","time":{"created":1790000000000,"updated":1790000009000}}"#;
    let bytes = format!(r#"{{"info":{about},"messages":[{}]}}"#, messages.join(","));
    let folder = Folder::new();
    let engine = engine();
    let captured = import(&engine, &folder.write("ses_e1002233445566778899aabbcc.json", bytes.as_bytes()));
    let tip = captured.session.tip.expect("a tip");
    let [CommitType::Snapshot { .. }, CommitType::Compaction, CommitType::Snapshot { .. }] =
        types(&engine, tip)[..]
    else {
        panic!("{:?}", types(&engine, tip))
    };
    assert_eq!(native(&engine, tip), bytes.as_bytes(), "a state stays byte for byte");
    let told = |ctx, stop| {
        let entries = FormatId::new("stemmata-v1").expect("a name");
        let mut told = Vec::new();
        engine.materialize(Some(ctx), Some(&entries), stop, &mut told).expect("materialized");
        let words = ["one", "two", "three", "four", "so far", "seven"];
        let told = String::from_utf8(told).expect("text");
        let mut found: Vec<(usize, &str)> = words
            .iter()
            .filter_map(|word| Some((told.find(&format!("\"text\":\"{word}\""))?, *word)))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, word)| word).collect::<Vec<_>>()
    };
    assert_eq!(told(tip, Stop::Compaction), ["so far", "three", "four", "seven"]);
    assert_eq!(told(tip, Stop::Root), ["one", "two", "three", "four", "seven"]);
    let (compaction, before) = compaction_at(&engine, tip);
    assert_eq!(told(before, Stop::Compaction), ["one", "two", "three", "four"]);
    assert_eq!(told(compaction, Stop::Compaction), ["so far", "three", "four"]);
    let lost = engine.diff(tip).expect("a difference").lost_entries;
    assert_eq!(lost.iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(import(&engine, &folder.write("again.json", bytes.as_bytes())).new_commits, 0);
}

#[test]
fn a_compaction_that_is_seen_when_it_is_made_stands_behind_the_state_before() {
    let (folder, engine, api) = (Folder::new(), engine(), Api::Anthropic);
    let mut all = vec![api.user("a"), api.answer("b"), api.user("c")];
    import(&engine, &folder.write("talk.json", array(&all, true).as_bytes()));
    for more in [api.compaction("so far"), api.answer("d")] {
        all.push(more);
        import(&engine, &folder.write("talk.json", array(&all, true).as_bytes()));
    }
    // Another message is marked for the cache: the compaction is the one that is known.
    all[1] = api.answer("marked");
    let tip = import(&engine, &folder.write("talk.json", array(&all, true).as_bytes())).session.tip;
    let tip = tip.expect("a tip");
    assert_eq!(types(&engine, tip), [state(0), CommitType::Compaction, state(4), state(4), state(1)]);
    // The API's caller drops what was compacted.
    all.drain(..3);
    all.push(api.user("e"));
    let dropped = array(&all, true);
    let tip = import(&engine, &folder.write("talk.json", dropped.as_bytes())).session.tip.expect("a tip");
    assert_eq!(chain(&engine, tip).len(), 6, "it is not a compaction again");
    assert_eq!(materialized(&engine, tip, Stop::Compaction), dropped);
    assert_eq!(materialized(&engine, tip, Stop::Root), dropped, "nothing else stands for what is gone");
}

#[test]
fn a_compaction_that_replaces_the_array_stands_behind_what_it_replaced() {
    let (folder, engine, api) = (Folder::new(), engine(), Api::Anthropic);
    let all = [api.user("a"), api.answer("b"), api.user("c")];
    import(&engine, &folder.write("talk.json", array(&all, false).as_bytes()));
    let all = [api.compaction("so far"), api.user("d")];
    let tip = import(&engine, &folder.write("talk.json", array(&all, false).as_bytes())).session.tip;
    let tip = tip.expect("a tip");
    assert_eq!(types(&engine, tip), [state(0), CommitType::Compaction, state(1)]);
    let (_, before) = compaction_at(&engine, tip);
    assert_eq!(said(&materialized(&engine, before, Stop::Compaction)), ["a", "b", "c"]);
    assert_eq!(said(&materialized(&engine, tip, Stop::Compaction)), ["so far", "d"]);
    // Alone it stands for nothing that is here.
    let engine = crate::support::engine();
    let tip = import(&engine, &folder.write("alone.json", array(&all, false).as_bytes())).session.tip;
    assert_eq!(types(&engine, tip.expect("a tip")), [state(0)]);
}

#[test]
fn a_summary_that_only_the_provider_reads_loses_nothing_elsewhere() {
    let (folder, engine, api) = (Folder::new(), engine(), Api::Responses);
    let all = [api.user("a"), api.answer("b"), api.compaction("c2VhbGVk"), api.answer("d")];
    let tip = import(&engine, &folder.write("talk.json", array(&all, false).as_bytes())).session.tip;
    let target = FormatId::new("anthropic-messages-v1").expect("a name");
    let mut bytes = Vec::new();
    let made = engine.materialize(tip, Some(&target), Stop::Compaction, &mut bytes).expect("materialized");
    let bytes = String::from_utf8(bytes).expect("text");
    assert_eq!(said(&bytes), ["a", "b"]);
    assert!(bytes.contains(r#""text":"d""#), "{bytes}");
    assert!(made.notes.iter().any(|note| note.code == NoteCode::Degraded), "{:?}", made.notes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// However often an array is looked at while it grows: the newest context is the same, it comes back byte for byte, and
    /// the same looks give the same commits.
    #[test]
    fn law_looking_more_often_gives_the_same_context(
        kinds in proptest::collection::vec(0..3_u8, 1..16),
        looks in proptest::collection::vec(any::<bool>(), 16),
        is_pretty in any::<bool>(),
        is_anthropic in any::<bool>(),
    ) {
        let api = if is_anthropic { Api::Anthropic } else { Api::Responses };
        let folder = Folder::new();
        let (often, again, once) = (engine(), engine(), engine());
        // One that is no other format's from the first message on.
        let mut all = vec![api.user("begin"), api.answer("so it begins")];
        if is_anthropic {
            all.push(r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"}]}"#.to_owned());
        }
        let mut last = (None, None, None);
        let count = kinds.len();
        for (at, (kind, look)) in kinds.into_iter().zip(looks).enumerate() {
            let text = format!("{at} said {}", "so it goes ".repeat(9 * at));
            all.push(match kind {
                0 => api.user(&text),
                1 => api.answer(&text),
                _ => api.compaction(&text),
            });
            let path = folder.write("talk.json", array(&all, is_pretty).as_bytes());
            if look || at + 1 == count {
                last.0 = import(&often, &path).session.tip;
                last.1 = import(&again, &path).session.tip;
            }
            if at + 1 == count {
                last.2 = import(&once, &path).session.tip;
            }
        }
        let (often_tip, again_tip, once_tip) =
            (last.0.expect("a tip"), last.1.expect("a tip"), last.2.expect("a tip"));
        prop_assert_eq!(closed(&often, often_tip), closed(&again, again_tip));
        for stop in [Stop::Compaction, Stop::Root] {
            prop_assert_eq!(materialized(&often, often_tip, stop), materialized(&once, once_tip, stop));
        }
        let bytes = array(&all, is_pretty).into_bytes();
        prop_assert_eq!(native(&often, often_tip), bytes.clone());
        prop_assert_eq!(native(&once, once_tip), bytes);
        // Entries are numbered in one way, whoever looked.
        let total: u64 = chain(&once, once_tip)
            .iter()
            .map(|commit| commit.counts.entries - commit.core.commit_type.restated())
            .sum();
        prop_assert_eq!(total, u64::try_from(all.len()).expect("small"));
    }
}

#[test]
fn a_program_s_list_with_a_compaction_is_commits_around_it_in_one_act() {
    for api in [Api::Anthropic, Api::Responses] {
        let engine = engine();
        let name = if api == Api::Anthropic { "anthropic-messages-v1" } else { "openai-responses-v1" };
        let checkpoint = |parent: Option<CommitId>, messages: &[String]| {
            let session = SessionId::new("own").expect("a name");
            let (format, template) = (FormatId::new(name), Template::new("own/main"));
            let (format, template) = (format.expect("a name"), template.expect("a name"));
            let bytes = array(messages, true).into_bytes();
            let request = CheckpointRequest::delta(bytes, format, template, session);
            engine.checkpoint(&CheckpointRequest { parent, ..request }).expect("a checkpoint").id
        };
        let first = checkpoint(None, &[api.user("a"), api.answer("b")]);
        let added = [api.user("c"), api.compaction("so far"), api.answer("d")];
        let second = checkpoint(Some(first), &added);
        let (delta, compaction) = (CommitType::Delta, CommitType::Compaction);
        assert_eq!(types(&engine, second), [delta, delta, compaction, delta], "{api:?}");
        let alone = checkpoint(Some(second), &[api.compaction("so much")]);
        let tip = checkpoint(Some(alone), &[api.user("e")]);
        assert_eq!(types(&engine, tip), [delta, delta, compaction, delta, compaction, delta]);
        let said_at = |ctx, stop| said(&materialized(&engine, ctx, stop));
        assert_eq!(said_at(tip, Stop::Compaction), ["so much", "e"]);
        assert_eq!(said_at(second, Stop::Compaction), ["so far", "d"]);
        assert_eq!(said_at(tip, Stop::Root), ["a", "b", "c", "d", "e"]);
        let all = String::from_utf8(native(&engine, tip)).expect("text");
        assert_eq!(said(&all), ["a", "b", "c", "so far", "d", "so much", "e"]);
        let (_, before) = compaction_at(&engine, second);
        assert_eq!(said_at(before, Stop::Compaction), ["a", "b", "c"]);
        let sessions = engine.store().sessions(&SessionFilter::default(), Page { skip: 0, rows_max: 9 });
        let sessions = sessions.expect("sessions");
        let [session] = sessions.as_slice() else { panic!("{sessions:?}") };
        assert_eq!((session.tip, session.commits, session.messages), (Some(tip), 6, 7));
        // At the beginning of everything it stands for nothing.
        let alone = checkpoint(None, &[api.compaction("so far"), api.user("c")]);
        assert_eq!(types(&engine, alone), [delta]);
    }
}

/// Returns what a model sees of a context, one text for each entry that has one.
fn texts(engine: &Engine, ctx: CommitId, stop: Stop) -> Vec<String> {
    let entries = engine.numbered_entries(ctx, stop).expect("entries").entries;
    let text = |entry: &Entry| {
        entry.parts.iter().find_map(|part| match part {
            Part::Text(text) | Part::Summary { text, .. } => Some(text.clone()),
            _ => None,
        })
    };
    entries.iter().filter(|entry| entry.meta.visibility.agent).filter_map(text).collect()
}

/// Checks a client's compaction: the contexts around it, the way back, and what it lost.
fn is_a_pair(lines: &str, [before, made, tip]: [&[&str]; 3], lost: &[&str]) {
    let folder = Folder::new();
    let engine = engine();
    let captured = import(&engine, &folder.write("talk.jsonl", lines.as_bytes()));
    let ctx = captured.session.tip.expect("a tip");
    assert_eq!(texts(&engine, ctx, Stop::Compaction), tip);
    let (compaction, parent) = compaction_at(&engine, ctx);
    assert_eq!(texts(&engine, parent, Stop::Compaction), before);
    assert_eq!(texts(&engine, compaction, Stop::Compaction), made);
    let diff = engine.diff(ctx).expect("a difference");
    assert_eq!(diff.before, parent);
    let found: Vec<&str> = diff.lost_entries.iter().map(|entry| entry.text.as_str()).collect();
    assert_eq!(found, lost);
    // All of it can still be read.
    let whole = texts(&engine, ctx, Stop::Root);
    assert!(before.iter().all(|text| whole.iter().any(|found| found == text)), "{whole:?}");
    assert_eq!(import(&engine, &folder.write("talk.jsonl", lines.as_bytes())).new_commits, 0);
}

#[test]
fn a_printed_claude_session_s_compaction_is_a_commit_pair() {
    let said = |role: &str, id: &str, text: &str| {
        format!(
            r#"{{"type":"{role}","session_id":"s-1","uuid":"{id}","message":{{"id":"m{id}","role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let system =
        |more: &str, id: &str| format!(r#"{{"type":"system",{more},"session_id":"s-1","uuid":"{id}"}}"#);
    let summary = "This session is being continued from a previous conversation that ran out of context.";
    let lines = [
        system(r#""subtype":"init""#, "h1"),
        said("user", "u1", "begin"),
        said("assistant", "a1", "begun"),
        system(r#""subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":9}"#, "b1"),
        said("user", "s1", summary),
        said("assistant", "a2", "further"),
    ];
    let lines = lines.map(|line| line + "\n").concat();
    is_a_pair(&lines, [&["begin", "begun"], &[summary], &[summary, "further"]], &["begin", "begun"]);
}

#[test]
fn a_condensation_of_openhands_is_a_commit_pair_that_keeps_what_it_does_not_name() {
    let said = |id: &str, role: &str, source: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:01","source":"{source}","llm_message":{{"role":"{role}","content":[{{"type":"text","text":"said {id}"}}]}},"kind":"MessageEvent"}}"#
        )
    };
    let lines = [
        said("a", "user", "user"),
        said("b", "assistant", "agent"),
        said("c", "assistant", "agent"),
        r#"{"id":"1","timestamp":"2026-01-01T00:00:02","source":"environment","forgotten_event_ids":["b"],"summary":"so far","summary_offset":1,"kind":"Condensation"}"#.to_owned(),
        said("d", "assistant", "agent"),
    ];
    let lines = lines.map(|line| line + "\n").concat();
    is_a_pair(
        &lines,
        [
            &["said a", "said b", "said c"],
            &["said a", "so far", "said c"],
            &["said a", "so far", "said c", "said d"],
        ],
        &["said b"],
    );
}
