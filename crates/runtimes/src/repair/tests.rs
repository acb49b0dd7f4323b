//! Laws of repairing, for every runtime, over whole and damaged sessions, and the corpus; then each repair by name.

use proptest::prelude::*;
use serde_json::{Value, json};
use stemmata_model::{EntryKind, Part};

use super::*;
use crate::adapter::Severity;
use crate::chain_tests::checked_for;
use crate::claude_code::{self, ClaudeCode, story_tests::Story};
use crate::codex::{self, Codex};
use crate::corpus_tests::{adapter_of, files, files_below};
use crate::gemini::{self, Gemini};
use crate::pi::{self, Pi};

/// Why a transcript may still be refused: it has no message in it, its history is in another file, or its client is
/// one of tomorrow.
const BEYOND_REPAIR: [&str; 4] =
    ["no_messages", "history_in_another_file", "unknown_history_mode", "missing_header"];

/// What was said, thought, called and returned, in no order.
fn said(adapter: &dyn Adapter, bytes: &[u8]) -> Vec<String> {
    let entries = adapter.decode(bytes).entries;
    // A record that stands there twice was said once.
    let mut seen = std::collections::HashSet::new();
    let is_new = |entry: &&stemmata_model::Entry| {
        let wide = |value: u64| usize::try_from(value).expect("a length");
        let (start, length) = (wide(entry.native.offset), wide(entry.native.length));
        seen.insert(bytes[start..start + length].trim_ascii_end())
    };
    let spoken = entries.iter().filter(|entry| entry.kind != EntryKind::Unreadable).filter(is_new);
    // A result that has no call may become what a user says: what it returned stays.
    let returned = |part: &'_ Part| match part {
        Part::ToolResult { parts, .. } => parts.clone(),
        part => vec![part.clone()],
    };
    let parts = spoken.flat_map(|entry| &entry.parts).flat_map(returned);
    let parts = parts.filter(|part| {
        matches!(part, Part::Text(_) | Part::Thinking { .. } | Part::ToolCall { .. } | Part::Image { .. })
    });
    let mut said: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
    said.sort();
    said
}

/// Holds the laws, and returns what was repaired.
#[track_caller]
fn lawful(adapter: &dyn Adapter, bytes: &[u8], version: Option<&str>) -> Repaired {
    let shown = || String::from_utf8_lossy(bytes).into_owned();
    let before = checked_for(adapter, bytes, version);
    let repaired = repair(adapter, bytes, version);
    let is_troubled =
        |finding: &crate::adapter::Finding| finding.severity > Severity::Info || finding.check == "torn_tail";
    let is_whole = before.messages_sent >= before.messages_present;
    if is_whole && !before.findings.iter().any(is_troubled) {
        assert_eq!(repaired.changes, [], "nothing was wrong with\n{}", shown());
    }
    assert_eq!(repaired.bytes == bytes, repaired.changes.is_empty(), "{:?}\n{}", repaired.changes, shown());
    let again = repair(adapter, &repaired.bytes, version);
    assert_eq!(again.changes, [], "a second time\n{}\n{}", shown(), String::from_utf8_lossy(&repaired.bytes));
    assert!(again.bytes == repaired.bytes);
    let fatal = |finding: &&crate::adapter::Finding| {
        finding.severity == Severity::Fatal && !BEYOND_REPAIR.contains(&finding.check)
    };
    let left: Vec<_> = repaired.validation.findings.iter().filter(fatal).collect();
    let result = String::from_utf8_lossy(&repaired.bytes);
    assert!(left.is_empty(), "{left:?}\n{}\n{:?}\n{result}", shown(), repaired.changes);
    assert_eq!(repaired.validation, checked_for(adapter, &repaired.bytes, version));
    let mut now = said(adapter, &repaired.bytes);
    for part in said(adapter, bytes) {
        let place = now.iter().position(|other| *other == part);
        assert!(place.is_some(), "{part} is gone of\n{}\n{result}", shown());
        now.remove(place.unwrap_or_default());
    }
    repaired
}

/// What can happen to a file.
#[derive(Debug, Clone)]
enum Damage {
    /// A field is gone.
    Field(prop::sample::Index, usize),
    /// A field within a line's inner object is gone.
    Inner(prop::sample::Index, usize),
    /// A line is gone.
    Line(prop::sample::Index),
    /// A line is there again.
    Again(prop::sample::Index, prop::sample::Index),
    /// A line stands elsewhere.
    Moved(prop::sample::Index, prop::sample::Index),
    /// What is no record.
    Garbage(prop::sample::Index, usize),
    /// Another parent, or one that is not there.
    Parent(prop::sample::Index, Option<prop::sample::Index>),
    /// The end is cut.
    Cut(usize),
}

const FIELDS: [&str; 12] = [
    "type",
    "uuid",
    "parentUuid",
    "timestamp",
    "message",
    "id",
    "parentId",
    "payload",
    "ordinal",
    "sessionId",
    "projectHash",
    "leafUuid",
];

const INNER: [&str; 9] =
    ["id", "timestamp", "cwd", "originator", "cli_version", "usage", "role", "content", "type"];

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let index = any::<prop::sample::Index>;
    let damage = prop_oneof![
        4 => (index(), 0..FIELDS.len()).prop_map(|(line, field)| Damage::Field(line, field)),
        2 => (index(), 0..INNER.len()).prop_map(|(line, field)| Damage::Inner(line, field)),
        2 => index().prop_map(Damage::Line),
        1 => (index(), index()).prop_map(|(line, to)| Damage::Again(line, to)),
        1 => (index(), index()).prop_map(|(line, to)| Damage::Moved(line, to)),
        1 => (index(), 0..5_usize).prop_map(|(line, kind)| Damage::Garbage(line, kind)),
        4 => (index(), prop::option::of(index())).prop_map(|(line, to)| Damage::Parent(line, to)),
        1 => (1..200_usize).prop_map(Damage::Cut),
    ];
    prop::collection::vec(damage, 0..6)
}

fn damaged(bytes: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let mut cut = 0;
    for damage in damages.iter().filter(|_| !bytes.is_empty()) {
        let count = lines.len();
        if count == 0 {
            break;
        }
        let change = |line: &mut Vec<u8>, change: &dyn Fn(&mut Value)| {
            let Ok(mut value) = serde_json::from_slice::<Value>(line) else { return };
            change(&mut value);
            *line = format!("{value}\n").into_bytes();
        };
        match damage {
            Damage::Field(line, field) => change(&mut lines[line.index(count)], &|value| {
                value.as_object_mut().map(|object| object.remove(FIELDS[*field]));
            }),
            Damage::Inner(line, field) => change(&mut lines[line.index(count)], &|value| {
                for outer in ["message", "payload"] {
                    let inner = value.get_mut(outer).and_then(Value::as_object_mut);
                    inner.map(|object| object.remove(INNER[*field]));
                }
            }),
            Damage::Line(line) => drop(lines.remove(line.index(count))),
            Damage::Again(line, to) => lines.insert(to.index(count), lines[line.index(count)].clone()),
            Damage::Moved(line, to) => {
                let line = lines.remove(line.index(count));
                lines.insert(to.index(count), line);
            }
            Damage::Garbage(line, kind) => {
                let kinds: [&[u8]; 5] = [b"{\"type\":\"us\n", b"\0\0\0\n", b"\n", b"[1]\n", b"{}\n"];
                lines.insert(line.index(count), kinds[*kind].to_vec());
            }
            Damage::Parent(line, to) => {
                let to =
                    to.as_ref().and_then(|to| serde_json::from_slice::<Value>(&lines[to.index(count)]).ok());
                change(&mut lines[line.index(count)], &|value| {
                    for (own, parent) in [("uuid", "parentUuid"), ("id", "parentId")] {
                        let other = to
                            .as_ref()
                            .map_or(json!("ffffffff-0000-4000-8000-00000000ffff"), |to| to[own].clone());
                        if value.get(parent).is_some() {
                            value[parent] = other;
                        }
                    }
                });
            }
            Damage::Cut(bytes) => cut = *bytes,
        }
    }
    let mut whole = lines.concat();
    whole.truncate(whole.len().saturating_sub(cut));
    whole
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 3))]

    #[test]
    fn claude_code_for_the_newest_loader(letters in "U[UATZRIBCmxdsSr? ]{0,14}", damages in damages()) {
        let bytes = damaged(&claude_code::samples_tests::transcript(&letters), &damages);
        lawful(&ClaudeCode, &bytes, None);
    }

    #[test]
    fn claude_code_for_an_older_loader(letters in "U[UATZRIBCmxdsSr? ]{0,14}", damages in damages()) {
        let bytes = damaged(&claude_code::samples_tests::transcript(&letters), &damages);
        lawful(&ClaudeCode, &bytes, Some("2.1.50"));
    }

    #[test]
    fn codex_numbered_or_not(letters in "H[tcEDUuAKFRXYWCB?]{0,14}", numbered in any::<bool>(), damages in damages()) {
        let adapter = if numbered { Codex::PAGINATED } else { Codex::LEGACY };
        let bytes = damaged(&codex::samples_tests::rollout(&letters, numbered), &damages);
        lawful(&adapter, &bytes, None);
    }

    #[test]
    fn pi_of_each_version(letters in "H[mlUAKFRPSsEBCkNLx?]{0,14}", version in 1..4_u8, damages in damages()) {
        let adapter = [Pi::V1, Pi::V2, Pi::V3][usize::from(version) - 1];
        let bytes = damaged(&pi::samples_tests::session(&letters, version), &damages);
        lawful(&adapter, &bytes, None);
    }

    #[test]
    fn gemini_with_ways_back(letters in "H[EUAFGRSTIBXCO?]{0,14}", damages in damages()) {
        let bytes = damaged(&gemini::samples_tests::session(&letters), &damages);
        lawful(&Gemini, &bytes, None);
    }
}

/// The lines' own ids and parents, as numbers of the story's lines.
fn sent(bytes: &[u8], version: Option<&str>) -> (u64, u64) {
    let validation = checked_for(&ClaudeCode, bytes, version);
    (validation.messages_sent, validation.messages_present)
}

#[track_caller]
fn kinds(repaired: &Repaired) -> Vec<(Option<u64>, &'static str)> {
    repaired.changes.iter().map(|change| (change.line, change.kind)).collect()
}

#[test]
fn parallel_calls_stand_in_a_row_for_a_loader_that_only_goes_up() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    let other = story.call(call, "m");
    story.result(call);
    let result = story.result(other);
    story.answer(result);
    let bytes = story.bytes();
    assert_eq!(lawful(&ClaudeCode, &bytes, None).changes, [], "the newer loader finds them");
    assert_eq!(sent(&bytes, Some("2.1.50")), (4, 6));
    let repaired = lawful(&ClaudeCode, &bytes, Some("2.1.50"));
    assert_eq!(kinds(&repaired), [(Some(4), "parent"), (Some(5), "parent")]);
    assert_eq!(sent(&repaired.bytes, Some("2.1.50")), (6, 6));
}

#[test]
fn a_parent_that_was_never_written_and_a_note_that_came_late() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    story.wait();
    let second = story.prompt(Some(answer));
    story.set(second, "parentUuid", json!(claude_code::samples_tests::uuid(999)));
    story.answer(second);
    story.system(answer);
    let repaired = lawful(&ClaudeCode, &story.bytes(), None);
    assert_eq!(sent(&repaired.bytes, None), (4, 4));
    assert!(kinds(&repaired).contains(&(Some(3), "parent")), "{:?}", repaired.changes);
    assert!(
        repaired.changes.iter().all(|change| change.message.contains("loader")),
        "{:?}",
        repaired.changes
    );
}

#[test]
fn an_open_call_gets_a_marked_result_and_a_torn_tail_is_cut() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let call = story.call(first, "m");
    story.call(call, "m");
    story.result(call);
    story.prompt(Some(call));
    let mut bytes = story.bytes();
    bytes.extend_from_slice(b"{\"type\":\"user\",\"uuid\":\"0");
    let repaired = lawful(&ClaudeCode, &bytes, None);
    assert_eq!(kinds(&repaired).iter().filter(|kind| kind.1 == "result").count(), 1);
    assert!(kinds(&repaired).contains(&(Some(6), "torn_tail")));
    let text = String::from_utf8_lossy(&repaired.bytes).into_owned();
    assert_eq!(text.matches(REPAIRED_TEXT).count(), 2, "in the block, and beside it");
    assert!(text.contains("\"sourceToolAssistantUUID\":\"00000000-0000-4000-8000-000000000002\""), "{text}");
}

#[test]
fn the_start_of_a_compaction_that_never_came_hides_nothing() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let boundary = story.boundary(answer, &[]);
    story.wait();
    let second = story.prompt(Some(boundary));
    story.answer(second);
    assert_eq!(sent(&story.bytes(), None), (2, 4));
    let repaired = lawful(&ClaudeCode, &story.bytes(), None);
    assert_eq!(kinds(&repaired), [(Some(3), "compaction")]);
    assert_eq!(sent(&repaired.bytes, None), (4, 4));
}

#[test]
fn a_compaction_keeps_the_records_that_are_there() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let summary = story.compaction(answer, &[answer, 999]);
    story.prompt(Some(summary));
    assert!(
        checked_for(&ClaudeCode, &story.bytes(), None)
            .findings
            .iter()
            .any(|found| found.check == "preserved_missing")
    );
    let repaired = lawful(&ClaudeCode, &story.bytes(), None);
    assert_eq!(kinds(&repaired), [(Some(3), "compaction")]);
    assert_eq!(repaired.validation.findings, []);
}

#[test]
fn a_record_without_its_id_gets_the_one_that_the_next_names() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    story.prompt(Some(answer));
    story.set(answer, "uuid", Value::Null);
    let repaired = lawful(&ClaudeCode, &story.bytes(), None);
    assert_eq!(kinds(&repaired), [(Some(2), "field")]);
    let second: Value =
        serde_json::from_slice(repaired.bytes.split(|byte| *byte == b'\n').nth(1).unwrap()).unwrap();
    assert_eq!(second["uuid"], claude_code::samples_tests::uuid(answer));
}

#[test]
fn a_rollout_gets_a_header_envelopes_numbers_and_results() {
    let lines = |letters: &str, numbered: bool| codex::samples_tests::rollout(letters, numbered);
    let headless =
        lines("HUA", false).split_inclusive(|byte| *byte == b'\n').skip(1).collect::<Vec<_>>().concat();
    assert_eq!(kinds(&lawful(&Codex::LEGACY, &headless, None)), [(None, "header")]);
    let mut late = headless.clone();
    late.extend(lines("H", false));
    assert_eq!(kinds(&lawful(&Codex::LEGACY, &late, None)), [(Some(3), "header")]);
    let open = lawful(&Codex::PAGINATED, &lines("HUF", true), None);
    assert_eq!(kinds(&open), [(None, "result"), (None, "number")]);
    let bare = concat!(
        "{\"id\":\"01a1ffc3-10c3-7793-a024-3ccf54e49278\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"instructions\":null}\n",
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"hi\"}]}\n",
    );
    let wrapped = lawful(&Codex::LEGACY, bare.as_bytes(), None);
    assert_eq!(kinds(&wrapped), [(Some(1), "envelope"), (Some(1), "header"), (Some(2), "envelope")]);
    assert_eq!((wrapped.validation.messages_sent, wrapped.validation.findings.len()), (1, 0));
}

#[test]
fn a_history_in_another_file_is_not_made_one_without_it() {
    let mut value: Value = serde_json::from_slice(&codex::samples_tests::rollout("H", true)).unwrap();
    value["payload"]["history_base"] =
        json!({ "thread_id": "t", "end_ordinal_exclusive": 4, "end_byte_offset": 900 });
    let repaired = lawful(&Codex::PAGINATED, format!("{value}\n").as_bytes(), None);
    assert_eq!(repaired.changes, []);
    assert!(!repaired.validation.is_accepted());
}

#[test]
fn a_way_back_to_nowhere_is_taken_out_of_a_session_of_gemini() {
    let repaired = lawful(&Gemini, &gemini::samples_tests::session("HUAXU"), None);
    assert_eq!(kinds(&repaired), [(Some(4), "rewind")]);
    assert_eq!(repaired.validation.messages_sent, 3);
    // More than there are rounds.
    let many = format!("HUA{}U", "X".repeat(30));
    let repaired = lawful(&Gemini, &gemini::samples_tests::session(&many), None);
    assert_eq!((repaired.changes.len(), repaired.validation.messages_sent), (30, 3));
}

#[test]
fn a_half_of_another_runtime_s_session_is_kept_and_the_first_half_mended() {
    let claude = claude_code::samples_tests::transcript("UTRA");
    let codex = codex::samples_tests::rollout("HUA", false);
    let both = [&claude[..claude.len() - 40], b"\n", &codex].concat();
    let repaired = lawful(&ClaudeCode, &both, None);
    assert!(repaired.validation.is_accepted());
    assert!(repaired.bytes.ends_with(&codex), "what is not known is kept");
    let turned = [&codex[..], &claude].concat();
    let repaired = lawful(&Codex::LEGACY, &turned, None);
    assert!(repaired.bytes == turned && repaired.validation.messages_sent == 2);
}

#[test]
fn the_corpus_is_repaired_or_has_nothing_to_repair() {
    let claude = files_below(&["claude-code"], |name| !name.ends_with(".stream.jsonl"));
    let all = [
        (&ClaudeCode as &dyn Adapter, claude),
        (&Codex::PAGINATED, files("codex", ".jsonl")),
        (&Pi::V3, files("pi", ".jsonl")),
        (&Gemini, files("gemini", ".jsonl")),
    ];
    for (adapter, files) in all {
        for (name, bytes) in files {
            let Some((own, detection)) = adapter_of(&bytes) else { continue };
            if crate::translate::runtime_of(&own.format()) != crate::translate::runtime_of(&adapter.format())
            {
                continue;
            }
            let version = detection.version.as_deref();
            let whole = lawful(own, &bytes, version);
            println!(
                "{name}: {} changes, {} of {} sent",
                whole.changes.len(),
                whole.validation.messages_sent,
                whole.validation.messages_present
            );
            lawful(own, bytes.get(..bytes.len() / 2).unwrap_or_default(), version);
        }
    }
}

/// Given to Claude Code 2.1.330: it sends the kept turn alone (as of `e16`), and of one that went back to before a compaction what that
/// keeps, with its summary (as of `a3`).
#[test]
fn a_compaction_that_hides_what_it_must_not_is_made_a_note() {
    let turns = |story: &mut Story| {
        let first = story.prompt(None);
        let answer = story.answer(first);
        story.wait();
        let second = story.prompt(Some(answer));
        let last = story.answer(second);
        story.wait();
        [first, answer, second, last]
    };
    let mut at_its_start = Story::default();
    let [_, _, second, last] = turns(&mut at_its_start);
    at_its_start.boundary(last, &[second, last]);
    let mut went_back = Story::default();
    let [_, answer, second, last] = turns(&mut went_back);
    let summary = went_back.compaction(last, &[second, last]);
    let left = went_back.prompt(Some(summary));
    went_back.answer(left);
    went_back.wait();
    let prompt = went_back.prompt(Some(answer));
    went_back.answer(prompt);
    let mut behind_one = Story::default();
    let [.., last] = turns(&mut behind_one);
    let summary = behind_one.compaction(last, &[]);
    let third = behind_one.prompt(Some(summary));
    let answer = behind_one.answer(third);
    let fourth = behind_one.prompt(Some(answer));
    let last = behind_one.answer(fourth);
    let summary = behind_one.compaction(last, &[fourth, last]);
    let left = behind_one.prompt(Some(summary));
    behind_one.answer(left);
    behind_one.wait();
    let prompt = behind_one.prompt(Some(answer));
    behind_one.answer(prompt);
    for (story, sent, present, line) in
        [(at_its_start, 2, 4, 5), (went_back, 2, 4, 5), (behind_one, 2, 5, 11)]
    {
        let before = checked_for(&ClaudeCode, &story.bytes(), None);
        assert_eq!((before.messages_sent, before.messages_present), (sent, present));
        let repaired = lawful(&ClaudeCode, &story.bytes(), None);
        assert_eq!(kinds(&repaired), [(Some(line), "compaction")], "{:?}", repaired.changes);
        let after = &repaired.validation;
        assert_eq!((after.messages_sent, after.messages_present), (present, present));
    }
}

/// Given to Claude Code 2.1.330: it finds no conversation in a file that is one list, and nothing of a list between records.
#[test]
fn a_list_over_several_lines_is_taken_apart() {
    let mut story = Story::default();
    let first = story.prompt(None);
    let answer = story.answer(first);
    let second = story.prompt(Some(answer));
    story.answer(second);
    let text = String::from_utf8(story.bytes()).expect("text");
    let records: Vec<&str> = text.lines().collect();
    let [one, two, three, four] = records.as_slice() else { panic!("four records") };
    for (bytes, sent) in [
        (format!("[{}]\n", records.join(",")), 0),
        (format!("[{}]\n", records.join(",\n")), 0),
        (format!("[\n{}\n]\n", records.join(",\n")), 0),
        (format!("[\n{}\n", records.join(",\n")), 0),
        (format!("{{\"records\":[\n{}\n]}}\n", records.join(",\n")), 0),
        (format!("{one}\n[{two},\n{three}]\n{four}\n"), 2),
        // As these are no values, the client reads all of them.
        (format!("[\n{}\n", records.join("\n")), 4),
        (format!("{}\n", records.join(",\n")), 4),
    ] {
        let found = crate::registry::detect(bytes.as_bytes()).map(|(adapter, _)| adapter.format());
        assert_eq!(found, Some(ClaudeCode.format()), "{bytes}");
        let before = checked_for(&ClaudeCode, bytes.as_bytes(), None);
        assert_eq!((before.messages_sent, before.messages_present), (sent, 4), "{bytes}");
        assert_eq!(before.is_accepted(), sent == 4, "{bytes}");
        let after = lawful(&ClaudeCode, bytes.as_bytes(), None).validation;
        assert_eq!((after.messages_sent, after.is_accepted()), (4, true), "{bytes}: {:?}", after.findings);
    }
}
