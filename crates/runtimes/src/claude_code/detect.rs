//! Whether bytes are a Claude Code transcript.
//!
//! Looks at shapes, never at file names; the stream of events on standard output, which spells
//! `session_id` and knows no parents, is another format.

use stemmata_model::FormatId;

use super::apart::apart;
use super::record::{ParentLink, Record};
use crate::adapter::{Confidence, Detection};
use crate::json::{BYTE_ORDER_MARK, is_blank, owned};

/// Types that only this format has, each with a field that goes with it.
const METADATA_MARKS: [(&str, &str); 9] = [
    ("summary", "\"leafUuid\":"),
    ("file-history-snapshot", "\"messageId\":"),
    ("queue-operation", "\"operation\":"),
    ("custom-title", "\"customTitle\":"),
    ("ai-title", "\"aiTitle\":"),
    ("last-prompt", "\"lastPrompt\":"),
    ("pr-link", "\"prNumber\":"),
    ("atis-latch", "\"atis\":"),
    ("mode", "\"mode\":"),
];

/// Looks at the first bytes of a file (see `Adapter::detect`).
pub(super) fn detect(head: &[u8], format: FormatId) -> Option<Detection> {
    let mut confidence = None;
    let mut version = None;
    for line in head.split(|byte| *byte == b'\n').filter(|line| !is_blank(line)) {
        let begins = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
        let found = if let Ok(record) = Record::parse(line) {
            look(&record, line, &mut version)
        } else if !begins.starts_with(b"{") && !begins.starts_with(b"[{") {
            None
        } else {
            let records = apart(line, true).into_iter().filter_map(|part| part.record);
            // The head may end inside a line, which may be the first one.
            records
                .filter_map(|text| look(&Record::parse(text.as_bytes()).ok()?, text.as_bytes(), &mut version))
                .max()
                .or_else(|| of_cut_line(line))
        };
        confidence = confidence.max(found);
        if confidence == Some(Confidence::Certain) && version.is_some() {
            break;
        }
    }
    Some(Detection { format, version, confidence: confidence? })
}

/// Looks at a line that is there whole, and takes the first version that one says.
fn look(record: &Record<'_>, line: &[u8], version: &mut Option<String>) -> Option<Confidence> {
    let found = of_record(record, line);
    if found.is_some() && version.is_none() {
        *version = owned(record.version);
    }
    found
}

fn of_record(record: &Record<'_>, line: &[u8]) -> Option<Confidence> {
    let is_node =
        ["user", "assistant", "system", "attachment", "progress"].iter().any(|name| record.is_type(name));
    if is_node {
        if record.uuid.is_none() || record.parent() == ParentLink::Absent {
            return None;
        }
        let is_marked =
            record.session_id.is_some() || record.is_sidechain.is_some() || record.version.is_some();
        return Some(if is_marked { Confidence::Certain } else { Confidence::Possible });
    }
    let is_metadata = METADATA_MARKS.iter().any(|(name, mark)| record.is_type(name) && holds(line, mark));
    is_metadata.then_some(Confidence::Possible)
}

/// Looks at the start of a line whose end is not there.
fn of_cut_line(line: &[u8]) -> Option<Confidence> {
    let is_object = line.trim_ascii_start().starts_with(b"{\"");
    let is_node =
        holds(line, "\"parentUuid\":") && (holds(line, "\"sessionId\":") || holds(line, "\"isSidechain\":"));
    let is_metadata = METADATA_MARKS
        .iter()
        .any(|(name, mark)| holds(line, &format!("\"type\":\"{name}\"")) && holds(line, mark));
    (is_object && (is_node || is_metadata)).then_some(Confidence::Possible)
}

fn holds(line: &[u8], text: &str) -> bool {
    memchr::memmem::find(line, text.as_bytes()).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::DETECT_BYTES_MAX;
    use crate::claude_code::samples_tests::{corpus_files, transcript};

    fn found(head: &[u8]) -> Option<(Confidence, Option<String>)> {
        let format = FormatId::new("claude-code-v1").expect("a name");
        detect(head, format).map(|found| (found.confidence, found.version))
    }

    #[test]
    fn transcripts_are_claimed() {
        let version = Some("2.1.330".to_owned());
        assert_eq!(found(&transcript("mmUA")), Some((Confidence::Certain, version)));
        assert_eq!(found(&transcript("mm")), Some((Confidence::Possible, None)));
        assert_eq!(
            found(br#"{"type":"summary","summary":"x","leafUuid":"y"}"#),
            Some((Confidence::Possible, None))
        );
        let bare = br#"{"type":"user","uuid":"u","parentUuid":null,"message":{"content":"hi"}}"#;
        assert_eq!(found(bare), Some((Confidence::Possible, None)));
        let long = format!("{{\"parentUuid\":null,\"isSidechain\":false,\"message\":\"{}", "x".repeat(9999));
        assert_eq!(found(long.as_bytes()), Some((Confidence::Possible, None)));
        let long =
            format!("{{\"type\":\"file-history-snapshot\",\"messageId\":\"m\",\"x\":\"{}", "x".repeat(9999));
        assert_eq!(found(long.as_bytes()), Some((Confidence::Possible, None)));
        assert!(found(&[b"garbage\n\n".as_slice(), &transcript("U")].concat()).is_some());
    }

    #[test]
    fn other_formats_are_not_claimed() {
        for head in [
            "",
            "\n\n",
            "hello world",
            "[1,2]",
            "{}",
            // The stream of events of the same client.
            r#"{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":[],"uuid":"u","claude_code_version":"2.1.330"}
{"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":"s","uuid":"v"}
{"type":"result","subtype":"success","session_id":"s","result":"ok","uuid":"w"}"#,
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}"#,
            r#"{"type":"mode","value":1}"#,
            r#"{"type":"summary","text":"of something"}"#,
            r#"{"type":"session","version":3,"id":"x","cwd":"/w"}"#,
            r#"{"type":"user","id":"1","content":"hi","sessionId":"s","projectHash":"h"}"#,
            r#"{"type":"message","id":"1","parentId":null,"message":{"role":"user"}}"#,
        ] {
            assert_eq!(found(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn every_transcript_of_the_corpus_is_claimed() {
        for (name, bytes) in corpus_files() {
            let head = &bytes[..bytes.len().min(DETECT_BYTES_MAX)];
            let (confidence, version) = found(head).expect(&name);
            assert!(confidence == Confidence::Certain && version.is_some(), "{name}");
        }
    }
}
