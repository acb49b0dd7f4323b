//! JSON or TOML as a tree of values that know where they are in the text.
//!
//! Not about strategies: profiles are read through it too. Where a value is wrong, its reader wants the line and the
//! column, which neither `serde_json::Value` nor `toml::Value` keeps.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Bytes of a document at most. The seed's example has 800; a file of megabytes is something else by mistake.
pub const DOCUMENT_BYTES_MAX: usize = 1024 * 1024;

/// How deep lists and tables are read. A strategy needs 4; an output schema stays text.
const DEPTH_MAX: usize = 16;

/// The language of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// JSON, as in seed 000.
    Json,
    /// TOML.
    Toml,
}

impl DocumentFormat {
    /// Recognizes the language: what begins with `{` is no TOML, and a list or a bare value that can be read is JSON.
    pub fn of(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
        if text.trim_start().starts_with('{') || is_json() { Self::Json } else { Self::Toml }
    }
}

/// A place in a text, for people: both numbers begin with 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

impl Position {
    /// The beginning of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the place of a byte; of the end where the text is shorter.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = text.get(..offset).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        Self { line: before.matches('\n').count() + 1, column }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)
    }
}

/// A value and the byte where it begins. Lines are counted only where something is wrong: counting them for each value
/// would cost the square of the file's length.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

/// A value of either language.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// A number that is no integer of 64 bits, as it was written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<(Key, Node)>),
}

/// A field's name and the byte where it begins.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) at: usize,
    pub(crate) name: String,
}

impl Value {
    /// Names the kind of value, for messages.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Integer(_) | Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table of fields",
        }
    }

    /// Returns the value as JSON, fields in their order.
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(is) => is.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Number(number) => number.clone(),
            Self::Text(text) => serde_json::Value::from(text.as_str()).to_string(),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.value.to_json()).collect();
                format!("[{}]", items.join(","))
            }
            Self::Table(fields) => {
                let fields = fields.iter().map(|(key, node)| {
                    format!("{}:{}", serde_json::Value::from(key.name.as_str()), node.value.to_json())
                });
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
        }
    }
}

/// Why a text is no document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentError {
    pub(crate) at: Position,
    pub(crate) message: String,
}

/// Reads a document whose root is a table.
pub(crate) fn parse(text: &str, format: DocumentFormat) -> Result<Node, DocumentError> {
    if text.len() > DOCUMENT_BYTES_MAX {
        let message = format!("the file has {} bytes, more than {DOCUMENT_BYTES_MAX}", text.len());
        return Err(DocumentError { at: Position::START, message });
    }
    match format {
        DocumentFormat::Json => from_json(text),
        DocumentFormat::Toml => from_toml(text),
    }
}

fn from_json(text: &str) -> Result<Node, DocumentError> {
    // JSON that an editor of Windows wrote begins with a byte order mark. Offsets are those of the whole text.
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let raw: &RawValue = serde_json::from_str(body).map_err(|error| DocumentError {
        at: Position { line: error.line().max(1), column: error.column().max(1) },
        message: format!("not JSON: {}", without_place(&error.to_string())),
    })?;
    JsonReader { text }.node(raw, 0)
}

/// Cuts what `serde_json` says of the place: the place is a field of its own.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(before, _)| before)
}

/// Reads raw values of one text. A raw value is a slice of that text, so its address says where it is.
struct JsonReader<'a> {
    text: &'a str,
}

impl JsonReader<'_> {
    fn offset(&self, raw: &RawValue) -> usize {
        (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn node(&self, raw: &RawValue, depth: usize) -> Result<Node, DocumentError> {
        let at = self.offset(raw);
        let wrong = |message: String| DocumentError { at: Position::of(self.text, at), message };
        if depth > DEPTH_MAX {
            return Err(wrong(format!("nested deeper than {DEPTH_MAX} levels")));
        }
        let source = raw.get();
        let nonsense = |error: serde_json::Error| wrong(format!("not JSON: {error}"));
        let value = match source.as_bytes().first() {
            Some(b'{') => {
                let fields: Fields<'_> = serde_json::from_str(source).map_err(nonsense)?;
                let mut table: Vec<(Key, Node)> = Vec::with_capacity(fields.0.len());
                let mut names = BTreeSet::new();
                for (key, value) in fields.0 {
                    let name: String = serde_json::from_str(key.get()).map_err(nonsense)?;
                    let key = Key { at: self.offset(key), name };
                    if !names.insert(key.name.clone()) {
                        let at = Position::of(self.text, key.at);
                        return Err(DocumentError { at, message: format!("`{}` occurs twice", key.name) });
                    }
                    table.push((key, self.node(value, depth + 1)?));
                }
                Value::Table(table)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(source).map_err(nonsense)?;
                let items = items.into_iter().map(|item| self.node(item, depth + 1));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::Text(serde_json::from_str(source).map_err(nonsense)?),
            Some(b't') => Value::Bool(true),
            Some(b'f') => Value::Bool(false),
            Some(b'n') => Value::Null,
            _ => number(source),
        };
        Ok(Node { at, value })
    }
}

/// An integer, also where it is written as `3.0`: JSON has one kind of number.
fn number(source: &str) -> Value {
    let whole = source.split_once('.').filter(|(_, rest)| rest.bytes().all(|byte| byte == b'0'));
    let digits = whole.map_or(source, |(whole, _)| whole);
    digits.parse().map_or_else(|_| Value::Number(source.to_owned()), Value::Integer)
}

/// The fields of an object in their order, unread.
struct Fields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(field) = fields.next_entry()? {
            found.push(field);
        }
        Ok(Fields(found))
    }
}

/// Returns whether a text that is no TOML begins as YAML does: with a list or a key before a colon.
fn is_like_yaml(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines.next() else { return false };
    let key = first.split_once(':').map(|(key, _)| key);
    let is_key =
        key.is_some_and(|key| key.chars().all(|char| char.is_ascii_alphanumeric() || "_-".contains(char)));
    first == "---" || first.starts_with("- ") || (is_key && !first.contains('='))
}

fn from_toml(text: &str) -> Result<Node, DocumentError> {
    let table = DeTable::parse(text).map_err(|error| DocumentError {
        at: Position::of(text, error.span().map_or(0, |span| span.start)),
        message: if is_like_yaml(text) {
            "this looks like YAML, which is not read: write JSON or TOML".to_owned()
        } else {
            format!("not TOML: {}", error.message())
        },
    })?;
    let value = toml_table(text, table.get_ref(), 0)?;
    Ok(Node { at: 0, value })
}

fn toml_table(text: &str, table: &DeTable<'_>, depth: usize) -> Result<Value, DocumentError> {
    let mut fields: Vec<(usize, &str, &Spanned<DeValue<'_>>)> =
        table.iter().map(|(key, value)| (key.span().start, key.get_ref().as_ref(), value)).collect();
    // The parser sorts fields by name; the order of the text is what people mean.
    fields.sort_by_key(|(at, _, _)| *at);
    let fields = fields.into_iter().map(|(at, name, value)| {
        let key = Key { at, name: name.to_owned() };
        Ok((key, toml_node(text, value, depth + 1)?))
    });
    Ok(Value::Table(fields.collect::<Result<_, _>>()?))
}

fn toml_node(text: &str, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, DocumentError> {
    let at = value.span().start;
    if depth > DEPTH_MAX {
        let message = format!("nested deeper than {DEPTH_MAX} levels");
        return Err(DocumentError { at: Position::of(text, at), message });
    }
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.as_ref().to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::Number(number.to_string()), Value::Integer),
        DeValue::Float(float) => number(float.as_str()),
        DeValue::Boolean(is) => Value::Bool(*is),
        // A date is what its text says; the field that wants one parses it.
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| toml_node(text, item, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => toml_table(text, table, depth)?,
    };
    Ok(Node { at, value })
}
