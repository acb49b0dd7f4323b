//! What a client says to a hook: the few fields that are read of it, however much else there is.
//!
//! What they mean is the hook's.

use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use stemmata_api::{Code, Problem};

use super::nobody;
use crate::fault::{Fault, io_failed};

/// Bytes of input that are read at most. All of it is, so that no client writes into a closed pipe; next to nothing is
/// kept.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Bytes of one string that are kept at most: of a path, of a name. A tool's whole output may be one.
const STRING_BYTES_MAX: usize = 64 * 1024;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// What is read of the input; the rest is the client's.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    pub(super) hook_event_name: Option<String>,
    /// The session's own id.
    pub(super) session_id: Option<String>,
    /// Its transcript.
    pub(super) transcript_path: Option<PathBuf>,
    pub(super) agent_transcript_path: Option<PathBuf>,
    /// The client's process, where it is not simply who called.
    pub(super) client_pid: Option<u32>,
    pub(super) source: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) tool_response: ToolResponse,
}

/// What a tool answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ToolResponse {
    /// Whether it names an error.
    pub(super) has_error: bool,
}

impl<'de> Deserialize<'de> for ToolResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolResponseVisitor)
    }
}

struct ToolResponseVisitor;

impl<'de> Visitor<'de> for ToolResponseVisitor {
    type Value = ToolResponse;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolResponse, A::Error> {
        let mut response = ToolResponse::default();
        while let Some(key) = map.next_key::<String>()? {
            if key == "error" {
                response.has_error = map.next_value::<Option<IgnoredAny>>()?.is_some();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(response)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ToolResponse, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(ToolResponse::default())
    }

    fn visit_str<E>(self, _text: &str) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_bool<E>(self, _value: bool) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_u64<E>(self, _value: u64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_i64<E>(self, _value: i64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_f64<E>(self, _value: f64) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }

    fn visit_unit<E>(self) -> Result<ToolResponse, E> {
        Ok(ToolResponse::default())
    }
}

/// Reads the input, all of it whatever is in it. Without any, or with some that is no JSON, there is nothing to do but to say
/// so.
pub(super) fn read(source: Option<&mut dyn Read>) -> Result<Input, Fault> {
    let mut source = source.ok_or_else(nobody)?.take(INPUT_BYTES_MAX);
    let input = parse(&mut source);
    drain(source);
    input
}

/// Reads what a client writes and keeps nothing: else it may stumble over a closed pipe.
pub fn drain(source: impl Read) {
    let _gone = std::io::copy(&mut source.take(INPUT_BYTES_MAX), &mut std::io::sink());
}

fn parse(source: &mut dyn Read) -> Result<Input, Fault> {
    let short = BufReader::with_capacity(CHUNK_BYTES, ShortStrings::new(source));
    serde_json::from_reader(short).map_err(|error| {
        if error.is_io() {
            return io_failed("read", Path::new("standard input"), &error.into());
        }
        let detail = format!("a hook was called with input that is not a JSON object ({error})");
        Problem::new(Code::BadRequest, detail).into()
    })
}

/// JSON whose long strings are cut, so that the parser, which keeps each string that it meets, keeps little. What is cut
/// is nothing that is read: no path and no name is that long.
struct ShortStrings<'a> {
    source: &'a mut dyn Read,
    /// Bytes of the string that passed; none outside of strings.
    passed: Option<usize>,
    /// Bytes that still belong to an escape sequence.
    escape: Escape,
    is_cut: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    Begun,
    Digits(u8),
}

impl<'a> ShortStrings<'a> {
    fn new(source: &'a mut dyn Read) -> Self {
        Self { source, passed: None, escape: Escape::None, is_cut: false }
    }

    /// Says whether a byte of the text passes.
    fn passes(&mut self, byte: u8) -> bool {
        let Some(passed) = self.passed else {
            self.passed = (byte == b'"').then_some(0);
            return true;
        };
        // Neither a character nor an escape sequence is cut in two: it would be no JSON any more.
        let is_between = self.escape == Escape::None && byte & 0xc0 != 0x80;
        let ends = self.escape == Escape::None && byte == b'"';
        self.is_cut |= is_between && passed >= STRING_BYTES_MAX;
        self.passed = Some(passed.saturating_add(1));
        self.escape = match (self.escape, byte) {
            (Escape::None, b'\\') => Escape::Begun,
            (Escape::Begun, b'u') => Escape::Digits(4),
            (Escape::Digits(left), _) if left > 1 => Escape::Digits(left - 1),
            _ => Escape::None,
        };
        if ends {
            (self.passed, self.is_cut) = (None, false);
        }
        ends || !self.is_cut
    }
}

impl Read for ShortStrings<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.source.read(out)?;
            let mut kept = 0;
            for at in 0..read {
                let byte = out.get(at).copied().unwrap_or_default();
                if self.passes(byte) {
                    if let Some(place) = out.get_mut(kept) {
                        *place = byte;
                    }
                    kept += 1;
                }
            }
            if kept > 0 || read == 0 {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn of(text: &str) -> Result<Input, Fault> {
        read(Some(&mut text.as_bytes()))
    }

    /// A reader that gives a few bytes at a time and counts them.
    struct Trickle<'a> {
        left: &'a [u8],
        step: usize,
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let length = self.step.min(out.len()).min(self.left.len());
            out[..length].copy_from_slice(&self.left[..length]);
            self.left = &self.left[length..];
            Ok(length)
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
            // Around the length at which strings are cut, of characters of one to four bytes and of escapes.
            (
                STRING_BYTES_MAX - 6..STRING_BYTES_MAX + 9,
                prop_oneof![Just('x'), Just('é'), Just('😀'), Just('\u{1}'), Just('"')]
            )
                .prop_map(|(length, fill)| Value::from(fill.to_string().repeat(length))),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z\"\\\\]{0,5}|error", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn law_what_is_read_does_not_depend_on_what_else_there_is(response in any_value(), step in 1..9_000_usize) {
            let text = json!({ "a": response, "tool_response": response, "transcript_path": "/t \"é\".jsonl" }).to_string();
            let input = read(Some(&mut Trickle { left: text.as_bytes(), step })).unwrap();
            let has_error = response.get("error").is_some_and(|error| !error.is_null());
            let transcript_path = Some(PathBuf::from("/t \"é\".jsonl"));
            let wanted = Input { transcript_path, tool_response: ToolResponse { has_error }, ..Input::default() };
            prop_assert_eq!(input, wanted);
        }
    }

    #[test]
    fn of_the_input_only_the_paths_are_read() {
        let text = r#"{"session_id":"s","transcript_path":"/t.jsonl","hook_event_name":"Stop","tool_input":{"a":[1]}}"#;
        assert_eq!(of(text).unwrap().transcript_path.as_deref(), Some(Path::new("/t.jsonl")));
        assert_eq!(of(r#"{"transcript_path":null}"#).unwrap(), Input::default());
        for text in ["garbage", "", "5", "{\"transcript_path\": 5}", "{\"a\":1} x"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    /// The client writes more than is wrong at the beginning: it must not meet a closed pipe.
    #[test]
    fn all_of_the_input_is_read_whatever_is_in_it() {
        let text = vec![b'x'; 300_000];
        let mut wrong = Trickle { left: &text, step: 4_096 };
        assert!(read(Some(&mut wrong)).is_err());
        assert_eq!(wrong.left.len(), 0);
    }
}
