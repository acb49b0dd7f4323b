//! JSON as transcripts need it: read in place, written in a given order.

mod field;
mod object;

pub use field::{Field, RecordError, is_blank, is_true, text};
pub(crate) use field::{borrowed_names, borrowed_object, is_string};
pub(crate) use object::{Object, one_line, quote};
