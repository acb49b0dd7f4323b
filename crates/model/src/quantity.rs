//! Quantities as newtypes, so that tokens are never added to bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// Returns the difference, or zero where it would be negative.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self(0), Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{} {}", self.0, $unit)
            }
        }
    };
}

quantity!(
    /// Tokens of a model, counted or estimated. Sums saturate.
    Tokens, "tokens"
);
quantity!(
    /// Bytes. Sums saturate.
    Bytes, "bytes"
);
quantity!(
    /// Unicode scalar values, which is what one character means everywhere in Stemmata. Sums saturate.
    Chars, "chars"
);

impl Chars {
    /// Counts the Unicode scalar values of a text.
    pub fn of(text: &str) -> Self {
        Self(u64::try_from(text.chars().count()).unwrap_or(u64::MAX))
    }
}

impl Bytes {
    /// Returns the length of a slice.
    pub fn of(bytes: &[u8]) -> Self {
        Self(u64::try_from(bytes.len()).unwrap_or(u64::MAX))
    }
}

/// Returns a count of something in memory as the number that is stored and sent. No system's counts have more than 64 bits.
pub fn to_u64(count: usize) -> u64 {
    u64::try_from(count).expect("a count fits 64 bits")
}
