//! Samples of arrays, and the laws that they keep.

use super::*;
use crate::conformance::{check, check_damaged};

/// A conversation with something of everything, as an agent of one's own keeps it.
pub(crate) const ANTHROPIC_SAMPLE: &str = r#"[
  {"role": "user", "content": "Which bells ring at noon?"},
  {"role": "assistant", "id": "msg_01NoonBellsAskedFor", "model": "claude-opus-4-1", "content": [
    {"type": "thinking", "thinking": "The tower's list will say.", "signature": "c2lnbmVkIGJ5IHRoZSB0b3dlcg=="},
    {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
    {"type": "text", "text": "I look at the list: café, \u00fc and \"quotes\"."},
    {"type": "tool_use", "id": "toolu_01ListOfBells7Q", "name": "read_list", "input": {"path": "bells.txt", "at": 1.50}},
    {"type": "tool_use", "id": "toolu_02PicOfTower8R", "name": "photo", "input": {}}
  ]},
  {"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "toolu_01ListOfBells7Q", "content": "east: 12:00\nwest: silent"},
    {"type": "tool_result", "tool_use_id": "toolu_02PicOfTower8R", "is_error": true, "content": [
      {"type": "text", "text": "fog"},
      {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    ]},
    {"type": "text", "text": "Be quick."}
  ]},
  {"role": "assistant", "content": "The east bell does."},
  {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://tower.example/b.png"}},
    {"type": "text", "text": "And this one?"}]},
  {"role": "assistant", "content": [{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "bells"}},
    {"type": "text", "text": "It hangs in the west."}]}
]
"#;

#[test]
fn anthropic_arrays_keep_the_laws() {
    let report =
        check(&Messages::ANTHROPIC, ANTHROPIC_SAMPLE.as_bytes()).unwrap_or_else(|broken| panic!("{broken}"));
    assert_eq!((report.entries, report.counts.messages, report.notes), (6, 6, Vec::new()));
    check_damaged(&Messages::ANTHROPIC, ANTHROPIC_SAMPLE.as_bytes())
        .unwrap_or_else(|broken| panic!("{broken}"));
}
