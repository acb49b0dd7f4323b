//! A big binary value is stored once, wherever it stands.

use stemmata_engine::CaptureOptions;
use stemmata_model::Trigger;

use crate::support::{Folder, engine, import, native};

/// Bytes of the image as text.
const IMAGE_BYTES: usize = 3_000_000;

/// Text that looks like an image: nothing repeats soon.
fn image() -> String {
    let mut state = 7_u64;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(letters[usize::try_from(state >> 58).expect("six bits")])
    };
    (0..IMAGE_BYTES).map(next).collect()
}

fn session(id: &str, image: &str) -> String {
    let line = |number: u64, parent: &str, rest: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"sessionId\":\"{id}\",\"version\":\"2.1.50\",\"timestamp\":\"2026-01-01T00:00:0{number}Z\",\
             \"uuid\":\"0a1b2c3{number}-1111-4000-8000-0123456789ab\",{rest}}}\n"
        )
    };
    let parent = |number: u64| format!("\"0a1b2c3{number}-1111-4000-8000-0123456789ab\"");
    let source = format!(
        "{{\"type\":\"image\",\"source\":{{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"{image}\"}}}}"
    );
    let result = format!(
        "\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_01\",\
         \"content\":[{source}]}}]}},\"toolUseResult\":{{\"type\":\"image\",\"file\":{{\"base64\":\"{image}\"}}}}"
    );
    let boundary = format!(
        "\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\",\"logicalParentUuid\":{},\
         \"compactMetadata\":{{\"trigger\":\"auto\",\"preTokens\":9,\"preservedMessages\":{{\"anchorUuid\":{},\"uuids\":[{}],\"allUuids\":[{}]}}}}",
        parent(3),
        parent(6),
        parent(3),
        parent(3)
    );
    [
        line(1, "null", "\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"look\"}"),
        line(2, &parent(1), "\"type\":\"assistant\",\"message\":{\"id\":\"msg_01abcdefgh\",\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_01\",\"name\":\"Read\",\"input\":{}}]}"),
        line(3, &parent(2), &result),
        line(4, "null", &boundary),
        line(6, &parent(4), "\"type\":\"user\",\"isCompactSummary\":true,\"isVisibleInTranscriptOnly\":true,\"message\":{\"role\":\"user\",\"content\":\"summary\"}"),
        line(7, &parent(6), &format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":[{source}]}}")),
    ]
    .concat()
}

#[test]
fn an_image_is_stored_once_wherever_it_stands() {
    let folder = Folder::new();
    let image = image();
    let engine = engine();
    let first = session("5e55105e-0000-4000-8000-000000000001", &image);
    for (name, text) in
        [("one.jsonl", &first), ("two.jsonl", &session("5e55105e-0000-4000-8000-000000000002", &image))]
    {
        let captured = import(&engine, &folder.write(name, text.as_bytes()));
        assert_eq!(native(&engine, captured.session.tip.expect("a tip")), text.as_bytes());
    }
    let usage = engine.store().usage().expect("a read");
    let wanted = u64::try_from(IMAGE_BYTES).expect("small");
    assert!(usage.logical_bytes > 6 * wanted, "it stands in six places: {usage:?}");
    assert!((wanted..wanted + 50_000).contains(&usage.distinct_bytes), "{usage:?}");

    // Looked at while it grows, it is stored once all the same.
    let live = crate::support::engine();
    for line in first.split_inclusive('\n') {
        folder.append("live.jsonl", line.as_bytes());
        let _early =
            live.capture(&folder.path().join("live.jsonl"), &CaptureOptions::live(Trigger::ToolCall));
    }
    let usage = live.store().usage().expect("a read");
    assert!((wanted..wanted + 50_000).contains(&usage.distinct_bytes), "{usage:?}");
}
