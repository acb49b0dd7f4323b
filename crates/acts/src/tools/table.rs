//! The tools of each client, as its own transcripts show them: the one place here that names a client.

use super::{Runtime, Tool, Verb};

const fn tool(verb: Verb, name: &'static str, keys: &'static [&'static str]) -> Tool {
    Tool { verb, name, keys }
}

/// Every runtime of which tools are known. A tool that is looked up by its name alone is the first of that name.
pub(super) const RUNTIMES: &[&Runtime] =
    &[&CLAUDE_CODE, &CODEX, &CODEX_EXEC, &GEMINI, &PI, &OPENCODE, &OPENHANDS, &SWE_AGENT, &ANY];

/// The tools of Claude Code.
pub const CLAUDE_CODE: Runtime = Runtime {
    id: "claude-code",
    translated: &[
        tool(Verb::Shell, "Bash", &["command"]),
        tool(Verb::Read, "Read", &["file_path"]),
        tool(Verb::Write, "Write", &["file_path"]),
        tool(Verb::Edit, "Edit", &["file_path", "old_string", "new_string", "replace_all"]),
        tool(Verb::FindFiles, "Glob", &["pattern"]),
        tool(Verb::FindText, "Grep", &["pattern"]),
        tool(Verb::ListFolder, "LS", &["path"]),
        tool(Verb::Fetch, "WebFetch", &["url"]),
    ],
    named: &[
        (Verb::Follow, &["TaskOutput", "BashOutput", "AgentOutputTool"]),
        (Verb::Read, &["NotebookRead"]),
        (Verb::Edit, &["MultiEdit", "NotebookEdit"]),
        (Verb::SearchWeb, &["WebSearch"]),
        (Verb::WriteTasks, &["TodoWrite"]),
        (Verb::AddTask, &["TaskCreate"]),
        (Verb::ChangeTask, &["TaskUpdate"]),
        (Verb::ListTasks, &["TaskList", "TodoRead"]),
        (Verb::Ask, &["AskUserQuestion"]),
        (Verb::Approve, &["ExitPlanMode"]),
        (Verb::Subagent, &["Task", "Agent"]),
        (
            Verb::Client,
            &[
                "Skill",
                "ToolSearch",
                "TaskGet",
                "TaskStop",
                "KillShell",
                "KillBash",
                "EnterPlanMode",
                "ListMcpResourcesTool",
                "ReadMcpResourceTool",
                "Workflow",
                "ListAgents",
                "ScheduleWakeup",
            ],
        ),
    ],
    deciding: &["AskUserQuestion", "ExitPlanMode"],
    done_items: &[],
};

/// The tools of Codex.
pub const CODEX: Runtime = Runtime {
    id: "codex",
    translated: &[tool(Verb::Shell, "exec_command", &["cmd"])],
    named: &[
        (Verb::Shell, &["shell", "shell_command", "local_shell"]),
        (Verb::Code, &["exec"]),
        (Verb::Follow, &["wait", "wait_agent", "write_stdin"]),
        (Verb::Read, &["view_image"]),
        (Verb::Patch, &["apply_patch"]),
        (Verb::FindText, &["grep_files"]),
        (Verb::ListFolder, &["list_dir"]),
        (Verb::SearchWeb, &["web_search", "web__run"]),
        (Verb::WriteTasks, &["update_plan"]),
        (Verb::Ask, &["request_user_input", "request_permissions"]),
        (Verb::Subagent, &["spawn_agent"]),
        (
            Verb::Client,
            &["send_input", "send_message", "resume_agent", "close_agent", "list_agents", "tool_search"],
        ),
    ],
    deciding: &["update_plan", "request_user_input"],
    done_items: &[],
};

/// The tools of what headless Codex prints.
pub(super) const CODEX_EXEC: Runtime = Runtime {
    id: "codex-exec",
    translated: &[tool(Verb::Shell, "command_execution", &["command"])],
    named: &[(Verb::Changes, &["file_change"]), (Verb::WriteTasks, &["todo_list"])],
    deciding: &[],
    done_items: &["file_change", "todo_list", "web_search"],
};

/// The tools of Gemini CLI.
pub const GEMINI: Runtime = Runtime {
    id: "gemini",
    translated: &[
        tool(Verb::Shell, "run_shell_command", &["command"]),
        tool(Verb::Read, "read_file", &["file_path"]),
        tool(Verb::Write, "write_file", &["file_path"]),
        tool(Verb::Edit, "replace", &["file_path", "old_string", "new_string", ""]),
        tool(Verb::FindFiles, "glob", &["pattern"]),
        tool(Verb::FindText, "grep_search", &["pattern"]),
        // Its name of old, which the client still takes.
        tool(Verb::FindText, "search_file_content", &["pattern"]),
        tool(Verb::ListFolder, "list_directory", &["dir_path"]),
        tool(Verb::Fetch, "web_fetch", &["url"]),
    ],
    named: &[
        (Verb::Read, &["read_many_files"]),
        (Verb::SearchWeb, &["google_web_search"]),
        (Verb::WriteTasks, &["write_todos"]),
        (Verb::AddTask, &["tracker_create_task"]),
        (Verb::ChangeTask, &["tracker_update_task"]),
        (Verb::ListTasks, &["tracker_list_tasks"]),
        (Verb::Ask, &["ask_user"]),
        (Verb::Approve, &["exit_plan_mode"]),
        (Verb::Subagent, &["delegate_to_agent", "codebase_investigator"]),
        (
            Verb::Client,
            &[
                "enter_plan_mode",
                "save_memory",
                "activate_skill",
                "get_internal_docs",
                "update_topic",
                "tracker_get_task",
                "tracker_add_dependency",
                "tracker_visualize",
            ],
        ),
    ],
    deciding: &["ask_user", "exit_plan_mode"],
    done_items: &[],
};

/// The tools of pi.
pub const PI: Runtime = Runtime {
    id: "pi",
    translated: &[
        tool(Verb::Shell, "bash", &["command"]),
        tool(Verb::Read, "read", &["path"]),
        tool(Verb::Write, "write", &["path"]),
        tool(Verb::Edit, "edit", &["path", "oldText", "newText", ""]),
        tool(Verb::FindFiles, "find", &["pattern"]),
        tool(Verb::FindText, "grep", &["pattern"]),
        tool(Verb::ListFolder, "ls", &["path"]),
    ],
    named: &[],
    deciding: &[],
    done_items: &[],
};

/// The tools of opencode.
pub const OPENCODE: Runtime = Runtime {
    id: "opencode",
    translated: &[
        tool(Verb::Shell, "bash", &["command"]),
        tool(Verb::Read, "read", &["filePath"]),
        tool(Verb::Write, "write", &["filePath"]),
        tool(Verb::Edit, "edit", &["filePath", "oldString", "newString", "replaceAll"]),
        tool(Verb::FindFiles, "glob", &["pattern"]),
        tool(Verb::FindText, "grep", &["pattern"]),
        tool(Verb::ListFolder, "list", &["path"]),
        tool(Verb::Fetch, "webfetch", &["url"]),
    ],
    named: &[
        (Verb::Patch, &["patch"]),
        (Verb::SearchWeb, &["codesearch"]),
        (Verb::WriteTasks, &["todowrite"]),
        (Verb::Ask, &["question"]),
    ],
    deciding: &[],
    done_items: &[],
};

/// The tools of `OpenHands`.
pub const OPENHANDS: Runtime = Runtime {
    id: "openhands",
    translated: &[
        tool(Verb::Shell, "terminal", &["command"]),
        tool(Verb::Shell, "execute_bash", &["command"]),
    ],
    named: &[
        (Verb::Shell, &["run"]),
        (Verb::Editor, &["str_replace_editor", "file_editor"]),
        (Verb::Fetch, &["browse"]),
        (Verb::WriteTasks, &["task_tracker"]),
        (Verb::Think, &["think"]),
        (Verb::Client, &["finish"]),
    ],
    deciding: &[],
    done_items: &[],
};

/// The tools of SWE-agent.
pub const SWE_AGENT: Runtime = Runtime {
    id: "swe-agent",
    translated: &[tool(Verb::Shell, "bash", &["command"])],
    named: &[
        (Verb::Read, &["open"]),
        (Verb::Write, &["create"]),
        (Verb::Edit, &["insert"]),
        (Verb::FindFiles, &["find_file"]),
        (Verb::FindText, &["search_file", "search_dir"]),
        (Verb::Client, &["goto", "scroll_up", "scroll_down", "submit"]),
    ],
    deciding: &[],
    done_items: &[],
};

/// The tools of no one client: several, or home-made agents, have them.
pub(super) const ANY: Runtime = Runtime {
    id: "",
    translated: &[],
    named: &[
        (Verb::Read, &["view", "view_file", "open_file"]),
        (Verb::Write, &["create_file"]),
        (Verb::Edit, &["replace_string_in_file"]),
        (Verb::Editor, &["str_replace_based_edit_tool"]),
        (Verb::Delete, &["delete", "delete_file", "remove_file"]),
        (Verb::Move, &["move_file", "rename_file"]),
        (Verb::FindText, &["search"]),
        (Verb::Fetch, &["fetch"]),
        (Verb::WriteTasks, &["todo", "todos", "set_todos", "update_todos", "set_plan"]),
    ],
    deciding: &[],
    done_items: &[],
};
