//! Strategies: which sources enter a prompt, in which order, under which budget. Seed 000's `contextStrategy`.
//!
//! A strategy is data. What its sources find is `select`'s, what of it fits is `assemble`'s. Every field with its default
//! and its limits: `docs/reference/strategy.md`.

mod check;
pub(crate) mod document;
pub(crate) mod fields;
mod finding;
pub(crate) mod parse;
mod shipped;
mod since;
mod source;
#[cfg(test)]
mod tests;
mod topics;

pub use check::{CheckOptions, Checked, check};
pub use document::{DOCUMENT_BYTES_MAX, DocumentFormat, Position};
pub use fields::nearest;
pub use finding::{FINDINGS_MAX, Finding, FindingCode, Severity};
pub use parse::{StrategyError, parse};
pub use shipped::{SHIPPED, Shipped, shipped};
pub use since::{Anchors, ParseSinceError, Since};
pub use source::{
    AMOUNT_MAX, MAX_TOKENS_DEFAULT, MAX_TOKENS_MAX, Priority, RETRIEVED_DEFAULT, SOURCES_MAX, SectionKind,
    Selection, Share, Source, SourceTopic, Strategy, Window,
};
