//! The engine's values as wire types.
//!
//! What they mean is the engine's, how they are written is the wire types'.

pub(crate) mod client;
pub(crate) mod commit;
pub(crate) mod context;
pub(crate) mod import;
pub(crate) mod keep;
pub(crate) mod ledger;
pub(crate) mod maintain;
pub(crate) mod place;
pub(crate) mod prompt;
pub(crate) mod quota;
pub(crate) mod recall;
pub(crate) mod registry;
pub(crate) mod search;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod sidecar;
pub(crate) mod state;
pub(crate) mod story;

use stemmata_api::RawJson;
use stemmata_model::Json;

/// Returns JSON as it was given.
pub(crate) fn raw(json: &Json) -> RawJson {
    RawJson::parse(json.as_str()).expect("a `Json` was checked when it was made")
}
