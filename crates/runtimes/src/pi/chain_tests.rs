//! Chains of pi sessions: what is committed, materialized, placed and checked.

use stemmata_model::{CommitType, Granularity, Timestamp};

use super::Pi;
use super::samples_tests::{SESSION, id, session};
use crate::adapter::{Adapter, Keeps, PlanStop, Severity, Validation};
use crate::chain_tests::{Chain, PLACED, checked, commits, placed as placed_by, planned, request};

/// The letters of the lines that bytes hold: by their ids, or in the first version by their times.
fn letters(story: &str, bytes: &[u8]) -> String {
    let mut plain = String::new();
    let mut is_inside = false;
    for letter in story.chars() {
        is_inside = (is_inside || letter == '[') && letter != ']';
        plain.extend((!is_inside && letter != ']').then_some(letter));
    }
    let text = String::from_utf8(bytes.to_vec()).expect("text");
    let letter = |line: &str| {
        let stamp = |at: usize| format!("2026-01-01T00:{:02}:{:02}.000Z", at / 60, at % 60);
        let found = plain.char_indices().find(|(at, _)| line.contains(&stamp(*at)));
        found.map_or('?', |(_, letter)| letter)
    };
    text.lines().map(letter).collect()
}

fn checks(verdict: &Validation) -> Vec<(Severity, &'static str)> {
    verdict.findings.iter().map(|finding| (finding.severity, finding.check)).collect()
}

#[test]
fn commits_close_where_a_turn_begins_and_around_a_compaction() {
    for (story, wanted) in [
        ("HmlUAUA", "HmlUA|UA"),
        ("HUFRlUA", "HUFRl|UA"),
        ("HUASUA", "HUAS|UA"),
        ("HUACUA", "HUA|C!|UA"),
        ("HUFkRA", "HUF|k!|RA"),
        ("HEUA", "HE|UA"),
    ] {
        for version in [1, 3] {
            let adapter = if version == 1 { Pi::V1 } else { Pi::V3 };
            let parts: Vec<String> = commits(&adapter, Granularity::Turn, &session(story, version))
                .iter()
                .map(|(commit_type, native)| {
                    let mark = if *commit_type == CommitType::Compaction { "!" } else { "" };
                    format!("{}{mark}", letters(story, native))
                })
                .collect();
            assert_eq!(parts.join("|"), wanted);
        }
    }
}

#[test]
fn a_context_is_what_the_loader_would_send() {
    for (story, stop, wanted) in [
        ("HmUAUA", PlanStop::Compaction, "HmUAUA"),
        // A compaction stands for all before it but the header and what it keeps.
        ("HUAUACUA", PlanStop::Compaction, "HCUA"),
        ("HUAUAkUA", PlanStop::Compaction, "HUAkUA"),
        ("HUAUAkUAkA", PlanStop::Compaction, "HUAkA"),
        // What the first one keeps may be kept again, and the first itself is nothing to the loader.
        ("HUAUAkAkA", PlanStop::Compaction, "HAkA"),
        ("HUAUAkUACA", PlanStop::Root, "HUAUAUAA"),
        ("HCUA", PlanStop::Root, "HCUA"),
        ("HUA?UA", PlanStop::Root, "HUA?UA"),
    ] {
        for (adapter, version) in [(Pi::V1, 1), (Pi::V3, 3)] {
            let (plan, context) = planned(&adapter, &session(story, version), stop);
            assert_eq!(letters(story, &context), wanted, "{story} {stop:?} in version {version}");
            assert_eq!((plan.abandoned_entries, plan.recovered), (0, 0), "{story}");
            let verdict = checked(&adapter, &context);
            assert!(verdict.is_accepted(), "{story}: {:?}", verdict.findings);
            assert_eq!(verdict.messages_sent, verdict.messages_present, "{story}");
            let seen = wanted.chars().filter(|letter| !"Hm?".contains(*letter)).count();
            assert_eq!(usize::try_from(verdict.messages_sent).expect("small"), seen, "{story} {stop:?}");
        }
    }
}

#[test]
fn the_way_goes_by_parents_and_abandoned_branches_are_counted() {
    for (story, stop, wanted, abandoned, skipped) in [
        ("HUAUA[2]UA", PlanStop::Compaction, "HUAUA", 2, 0),
        ("HUAUA[2]BUA", PlanStop::Root, "HUABUA", 2, 0),
        // Back to before a compaction: it is not on the way.
        ("HUAUAC[2]UA", PlanStop::Compaction, "HUAUA", 3, 0),
        ("HUAUACUA[2]UA", PlanStop::Root, "HUAUA", 5, 0),
        // A compaction on the branch where the conversation stands.
        ("HUAUA[2]UACUA", PlanStop::Compaction, "HCUA", 0, 0),
        ("HUAUA[2]UAkUA", PlanStop::Compaction, "HUAkUA", 0, 0),
        ("HUAUA[2]UACUA", PlanStop::Root, "HUAUAUA", 2, 1),
        // A second beginning.
        ("HUA[0]UA", PlanStop::Root, "HUA", 2, 0),
        // Back into what a compaction keeps, and before it.
        ("HUAUAk[5]UA[5]UA", PlanStop::Compaction, "HUAkUA", 2, 0),
        ("HUAUAk[4]UA", PlanStop::Compaction, "HUAUAUA", 1, 0),
    ] {
        let bytes = session(story, 3);
        let (plan, context) = planned(&Pi::V3, &bytes, stop);
        assert_eq!(letters(story, &context), wanted, "{story} {stop:?}");
        assert_eq!((plan.abandoned_entries, plan.skipped_compactions), (abandoned, skipped), "{story}");
        let verdict = checked(&Pi::V3, &context);
        assert!(verdict.is_accepted(), "{story}: {:?}", verdict.findings);
        assert_eq!(verdict.messages_sent, verdict.messages_present, "{story}");
    }
}

#[test]
fn an_ancestor_is_where_the_context_begins() {
    let bytes = session("HUAUAUA", 3);
    let mut chain = Chain::import(&Pi::V3, Granularity::Turn, &bytes);
    chain.segments[1].is_stop = true;
    let (plan, context) = chain.context(PlanStop::Ancestor);
    assert_eq!(letters("HUAUAUA", &context), "UAUA");
    let first = String::from_utf8(context).expect("text").lines().next().expect("a line").to_owned();
    assert!(first.contains("\"parentId\":null"), "{first}");
    assert_eq!(plan.reparented.len(), 1);
}

#[test]
fn a_kept_entry_whose_parent_went_hangs_on_nothing() {
    let (_, context) = planned(&Pi::V3, &session("HUAUAkUA", 3), PlanStop::Compaction);
    let text = String::from_utf8(context).expect("text");
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((lines[1]["id"].as_str(), lines[1]["parentId"].as_str()), (Some(id(3).as_str()), None));
    assert_eq!(lines[3]["firstKeptEntryId"], lines[1]["id"]);
    let (_, context) = planned(&Pi::V1, &session("HUAUAkUA", 1), PlanStop::Compaction);
    let text = String::from_utf8(context).expect("text");
    assert!(text.contains("\"firstKeptEntryIndex\":1,"), "counted in what is written: {text}");
}

#[test]
fn what_the_loader_would_lose_is_mended() {
    let bytes = session("HUAUA", 3);
    let text = String::from_utf8(bytes).expect("text");
    // One entry without a parent, another with one that was never written.
    for (from, to, check) in [
        (format!("\"parentId\":\"{}\",", id(2)), String::new(), "missing_parent_id"),
        (format!("\"parentId\":\"{}\"", id(2)), "\"parentId\":\"deadbeef\"".to_owned(), "dangling_parent"),
    ] {
        let broken = text.replace(&from, &to);
        let verdict = checked(&Pi::V3, broken.as_bytes());
        assert_eq!(checks(&verdict), [(Severity::Fatal, check)]);
        assert_eq!((verdict.messages_sent, verdict.messages_present), (2, 4));
        let (plan, context) = planned(&Pi::V3, broken.as_bytes(), PlanStop::Root);
        assert_eq!((plan.recovered, plan.reparented.len()), (1, 1));
        let verdict = checked(&Pi::V3, &context);
        assert_eq!((checks(&verdict), verdict.messages_sent), (vec![], 4));
    }
}

#[test]
fn what_the_loader_would_stumble_over_is_found() {
    let with = |letters: &str, from: &str, to: &str| {
        let text = String::from_utf8(session(letters, 3)).expect("text").replace(from, to);
        checked(&Pi::V3, text.as_bytes())
    };
    for (verdict, severity, check, counts) in [
        (with("UA", "", ""), Severity::Fatal, "missing_header", (0, 2)),
        (with("HUA", "\"usage\"", "\"used\""), Severity::Fatal, "missing_usage", (0, 2)),
        (with("HUF", "", ""), Severity::Warning, "call_without_result", (2, 2)),
        (with("HUAR", "", ""), Severity::Fatal, "result_without_call", (3, 3)),
        (with("HUA", "\"version\":3", "\"version\":4"), Severity::Warning, "unknown_version", (2, 2)),
        (with("HU?A", "", ""), Severity::Warning, "unreadable_line", (2, 2)),
        (with("HUxA", "", ""), Severity::Info, "unknown_type", (2, 2)),
        (with("HUAkA", "firstKept", "firstLost"), Severity::Info, "", (2, 2)),
        (
            with("HUAkA", "EntryId\":\"00c0", "EntryId\":\"ffc0"),
            Severity::Warning,
            "kept_entry_missing",
            (2, 2),
        ),
    ] {
        let wanted = if check.is_empty() { vec![] } else { vec![(severity, check)] };
        assert_eq!(checks(&verdict), wanted);
        assert_eq!((verdict.messages_sent, verdict.messages_present), counts, "{check}");
    }
    let mut torn = session("HUAU", 3);
    torn.truncate(torn.len() - 9);
    assert_eq!(checks(&checked(&Pi::V3, &torn)), [(Severity::Info, "torn_tail")]);
    assert_eq!(checks(&checked(&Pi::V3, b"")), [(Severity::Fatal, "missing_header")]);
}

const CWD: &str = "/home/me/new place";

fn placed(adapter: &dyn Adapter, bytes: &[u8]) -> (String, usize) {
    let (text, notes) = placed_by(adapter, &request(CWD), bytes);
    (text, notes.len())
}

#[test]
fn placing_changes_the_header_and_nothing_else() {
    for (adapter, version) in [(Pi::V1, 1), (Pi::V2, 2), (Pi::V3, 3)] {
        let bytes = session("HmlUFRA[3]UASk", version);
        let (after, notes) = placed(&adapter, &bytes);
        let before = String::from_utf8(bytes).expect("text");
        let wanted = before.replace(SESSION, PLACED).replace("/srv/project", CWD);
        assert_eq!((after.as_str(), notes), (wanted.as_str(), 0));
    }
}

#[test]
fn placing_closes_calls_that_have_no_result() {
    for (adapter, version) in [(Pi::V1, 1), (Pi::V3, 3)] {
        let (after, notes) = placed(&adapter, &session("HUFRUP1", version));
        assert_eq!(after.matches("Closed by Stemmata").count(), 1);
        assert!(after.contains("\"toolCallId\":\"call_105\",\"toolName\":\"bash\""), "{after}");
        let verdict = checked(&adapter, after.as_bytes());
        assert_eq!((checks(&verdict), verdict.messages_sent, notes), (vec![], 7, 1));
        // Calls in the middle are the client's own to answer; of an answer that was broken off there are none.
        assert!(!placed(&adapter, &session("HUFUA", version)).0.contains("Closed by Stemmata"));
        let aborted =
            String::from_utf8(session("HUF", version)).expect("text").replace("\"toolUse\"", "\"aborted\"");
        assert!(!placed(&adapter, aborted.as_bytes()).0.contains("Closed by Stemmata"));
    }
}

#[test]
fn placing_mends_what_the_loader_would_lose() {
    for (adapter, version) in [(Pi::V1, 1), (Pi::V3, 3)] {
        let broken =
            String::from_utf8(session("UAUA", version)).expect("text").replace("\"usage\"", "\"used\"");
        let broken = broken.replace(&format!("\"parentId\":\"{}\",", id(1)), "");
        let (after, _) = placed(&adapter, format!("{broken}{{\"type\":\"me").as_bytes());
        let verdict = checked(&adapter, after.as_bytes());
        assert_eq!(
            (checks(&verdict), verdict.messages_sent, verdict.messages_present),
            (vec![], 4, 4),
            "{after}"
        );
    }
}

#[test]
fn the_client_looks_where_the_directory_says() {
    let place = Pi::V3.client_place(&request(CWD));
    assert_eq!(
        place.relative_path,
        [
            "sessions",
            "--home-me-new place--",
            "2026-11-22T05-06-07-089Z_99999999-8888-4777-8666-555555555555.jsonl"
        ]
    );
    assert_eq!(place.resume_command, ["pi", "--session", PLACED]);
}

#[test]
fn our_compaction_is_one_that_the_loader_takes() {
    for (adapter, version) in [(Pi::V1, 1), (Pi::V3, 3)] {
        let mut bytes = session("HUAUA", version);
        let at = Timestamp::parse("2026-01-01T00:09:00Z").expect("a time");
        bytes.extend(adapter.encode_compaction("so it was", &Keeps::nothing(&adapter.decode(&bytes)), at));
        let verdict = checked(&adapter, &bytes);
        assert_eq!((checks(&verdict), verdict.messages_sent), (vec![], 1));
        let (_, context) = planned(&adapter, &bytes, PlanStop::Compaction);
        assert_eq!(context.iter().filter(|byte| **byte == b'\n').count(), 2);
        assert!(checked(&adapter, &context).findings.is_empty());
    }
}

#[test]
fn real_sessions_are_accepted_and_placed() {
    for (name, bytes) in crate::corpus_tests::files("pi", "jsonl") {
        let (adapter, _) = crate::corpus_tests::adapter_of(&bytes).expect("a version");
        for stop in [PlanStop::Compaction, PlanStop::Root] {
            let (plan, context) = planned(adapter, &bytes, stop);
            let (after, _) = placed(adapter, &context);
            let verdict = checked(adapter, after.as_bytes());
            assert!(verdict.is_accepted(), "{name}: {:?}", verdict.findings);
            assert_eq!(verdict.messages_sent, verdict.messages_present, "{name}");
            if stop == PlanStop::Compaction {
                assert_eq!(verdict.messages_sent, checked(adapter, &bytes).messages_sent, "{name}");
            }
            println!(
                "{name} {stop:?}: {} of {} bytes, {} messages, {} segments read, {} compactions skipped, {} findings",
                context.len(),
                bytes.len(),
                verdict.messages_sent,
                plan.segments_read,
                plan.skipped_compactions,
                verdict.findings.len()
            );
        }
    }
}

/// Repairs bytes, and returns what is written where the client takes it whole.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let repaired = crate::repair::repair(&Pi::V3, bytes, None);
    let verdict = &repaired.validation;
    let is_harmless = verdict.findings.iter().all(|found| found.severity == Severity::Info);
    assert!(is_harmless, "{:?}", verdict.findings);
    assert_eq!(verdict.messages_sent, verdict.messages_present);
    repaired.bytes
}

#[test]
fn a_record_for_nobody_at_an_older_entry_does_not_end_the_conversation() {
    for (story, wanted, sent) in [
        // A label, a title, a setting or a record of tomorrow; one, and several that hang on each other.
        ("HUAUA[2]L", "HUAUA", 2),
        ("HUAUA[2]N", "HUAUA", 2),
        ("HUAUA[2]m", "HUAUA", 2),
        ("HUAUA[2]x", "HUAUA", 2),
        ("HUAUA[2]NL", "HUAUA", 2),
        ("HUAUA[0]N", "HUAUA", 0),
        // What follows the last message stays with it.
        ("HUAUAN[2]L", "HUAUAN", 2),
        ("HUAUACUA[2]L", "HCUA", 2),
    ] {
        let bytes = session(story, 3);
        let (plan, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        assert_eq!((letters(story, &context).as_str(), plan.abandoned_entries), (wanted, 0), "{story}");
        let verdict = checked(&Pi::V3, &bytes);
        let present =
            u64::try_from(wanted.chars().filter(|letter| "UAC".contains(*letter)).count()).expect("few");
        let fatal = checks(&verdict).into_iter().filter(|(severity, _)| *severity == Severity::Fatal);
        assert_eq!(fatal.collect::<Vec<_>>(), [(Severity::Fatal, "dead_end_last")], "{story}");
        assert_eq!((verdict.messages_sent, verdict.messages_present), (sent, present), "{story}");
        let whole = mended(&bytes);
        assert_eq!(planned(&Pi::V3, &whole, PlanStop::Compaction).0.abandoned_entries, 0, "{story}");
    }
    // Something said there does end it, and so does a record that follows on the last message.
    for (story, wanted) in [("HUAUA[2]S", "HUAS"), ("HUAUA[2]LUA", "HUALUA"), ("HUAUALN", "HUAUALN")] {
        let (_, context) = planned(&Pi::V3, &session(story, 3), PlanStop::Compaction);
        assert_eq!(letters(story, &context), wanted);
    }
}

/// Takes lines of a session to its end, or says them there again.
fn late(bytes: &[u8], lines: &[usize], again: bool) -> Vec<u8> {
    let all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let stays = all.iter().enumerate().filter(|(index, _)| again || !lines.contains(index));
    let moved = lines.iter().map(|index| all[*index]);
    stays.map(|(_, line)| *line).chain(moved).collect::<Vec<_>>().concat()
}

#[test]
fn what_was_written_late_or_again_does_not_end_the_conversation() {
    // Sent by the real loader (0.73.1), and there.
    for (story, lines, wanted, sent, present) in [
        ("HUAUAUA", &[3][..], "HUAUAUA", 3, 6),
        ("HUAUAUA", &[4], "HUAUAUA", 4, 6),
        ("HUAUAUA", &[1], "HUAUAUA", 1, 6),
        ("HUAUAUA", &[2, 4], "HUAUAUA", 4, 6),
        ("HUALUA", &[3], "HUALUA", 2, 4),
        ("HUFRAUA", &[3], "HUFRAUA", 3, 6),
        // A compaction behind what follows on it; what it keeps, and what it replaced.
        ("HUAUACUA", &[5], "HCUA", 1, 3),
        ("HUAUAkUA", &[5], "HUAkUA", 3, 5),
        ("HUAUAkUA", &[4], "HUAkUA", 4, 5),
        ("HUAUACUA", &[2], "HCUA", 2, 3),
        ("HUAUAkUAkUA", &[8], "HUAkUA", 3, 5),
    ] {
        for again in [false, true] {
            let bytes = late(&session(story, 3), lines, again);
            let verdict = checked(&Pi::V3, &bytes);
            let fatal = checks(&verdict).into_iter().filter(|(severity, _)| *severity == Severity::Fatal);
            let wanted_check = if story == "HUALUA" { "dead_end_last" } else { "late_record" };
            assert_eq!(fatal.map(|found| found.1).collect::<Vec<_>>(), [wanted_check], "{story} {lines:?}");
            assert_eq!(
                (verdict.messages_sent, verdict.messages_present),
                (sent, present),
                "{story} {lines:?}"
            );
            for bytes in [bytes.clone(), mended(&bytes)] {
                let (plan, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
                assert_eq!(letters(story, &context), wanted, "{story} {lines:?} {again}");
                assert_eq!((plan.abandoned_entries, plan.recovered), (0, 0), "{story} {lines:?}");
                let verdict = checked(&Pi::V3, &context);
                assert!(verdict.is_accepted(), "{story}: {:?}", verdict.findings);
                assert_eq!((verdict.messages_sent, verdict.messages_present), (present, present), "{story}");
            }
            let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Root);
            let whole = if story.contains('U') { story.replace(['C', 'k'], "") } else { String::new() };
            assert_eq!(letters(story, &context), whole, "{story} {lines:?} {again}");
        }
    }
}

#[test]
fn of_entries_with_one_id_the_last_counts_at_the_place_of_the_first() {
    let text = String::from_utf8(late(&session("HUAUAUA", 3), &[3], true)).expect("text");
    let at = text.rfind("do thing 3").expect("said again");
    let text = format!("{}say it anew{}", &text[..at], &text[at + 10..]);
    for bytes in [text.clone().into_bytes(), mended(text.as_bytes())] {
        let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        assert_eq!(letters("HUAUAUA", &context), "HUAUAUA");
        let context = String::from_utf8(context).expect("text");
        assert!(context.contains("say it anew") && !context.contains("do thing 3"), "{context}");
    }
}

#[test]
fn a_result_that_was_written_behind_what_followed_on_its_call_is_said_ahead_of_that() {
    let story = "HUFUA[2]RUA";
    let answers =
        |bytes: Vec<u8>| String::from_utf8(bytes).expect("text").replace("call_4\"", "call_2\"").into_bytes();
    let last = answers(session("HUFUA[2]R", 3));
    let verdict = checked(&Pi::V3, &last);
    assert_eq!((verdict.messages_sent, verdict.messages_present), (3, 5));
    assert_eq!(checks(&verdict), [(Severity::Fatal, "late_record")]);
    for bytes in [last.clone(), mended(&last)] {
        let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        assert_eq!(letters(story, &context), "HUFRUA");
        assert_eq!(checks(&checked(&Pi::V3, &context)), []);
    }
    // What the client went on from is where the conversation goes on.
    let on = answers(session(story, 3));
    let (plan, context) = planned(&Pi::V3, &on, PlanStop::Compaction);
    assert_eq!((letters(story, &context).as_str(), plan.abandoned_entries), ("HUFRUA", 2));
}

#[test]
fn a_record_for_nobody_at_the_end_of_another_branch_is_where_the_user_went() {
    for (story, wanted) in [("HUAUA[2]UA[4]L", "HUAUAL"), ("HUAUAUA[2]UA[6]N", "HUAUAUAN")] {
        let bytes = session(story, 3);
        let (plan, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        assert_eq!((letters(story, &context).as_str(), plan.abandoned_entries), (wanted, 2));
        let verdict = checked(&Pi::V3, &bytes);
        assert_eq!((checks(&verdict), verdict.messages_sent), (vec![], verdict.messages_present));
    }
}

#[test]
fn parents_that_lead_in_a_circle_are_found_and_mended() {
    let plain = String::from_utf8(session("HUAUAUA", 3)).expect("text");
    let parent = |text: &str, from: usize, to: usize| {
        text.replace(&format!("\"parentId\":\"{}\"", id(from)), &format!("\"parentId\":\"{}\"", id(to)))
    };
    // The third hangs on the last, the last on itself, two at the end on each other.
    for text in [parent(&plain, 2, 6), parent(&plain, 5, 6), parent(&plain, 4, 6)] {
        let verdict = checked(&Pi::V3, text.as_bytes());
        assert_eq!(checks(&verdict), [(Severity::Fatal, "circle")]);
        assert_eq!((verdict.messages_sent, verdict.messages_present), (0, 6), "{text}");
        for bytes in [text.clone().into_bytes(), mended(text.as_bytes())] {
            let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
            assert_eq!(letters("HUAUAUA", &context), "HUAUAUA");
            assert_eq!(checked(&Pi::V3, &context).messages_sent, 6);
        }
    }
}

#[test]
fn a_circle_behind_a_result_is_said_to_be_one() {
    let plain = String::from_utf8(session("HUFRAUA", 3)).expect("text");
    let text = plain.replace(&format!("\"parentId\":\"{}\"", id(3)), &format!("\"parentId\":\"{}\"", id(6)));
    let changes = crate::repair::repair(&Pi::V3, text.as_bytes(), None).changes;
    assert!(format!("{changes:?}").contains("lead in a circle"), "{changes:?}");
    assert!(!format!("{changes:?}").contains("written late"), "{changes:?}");
}

#[test]
fn an_answer_that_was_broken_off_or_says_nothing_is_not_sent() {
    // As the real loader (0.73.1) sends them; a call in one waits for nothing.
    let plain = String::from_utf8(session("HUAUAUF", 3)).expect("text");
    let cut = |stop: &str| plain.replace("\"toolUse\"", &format!("\"{stop}\""));
    let blank = plain.replace("\"text\":\"done 2\"", "\"text\":\" \"");
    let (before, after) = plain.split_once("done 2").expect("there");
    let (before, after) = (before.rsplit_once('[').expect("a list").0, after.split_once(']').expect("one").1);
    let none = format!("{before}[]{after}");
    for text in [cut("error"), cut("aborted"), blank, none] {
        let verdict = checked(&Pi::V3, text.as_bytes());
        assert_eq!((verdict.messages_sent, verdict.messages_present), (5, 5), "{text}");
        let (text, _) = placed(&Pi::V3, &planned(&Pi::V3, text.as_bytes(), PlanStop::Compaction).1);
        let closed = u64::from(text.contains("Closed by"));
        assert_eq!(checked(&Pi::V3, text.as_bytes()).messages_sent, 5 + closed);
    }
}

#[test]
fn an_entry_that_is_there_again_below_itself_leads_in_a_circle() {
    let plain = String::from_utf8(session("HUAUAUA", 3)).expect("text");
    let again = plain
        .lines()
        .nth(3)
        .expect("a line")
        .replace(&format!("Id\":\"{}\"", id(2)), &format!("Id\":\"{}\"", id(6)));
    let bytes = format!("{plain}{again}\n").into_bytes();
    let verdict = checked(&Pi::V3, &bytes);
    assert_eq!(checks(&verdict), [(Severity::Fatal, "circle"), (Severity::Fatal, "late_record")]);
    assert_eq!((verdict.messages_sent, verdict.messages_present), (0, 6));
    for bytes in [bytes.clone(), mended(&bytes)] {
        let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        assert_eq!(letters("HUAUAUA", &context), "HUAUAUA");
    }
}

#[test]
fn a_note_at_the_end_that_hangs_on_itself_ends_no_planning() {
    let plain = String::from_utf8(session("HUAL", 3)).expect("text");
    let text = plain.replace(&format!("\"parentId\":\"{}\"", id(2)), &format!("\"parentId\":\"{}\"", id(3)));
    assert_ne!(text, plain);
    let (_, context) = planned(&Pi::V3, text.as_bytes(), PlanStop::Compaction);
    assert_eq!(checked(&Pi::V3, &context).messages_sent, 2);
}

/// Forks and repairs a session after changes: a line that is moved (0), that is there again (1), that hangs on another one (2).
fn assert_fork_and_repair_agree(letters: &str, changes: &[(usize, usize, u8)]) {
    let text = String::from_utf8(session(letters, 3)).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, to, what) in changes {
        let (line, to) = (1 + line % (lines.len() - 1), 1 + to % (lines.len() - 1));
        match what {
            0 => {
                let moved = lines.remove(line);
                lines.insert(to, moved);
            }
            1 => lines.insert(to, lines[line].clone()),
            _ => {
                let mut other: serde_json::Value = serde_json::from_str(&lines[line]).expect("JSON");
                let parent: serde_json::Value = serde_json::from_str(&lines[to]).expect("JSON");
                other["parentId"] = parent["id"].clone();
                lines[line] = other.to_string();
            }
        }
    }
    let bytes = (lines.join("\n") + "\n").into_bytes();
    let said = |bytes: &[u8]| -> Vec<String> {
        let entries = Pi::V3.decode(bytes).entries.into_iter().filter(|entry| entry.meta.visibility.agent);
        let parts = entries.map(|entry| format!("{:?}", entry.parts));
        parts.filter(|parts| !parts.contains("No result") && !parts.contains("Closed by")).collect()
    };
    let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
    let (forked, _) = placed(&Pi::V3, &context);
    let verdict = checked(&Pi::V3, forked.as_bytes());
    let of = String::from_utf8_lossy(&bytes);
    assert!(verdict.is_accepted(), "{:?}", verdict.findings);
    let repaired = crate::repair::repair(&Pi::V3, &bytes, None).bytes;
    assert_eq!(verdict.messages_sent, checked(&Pi::V3, &repaired).messages_sent, "{of}");
    let of_repaired = planned(&Pi::V3, &repaired, PlanStop::Compaction).1;
    assert_eq!(said(forked.as_bytes()), said(placed(&Pi::V3, &of_repaired).0.as_bytes()), "{of}");
}

/// Found by the law below: the result of a call that is not there becomes what a user says, which closes the call that waits.
#[test]
fn a_call_ahead_of_a_result_of_another_one_waits_for_none() {
    for letters in ["HFNR", "HFLR", "HFRLR"] {
        assert_fork_and_repair_agree(letters, &[]);
    }
}

/// Found by the law below.
#[test]
fn what_hangs_on_the_last_entry_is_found_wherever_it_was_written() {
    assert_fork_and_repair_agree("HAUEANUNRU", &[(8, 1, 0)]);
    // A circle loses nothing of what leads into it.
    assert_fork_and_repair_agree("HAUEANUNRU", &[(9, 1, 2), (8, 1, 0)]);
    assert_fork_and_repair_agree("HRNLAEENRAN", &[(8, 10, 0), (2, 9, 2)]);
}

proptest::proptest! {
    #[test]
    fn law_a_fork_and_a_repaired_copy_say_the_same(
        letters in "H[UAFRSELN]{2,12}",
        changes in proptest::collection::vec((1..12_usize, 1..12_usize, 0..3_u8), 0..3),
    ) {
        assert_fork_and_repair_agree(&letters, &changes);
    }
}

/// A compaction that holds the last two messages word for word and names none, as programs on pi's library write it.
fn retaining(story: &str, keeps: &str) -> Vec<u8> {
    let text = String::from_utf8(session(story, 3)).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let message = |at: usize| {
        let line: serde_json::Value = serde_json::from_str(lines[at]).expect("JSON");
        line["message"].to_string()
    };
    let at = story.find('C').expect("a compaction");
    let kept = format!("\"firstKeptEntryId\":\"{}\"", id(at));
    let held = format!("{keeps}\"retainedTail\":[{},{}]", message(at - 2), message(at - 1));
    text.replace(&kept, &held).into_bytes()
}

#[test]
fn messages_that_a_compaction_holds_are_part_of_the_context() {
    for (keeps, findings, sent) in [
        ("", vec![(Severity::Warning, "retained_tail")], 5),
        // The client keeps entries that are named, and they are the same.
        ("\"firstKeptEntryId\":\"00c0de03\",", vec![], 5),
    ] {
        let bytes = retaining("HUAFRCUA", keeps);
        let verdict = checked(&Pi::V3, &bytes);
        assert_eq!((checks(&verdict), verdict.messages_sent, verdict.messages_present), (findings, sent, 5));
        let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        let told = super::as_loaded(Pi::V3.decode(&context).entries);
        let said: Vec<String> = told.iter().skip(1).map(|entry| format!("{:?}", entry.role)).collect();
        assert_eq!(said, ["User", "Assistant", "Tool", "User", "Assistant"], "{keeps}");
        assert!(!format!("{told:?}").contains("retained_tail"));
        // From the root on its messages are there by themselves.
        let (_, whole) = planned(&Pi::V3, &bytes, PlanStop::Root);
        assert_eq!(letters("HUAFRCUA", &whole), "HUAFRUA");
        let (text, _) = placed(&Pi::V3, &context);
        let verdict = checked(&Pi::V3, text.as_bytes());
        assert_eq!((checks(&verdict), verdict.messages_sent), (vec![], 5), "{text}");
        let mended = String::from_utf8(mended(&bytes)).expect("text");
        assert!(mended.contains("firstKeptEntryId"), "{mended}");
    }
}

#[test]
fn a_kept_entry_that_is_there_wins_over_messages_that_a_compaction_holds() {
    // It holds the last two of the three that it names: the real loader (0.73.1) sends the three.
    let bytes = retaining("HUAUFRCUA", "\"firstKeptEntryId\":\"00c0de03\",");
    let verdict = checked(&Pi::V3, &bytes);
    assert_eq!((checks(&verdict), verdict.messages_sent, verdict.messages_present), (vec![], 6, 6));
    assert_eq!(crate::repair::repair(&Pi::V3, &bytes, None).changes, []);
    let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
    let told = super::as_loaded(Pi::V3.decode(&context).entries);
    let roles: Vec<String> = told.iter().skip(1).map(|entry| format!("{:?}", entry.role)).collect();
    assert_eq!(roles, ["User", "User", "Assistant", "Tool", "User", "Assistant"]);
    let (text, notes) = placed(&Pi::V3, &context);
    assert_eq!((letters("HUAUFRCUA", text.as_bytes()).as_str(), notes), ("HUFRCUA", 0));
    // A compaction that was written late, and one whose held result would answer a call.
    let written_late = late(&bytes, &[6], false);
    let (_, context) = planned(&Pi::V3, &written_late, PlanStop::Compaction);
    assert_eq!(letters("HUAUFRCUA", &context), "HUFRCUA");
    for bytes in [written_late, retaining("HUAFRRCUA", "\"firstKeptEntryId\":\"00c0de03\",")] {
        let bytes = mended(&bytes);
        assert!(checked(&Pi::V3, &bytes).is_accepted(), "{}", String::from_utf8_lossy(&bytes));
        let (text, _) = placed(&Pi::V3, &planned(&Pi::V3, &bytes, PlanStop::Compaction).1);
        assert_eq!(checked(&Pi::V3, text.as_bytes()).messages_sent, 6, "{text}");
    }
}

#[test]
fn a_result_that_no_call_waits_for_becomes_what_a_user_says() {
    let broken_off = String::from_utf8(session("HUFRA", 3)).expect("text").replace("toolUse", "aborted");
    for (name, bytes, at) in [
        ("behind a compaction", session("HUFCRA", 3), 5),
        ("behind what an extension said", session("HUFERA", 3), 5),
        ("twice", session("HUFRRA", 3), 5),
        ("of a call that was broken off", broken_off.into_bytes(), 4),
    ] {
        // Results answer the letter before them: here it is the call.
        let bytes = String::from_utf8(bytes).expect("text").replace("call_3\"", "call_2\"").into_bytes();
        let verdict = checked(&Pi::V3, &bytes);
        let fatal = verdict.findings.iter().find(|found| found.severity == Severity::Fatal);
        assert_eq!(
            fatal.map(|found| (found.check, found.line)),
            Some(("result_without_call", Some(at))),
            "{name}"
        );
        let mended = crate::repair::repair(&Pi::V3, &bytes, None);
        assert!(mended.validation.is_accepted(), "{name}: {:?}", mended.validation.findings);
        let text = String::from_utf8(mended.bytes).expect("text");
        assert!(text.contains("[Result of a tool call that is not here]"), "{name}: {text}");
        let (text, _) = placed(&Pi::V3, &planned(&Pi::V3, &bytes, PlanStop::Compaction).1);
        assert!(checked(&Pi::V3, text.as_bytes()).is_accepted(), "{name}: {text}");
    }
}

#[test]
fn a_result_that_a_compaction_holds_without_its_call_becomes_what_a_user_says() {
    // The call is the entry before what the compaction holds: a result and an answer.
    let bytes = retaining("HUFRACUA", "");
    let verdict = checked(&Pi::V3, &bytes);
    assert_eq!(
        (checks(&verdict), verdict.messages_sent, verdict.messages_present),
        (vec![(Severity::Warning, "retained_tail"), (Severity::Fatal, "result_without_call")], 5, 5)
    );
    let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
    for text in [placed(&Pi::V3, &context).0.into_bytes(), mended(&bytes)] {
        let verdict = checked(&Pi::V3, &text);
        assert_eq!(
            (checks(&verdict), verdict.messages_sent),
            (vec![], 5),
            "{}",
            String::from_utf8_lossy(&text)
        );
        assert!(String::from_utf8_lossy(&text).contains("[Result of a tool call that is not here]"));
    }
}

#[test]
fn lines_that_are_no_single_record_are_read_checked_and_mended() {
    let text = String::from_utf8(session("HUAUA", 3)).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let bad = |at: usize, with: &dyn Fn(&str) -> Vec<u8>| -> Vec<u8> {
        let line = |(index, line): (usize, &&str)| {
            if index == at { with(line) } else { line.as_bytes().to_vec() }
        };
        let all: Vec<Vec<u8>> = lines.iter().enumerate().map(line).collect();
        [all.join(&b'\n'), b"\n".to_vec()].concat()
    };
    let torn = |line: &str| {
        let (before, after) = line.split_once("done").expect("there");
        [before.as_bytes(), b"d\xefne", after.as_bytes()].concat()
    };
    for (name, bytes, sent, is_lost) in [
        ("no UTF-8", bad(2, &torn), 4, false),
        ("a comma", bad(2, &|line| format!("{line},").into_bytes()), 2, true),
        ("NUL", bad(4, &|line| format!("{line}\0\0").into_bytes()), 3, true),
        (
            "a torn one before",
            bad(2, &|line| format!("{{\"type\":\"message\",\"id\":\"00{line}").into_bytes()),
            2,
            true,
        ),
        ("a mark", bad(0, &|line| format!("\u{feff}{line}").into_bytes()), 0, true),
    ] {
        let verdict = checked(&Pi::V3, &bytes);
        let found = verdict
            .findings
            .iter()
            .any(|found| found.check == "unread_record" && found.severity == Severity::Fatal);
        assert_eq!(
            (found, verdict.messages_sent, verdict.messages_present),
            (is_lost, sent, 4),
            "{name}: {verdict:?}"
        );
        assert!(Pi::V3.detect(&bytes).is_some(), "{name}");
        let (_, context) = planned(&Pi::V3, &bytes, PlanStop::Compaction);
        let seen = Pi::V3.decode(&context).entries.iter().filter(|entry| entry.meta.visibility.agent).count();
        assert_eq!(seen, 4, "{name}");
        let (text, _) = placed(&Pi::V3, &context);
        let verdict = checked(&Pi::V3, text.as_bytes());
        // The torn one stays, on a line of its own.
        let is_torn = name == "a torn one before";
        let odd = if is_torn { vec![(Severity::Warning, "unreadable_line")] } else { vec![] };
        assert_eq!((checks(&verdict), verdict.messages_sent), (odd, 4), "{name}: {text}");
        if is_torn {
            let found = checked(&Pi::V3, &crate::repair::repair(&Pi::V3, &bytes, None).bytes);
            assert_eq!(
                (checks(&found), found.messages_sent),
                (vec![(Severity::Warning, "unreadable_line")], 4)
            );
        } else if is_lost {
            mended(&bytes);
        } else {
            assert_eq!(crate::repair::repair(&Pi::V3, &bytes, None).changes, [], "{name}");
        }
    }
    // Two records on one line: the client reads neither.
    let two = lines[..2].join("\n") + "\n" + &lines[2..].concat() + "\n";
    assert_eq!(checked(&Pi::V3, two.as_bytes()).messages_present, 4);
    assert_eq!(checked(&Pi::V3, &mended(two.as_bytes())).messages_sent, 4);
    // A line with bad bytes that has to be mended is written as the client reads it.
    let orphan = String::from_utf8(session("HUAR", 3)).expect("text");
    let (before, after) = orphan.split_once("note.txt").expect("there");
    let orphan = [before.as_bytes(), b"n\xefte.txt", after.as_bytes()].concat();
    let text = String::from_utf8(mended(&orphan)).expect("text");
    assert!(text.contains("n\u{fffd}te.txt") && text.contains("that is not here"), "{text}");
}
