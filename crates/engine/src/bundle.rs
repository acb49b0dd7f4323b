//! Bundles: chains as one portable file, written in one pass and checked whole before anything of it is stored.
//!
//! The format is specified in `docs/format/bundle.md`. Where files are and how they are replaced is the caller's.

mod apply;
pub(crate) mod bytes;
mod check;
mod copies;
mod error;
mod export;
mod facts;
mod forgotten;
mod frame;
mod have;
mod origins;
mod pack;
mod plan;
mod rows;
mod source;
mod store;
mod summary;

pub use apply::BundleImportOptions;
pub use error::BundleError;
pub use frame::is_bundle;
pub use have::{HAVE_COMMITS_MAX, parse_have, render_have};
pub use plan::BundleSelection;
pub use source::BundleSource;
pub use summary::{BUNDLE_COMMITS_MAX, BUNDLE_CONTENT_BYTES_MAX, BundleLimits};
