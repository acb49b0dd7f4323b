//! Strategies: checked, listed and shown.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::LedgerId;

/// Asks what is wrong or doubtful in a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckStrategyRequest {
    /// Its text: JSON or TOML.
    pub text: String,
    /// The agent's role. A planner needs no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A ledger whose topics are known, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerId>,
}

/// What is to be said of a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StrategyReport {
    /// The file, as the command was given it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether it can be used: no finding is an error.
    pub is_valid: bool,
    /// What is wrong and what is doubtful, in the order of the text.
    pub findings: Vec<StrategyFinding>,
}

/// Something wrong or doubtful in a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StrategyFinding {
    /// `error` or `warning`.
    pub severity: String,
    /// The line, from 1.
    pub line: u64,
    /// The character in the line, from 1.
    pub column: u64,
    /// Stable name of what it is about, for example `unknown_field`.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// The strategies that come with Stemmata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Strategies {
    /// All of them.
    pub strategies: Vec<ShippedStrategy>,
}

/// A strategy that comes with Stemmata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ShippedStrategy {
    /// Its name.
    pub name: String,
    /// For whom it is.
    pub about: String,
    /// Its sources.
    pub sources: u64,
    /// Its budget.
    pub max_tokens: u64,
}

/// The language of a strategy's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StrategyFormat {
    /// JSON.
    Json,
    /// TOML, with comments.
    Toml,
}

impl StrategyFormat {
    /// The language of the files that Stemmata comes with.
    const fn toml() -> Self {
        Self::Toml
    }
}

/// Asks for the text of a strategy that comes with Stemmata.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StrategyRequest {
    /// Its name.
    pub name: String,
    /// In which language.
    #[serde(default = "StrategyFormat::toml")]
    pub format: StrategyFormat,
}

/// The text of a strategy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct StrategyText {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}
