//! What an agent is told, decided purely: reducers fold events and entries into state, search finds entries by words.
//!
//! No I/O, no clock, no randomness: the same input gives the same output, byte for byte.

pub mod reduce;
pub mod search;
