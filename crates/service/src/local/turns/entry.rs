//! Entries as programs write them, and what they know of them: read, or refused with what is wrong.

use stemmata_api::RawJson;
use stemmata_api::v1::{TurnEntry, TurnUsage};
use stemmata_engine::prompt::guard::{Class, ContentType, Row};
use stemmata_engine::{EntryHint, TASK_TEXT_BYTES_MAX};
use stemmata_model::{Entry, EntryId, EntryKind, Part, Role, Usage, Visibility};

use super::images;

/// The names of roles, as requests write them.
const ROLES: [(&str, Role); 3] = [("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool)];

/// Reads what the caller knows of an entry, or says what is wrong with it.
pub(in crate::local) fn hint(entry: &TurnEntry, read: &Entry) -> Result<Option<EntryHint>, String> {
    let Some(hint) = &entry.hint else { return Ok(None) };
    let unknown = |what: &str, name: &str, known: Vec<&str>| {
        format!("`{what}` of its `hint` is `{name}`, and is one of {}", known.join(", "))
    };
    let content = hint.content.as_deref().map(|name| {
        ContentType::read(name)
            .ok_or_else(|| unknown("content", name, ContentType::ALL.map(ContentType::as_str).to_vec()))
    });
    let row = hint
        .row
        .as_deref()
        .map(|name| Row::read(name).ok_or_else(|| unknown("row", name, Row::ALL.map(Row::as_str).to_vec())));
    let class = hint.class.as_deref().map(|name| {
        Class::read(name).ok_or_else(|| unknown("class", name, Class::ALL.map(Class::as_str).to_vec()))
    });
    if hint.task.as_ref().is_some_and(|task| task.len() > TASK_TEXT_BYTES_MAX) {
        return Err(format!("`task` of its `hint` has more than {TASK_TEXT_BYTES_MAX} bytes"));
    }
    Ok(Some(EntryHint {
        task: hint.task.clone(),
        content: content.transpose()?,
        row: row.transpose()?,
        class: class.transpose()?,
        reference_count: hint.references,
        is_essential: hint.essential,
        ..EntryHint::new(read.id.clone())
    }))
}

/// Kinds of entries that a caller gives. The others change what is seen of a session, or are of other programs.
const KINDS: [EntryKind; 5] = [
    EntryKind::Message,
    EntryKind::ToolResult,
    EntryKind::ToolResultArchived,
    EntryKind::ToolSummary,
    EntryKind::Instruction,
];

/// Reads an entry, or says what is wrong with it.
pub(in crate::local) fn entry(entry: &TurnEntry, new_id: &dyn Fn() -> String) -> Result<Entry, String> {
    let role = ROLES.iter().find(|(name, _)| *name == entry.role).map(|(_, role)| *role);
    let role =
        role.ok_or_else(|| format!("`role` is `{}`, and is one of user, assistant, tool", entry.role))?;
    let fits = match role {
        Role::Assistant => entry.results.is_empty(),
        Role::Tool => entry.calls.is_empty() && entry.thinking.is_none(),
        _ => entry.calls.is_empty() && entry.results.is_empty() && entry.thinking.is_none(),
    };
    if !fits {
        return Err(
            "an assistant thinks and calls, a tool returns results, and a user does neither".to_owned()
        );
    }
    if role != Role::User && !entry.images.is_empty() {
        return Err("a user shows `images`; those of a tool are in its result".to_owned());
    }
    let mut parts = Vec::new();
    parts.extend(entry.thinking.clone().map(|text| Part::Thinking {
        text,
        signature: None,
        encrypted: None,
    }));
    parts.extend(entry.text.clone().filter(|text| !text.is_empty()).map(Part::Text));
    parts.extend(entry.calls.iter().map(|call| Part::ToolCall {
        call_id: call.id.clone(),
        name: call.name.clone(),
        arguments: RawJson::as_str(&call.input).to_owned(),
    }));
    for result in &entry.results {
        let shown = result.images.iter().map(images::read).collect::<Result<Vec<_>, _>>()?;
        let text = Part::Text(result.text.clone());
        let returned = std::iter::once(text).chain(shown).collect();
        let (call_id, is_error) = (result.id.clone(), result.is_error);
        parts.push(Part::ToolResult { call_id, is_error, parts: returned });
    }
    parts.extend(entry.images.iter().map(images::read).collect::<Result<Vec<_>, _>>()?);
    if parts.is_empty() {
        return Err("it says nothing".to_owned());
    }
    // A random id: a caller that may repeat a call gives one of its own, or an id of the call.
    let id = entry.id.clone().unwrap_or_else(new_id);
    let id = EntryId::new(id).map_err(|error| format!("`id`: {error}"))?;
    let mut said = Entry::said(id, role, parts);
    if let Some(kind) = &entry.kind {
        let known = KINDS.iter().find(|known| known.as_str() == kind);
        let names = KINDS.map(|kind| kind.as_str().to_owned()).join(", ");
        said.kind = known.cloned().ok_or_else(|| format!("`kind` is `{kind}`, and is one of {names}"))?;
    }
    let Visibility { agent, user } = said.meta.visibility;
    said.meta.visibility =
        Visibility { agent: entry.agent_visible.unwrap_or(agent), user: entry.user_visible.unwrap_or(user) };
    said.meta.model.clone_from(&entry.model);
    said.meta.stop_reason.clone_from(&entry.stop_reason);
    said.meta.usage = entry.usage.map(of_wire);
    Ok(said)
}

pub(super) fn of_wire(usage: TurnUsage) -> Usage {
    let TurnUsage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens } = usage;
    Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens }
}
