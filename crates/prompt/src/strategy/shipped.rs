//! The strategies that come with Stemmata: one for each role of a cluster, and one for a live coding agent.
//!
//! Data: the files beside this one. They are read like anybody's.

use super::document::{self, DocumentFormat};
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

impl Shipped {
    /// Returns for whom it is: the comment that its file begins with.
    pub fn about(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix("# "));
        comment.collect::<Vec<_>>().join(" ")
    }

    /// Returns it as JSON, fields in the order of the file.
    pub fn to_json(&self) -> String {
        let root = document::parse(self.text, DocumentFormat::Toml).expect("a test reads each of them");
        root.value.to_json()
    }

    /// Returns what it says.
    pub fn strategy(&self) -> Strategy {
        parse(self.text, DocumentFormat::Toml).expect("a test reads each of them")
    }
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
    Some(found.strategy())
}
