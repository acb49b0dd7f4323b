//! Compaction: what of a conversation stays where its beginning leaves the window.
//!
//! Pure: entries in, text and reasons out. Nothing is stored here, and a model is asked through the seam [`Summarizer`] only.

pub mod brief;
pub mod check;
mod completed;
pub mod names;
pub mod summarizer;
pub mod summary;

pub use brief::{BRIEF_LINE_CHARS_MAX, BRIEF_LINES_MAX, BRIEF_UNITS_MAX, Brief};
pub use check::{Checked, Dropped, Known, WhyDropped, checked};
pub use completed::{Completed, completed};
pub use summarizer::{SummarizeError, Summarizer, SummaryAsked, SummaryOf};
