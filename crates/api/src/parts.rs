//! A request in the parts of an HTTP request: fields in the path, fields in the query, JSON in the body.
//!
//! What the bytes of a URL are, and how a body arrives, is known where HTTP is spoken.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::operation::{Head, Method};
use crate::query::{Pairs, add, read_query};
use crate::{Code, Problem, read_request};

/// The parts of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts {
    /// Fields that the path has holes for, unescaped.
    pub path: Pairs,
    /// Fields in the query, unescaped. Only of a method that has a query.
    pub query: Pairs,
    /// The other fields, as JSON. Absent where there is a query.
    pub body: Option<Vec<u8>>,
}

/// Returns the field that a part of a row's path is a hole for; nothing for a part that is a word.
pub fn hole_of(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

impl Head {
    /// Returns all its paths, the one that our own client asks on first.
    pub fn paths(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.path).chain(self.also_at.iter().copied())
    }

    /// Returns the fields of the request that the path has holes for.
    pub fn holes(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(hole_of)
    }

    /// Takes a request apart.
    pub fn parts(&self, request: &impl Serialize) -> Parts {
        // JSON within a request keeps its bytes: as a value, large numbers and the order of keys would be lost.
        let json = serde_json::to_vec(request).expect("a request has only text keys");
        let mut fields = Fields::read(&json).expect("a request is an object");
        let mut path = Pairs::new();
        for hole in self.holes() {
            let field =
                fields.0.remove(hole).map(|text| serde_json::from_str(text.get()).expect("it is JSON"));
            add(hole.to_owned(), field.unwrap_or_default(), &mut path);
        }
        let body = serde_json::to_vec(&fields.0).expect("it is JSON");
        if !self.method.has_query() {
            return Parts { path, query: Pairs::new(), body: Some(body) };
        }
        let mut query = Pairs::new();
        add(String::new(), serde_json::from_slice(&body).expect("it is JSON"), &mut query);
        Parts { path, query, body: None }
    }
}

impl Parts {
    /// Puts the request together.
    ///
    /// # Errors
    /// Those of [`read_request`]; `bad_request` for a field that is in two parts, and for a part that the
    /// operation has no use for.
    pub fn read<T: DeserializeOwned>(&self, method: Method) -> Result<T, Box<Problem>> {
        if method.has_query() {
            if self.body.as_ref().is_some_and(|body| !body.is_empty()) {
                return refuse(&format!("a request with {} has no body", method.name()), None);
            }
            let pairs: Pairs = self.path.iter().chain(&self.query).cloned().collect();
            return read_query(&pairs);
        }
        if let Some((name, _)) = self.query.first() {
            return refuse(&format!("`{name}` belongs into the JSON of the body"), Some(name));
        }
        let body = self.body.as_deref().filter(|body| !body.trim_ascii().is_empty()).unwrap_or(b"{}");
        if self.path.is_empty() {
            return read_request(body);
        }
        let mut fields: Fields = read_request(body)?;
        for (name, text) in &self.path {
            let text = serde_json::value::to_raw_value(text).expect("a text is JSON");
            if fields.0.insert(name.clone(), text).is_some() {
                return refuse(&format!("`{name}` stands in the path and in the body"), Some(name));
            }
        }
        read_request(&serde_json::to_vec(&fields.0).expect("it was JSON"))
    }
}

impl Parts {
    /// Puts a text into a field that stands outside of the parts, such as a header. With a body it belongs there, else into the query.
    ///
    /// # Errors
    /// `bad_request` where the field is there already and has another value; those of [`read_request`].
    pub fn fill(&mut self, field: &'static str, text: &str) -> Result<(), Box<Problem>> {
        let differs = || {
            refuse(&format!("`{field}` has another value than the header that stands for it"), Some(field))
        };
        let Some(body) = &mut self.body else {
            return match self.query.iter().find(|(name, _)| name == field) {
                Some((_, given)) if given == text => Ok(()),
                Some(_) => differs(),
                None => {
                    self.query.push((field.to_owned(), text.to_owned()));
                    Ok(())
                }
            };
        };
        let json = if body.trim_ascii().is_empty() { b"{}" } else { body.as_slice() };
        let mut fields: Fields = read_request(json)?;
        match fields.0.get(field).map(|given| serde_json::from_str::<Option<String>>(given.get())) {
            Some(Ok(Some(given))) if given == text => return Ok(()),
            Some(Ok(None)) | None => {}
            Some(_) => return differs(),
        }
        fields.0.insert(field.to_owned(), serde_json::value::to_raw_value(text).expect("a text is JSON"));
        *body = serde_json::to_vec(&fields.0).expect("it was JSON");
        Ok(())
    }
}

/// The fields of an object, each as it is written and each once.
struct Fields(BTreeMap<String, Box<RawValue>>);

impl Fields {
    fn read(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Fields;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Fields, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((name, text)) = members.next_entry::<String, Box<RawValue>>()? {
                    if fields.contains_key(&name) {
                        return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
                    }
                    fields.insert(name, text);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

fn refuse<T>(detail: &str, field: Option<&str>) -> Result<T, Box<Problem>> {
    let problem = Problem::new(Code::BadRequest, detail);
    Err(Box::new(match field {
        Some(field) => problem.with("field", field),
        None => problem,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::rows::{chains, ledgers, search};
    use crate::v1::{AppendRequest, HistoryRequest, SearchRequest, UpdateRequest};

    fn from<T: DeserializeOwned>(json: &str) -> T {
        serde_json::from_str(json).expect("a request")
    }

    #[test]
    fn a_request_comes_back_from_its_parts() {
        let history: HistoryRequest = from(r#"{"ctx":"a/b c","limit":3}"#);
        let parts = chains::HISTORY.head.parts(&history);
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(parts.path, [pair("ctx", "a/b c")]);
        assert!(parts.query.contains(&pair("limit", "3")) && parts.body.is_none(), "{parts:?}");
        assert_eq!(parts.read::<HistoryRequest>(Method::Get).expect("read"), history);

        let update: UpdateRequest = from(r#"{"ctx":"x","add_tags":["one"]}"#);
        let parts = chains::UPDATE.head.parts(&update);
        assert_eq!((parts.path.len(), parts.query.len()), (1, 0));
        assert_eq!(parts.read::<UpdateRequest>(Method::Patch).expect("read"), update);

        let query: SearchRequest = from(r#"{"text":"a=b&c","filter":{"role":"user","session":"s.1"}}"#);
        let parts = search::SEARCH.head.parts(&query);
        assert_eq!(parts.read::<SearchRequest>(Method::Get).expect("read"), query);
    }

    #[test]
    fn json_within_a_request_keeps_its_bytes() {
        let data = r#"{"b":12345678901234567890123,"a":1.0,"a":[ 2e2 ]}"#;
        let json =
            format!(r#"{{"ledger":"l","events":[{{"topic":"t","data":{data}}}],"durability":"full"}}"#);
        let request: AppendRequest = read_request(json.as_bytes()).expect("a request");
        let parts = ledgers::APPEND.head.parts(&request);
        let body = String::from_utf8(parts.body.clone().expect("a body")).expect("text");
        assert!(body.contains("12345678901234567890123") && body.contains(r#""a":1.0,"a":"#), "{body}");
        assert_eq!(parts.read::<AppendRequest>(Method::Post).expect("read"), request);
    }

    #[test]
    fn a_field_is_filled_once() {
        let body = |json: &str| Parts { body: Some(json.as_bytes().to_vec()), ..Parts::default() };
        let filled = |json: &str| {
            let mut parts = body(json);
            parts
                .fill("request", "k")
                .map(|()| String::from_utf8(parts.body.unwrap_or_default()).expect("text"))
        };
        assert_eq!(filled(r#"{"b":1.0}"#).expect("filled"), r#"{"b":1.0,"request":"k"}"#);
        assert_eq!(filled("").expect("filled"), r#"{"request":"k"}"#);
        assert_eq!(filled(r#"{"request":null}"#).expect("filled"), r#"{"request":"k"}"#);
        assert_eq!(filled(r#"{ "request":"\u006b" }"#).expect("the same"), r#"{ "request":"\u006b" }"#);
        for json in [r#"{"request":"other"}"#, r#"{"request":1}"#, "[]", r#"{"request":"k","request":"k"}"#] {
            assert!(filled(json).is_err_and(|problem| problem.is(Code::BadRequest)), "{json}");
        }
        let mut query = Parts { query: vec![("key".to_owned(), "a".to_owned())], ..Parts::default() };
        assert!(query.fill("key", "a").is_ok() && query.fill("key", "b").is_err());
        query.fill("other", "c").expect("filled");
        assert_eq!(query.query.len(), 2);
    }

    #[test]
    fn a_field_is_in_one_part() {
        let pair = ("ctx".to_owned(), "x".to_owned());
        let body = Some(br#"{"ctx":"y"}"#.to_vec());
        for (parts, method, detail) in [
            (
                Parts { path: vec![pair.clone()], query: Pairs::new(), body: body.clone() },
                Method::Patch,
                "path and",
            ),
            (
                Parts { path: Pairs::new(), query: vec![pair.clone()], body: body.clone() },
                Method::Post,
                "belongs into",
            ),
            (Parts { path: vec![pair.clone()], query: Pairs::new(), body }, Method::Get, "no body"),
            (
                Parts {
                    path: vec![pair.clone()],
                    query: Pairs::new(),
                    body: Some(br#"{"pin":true,"pin":false}"#.to_vec()),
                },
                Method::Patch,
                "duplicate field",
            ),
            (
                Parts { path: vec![pair.clone()], query: vec![pair], body: None },
                Method::Get,
                "more than once",
            ),
        ] {
            let problem = parts.read::<UpdateRequest>(method).expect_err("refused");
            assert!(problem.is(Code::BadRequest) && problem.detail.contains(detail), "{problem:?}");
        }
    }
}
