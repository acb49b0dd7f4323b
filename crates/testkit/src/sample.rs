//! How much of a long walk a test does: all of it with `cargo xtask test --full`, and a sample otherwise.
//!
//! Not how many inputs a law draws: that is proptest's, from the same variable (`.cargo/config.toml`).

/// Inputs of a law in a full run, which is also proptest's default.
const CASES_FULL: u32 = 256;

fn cases() -> u32 {
    #[expect(clippy::disallowed_methods, reason = "the variable that proptest reads itself")]
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    cases.unwrap_or(CASES_FULL).clamp(1, CASES_FULL)
}

/// Returns whether this run does everything.
pub fn is_full() -> bool {
    cases() == CASES_FULL
}

/// Returns how many of `full` repetitions this run does; at least one.
pub fn part(full: u32) -> u32 {
    full.saturating_mul(cases()).div_ceil(CASES_FULL)
}

/// Returns how far apart two places of a walk are that a full run visits `full` apart. In a sample the result is odd, because
/// an odd number of bits meets every bit of a byte.
pub fn stride(full: usize) -> usize {
    let sparser = usize::try_from(CASES_FULL / cases()).expect("small");
    if sparser > 1 { full * sparser + 1 } else { full }
}
