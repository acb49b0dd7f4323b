//! The laws of DESIGN.md that the engine keeps, each named after its invariant.

mod bad_bundles;
mod between;
mod big_parts;
mod bounds;
mod bundles;
mod bundles_forgotten;
mod bureau;
mod bus;
mod chart;
mod checkpoints;
mod clusters;
mod codex_forks;
mod compressed;
mod copies;
mod documents;
mod event_folders;
mod faults;
mod folds;
mod forget;
mod golden_ledger;
mod identity;
mod imported;
mod live;
mod materialized;
mod memories;
mod model_bundles;
mod moved;
mod narrow;
mod opencode;
mod packing;
mod placed;
mod projects;
#[path = "../../../redact/tests/redaction/support.rs"]
#[expect(dead_code, clippy::unwrap_used, reason = "the tests of another crate share it")]
mod redaction;
mod remembered;
mod review;
mod scrubbed;
mod scrubbed_events;
mod secrets;
mod statements;
mod subagents;
mod support;
mod turns;
mod vault;
mod watch;
