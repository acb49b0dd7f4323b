//! How large a summary may be, and how its parts share that.

use stemmata_model::Tokens;

/// Characters that the estimate takes for a token.
pub(super) const CHARS_A_TOKEN: u64 = 4;
/// The share of a part that an absolute floor may reach, in thousandths: a summary of half a conversation saves too little.
const FLOOR_SHARE_MAX: u64 = 250;

/// The size of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A share of what is compacted, in thousandths.
    Share(u32),
    /// The same, but at least so many tokens, as far as these are a quarter of what is compacted: a tenth of a short
    /// conversation does not hold what its names and files need. Never more than `most`: a summary of a whole chain has to fit
    /// the window that a part of the chain is in.
    ShareWithin {
        /// In thousandths.
        share: u32,
        /// The floor.
        floor: Tokens,
        /// The bound.
        most: Tokens,
    },
    /// So many tokens.
    Tokens(Tokens),
}

impl Size {
    /// What is taken where nobody asks for a size: a tenth, and 2,000 tokens at least.
    pub const DEFAULT: Self = Self::default_within(Tokens(u64::MAX));

    /// Returns what is taken where nobody asks for a size and the summary may have so many tokens at most.
    pub const fn default_within(most: Tokens) -> Self {
        Self::ShareWithin { share: 100, floor: Tokens(2_000), most }
    }

    /// Returns the characters of a summary of so many tokens: never more than there are.
    pub(super) fn chars(self, compacted: Tokens) -> u64 {
        let compacted = compacted.0.saturating_mul(CHARS_A_TOKEN);
        let of = |share: u64| compacted.saturating_mul(share) / 1_000;
        let chars = match self {
            Self::Share(share) => of(share.into()),
            Self::ShareWithin { share, floor, most } => {
                let floor = floor.0.saturating_mul(CHARS_A_TOKEN).min(of(FLOOR_SHARE_MAX));
                of(share.into()).max(floor).min(most.0.saturating_mul(CHARS_A_TOKEN))
            }
            Self::Tokens(tokens) => tokens.0.saturating_mul(CHARS_A_TOKEN),
        };
        chars.min(compacted)
    }
}

/// The largest shares of the parts of a summary, in thousandths of its size. What a part leaves goes to the later ones; names and
/// lines take what is left of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    /// What users said.
    pub prompts: u32,
    /// Tasks that are not done.
    pub tasks: u32,
    /// Files that were changed.
    pub files: u32,
    /// Commands with their last status.
    pub commands: u32,
    /// Lines that report errors.
    pub errors: u32,
    /// Sentences of the assistant.
    pub notes: u32,
}

impl Shares {
    /// As they were measured; `docs/decisions/0024-compaction.md`.
    pub const MEASURED: Self =
        Self { prompts: 200, tasks: 50, files: 200, commands: 120, errors: 80, notes: 50 };
}

/// What a summary keeps to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Its size.
    pub size: Size,
    /// How its parts share that.
    pub shares: Shares,
    /// Whether what users said is left out of the summary and of what is compacted: somebody else keeps it.
    pub excludes_user: bool,
    /// What it should look at: names and sentences that hold one of these words come first. Empty for nothing.
    pub focus: String,
}

impl Default for Limits {
    fn default() -> Self {
        Self { size: Size::DEFAULT, shares: Shares::MEASURED, excludes_user: false, focus: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_lifts_small_parts_and_a_share_holds() {
        let rows = [
            (Size::Share(100), 10_000, 4_000),
            (Size::DEFAULT, 100_000, 40_000),
            (Size::DEFAULT, 10_000, 8_000),
            (Size::DEFAULT, 5_000, 5_000),
            (Size::default_within(Tokens(700)), 100_000, 2_800),
            (Size::default_within(Tokens(20_000)), 100_000, 40_000),
            (Size::Tokens(Tokens(10)), 7, 28),
            (Size::Tokens(Tokens(u64::MAX)), u64::MAX, u64::MAX),
            (Size::Share(u32::MAX), 10, 40),
        ];
        for (size, compacted, wanted) in rows {
            assert_eq!(size.chars(Tokens(compacted)), wanted, "{size:?}");
        }
    }
}
