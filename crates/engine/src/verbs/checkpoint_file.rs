//! A checkpoint as a file: the state of the work and the conversation, whole in one JSON object that a digest covers.
//!
//! Writing and reading files is the caller's; what is in them is here.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use stemmata_model::{
    ArtifactId, CommitId, EntryKind, FormatId, Json, Part, Timestamp, WorkState, WorkStateError, artifact_id,
};

use crate::engine::Engine;
use crate::error::FormatUse;

/// Bytes of a checkpoint file at most: it is read whole.
pub const CHECKPOINT_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Entries of a conversation at most.
const ENTRIES_MAX: usize = 200_000;

/// The version of the file's format.
const VERSION: u64 = 1;

/// The format of the conversation.
pub(super) const FORMAT: &str = "stemmata-v1";

/// Which context a checkpoint is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextSnapshot {
    /// The commit.
    pub ctx: CommitId,
    /// The format that it was captured in.
    pub format: String,
    /// The kind of agent.
    pub template: String,
    /// The session, where it is known.
    pub session: Option<String>,
    /// Messages of the conversation.
    pub messages: u64,
}

/// A checkpoint as a file holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFile {
    /// When it was made.
    pub timestamp: Timestamp,
    /// Which context it is of.
    pub snapshot: ContextSnapshot,
    /// The state of the work.
    pub state: WorkState,
    /// The conversation as a model saw it: lines of `stemmata-v1`.
    pub conversation: Vec<u8>,
}

/// What is wrong with a checkpoint file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointFileError {
    /// It is no checkpoint file.
    #[error("it is not a checkpoint file: {reason}")]
    Foreign {
        /// What was found.
        reason: String,
    },
    /// It has another version.
    #[error("it has version {found} of the format, and this program reads version {VERSION}")]
    Version {
        /// The version that it has.
        found: u64,
    },
    /// It is not what was written.
    #[error("it is damaged: {reason}")]
    Damaged {
        /// What was found.
        reason: String,
    },
    /// It is larger than what is read.
    #[error("it has more than {CHECKPOINT_FILE_BYTES_MAX} bytes")]
    TooLarge,
}

impl CheckpointFile {
    /// Returns the name of its file: `checkpoint_<time>.json`, with a time that any file system takes.
    pub fn name(&self) -> String {
        format!("checkpoint_{}.json", self.timestamp.to_string().replace(':', ""))
    }

    /// Returns the text of its file.
    pub fn render(&self) -> String {
        let mut header = self.header();
        let digest = digest(&header, &self.conversation);
        header["digest"] = digest.to_string().into();
        let mut text = serde_json::to_string_pretty(&header).expect("JSON has only text keys");
        let end = text.strip_suffix("\n}").map_or(text.len(), str::len);
        text.truncate(end);
        text.push_str(",\n  \"conversation\": [");
        let lines = String::from_utf8_lossy(&self.conversation);
        for (number, line) in lines.lines().enumerate() {
            text.push_str(if number == 0 { "\n    " } else { ",\n    " });
            text.push_str(line);
        }
        text.push_str("\n  ]\n}\n");
        text
    }

    fn header(&self) -> Value {
        let snapshot = &self.snapshot;
        let mut header = self.state.to_json();
        header["stemmata_checkpoint"] = VERSION.into();
        header["timestamp"] = self.timestamp.to_string().into();
        header["context_snapshot"] = json!({
            "ctx": snapshot.ctx.to_string(),
            "format": snapshot.format,
            "template": snapshot.template,
            "session": snapshot.session,
            "messages": snapshot.messages,
        });
        header
    }

    /// Reads the bytes of a file. Nothing of it is believed before the digest fits and each line of the conversation is an entry.
    ///
    /// # Errors
    /// [`CheckpointFileError`] with what was found.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointFileError> {
        if u64::try_from(bytes.len()).is_ok_and(|length| length > CHECKPOINT_FILE_BYTES_MAX) {
            return Err(CheckpointFileError::TooLarge);
        }
        let foreign = |reason: String| CheckpointFileError::Foreign { reason };
        let text = std::str::from_utf8(bytes).map_err(|error| foreign(error.to_string()))?;
        // The conversation is most of a file, and is never a value in memory.
        let mut fields: BTreeMap<String, &RawValue> =
            serde_json::from_str(text).map_err(|error| unread(text, &error))?;
        let (conversation, known) = (fields.remove("conversation"), fields.remove("digest"));
        let mut header = Map::new();
        for (name, raw) in fields {
            let value = Json::value_of(raw.get()).map_err(|error| foreign(error.to_string()))?;
            header.insert(name, value);
        }
        let header = Value::Object(header);
        match header["stemmata_checkpoint"].as_u64() {
            Some(VERSION) => {}
            Some(found) => return Err(CheckpointFileError::Version { found }),
            None => return Err(foreign("it has no `stemmata_checkpoint`".to_owned())),
        }
        let damaged = |reason: String| CheckpointFileError::Damaged { reason };
        let absent = || damaged("it has no `conversation` or no `digest`".to_owned());
        let (raw, known) = conversation.zip(known).ok_or_else(absent)?;
        let lines: Vec<&RawValue> =
            serde_json::from_str(raw.get()).map_err(|error| damaged(error.to_string()))?;
        let known: String = serde_json::from_str(known.get()).map_err(|error| damaged(error.to_string()))?;
        let conversation = lines_of(&lines)?;
        if digest(&header, &conversation).to_string() != known {
            return Err(damaged("its digest is of other bytes".to_owned()));
        }
        let state =
            WorkState::of_json(&header).map_err(|error: WorkStateError| damaged(error.to_string()))?;
        let timestamp = header["timestamp"].as_str().and_then(|text| Timestamp::parse(text).ok());
        let timestamp = timestamp.ok_or_else(|| damaged("`timestamp` is not a time".to_owned()))?;
        let snapshot = snapshot_of(&header["context_snapshot"]).map_err(damaged)?;
        check_entries(&conversation, lines.len()).map_err(damaged)?;
        Ok(Self { timestamp, snapshot, state, conversation })
    }

    /// Returns the digest of its contents.
    pub fn digest(&self) -> ArtifactId {
        digest(&self.header(), &self.conversation)
    }
}

/// Hashes all that a file says, whatever white space and order of keys it has.
fn digest(header: &Value, conversation: &[u8]) -> ArtifactId {
    let mut bytes = format!("{header}\n").into_bytes();
    bytes.extend_from_slice(conversation);
    artifact_id(&bytes)
}

/// Says why a text is no JSON object: it is empty, it ends in the middle, or it is something else.
fn unread(text: &str, error: &serde_json::Error) -> CheckpointFileError {
    if text.trim().is_empty() {
        return CheckpointFileError::Damaged { reason: "it is empty".to_owned() };
    }
    if error.is_eof() {
        return CheckpointFileError::Damaged {
            reason: format!("it is cut, and ends in the middle of line {}", error.line()),
        };
    }
    CheckpointFileError::Foreign { reason: error.to_string() }
}

fn lines_of(conversation: &[&RawValue]) -> Result<Vec<u8>, CheckpointFileError> {
    let damaged = |reason: String| CheckpointFileError::Damaged { reason };
    if conversation.len() > ENTRIES_MAX {
        let count = conversation.len();
        return Err(damaged(format!("its conversation has {count} entries, more than {ENTRIES_MAX}")));
    }
    let mut lines = Vec::new();
    for line in conversation {
        let line = Json::parse(line.get()).map_err(|error| damaged(error.to_string()))?;
        lines.extend_from_slice(line.as_str().as_bytes());
        lines.push(b'\n');
    }
    Ok(lines)
}

fn snapshot_of(value: &Value) -> Result<ContextSnapshot, String> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let needed = |name: &str| text(name).ok_or_else(|| format!("`context_snapshot.{name}` is not text"));
    let ctx = needed("ctx")?;
    Ok(ContextSnapshot {
        ctx: ctx.parse().map_err(|_| "`context_snapshot.ctx` is not a commit".to_owned())?,
        format: needed("format")?,
        template: needed("template")?,
        session: text("session"),
        messages: value["messages"].as_u64().unwrap_or(0),
    })
}

/// Refuses lines that are no entries of a conversation.
fn check_entries(conversation: &[u8], count: usize) -> Result<(), String> {
    let format = FormatId::new(FORMAT).expect("a constant name is a name");
    let adapter = Engine::adapter(&format, FormatUse::Read).map_err(|error| error.to_string())?;
    let entries = adapter.decode(conversation).entries;
    let bad = entries.iter().position(|entry| match (&entry.kind, entry.parts.as_slice()) {
        (EntryKind::Unreadable, _) => true,
        // A line of a newer version is carried; one of no version is nobody's.
        (EntryKind::Metadata, [Part::Opaque { kind, json, .. }]) if kind == "line" => !is_of_ours(json),
        _ => false,
    });
    match bad {
        Some(at) => Err(format!("entry {} of its conversation cannot be read", at + 1)),
        None if entries.len() != count => {
            Err(format!("its conversation has {count} lines and {} entries", entries.len()))
        }
        None => Ok(()),
    }
}

fn is_of_ours(line: &str) -> bool {
    let value = Json::value_of(line).unwrap_or_default();
    value["v"].as_str().is_some_and(|version| version.starts_with("stemmata-v"))
}
