//! What the beginning of a file tells of its format: the first bytes, or the keys of the first record.
//!
//! It only narrows down who is asked. Whether a format is the right one, and how sure that is, its adapter says.

use std::borrow::Cow;

use crate::json::{BYTE_ORDER_MARK, Field, Skim};

/// What a format may begin with. An adapter claims nothing that has none of its marks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    /// Anything: lines behind the first one are claimed too.
    Anything,
    /// An object with all of these keys.
    Keys(&'static [&'static str]),
    /// An object of one of these types, its `type`.
    Types(&'static [&'static str]),
    /// An object with this key whose end is not in the same line: what comes later is not known.
    Cut(&'static str),
    /// A JSON list.
    List,
    /// A CBOR list.
    CborList,
    /// This text.
    Text(&'static str),
}

/// The beginning of a file.
#[derive(Debug)]
pub(super) struct Opening<'h> {
    head: &'h [u8],
    /// The keys of the object that it begins with, as far as that can be read.
    keys: Vec<String>,
    /// The types that the object says it has; of several the last would count.
    types: Vec<String>,
}

impl<'h> Opening<'h> {
    pub(super) fn of(head: &'h [u8]) -> Self {
        // Some editors put a byte order mark first.
        let record = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
        // Some clients read bytes that are no UTF-8 as U+FFFD.
        let text = String::from_utf8_lossy(record);
        let (mut keys, mut types) = (Vec::new(), Vec::new());
        // What follows the object is of no interest, and neither is what is wrong with it: the keys up to there count.
        let _read = Skim::whole(Field::whole(&text), |skim| {
            skim.object(|key, skim| {
                keys.push(key.to_owned());
                if key == "type" {
                    types.extend(skim.value()?.text().map(Cow::into_owned));
                    return Ok(());
                }
                skim.skip()
            })
        });
        Self { head: record, keys, types }
    }

    /// Returns whether it has one of these marks.
    pub(super) fn has_any(&self, marks: &[Mark]) -> bool {
        marks.iter().any(|mark| self.has(*mark))
    }

    fn has(&self, mark: Mark) -> bool {
        let has_key = |key: &str| self.keys.iter().any(|own| own == key);
        match mark {
            Mark::Anything => true,
            Mark::Keys(keys) => keys.iter().all(|key| has_key(key)),
            Mark::Types(types) => self.types.iter().any(|own| types.contains(&own.as_str())),
            Mark::Cut(key) => has_key(key) && !self.is_one_line(),
            Mark::List => self.head.starts_with(b"["),
            // Of a list, or of what says before the list that it is CBOR.
            Mark::CborList => self.head.first().is_some_and(|byte| matches!(byte >> 5, 4 | 6)),
            Mark::Text(text) => self.head.starts_with(text.as_bytes()),
        }
    }

    /// Returns whether the first line is a whole value.
    fn is_one_line(&self) -> bool {
        let line = self.head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        std::str::from_utf8(line).is_ok_and(|line| Skim::whole(Field::whole(line), Skim::skip).is_ok())
    }
}
