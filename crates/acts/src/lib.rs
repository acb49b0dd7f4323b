//! What a tool call does, whatever runtime's it is: one reading for all who ask.
//!
//! Pure: calls and answers in, acts out. Names and fields of tools are data here.

mod tools;

pub use tools::{Tool, Verb, counterpart, decides, deciding, task_tools, verb};
