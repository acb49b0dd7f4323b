//! Where a group of entries begins: within one, the words of neighbours count for each other.
//!
//! How groups go on over commits is the index's to know.

use stemmata_model::Entry;

/// Characters of a speaker's name.
const AUTHOR_CHARS_MAX: usize = 200;

/// Returns the positions of the entries that begin a group; what stands before the first belongs to the group before it.
///
/// A turn is a group: a person's prompt and all that followed. Where entries name who spoke it is a conversation, and all
/// of the chain is one.
pub(crate) fn starts_of(entries: &[Entry], is_root: bool) -> Vec<usize> {
    if entries.iter().any(|entry| author_of(entry).is_some()) {
        return if is_root { vec![0] } else { Vec::new() };
    }
    let prompts = entries.iter().enumerate().filter(|(_, entry)| entry.is_prompt());
    let mut starts: Vec<usize> = prompts.map(|(at, _)| at).collect();
    if is_root {
        // A root continues nothing, so what stands before its first prompt belongs to that one.
        match starts.first_mut() {
            Some(first) => *first = 0,
            None => starts.push(0),
        }
    }
    starts
}

/// Returns who said an entry, where its format knows.
pub(crate) fn author_of(entry: &Entry) -> Option<&str> {
    let author = entry.meta.author.as_deref().map(str::trim).filter(|author| !author.is_empty())?;
    // Nobody's name is longer; the index keeps each of them whole.
    let end = author.char_indices().nth(AUTHOR_CHARS_MAX).map_or(author.len(), |(at, _)| at);
    author.get(..end)
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, Part, Role};

    use super::*;

    #[test]
    fn a_group_begins_with_a_prompt() {
        let entry = |role| {
            let id = EntryId::new("e").expect("an id");
            Entry::said(id, role, vec![Part::Text("x".to_owned())])
        };
        let all = [Role::Assistant, Role::User, Role::Assistant, Role::Tool, Role::User].map(entry);
        assert_eq!(starts_of(&all, false), [1, 4]);
        assert_eq!(starts_of(&all, true), [0, 4]);
        assert_eq!(starts_of(&all[2..4], false), [0_usize; 0]);
        assert_eq!(starts_of(&all[2..4], true), [0]);
    }
}
