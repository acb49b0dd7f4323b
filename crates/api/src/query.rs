//! Requests as the query of a URL, in both directions: `page.limit=20&kind=tool_call&kind=thinking`.
//!
//! A field of a field has a name with a dot, a list repeats its name, and an object within a list is JSON. The
//! caller escapes the pairs for the URL.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::de::value::{Error as Reason, MapDeserializer, SeqDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error, IntoDeserializer, Visitor};
use serde_json::Value;

use crate::{Code, Problem, reader};

/// Fields of a request by name, in any order.
pub type Pairs = Vec<(String, String)>;

/// Writes a value as pairs below a name; below none those of a request. What is absent is left out.
pub(crate) fn add(name: String, value: Value, pairs: &mut Pairs) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if name.is_empty() { field } else { format!("{name}.{field}") };
                add(name, value, pairs);
            }
        }
        Value::Array(items) => pairs.extend(items.into_iter().map(|item| (name.clone(), text(item)))),
        value => pairs.push((name, text(value))),
    }
}

fn text(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}

/// Reads a request from pairs.
///
/// # Errors
/// Those of [`read_request`](crate::read_request); `bad_request` for a field that is given twice and is no list.
pub(crate) fn read_query<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, Box<Problem>> {
    let mut fields = Fields::new();
    for (name, text) in pairs {
        put(&mut fields, name, text).map_err(|reason| {
            let problem = Problem::new(Code::BadRequest, format!("`{name}`: {reason}"));
            Box::new(problem.with("field", name.clone()))
        })?;
    }
    reader::read(Given::Fields(fields))
}

type Fields = BTreeMap<String, Given>;

/// What was given for a field.
enum Given {
    Texts(Vec<String>),
    Fields(Fields),
}

/// Fields within fields at most. No request is deeper than three.
const DEPTH_MAX: usize = 8;

fn put(fields: &mut Fields, name: &str, text: &str) -> Result<(), &'static str> {
    let (mut fields, mut parts) = (fields, name.split('.'));
    let last = parts.next_back().unwrap_or_default();
    for (depth, part) in parts.enumerate() {
        let inner = fields.entry(part.to_owned()).or_insert_with(|| Given::Fields(Fields::new()));
        match inner {
            Given::Fields(inner) if depth < DEPTH_MAX => fields = inner,
            Given::Fields(_) => return Err("fields within fields, too deep"),
            Given::Texts(_) => return Err("both a text and fields are given"),
        }
    }
    match fields.entry(last.to_owned()).or_insert_with(|| Given::Texts(Vec::new())) {
        Given::Texts(texts) => texts.push(text.to_owned()),
        Given::Fields(_) => return Err("both a text and fields are given"),
    }
    Ok(())
}

impl Given {
    /// Returns the one text that was given.
    fn text(self) -> Result<String, Reason> {
        match self {
            Self::Texts(texts) => match <[String; 1]>::try_from(texts) {
                Ok([text]) => Ok(text),
                Err(_) => Err(Reason::custom("given more than once, and it is no list")),
            },
            Self::Fields(_) => Err(Reason::custom("it has no fields")),
        }
    }

    fn parse<T: FromStr<Err: Display>>(self, expected: &str) -> Result<T, Reason> {
        let text = self.text()?;
        text.parse().map_err(|_| Reason::custom(format_args!("invalid value {text:?}, expected {expected}")))
    }
}

impl IntoDeserializer<'_, Reason> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Reads numbers of each width.
macro_rules! numbers {
    ($($method:ident $visit:ident $expected:literal;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
            visitor.$visit(self.parse($expected)?)
        })+
    };
}

impl<'de> Deserializer<'de> for Given {
    type Error = Reason;

    numbers! {
        deserialize_bool visit_bool "`true` or `false`";
        deserialize_i8 visit_i8 "a whole number";
        deserialize_i16 visit_i16 "a whole number";
        deserialize_i32 visit_i32 "a whole number";
        deserialize_i64 visit_i64 "a whole number";
        deserialize_u8 visit_u8 "a whole number of 0 or more";
        deserialize_u16 visit_u16 "a whole number of 0 or more";
        deserialize_u32 visit_u32 "a whole number of 0 or more";
        deserialize_u64 visit_u64 "a whole number of 0 or more";
        deserialize_f32 visit_f32 "a number";
        deserialize_f64 visit_f64 "a number";
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        match self {
            Self::Fields(_) => self.deserialize_map(visitor),
            Self::Texts(_) => visitor.visit_string(self.text()?),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Reason> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        let Self::Texts(texts) = self else { return Err(Reason::custom("expected a list")) };
        let items = texts.into_iter().map(|text| Self::Texts(vec![text]));
        visitor.visit_seq(SeqDeserializer::new(items))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Reason> {
        match self {
            Self::Fields(fields) => visitor.visit_map(MapDeserializer::new(fields.into_iter())),
            Self::Texts(_) => {
                let value: Value = serde_json::from_str(&self.text()?).map_err(Reason::custom)?;
                value.deserialize_map(visitor).map_err(Reason::custom)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reason> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Reason> {
        match self {
            // A choice with a value: `from.after=12`.
            Self::Fields(fields) => {
                let choice = MapDeserializer::new(fields.into_iter());
                serde::de::value::MapAccessDeserializer::new(choice).deserialize_enum(name, variants, visitor)
            }
            Self::Texts(_) => visitor.visit_enum(self.text()?.into_deserializer()),
        }
    }

    serde::forward_to_deserialize_any! {
        i128 u128 char str string bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};
    use stemmata_model::{CommitId, EventSeq};

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Request {
        #[serde(skip_serializing_if = "Option::is_none")]
        ctx: Option<CommitId>,
        #[serde(default)]
        dry_run: bool,
        points: f64,
        delta: i64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        words: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prices: Vec<Price>,
        #[serde(default)]
        page: Page,
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<From>,
    }

    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Page {
        #[serde(skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Price {
        model: String,
        input: f64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum From {
        Start,
        After(EventSeq),
    }

    fn to_query(request: &Request) -> Pairs {
        let mut pairs = Pairs::new();
        add(String::new(), serde_json::to_value(request).expect("JSON"), &mut pairs);
        pairs
    }

    fn request() -> impl Strategy<Value = Request> {
        let words = prop::collection::vec(".{0,12}", 0..4);
        let price =
            (".{0,8}", any::<i32>().prop_map(f64::from)).prop_map(|(model, input)| Price { model, input });
        let page = (any::<Option<u64>>(), prop::option::of(".{0,9}"));
        let from = prop::option::of(prop_oneof![
            Just(From::Start),
            (1..u64::MAX >> 1).prop_map(|at| From::After(EventSeq::new(at).expect("not 0")))
        ]);
        let ctx = any::<Option<[u8; 16]>>().prop_map(|bytes| bytes.map(CommitId::from_bytes));
        let rest = (page, from, prop::collection::vec(price, 0..3));
        (ctx, any::<bool>(), any::<i32>().prop_map(f64::from), any::<i64>(), words, rest).prop_map(
            |(ctx, dry_run, points, delta, words, ((limit, after), from, prices))| {
                let page = Page { limit, after };
                Request { ctx, dry_run, points, delta, words, prices, page, from }
            },
        )
    }

    proptest! {
        #[test]
        fn a_request_comes_back_from_its_query(request in request(), seed in any::<u64>()) {
            let mut pairs = to_query(&request);
            // Fields may come in any order; the items of a list keep theirs.
            let first = usize::try_from(seed).unwrap_or(0) % (pairs.len() + 1);
            let moved: Pairs = pairs.split_off(first);
            let mut turned = moved;
            turned.extend(pairs);
            let has_split_list = |name: &str| turned.iter().filter(|(own, _)| own == name).count() > 1;
            if !has_split_list("words") && !has_split_list("prices") {
                prop_assert_eq!(&read_query::<Request>(&turned).expect("read"), &request);
            }
            prop_assert_eq!(read_query::<Request>(&to_query(&request)).expect("read"), request);
        }
    }

    fn refused<T: DeserializeOwned + Debug>(query: &[(&str, &str)]) -> (String, Option<String>, String) {
        let pairs: Pairs =
            query.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let problem = read_query::<T>(&pairs).expect_err("refused");
        (problem.code.clone(), problem.about.get("field").cloned(), problem.detail)
    }

    #[test]
    fn a_wrong_value_is_named_with_its_field() {
        let rest = [("points", "1"), ("delta", "0")];
        for (name, text, code, detail) in [
            ("ctx", "zz", "bad_id", ""),
            ("dry_run", "yes", "bad_request", "expected `true` or `false`"),
            ("page.limit", "-1", "bad_request", "a whole number of 0 or more"),
            ("page.limits", "1", "bad_request", "unknown field `limits`"),
            ("page", "1", "bad_request", ""),
            ("delta.x", "1", "bad_request", "both a text and fields"),
            ("delta", "1", "bad_request", "more than once"),
            ("from", "end", "bad_request", "unknown variant `end`"),
            ("from.after", "0x", "bad_request", ""),
            ("prices", "{", "bad_request", ""),
            ("a.b.c.d.e.f.g.h.i.j.k", "1", "bad_request", "too deep"),
        ] {
            let mut query = rest.to_vec();
            query.push((name, text));
            let (got, field, said) = refused::<Request>(&query);
            assert_eq!(got, code, "{name}: {said}");
            assert!(field.is_some_and(|field| field == name || name.starts_with(&field)), "{name}: {said}");
            assert!(said.contains(detail), "{name}: {said}");
        }
    }
}
