//! The tools of all runtimes: which of one is which of another, and what each is for.
//!
//! Names alone: what a call's arguments say is read elsewhere.

pub mod table;

use table::RUNTIMES;

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

/// A tool that is translated.
#[derive(Debug, PartialEq, Eq)]
pub struct Tool {
    /// What it is for.
    pub verb: Verb,
    /// The name, as the runtime spells it.
    pub name: &'static str,
    /// Names of arguments in one order for all runtimes that translate this verb.
    pub keys: &'static [&'static str],
}

/// What is known of a runtime's tools.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// The runtime; empty for tools that several of them or home-made agents have.
    pub id: &'static str,
    /// The tools that are translated: another one here changes that.
    pub translated: &'static [Tool],
    /// The names of tools that are never renamed, by what they are for.
    pub named: &'static [(Verb, &'static [&'static str])],
    /// The tools by which something is decided: hooks keep what is open then.
    pub deciding: &'static [&'static str],
    /// Kinds of parts that say in one line what was asked for and what came of it.
    pub done_items: &'static [&'static str],
}

impl Runtime {
    /// Returns what each of its tools is for and how it is called.
    pub fn tools(&self) -> impl Iterator<Item = (Verb, &'static str)> {
        let translated = self.translated.iter().map(|tool| (tool.verb, tool.name));
        translated.chain(self.named.iter().flat_map(|(verb, names)| names.iter().map(|name| (*verb, *name))))
    }
}

/// Returns what is known of a runtime's tools.
pub fn of_runtime(id: &str) -> Option<&'static Runtime> {
    RUNTIMES.iter().copied().find(|runtime| runtime.id == id)
}

fn tools() -> impl Iterator<Item = (Verb, &'static str)> {
    RUNTIMES.iter().flat_map(|runtime| runtime.tools())
}

/// Returns what a tool is for, whatever runtime's it is: names are compared by their letters and digits, in any case.
pub fn verb(name: &str) -> Option<Verb> {
    let letters = |name: &'_ str| -> Vec<u8> {
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    // A name of other letters only would be the name of nothing.
    let is_named = |(_, name): &(Verb, &str)| !wanted.is_empty() && letters(name) == wanted;
    tools().find(is_named).map(|(verb, _)| verb)
}

/// Returns the tool of one runtime and the tool of another that does the same. Returns `None` where one of them is missing.
pub fn counterpart(from: &str, name: &str, to: &str) -> Option<(&'static Tool, &'static Tool)> {
    let own = of_runtime(from)?.translated.iter().find(|tool| tool.name == name)?;
    let other = of_runtime(to)?.translated.iter().find(|tool| tool.verb == own.verb)?;
    Some((own, other))
}

/// Says whether something is decided with a tool, by its exact name.
pub fn decides(name: &str) -> bool {
    RUNTIMES.iter().any(|runtime| runtime.deciding.contains(&name))
}

/// Returns the names of all tools that write, add, change or list tasks.
pub fn task_tools() -> impl Iterator<Item = &'static str> {
    let is_of_tasks =
        |verb| matches!(verb, Verb::WriteTasks | Verb::AddTask | Verb::ChangeTask | Verb::ListTasks);
    tools().filter(move |(verb, _)| is_of_tasks(*verb)).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_that_translate_are_these() {
        let of = |runtime: &'static Runtime| runtime.translated.iter().map(|tool| (runtime.id, tool));
        let translated: Vec<_> = RUNTIMES.iter().copied().flat_map(of).collect();
        assert_eq!(translated.len(), 37, "another row would change what is translated");
        for (id, tool) in translated {
            assert_eq!(counterpart(id, tool.name, "none"), None);
            let (own, _) = counterpart(id, tool.name, id).expect("itself");
            assert_eq!((own.name, verb(tool.name)), (tool.name, Some(tool.verb)));
        }
        assert_eq!(counterpart("claude-code", "TodoWrite", "opencode"), None);
    }

    #[test]
    fn each_deciding_tool_is_one_of_the_runtime() {
        for runtime in RUNTIMES {
            for name in runtime.deciding {
                let is_own = runtime.tools().any(|(_, tool)| tool == *name);
                assert!(is_own && decides(name), "{name}");
            }
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
