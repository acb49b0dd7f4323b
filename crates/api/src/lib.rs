//! What Stemmata answers and how it says no: wire types version 1, problems, and what operations share.
//!
//! Pure, and above `stemmata-model` alone: ids, names and times are its types, which JSON has as text. What a person types stays
//! text, and `service` finds what it means. Responses ignore fields that they do not know, so that an old reader takes a newer answer:
//!
//! ```
//! use stemmata_api::v1::Note;
//!
//! let note: Note = serde_json::from_str(r#"{"code":"torn_tail","message":"cut","since":"2.0"}"#)?;
//! assert_eq!(note.line, None);
//! assert_eq!(serde_json::to_string(&note)?, r#"{"code":"torn_tail","message":"cut"}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod control;
pub mod frames;
mod lender;
pub mod operation;
#[cfg(feature = "schema")]
pub mod operations;
mod page;
mod parts;
mod plan;
pub mod problem;
mod query;
mod raw;
mod reader;
#[cfg(feature = "schema")]
pub mod schema;
mod service;
mod source;
pub mod v1;

pub use control::{CancelToken, Control, OnCancel, Progress, Step, Unit};
pub use lender::{Borrowed, Lender, Loan, Use};
pub use page::{PAGE_ITEMS_MAX, PageRequest};
pub use parts::{Parts, hole_of};
pub use plan::PlanDigest;
pub use problem::{Candidate, Code, Kind, Problem};
pub use query::Pairs;
pub use raw::RawJson;
pub use reader::{read_field, read_request};
pub use service::{Answer, Chains, GiveBack, Ledgers, Maintain, Prompts, Registry, Search, Service, rows};
pub use source::ByteSource;
