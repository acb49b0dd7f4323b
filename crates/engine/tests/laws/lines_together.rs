//! What lines say together is captured the same live and imported, and first records of any length are recognized.

use proptest::prelude::*;
use serde_json::json;
use stemmata_engine::{CaptureOptions, ScanTarget, StreamRecorder, StreamRules, StreamSide};
use stemmata_model::{Granularity, Timestamp, Trigger};

use crate::support::{Folder, closed, engine, import, native};

const TAIL: &str = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";

const INIT: &str = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"cwd\":\"/w\"}\n";

/// Timed lines of a command that prints a private key, and is asked things in between.
fn printed() -> String {
    let timed = |(fd, line): (&str, String)| {
        format!("{}\n", json!({"t":"2026-01-01T00:00:00.000000Z","fd":fd,"line":line}))
    };
    let said = |fd: &'static str, text: &str| (fd, text.to_owned());
    let mut lines =
        vec![said("stdin", "show it"), said("stdout", &format!("-----BEGIN RSA {} KEY-----", "PRIVATE"))];
    for row in 0..8 {
        lines.push(said("stdout", &format!("{}{}", &TAIL[row..], &TAIL[..28 + row % 3])));
        if row == 4 {
            lines.push(said("stdin", "go on"));
        }
    }
    lines.push(said("stdout", &format!("-----END RSA {} KEY-----", "PRIVATE")));
    lines.extend([said("stdin", "thanks"), said("stdout", "bye")]);
    lines.into_iter().map(timed).collect()
}

/// Headless output in which a token is streamed in deltas.
fn streamed() -> String {
    let line = |value: serde_json::Value| format!("{value}\n");
    let event = |event| line(json!({"type":"stream_event","event":event,"session_id":"s"}));
    let mut text = line(json!({"type":"system","subtype":"init","session_id":"s","cwd":"/w"}));
    for turn in 0..2 {
        text.push_str(&line(
            json!({"type":"user","session_id":"s","parent_tool_use_id":null,"uuid":format!("u{turn}"),
            "message":{"role":"user","content":"say it"}}),
        ));
        for part in ["see gh", "p_A1b2C3d4E5f6", "G7h8I9j0K1l2M3n4", "O5p6Q7r8 there"] {
            text.push_str(&event(
                json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":part}}),
            ));
        }
        text.push_str(&event(json!({"type":"content_block_stop","index":0})));
        text.push_str(&line(json!({"type":"assistant","session_id":"s","parent_tool_use_id":null,"uuid":format!("a{turn}"),
            "message":{"id":format!("m{turn}"),"role":"assistant","content":[{"type":"text","text":"done"}]}})));
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

    /// Wherever a look falls, the chain is that of one import, and holds no part of the secret.
    #[test]
    fn looks_anywhere_give_the_chain_of_one_import(
        cuts in proptest::collection::vec(0.0..1.0_f64, 0..6),
        is_message in any::<bool>(),
        is_printed in any::<bool>(),
    ) {
        let bytes = if is_printed { printed() } else { streamed() };
        let granularity = if is_message { Granularity::Message } else { Granularity::Turn };
        let options = CaptureOptions { granularity, ..CaptureOptions::import() };
        let (folder, whole, live) = (Folder::new(), engine(), engine());
        let imported = whole.capture(&folder.write("whole.jsonl", bytes.as_bytes()), &options).expect("imported");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "a share of a small length")]
        let mut ends: Vec<usize> = cuts.iter().map(|at| (bytes.len() as f64 * at) as usize).collect();
        ends.sort_unstable();
        let mut written = 0;
        for end in ends {
            folder.append("live.jsonl", &bytes.as_bytes()[written..end]);
            written = end;
            let look = CaptureOptions { granularity, ..CaptureOptions::live(Trigger::ToolCall) };
            let _too_little = live.capture(&folder.path().join("live.jsonl"), &look);
        }
        folder.append("live.jsonl", &bytes.as_bytes()[written..]);
        let last = live.capture(&folder.path().join("live.jsonl"), &options).expect("captured");
        let (left, right) = (imported.session.tip.expect("a tip"), last.session.tip.expect("a tip"));
        prop_assert_eq!(closed(&whole, left), closed(&live, right));
        prop_assert_eq!(native(&whole, left), native(&live, right));
        for commit in live.store().commits_after(None, 10_000).expect("commits") {
            let text = String::from_utf8(native(&live, commit.id)).expect("text");
            let parts = ["G7h8I9j0K1l2M3n4", "p_A1b2C3d4E5f6"];
            prop_assert!(parts.iter().all(|part| !text.contains(part)), "{}", text);
        }
        prop_assert_eq!(live.scan(&ScanTarget::All(None), &mut |_| true).expect("a scan").found, 0);
    }
}

/// Found in review: hooks stayed silent, and `status` said that all was imported.
#[test]
fn headers_longer_than_the_first_window_are_recognized() {
    let long = "x".repeat(200_000);
    let folder = Folder::new();
    for (name, header) in [
        (
            "pi-v3",
            json!({"type":"session","version":3,"prompt":long,"id":"i","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}),
        ),
        (
            "gemini-jsonl-v1",
            json!({"prompt":long,"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}),
        ),
        ("generic-v1", json!({"t":"2026-01-01T00:00:00.000000Z","fd":"stdout","line":long})),
    ] {
        let path = folder.write(&format!("{name}.jsonl"), format!("{header}\n").as_bytes());
        let captured = import(&engine(), &path);
        let format = captured.session.format.as_str();
        assert!(format.starts_with(name.split('-').next().expect("a word")), "{name}: {format}");
        assert_eq!(captured.bytes_held, captured.bytes_in, "{name}");
    }
}

/// Found in review: lines that were held back when another process went on were lost, and others kept twice.
#[test]
fn a_record_that_another_process_goes_on_with_is_the_same() {
    let delta = |text: &str| {
        let event = json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":text}});
        format!("{}\n", json!({"type":"stream_event","event":event,"session_id":"s"}))
    };
    let long = [
        vec!["word ".repeat(200); 70],
        vec!["ghp_A1b2C3d4E5f6".to_owned(), "G7h8I9j0K1l2M3n4O5p6Q7r8 ".to_owned()],
    ]
    .concat();
    let long: String = long.iter().cycle().take(160).map(|text| delta(text)).collect();
    let header = format!("-----BEGIN RSA {} KEY-----", "PRIVATE");
    let parts =
        [vec![header], (0..12).map(|row| format!("\\n{}{}", &TAIL[row..], &TAIL[..28])).collect()].concat();
    let keyed: String = parts.iter().map(|text| delta(text)).collect();
    // Found in review: the other process took these for text, and put each into a timed line of its own.
    let printed = (10..20).map(|second| {
        format!("{{\"t\":\"2026-01-31T12:00:{second}Z\",\"fd\":\"stdout\",\"line\":\"as it is\"}}\n")
    });
    let printed: String = printed.collect();
    for (name, bytes) in [
        ("timed lines", format!("show it\n{}\nbye\n", parts.concat().replace("\\n", "\n"))),
        ("deltas", streamed()),
        ("a key", format!("{INIT}{keyed}")),
        ("a long text", format!("{INIT}{long}")),
        ("timed lines that it prints itself", printed),
    ] {
        let start = |bytes: &[u8]| {
            let mut recorder = StreamRecorder::new(None, Some(StreamRules::default()));
            let kept = recorder.take(StreamSide::Output, bytes, Timestamp::from_micros(1));
            (recorder, kept)
        };
        let (mut whole, mut wanted) = start(bytes.as_bytes());
        wanted.extend(whole.end(StreamSide::Output, Timestamp::from_micros(1)));
        let ends = bytes.match_indices('\n').map(|(at, _)| at + 1);
        for end in ends.step_by(1 + bytes.len() / 40_000) {
            let (one, two) = bytes.as_bytes().split_at(end);
            let (recorder, mut kept) = start(one);
            let (last, rest) = recorder.suspend(Timestamp::from_micros(1));
            kept.extend(last);
            let rest = serde_json::from_slice(&serde_json::to_vec(&rest.lines).expect("JSON"))
                .map(|lines| stemmata_engine::StreamRest { lines, ..rest })
                .expect("the same");
            let mut other = StreamRecorder::resume(rest, Some(StreamRules::default()));
            kept.extend(other.take(StreamSide::Output, two, Timestamp::from_micros(1)));
            kept.extend(other.end(StreamSide::Output, Timestamp::from_micros(1)));
            assert_eq!(String::from_utf8_lossy(&kept), String::from_utf8_lossy(&wanted), "{name} at {end}");
        }
    }
}
