//! Events: the records of a ledger.
//!
//! What ledgers promise (order, durability, who may write) is the store's; what events mean is the reducers'.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde_json::Value;

use serde::{Deserialize, Serialize};

use crate::{ArtifactId, Json, Party, SessionId, Timestamp, Topic, topics};

/// The greatest sequence number: what SQLite and most languages' signed integers hold.
const SEQ_MAX: u64 = i64::MAX.unsigned_abs();

/// The place of an event in its ledger: 1, 2, 3 … without gaps, at most 2^63 - 1. In JSON it is a decimal string,
/// since readers that take every number for a float lose those beyond 2^53.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventSeq(NonZeroU64);

impl EventSeq {
    /// The place of a ledger's first event.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// Wraps a number; none for 0 and for what is beyond 2^63 - 1.
    pub const fn new(number: u64) -> Option<Self> {
        if number > SEQ_MAX {
            return None;
        }
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for EventSeq {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

/// A text that is no sequence number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseSeqError {
    /// Not the shortest decimal form of a number.
    #[error("`{text}` is not a sequence number such as `42`: digits only, without zeros before them")]
    NotCanonical {
        /// The text as given, cut to 64 characters.
        text: String,
    },
    /// A number that no event has.
    #[error("`{text}` is not a sequence number: they go from 1 to 9223372036854775807")]
    OutOfRange {
        /// The text as given, cut to 64 characters.
        text: String,
    },
}

impl FromStr for EventSeq {
    type Err = ParseSeqError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(64).collect();
        let canonical =
            text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        if text.is_empty() || !canonical {
            return Err(ParseSeqError::NotCanonical { text: shown() });
        }
        let number = text.parse().ok().and_then(Self::new);
        number.ok_or_else(|| ParseSeqError::OutOfRange { text: shown() })
    }
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// Text and data, kept with the event; either may be missing.
    Plain {
        /// Text for people and models.
        text: Option<String>,
        /// Data for programs.
        data: Option<Json>,
    },
    /// One line of `stemmata-v1`, kept once: as a content of the store, which deltas are made of too.
    Line {
        /// The content's id: of the line with its newline.
        id: ArtifactId,
        /// The line, without its newline.
        line: Json,
    },
    /// Let go of. The event's place stays.
    Gone(Gone),
}

/// What is left of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gone {
    /// The BLAKE3 hash of what it was: of a line with its newline, else of text, a zero byte and data.
    pub hash: ArtifactId,
    /// Bytes of that.
    pub bytes: u64,
    /// Whether somebody had it forgotten; else the ledger let go of it by a bound.
    pub forgotten: bool,
}

/// One record of a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its place. Order is by place only.
    pub seq: EventSeq,
    /// The session that it belongs to.
    pub session: SessionId,
    /// When it was appended: later than the event before it, whatever clocks said.
    pub at: Timestamp,
    /// What it is about.
    pub topic: Topic,
    /// Who sent it.
    pub sender: Party,
    /// For whom it is.
    pub receiver: Party,
    /// What it says.
    pub payload: Payload,
    /// What programs say about it.
    pub metadata: Option<Json>,
    /// Whether it may enter a prompt.
    pub replayable: bool,
}

/// What an event that is to be appended says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewPayload {
    /// Text and data; either may be missing.
    Plain {
        /// Text for people and models.
        text: Option<String>,
        /// Data for programs.
        data: Option<Json>,
    },
    /// One line of `stemmata-v1`, without its newline.
    Line(Json),
}

/// An event that is to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The session that it belongs to.
    pub session: SessionId,
    /// When it happened, where the caller knows; counts only where it is later than the event before it and not
    /// earlier than the present.
    pub at: Option<Timestamp>,
    /// What it is about.
    pub topic: Topic,
    /// Who sends it.
    pub sender: Party,
    /// For whom it is.
    pub receiver: Party,
    /// What it says.
    pub payload: NewPayload,
    /// What programs say about it.
    pub metadata: Option<Json>,
    /// Whether it may enter a prompt.
    pub replayable: bool,
}

impl NewEvent {
    /// The receiver of what is for everybody.
    pub const BROADCAST: &str = "broadcast";

    /// Makes an event for everybody that may enter a prompt unless its topic or its own words say no.
    pub fn new(session: SessionId, topic: Topic, sender: Party, payload: NewPayload) -> Self {
        let receiver = Party::new(Self::BROADCAST).expect("a constant name is a name");
        let replayable = match &payload {
            NewPayload::Plain { data, .. } => may_replay(&topic, data.as_ref(), None),
            NewPayload::Line(_) => may_replay(&topic, None, None),
        };
        Self { session, at: None, topic, sender, receiver, payload, metadata: None, replayable }
    }

    /// Adds what programs say about it, and decides again whether it may enter a prompt.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Json) -> Self {
        let data = match &self.payload {
            NewPayload::Plain { data, .. } => data.as_ref(),
            NewPayload::Line(_) => None,
        };
        self.replayable = may_replay(&self.topic, data, Some(&metadata));
        self.metadata = Some(metadata);
        self
    }

    /// Says for whom it is.
    #[must_use]
    pub fn to(mut self, receiver: Party) -> Self {
        self.receiver = receiver;
        self
    }
}

/// Says whether an event may enter a prompt: what its metadata, then its data, say as `contextSafe` (true or false)
/// decides; else what they say as `replayPolicy` (`raw_log_only` or `context`); else all may but raw output, and whole outputs of tools.
/// The rule of seed 000's implementation (`reference/sources.md` §1.4).
pub fn may_replay(topic: &Topic, data: Option<&Json>, metadata: Option<&Json>) -> bool {
    let said: Vec<Value> = [metadata, data].into_iter().flatten().map(Json::to_value).collect();
    if let Some(safe) = said.iter().find_map(|value| value.get("contextSafe").and_then(Value::as_bool)) {
        return safe;
    }
    // The first that names a policy at all decides, known or not.
    match said.iter().find_map(|value| value.get("replayPolicy").filter(|policy| !policy.is_null())) {
        Some(policy) if policy.as_str() == Some("raw_log_only") => false,
        Some(policy) if policy.as_str() == Some("context") => true,
        _ => !matches!(topic.as_str(), topics::AGENT_OUTPUT | topics::TOOL_OUTPUT),
    }
}

/// When an append is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// When it is durable, with a sync of its own.
    Full,
    /// When it is durable; appends that wait at the same time share one sync.
    #[default]
    Batch,
    /// When others can read it: a power cut may lose it, and nothing that came before it.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_have_one_form() {
        for (text, number) in
            [("1", 1), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", SEQ_MAX)]
        {
            assert_eq!(text.parse().ok(), EventSeq::new(number), "{text}");
            assert_eq!(EventSeq::new(number).map(|seq| seq.to_string()).as_deref(), Some(text));
        }
        for text in ["", "01", "-1", "1.5", "+1", " 1", "1_0"] {
            assert!(matches!(text.parse::<EventSeq>(), Err(ParseSeqError::NotCanonical { .. })), "{text}");
        }
        for text in ["0", "9223372036854775808", "99999999999999999999999"] {
            assert!(matches!(text.parse::<EventSeq>(), Err(ParseSeqError::OutOfRange { .. })), "{text}");
        }
    }

    #[test]
    fn what_may_enter_a_prompt() {
        let json = |text: &str| Json::parse(text).expect("JSON");
        for (topic, data, metadata, expected) in [
            ("X", "", "", true),
            ("AGENT_OUTPUT", "", "", false),
            ("TOOL_OUTPUT", "", "", false),
            ("AGENT_OUTPUT", "", r#"{"replayPolicy":"context"}"#, true),
            ("X", "", r#"{"replayPolicy":"raw_log_only"}"#, false),
            ("X", "", r#"{"contextSafe":false}"#, false),
            ("AGENT_OUTPUT", "", r#"{"contextSafe":true}"#, true),
            ("X", "", r#"{"contextSafe":true,"replayPolicy":"raw_log_only"}"#, true),
            ("X", r#"{"contextSafe":false}"#, "", false),
            ("X", "", r#"{"replayPolicy":"weird"}"#, true),
            ("X", "", r#"{"contextSafe":"no"}"#, true),
            ("X", r#"{"replayPolicy":"raw_log_only"}"#, r#"{"replayPolicy":"context"}"#, true),
        ] {
            let parse = |text: &str| (!text.is_empty()).then(|| json(text));
            let topic = Topic::new(topic).expect("a name");
            let may = may_replay(&topic, parse(data).as_ref(), parse(metadata).as_ref());
            assert_eq!(may, expected, "{topic} {data} {metadata}");
        }
    }
}
