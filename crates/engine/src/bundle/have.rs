//! What a store has, told so shortly that it fits a message: tips, and ancestors at growing distances.
//!
//! A sender that knows one of the ids knows everything before it.

use std::fmt::{Display, Write as _};

use stemmata_model::CommitId;

use super::error::BundleError;
use super::plan::BundleSelection;
use crate::engine::Engine;
use crate::error::Result;

/// Ids of one list at most.
pub const HAVE_COMMITS_MAX: usize = 262_144;

/// The first line of a list in text.
const TITLE: &str = "# stemmata have 1";

impl Engine {
    /// Returns the ends of the chains that were asked for, and their ancestors 1, 3, 7, 15 … commits before: a sender
    /// that is behind knows one of those.
    ///
    /// # Errors
    /// `CommitMissing`, store errors.
    pub fn bundle_have(&self, what: &BundleSelection) -> Result<Vec<CommitId>> {
        let told = self.plan_bundle(what, &[])?.told;
        bounded(told.len())?;
        Ok(told.into_iter().collect())
    }
}

fn bounded(ids: usize) -> std::result::Result<(), BundleError> {
    if ids <= HAVE_COMMITS_MAX {
        return Ok(());
    }
    let [value, bound] = [ids, HAVE_COMMITS_MAX].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    Err(BundleError::Bound { what: "commits to list", value, bound, flag: None })
}

/// Writes a list as text.
pub fn render_have<T: Display>(ids: &[T]) -> String {
    let mut text = format!("{TITLE}\n");
    for id in ids {
        writeln!(text, "{id}").expect("a string takes any text");
    }
    text
}

/// Reads a list: one id a line, lines with `#` and empty ones left aside; or JSON with an array `commits`.
///
/// # Errors
/// `Have` names the line that is none.
pub fn parse_have(text: &str) -> std::result::Result<Vec<CommitId>, BundleError> {
    let ids: Vec<(u64, &str)>;
    let parsed: serde_json::Value;
    if text.trim_start().starts_with('{') {
        let wrong = |reason: String| BundleError::Have { line: 1, reason };
        parsed = serde_json::from_str(text).map_err(|error| BundleError::Have {
            line: u64::try_from(error.line()).unwrap_or(1),
            reason: error.to_string(),
        })?;
        let commits = parsed.get("commits").and_then(serde_json::Value::as_array);
        let commits = commits.ok_or_else(|| wrong("there is no array `commits`".to_owned()))?;
        ids = commits.iter().map(|id| (1, id.as_str().unwrap_or_default())).collect();
    } else {
        let lines = (1..).zip(text.lines().map(str::trim));
        ids = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    }
    bounded(ids.len())?;
    let parse = |(line, text): (u64, &str)| {
        text.parse().map_err(|error: stemmata_model::ParseIdError| BundleError::Have {
            line,
            reason: error.to_string(),
        })
    };
    ids.into_iter().map(parse).collect()
}
