//! Reading the fields of a table, gathering what is wrong instead of stopping at the first mistake.
//!
//! Not about which fields there are: strategies and profiles say that.

use super::document::{Key, Node, Position, Value};
use super::finding::{FINDINGS_MAX, Finding, FindingCode};
use crate::search::near_names;

/// Characters of a foreign name that a message shows.
const SHOWN_CHARS_MAX: usize = 64;

/// Reads values of one text and gathers findings.
pub(crate) struct Reader<'a> {
    text: &'a str,
    findings: Vec<Finding>,
}

/// The known fields of a table, each with its name as it is documented.
pub(crate) struct Fields<'n> {
    found: Vec<(&'static str, &'n Key, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// Returns a field by its documented name. `null` is as good as absent.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        let found = self.found.iter().find(|(known, _, _)| *known == name).map(|(_, _, node)| *node);
        found.filter(|node| !matches!(node.value, Value::Null))
    }

    /// Returns where a field's name is.
    pub(crate) fn key_at(&self, name: &str) -> Option<usize> {
        self.found.iter().find(|(known, _, _)| *known == name).map(|(_, key, _)| key.at)
    }
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, findings: Vec::new() }
    }

    /// Returns the place of a byte.
    pub(crate) fn position(&self, at: usize) -> Position {
        Position::of(self.text, at)
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(finding);
        }
    }

    pub(crate) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }

    /// Adds an error of a value.
    pub(crate) fn wrong(&mut self, node: &Node, message: impl Into<String>) {
        // A position costs a walk through the text: none is looked up beyond the bound.
        if self.findings.len() < FINDINGS_MAX {
            let finding = Finding::error(FindingCode::BadValue, self.position(node.at), message);
            self.findings.push(finding);
        }
    }

    /// Reads a table. A field that is not known is an error that names the nearest known one.
    pub(crate) fn table<'n>(
        &mut self,
        node: &'n Node,
        what: &str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        let Value::Table(entries) = &node.value else {
            self.wrong(node, format!("{what} is {}, not a table of fields", node.value.kind()));
            return None;
        };
        let mut fields = Fields { found: Vec::new() };
        for (key, value) in entries {
            let documented = camel(&key.name);
            match known.iter().find(|name| **name == documented) {
                Some(name) if fields.key_at(name).is_none() => fields.found.push((name, key, value)),
                Some(name) => self.field_error(key, format!("`{name}` occurs twice"), None),
                None => {
                    let message = format!("{what} has no field `{}`", shown(&key.name));
                    let near = nearest(&key.name, known.iter().copied());
                    let suggestion = near.map_or_else(
                        || format!("the fields are {}", listed(known)),
                        |near| format!("did you mean `{near}`?"),
                    );
                    self.field_error(key, message, Some(suggestion));
                }
            }
        }
        Some(fields)
    }

    fn field_error(&mut self, key: &Key, message: String, suggestion: Option<String>) {
        if self.findings.len() < FINDINGS_MAX {
            let mut finding = Finding::error(FindingCode::UnknownField, self.position(key.at), message);
            finding.suggestion = suggestion;
            self.findings.push(finding);
        }
    }

    /// Adds that a field is missing from a table.
    pub(crate) fn missing(&mut self, table: &Node, message: impl Into<String>) {
        let at = self.position(table.at);
        self.add(Finding::error(FindingCode::MissingField, at, message));
    }

    /// Reads text.
    pub(crate) fn text(&mut self, fields: &Fields<'_>, name: &str) -> Option<String> {
        let node = fields.get(name)?;
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            other => {
                self.wrong(node, format!("`{name}` is {}, not text", other.kind()));
                None
            }
        }
    }

    /// Reads true or false.
    pub(crate) fn flag(&mut self, fields: &Fields<'_>, name: &str) -> Option<bool> {
        let node = fields.get(name)?;
        match &node.value {
            Value::Bool(is) => Some(*is),
            other => {
                self.wrong(node, format!("`{name}` is {}, not true or false", other.kind()));
                None
            }
        }
    }

    /// Reads a whole number within limits.
    pub(crate) fn count(&mut self, fields: &Fields<'_>, name: &str, limits: (u64, u64)) -> Option<u64> {
        let node = fields.get(name)?;
        let (least, most) = limits;
        let number = match &node.value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let given = match &node.value {
                Value::Integer(number) => number.to_string(),
                Value::Number(number) => shown(number),
                other => other.kind().to_owned(),
            };
            self.wrong(node, format!("`{name}` is {given}; it is a whole number from {least} to {most}"));
        }
        number
    }

    /// Reads one of several names.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        fields: &Fields<'_>,
        name: &str,
        choices: &[(&'static str, T)],
    ) -> Option<T> {
        let text = self.text(fields, name)?;
        let found = choices.iter().find(|(choice, _)| *choice == text).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&'static str> = choices.iter().map(|(choice, _)| *choice).collect();
            let node = fields.get(name)?;
            self.wrong(node, format!("`{name}` is `{}`; it is one of {}", shown(&text), listed(&names)));
        }
        found
    }
}

/// Cuts a foreign name for a message.
pub(crate) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut.replace(char::is_control, " ")
}

/// Lists names for a message.
pub(crate) fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Returns the known name that a mistyped one probably means: the same but for case, or within two slips.
pub fn nearest<'k>(wanted: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    let wanted = shown(wanted).to_lowercase();
    let lower: Vec<(String, &str)> = known.map(|name| (name.to_lowercase(), name)).collect();
    let named = |near: &str| lower.iter().find(|(name, _)| name == near).map(|(_, name)| *name);
    let near = || near_names(&wanted, lower.iter().map(|(name, _)| (name.as_str(), 0))).into_iter().next();
    named(&wanted).or_else(|| named(&near()?))
}

/// Returns a name in the seed's spelling: `max_tokens`, which people write in TOML, is `maxTokens`.
fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        match letters.next().filter(char::is_ascii_lowercase) {
            Some(first) => out.push(first.to_ascii_uppercase()),
            None => return name.to_owned(),
        }
        out.push_str(letters.as_str());
    }
    out
}
