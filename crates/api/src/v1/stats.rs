//! Statistics: sessions, time, tokens and their cost.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::Timestamp;

use super::{Note, ReportedTokens};

/// What each row of statistics is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StatsBy {
    /// A day.
    Day,
    /// A week, named by its Monday.
    Week,
    /// A month.
    Month,
    /// A repository, or a working directory that is in none.
    Project,
    /// A client.
    Client,
    /// A model.
    Model,
}

/// What a million tokens of a model cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ModelPrice {
    /// What the names of the models begin with; the longest one counts.
    pub model: String,
    /// Sent, in millionths of the currency.
    pub input_micros: u64,
    /// Answered.
    pub output_micros: u64,
    /// Read from the cache.
    pub cache_read_micros: u64,
    /// Written to the cache.
    pub cache_write_micros: u64,
}

/// Asks for statistics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatsRequest {
    /// What each row is of.
    pub by: StatsBy,
    /// Only sessions of this project, as in `SessionsRequest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only sessions of this client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Only what was done at this time or later, RFC 3339, to the quarter of an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only what was done at this time or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How many minutes the zone of days, weeks and months is before UTC.
    #[serde(default)]
    pub utc_offset_minutes: i32,
    /// What tokens cost; without any, no cost is told.
    #[serde(default)]
    pub prices: Vec<ModelPrice>,
}

/// What was done of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StatsRow {
    /// The day, week, month, client or model, or the folder of the project: where its repository is at home, as far as that is known;
    /// absent in the total, and where transcripts do not say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Sessions; subagents are part of theirs, and copies that nobody continued count nowhere.
    pub sessions: u64,
    /// Of these, sessions that report no tokens.
    pub unreported_sessions: u64,
    /// Seconds of work: gaps of more than ten minutes between two records are left out, and what subagents do beside their
    /// session counts once.
    pub active_seconds: u64,
    /// Tokens that providers reported, as transcripts have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<ReportedTokens>,
    /// What these cost, in millionths of the currency of the prices; absent where no model has a price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
}

/// Statistics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Stats {
    /// What each row is of.
    pub by: StatsBy,
    /// The rows: the latest time first, or what took most time.
    pub rows: Vec<StatsRow>,
    /// All of them together. A session of two rows is one here.
    pub total: StatsRow,
    /// What is not counted, or only in part.
    pub notes: Vec<Note>,
}
