//! Runtime transcript formats, as pure functions over byte slices; one folder per runtime.
//!
//! What needs I/O (finding homes, writing files, watching) is the engine's.

pub mod adapter;
pub mod claude_code;
pub mod conformance;
pub mod registry;

pub use adapter::Adapter;
