//! JSON as transcripts need it: read in place, written in a given order.

mod field;
mod object;
mod salvage;
mod skim;

pub use field::{Field, Member, RecordError, is_blank, is_true, members, text};
pub(crate) use field::{borrowed_object, is_string, key, owned, parse_line, without};
pub(crate) use object::{Object, list, one_line, push_line, quote};
pub(crate) use salvage::{BYTE_ORDER_MARK, Salvaged, salvage};
#[cfg(test)]
pub(crate) use skim::tests::any_json;
pub(crate) use skim::{Refused, Skim};
pub(crate) use stemmata_model::{REPLACED, lone_surrogates};
