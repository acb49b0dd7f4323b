//! The secret scrubber: replaces what is a secret by our rules, byte by byte the same on every machine.
//! Not a store of secrets and not a scanner of files: pure functions over bytes that the caller holds.
//!
//! What is replaced, by what, and in which order is normative: `docs/format/redaction.md`.
//!
//! ```
//! let scrubber = stemmata_redact::Scrubber::builtin();
//! let line = format!("{{\"text\":\"export GH={}{}\"}}\n", "ghp_", "x7Kq2mWv9LpR4tYb8NcZ1sDf6GhJ3aEu5QoT");
//! let scrubbed = scrubber.scrub_line(line.as_bytes())?;
//! assert_eq!(scrubbed.bytes.as_ref(), b"{\"text\":\"export GH=[REDACTED:github-token]\"}\n");
//! assert_eq!(scrubbed.findings[0].len, 40);
//! # Ok::<(), stemmata_redact::RuleFailure>(())
//! ```

mod assignment;
mod beside;
mod bounds;
mod context;
mod custom;
mod edits;
mod entropy;
mod escape;
mod fields;
mod hash;
mod json;
mod keywords;
mod lines;
mod pem;
mod pieces;
mod quotes;
mod rules;
mod said;
mod scan;
mod scrubber;
mod url;
mod value;
mod walk;

pub use custom::{RULES_BYTES_MAX, RuleFile, RuleFileError, RuleScope};
pub use lines::{LineScrubber, LineState, ScrubbedLine};
pub use pem::{KEY_LINES_BYTES_MAX, PrivateKeyState};
pub use rules::RuleFailure;
pub use scrubber::{Finding, Scrubbed, ScrubbedText, Scrubber};
