//! Ranges of artifacts: the request read, and the engine's answer as the wire has it.

use stemmata_api::v1::{
    ARTIFACT_READ_BYTES_MAX, ArtifactRange, ArtifactReadRequest, ArtifactText, ArtifactUnit,
};
use stemmata_api::{Code, Problem};
use stemmata_engine::Engine;
use stemmata_engine::prompt::tool_output::{TextRange, first_of};
use stemmata_model::ArtifactId;

use super::bad_request;
use crate::fault::Fault;

// What the wire says of it has to hold.
const _: () = assert!(ARTIFACT_READ_BYTES_MAX == stemmata_engine::ARTIFACT_READ_BYTES_MAX as u64);

/// Letters of an artifact's id behind its tag.
const ARTIFACT_LETTERS: usize = 64;

pub(super) fn read(engine: &Engine, request: &ArtifactReadRequest) -> Result<ArtifactText, Fault> {
    let id: ArtifactId = request
        .artifact
        .parse()
        .map_err(|error: stemmata_model::ParseIdError| bad_id(&request.artifact, &error))?;
    let range = request.range.as_ref().map_or(Ok(TextRange::WHOLE), range)?;
    let bytes_max = request.bytes_max.unwrap_or(ARTIFACT_READ_BYTES_MAX).min(ARTIFACT_READ_BYTES_MAX);
    Ok(engine.read_artifact(id, range, usize::try_from(bytes_max).unwrap_or(usize::MAX))?)
}

/// Returns the problem of a text that is no artifact's id. An artifact has no short form, unlike a commit: nothing lists them, so
/// no beginning is known to be unique.
fn bad_id(text: &str, error: &stemmata_model::ParseIdError) -> Problem {
    let is_letter = |letter: char| letter.is_ascii_hexdigit();
    let is_short = text.strip_prefix("art-").is_some_and(|rest| rest.chars().all(is_letter));
    let detail = if is_short {
        format!("`{text}` is not a whole artifact id: `art-` and {ARTIFACT_LETTERS} letters are needed")
    } else {
        error.to_string()
    };
    let hint = "the notice in a tool's output has the whole id, and so has `stemma show --meta REF --json`";
    Problem { hint: Some(hint.to_owned()), ..Problem::new(Code::BadId, detail) }
}

fn range(range: &ArtifactRange) -> Result<TextRange, Fault> {
    let unit = range.unit;
    if range.from < first_of(unit) {
        return Err(bad_request("range", "lines count from 1"));
    }
    if let Some(to) = range.to.filter(|to| *to < range.from) {
        return Err(bad_request("range", format!("it ends at {to}, before it begins at {}", range.from)));
    }
    let to = range.to.map(|to| to.saturating_add(u64::from(unit == ArtifactUnit::Lines)));
    Ok(TextRange { unit, from: range.from, to })
}
