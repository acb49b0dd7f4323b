//! The strategies that come with Stemmata: one for each role of a cluster, and one for a live coding agent.
//!
//! Data: the files beside this one. They are read like anybody's.

use super::document::DocumentFormat;
use super::parse::parse;
use super::source::Strategy;

/// A strategy that comes with Stemmata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// By which name it is asked for: a role, or `live`.
    pub name: &'static str,
    /// Its file: TOML, with comments.
    pub text: &'static str,
}

/// All of them.
pub const SHIPPED: [Shipped; 4] = [
    Shipped { name: "planner", text: include_str!("shipped/planner.toml") },
    Shipped { name: "worker", text: include_str!("shipped/worker.toml") },
    Shipped { name: "validator", text: include_str!("shipped/validator.toml") },
    Shipped { name: "live", text: include_str!("shipped/live.toml") },
];

/// Returns a strategy that comes with Stemmata.
pub fn shipped(name: &str) -> Option<Strategy> {
    let found = SHIPPED.iter().find(|shipped| shipped.name == name)?;
    Some(parse(found.text, DocumentFormat::Toml).expect("a test reads each of them"))
}
