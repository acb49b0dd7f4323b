//! `sidecar-v1`: a file that a client keeps beside a transcript. Its bytes are stored as they are and say nothing to us.
//!
//! Which files these are is data of each client (`clients::Sidecars`).

use stemmata_model::Entry;

use crate::document::compactions::none;
use crate::document::{Dialect, Record};
use crate::imported::{Imported, unchecked};
use crate::json::RecordError;
use crate::lines::Line;
use crate::lines::facts::Templates;

/// The adapter of `sidecar-v1`.
pub(crate) const FILE: Imported = Imported {
    name: "sidecar-v1",
    dialect: &DIALECT,
    is_json: false,
    // No file is one by its bytes: only its place says so.
    claims: |_| None,
    check: unchecked,
    encode,
};

/// The template of a file whose bytes are what the client wrote.
pub const TEMPLATE_WHOLE: &str = "sidecar/whole";

/// The template of a file in which secrets were replaced: it is not what the client wrote.
pub const TEMPLATE_ALTERED: &str = "sidecar/altered";

static DIALECT: Dialect = Dialect {
    runtime: "sidecar",
    templates: Templates { main: TEMPLATE_WHOLE, subagent: TEMPLATE_ALTERED },
    read,
    list: |_| None,
    compactions: none,
};

#[expect(clippy::unnecessary_wraps, reason = "a document of another format may be none")]
fn read(bytes: &[u8]) -> Result<Vec<Record>, RecordError> {
    let json = format!("{{\"bytes\":{}}}", bytes.len());
    Ok(vec![Record { span: 0..bytes.len(), line: Line::metadata("sidecar", "file", &json, None) }])
}

fn encode(_entries: &[Entry]) -> String {
    String::new()
}
