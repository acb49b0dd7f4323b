//! The text form of ids, names and times: how `serde` reads and writes what has a `FromStr` and a `Display`.
//!
//! Not how anything is stored or hashed: for that there are canonical encodings.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Visitor};

/// Under which names values in text form are read. A deserializer that knows them can tell a text that is no such value
/// from every other mistake, as `serde_json` tells raw JSON by a name: an error of `serde` is only a message.
pub mod text_form {
    /// An id that is made of content.
    pub const ID: &str = "$stemmata::id";
    /// A name that somebody gave.
    pub const NAME: &str = "$stemmata::name";
    /// A point in time.
    pub const TIME: &str = "$stemmata::time";
    /// Any other value: a sequence number, a counter, a granularity.
    pub const VALUE: &str = "$stemmata::value";
}

/// Reads a value from its text.
///
/// # Errors
/// The deserializer's, with the message of the type where the text is no such value.
pub(crate) fn read<'de, T, D>(form: &'static str, deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_newtype_struct(form, Text(PhantomData))
}

struct Text<T>(PhantomData<T>);

impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Text<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Gives types their text form. A macro because a blanket implementation of a foreign trait is not allowed, and a derive with
/// `try_from` wants two conversions more for each type and a copy of each text.
macro_rules! text_form {
    ($($form:ident: $($name:ident)+;)+) => {
        $($(
            impl serde::Serialize for $crate::$name {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> serde::Deserialize<'de> for $crate::$name {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    read(text_form::$form, deserializer)
                }
            }

            #[cfg(feature = "schema")]
            impl schemars::JsonSchema for $crate::$name {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> std::borrow::Cow<'static, str> {
                    stringify!($name).into()
                }

                fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                    String::json_schema(generator)
                }
            }
        )+)+
    };
}

text_form! {
    ID: ArtifactId CommitId RulesHash;
    NAME: EntryId FormatId JobKind LedgerId MachineId Party PointerKey Principal SessionId Template ThreadId TicketId TokenId Topic;
    TIME: Timestamp;
    VALUE: CounterSpec EventSeq Granularity;
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use proptest::prelude::*;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use crate::*;

    fn comes_back<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(value: &T, text: &str) {
        let json = serde_json::to_string(value).expect("it is written");
        assert_eq!(json, serde_json::to_string(text).expect("a text"));
        assert_eq!(serde_json::from_str::<T>(&json).expect("it is read"), *value);
    }

    /// Columns of a table are as wide as they are said to be.
    fn fits<T: fmt::Display>(value: &T) {
        let text = value.to_string();
        assert_eq!(format!("{value:>90}|{value:<90}"), format!("{text:>90}|{text:<90}"));
    }

    proptest! {
        #[test]
        fn what_has_a_text_form_is_its_text_in_json(
            bytes: [u8; 32], name in "[^\\p{Cc}]{1,40}", micros in 0..250_000_000_000_000_000_i64, seq in 1..=i64::MAX as u64,
        ) {
            let id = ArtifactId::from_bytes(bytes);
            comes_back(&id, &id.to_string());
            let rules = RulesHash(bytes);
            comes_back(&rules, &rules.to_string());
            let session = SessionId::new(name.as_str()).expect("a name");
            comes_back(&session, &name);
            let at = Timestamp::from_micros(micros);
            comes_back(&at, &at.to_string());
            let seq = EventSeq::new(seq).expect("in range");
            comes_back(&seq, &seq.to_string());
            let commit = CommitId::from_bytes(*bytes.first_chunk().expect("16 bytes"));
            comes_back(&commit, &commit.to_string());
            fits(&id);
            fits(&rules);
            fits(&session);
            fits(&at);
            fits(&seq);
            fits(&commit);
        }
    }

    #[test]
    fn words_are_the_same_in_json_and_everywhere_else() {
        for word in [Closure::Closed, Closure::Provisional, Closure::Covered, Closure::Forgotten] {
            comes_back(&word, word.as_str());
        }
        for word in Trigger::ALL {
            comes_back(&word, word.as_str());
        }
        for word in Reason::ALL {
            comes_back(&word, word.as_str());
        }
        for word in [SummarySource::Given, SummarySource::Model, SummarySource::Heuristic] {
            comes_back(&word, word.as_str());
        }
        for word in [Role::System, Role::User, Role::Assistant, Role::Tool] {
            comes_back(&word, word.as_str());
        }
    }

    #[test]
    fn a_text_that_is_no_value_is_refused_in_the_words_of_its_type() {
        let refused = serde_json::from_str::<CommitId>("\"4a36\"").expect_err("no id").to_string();
        assert!(refused.starts_with("`4a36` does not start with `ctx-`"), "{refused}");
        let refused = serde_json::from_str::<CommitId>("7").expect_err("no text").to_string();
        assert!(refused.starts_with("invalid type: integer `7`, expected a string"), "{refused}");
    }
}
