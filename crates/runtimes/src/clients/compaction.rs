//! When a client compacts by itself. Every figure names its source, and what has none is left out.

use stemmata_model::Maker;

/// When a client compacts by itself, and in which window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Whose models it runs.
    pub makers: &'static [Maker],
    /// When it compacts.
    pub at: CompactsAt,
    /// Where that comes from.
    pub source: &'static str,
    /// The window that it uses where the model's is another, and where that comes from.
    pub window: Option<(u64, &'static str)>,
}

/// When a client compacts by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactsAt {
    /// At a part of the window, in parts per thousand.
    Permille(u64),
    /// When no more than this is free.
    Free(u64),
    /// Only where the user sets a threshold, which is then exact.
    OnlyAsSet,
}

impl CompactsAt {
    /// Returns the tokens at which a client compacts in a window; `None` where the user has to set it.
    pub fn tokens(self, window_tokens: u64) -> Option<u64> {
        match self {
            Self::Permille(part) => u64::try_from(u128::from(window_tokens) * u128::from(part) / 1_000).ok(),
            Self::Free(tokens) => Some(window_tokens.saturating_sub(tokens)),
            Self::OnlyAsSet => None,
        }
    }
}
