//! Wire types of the settings of this machine, and of its state.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::Timestamp;

use super::{Du, Home, Hooks, LeftOut, Pending, SessionTotals};

/// What is not captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Exclusions {
    /// Paths and patterns, in the order in which they were given.
    pub excluded: Vec<String>,
    /// Pauses.
    pub pauses: Vec<Pause>,
}

/// A pause of capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Pause {
    /// Only sessions that work at or below this directory; absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// When it ends by itself; absent if only `unpause` ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Where things are, and what is not yet imported.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Status {
    /// The version of this program.
    pub version: String,
    /// The data directory.
    pub home: String,
    /// The store's folder.
    pub store: String,
    /// The configuration file, whether it exists or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// This machine's id.
    pub machine: String,
    /// Its readable name.
    pub machine_label: String,
    /// The redaction rules in force.
    pub rules: String,
    /// How much there is; absent where nothing was ever stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Du>,
    /// How many sessions there are, as listings count them; absent where there is no store. `usage` counts every one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionTotals>,
    /// Commits that are condemned: `gc` deletes them after the grace.
    pub condemned_commits: u64,
    /// Contents that are condemned.
    pub condemned_contents: u64,
    /// Sessions of this machine whose transcripts are gone: only this store has them.
    #[serde(default)]
    pub only_here_sessions: u64,
    /// Bytes of their chains.
    #[serde(default)]
    pub only_here_bytes: u64,
    /// Clients' homes that were found.
    pub homes: Vec<Home>,
    /// Transcripts that are new or changed since they were last read.
    pub pending: Vec<Pending>,
    /// What lies in clients' homes and is not read, or is of a version that is not known. Of all kinds but `other_file` it may be a
    /// session: then not everything is imported.
    pub unread: Vec<LeftOut>,
    /// Transcripts that are excluded, or held back by a pause.
    pub held_back: u64,
    /// Why nothing at all is captured; absent where something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// How full the store is, where its bound is near; absent else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota: Option<String>,
    /// The last trouble of a hook or of `run`; absent where there was none, or the same went well since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_trouble: Option<String>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook_trouble_at: Option<Timestamp>,
    /// The hooks of each client that has some of ours, or had.
    pub hooks: Vec<Hooks>,
    /// Transcripts that hooks left for the next command, and could not be read since.
    pub left_by_hooks: u64,
    /// Records of commands under `run` that could not be captured, and are kept.
    pub set_aside: Vec<String>,
    /// Rules for secrets of projects that do not count, and why.
    pub untrusted_rules: Vec<UntrustedRules>,
}

/// Rules for secrets that a project has and that do not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct UntrustedRules {
    /// The file.
    pub path: String,
    /// Why they do not count.
    pub reason: String,
}

/// The configuration as it is in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Configuration {
    /// All keys.
    pub keys: Vec<ConfigEntry>,
    /// Keys of the file that mean nothing.
    pub unknown: Vec<String>,
    /// Kinds of agents for `start`.
    pub templates: Vec<ConfiguredTemplate>,
}

/// A kind of agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConfiguredTemplate {
    /// Its name.
    pub name: String,
    /// The runtime; absent where the template cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConfigEntry {
    /// Its dotted name.
    pub key: String,
    /// Its value; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where that comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// What it does.
    pub about: String,
    /// Every value that was given, the one in force first.
    pub values: Vec<ConfigValue>,
}

/// The limits of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WindowLimits {
    /// Tokens that the model takes.
    pub limit: u64,
    /// Where that comes from.
    pub limit_from: String,
    /// Whether it is the window of the model's family, since no source says the model's own; left out if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assumed: bool,
    /// Every limit, in the order in which they act.
    pub limits: Vec<WindowLimit>,
}

/// A limit of a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct WindowLimit {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// The unit: `tokens`, `bytes`, `chars`, `lines` or `results`.
    pub unit: String,
    /// What happens there.
    pub acts: String,
}

/// A value of a key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConfigValue {
    /// The value.
    pub value: String,
    /// Where it comes from: `default`, a file, `$VARIABLE` or a flag.
    pub origin: String,
}

/// Where the configuration file is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ConfigPath {
    /// Its path, whether it exists or not.
    pub path: String,
}
