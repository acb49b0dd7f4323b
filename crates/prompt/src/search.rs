//! Search over entries: texts become terms, queries become terms, and two stages of BM25 rank what matches.
//!
//! Pure: where the terms are kept is behind [`Segment`] and [`Groups`], which the engine implements over the
//! store's index. `docs/decisions/0020-search.md` has the recipe's origin and its figures.

mod camel;
mod dates;
mod files;
mod filter;
mod first;
mod irregular;
mod matcher;
mod memory;
mod newest;
mod participants;
mod plan;
mod priors;
mod query;
mod ranked;
mod run;
mod scripts;
mod slips;
mod source;
mod stem;
mod stops;
mod weights;
mod windows;
mod words;

pub use dates::date_terms;
pub use matcher::{Matcher, RegexError};
pub use memory::{MemoryEntry, MemoryPostings, MemorySegment};
pub use newest::newest;
pub use participants::participants;
pub use query::{
    Needed, Phrase, QUERY_BYTES_MAX, QUERY_TERMS_MAX, Query, QueryError, QueryInput, QueryTerm, parse_query,
};
pub use ranked::{Reason, ReasonName, Scored, Search, Wanted};
pub use run::search;
pub use slips::{NAMES_READ_MAX, is_slip, near_names};
pub use source::{
    BLOCK, Block, Bound, ClassMask, GroupList, Groups, NumberSet, Postings, Scope, Segment, Statistics,
    class, kinds, marks,
};
pub use weights::{Recipe, Saturation, WINDOW, Weights};
pub use words::{ENTRY_CHARS_MAX, TERMS_VERSION, Terms, entry_terms};

#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod order_tests;
