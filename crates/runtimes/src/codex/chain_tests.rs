//! Chains of rollouts: what is committed, materialized and placed.

use stemmata_model::{CommitType, Granularity, SessionId, Timestamp};

use super::samples_tests::{BARE, SESSION, rollout};
use super::{Codex, base};
use crate::adapter::{Adapter as _, Cut, PlaceRequest, PlanStop, Segment, Segments, Severity, SourceError};

const ADAPTER: Codex = Codex::LEGACY;

/// Commits of some bytes, oldest first.
fn commits(bytes: &[u8]) -> Vec<(CommitType, Vec<u8>)> {
    let mut splitter = ADAPTER.splitter(Granularity::Turn, None);
    let (mut commits, mut open) = (Vec::new(), Vec::new());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Cut { before, after } = splitter.line(line.trim_ascii_end(), &mut Vec::new());
        commits.extend(before.map(|facts| (facts.commit_type, std::mem::take(&mut open))));
        open.extend_from_slice(line);
        commits.extend(after.map(|facts| (facts.commit_type, std::mem::take(&mut open))));
    }
    if !open.is_empty() {
        commits.push((CommitType::Delta, open));
    }
    commits
}

/// A chain, newest first, with the artifacts of its compactions.
struct Chain(Vec<Segment>);

impl Segments for Chain {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        Ok((!self.0.is_empty()).then(|| self.0.remove(0)))
    }
}

fn chain(bytes: &[u8]) -> Vec<Segment> {
    let mut chain: Vec<Segment> = Vec::new();
    for (commit_type, native) in commits(bytes) {
        let prefix = (commit_type == CommitType::Compaction).then(|| {
            let plan = ADAPTER.plan_compaction(&native, &mut Chain(chain.clone())).expect("no storage");
            assert_eq!(plan.notes, [], "header and compaction are there");
            let own = Segment { commit_type, native: native.clone().into(), prefix: None, is_stop: false };
            let all: Vec<Segment> = std::iter::once(own).chain(chain.clone()).collect();
            written(&plan.pieces, &all)
        });
        chain.insert(
            0,
            Segment { commit_type, native: native.into(), prefix: prefix.map(Into::into), is_stop: false },
        );
    }
    chain
}

fn written(pieces: &[crate::adapter::Piece], chain: &[Segment]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in pieces {
        let segment = &chain[piece.segment / 2];
        let bytes =
            if piece.segment % 2 == 1 { segment.prefix.as_ref().expect("a prefix") } else { &segment.native };
        let start = usize::try_from(piece.offset).expect("small");
        out.extend_from_slice(&bytes[start..start + usize::try_from(piece.length).expect("small")]);
    }
    out
}

/// The letters of the lines that a context holds, by what is said in them.
fn context(letters: &str, stop: PlanStop) -> String {
    let bytes = rollout(letters, false);
    let chain = chain(&bytes);
    let plan = ADAPTER.plan_context(&mut Chain(chain.clone()), stop).expect("no storage");
    let context = written(&plan.pieces, &chain);
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let letter =
        |line: &[u8]| lines.iter().position(|known| *known == line).and_then(|at| letters.chars().nth(at));
    context.split_inclusive(|byte| *byte == b'\n').filter_map(letter).collect()
}

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
        let bytes = rollout(letters, false);
        let mut rest = letters;
        let parts: Vec<String> = commits(&bytes)
            .iter()
            .map(|(commit_type, native)| {
                let lines = native.iter().filter(|byte| **byte == b'\n').count();
                let (own, after) = rest.split_at(lines);
                rest = after;
                format!("{own}{}", if *commit_type == CommitType::Compaction { "!" } else { "" })
            })
            .collect();
        assert_eq!(parts.join("|"), wanted);
    }
}

#[test]
fn a_context_is_what_the_loader_would_send() {
    for (letters, stop, wanted) in [
        ("HtUAtUA", PlanStop::Compaction, "HtUAtUA"),
        // A compaction stands for all before it but the header.
        ("HtUAtUACtUA", PlanStop::Compaction, "HCtUA"),
        ("HtUACtUACA", PlanStop::Compaction, "HCA"),
        ("HtUACtUACA", PlanStop::Root, "HtUAtUAA"),
        // Turns that were taken back are gone, with their beginning and the mark.
        ("HtUAtcUFRABtUA", PlanStop::Compaction, "HtUAtUA"),
        ("HtUAtUABB", PlanStop::Compaction, "H"),
        // What a compaction holds cannot be taken back here: the mark stays, for the loader.
        ("HtUACB", PlanStop::Compaction, "HCB"),
    ] {
        assert_eq!(context(letters, stop), wanted, "{letters} {stop:?}");
    }
}

fn request() -> PlaceRequest {
    PlaceRequest {
        session: SessionId::new("99999999-8888-4777-8666-555555555555").expect("a name"),
        cwd: "/new/place".to_owned(),
        origin_cwd: Some("/srv/project".to_owned()),
        client_version: None,
        at: Timestamp::parse("2026-11-22T05:06:07.089Z").expect("a time"),
        seed: [7; 32],
    }
}

fn placed(bytes: &[u8]) -> (String, Vec<String>) {
    let mut placer = ADAPTER.placer(&request());
    let mut out = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        placer.line(line, &mut out);
    }
    let notes = placer.finish(&mut out).into_iter().map(|note| note.message).collect();
    (String::from_utf8(out).expect("text"), notes)
}

fn fatal(bytes: &[u8]) -> Vec<&'static str> {
    let mut validator = ADAPTER.validator(None);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        validator.line(line);
    }
    let verdict = validator.finish();
    verdict
        .findings
        .iter()
        .filter(|finding| finding.severity == Severity::Fatal)
        .map(|finding| finding.check)
        .collect()
}

#[test]
fn placing_changes_session_and_directory_and_nothing_else() {
    for is_paginated in [false, true] {
        let bytes = rollout("HtDEcUuKFRKAtcUXYWA", is_paginated);
        let (out, notes) = placed(&bytes);
        let wanted = String::from_utf8(bytes).expect("text");
        let wanted = wanted.replace(SESSION, "99999999-8888-4777-8666-555555555555");
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
    bytes.extend(ADAPTER.encode_compaction("so far", &ADAPTER.decode(b""), Timestamp::EPOCH));
    assert_eq!(fatal(&bytes), ["missing_ordinal"]);
    assert_eq!(fatal(placed(&bytes).0.as_bytes()), Vec::<&str>::new());
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
    let place = ADAPTER.client_place(&request());
    let path = place.relative_path.join("/");
    assert_eq!(
        path,
        "sessions/2026/11/22/rollout-2026-11-22T05-06-07-99999999-8888-4777-8666-555555555555.jsonl"
    );
    assert_eq!(place.resume_command, ["codex", "resume", "99999999-8888-4777-8666-555555555555"]);
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
