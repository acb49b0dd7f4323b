//! The one reader of requests: JSON in, the request or a problem out. Every door that takes requests as JSON reads them here, so
//! that a wrong id gets the same answer everywhere.
//!
//! What a request means is not known here, nor whether what it names exists.

use std::cell::{Cell, RefCell};

use serde::de::value::{Error as Reason, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use stemmata_model::text_form;

use crate::{Code, Problem};

/// Reads a request.
///
/// # Errors
/// `bad_id`, `bad_name`, `bad_time` or `bad_request` with the field (`field`, as in `filter.since`) where a value is not what its
/// field wants, or the field is unknown; `bad_request` without a field if the JSON is not such a request at all.
pub fn read_request<T: DeserializeOwned>(json: &[u8]) -> Result<T, Box<Problem>> {
    let mut json = serde_json::Deserializer::from_slice(json);
    let request = read(&mut json)?;
    json.end().map_err(|error| Noticed::default().problem(&error))?;
    Ok(request)
}

/// Reads a request from anything that `serde` reads from.
pub(crate) fn read<'de, T: DeserializeOwned>(from: impl Deserializer<'de>) -> Result<T, Box<Problem>> {
    let noticed = Noticed::default();
    let read = T::deserialize(Watched { inner: from, field: "", noticed: &noticed });
    read.map_err(|error| noticed.problem(&error))
}

/// Reads a field of a request that is given as text, as on a command line or in a path.
///
/// # Errors
/// Those of [`read_request`] that name a field.
pub fn read_field<T: DeserializeOwned>(field: &'static str, text: &str) -> Result<T, Box<Problem>> {
    let from: StrDeserializer<'_, Reason> = text.into_deserializer();
    let noticed = Noticed::default();
    T::deserialize(Watched { inner: from, field, noticed: &noticed }).map_err(|error| {
        noticed.note(field);
        noticed.problem(&format!("`{field}`: {error}"))
    })
}

/// What the reader records about an error, because an error of `serde` is only a message.
#[derive(Default)]
struct Noticed {
    /// The innermost field in which something is wrong.
    field: RefCell<Option<String>>,
    /// Why a value in text form was refused.
    refused: Cell<Option<(Code, String)>>,
}

impl Noticed {
    fn note(&self, field: &str) {
        self.field.borrow_mut().get_or_insert_with(|| field.to_owned());
    }

    fn problem(self, error: &dyn std::fmt::Display) -> Box<Problem> {
        let (code, detail) =
            self.refused.into_inner().unwrap_or_else(|| (Code::BadRequest, error.to_string()));
        let problem = Problem::new(code, detail);
        Box::new(match self.field.into_inner() {
            Some(field) => problem.with("field", field),
            None => problem,
        })
    }
}

/// Something that `serde` reads with, which records the field of a refused value.
struct Watched<'a, I> {
    inner: I,
    field: &'a str,
    noticed: &'a Noticed,
}

impl<'a, I> Watched<'a, I> {
    const fn around<O>(&self, inner: O) -> Watched<'a, O> {
        Watched { inner, field: self.field, noticed: self.noticed }
    }

    fn refuse(&self, form: &str, reason: &Reason) {
        let (field, reason) = (self.field, reason.to_string());
        // The path stands beside the problem; people read the field's own name.
        let (code, detail) = match form {
            text_form::ID => (Code::BadId, reason),
            text_form::NAME => (Code::BadName, reason),
            text_form::TIME => (Code::BadTime, reason),
            _ => (Code::BadRequest, format!("`{}`: {reason}", field.rsplit('.').next().unwrap_or(field))),
        };
        self.noticed.refused.set(Some((code, detail)));
    }
}

/// Passes on what holds no field.
macro_rules! plain {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method(visitor)
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Watched<'_, D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_map(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.around(Named(visitor));
        self.inner.deserialize_struct(name, fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = self.around(visitor);
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        if !matches!(name, text_form::ID | text_form::NAME | text_form::TIME | text_form::VALUE) {
            return self.inner.deserialize_newtype_struct(name, visitor);
        }
        let watched = self.around(());
        let text: String = serde::Deserialize::deserialize(self.inner)?;
        visitor.visit_string(text).map_err(|reason: Reason| {
            watched.refuse(name, &reason);
            D::Error::custom(reason)
        })
    }

    // Text is read as what is asked for: a query has no numbers.
    plain! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Watched<'_, V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.inner.expecting(formatter)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        let from = self.around(from);
        self.inner.visit_some(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        let items = self.around(items);
        self.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        let key = self.field.to_owned();
        self.inner.visit_map(Members { inner: members, within: self.field, key, noticed: self.noticed })
    }

    fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
        let choice = self.around(choice);
        self.inner.visit_enum(choice)
    }
}

/// The visitor of a type with named fields. `serde`'s own takes a list of values as well: the order of fields would be part of what
/// requests are.
struct Named<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Named<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(members)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Watched<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<S::Value, D::Error> {
        let from = self.around(from);
        self.inner.deserialize(from)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Watched<'_, A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }
}

impl<'a, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Watched<'a, A> {
    type Error = A::Error;
    type Variant = Watched<'a, A::Variant>;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self::Variant), A::Error> {
        let watched = self.around(());
        let (choice, content) = self.inner.variant_seed(seed)?;
        Ok((choice, watched.around(content)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Watched<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.around(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

/// The members of an object, whose names are the fields.
struct Members<'a, A> {
    inner: A,
    /// The field that the object is the value of; empty for the request itself.
    within: &'a str,
    /// The field that is read.
    key: String,
    noticed: &'a Noticed,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        let Some(key) = self.inner.next_key::<String>()? else { return Ok(None) };
        self.key = if self.within.is_empty() { key.clone() } else { format!("{}.{key}", self.within) };
        let read = seed.deserialize(key.into_deserializer());
        read.map(Some).inspect_err(|_| self.noticed.note(&self.key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        let seed = Watched { inner: seed, field: &self.key, noticed: self.noticed };
        self.inner.next_value_seed(seed).inspect_err(|_| self.noticed.note(&self.key))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use stemmata_model::{CommitId, EventSeq, LedgerId, Timestamp};

    use super::*;
    use crate::RawJson;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        ledger: LedgerId,
        #[serde(default)]
        of: Vec<CommitId>,
        at: Option<Timestamp>,
        from: Option<From>,
        #[serde(default)]
        inner: Option<Inner>,
        data: Option<RawJson>,
        count: Option<u8>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum From {
        Start,
        After(EventSeq),
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        ctx: CommitId,
    }

    fn read(json: &str) -> Result<Request, Box<Problem>> {
        read_request(json.as_bytes())
    }

    #[test]
    fn a_refused_value_is_answered_with_its_field() {
        for (json, code, field, detail) in [
            (r#"{"ledger":""}"#, "bad_name", "ledger", "ledger is empty"),
            (r#"{"ledger":"l","of":["ctx-"]}"#, "bad_id", "of", "`ctx-` is not an id"),
            (r#"{"ledger":"l","data":{"a":1},"at":"now"}"#, "bad_time", "at", "`now` is not a timestamp"),
            (
                r#"{"ledger":"l","from":{"after":"0"}}"#,
                "bad_request",
                "from",
                "`from`: `0` is not a sequence",
            ),
            (
                r#"{"ledger":"l","inner":{"ctx":"4a36"}}"#,
                "bad_id",
                "inner.ctx",
                "`4a36` does not start with `ctx-`",
            ),
        ] {
            let problem = read(json).expect_err(json);
            assert_eq!((problem.code.as_str(), problem.about["field"].as_str()), (code, field), "{json}");
            assert!(problem.detail.starts_with(detail), "{}", problem.detail);
        }
    }

    #[test]
    fn what_is_no_request_is_refused_in_the_readers_words_with_the_field_where_there_is_one() {
        for (json, field) in [
            ("", None),
            ("7", None),
            ("{}", None),
            (r#"{"ledger":"l"} {}"#, None),
            (r#"{"ledger":7}"#, Some("ledger")),
            (r#"{"ledger":"l","more":1}"#, Some("more")),
            (r#"{"ledger":"l","count":999}"#, Some("count")),
            (r#"{"ledger":"l","inner":{"ctx":[]}}"#, Some("inner.ctx")),
            (r#"{"ledger":"l","of":[7]}"#, Some("of")),
        ] {
            let problem = read(json).expect_err(json);
            let about = problem.about.get("field").map(String::as_str);
            assert_eq!((problem.code.as_str(), about), ("bad_request", field), "{json}");
            let plain = serde_json::from_str::<Request>(json).expect_err(json);
            assert_eq!(problem.detail, plain.to_string());
        }
    }

    #[test]
    fn fields_have_names_and_no_order() {
        for json in ["[]", r#"["l"]"#, r#"{"ledger":"l","inner":["ctx-00000000000000000000000000"]}"#] {
            let problem = read(json).expect_err(json);
            assert!(
                problem.is(Code::BadRequest) && problem.detail.contains("invalid type: sequence"),
                "{problem:?}"
            );
        }
    }

    #[test]
    fn a_request_is_read_as_it_is() {
        let json =
            r#"{"ledger":"l","at":"2026-02-01T03:40:03Z","from":{"after":"7"},"data":{"b" : 1e2},"count":3}"#;
        let request = read(json).expect("a request");
        assert_eq!(request.data.expect("data").as_str(), r#"{"b" : 1e2}"#);
        assert!(matches!((request.from, request.count), (Some(From::After(seq)), Some(3)) if seq.get() == 7));
        assert!(request.inner.is_none_or(|inner| inner.ctx.to_bytes() == [0; 16]) && request.of.is_empty());
        assert!(request.at.is_some() && request.ledger.as_str() == "l");
    }

    #[test]
    fn a_text_is_read_as_the_same_field_in_json() {
        assert_eq!(read_field::<EventSeq>("after", "7").expect("a number").get(), 7);
        let problem = read_field::<EventSeq>("after", "07").expect_err("no number");
        assert_eq!((problem.code.as_str(), problem.about["field"].as_str()), ("bad_request", "after"));
        assert!(problem.detail.starts_with("`after`: `07` is not a sequence number"), "{}", problem.detail);
        assert!(read_field::<LedgerId>("ledger", "").expect_err("no name").is(Code::BadName));
    }
}
