//! Counting tokens without a model: the estimate and the one that learns from observed usage.
//!
//! A family's exact tokenizer is another implementation of the same trait and lives outside this crate,
//! because loading its vocabulary takes tens of milliseconds.

use crate::{Chars, Tokens};

/// Tokens that an image counts when its size is not known.
pub const IMAGE_TOKENS: Tokens = Tokens(1_200);

/// How far a count may lie below the truth, in parts per thousand of the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Margin {
    /// Parts per thousand to add to be safe.
    pub permille: u32,
}

/// Counts tokens of a text. Pure: the same text gives the same count until `observe` is called.
pub trait TokenCounter: Send + Sync {
    /// Counts the tokens of a text.
    fn count(&self, text: &str) -> Tokens;

    /// Returns how far a count may lie below the truth.
    fn margin(&self) -> Margin;
}

/// One token for every four characters, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Estimate;

impl TokenCounter for Estimate {
    fn count(&self, text: &str) -> Tokens {
        Tokens(Chars::of(text).0.div_ceil(4))
    }

    /// 27 %: the estimate was measured 21 % low on agent transcripts, which is 27 % of the estimate.
    fn margin(&self) -> Margin {
        Margin { permille: 270 }
    }
}

/// Characters per token, learned from what providers reported.
///
/// The first observation replaces the default of 4; later ones move the ratio by three tenths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibrated {
    chars_per_token: f64,
    observations: u64,
}

impl Default for Calibrated {
    fn default() -> Self {
        Self { chars_per_token: 4.0, observations: 0 }
    }
}

impl Calibrated {
    /// Learns from one request; zero of either is no observation and is ignored.
    pub fn observe(&mut self, chars: Chars, tokens: Tokens) {
        if chars.0 == 0 || tokens.0 == 0 {
            return;
        }
        let observed = as_float(chars.0) / as_float(tokens.0);
        self.chars_per_token =
            if self.observations == 0 { observed } else { 0.3 * observed + 0.7 * self.chars_per_token };
        self.observations += 1;
    }

    /// Returns the learned characters per token.
    pub const fn chars_per_token(&self) -> f64 {
        self.chars_per_token
    }
}

impl TokenCounter for Calibrated {
    fn count(&self, text: &str) -> Tokens {
        let tokens = (as_float(Chars::of(text).0) / self.chars_per_token).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative; a float beyond u64 saturates, which is the bound wanted"
        )]
        let tokens = tokens as u64;
        Tokens(tokens)
    }

    /// 10 % once something was observed; before that it is the estimate.
    fn margin(&self) -> Margin {
        if self.observations == 0 { Estimate.margin() } else { Margin { permille: 100 } }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of counts; 52 bits are more than it means")]
const fn as_float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_estimate_counts_scalar_values() {
        assert_eq!(Estimate.count(""), Tokens(0));
        assert_eq!(Estimate.count("abcd"), Tokens(1));
        assert_eq!(Estimate.count("abcde"), Tokens(2));
        assert_eq!(Estimate.count("日本語だ"), Tokens(1), "four scalar values, twelve bytes");
        assert_eq!(Estimate.count("😀😀😀😀"), Tokens(1), "four scalar values, eight UTF-16 units");
    }

    #[test]
    fn the_first_observation_replaces_the_default_and_later_ones_move_it() {
        let mut counter = Calibrated::default();
        counter.observe(Chars(300), Tokens(100));
        assert!((counter.chars_per_token() - 3.0).abs() < 1e-9);
        counter.observe(Chars(500), Tokens(100));
        assert!((counter.chars_per_token() - 3.6).abs() < 1e-9);
        counter.observe(Chars(500), Tokens(0));
        counter.observe(Chars(0), Tokens(7));
        assert!((counter.chars_per_token() - 3.6).abs() < 1e-9, "zero usage is ignored");
    }

    proptest! {
        #[test]
        fn a_longer_text_never_counts_less(head in ".{0,80}", tail in ".{0,80}") {
            let whole = format!("{head}{tail}");
            prop_assert!(Estimate.count(&whole) >= Estimate.count(&head));
            prop_assert!(Calibrated::default().count(&whole) >= Calibrated::default().count(&head));
        }

        #[test]
        fn uncalibrated_is_the_estimate(text in ".{0,200}") {
            prop_assert_eq!(Calibrated::default().count(&text), Estimate.count(&text));
        }
    }
}
