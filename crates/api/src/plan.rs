//! The name of a plan: what was shown is what will be done. How a digest is made is `service`'s.

use std::fmt;

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names a plan: equal plans of equal requests have equal digests. It is never stored, so another version of the
/// program may give another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema), schemars(inline))]
#[serde(transparent)]
pub struct PlanDigest(String);

impl PlanDigest {
    /// Takes a digest as a caller gave it. A wrong one is refused when the plan is applied.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PlanDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
