//! The names of a type's fields in the order in which they are declared.
//!
//! schemars sorts properties unless `serde_json` keeps order, which `deny.toml` forbids. The derived `Deserialize` hands
//! the names to its deserializer: this one takes them down and reads nothing.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};

/// Returns the names that a struct is read by; none of a type that is no struct.
pub(super) fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &'static [&'static str] = &[];
    let _stopped = T::deserialize(Names(&mut fields));
    fields
}

struct Names<'a>(&'a mut &'static [&'static str]);

/// There is nothing to read.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is nothing to read")
    }
}

impl std::error::Error for Stopped {}

impl de::Error for Stopped {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Names<'_> {
    type Error = Stopped;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Stopped> {
        *self.0 = fields;
        Err(Stopped)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Stopped> {
        Err(Stopped)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
