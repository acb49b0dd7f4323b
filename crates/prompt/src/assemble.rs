//! Assembly: the prompt of a turn, and the trace of every decision that led to it.
//!
//! Pure: what is read comes through [`ContextReader`](crate::select::ContextReader), and no clock or chance is asked. The
//! same request and the same answers give the same bytes.

mod apart;
mod budget;
mod facts;
mod guard;
#[cfg(test)]
mod laws_tests;
mod metrics;
mod pack;
mod prefix;
mod prompt;
mod sections;
mod select_packs;
mod summary;
#[cfg(test)]
mod tests;

pub use apart::{EarlierTurns, PromptParts, parts};
pub use facts::TaskFacts;
pub use guard::TRUNCATION_NOTICE;
pub use metrics::metrics;
pub use metrics::pack as pack_as_in_seed;
pub use pack::{LengthUnit, Pack, PackLimits, SectionBudget};
pub use prefix::cached_prefix;
pub use prompt::{Assembled, CHARS_MAX, Mode, PromptRequest, Trigger, build};
pub use select_packs::{Selected, select_packs};
pub use summary::summary;
