//! `acp`: session updates of the Agent Client Protocol, version 1, one notification a line: what a client that speaks it
//! shows. Normative here: `docs/format/exports.md`.
//!
//! Not a session that an agent could load.

use std::fmt::{self, Write};

use stemmata_acts::Verb;
use stemmata_model::{Entry, EntryKind, ImageSource, Part, Role};

use super::json::value;
use super::{About, told};
use crate::json::{Object, list};

pub(super) fn write(about: &About, entries: &[&Entry], out: &mut dyn Write) -> fmt::Result {
    let session = about.session.as_deref().unwrap_or(&about.ctx);
    if let Some(title) = &about.title {
        update(session, update_of("session_info_update").text("title", title), out)?;
    }
    for entry in entries {
        for part in &entry.parts {
            if let Some(object) = part_update(entry, part) {
                update(session, object, out)?;
            }
        }
    }
    Ok(())
}

fn update(session: &str, object: Object, out: &mut dyn Write) -> fmt::Result {
    let params = Object::new().text("sessionId", session).raw("update", &object.finish());
    let line = Object::new().text("jsonrpc", "2.0").text("method", "session/update");
    writeln!(out, "{}", line.raw("params", &params.finish()).finish())
}

fn update_of(name: &str) -> Object {
    Object::new().text("sessionUpdate", name)
}

fn part_update(entry: &Entry, part: &Part) -> Option<Object> {
    let object = match part {
        Part::Thinking { text, .. } if text.is_empty() => return None,
        Part::Thinking { text, .. } => update_of("agent_thought_chunk").raw("content", &text_block(text)),
        Part::ToolCall { call_id, name, arguments } => update_of("tool_call")
            .text("toolCallId", call_id)
            .text("title", name)
            .text("kind", kind(name))
            .text("status", "in_progress")
            .raw("rawInput", &value(arguments)),
        Part::ToolResult { call_id, is_error, parts } => {
            let content = parts.iter().filter_map(|part| {
                Some(Object::new().text("type", "content").raw("content", &block(part)?).finish())
            });
            update_of("tool_call_update")
                .text("toolCallId", call_id)
                .text("status", if *is_error { "failed" } else { "completed" })
                .raw("content", &list(content))
        }
        Part::Text(_)
        | Part::Summary { .. }
        | Part::Image { .. }
        | Part::File { .. }
        | Part::Opaque { .. } => {
            let name =
                if entry.role == Role::Assistant { "agent_message_chunk" } else { "user_message_chunk" };
            update_of(name).raw("content", &block(part)?)
        }
    };
    Some(with_meta(object, entry))
}

/// Adds what the protocol has no field for, below a key of ours.
fn with_meta(object: Object, entry: &Entry) -> Object {
    let own = Object::new().text("entry", entry.id.as_str());
    let own = match entry.timestamp {
        Some(time) => own.text("timestamp", &time.to_string()),
        None => own,
    };
    let is_plain = matches!(entry.kind, EntryKind::Message | EntryKind::ToolResult);
    let own = if is_plain { own } else { own.text("kind", entry.kind.as_str()) };
    let own = if entry.role == Role::System { own.text("role", "system") } else { own };
    object.raw("_meta", &Object::new().raw("stemmata", &own.finish()).finish())
}

fn text_block(text: &str) -> String {
    Object::new().text("type", "text").text("text", text).finish()
}

fn block(part: &Part) -> Option<String> {
    Some(match part {
        Part::Image { media_type, source: ImageSource::Base64(data) } => {
            Object::new().text("type", "image").text("mimeType", media_type).text("data", data).finish()
        }
        Part::Image { source: ImageSource::Url(url), .. } => {
            Object::new().text("type", "resource_link").text("uri", url).text("name", "image").finish()
        }
        part => text_block(&told(part)?),
    })
}

/// Returns the protocol's kind of a tool.
fn kind(name: &str) -> &'static str {
    let Some(verb) = stemmata_acts::verb(name) else { return "other" };
    match verb {
        Verb::Read => "read",
        Verb::Write | Verb::Edit | Verb::Editor | Verb::Patch | Verb::Changes => "edit",
        Verb::Delete => "delete",
        Verb::Move => "move",
        Verb::FindFiles | Verb::FindText | Verb::ListFolder | Verb::SearchWeb => "search",
        Verb::Shell | Verb::Code | Verb::Follow => "execute",
        Verb::Fetch => "fetch",
        Verb::Think
        | Verb::WriteTasks
        | Verb::AddTask
        | Verb::ChangeTask
        | Verb::ListTasks
        | Verb::Subagent => "think",
        Verb::Approve => "switch_mode",
        Verb::Ask | Verb::Client => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_of_every_runtime_have_a_kind() {
        for (wanted, names) in [
            ("read", "Read read_file NotebookRead view_image"),
            ("edit", "Edit MultiEdit write write_file replace apply_patch NotebookEdit str_replace_editor"),
            ("search", "Grep glob LS find list list_directory grep_search search_file_content WebSearch"),
            (
                "execute",
                "Bash shell exec_command run_shell_command local_shell command_execution execute_bash",
            ),
            ("execute", "terminal exec wait write_stdin"),
            ("fetch", "WebFetch web_fetch fetch"),
            ("think", "think TodoWrite Task"),
            ("other", "AskUserQuestion mcp__x__read"),
        ] {
            for name in names.split(' ') {
                assert_eq!(kind(name), wanted, "{name}");
            }
        }
    }
}
