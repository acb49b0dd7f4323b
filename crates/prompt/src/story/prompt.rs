//! Prompts of people: which entries are one, and what they say.
//!
//! The one rule behind the numbers of prompts, wherever they are shown or typed.

use stemmata_model::{Entry, EntryKind, Part, Role};

use crate::reduce::memory::theirs;

/// Returns what a person asked for with an entry. Returns `None` for what is no person's: results of tools, summaries, and
/// records that a client wrote in a user's name, such as the output of a local command.
///
/// A subagent is prompted by another agent, so its own transcript has prompts too: `main` is the sidechain that the
/// conversation is of, and `None` for the main conversation.
pub fn prompt_text(entry: &Entry, main: Option<&str>) -> Option<String> {
    let is_said = entry.role == Role::User && entry.kind == EntryKind::Message && entry.meta.visibility.agent;
    if !is_said || !is_main(entry, main) {
        return None;
    }
    let mut said: Vec<&str> = Vec::new();
    let mut attached: Vec<String> = Vec::new();
    let mut is_of_client = false;
    for part in &entry.parts {
        match part {
            Part::Text(text) => match theirs(text) {
                "" => is_of_client |= !text.trim().is_empty(),
                own => said.push(own),
            },
            Part::Image { media_type, .. } => attached.push(format!("({media_type})")),
            Part::File { name, .. } => attached.push(format!("({name})")),
            Part::Thinking { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. }
            | Part::Summary { .. }
            | Part::Opaque { .. } => {}
        }
    }
    if said.is_empty() {
        // An image beside a client's words is the client's too.
        return (!is_of_client && !attached.is_empty()).then(|| attached.join(" "));
    }
    Some(said.join("\n\n"))
}

/// Returns the sidechain that a conversation is of: `None` where some of its messages are of none, as in every main conversation.
pub fn sidechain_of(entries: &[Entry]) -> Option<String> {
    let mut messages = entries.iter().filter(|entry| entry.kind == EntryKind::Message);
    let first = messages.next()?.meta.sidechain.as_deref()?;
    messages.all(|entry| entry.meta.sidechain.is_some()).then(|| first.to_owned())
}

/// What a conversation is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame<'a> {
    /// The sidechain that it is of, as in [`prompt_text`].
    pub main: Option<&'a str>,
    /// Where the agent worked, for entries that do not say it.
    pub root: Option<&'a str>,
}

impl<'a> Frame<'a> {
    /// Returns where the agent worked at an entry.
    pub(super) fn root_of(self, entry: Option<&'a Entry>) -> Option<&'a str> {
        entry.and_then(|entry| entry.meta.cwd.as_deref()).or(self.root)
    }
}

/// Says whether an entry is of the conversation itself and not of a subagent within it.
pub fn is_main(entry: &Entry, main: Option<&str>) -> bool {
    entry.meta.sidechain.as_deref() == main
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, ImageSource};

    use super::*;

    fn entry(role: Role, parts: Vec<Part>) -> Entry {
        Entry::said(EntryId::new("e").expect("a name"), role, parts)
    }

    fn text(text: &str) -> Part {
        Part::Text(text.to_owned())
    }

    #[test]
    fn a_prompt_is_what_a_person_said() {
        let image =
            || Part::Image { media_type: "image/png".to_owned(), source: ImageSource::Url("u".to_owned()) };
        let result = Part::ToolResult { call_id: "c".to_owned(), is_error: false, parts: vec![text("ok")] };
        for (role, parts, expected) in [
            (Role::User, vec![text("Fix it")], Some("Fix it")),
            (
                Role::User,
                vec![text("<environment_context>x</environment_context>"), text("Go on")],
                Some("Go on"),
            ),
            (Role::User, vec![text("<local-command-stdout>x</local-command-stdout>")], None),
            (Role::User, vec![text("[Request interrupted by user]")], None),
            (Role::User, vec![image()], Some("(image/png)")),
            (Role::User, vec![text("Look"), image()], Some("Look")),
            (Role::User, vec![text("  ")], None),
            (Role::User, vec![result], None),
            (Role::Assistant, vec![text("Done")], None),
            (Role::Tool, vec![text("Done")], None),
        ] {
            assert_eq!(prompt_text(&entry(role, parts.clone()), None).as_deref(), expected, "{parts:?}");
        }
    }

    #[test]
    fn a_prompt_within_a_subagent_is_a_prompt_of_its_own_transcript_alone() {
        let mut entry = entry(Role::User, vec![text("Search")]);
        entry.meta.sidechain = Some("a1".to_owned());
        assert_eq!(prompt_text(&entry, None), None);
        assert_eq!(prompt_text(&entry, Some("a1")).as_deref(), Some("Search"));
    }
}
