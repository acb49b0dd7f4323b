//! Which tool of one runtime is which of another: the name, and the names of arguments.
//!
//! Only keys are renamed; values, their order and their spelling stay, so that the way back gives the same bytes.

use crate::json::{Field, Member, members, quote};

/// A tool that several runtimes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Runs a command.
    Shell,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
    /// Replaces a text in a file.
    Edit,
    /// Finds files by name.
    Glob,
    /// Finds text in files.
    Grep,
    /// Lists a folder.
    List,
    /// Fetches a page.
    Fetch,
}

/// What one runtime calls a tool, and its arguments in one order for all runtimes.
struct Named {
    tool: Tool,
    runtime: &'static str,
    name: &'static str,
    /// Names of arguments, in one order for all runtimes of a tool; empty where it has none such.
    keys: &'static [&'static str],
}

const fn named(
    tool: Tool,
    runtime: &'static str,
    name: &'static str,
    keys: &'static [&'static str],
) -> Named {
    Named { tool, runtime, name, keys }
}

/// The tools, as the runtimes' own transcripts show them.
static TOOLS: &[Named] = &[
    named(Tool::Shell, "claude-code", "Bash", &["command"]),
    named(Tool::Shell, "codex", "exec_command", &["cmd"]),
    named(Tool::Shell, "codex-exec", "command_execution", &["command"]),
    named(Tool::Shell, "openhands", "terminal", &["command"]),
    named(Tool::Shell, "openhands", "execute_bash", &["command"]),
    named(Tool::Shell, "swe-agent", "bash", &["command"]),
    named(Tool::Shell, "pi", "bash", &["command"]),
    named(Tool::Shell, "gemini", "run_shell_command", &["command"]),
    named(Tool::Shell, "opencode", "bash", &["command"]),
    named(Tool::Read, "claude-code", "Read", &["file_path"]),
    named(Tool::Read, "pi", "read", &["path"]),
    named(Tool::Read, "gemini", "read_file", &["file_path"]),
    named(Tool::Read, "opencode", "read", &["filePath"]),
    named(Tool::Write, "claude-code", "Write", &["file_path"]),
    named(Tool::Write, "pi", "write", &["path"]),
    named(Tool::Write, "gemini", "write_file", &["file_path"]),
    named(Tool::Write, "opencode", "write", &["filePath"]),
    named(Tool::Edit, "claude-code", "Edit", &["file_path", "old_string", "new_string", "replace_all"]),
    named(Tool::Edit, "pi", "edit", &["path", "oldText", "newText", ""]),
    named(Tool::Edit, "gemini", "replace", &["file_path", "old_string", "new_string", ""]),
    named(Tool::Edit, "opencode", "edit", &["filePath", "oldString", "newString", "replaceAll"]),
    named(Tool::Glob, "claude-code", "Glob", &["pattern"]),
    named(Tool::Glob, "pi", "find", &["pattern"]),
    named(Tool::Glob, "gemini", "glob", &["pattern"]),
    named(Tool::Glob, "opencode", "glob", &["pattern"]),
    named(Tool::Grep, "claude-code", "Grep", &["pattern"]),
    named(Tool::Grep, "pi", "grep", &["pattern"]),
    named(Tool::Grep, "gemini", "grep_search", &["pattern"]),
    // Its name of old, which the client still takes.
    named(Tool::Grep, "gemini", "search_file_content", &["pattern"]),
    named(Tool::Grep, "opencode", "grep", &["pattern"]),
    named(Tool::List, "claude-code", "LS", &["path"]),
    named(Tool::List, "pi", "ls", &["path"]),
    named(Tool::List, "gemini", "list_directory", &["dir_path"]),
    named(Tool::List, "opencode", "list", &["path"]),
    named(Tool::Fetch, "claude-code", "WebFetch", &["url"]),
    named(Tool::Fetch, "gemini", "web_fetch", &["url"]),
    named(Tool::Fetch, "opencode", "webfetch", &["url"]),
];

/// A call as the target has it.
pub(super) struct Called {
    pub(super) name: String,
    pub(super) arguments: String,
    /// What changed, where something did.
    pub(super) note: Option<String>,
}

/// Translates a call.
pub(super) fn translate(name: &str, arguments: &str, from: &str, to: &str) -> Called {
    let own = TOOLS.iter().find(|tool| tool.runtime == from && tool.name == name);
    let other = own.and_then(|own| TOOLS.iter().find(|tool| tool.runtime == to && tool.tool == own.tool));
    if let (Some(own), Some(other)) = (own, other) {
        let arguments = rename(arguments, own.keys, other.keys);
        return Called { name: other.name.to_owned(), arguments, note: None };
    }
    let usable = usable_name(name);
    let note = if usable == name {
        format!("{to} has no tool `{name}`: the call keeps its name")
    } else {
        format!("`{name}` is no name that every provider takes: the call is named `{usable}`")
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
