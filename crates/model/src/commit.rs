//! Commits: what is hashed, and what is derived beside it.
//!
//! Where and by whom a commit was captured is a sighting, not part of it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{ArtifactId, CanonicalEncoder, CommitId, EntryId, FormatId, RulesHash, Template, Timestamp};

/// What a commit's artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitType {
    /// The entries since the parent.
    Delta,
    /// A self-contained prefix that replaces everything before it.
    Compaction,
    /// A full context in one artifact.
    Snapshot {
        /// How many leading entries say again what the parent chain already says.
        restated_entries: u64,
    },
}

impl CommitType {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Compaction => "compaction",
            Self::Snapshot { .. } => "snapshot",
        }
    }

    /// Returns how many leading entries say again what the parent chain already says.
    pub const fn restated(self) -> u64 {
        match self {
            Self::Snapshot { restated_entries } => restated_entries,
            Self::Delta | Self::Compaction => 0,
        }
    }

    const fn canonical(self) -> (u8, u64) {
        match self {
            Self::Delta => (0, 0),
            Self::Compaction => (1, 0),
            Self::Snapshot { restated_entries } => (2, restated_entries),
        }
    }
}

/// What decides a commit's materialization: hashed, immutable, the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCore {
    /// The commit before, none for a root.
    pub parent: Option<CommitId>,
    /// What the artifact is.
    pub commit_type: CommitType,
    /// What the agent should know: delta, summary prefix, or whole context.
    pub artifact: ArtifactId,
    /// The transcript's own bytes of this place, where they are not the artifact itself.
    pub native: Option<ArtifactId>,
    /// How the bytes are encoded.
    pub format: FormatId,
    /// What kind of agent it was.
    pub template: Template,
    /// The greatest record timestamp, at least the parent's; never the wall clock for an import.
    pub created_at: Timestamp,
}

/// Separates commit ids from every other use of the hash.
const COMMIT_CONTEXT: &str = "stemmata.commit.v1";

/// The version byte of a commit's canonical encoding.
const COMMIT_ENCODING_VERSION: u8 = 1;

impl CommitCore {
    /// Returns the canonical encoding (`docs/format/commit.md`).
    pub fn canonical(&self) -> Vec<u8> {
        let (tag, restated) = self.commit_type.canonical();
        let parent = self.parent.map(CommitId::to_bytes);
        CanonicalEncoder::new(COMMIT_ENCODING_VERSION)
            .optional(parent.as_ref().map(<[u8; 16]>::as_slice))
            .tag(tag)
            .number(restated)
            .bytes(self.format.as_str().as_bytes())
            .bytes(self.artifact.as_bytes())
            .optional(self.native.as_ref().map(|native| native.as_bytes().as_slice()))
            .bytes(self.template.as_str().as_bytes())
            .signed(self.created_at.as_micros())
            .finish()
    }

    /// Returns the id: the first 128 bits of the domain-separated BLAKE3 hash of the canonical encoding.
    pub fn id(&self) -> CommitId {
        let hash = blake3::derive_key(COMMIT_CONTEXT, &self.canonical());
        let mut id = [0; 16];
        id.copy_from_slice(hash.split_at(16).0);
        CommitId::from_bytes(id)
    }

    /// Returns the artifact that holds the transcript's own bytes of this commit.
    pub fn native_artifact(&self) -> ArtifactId {
        self.native.unwrap_or(self.artifact)
    }
}

/// Whether a commit ends at a closed boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub enum Closure {
    /// It ends where the granularity says.
    Closed,
    /// It ends between boundaries, on the last closed one.
    Provisional,
    /// It was provisional, and other commits of the same transcript now cover its bytes.
    Covered,
    /// Its contents were forgotten: a hole in the chain, which keeps its id, its parent and its figures.
    Forgotten,
}

impl Closure {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Provisional => "provisional",
            Self::Covered => "covered",
            Self::Forgotten => "forgotten",
        }
    }
}

/// Derived counts of a delta; never hashed, and recomputed at will.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Messages: user, assistant and tool entries that a model sees.
    pub messages: u64,
    /// Entries of any kind.
    pub entries: u64,
    /// Estimated tokens of what a model sees.
    pub tokens: u64,
}

/// A stored commit: the hashed core and what is derived from its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The id, a function of `core`.
    pub id: CommitId,
    /// What is hashed.
    pub core: CommitCore,
    /// The redaction rules that the bytes went through.
    pub rules: RulesHash,
    /// Whether it ends at a closed boundary.
    pub closure: Closure,
    /// Derived counts of this commit's own entries.
    pub counts: Counts,
    /// Bytes of this commit's own native content.
    pub native_bytes: u64,
    /// Commits before this one in the chain; 0 for a root.
    pub depth: u64,
    /// Bytes of native content from the root up to and with this commit.
    pub cumulative_bytes: u64,
}

/// How often closed commits are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Granularity {
    /// A commit for each turn.
    #[default]
    Turn,
    /// A commit for each message.
    Message,
    /// A commit for every so many turns (at least 1).
    Every(u32),
}

/// A text that is no granularity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a granularity: use `turn`, `message` or `every:N` with N from 1 to 1000000")]
pub struct ParseGranularityError(pub String);

impl fmt::Display for Granularity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Turn => formatter.write_str("turn"),
            Self::Message => formatter.write_str("message"),
            Self::Every(turns) => write!(formatter, "every:{turns}"),
        }
    }
}

impl FromStr for Granularity {
    type Err = ParseGranularityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "turn" => Ok(Self::Turn),
            "message" => Ok(Self::Message),
            other => other
                .strip_prefix("every:")
                .and_then(|count| count.parse::<u32>().ok())
                .filter(|count| (1..=1_000_000).contains(count))
                .map(Self::Every)
                .ok_or_else(|| ParseGranularityError(text.to_owned())),
        }
    }
}

/// Why two commits belong together. Links merge as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline, with = "String"))]
pub enum LinkKind {
    /// `from` was copied, forked or translated from `to` by an outside program.
    DerivedFrom,
    /// `from` is the root of a subagent that an entry of `to` started.
    Subagent,
}

/// A link between commits other than a parent link.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// The commit that depends.
    pub from: CommitId,
    /// `derived_from` or `subagent`.
    pub kind: LinkKind,
    /// The commit that it depends on.
    pub to: CommitId,
    /// The entry of `to` that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact_id;

    fn core() -> CommitCore {
        CommitCore {
            parent: None,
            commit_type: CommitType::Delta,
            artifact: artifact_id(b"hello\n"),
            native: None,
            format: FormatId::new("claude-code-v1").expect("a name"),
            template: Template::new("claude-code/main").expect("a name"),
            created_at: Timestamp::from_micros(1_700_000_000_000_000),
        }
    }

    #[test]
    fn every_hashed_field_changes_the_id() {
        let base = core();
        let other_parent = CommitId::from_bytes([7; 16]);
        let variants = [
            CommitCore { parent: Some(other_parent), ..base.clone() },
            CommitCore { commit_type: CommitType::Compaction, ..base.clone() },
            CommitCore { commit_type: CommitType::Snapshot { restated_entries: 0 }, ..base.clone() },
            CommitCore { commit_type: CommitType::Snapshot { restated_entries: 3 }, ..base.clone() },
            CommitCore { artifact: artifact_id(b"hello"), ..base.clone() },
            CommitCore { native: Some(base.artifact), ..base.clone() },
            CommitCore { format: FormatId::new("pi-v3").expect("a name"), ..base.clone() },
            CommitCore { template: Template::new("claude-code/subagent").expect("a name"), ..base.clone() },
            CommitCore { created_at: Timestamp::from_micros(1_700_000_000_000_001), ..base.clone() },
        ];
        let mut ids: Vec<CommitId> = variants.iter().map(CommitCore::id).collect();
        ids.push(base.id());
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn granularities_come_back_from_their_text() {
        for granularity in [Granularity::Turn, Granularity::Message, Granularity::Every(5)] {
            assert_eq!(granularity.to_string().parse(), Ok(granularity));
        }
        for bad in ["", "every:", "every:0", "every:-1", "turns", "every:99999999"] {
            assert_eq!(bad.parse::<Granularity>(), Err(ParseGranularityError(bad.to_owned())));
        }
    }
}
