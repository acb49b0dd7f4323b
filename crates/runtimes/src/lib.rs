//! Runtime transcript formats, as pure functions over byte slices; one folder per runtime.
//!
//! What needs I/O (finding homes, writing files, watching) is the engine's.

pub mod adapter;
pub mod aider;
mod apart;
mod base64;
pub mod bureau;
mod calls;
pub mod captured;
mod cbor;
#[cfg(test)]
pub(crate) mod chain_tests;
mod circles;
pub mod claude_code;
pub mod clients;
pub mod codex;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(test)]
pub(crate) mod corpus_tests;
mod data_url;
#[cfg(test)]
mod digest_tests;
mod document;
pub mod export;
mod findings;
pub mod gemini;
pub mod handoff;
pub mod imported;
pub mod json;
mod lines;
pub mod messages;
#[cfg(test)]
pub(crate) mod newer_tests;
pub mod opencode;
pub mod openhands;
pub mod pi;
mod placing;
pub mod readable;
mod reading;
pub mod registry;
pub mod repair;
mod shape;
pub mod sidecar;
pub mod swe_agent;
pub mod translate;

pub use crate::base64::base64_head;
pub use adapter::Adapter;
pub(crate) use claude_code::anthropic;
