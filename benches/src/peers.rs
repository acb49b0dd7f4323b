//! What others would use instead, each as small as it can honestly be.
//! Not copies of other products: where one is a program, it is run.

pub(crate) mod append;
pub(crate) mod frame;
pub(crate) mod fts;
pub(crate) mod git;
pub(crate) mod langgraph;
pub(crate) mod messages;
pub(crate) mod rows;
pub(crate) mod tokenizers;
