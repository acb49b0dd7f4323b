//! Profiles: who an agent is, and what it is told before anything else.
//!
//! Not what it is told of its task: that is the strategy's.

#[cfg(test)]
mod tests;

use stemmata_model::{Json, NAME_BYTES_MAX, Party};

use crate::strategy::document::{self, Node, Value};
use crate::strategy::fields::{Fields, Reader};
use crate::strategy::parse::whole;
use crate::strategy::{DocumentFormat, Finding, FindingCode, StrategyError};

/// Bytes of a profile's instructions at most: an eighth of the guard of 500,000 characters.
pub const INSTRUCTIONS_BYTES_MAX: usize = 64 * 1024;

/// Bytes of an output schema at most.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;

/// Skip hints at most.
pub const SKIP_HINTS_MAX: usize = 64;

/// Bytes of a skip hint at most.
pub const SKIP_HINT_BYTES_MAX: usize = 2 * 1024;

/// The role that gets skip hints.
pub const VALIDATOR: &str = "validator";

const FIELDS: &[&str] = &["id", "role", "instructions", "outputSchema", "nonInteractive", "skipHints"];

/// An agent, as it is described to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its name: the sender of what it says in the ledger.
    pub id: Party,
    /// What it is there for: `planner`, `worker`, `validator`, or a name of the caller's own.
    pub role: Box<str>,
    /// What it is told to do; may be empty.
    pub instructions: String,
    /// The JSON Schema of its answer, fields in the order of the file.
    pub output_schema: Option<Json>,
    /// Whether nobody is there whom it could ask.
    pub non_interactive: bool,
    /// What a validator need not check again, a line each. Other roles are not told.
    pub skip_hints: Vec<String>,
}

impl Profile {
    /// Makes a profile that says nothing but who the agent is.
    pub fn new(id: Party, role: impl Into<Box<str>>) -> Self {
        Self {
            id,
            role: role.into(),
            instructions: String::new(),
            output_schema: None,
            non_interactive: false,
            skip_hints: Vec::new(),
        }
    }

    /// Reads a profile from JSON or TOML. Field names may be written `outputSchema` or `output_schema`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its line and column: no JSON or TOML, a field that is unknown, missing (`id`
    /// and `role` have to be there) or outside its limits.
    pub fn parse(text: &str, format: DocumentFormat) -> Result<Self, StrategyError> {
        let root = document::parse(text, format).map_err(|error| StrategyError {
            at: error.at,
            message: error.message,
            suggestion: None,
        })?;
        let mut reader = Reader::new(text);
        let profile = profile(&mut reader, &root);
        whole(profile, reader.into_findings())
    }

    /// Says whether the agent judges others' work, and so is told what it may skip.
    pub fn is_validator(&self) -> bool {
        self.role.eq_ignore_ascii_case(VALIDATOR)
    }
}

fn profile(reader: &mut Reader<'_>, root: &Node) -> Option<Profile> {
    let fields = reader.table(root, "a profile", FIELDS)?;
    let id = name(reader, root, &fields, "id").and_then(|id| Party::new(id).ok());
    let role = name(reader, root, &fields, "role");
    let instructions = reader.text(&fields, "instructions").unwrap_or_default();
    if let Some(node) = fields.get("instructions").filter(|_| instructions.len() > INSTRUCTIONS_BYTES_MAX) {
        let bytes = instructions.len();
        reader.wrong(node, format!("`instructions` has {bytes} bytes, more than {INSTRUCTIONS_BYTES_MAX}"));
    }
    let output_schema = schema(reader, &fields);
    let non_interactive = reader.flag(&fields, "nonInteractive").unwrap_or(false);
    let skip_hints = skip_hints(reader, &fields);
    let profile = Profile {
        id: id?,
        role: role?.into_boxed_str(),
        instructions,
        output_schema,
        non_interactive,
        skip_hints,
    };
    if let Some(at) = fields.key_at("skipHints").filter(|_| !profile.is_validator()) {
        let at = reader.position(at);
        let message = format!("`skipHints` are for validators; the role `{}` is not told", profile.role);
        reader.add(Finding::warning(FindingCode::NoEffect, at, message));
    }
    Some(profile)
}

fn name(reader: &mut Reader<'_>, root: &Node, fields: &Fields<'_>, field: &'static str) -> Option<String> {
    let Some(node) = fields.get(field) else {
        let example =
            if field == "role" { "`planner`, `worker`, `validator` or your own" } else { "`worker-1`" };
        reader.missing(
            root,
            format!("a profile has a `{field}`, and this one has none: for example {example}"),
        );
        return None;
    };
    let text = reader.text(fields, field)?;
    // A role is part of the prompt's first line, as an id is: neither may break it.
    if let Err(error) = Party::new(text.as_str()) {
        let reason = error.to_string();
        let reason = reason.strip_prefix("sender or receiver ").unwrap_or(&reason);
        reader.wrong(node, format!("`{field}` {reason}; a name has 1 to {NAME_BYTES_MAX} bytes on one line"));
        return None;
    }
    Some(text)
}

/// Reads a schema: a table, or JSON as text, which in TOML is the shorter way.
fn schema(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Option<Json> {
    let node = fields.get("outputSchema")?;
    let text = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Table(_) => node.value.to_json(),
        other => {
            reader.wrong(node, format!("`outputSchema` is {}, not a JSON Schema", other.kind()));
            return None;
        }
    };
    if text.len() > SCHEMA_BYTES_MAX {
        reader.wrong(node, format!("`outputSchema` has {} bytes, more than {SCHEMA_BYTES_MAX}", text.len()));
        return None;
    }
    Json::parse(&text).map_err(|error| reader.wrong(node, format!("`outputSchema` is {error}"))).ok()
}

fn skip_hints(reader: &mut Reader<'_>, fields: &Fields<'_>) -> Vec<String> {
    let Some(node) = fields.get("skipHints") else { return Vec::new() };
    let Value::List(items) = &node.value else {
        reader.wrong(node, format!("`skipHints` is {}, not a list of texts", node.value.kind()));
        return Vec::new();
    };
    if items.len() > SKIP_HINTS_MAX {
        reader.wrong(node, format!("`skipHints` has {} texts, at most {SKIP_HINTS_MAX}", items.len()));
        return Vec::new();
    }
    let mut hints = Vec::with_capacity(items.len());
    for item in items {
        match &item.value {
            Value::Text(text) if text.len() <= SKIP_HINT_BYTES_MAX => hints.push(text.clone()),
            Value::Text(text) => {
                let bytes = text.len();
                reader.wrong(item, format!("a skip hint has {bytes} bytes, more than {SKIP_HINT_BYTES_MAX}"));
            }
            other => reader.wrong(item, format!("a skip hint is {}, not text", other.kind())),
        }
    }
    hints
}
