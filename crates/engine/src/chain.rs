//! Chains: walking from a commit towards the root, and reading what its commits hold.

pub(crate) mod bases;
pub(crate) mod beside;
pub(crate) mod late;
pub(crate) mod path;
pub(crate) mod rest;
mod restated;
pub(crate) mod segments;
pub(crate) mod tasks;
pub(crate) mod tree;
pub(crate) mod walk;
