//! The schemas of the wire types: for the page about `--json`, for OpenAPI and for MCP. Only with the feature `schema`.
//!
//! How a schema is laid out on a page is `cargo xtask generate`'s.

mod order;

use std::borrow::Cow;
use std::fmt;

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::transform_subschemas;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::operations::{INNER, OPERATIONS, READ};

/// Where references lead, as OpenAPI wants them.
const COMPONENTS: &str = "/components/schemas";

/// A wire type whose schema can be asked for.
#[derive(Clone, Copy)]
pub struct TypeOf {
    name: fn() -> Cow<'static, str>,
    add: fn(&mut SchemaGenerator) -> Schema,
    fields: fn() -> &'static [&'static str],
}

impl TypeOf {
    /// Returns the row of a type.
    pub const fn of<T: JsonSchema + DeserializeOwned>() -> Self {
        Self { name: T::schema_name, add: SchemaGenerator::subschema_for::<T>, fields: order::fields_of::<T> }
    }

    /// Returns its name.
    pub fn name(self) -> String {
        (self.name)().into_owned()
    }
}

impl fmt::Debug for TypeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// A wire type as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedType {
    /// Its name.
    pub name: String,
    /// What it is.
    pub about: String,
    /// Its fields, in the order in which they are written.
    pub fields: Vec<DescribedField>,
}

/// A field of a wire type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedField {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub json: JsonType,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// What it says.
    pub about: String,
}

/// What a field holds, in JSON's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonType {
    /// JSON of any kind.
    Any,
    /// A boolean.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    ArrayOf(Box<JsonType>),
    /// Another wire type, by its name.
    Type(String),
}

/// Returns the schemas of types and of all within them, by their names. With [`Contract::Serialize`] what we write is
/// required, with [`Contract::Deserialize`] what we insist on.
pub fn components(types: impl IntoIterator<Item = TypeOf>, contract: Contract) -> Map<String, Value> {
    of_settings(types, SchemaSettings::draft2020_12().with_transform(without_null), contract)
}

/// Returns the schemas of what is read as JSON: there `null` is as good as a field that is left out.
pub(crate) fn read_components(types: impl IntoIterator<Item = TypeOf>) -> Map<String, Value> {
    of_settings(types, SchemaSettings::draft2020_12(), Contract::Deserialize)
}

fn of_settings(
    types: impl IntoIterator<Item = TypeOf>,
    mut settings: SchemaSettings,
    contract: Contract,
) -> Map<String, Value> {
    settings.meta_schema = None;
    settings.definitions_path = Cow::Borrowed(COMPONENTS);
    settings.contract = contract;
    let mut generator = settings.into_generator();
    for one in types {
        (one.add)(&mut generator);
    }
    generator.take_definitions(true)
}

/// Returns every type that a command prints, in the order of the operations, and then those within them.
pub fn responses() -> Vec<DescribedType> {
    let schemas = components(printed(), Contract::Serialize);
    let mut described: Vec<DescribedType> = Vec::new();
    for row in printed() {
        let name = row.name();
        if let Some(schema) = schemas.get(&name)
            && described.iter().all(|known| known.name != name)
        {
            described.push(describe(name, row, schema));
        }
    }
    described
}

/// Returns every request that a command reads as JSON, and then the types within them that no answer has.
pub fn requests() -> Vec<DescribedType> {
    let schemas = components(READ.iter().copied(), Contract::Deserialize);
    let of = |row: &TypeOf| {
        let name = row.name();
        let schema = schemas.get(&name)?;
        Some(describe(name, *row, schema))
    };
    READ.iter().filter_map(of).collect()
}

fn printed() -> impl Iterator<Item = TypeOf> {
    let operations = OPERATIONS.iter().filter(|operation| !operation.commands.is_empty());
    operations.map(|operation| operation.response).chain(INNER.iter().copied())
}

fn describe(name: String, row: TypeOf, schema: &Value) -> DescribedType {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let field = |name: &str| {
        let field = schema.get("properties")?.get(name)?;
        let is_optional = !required.iter().any(|required| required == name);
        Some(DescribedField {
            name: name.to_owned(),
            json: json_type(field),
            is_optional,
            about: about(field),
        })
    };
    let mut fields: Vec<DescribedField> = (row.fields)().iter().filter_map(|name| field(name)).collect();
    if fields.is_empty() {
        fields = choices(schema);
    }
    DescribedType { name, about: about(schema), fields }
}

/// Returns what one of has to be given, each under a name of its own.
fn choices(schema: &Value) -> Vec<DescribedField> {
    let choices = schema.get("oneOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let choice = |choice: &Value| {
        let (name, field) = choice.get("properties")?.as_object()?.iter().next()?;
        let about = format!("This or one of the others: {}", about(choice));
        Some(DescribedField { name: name.clone(), json: json_type(field), is_optional: true, about })
    };
    choices.iter().filter_map(choice).collect()
}

/// Returns a doc comment on one line.
fn about(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn json_type(schema: &Value) -> JsonType {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
    if let Some(name) = reference {
        return JsonType::Type(name.to_owned());
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("array") => JsonType::ArrayOf(Box::new(schema.get("items").map_or(JsonType::Any, json_type))),
        Some("boolean") => JsonType::Boolean,
        Some("integer" | "number") => JsonType::Number,
        Some("string") => JsonType::String,
        // The words of an enum.
        None if schema.get("oneOf").is_some() || schema.get("enum").is_some() => JsonType::String,
        _ => JsonType::Any,
    }
}

/// Takes `null` out of optional fields: an absent value is left out, so a generated client has no use for it.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            schema.remove("anyOf");
            for (key, value) in only {
                // What the field says comes before what its type says.
                if schema.get(&key).is_none() {
                    schema.insert(key, value);
                }
            }
        }
    }
    transform_subschemas(&mut without_null, schema);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageRequest;

    fn all() -> impl Iterator<Item = TypeOf> {
        OPERATIONS.iter().map(|operation| operation.response).chain(INNER.iter().copied())
    }

    fn requests() -> impl Iterator<Item = TypeOf> {
        OPERATIONS.iter().filter_map(|operation| operation.request)
    }

    /// Collects what references lead to.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_type_has_one_row_and_one_name() {
        let schemas = components(printed(), Contract::Serialize);
        let described: Vec<String> = responses().into_iter().map(|one| one.name).collect();
        for name in schemas.keys() {
            assert!(described.contains(name), "`{name}` needs a row in `INNER`");
            // Two types of one name are told apart by a number.
            assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}");
        }
        assert_eq!(described.len(), schemas.len());
        for (at, one) in INNER.iter().enumerate() {
            let is_answer = OPERATIONS
                .iter()
                .any(|operation| !operation.commands.is_empty() && operation.response.name() == one.name());
            let is_double = INNER.iter().skip(at + 1).any(|other| other.name() == one.name());
            assert!(!is_answer && !is_double, "{one:?} is listed twice");
        }
    }

    #[test]
    fn every_type_of_a_request_that_a_command_reads_is_described() {
        let schemas = components(READ.iter().copied(), Contract::Deserialize);
        let requests = super::requests();
        let known: Vec<&str> = requests.iter().map(|one| one.name.as_str()).collect();
        let answers = responses();
        for name in schemas.keys() {
            let is_answer = answers.iter().any(|one| one.name == *name);
            assert!(
                known.contains(&name.as_str()) != is_answer,
                "`{name}` needs a row in `READ`, and no second one"
            );
        }
        assert!(requests.iter().all(|one| !one.fields.is_empty()), "{requests:?}");
        let context = requests.iter().find(|one| one.name == "TurnContext").expect("it is read");
        let names: Vec<&str> = context.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["resume", "fork"]);
    }

    #[test]
    fn references_lead_to_components_and_nothing_is_null() {
        let schemas = Value::Object(components(all(), Contract::Serialize));
        let mut found = Vec::new();
        references(&schemas, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").expect("it leads to a component");
            assert!(schemas.get(name).is_some(), "{reference}");
        }
        let text = schemas.to_string();
        assert!(!text.contains("$schema") && !text.contains("$defs") && !text.contains("null"), "{text}");
    }

    #[test]
    fn a_type_in_both_directions_has_one_schema() {
        let (out, into) =
            (components(all(), Contract::Serialize), components(requests(), Contract::Deserialize));
        let both = into.iter().filter(|(name, _)| out.contains_key(*name));
        for (name, schema) in both {
            assert_eq!(out.get(name), Some(schema), "{name}");
        }
        for (name, schema) in into.iter().filter(|(name, _)| name.ends_with("Request")) {
            assert_eq!(schema["additionalProperties"], false, "{name}");
        }
    }

    #[test]
    fn a_request_insists_on_nothing_that_may_be_left_out() {
        let schemas = components([TypeOf::of::<PageRequest>()], Contract::Deserialize);
        let schema = &schemas["PageRequest"];
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema.get("required"), None);
        assert_eq!(schema["properties"]["limit"]["type"], "integer");
    }

    #[test]
    fn fields_are_described_as_they_are_declared() {
        let described = responses();
        let event = described.iter().find(|one| one.name == "Events").expect("it is an answer");
        let fields: Vec<_> = event
            .fields
            .iter()
            .map(|field| (field.name.as_str(), field.json.clone(), field.is_optional))
            .collect();
        let events = JsonType::ArrayOf(Box::new(JsonType::Type("Event".to_owned())));
        assert_eq!(
            fields,
            [
                ("ledger", JsonType::String, false),
                ("events", events, false),
                ("last", JsonType::String, false),
                ("next", JsonType::String, true)
            ]
        );
    }
}
