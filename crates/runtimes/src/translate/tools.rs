//! Which tool of one runtime is which of another: the name, and the names of arguments.
//!
//! Only keys are renamed; values, their order and their spelling stay, so that the way back gives the same bytes.

use crate::json::{Field, Member, members, quote};

/// A call as the target has it.
pub(super) struct Called {
    pub(super) name: String,
    pub(super) arguments: String,
    /// What changed, where something did.
    pub(super) note: Option<String>,
}

/// Translates a call.
pub(super) fn translate(name: &str, arguments: &str, from: &str, to: &str) -> Called {
    if let Some((own, other)) = stemmata_acts::counterpart(from, name, to) {
        let arguments = rename(arguments, own.keys, other.keys);
        return Called { name: other.name.to_owned(), arguments, note: None };
    }
    let usable = usable_name(name);
    let note = if usable == name {
        format!("`{name}` call kept as is ({to} has no such tool)")
    } else {
        format!("`{name}` is not a name that every provider takes: the call is named `{usable}`")
    };
    Called { name: usable, arguments: arguments.to_owned(), note: (from != to).then_some(note) }
}

/// Renames keys of an object; whatever is no object stays.
fn rename(arguments: &str, from: &[&str], to: &[&str]) -> String {
    let Some(keys) = members(Field::whole(arguments)) else { return arguments.to_owned() };
    let mut renamed = String::with_capacity(arguments.len());
    let mut written = 0;
    for Member { name, key: span, .. } in keys {
        let at = from.iter().position(|key| *key == name);
        let Some(with) = at.and_then(|at| to.get(at)).filter(|with| !with.is_empty() && **with != name)
        else {
            continue;
        };
        renamed.push_str(arguments.get(written..span.start).unwrap_or_default());
        renamed.push_str(&quote(with));
        written = span.end;
    }
    renamed.push_str(arguments.get(written..).unwrap_or_default());
    renamed
}

/// Returns a name as every provider takes it: 64 letters, digits, `_` and `-`.
fn usable_name(name: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || "_-".contains(character) { character } else { '_' }
    };
    let usable: String = name.chars().map(plain).take(64).collect();
    if usable.is_empty() { "tool".to_owned() } else { usable }
}
