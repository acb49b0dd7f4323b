//! Ledgers as the engine uses them: whose they are, who is woken by them, what clusters do with them.
//!
//! How events are kept is the store's; what is folded from them is `stemmata-prompt`'s.

mod project;

pub use project::Project;
