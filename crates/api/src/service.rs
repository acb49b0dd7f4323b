//! What a store answers, wherever it is.

use crate::problem::Problem;

/// An answer of the service. Boxed, because a problem is several times larger than most answers.
pub type Answer<T> = std::result::Result<T, Box<Problem>>;
