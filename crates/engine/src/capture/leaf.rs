//! When what an open turn holds is kept as a provisional commit: chosen by what makes somebody look.
//!
//! Pure. Closed commits are made whenever a boundary is there; this is about what stands behind the last one.

use stemmata_model::Trigger;

/// When provisional commits are made; each one also when those before it are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
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

impl Provisional {
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
        let kept: Vec<usize> = ["end", "turn", "significant", "tool"]
            .map(|word| word.parse::<Provisional>().expect("a word of the setting"))
            .into_iter()
            .map(|policy| {
                looks.iter().filter(|(trigger, significant)| policy.keeps(*trigger, *significant)).count()
            })
            .collect();
        assert_eq!(kept, [2, 4, 5, 6]);
        assert!("turns".parse::<Provisional>().is_err());
    }
}
