//! What an agent is told, decided purely: reducers fold events and entries into state, search finds entries by words,
//! strategies select what enters a prompt, and assembly puts it together within a budget and says why. The guard decides what of
//! a live window is pruned, cut, archived or compacted.
//!
//! No I/O, no clock, no randomness: the same input gives the same output, byte for byte.

pub mod assemble;
pub mod compact;
pub mod guard;
pub mod profile;
pub mod reduce;
pub mod retrieve;
pub mod search;
pub mod select;
pub mod story;
pub mod strategy;
pub mod title;
pub mod tool_output;
pub mod window;
