//! Which tool of one runtime is which of another: the name, and the names of arguments.
//!
//! Only keys are renamed; values, their order and their spelling stay, so that the way back gives the same bytes.

use crate::json::{Field, Member, members, quote};

/// A call as the target has it.
pub(super) struct Called {
    pub(super) name: String,
    pub(super) arguments: String,
    /// What became of its name, where the target has no such tool.
    pub(super) without: Option<Without>,
}

/// What becomes of the name of a call whose tool the target does not have.
pub(super) enum Without {
    /// It stays.
    Kept,
    /// Not every provider takes it.
    Renamed(String),
}

/// Translates a call.
pub(super) fn translate(name: &str, arguments: &str, from: &str, to: &str) -> Called {
    if let Some((own, other)) = stemmata_acts::counterpart(from, name, to) {
        let arguments = rename(arguments, own.keys, other.keys);
        return Called { name: other.name.to_owned(), arguments, without: None };
    }
    let usable = usable_name(name);
    let without = if usable == name {
        // Which tools there are is for a client to say; an API takes what its caller has.
        stemmata_acts::of_runtime(to).map(|_| Without::Kept)
    } else {
        let reason =
            format!("a call of `{name}`, a name that not every provider takes: it is `{usable}` there");
        Some(Without::Renamed(reason))
    };
    Called { name: usable, arguments: arguments.to_owned(), without: without.filter(|_| from != to) }
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
