//! The entries that a compaction puts into a window: its summary, and a digest of the results that it archived.

use stemmata_model::{Body, Entry, EntryId, EntryKind, Part, Role, Visibility};

/// How the summary of a compaction begins (seed 003).
pub const SUMMARY_PREFIX: &str = "[Previous conversation summary]";

/// Returns the summary as an entry: of the user's role, so that every provider takes it, and of a kind of its own, so that it is
/// never summarized as if somebody had said it.
pub fn summary_entry(id: EntryId, text: String, covers: Vec<EntryId>) -> Entry {
    let mut entry = Entry::said(id, Role::User, vec![Part::Summary { text, covers }]);
    entry.kind = EntryKind::CompactionSummary;
    entry.body = Body::Blocks;
    entry
}

/// Returns a digest or a summary of results as an entry: for the model, not for people, who still see the results.
pub fn tool_summary_entry(id: EntryId, text: String) -> Entry {
    let mut entry = Entry::said(id, Role::User, vec![Part::Text(text)]);
    entry.kind = EntryKind::ToolSummary;
    entry.meta.visibility = Visibility { agent: true, user: false };
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_is_an_entry_of_its_own_kind_and_the_digest_is_for_the_model_only() {
        let id = || EntryId::new("e").expect("a name");
        let summary = summary_entry(id(), "text".to_owned(), vec![id()]);
        assert_eq!((summary.role, summary.kind.clone()), (Role::User, EntryKind::CompactionSummary));
        assert!(!summary.is_prompt());
        let digest = tool_summary_entry(id(), "text".to_owned());
        assert_eq!((digest.role, digest.kind.clone()), (Role::User, EntryKind::ToolSummary));
        assert_eq!(digest.meta.visibility, Visibility { agent: true, user: false });
    }
}
