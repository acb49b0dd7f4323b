//! Live equals imported: whatever the cuts, the closed commits are those of one import of the whole file.

use proptest::prelude::*;
use stemmata_engine::CaptureOptions;
use stemmata_model::{Closure, Trigger};
use stemmata_testkit::claude::ClaudeSession;

use crate::support::{Folder, bytes_of, chain, closed, engine, import, native};

/// Grows a transcript by cuts anywhere and captures it after each; the chain must be that of one import.
fn live_equals_imported(
    seed: u64,
    mut cuts: Vec<(f64, bool)>,
    granularity: &str,
) -> Result<(), TestCaseError> {
    let bytes = bytes_of(&ClaudeSession::new(seed).turns(4).compactions(seed % 2).build());
    let granularity = granularity.parse().expect("a granularity");
    let folder = Folder::new();
    let whole = engine();
    let options = CaptureOptions { granularity, ..CaptureOptions::import() };
    let imported = whole.capture(&folder.write("whole.jsonl", &bytes), &options).expect("imported");

    // Cuts anywhere: between records, within them, with hooks that fire early (no torn tail) or an import
    // that takes what is there.
    cuts.sort_by(|left, right| left.0.total_cmp(&right.0));
    let live = engine();
    let mut written = 0;
    let mut tip = None;
    for (at, is_import) in cuts.into_iter().chain([(1.0, true)]) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a small length"
        )]
        let end = ((bytes.len() as f64 * at) as usize).max(written);
        folder.append("live.jsonl", &bytes[written..end]);
        written = end;
        let how = if is_import { CaptureOptions::import() } else { CaptureOptions::live(Trigger::ToolCall) };
        // Some policies keep nothing of a turn that is open.
        let leaf = how.leaf && (is_import || !seed.is_multiple_of(3));
        let how = CaptureOptions { granularity, leaf, ..how };
        match live.capture(&folder.path().join("live.jsonl"), &how) {
            Ok(captured) => {
                if is_import {
                    let ctx = captured.session.tip.expect("a tip");
                    prop_assert_eq!(native(&live, ctx), &bytes[..written]);
                }
                tip = captured.session.tip;
            }
            // Too little to be told from any other file: nothing is kept, and the next look takes it.
            Err(error) => prop_assert_eq!(error.kind(), stemmata_engine::ErrorKind::BadInput),
        }
    }
    let (left, right) = (imported.session.tip.expect("a tip"), tip.expect("a tip"));
    prop_assert_eq!(closed(&whole, left), closed(&live, right));
    prop_assert_eq!(left, right, "the leaf at the end is the same too");
    for commit in live.store().commits_after(None, 10_000).expect("commits") {
        if commit.closure != Closure::Closed {
            prop_assert!(bytes.starts_with(&native(&live, commit.id)), "provisional commits stay readable");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(2)))]

    #[test]
    fn invariant_06_live_equals_imported(
        seed in 0..10_000_u64,
        cuts in proptest::collection::vec((0.0..1.0_f64, any::<bool>()), 1..12),
        granularity in prop_oneof![Just("turn"), Just("message"), Just("every:2")],
    ) {
        live_equals_imported(seed, cuts, granularity)?;
    }
}

/// Found at random: an early look ends where a commit closes later, and the next one within a line.
#[test]
fn an_early_look_that_ends_at_a_boundary_closes_with_it() {
    let cuts = vec![(0.099_536_564_534_494_39, false), (0.102_815_442_661_014_86, true)];
    live_equals_imported(2638, cuts, "message").expect("the same chain");
}

#[test]
fn provisional_commits_are_kept_as_ranges_once_closed_ones_cover_them() {
    let folder = Folder::new();
    let engine = engine();
    let lines = ClaudeSession::new(3).turns(3).tool_calls(6).build().lines;
    for line in &lines {
        folder.append("live.jsonl", format!("{line}\n").as_bytes());
        let _early =
            engine.capture(&folder.path().join("live.jsonl"), &CaptureOptions::live(Trigger::ToolCall));
    }
    let captured = import(&engine, &folder.path().join("live.jsonl"));
    let tip = captured.session.tip.expect("a tip");
    let all = engine.store().commits_after(None, 10_000).expect("commits");
    let covered = all.iter().filter(|commit| commit.closure == Closure::Covered).count();
    assert!(covered > 5, "only {covered} commits are covered");
    let open: Vec<_> =
        all.iter().filter(|commit| commit.closure == Closure::Provisional).map(|commit| commit.id).collect();
    assert_eq!(open, [tip], "only the newest leaf is open");
    let tips = engine
        .store()
        .tips(&stemmata_store::TipFilter::default(), stemmata_store::Page { skip: 0, rows_max: 100 })
        .expect("tips");
    assert_eq!(tips.iter().map(|commit| commit.id).collect::<Vec<_>>(), [tip]);
    assert_eq!(chain(&engine, tip).len(), 3);
}

/// A file that was given back has another time, and is read again.
#[test]
fn a_last_record_without_a_newline_stays_once_it_was_kept() {
    let text = ClaudeSession::new(3).turns(2).build().lines.join("\n");
    let (folder, engine) = (Folder::new(), engine());
    let path = folder.write("live.jsonl", text.as_bytes());
    let tip = import(&engine, &path).session.tip;
    std::fs::remove_file(&path).expect("removed");
    let path = folder.write("live.jsonl", text.as_bytes());
    let looked = engine.capture(&path, &CaptureOptions::live(Trigger::Explicit)).expect("captured");
    assert_eq!(looked.session.tip, tip);
    // Of a file that nobody read to its end the unfinished line is left for the next time.
    let path = folder.write("new.jsonl", text.as_bytes());
    let looked = engine.capture(&path, &CaptureOptions::live(Trigger::Explicit)).expect("captured");
    let whole = text.rfind('\n').expect("lines") + 1;
    assert_eq!(looked.session.tip.map(|tip| native(&engine, tip).len()), Some(whole));
}

#[test]
fn an_open_turn_is_kept_where_that_is_wanted_or_was_before() {
    let lines = ClaudeSession::new(3).turns(1).tool_calls(4).build().lines;
    let open = &lines[..lines.len() - 2];
    let (folder, engine) = (Folder::new(), engine());
    let path = folder.path().join("live.jsonl");
    let without = CaptureOptions { leaf: false, ..CaptureOptions::live(Trigger::ToolCall) };
    let mut tips = Vec::new();
    for (line, options) in open.iter().zip([&without, &without, &CaptureOptions::import(), &without]) {
        folder.append("live.jsonl", format!("{line}\n").as_bytes());
        let captured = engine.capture(&path, options).expect("captured");
        tips.push(captured.session.tip.map(|tip| native(&engine, tip).len()));
    }
    let length = |count: usize| open[..count].iter().map(|line| line.len() + 1).sum::<usize>();
    // What was kept once goes on: a listing never falls behind it.
    assert_eq!(tips, [None, None, Some(length(3)), Some(length(4))]);
}

#[test]
fn a_session_that_ended_without_saying_so_is_closed_at_the_next_look_beside_it() {
    let (folder, engine) = (Folder::new(), engine());
    let lines = ClaudeSession::new(3).turns(2).tool_calls(4).build().lines;
    let path = folder.write("dead.jsonl", b"");
    let without = CaptureOptions { leaf: false, ..CaptureOptions::live(Trigger::TurnBoundary) };
    folder.append("dead.jsonl", (lines[..lines.len() - 3].join("\n") + "\n").as_bytes());
    let before = engine.capture(&path, &without).expect("captured").session.tip.expect("a tip");
    let beside = folder.write("next.jsonl", b"");
    let now = stemmata_engine::Clock::now(&crate::support::FixedClock).as_micros();
    for (age_seconds, closed) in [(60, 0), (7_200, 1)] {
        let at = std::time::UNIX_EPOCH
            + std::time::Duration::from_micros(u64::try_from(now).expect("after 1970"))
            - std::time::Duration::from_secs(age_seconds);
        std::fs::File::options().append(true).open(&path).expect("a file").set_modified(at).expect("a time");
        assert_eq!(engine.close_dead(&beside, &without).expect("looked"), closed);
    }
    let after = engine.capture(&path, &without).expect("captured").session.tip.expect("a tip");
    assert!(native(&engine, after).len() > native(&engine, before).len());
    let sightings = engine.show(after).expect("shown").sightings;
    assert_eq!(sightings.first().map(|sighting| sighting.trigger), Some(Trigger::SessionEnd));
}

/// Says of a session what a listing says: its title, its messages, and whether it has a time.
fn listed(bytes: &[u8], name: &str) -> (Option<String>, u64, bool) {
    let (folder, engine) = (Folder::new(), engine());
    let captured = engine.capture(&folder.write(name, bytes), &CaptureOptions::import()).expect(name);
    let tip = captured.session.tip.expect("a tip");
    assert_eq!(native(&engine, tip), bytes, "{name}");
    (captured.session.title, captured.session.messages, captured.session.last_at.is_some())
}

/// The last line of a file may never get its newline: one event a file, or carriage returns alone between records.
#[test]
fn what_an_unfinished_last_line_says_is_listed_and_decides_no_commit() {
    let event = r#"{"id":"e1","timestamp":"2026-01-01T00:00:01","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"glaze the bowls"}]},"kind":"MessageEvent"}"#;
    let old = r#"{"id":0,"timestamp":"2026-01-01T00:00:01.1","source":"user","message":"glaze the bowls","action":"message","args":{"content":"glaze the bowls"}}"#;
    let claude = ["user", "assistant"].map(|role| format!(
        r#"{{"type":"{role}","uuid":"{role}-1","parentUuid":null,"timestamp":"2026-01-01T00:00:01.000Z","sessionId":"s","cwd":"/w","version":"2.1.330","isSidechain":false,"message":{{"role":"{role}","content":[{{"type":"text","text":"glaze the bowls"}}]}}}}"#
    ));
    let codex = [
        r#"{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"01a1ffc3-10c3-7793-a024-3ccf54e49278","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","originator":"o","cli_version":"0.169.0"}}"#,
        r#"{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"glaze the bowls"}]}}"#,
    ];
    let pi = [
        r#"{"type":"session","version":3,"id":"p","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"glaze the bowls"}}"#,
    ];
    let gemini = [
        r#"{"sessionId":"5c0f5c4c-8a1e-4d1e-9d8a-000000000002","projectHash":"ab","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"id":"m1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":"glaze the bowls"}"#,
    ];
    let files = [
        ("openhands.json", event.to_owned(), 1),
        ("openhands-old.json", old.to_owned(), 1),
        ("claude.jsonl", claude.join("\r"), 2),
        ("codex.jsonl", codex.join("\r"), 1),
        ("pi.jsonl", pi.join("\r"), 1),
        ("gemini.jsonl", gemini.join("\r"), 1),
        ("last.jsonl", claude.join("\n"), 2),
    ];
    for (name, text, messages) in files {
        for end in ["", "\r", "\n"] {
            let bytes = format!("{text}{end}");
            let wanted = (Some("glaze the bowls".to_owned()), messages, true);
            assert_eq!(listed(bytes.as_bytes(), name), wanted, "{name} {end:?}");
        }
    }
    // More may come: the time, which ids are made of, is that of the complete lines, and the rest is read again.
    let (folder, engine) = (Folder::new(), engine());
    let path = folder.write("grown.json", event.as_bytes());
    let first = engine.capture(&path, &CaptureOptions::import()).expect("captured").session;
    let core = engine.store().commit(first.tip.expect("a tip")).expect("no error").expect("stored").core;
    assert_eq!(core.created_at, stemmata_model::Timestamp::EPOCH);
    folder.append(
        "grown.json",
        format!("\n{}\n", event.replace("glaze", "dry").replace("e1", "e2")).as_bytes(),
    );
    let grown = engine.capture(&path, &CaptureOptions::import()).expect("captured").session;
    assert_eq!((grown.title.as_deref(), grown.messages), (Some("glaze the bowls"), 2));
    // What is cut within a record says nothing and is no unreadable record.
    let captured = engine
        .capture(
            &folder.write("cut.jsonl", format!("{}\n{}", claude[0], &claude[1][..60]).as_bytes()),
            &CaptureOptions::import(),
        )
        .expect("captured");
    assert_eq!((captured.session.messages, captured.unread.unreadable), (1, 0));
}
