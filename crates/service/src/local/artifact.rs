//! Ranges of artifacts: the request read, and the engine's answer as the wire has it.

use stemmata_api::v1::{
    ARTIFACT_READ_BYTES_MAX, ArtifactRange, ArtifactReadRequest, ArtifactText, ArtifactUnit,
};
use stemmata_api::{Code, Problem};
use stemmata_engine::Engine;
use stemmata_engine::prompt::tool_output::{RangeUnit, TextRange};
use stemmata_model::ArtifactId;

use super::bad_request;
use crate::fault::Fault;

// What the wire says of it has to hold.
const _: () = assert!(ARTIFACT_READ_BYTES_MAX == stemmata_engine::ARTIFACT_READ_BYTES_MAX as u64);

pub(super) fn read(engine: &Engine, request: &ArtifactReadRequest) -> Result<ArtifactText, Fault> {
    let id: ArtifactId = request
        .artifact
        .parse()
        .map_err(|error: stemmata_model::ParseIdError| Problem::new(Code::BadId, error.to_string()))?;
    let range = request.range.as_ref().map_or(Ok(TextRange::WHOLE), range)?;
    let bytes_max = request.bytes_max.unwrap_or(ARTIFACT_READ_BYTES_MAX).min(ARTIFACT_READ_BYTES_MAX);
    let read = engine.read_artifact(id, range, usize::try_from(bytes_max).unwrap_or(usize::MAX))?;
    Ok(ArtifactText {
        artifact: id.to_string(),
        text: read.text,
        from_byte: read.from.bytes,
        to_byte: read.to.bytes,
        bytes: read.bytes,
        is_cut: read.is_cut,
        sha256: read.sha256,
    })
}

fn range(range: &ArtifactRange) -> Result<TextRange, Fault> {
    let (unit, is_inclusive) = match range.unit {
        ArtifactUnit::Lines => (RangeUnit::Lines, true),
        ArtifactUnit::Bytes => (RangeUnit::Bytes, false),
        ArtifactUnit::Chars => (RangeUnit::Chars, false),
    };
    if range.from < unit.first() {
        return Err(bad_request("range", "lines count from 1"));
    }
    if let Some(to) = range.to.filter(|to| *to < range.from) {
        return Err(bad_request("range", format!("it ends at {to}, before it begins at {}", range.from)));
    }
    let to = range.to.map(|to| to.saturating_add(u64::from(is_inclusive)));
    Ok(TextRange { unit, from: range.from, to })
}
