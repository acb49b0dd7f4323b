//! How likely a name is needed again: a logistic model over counters, fitted on half of the recorded sessions.
//!
//! `docs/decisions/0024-compaction.md` has its figures: frequency times recency does nearly as well.

use crate::compact::names::Class;

/// Names that recorded sessions of three projects or more had: clients and habits write them, and no task needs them.
const COMMON: &[&str] = &[
    "started_at",
    "100644",
    "ToolName",
    "commit_id",
    "GitHub",
    "file.txt",
    "in_progress",
    "tool_use",
    "v0.9.1",
    "duration_ms",
    "session_id",
    "CLAUDE.md",
    "--name-only",
    "package.json",
    "4096",
    "README.md",
    "tool_result",
];

/// Points of the model, in hundredths.
const BIAS: i32 = -119;

/// What is counted of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counters {
    pub class: Class,
    /// Pieces with it: all, of the agent, of the assistant's text, of users, of changes to files.
    pub pieces: u32,
    pub agent: u32,
    pub assistant: u32,
    pub user: u32,
    pub edits: u32,
    /// The fewest names that a piece with it has.
    pub fewest: u32,
    /// How long ago it was last there, and last written by the agent, in thousandths of the compacted part.
    pub age: u32,
    pub agent_age: Option<u32>,
}

/// Returns how likely a name is needed again, from 0 to 1.
pub(super) fn weight(counters: &Counters, text: &str) -> f64 {
    chance(BIAS + class_points(counters.class, text) + count_points(counters) + age_points(counters))
}

/// Whether everybody has the name. Paths are of one project.
pub(super) fn is_common(class: Class, text: &str) -> bool {
    class != Class::Path && COMMON.contains(&text)
}

fn class_points(class: Class, text: &str) -> i32 {
    match class {
        Class::Identifier => 61,
        Class::File => 93,
        Class::Path => 7,
        Class::Literal => {
            let kind = match text.as_bytes() {
                [b'h', b't', b't', b'p', ..] => -10,
                [b'-', b'-', ..] => 228,
                [b'#', ..] => 68,
                digits if digits.iter().all(u8::is_ascii_digit) => -35,
                other if other.contains(&b'.') => -199,
                _ => -189,
            };
            kind - 133
        }
    }
}

fn count_points(of: &Counters) -> i32 {
    let pieces = match of.pieces {
        0 | 1 => -35,
        2 => 21,
        3 | 4 => 38,
        _ => 27,
    };
    let agent = match of.agent {
        0 => -66,
        1 => -1,
        2 | 3 => 38,
        _ => 99,
    };
    let assistant = match of.assistant {
        0 => -14,
        1 => -4,
        _ => 66,
    };
    let edits = match of.edits {
        0 => 27,
        1 => 10,
        _ => -14,
    };
    let fewest = match of.fewest {
        0..=5 => -4,
        6..=20 => 19,
        21..=80 => 18,
        _ => 1,
    };
    pieces + agent + assistant + edits + fewest + if of.user > 0 { 138 } else { -61 }
}

fn age_points(of: &Counters) -> i32 {
    let age = match of.age {
        0..100 => -20,
        100..300 => 2,
        300..600 => 10,
        _ => 39,
    };
    let agent = match of.agent_age {
        Some(0..100) => 113,
        Some(100..300) => 26,
        Some(_) => -1,
        None => 0,
    };
    age + agent
}

/// The logistic function of hundredths, rounded so that no machine's `exp` decides what is kept.
fn chance(hundredths: i32) -> f64 {
    let exact = 1.0 / (1.0 + (-f64::from(hundredths) / 100.0).exp());
    (exact * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_named_and_the_agent_writes_weighs_most() {
        let once = Counters {
            class: Class::Identifier,
            pieces: 1,
            agent: 0,
            assistant: 0,
            user: 0,
            edits: 0,
            fewest: 50,
            age: 500,
            agent_age: None,
        };
        let named = Counters { user: 1, ..once };
        let written = Counters { pieces: 6, agent: 4, assistant: 2, agent_age: Some(50), ..named };
        let of = |counters: &Counters| weight(counters, "parse_query");
        assert!(
            of(&once) < of(&named) && of(&named) < of(&written),
            "{} {} {}",
            of(&once),
            of(&named),
            of(&written)
        );
        let hash = Counters { class: Class::Literal, ..once };
        assert!(weight(&hash, "4fc38c5") < 0.02 && weight(&hash, "--dry-run") > 0.1);
    }
}
