//! Types of records that this version does not know, and how many there were.

use std::collections::BTreeSet;

use stemmata_model::Part;

use super::decode::LINE_NOTES_MAX;
use crate::json::Field;

/// Types that are told apart; a file of garbage should not fill the memory.
const TYPES_MAX: usize = 32;

/// Characters of a type's name that are kept.
const NAME_CHARS_MAX: usize = 64;

/// What stands for all types beyond the first ones.
const OTHERS: &str = "…";

/// What stands for the type of a record that has none.
const NAMELESS: &str = "(none)";

/// Returns what a record gives as its type: a text, or JSON that is none. Empty where it gives nothing.
pub(crate) fn type_name(field: Option<Field<'_>>) -> String {
    let Some(field) = field else { return String::new() };
    let name = field.text().filter(|text| !text.trim().is_empty());
    name.map_or_else(|| field.raw().to_owned(), std::borrow::Cow::into_owned)
}

/// Returns the name of a type as people are shown it: a note that names nothing helps nobody.
pub(crate) fn shown(name: &str) -> String {
    let name = name.trim_matches(|at: char| at == '/' || at.is_whitespace());
    (if name.is_empty() { NAMELESS } else { name }).chars().take(NAME_CHARS_MAX).collect()
}

/// Returns what a part is called that stands in a record, or in another part: `assistant/hologram`.
pub(crate) fn inner_name(outer: &str, kind: &str) -> String {
    format!("{outer}/{}", shown(kind))
}

/// Adds the names of parts that this version does not know, results' own parts too.
pub(crate) fn name_unknown_parts(parts: &[Part], outer: &str, known: &[&str], names: &mut Vec<String>) {
    for part in parts {
        match part {
            Part::Opaque { kind, .. } if !known.contains(&kind.as_str()) => {
                names.push(inner_name(outer, kind));
            }
            Part::ToolResult { parts, .. } => name_unknown_parts(parts, outer, known, names),
            Part::Opaque { .. }
            | Part::Text(_)
            | Part::Thinking { .. }
            | Part::ToolCall { .. }
            | Part::Image { .. }
            | Part::File { .. }
            | Part::Summary { .. } => {}
        }
    }
}

/// Types of which a note was given.
#[derive(Debug, Default)]
pub(crate) struct NotedTypes(BTreeSet<String>);

impl NotedTypes {
    /// Returns the note about a type, where none was given yet.
    pub(crate) fn note(&mut self, name: &str) -> Option<String> {
        let name = shown(name);
        let is_new = self.0.len() < LINE_NOTES_MAX && self.0.insert(name.clone());
        is_new.then(|| format!("records of type `{name}` are unknown and carried as they are"))
    }
}

/// Counts records of unknown types, in the order in which the types came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unknown(Vec<(String, u64)>);

impl Unknown {
    pub(crate) fn count(&mut self, name: &str) {
        let name = shown(name);
        let is_full = self.0.len() >= TYPES_MAX;
        match self.0.iter_mut().find(|(known, _)| *known == name || (is_full && known == OTHERS)) {
            Some((_, count)) => *count += 1,
            None => self.0.push((if is_full { OTHERS.to_owned() } else { name }, 1)),
        }
    }

    pub(crate) fn types(&self) -> &[(String, u64)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_every_record_is_counted_however_many_types_there_are() {
        let mut unknown = Unknown::default();
        (0..200).for_each(|number| unknown.count(&format!("type-{}", number % 100)));
        assert_eq!(unknown.types().iter().map(|(_, count)| count).sum::<u64>(), 200);
        assert_eq!(unknown.types().len(), TYPES_MAX + 1);
        assert_eq!(unknown.types().first(), Some(&("type-0".to_owned(), 2)));
    }
}
