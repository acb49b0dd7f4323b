//! What every backend of the store decides and encodes alike: functions over facts that the backend gathers, and over traits of
//! the backend where they change something (`forget`, `collect`, `sweep`). `recent` is a memory of names.
//!
//! How rows are found and written is each backend's own.

pub mod annotation;
pub mod audit;
pub mod bounds;
pub mod checks;
pub mod closure;
pub mod codes;
pub mod coding;
pub mod collect;
pub mod condemn;
pub mod events;
pub mod figures;
pub mod forget;
pub mod jobs;
pub mod latest;
pub mod ledger_rows;
pub mod output;
pub(crate) mod packing;
pub mod pieces;
pub mod prepare;
pub mod project;
pub mod recent;
pub mod removal;
pub mod rows;
pub(crate) mod seals;
pub mod state;
pub mod sweep;
pub mod tips;
pub mod tokens;
