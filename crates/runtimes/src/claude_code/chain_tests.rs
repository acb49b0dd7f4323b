//! What tests of this folder do with a chain of this format: place it, check it.

use stemmata_model::{Granularity, Note};

use super::ClaudeCode;
use crate::adapter::{PlaceRequest, Validation};
use crate::chain_tests::{self, Chain};

/// Cuts a transcript into a chain as an import does.
pub(crate) fn import(bytes: &[u8], granularity: Granularity) -> Chain<'static> {
    Chain::import(&ClaudeCode, granularity, bytes)
}

/// A place for tests.
pub(crate) fn request() -> PlaceRequest {
    PlaceRequest { origin_cwd: Some("/work/project".to_owned()), ..chain_tests::request("/new/place") }
}

/// Places some bytes.
pub(crate) fn placed(bytes: &[u8]) -> (Vec<u8>, Vec<Note>) {
    chain_tests::place(&ClaudeCode, &request(), bytes)
}

/// Checks some bytes.
pub(crate) fn validated(bytes: &[u8], version: Option<&str>) -> Validation {
    chain_tests::checked_for(&ClaudeCode, bytes, version)
}
