//! Chains of sessions: what is committed, materialized and placed.

use stemmata_model::{CommitType, Granularity, Part, Role, SessionId, Timestamp};

use super::Gemini;
use super::place::project_hash;
use super::samples_tests::{SESSION, session};
use crate::adapter::{Adapter as _, Keeps, PlanStop};
use crate::chain_tests::{
    Chain, PLACED, checked, cut, fatal as fatal_of, kept, placed as placed_by, request,
};

#[test]
fn commits_close_before_a_prompt_and_around_a_compaction() {
    for (letters, wanted) in [
        ("HEUSFSGRSASUA", "HEUSFSGRSAS|UA"),
        ("HEUACUA", "HEUA|C!|UA"),
        ("HEUAOUA", "HEUA|OUA"),
        // A session that is resumed: the client clears it and says all again.
        ("HEUAHESNSUA", "HEUA|HESNSUA"),
        ("HEIS", "HEIS"),
    ] {
        assert_eq!(cut(&Gemini, letters, &session(letters)), wanted);
    }
}

#[test]
fn a_context_is_what_the_loader_would_send() {
    for (letters, stop, wanted) in [
        // The last version of an answer stands where the first one stood.
        ("HEUFSGRA", PlanStop::Compaction, "HEUGSRA"),
        // A checkpoint stands for all before it but the header.
        ("HEUAUACUA", PlanStop::Compaction, "HCUA"),
        ("HEUACUACA", PlanStop::Compaction, "HCA"),
        ("HEUACUACA", PlanStop::Root, "HEUAUAA"),
        // So does one in which nothing was said, and it is no compaction.
        ("HEUAOEUA", PlanStop::Compaction, "HOEUA"),
        ("HEUAOUA", PlanStop::Root, "HEUAUA"),
        // What was taken back is gone, with the mark.
        ("HEUAUFGRABUA", PlanStop::Compaction, "HEUAUA"),
        // But for a way back to what is not there.
        ("HEUAX", PlanStop::Compaction, "HEUA"),
        ("HEUAX", PlanStop::Root, "HEUA"),
        // What is said again stands there already, and better; else what says it again is what there is.
        ("HEUFGRAHESNUA", PlanStop::Compaction, "HEUGRAHSUA"),
        ("HEUAHESNHESNUA", PlanStop::Compaction, "HEUAHSHSUA"),
        ("HEUAHESNUFGRAHESNUA", PlanStop::Compaction, "HEUAHSUGRAHSUA"),
        ("HEUFGRAHESNUA", PlanStop::Root, "HEUGRAHSUA"),
        ("HEUACHESNUA", PlanStop::Compaction, "HHNUA"),
        ("HEUACHESNUA", PlanStop::Root, "HEUAHSUA"),
        // It may be inside the checkpoint: the mark stays, for the loader.
        ("HEUACX", PlanStop::Compaction, "HCX"),
    ] {
        assert_eq!(kept(&Gemini, letters, &session(letters), stop), wanted, "{letters} {stop:?}");
    }
}

#[test]
fn a_way_back_that_names_no_message_takes_nothing_back() {
    // Sent by 0.61.0, which drops all where the message is not there; and said.
    for (target, sent, wanted) in
        [("null", 4, 4), ("3", 4, 4), ("\"m2\"", 3, 3), ("\"nowhere\"", 2, 4), ("\"m3\"", 2, 4)]
    {
        let text = String::from_utf8(session("HUAUA")).expect("text");
        let (first, rest) = text.split_at(text.match_indices('\n').nth(2).expect("lines").0 + 1);
        let bytes = format!("{first}{{\"$rewindTo\":{target}}}\n{rest}");
        let found = checked(&Gemini, bytes.as_bytes());
        assert_eq!((found.messages_sent, found.messages_present), (sent, wanted), "{target}: {found:?}");
        let mended = crate::repair::repair(&Gemini, bytes.as_bytes(), None).validation;
        assert_eq!((mended.messages_sent, mended.messages_present), (wanted, wanted), "{target}");
        let (_, context) = crate::chain_tests::planned(&Gemini, bytes.as_bytes(), PlanStop::Compaction);
        assert_eq!(checked(&Gemini, &context).messages_present, wanted, "{target}");
    }
}

#[test]
fn a_way_back_to_what_was_dropped_drops_all_for_the_loader_alone() {
    let text = String::from_utf8(session("HUAUA")).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let bytes = [
        &lines[..3],
        &["{\"$rewindTo\":\"nowhere\"}"],
        &lines[3..4],
        &["{\"$rewindTo\":\"m2\"}"],
        &lines[4..],
    ]
    .concat()
    .join("\n");
    let found = checked(&Gemini, bytes.as_bytes());
    assert_eq!((found.messages_sent, found.messages_present), (1, 2), "{found:?}");
    let mended = crate::repair::repair(&Gemini, bytes.as_bytes(), None).validation;
    assert_eq!((mended.messages_sent, mended.messages_present), (2, 2));
}

#[test]
fn what_is_said_again_reads_as_what_was_said() {
    let first = Gemini.decode(&session("HEUFGRA")).entries;
    let bytes = session("HEUFGRAHESN");
    let again = bytes.split_inclusive(|byte| *byte == b'\n').next_back().expect("lines");
    let again = super::as_loaded(Gemini.decode(&[session("H"), again.to_vec()].concat()).entries);
    let said = |entries: &[stemmata_model::Entry]| -> Vec<(Role, Vec<Part>)> {
        let is_said = |entry: &&stemmata_model::Entry| {
            entry.meta.visibility.agent && entry.kind != stemmata_model::EntryKind::Instruction
        };
        let without_thoughts = |entry: &stemmata_model::Entry| {
            let parts = entry.parts.iter().filter(|part| !matches!(part, Part::Thinking { .. }));
            let parts = parts.filter(|part| !matches!(part, Part::Text(text) if text.is_empty()));
            (entry.role, parts.cloned().collect())
        };
        entries.iter().filter(is_said).map(without_thoughts).collect()
    };
    let mut first = said(&first);
    // The answer so far, which the client wrote again with its call.
    first.remove(1);
    assert_eq!(said(&again), first);
    let ids: Vec<&str> = again.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids[2..], ["m2", "m3", "m5", "m6"], "each result has its own name");
}

#[test]
fn from_the_root_too_what_is_said_again_is_all_there_is_where_its_lines_are_not_there() {
    let bytes = session("HEUFGRAHESNUA");
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    // As in a session whose first lines were lost: nothing, or the first prompt only, stands before.
    for (before, wanted) in [(&[0][..], "HNUA"), (&[0, 2], "HNUA"), (&[0, 2, 3, 4, 5, 6], "HUGRAUA")] {
        let numbers = before.iter().chain(&[10, 11, 12]);
        let own: String = numbers.clone().filter_map(|at| "HEUFGRAHESNUA".chars().nth(*at)).collect();
        let kept_lines: Vec<u8> = numbers.flat_map(|at| lines[*at].to_vec()).collect();
        assert_eq!(kept(&Gemini, &own, &kept_lines, PlanStop::Root), wanted, "{own}");
    }
}

#[test]
fn a_context_does_not_depend_on_where_commits_end() {
    let bytes = session("HEUFSGRAUFGRAB");
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let context = |natives: &[&[u8]]| {
        let mut chain = Chain::new(&Gemini);
        for native in natives {
            chain.push(CommitType::Delta, native);
        }
        chain.context(PlanStop::Compaction).1
    };
    assert_eq!(context(&lines), context(&[&bytes]));
}

const CWD: &str = "/new/My Place";

fn placed(bytes: &[u8]) -> (String, Vec<String>) {
    placed_by(&Gemini, &request(CWD), bytes)
}

fn fatal(bytes: &[u8]) -> Vec<&'static str> {
    fatal_of(&Gemini, bytes)
}

#[test]
fn placing_changes_session_and_project_and_nothing_else() {
    let bytes = session("HEUSFSGRSASIUA");
    let (out, notes) = placed(&bytes);
    let wanted = String::from_utf8(bytes).expect("text");
    let wanted = wanted.replace(SESSION, PLACED);
    let hash = project_hash(CWD);
    assert_eq!(out, wanted.replace("\"projectHash\":\"00\"", &format!("\"projectHash\":\"{hash}\"")));
    assert_eq!((notes, fatal(out.as_bytes())), (vec![], vec![]));
}

#[test]
fn a_project_is_named_as_the_client_does() {
    // The hash of a directory as `sha256sum` says it.
    assert_eq!(project_hash("/"), "8a5edab282632443219e051e4ade2d1d5bbc671c781051bf1437897cbdfea0f1");
    let place = Gemini.client_place(&request(CWD));
    assert_eq!(place.relative_path.join("/"), "tmp/my-place/chats/session-2026-11-22T05-06-99999999.jsonl");
    assert_eq!(place.resume_command, ["gemini", "--resume", PLACED]);
    let root = Gemini.client_place(&request("/"));
    assert_eq!(root.relative_path[1], "project");
}

#[test]
fn open_calls_are_closed_and_torn_ends_cut() {
    let mut bytes = session("HEUFG");
    let text = String::from_utf8(bytes).expect("text");
    let (start, end) = (text.find("\"result\":").expect("one"), text.find(",\"status\"").expect("one"));
    bytes = format!("{}\"result\":[]{}", &text[..start], &text[end..]).into_bytes();
    bytes.extend_from_slice(b"{\"id\":\"2026");
    let (out, notes) = placed(&bytes);
    assert_eq!(out.matches("Closed by Stemmata").count(), 1);
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(fatal(out.as_bytes()), Vec::<&str>::new());
    let results: Vec<_> =
        Gemini.decode(out.as_bytes()).entries.into_iter().filter(|entry| entry.role == Role::Tool).collect();
    let [Part::ToolResult { call_id, is_error: true, .. }] = results[0].parts.as_slice() else {
        panic!("{results:?}")
    };
    assert_eq!(call_id, "call_4");
    // A result inside the call is one.
    assert_eq!(placed(&session("HEUFG")).0.matches("Closed by Stemmata").count(), 0);
}

#[test]
fn what_the_loader_would_refuse_is_found_and_mended() {
    let bare = "{\"type\":\"user\",\"content\":\"hello\"}\n";
    let (header, conversation) = (session("H"), session("UA"));
    let without_hash =
        String::from_utf8(header.clone()).expect("text").replace("\"projectHash\":\"00\",", "");
    for (bytes, wanted) in [
        (Vec::new(), vec!["missing_header"]),
        (conversation.clone(), vec!["missing_header"]),
        ([without_hash.into_bytes(), conversation.clone()].concat(), vec!["incomplete_header"]),
        ([header.clone(), bare.into()].concat(), vec!["missing_id"]),
    ] {
        assert_eq!(fatal(&bytes), wanted);
        if !bytes.is_empty() {
            assert_eq!(fatal(placed(&bytes).0.as_bytes()), Vec::<&str>::new());
        }
    }
    assert_eq!(fatal(&header), ["no_messages"]);
}

#[test]
fn the_validator_counts_what_is_active() {
    for (letters, messages) in
        [("HEUA", 3), ("HEUFGRA", 5), ("HEUACU", 4), ("HEUAUFGRAB", 3), ("HEUAX", 3), ("HEUAOU", 1)]
    {
        let found = checked(&Gemini, &session(letters));
        let sent = if letters.ends_with('X') { 0 } else { messages };
        assert_eq!((found.messages_sent, found.messages_present), (sent, messages), "{letters}");
    }
}

#[test]
fn a_summary_of_ours_is_the_clients_checkpoint() {
    let bytes =
        Gemini.encode_compaction("so far so good", &Keeps::nothing(&Gemini.decode(b"")), Timestamp::EPOCH);
    let entries = Gemini.decode(&bytes).entries;
    assert!(matches!(&entries[0].parts[0], Part::Summary { text, .. } if text == "so far so good"));
    assert_eq!(fatal(&[session("HEUA"), bytes].concat()), Vec::<&str>::new());
}

#[test]
fn facts_come_from_the_lines() {
    let mut splitter = Gemini.splitter(Granularity::Turn, None);
    for line in session("HEUAT").split(|byte| *byte == b'\n') {
        splitter.line(line, &mut Vec::new());
    }
    let facts = splitter.facts();
    assert_eq!(facts.session.as_ref().map(SessionId::as_str), Some(SESSION));
    assert_eq!(facts.cwd.as_deref(), Some("/srv/project"));
    assert_eq!(facts.title.as_deref(), Some("A title"));
    assert_eq!(splitter.template().as_str(), "gemini/main");
}

/// A session that is said in lists only, each with all that was said so far: letters of [`session`] after the header, and how
/// many of them each list holds.
fn listed(letters: &str, ends: &[usize]) -> Vec<u8> {
    let bytes = session(letters);
    let text = String::from_utf8(bytes).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let mut out = format!("{}\n", lines[0]);
    for end in ends {
        let messages = lines[1..=*end].join(",");
        out.extend(["{\"$set\":{\"messages\":[", messages.as_str(), "]}}\n"]);
    }
    out.into_bytes()
}

fn told(context: &[u8]) -> Vec<(Role, String)> {
    let entries = super::as_loaded(Gemini.told(context).entries);
    let said = entries.iter().filter(|entry| entry.meta.visibility.agent);
    said.map(|entry| (entry.role, entry.id.to_string())).collect()
}

fn ids(entries: &[stemmata_model::Entry]) -> Vec<&str> {
    let said = entries.iter().filter(|entry| entry.meta.visibility.agent);
    said.map(|entry| entry.id.as_str()).collect()
}

#[test]
fn what_is_said_in_lists_only_is_said_once() {
    // A prompt, an answer with a call and its result beside it, another answer; then one turn more.
    let bytes = listed("HUGAUA", &[3, 5]);
    for stop in [PlanStop::Compaction, PlanStop::Root] {
        let (_, context) = crate::chain_tests::planned(&Gemini, &bytes, stop);
        let roles: Vec<Role> = told(&context).into_iter().map(|(role, _)| role).collect();
        let wanted = [Role::User, Role::Assistant, Role::Tool, Role::Assistant, Role::User, Role::Assistant];
        assert_eq!(roles, wanted, "{stop:?}");
    }
    let alone = Gemini.said_alone(Gemini.decode(&bytes).entries, &bytes, true);
    assert_eq!(ids(&alone), ["m1", "m2", "result-call_2", "m3", "m4", "m5"]);
    let spans: Vec<_> = alone.iter().skip(1).map(|entry| entry.native).collect();
    assert!(spans.iter().all(|span| {
        let (start, end) =
            (usize::try_from(span.offset).unwrap(), usize::try_from(span.offset + span.length).unwrap());
        serde_json::from_slice::<serde_json::Value>(&bytes[start..end]).is_ok()
    }));
    let mut splitter = Gemini.splitter(Granularity::Turn, None);
    for line in bytes.split(|byte| *byte == b'\n') {
        splitter.line(line, &mut Vec::new());
    }
    assert_eq!(splitter.facts().title.as_deref(), Some("please do thing 1"));
}

#[test]
fn one_prompt_alone_in_a_list_is_no_summary_where_nothing_was_said() {
    let bytes = listed("HUAUA", &[1, 2, 4]);
    let alone = Gemini.said_alone(Gemini.decode(&bytes).entries, &bytes, true);
    assert_eq!(ids(&alone), ["m1", "m2", "m3", "m4"]);
    let (_, context) = crate::chain_tests::planned(&Gemini, &bytes, PlanStop::Root);
    assert_eq!(told(&context).len(), 4);
    // A summary of ours is one.
    let ours = Gemini.encode_compaction("so far", &Keeps::nothing(&Gemini.decode(b"")), Timestamp::EPOCH);
    let bytes = [session("H"), ours].concat();
    let kinds: Vec<_> = Gemini.said_alone(Gemini.decode(&bytes).entries, &bytes, true);
    assert_eq!(kinds[1].kind, stemmata_model::EntryKind::CompactionSummary);
}

#[test]
fn what_older_commits_say_is_not_said_again_by_a_list() {
    // The client resumes: lines, then a list of all of them, and one message more.
    let lines = session("HUAUA");
    let list = listed("HUAUAA", &[5]);
    let list = list.split_inclusive(|byte| *byte == b'\n').nth(1).expect("a list").to_vec();
    let whole = [lines.clone(), list.clone()].concat();
    let alone = Gemini.said_alone(Gemini.decode(&whole).entries, &whole, true);
    assert_eq!(ids(&alone), ["m1", "m2", "m3", "m4", "m5"]);
    // The same, where the first turn is an older commit's.
    let second: Vec<u8> = whole.split_inclusive(|byte| *byte == b'\n').skip(3).flatten().copied().collect();
    let alone = Gemini.said_alone(Gemini.decode(&second).entries, &second, false);
    assert_eq!(ids(&alone), ["m3", "m4", "m5"]);
    // Nothing of the list is in the commit.
    let alone = Gemini.said_alone(Gemini.decode(&list).entries, &list, false);
    assert_eq!(ids(&alone), Vec::<&str>::new());
}

#[test]
fn the_conversation_can_go_back_into_a_list() {
    let back = |id: &str| format!("{{\"$rewindTo\":\"{id}\"}}\n").into_bytes();
    let tail: Vec<u8> =
        session("HUAUAUA").split_inclusive(|byte| *byte == b'\n').skip(5).flatten().copied().collect();
    for (id, wanted) in [
        ("m3", vec!["m1", "m2", "m5", "m6"]),
        ("m1", vec!["m5", "m6"]),
        ("m4", vec!["m1", "m2", "m3", "m5", "m6"]),
    ] {
        let bytes = [listed("HUAUA", &[4]), back(id), tail.clone()].concat();
        for stop in [PlanStop::Compaction, PlanStop::Root] {
            let (plan, context) = crate::chain_tests::planned(&Gemini, &bytes, stop);
            let ids: Vec<String> = told(&context).into_iter().map(|(_, id)| id).collect();
            assert_eq!(ids, wanted, "{id} {stop:?}");
            assert_eq!(plan.notes, [], "{id}");
            let verdict = checked(&Gemini, &context);
            assert_eq!(verdict.messages_present, checked(&Gemini, &bytes).messages_present, "{id}");
            assert!(verdict.is_accepted(), "{:?}", verdict.findings);
        }
    }
}

#[test]
fn a_message_that_is_written_again_behind_its_list_is_said_once() {
    let again: Vec<u8> =
        session("HUA").split_inclusive(|byte| *byte == b'\n').nth(2).expect("a line").to_vec();
    let again = String::from_utf8(again).expect("text").replace("done 2", "done twice");
    let bytes = [listed("HUA", &[2]), again.into_bytes()].concat();
    let (_, context) = crate::chain_tests::planned(&Gemini, &bytes, PlanStop::Compaction);
    let entries = super::as_loaded(Gemini.told(&context).entries);
    assert_eq!(ids(&entries), ["m1", "m2"]);
    assert!(format!("{entries:?}").contains("done twice"));
}

#[test]
fn of_messages_with_one_id_in_a_list_the_last_counts_at_the_place_of_the_first() {
    let bytes = String::from_utf8(listed("HUAUA", &[4])).expect("text").replace("\"m4\"", "\"m2\"");
    assert_eq!(checked(&Gemini, bytes.as_bytes()).messages_sent, 3);
    for stop in [PlanStop::Compaction, PlanStop::Root] {
        let (_, context) = crate::chain_tests::planned(&Gemini, bytes.as_bytes(), stop);
        let entries = super::as_loaded(Gemini.told(&context).entries);
        assert_eq!(ids(&entries), ["m1", "m2", "m3"], "{stop:?}");
        let text = format!("{entries:?}");
        assert!(text.contains("done 4") && !text.contains("done 2"), "{text}");
    }
    let alone = Gemini.said_alone(Gemini.decode(bytes.as_bytes()).entries, bytes.as_bytes(), true);
    assert_eq!(ids(&alone), ["m1", "m2", "m3"]);
    let back = bytes + "{\"$rewindTo\":\"m2\"}\n";
    let (_, context) = crate::chain_tests::planned(&Gemini, back.as_bytes(), PlanStop::Compaction);
    assert_eq!((told(&context).len(), checked(&Gemini, back.as_bytes()).messages_sent), (1, 1));
}

#[test]
fn a_commit_that_is_cut_within_a_list_is_closed() {
    let bytes = listed("HUAUA", &[4]);
    let alone = Gemini.said_alone(Gemini.decode(&bytes).entries, &bytes, true);
    for entry in &alone {
        let end = usize::try_from(entry.native.offset + entry.native.length).expect("small");
        let cut = [&bytes[..end], &Gemini.closing(&bytes, end)].concat();
        let read = Gemini.decode(&cut);
        assert_eq!(read.entries.len(), if entry == &alone[0] { 1 } else { 2 });
        assert!(
            cut.split(|byte| *byte == b'\n')
                .all(|line| line.is_empty() || serde_json::from_slice::<serde_json::Value>(line).is_ok())
        );
    }
}

#[test]
fn lines_that_are_no_single_record_are_read_checked_and_mended() {
    let text = String::from_utf8(session("HUAUA")).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let bad = |at: usize, with: &dyn Fn(&str) -> Vec<u8>| -> Vec<u8> {
        let line = |(index, line): (usize, &&str)| {
            if index == at { with(line) } else { line.as_bytes().to_vec() }
        };
        let all: Vec<Vec<u8>> = lines.iter().enumerate().map(line).collect();
        [all.join(&b'\n'), b"\n".to_vec()].concat()
    };
    let replaced = |line: &str, from: &str, to: &[u8]| -> Vec<u8> {
        let (before, after) = line.split_once(from).expect("there");
        [before.as_bytes(), to, after.as_bytes()].concat()
    };
    for (name, bytes, check, sent) in [
        ("no UTF-8", bad(1, &|line| replaced(line, "thing", b"th\xefng")), vec![], 4),
        (
            "half of a pair",
            bad(1, &|line| replaced(line, "thing", b"th\\ud83dng")),
            vec!["lone_surrogate"],
            4,
        ),
        ("a comma", bad(2, &|line| format!("{line},").into_bytes()), vec!["unread_record"], 3),
        ("NUL", bad(2, &|line| format!("{line}\0\0").into_bytes()), vec!["unread_record"], 3),
        (
            "a torn one before",
            bad(2, &|line| format!("{{\"id\":\"m9\",\"ty{line}").into_bytes()),
            vec!["unread_record"],
            3,
        ),
        ("a mark", bad(0, &|line| format!("\u{feff}{line}").into_bytes()), vec!["unread_record"], 0),
    ] {
        let verdict = checked(&Gemini, &bytes);
        assert_eq!(
            (fatal(&bytes), verdict.messages_sent, verdict.messages_present),
            (check, sent, 4),
            "{name}"
        );
        assert!(Gemini.detect(&bytes).is_some(), "{name}");
        assert_eq!(ids(&Gemini.decode(&bytes).entries), ["m1", "m2", "m3", "m4"], "{name}");
        let (_, context) = crate::chain_tests::planned(&Gemini, &bytes, PlanStop::Compaction);
        let (out, _) = placed(&context);
        assert_eq!(
            (fatal(out.as_bytes()), checked(&Gemini, out.as_bytes()).messages_sent),
            (if name == "half of a pair" { vec!["lone_surrogate"] } else { vec![] }, 4),
            "{name}"
        );
        let mended = crate::repair::repair(&Gemini, &bytes, None);
        assert!(mended.validation.is_accepted(), "{name}: {:?}", mended.validation.findings);
        assert_eq!(mended.validation.messages_sent, 4, "{name}");
        assert_eq!(mended.bytes == bytes, name == "no UTF-8", "{name}");
        // Where commits end is decided by whole lines alone.
        let whole = crate::chain_tests::commits(&Gemini, Granularity::Turn, &mended.bytes);
        assert_eq!(whole.len(), 2, "{name}");
    }
    let two = bad(2, &|line| format!("{line}{}", lines[3]).into_bytes());
    assert_eq!(
        crate::repair::repair(&Gemini, &two, None).validation.messages_sent,
        4 + u64::from(lines[3] == lines[4])
    );
}

#[test]
fn the_conversation_can_go_back_to_what_is_for_a_person_only() {
    let notice = "{\"id\":\"n1\",\"timestamp\":\"2026-01-01T00:00:09.000Z\",\"type\":\"info\",\"content\":\"Update\"}\n";
    let back = "{\"$rewindTo\":\"n1\"}\n";
    let bytes = [session("HUA"), notice.into(), back.into()].concat();
    let verdict = checked(&Gemini, &bytes);
    assert_eq!((verdict.findings, verdict.messages_sent), (vec![], 2));
    assert_eq!(crate::repair::repair(&Gemini, &bytes, None).changes, []);
}

#[test]
fn a_list_ahead_of_which_nothing_was_said_counts_its_messages() {
    let said = |id: u8, kind: &str| {
        format!(
            r#"{{"id":"l{id}","timestamp":"2026-01-01T00:00:0{id}.000Z","type":"{kind}","content":"word {id}"}}"#
        )
    };
    let list = format!(
        "{{\"$set\":{{\"messages\":[{}]}}}}\n",
        [said(1, "user"), said(2, "gemini"), said(3, "info"), said(4, "user")].join(",")
    );
    for (ahead, wanted) in [("H", 3), ("HUA", 2)] {
        let bytes = [session(ahead), list.clone().into()].concat();
        let mut splitter = Gemini.splitter(Granularity::Turn, None);
        let mut messages = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let cut = splitter.line(line, &mut Vec::new());
            messages +=
                [cut.before, cut.after].into_iter().flatten().map(|facts| facts.counts.messages).sum::<u64>();
        }
        assert_eq!(messages + splitter.open().counts.messages, wanted, "{ahead}");
    }
}
