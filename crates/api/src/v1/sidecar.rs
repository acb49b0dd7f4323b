//! Wire types of the files that a client keeps beside a transcript.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stemmata_model::{CommitId, MachineId};

/// The format of these files, in whatever names one.
pub const SIDECAR_FORMAT: &str = "sidecar-v1";

/// Asks for the files that were captured beside the transcripts of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SidecarsRequest {
    /// A commit of the session.
    pub ctx: String,
}

/// The files that were captured beside the transcripts of a context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sidecars {
    /// The files, by folder and name.
    pub sidecars: Vec<Sidecar>,
    /// Their bytes.
    pub bytes: u64,
}

/// A file that was captured beside a transcript. `native` of `ctx` writes its bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Sidecar {
    /// The folder of the session that it was in, as in `tool-results`.
    pub folder: String,
    /// Its path in that folder, with `/` between names.
    pub name: String,
    /// `result` (what the transcript names and does not hold) or `backup` (a file of the user's before the agent changed it).
    pub kind: String,
    /// The session that it belongs to.
    pub session_id: String,
    /// Where it was.
    pub path: String,
    /// The machine's id.
    pub machine: MachineId,
    /// The newest state of it that was captured.
    pub ctx: CommitId,
    /// Bytes of that state.
    pub bytes: u64,
    /// Whether secrets were replaced in it, so that it is not what the client wrote.
    pub altered: bool,
}
