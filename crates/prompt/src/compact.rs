//! Compaction: what of a conversation stays where its beginning leaves the window.
//!
//! Pure: entries in, text and reasons out. Nothing is stored and no model is asked here.

pub mod names;
pub mod summary;
