//! The laws of DESIGN.md that the engine keeps, each named after its invariant.

mod bad_bundles;
mod big_parts;
mod bounds;
mod bundles;
mod bundles_forgotten;
mod checkpoints;
mod codex_forks;
mod compressed;
mod copies;
mod documents;
mod faults;
mod forget;
mod identity;
mod imported;
mod live;
mod materialized;
mod model_bundles;
mod moved;
mod packing;
mod placed;
mod review;
mod secrets;
mod statements;
mod subagents;
mod support;
mod watch;
