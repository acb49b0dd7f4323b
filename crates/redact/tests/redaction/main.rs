//! All tests of the scrubber that see it as its callers do.
//! What a single module promises is tested beside it.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod beside;
mod corpus;
mod custom;
mod dresses;
mod entropy;
mod fixtures;
mod laws;
mod lines;
mod own_rules;
mod prefixes;
mod private_keys;
mod prompts;
mod reasoning;
mod signs;
mod support;
