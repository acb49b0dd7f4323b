//! Chains of rollouts: what is committed, materialized and placed.

use stemmata_model::{Granularity, Timestamp};

use super::Codex;
use super::base::base;
use super::samples_tests::{BARE, SESSION, rollout};
use crate::adapter::{Adapter as _, Keeps, PlanStop};
use crate::chain_tests::{
    Chain, PLACED, checked, cut, fatal as fatal_of, kept, placed as placed_by, planned, request,
};

const ADAPTER: Codex = Codex::LEGACY;

#[test]
fn commits_close_where_a_turn_begins_and_around_a_compaction() {
    for (letters, wanted) in [
        ("HtDEcUuAtcUA", "HtDEcUuA|tcUA"),
        ("HtUFRUA", "HtUFR|UA"),
        ("HtUAtCcUA", "HtUA|tC!|cUA"),
        ("HtUFCRA", "HtUF|C!|RA"),
        ("HtUAHtUA", "HtUA|HtUA"),
        ("HtcDE", "HtcDE"),
    ] {
        assert_eq!(cut(&ADAPTER, letters, &rollout(letters, false)), wanted);
    }
}

#[test]
fn a_context_is_what_the_loader_would_send() {
    for (letters, stop, wanted) in [
        ("HtUAtUA", PlanStop::Compaction, "HtUAtUA"),
        // A compaction stands for all before it but the header.
        ("HtUAtUAQtUA", PlanStop::Compaction, "HQtUA"),
        ("HtUAQtUAQA", PlanStop::Compaction, "HQA"),
        ("HtUACtUACA", PlanStop::Root, "HtUAtUAA"),
        ("HtUAtUACtUABB", PlanStop::Root, "HtUAtUA"),
        ("HtUAtUAQtUABB", PlanStop::Root, "HtUA"),
    ] {
        let kept = kept(&ADAPTER, letters, &rollout(letters, false), stop);
        assert_eq!(kept, wanted, "{letters} {stop:?}");
    }
}

#[test]
fn what_takes_back_more_turns_than_there_are_takes_back_all() {
    let many = |letters: &str| {
        let text = String::from_utf8(rollout(letters, false)).expect("text");
        text.replace("\"num_turns\":1", "\"num_turns\":9").into_bytes()
    };
    for (letters, wanted) in [
        ("HtUAtUAB", "H"),
        ("HtUAtUABtUA", "HtUA"),
        // What the client told ahead of the first prompt stays, as in 0.169.0.
        ("HEtUAB", "HE"),
        ("HtDEcUAtUAB", "HDE"),
        ("HtEUAtEUAB", "HE"),
        ("HB", "H"),
        ("HtUAtUACtUAB", "H"),
        ("HtUAtUACtUABtUA", "HtUA"),
        ("HtUAtUAQtUAB", "H"),
        ("HtUAtUAQtUABtUA", "HtUA"),
    ] {
        for stop in [PlanStop::Compaction, PlanStop::Root] {
            let (plan, context) = planned(&ADAPTER, &many(letters), stop);
            let (_, kept) = planned(&ADAPTER, &rollout(wanted, false), PlanStop::Root);
            let kinds = |bytes: &[u8]| -> Vec<String> {
                let entries = ADAPTER.decode(bytes).entries;
                entries.iter().map(|entry| format!("{:?} {:?}", entry.role, entry.kind)).collect()
            };
            assert_eq!((kinds(&context), plan.notes), (kinds(&kept), vec![]), "{letters} {stop:?}");
        }
    }
}

fn placed(bytes: &[u8]) -> (String, Vec<String>) {
    placed_by(&ADAPTER, &request("/new/place"), bytes)
}

fn fatal(bytes: &[u8]) -> Vec<&'static str> {
    fatal_of(&ADAPTER, bytes)
}

#[test]
fn placing_changes_session_and_directory_and_nothing_else() {
    for is_paginated in [false, true] {
        let bytes = rollout("HtDEcUuKFRKAtcUXYWA", is_paginated);
        let (out, notes) = placed(&bytes);
        let wanted = String::from_utf8(bytes).expect("text");
        let wanted = wanted.replace(SESSION, PLACED);
        assert_eq!(out, wanted.replace("\"cwd\":\"/srv/project", "\"cwd\":\"/new/place"));
        assert_eq!((notes, fatal(out.as_bytes())), (vec![], vec![]));
    }
}

#[test]
fn open_calls_are_closed_and_torn_ends_cut() {
    let mut bytes = rollout("HtUFX", true);
    bytes.extend_from_slice(b"{\"timestamp\":\"2026");
    let (out, notes) = placed(&bytes);
    assert_eq!(out.matches("Closed by Stemmata").count(), 2);
    assert!(out.contains(
        "\"ordinal\":6,\"type\":\"response_item\",\"payload\":{\"type\":\"custom_tool_call_output\""
    ));
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(fatal(out.as_bytes()), Vec::<&str>::new());
}

#[test]
fn what_the_loader_would_refuse_is_mended() {
    assert_eq!(fatal(BARE.as_bytes()), ["missing_header", "bare_item", "bare_item", "bare_item"]);
    let (out, _) = placed(BARE.as_bytes());
    assert_eq!(fatal(out.as_bytes()), Vec::<&str>::new(), "{out}");
    // Without a header, and with a compaction of ours that has no number.
    let (out, _) = placed(&rollout("UA", false));
    assert_eq!(fatal(out.as_bytes()), Vec::<&str>::new(), "{out}");
    let mut bytes = rollout("HtUA", true);
    bytes.extend(ours());
    assert_eq!(fatal(&bytes), ["missing_ordinal"]);
    assert_eq!(fatal(placed(&bytes).0.as_bytes()), Vec::<&str>::new());
}

/// Returns a compaction of ours.
fn ours() -> Vec<u8> {
    ADAPTER.encode_compaction("so far", &Keeps::nothing(&ADAPTER.decode(b"")), Timestamp::EPOCH)
}

#[test]
fn a_compaction_of_ours_stands_for_all_before_it() {
    let bytes = [rollout("HtUAtUA", false), ours(), rollout("tUA", false)].concat();
    let (plan, context) = planned(&ADAPTER, &bytes, PlanStop::Compaction);
    let found = checked(&ADAPTER, &context);
    assert_eq!((found.messages_sent, plan.segments_read, plan.notes), (3, 2, vec![]));
    assert_eq!(checked(&ADAPTER, &bytes).messages_sent, 3);
}

/// Returns a rollout whose prompts have that many tokens each.
fn with_prompts_of(tokens: usize, letters: &str) -> Vec<u8> {
    let text = String::from_utf8(rollout(letters, false)).expect("text");
    let filled = |line: &str| {
        let said = line.split("please do thing ").nth(1).and_then(|rest| rest.split('"').next())?;
        let said = format!("please do thing {said}");
        Some(line.replace(&said, &format!("{said}{}", ".".repeat(4 * tokens - said.len()))))
    };
    text.lines()
        .map(|line| format!("{}\n", filled(line).unwrap_or_else(|| line.to_owned())))
        .collect::<String>()
        .into()
}

#[test]
fn a_context_is_read_no_further_than_the_prompts_go_that_a_compaction_leaves() {
    for (tokens, letters, kept_lines, segments) in [
        // The prompt that passes the bound is the last one: the client cuts it.
        (9_000, "HtUAtUAtUAtUAtUAtCtUA", "HUUUCtUA", 5),
        (10_000, "HtUAtUAtUAtUAtUAtCtUA", "HUUCtUA", 4),
        (30_000, "HtUAtUAtUAtUAtUAtCtUA", "HUCtUA", 3),
        (4_000, "HtUAtUAtUAtUAtUAtCtUA", "HUUUUUCtUA", 7),
        // What was taken back fills nothing.
        (10_000, "HtUAtUAtUAtUAtUABBtCtUA", "HUUCtUA", 6),
        // Going back behind the compaction brings back nothing that it left out.
        (10_000, "HtUAtUAtUAtUAtCtUABBB", "HU", 4),
        (10_000, "HtUAtUAtUAtUAtCtUABBBBB", "H", 4),
        (10_000, "HtUAtUAQtUAtUAtUAtCtUA", "HUUCtUA", 4),
        (10_000, "HtUAtUAQtUACtUA", "HQUCtUA", 4),
        (10, "HtUAtUAQtUA", "HQtUA", 2),
    ] {
        let bytes = with_prompts_of(tokens, letters);
        let (plan, context) = planned(&ADAPTER, &bytes, PlanStop::Compaction);
        assert_eq!(kept(&ADAPTER, letters, &bytes, PlanStop::Compaction), kept_lines, "{tokens} {letters}");
        assert_eq!((plan.segments_read, plan.notes), (segments, vec![]), "{tokens} {letters}");
        let [whole, of_context] = [bytes, context].map(|bytes| checked(&ADAPTER, &bytes).messages_sent);
        assert_eq!(whole, of_context, "{tokens} {letters}");
    }
}

#[test]
fn a_history_in_another_file_is_named() {
    let header = String::from_utf8(rollout("H", false)).expect("text");
    let header = header.replacen(
        "\"payload\":{",
        "\"payload\":{\"history_base\":{\"thread_id\":\"t\",\"end_ordinal_exclusive\":7,\"end_byte_offset\":900},",
        1,
    );
    let found = base(header.as_bytes()).expect("a base");
    assert_eq!((found.thread.as_str(), found.end_ordinal, found.end_offset), ("t", 7, 900));
    assert_eq!(fatal(header.as_bytes()), ["history_in_another_file"]);
    assert_eq!(base(&rollout("H", false)), None);
    assert_eq!(fatal(placed(header.as_bytes()).0.as_bytes()), Vec::<&str>::new());
}

#[test]
fn a_paginated_history_is_placed_with_one_header() {
    for (is_paginated, headers) in [(true, 1), (false, 2)] {
        let (out, _) = placed(&rollout("HtUAHtUA", is_paginated));
        assert_eq!(out.matches("session_meta").count(), headers);
        assert_eq!((out.matches("done ").count(), fatal(out.as_bytes())), (2, vec![]), "{out}");
    }
}

#[test]
fn the_client_finds_a_session_by_its_day_and_id() {
    let place = ADAPTER.client_place(&request("/new/place"));
    let path = place.relative_path.join("/");
    assert_eq!(
        path,
        "sessions/2026/11/22/rollout-2026-11-22T05-06-07-99999999-8888-4777-8666-555555555555.jsonl"
    );
    assert_eq!(place.resume_command, ["codex", "resume", PLACED]);
}

#[test]
fn loaders_refuse_what_the_checks_call_fatal() {
    for (bytes, wanted) in [
        (Vec::new(), vec!["missing_header"]),
        (rollout("tUA", false), vec!["missing_header"]),
        (
            String::from_utf8(rollout("HUA", false))
                .expect("text")
                .replace("\"originator\":\"codex_exec\",", "")
                .into_bytes(),
            vec!["incomplete_header"],
        ),
        (rollout("HUAHUA", true), vec!["second_header"]),
        (rollout("HUAHUA", false), vec![]),
        (
            String::from_utf8(rollout("HUA", true))
                .expect("text")
                .replace("paginated", "spiral")
                .into_bytes(),
            vec!["unknown_history_mode"],
        ),
    ] {
        assert_eq!(fatal(&bytes), wanted);
    }
}

/// The artifact of a compaction is hashed: what is rescued of a broken line must not change it.
#[test]
fn a_broken_line_is_nothing_to_the_artifact_of_a_compaction() {
    let lines: Vec<Vec<u8>> =
        rollout("HC", false).split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let broken = [lines[1].trim_ascii_end(), b" garbage\n"].concat();
    let plan = |native: &[u8]| {
        let mut earlier = Chain::import(&ADAPTER, Granularity::Turn, &lines[0]);
        ADAPTER.plan_compaction(native, &mut earlier).expect("no storage").pieces
    };
    let whole = plan(&lines[1]);
    assert_eq!(whole.len(), 2);
    assert_eq!(plan(&[lines[1].as_slice(), &broken].concat()), whole);
}
