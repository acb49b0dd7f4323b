//! When what an open turn holds is kept as a provisional commit: chosen by what makes somebody look.
//!
//! Pure. Closed commits are made whenever a boundary is there; this is about what stands behind the last one.

use std::fmt;
use std::str::FromStr;

use stemmata_model::Trigger;

/// When provisional commits are made; each one also when those before it are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Provisional {
    /// Where a session ends, or somebody asks.
    End,
    /// Where a turn ends, and at compactions.
    #[default]
    Turn,
    /// Where something failed or was decided within a turn.
    Significant,
    /// After every tool.
    Tool,
}

/// A text that names none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` does not say when provisional commits are made: use `end`, `turn`, `significant` or `tool`")]
pub struct ParseProvisionalError(pub String);

impl Provisional {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::End, Self::Turn, Self::Significant, Self::Tool];

    /// Returns its word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Turn => "turn",
            Self::Significant => "significant",
            Self::Tool => "tool",
        }
    }

    /// Decides about one look. `is_significant` says whether a tool failed, or something was decided.
    pub fn keeps(self, trigger: Trigger, is_significant: bool) -> bool {
        let least = match trigger {
            Trigger::Explicit | Trigger::SessionEnd => Self::End,
            Trigger::TurnBoundary | Trigger::Compaction => Self::Turn,
            Trigger::ToolCall if is_significant => Self::Significant,
            Trigger::ToolCall => Self::Tool,
        };
        self >= least
    }
}

impl fmt::Display for Provisional {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Provisional {
    type Err = ParseProvisionalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|own| own.as_str() == text);
        found.ok_or_else(|| ParseProvisionalError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keeps_what_the_one_before_keeps_and_more() {
        let looks = [
            (Trigger::Explicit, false),
            (Trigger::SessionEnd, false),
            (Trigger::TurnBoundary, false),
            (Trigger::Compaction, false),
            (Trigger::ToolCall, true),
            (Trigger::ToolCall, false),
        ];
        let kept: Vec<usize> = Provisional::ALL
            .into_iter()
            .map(|policy| {
                looks.iter().filter(|(trigger, significant)| policy.keeps(*trigger, *significant)).count()
            })
            .collect();
        assert_eq!(kept, [2, 4, 5, 6]);
        for policy in Provisional::ALL {
            assert_eq!(policy.as_str().parse(), Ok(policy));
        }
        assert!("turns".parse::<Provisional>().is_err());
    }
}
