//! Wire types of what a person has here: sessions in a few numbers, and who still keeps them.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::Timestamp;

use super::Session;

/// What a person has here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Inventory {
    /// Sessions that a listing shows, without subagents and unused copies.
    pub sessions: u64,
    /// Sessions of subagents.
    pub subagents: u64,
    /// Copies that a listing folds into the rows of their originals.
    pub copies: u64,
    /// Whether only the newest ones were counted.
    pub is_cut: bool,
    /// Directories that they worked in.
    pub projects: u64,
    /// Sessions of each client, the client with most of them first.
    pub clients: Vec<ClientSessions>,
    /// When the first of them began, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_at: Option<Timestamp>,
    /// When one of them was active last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<Timestamp>,
    /// Sessions whose transcripts their clients have deleted.
    pub only_here: u64,
    /// The newest few of these.
    pub only_here_newest: Vec<Session>,
    /// Clients that are on this machine, and whether their hooks call this program.
    pub hooks: Vec<ClientHooks>,
}

/// How many sessions there are, as listings count them. Those that retention has emptied are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct SessionTotals {
    /// Sessions that a listing shows, without subagents and unused copies.
    pub listed: u64,
    /// Sessions of subagents.
    pub subagents: u64,
    /// Copies that a listing folds into the rows of their originals.
    pub copies: u64,
}

/// Sessions of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClientSessions {
    /// The client.
    pub client: String,
    /// Its sessions.
    pub sessions: u64,
    /// Days after which it deletes a transcript that nobody writes to; absent where it keeps them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days_kept: Option<u64>,
}

/// Hooks of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct ClientHooks {
    /// The client.
    pub client: String,
    /// `on`, `off`, or `trouble` where they are there and do not work.
    pub state: String,
}
