//! A page of a listing. What is listed, and in which order, is each operation's own.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Items of one page at most, so that no answer grows with the store.
pub const PAGE_ITEMS_MAX: u64 = 10_000;

/// Asks for a part of a listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// How many items at most; absent, or above [`PAGE_ITEMS_MAX`]: that many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where to go on: the `next` of the answer before, which only its operation understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl PageRequest {
    /// Returns the request for the first page, as long as it may be.
    pub const fn first() -> Self {
        Self { limit: None, after: None }
    }

    /// Returns how many items the page may have.
    pub fn items_max(&self) -> u64 {
        self.limit.unwrap_or(PAGE_ITEMS_MAX).min(PAGE_ITEMS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_never_longer_than_the_bound() {
        for (limit, items) in [(None, PAGE_ITEMS_MAX), (Some(0), 0), (Some(u64::MAX), PAGE_ITEMS_MAX)] {
            assert_eq!(PageRequest { limit, after: None }.items_max(), items);
        }
    }
}
