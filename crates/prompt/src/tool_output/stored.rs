//! How a whole output is stored: lines of JSON, a few parts of its text and a head that names them.
//!
//! Lines are what a ledger stores, scrubs and forgets. A line is bounded, and so an output of any length takes several. The
//! artifact of the head is the reference to the output.

use serde_json::{Value, json};
use stemmata_model::{ArtifactId, Json, artifact_id, to_u64};

use super::limits::Extent;

/// Bytes of one part at most. JSON writes a control character in six bytes, so that a line has three mebibytes at most.
const PART_BYTES: usize = 512 * 1024;

/// Parts of one output at most.
const PARTS_MAX: usize = 256;

/// Bytes of an output that is stored whole at most.
pub const OUTPUT_BYTES_MAX: usize = (PART_BYTES - 4) * PARTS_MAX;

/// Bytes of a head's line at most, so that larger contents need not be read to know that they are none.
pub const HEAD_BYTES_MAX: u64 = 64 * 1024;

const HEAD: &str = "tool_output";
const PART: &str = "tool_output_part";

/// What the line of a head begins with.
const HEAD_BEGINS: &[u8] = b"{\"stemmata\":\"tool_output\",";

/// A part of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputPart {
    /// The artifact of its line.
    pub artifact: ArtifactId,
    /// Its bytes.
    pub bytes: u64,
    /// Its newlines.
    pub newlines: u64,
    /// Its characters.
    pub chars: u64,
}

/// The head of an output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOutput {
    /// The SHA-256 of the output's bytes, in hex.
    pub sha256: String,
    /// Its parts, in order.
    pub parts: Vec<OutputPart>,
}

/// Returns the artifact of a line as a ledger stores it, with its newline.
pub fn line_artifact(line: &Json) -> ArtifactId {
    artifact_id(format!("{line}\n").as_bytes())
}

/// Cuts a text into parts, never within a character.
pub fn text_parts(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = PART_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (part, after) = rest.split_at(end);
        rest = after;
        Some(part)
    })
}

/// Returns the line of a part.
pub fn part_line(text: &str) -> Json {
    Json::of(&json!({"stemmata": PART, "text": text}))
}

/// Returns the text of a part's line. `None` where the line is no part's.
pub fn part_text(line: &str) -> Option<String> {
    let mut value = Json::value_of(line).ok().filter(|value| value["stemmata"] == PART)?;
    match value["text"].take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

impl OutputPart {
    /// Measures a part.
    pub fn of(line: &Json, text: &str) -> Self {
        let Extent { bytes, chars, .. } = Extent::of(text);
        let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
        let [bytes, chars, newlines] = [bytes, chars, newlines].map(to_u64);
        Self { artifact: line_artifact(line), bytes, newlines, chars }
    }
}

impl StoredOutput {
    /// Returns its bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.bytes))
    }

    /// Returns its line.
    pub fn line(&self) -> Json {
        let part =
            |part: &OutputPart| json!([part.artifact.to_string(), part.bytes, part.newlines, part.chars]);
        let parts: Vec<Value> = self.parts.iter().map(part).collect();
        // The order of keys is what a reader knows it by.
        let rest = json!({"parts": parts, "sha256": self.sha256}).to_string();
        let text = format!("{{\"stemmata\":\"{HEAD}\",{}", rest.trim_start_matches('{'));
        Json::parse(&text).expect("what was written here is JSON")
    }

    /// Reads the line of a head. `None` where the bytes are none.
    pub fn of_line(line: &[u8]) -> Option<Self> {
        if !line.starts_with(HEAD_BEGINS) {
            return None;
        }
        let value = Json::value_of(std::str::from_utf8(line).ok()?).ok()?;
        let parts = value["parts"].as_array().filter(|parts| parts.len() <= PARTS_MAX)?;
        let part = |part: &Value| {
            Some(OutputPart {
                artifact: part[0].as_str()?.parse().ok()?,
                bytes: part[1].as_u64()?,
                newlines: part[2].as_u64()?,
                chars: part[3].as_u64()?,
            })
        };
        let sha256 = value["sha256"].as_str()?.to_owned();
        Some(Self { sha256, parts: parts.iter().map(part).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases((ProptestConfig::default().cases * 3).div_ceil(8)))]

        #[test]
        fn parts_are_the_whole_text_and_come_back_from_their_lines(
            text in "[a-zé日😀\\n\\u{0}\"]{0,40}", times in 0..40_000_usize,
        ) {
            let text = text.repeat(times);
            let parts: Vec<&str> = text_parts(&text).collect();
            prop_assert_eq!(&parts.concat(), &text);
            for part in &parts {
                let line = part_line(part);
                prop_assert!(line.as_str().len() < 4 * 1024 * 1024);
                let told = part_text(line.as_str());
                prop_assert_eq!(told.as_deref(), Some(*part));
            }
            let head = StoredOutput {
                sha256: "00ff".to_owned(),
                parts: parts.iter().map(|part| OutputPart::of(&part_line(part), part)).collect(),
            };
            prop_assert_eq!(head.bytes(), text.len() as u64);
            prop_assert_eq!(StoredOutput::of_line(format!("{}\n", head.line()).as_bytes()), Some(head));
        }
    }

    #[test]
    fn a_head_of_the_largest_output_is_within_its_bound() {
        let part =
            OutputPart { artifact: artifact_id(b""), bytes: u64::MAX, newlines: u64::MAX, chars: u64::MAX };
        let head = StoredOutput { sha256: "f".repeat(64), parts: vec![part; PARTS_MAX] };
        assert!((head.line().as_str().len() as u64) < HEAD_BYTES_MAX);
    }

    #[test]
    fn what_is_no_head_is_none() {
        for line in [
            "",
            "{}",
            "{\"stemmata\":\"tool_output\",",
            "{\"stemmata\":\"tool_output\",\"parts\":[[1,2,3,4]],\"sha256\":\"\"}",
            "{\"stemmata\":\"tool_output\",\"parts\":[[]],\"sha256\":\"\"}",
            "{\"stemmata\":\"tool_output\",\"parts\":[]}",
            "{\"stemmata\":\"tool_output_part\",\"text\":\"\"}",
        ] {
            assert_eq!(StoredOutput::of_line(line.as_bytes()), None, "{line}");
        }
        assert_eq!(part_text("{\"stemmata\":\"tool_output\",\"parts\":[],\"sha256\":\"\"}"), None);
        assert_eq!(part_text("[1]"), None);
    }
}
