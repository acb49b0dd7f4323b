//! The tools of all runtimes: which of one is which of another, and what each is for.
//!
//! Names alone: what a call's arguments say is read elsewhere.

mod table;

use table::TOOLS;

/// What a tool is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Runs a command.
    Shell,
    /// Runs code that calls other tools.
    Code,
    /// Waits for what an earlier call began, or types into it.
    Follow,
    /// Reads a file.
    Read,
    /// Writes a file.
    Write,
    /// Changes a file.
    Edit,
    /// Reads, writes or changes a file, as its command says.
    Editor,
    /// Applies a patch.
    Patch,
    /// Changes the files of a list, each as it says.
    Changes,
    /// Removes a file.
    Delete,
    /// Moves a file.
    Move,
    /// Finds files by name.
    FindFiles,
    /// Finds text in files.
    FindText,
    /// Lists a folder.
    ListFolder,
    /// Searches the web.
    SearchWeb,
    /// Fetches a page.
    Fetch,
    /// Writes a list of tasks whole.
    WriteTasks,
    /// Adds a task.
    AddTask,
    /// Changes a task.
    ChangeTask,
    /// Lists the tasks.
    ListTasks,
    /// Asks a person.
    Ask,
    /// Asks a person whether a plan may be carried out.
    Approve,
    /// Starts another agent.
    Subagent,
    /// Thinks aloud.
    Think,
    /// Does something of the client's own.
    Client,
}

/// A tool of a runtime.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// What it is for.
    pub verb: Verb,
    /// Empty where several runtimes or home-made agents have it.
    pub runtime: &'static str,
    /// The name, as the runtime spells it.
    pub name: &'static str,
    /// Names of arguments in one order for all runtimes that translate this verb; empty where the tool is never renamed.
    pub keys: &'static [&'static str],
}

/// The tools by which something is decided, with their runtimes: hooks keep what is open then.
const DECIDING: &[(&str, &str)] = &[
    ("claude-code", "AskUserQuestion"),
    ("claude-code", "ExitPlanMode"),
    ("codex", "update_plan"),
    ("codex", "request_user_input"),
    ("gemini", "ask_user"),
    ("gemini", "exit_plan_mode"),
];

/// Returns what a tool is for, whatever runtime's it is: names are compared by their letters and digits, in any case.
pub fn verb(name: &str) -> Option<Verb> {
    let letters = |name: &'_ str| -> Vec<u8> {
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    // A name of other letters only would be the name of nothing.
    let is_named = |tool: &&Tool| !wanted.is_empty() && letters(tool.name) == wanted;
    TOOLS.iter().find(is_named).map(|tool| tool.verb)
}

/// Returns the tool of one runtime and the tool of another that does the same. Returns `None` where one of them is missing.
pub fn counterpart(from: &str, name: &str, to: &str) -> Option<(&'static Tool, &'static Tool)> {
    let mut translated = TOOLS.iter().filter(|tool| !tool.keys.is_empty());
    let own = translated.clone().find(|tool| tool.runtime == from && tool.name == name)?;
    let other = translated.find(|tool| tool.runtime == to && tool.verb == own.verb)?;
    Some((own, other))
}

/// Says whether something is decided with a tool, by its exact name.
pub fn decides(name: &str) -> bool {
    DECIDING.iter().any(|(_, tool)| *tool == name)
}

/// Returns the tools of a runtime by which something is decided, as a pattern of hooks.
pub fn deciding(runtime: &str) -> String {
    let names = DECIDING.iter().filter(|(of, _)| *of == runtime).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join("|")
}

/// Returns the names of all tools that write, add, change or list tasks.
pub fn task_tools() -> impl Iterator<Item = &'static str> {
    let is_of_tasks =
        |verb| matches!(verb, Verb::WriteTasks | Verb::AddTask | Verb::ChangeTask | Verb::ListTasks);
    TOOLS.iter().filter(move |tool| is_of_tasks(tool.verb)).map(|tool| tool.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_that_translate_are_these() {
        let translated: Vec<&Tool> = TOOLS.iter().filter(|tool| !tool.keys.is_empty()).collect();
        assert_eq!(translated.len(), 37, "another row would change what is translated");
        for tool in translated {
            assert_eq!(counterpart(tool.runtime, tool.name, "none"), None);
            let (own, _) = counterpart(tool.runtime, tool.name, tool.runtime).expect("itself");
            assert_eq!((own.name, verb(tool.name)), (tool.name, Some(tool.verb)));
        }
        assert_eq!(counterpart("claude-code", "TodoWrite", "opencode"), None);
    }

    #[test]
    fn the_patterns_of_hooks_are_these() {
        assert_eq!(deciding("claude-code"), "AskUserQuestion|ExitPlanMode");
        assert_eq!(deciding("codex"), "update_plan|request_user_input");
        for (_, name) in DECIDING {
            assert!(decides(name) && verb(name).is_some(), "{name}");
        }
        assert!(!decides("Bash"));
    }

    #[test]
    fn a_tool_is_known_whatever_its_spelling() {
        for name in ["apply_patch", "ApplyPatch", "apply-patch"] {
            assert_eq!(verb(name), Some(Verb::Patch));
        }
        for name in ["mcp__files__create_file", "", "…", "writers"] {
            assert_eq!(verb(name), None, "{name}");
        }
    }
}
