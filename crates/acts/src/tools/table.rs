//! The tools of each client, as its own transcripts show them: the one place here that names a client.
//!
//! A row with names of arguments changes what is translated.

use super::{Runtime, Tool, Verb};

const fn tool(verb: Verb, name: &'static str, keys: &'static [&'static str]) -> Tool {
    Tool { verb, name, keys }
}

/// A tool that is never renamed.
const fn own(verb: Verb, name: &'static str) -> Tool {
    Tool { verb, name, keys: &[] }
}

const fn of(id: &'static str, tools: &'static [Tool]) -> Runtime {
    Runtime { id, tools, deciding: &[], done_items: &[] }
}

/// Every runtime of which tools are known. A tool that is looked up by its name alone is the first of that name.
pub(super) const RUNTIMES: &[&Runtime] =
    &[&CLAUDE_CODE, &CODEX, &CODEX_EXEC, &GEMINI, &PI, &OPENCODE, &OPENHANDS, &SWE_AGENT, &ANY];

/// The tools of Claude Code.
pub const CLAUDE_CODE: Runtime = Runtime {
    deciding: &["AskUserQuestion", "ExitPlanMode"],
    ..of(
        "claude-code",
        &[
            tool(Verb::Shell, "Bash", &["command"]),
            tool(Verb::Read, "Read", &["file_path"]),
            tool(Verb::Write, "Write", &["file_path"]),
            tool(Verb::Edit, "Edit", &["file_path", "old_string", "new_string", "replace_all"]),
            tool(Verb::FindFiles, "Glob", &["pattern"]),
            tool(Verb::FindText, "Grep", &["pattern"]),
            tool(Verb::ListFolder, "LS", &["path"]),
            tool(Verb::Fetch, "WebFetch", &["url"]),
            own(Verb::Follow, "TaskOutput"),
            own(Verb::Follow, "BashOutput"),
            own(Verb::Follow, "AgentOutputTool"),
            own(Verb::Read, "NotebookRead"),
            own(Verb::Edit, "MultiEdit"),
            own(Verb::Edit, "NotebookEdit"),
            own(Verb::SearchWeb, "WebSearch"),
            own(Verb::WriteTasks, "TodoWrite"),
            own(Verb::AddTask, "TaskCreate"),
            own(Verb::ChangeTask, "TaskUpdate"),
            own(Verb::ListTasks, "TaskList"),
            own(Verb::ListTasks, "TodoRead"),
            own(Verb::Ask, "AskUserQuestion"),
            own(Verb::Approve, "ExitPlanMode"),
            own(Verb::Subagent, "Task"),
            own(Verb::Subagent, "Agent"),
            own(Verb::Client, "Skill"),
            own(Verb::Client, "ToolSearch"),
            own(Verb::Client, "TaskGet"),
            own(Verb::Client, "TaskStop"),
            own(Verb::Client, "KillShell"),
            own(Verb::Client, "KillBash"),
            own(Verb::Client, "EnterPlanMode"),
            own(Verb::Client, "ListMcpResourcesTool"),
            own(Verb::Client, "ReadMcpResourceTool"),
            own(Verb::Client, "Workflow"),
            own(Verb::Client, "ListAgents"),
            own(Verb::Client, "ScheduleWakeup"),
        ],
    )
};

/// The tools of Codex.
pub const CODEX: Runtime = Runtime {
    deciding: &["update_plan", "request_user_input"],
    ..of(
        "codex",
        &[
            tool(Verb::Shell, "exec_command", &["cmd"]),
            own(Verb::Shell, "shell"),
            own(Verb::Shell, "shell_command"),
            own(Verb::Shell, "local_shell"),
            own(Verb::Code, "exec"),
            own(Verb::Follow, "wait"),
            own(Verb::Follow, "wait_agent"),
            own(Verb::Follow, "write_stdin"),
            own(Verb::Read, "view_image"),
            own(Verb::Patch, "apply_patch"),
            own(Verb::FindText, "grep_files"),
            own(Verb::ListFolder, "list_dir"),
            own(Verb::SearchWeb, "web_search"),
            own(Verb::SearchWeb, "web__run"),
            own(Verb::WriteTasks, "update_plan"),
            own(Verb::Ask, "request_user_input"),
            own(Verb::Ask, "request_permissions"),
            own(Verb::Subagent, "spawn_agent"),
            own(Verb::Client, "send_input"),
            own(Verb::Client, "send_message"),
            own(Verb::Client, "resume_agent"),
            own(Verb::Client, "close_agent"),
            own(Verb::Client, "list_agents"),
            own(Verb::Client, "tool_search"),
        ],
    )
};

/// The tools of what headless Codex prints.
pub(super) const CODEX_EXEC: Runtime = Runtime {
    done_items: &["file_change", "todo_list", "web_search"],
    ..of(
        "codex-exec",
        &[
            tool(Verb::Shell, "command_execution", &["command"]),
            own(Verb::Changes, "file_change"),
            own(Verb::WriteTasks, "todo_list"),
        ],
    )
};

/// The tools of Gemini CLI.
pub const GEMINI: Runtime = Runtime {
    deciding: &["ask_user", "exit_plan_mode"],
    ..of(
        "gemini",
        &[
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
            own(Verb::Read, "read_many_files"),
            own(Verb::SearchWeb, "google_web_search"),
            own(Verb::WriteTasks, "write_todos"),
            own(Verb::AddTask, "tracker_create_task"),
            own(Verb::ChangeTask, "tracker_update_task"),
            own(Verb::ListTasks, "tracker_list_tasks"),
            own(Verb::Ask, "ask_user"),
            own(Verb::Approve, "exit_plan_mode"),
            own(Verb::Subagent, "delegate_to_agent"),
            own(Verb::Subagent, "codebase_investigator"),
            own(Verb::Client, "enter_plan_mode"),
            own(Verb::Client, "save_memory"),
            own(Verb::Client, "activate_skill"),
            own(Verb::Client, "get_internal_docs"),
            own(Verb::Client, "update_topic"),
            own(Verb::Client, "tracker_get_task"),
            own(Verb::Client, "tracker_add_dependency"),
            own(Verb::Client, "tracker_visualize"),
        ],
    )
};

/// The tools of pi.
pub const PI: Runtime = of(
    "pi",
    &[
        tool(Verb::Shell, "bash", &["command"]),
        tool(Verb::Read, "read", &["path"]),
        tool(Verb::Write, "write", &["path"]),
        tool(Verb::Edit, "edit", &["path", "oldText", "newText", ""]),
        tool(Verb::FindFiles, "find", &["pattern"]),
        tool(Verb::FindText, "grep", &["pattern"]),
        tool(Verb::ListFolder, "ls", &["path"]),
    ],
);

/// The tools of opencode.
pub const OPENCODE: Runtime = of(
    "opencode",
    &[
        tool(Verb::Shell, "bash", &["command"]),
        tool(Verb::Read, "read", &["filePath"]),
        tool(Verb::Write, "write", &["filePath"]),
        tool(Verb::Edit, "edit", &["filePath", "oldString", "newString", "replaceAll"]),
        tool(Verb::FindFiles, "glob", &["pattern"]),
        tool(Verb::FindText, "grep", &["pattern"]),
        tool(Verb::ListFolder, "list", &["path"]),
        tool(Verb::Fetch, "webfetch", &["url"]),
        own(Verb::Patch, "patch"),
        own(Verb::SearchWeb, "codesearch"),
        own(Verb::WriteTasks, "todowrite"),
        own(Verb::Ask, "question"),
    ],
);

/// The tools of `OpenHands`.
pub const OPENHANDS: Runtime = of(
    "openhands",
    &[
        tool(Verb::Shell, "terminal", &["command"]),
        tool(Verb::Shell, "execute_bash", &["command"]),
        own(Verb::Shell, "run"),
        own(Verb::Editor, "str_replace_editor"),
        own(Verb::Editor, "file_editor"),
        own(Verb::Fetch, "browse"),
        own(Verb::WriteTasks, "task_tracker"),
        own(Verb::Think, "think"),
        own(Verb::Client, "finish"),
    ],
);

/// The tools of SWE-agent.
pub const SWE_AGENT: Runtime = of(
    "swe-agent",
    &[
        tool(Verb::Shell, "bash", &["command"]),
        own(Verb::Read, "open"),
        own(Verb::Write, "create"),
        own(Verb::Edit, "insert"),
        own(Verb::FindFiles, "find_file"),
        own(Verb::FindText, "search_file"),
        own(Verb::FindText, "search_dir"),
        own(Verb::Client, "goto"),
        own(Verb::Client, "scroll_up"),
        own(Verb::Client, "scroll_down"),
        own(Verb::Client, "submit"),
    ],
);

/// The tools of no one client: several, or home-made agents, have them.
pub(super) const ANY: Runtime = of(
    "",
    &[
        own(Verb::Read, "view"),
        own(Verb::Read, "view_file"),
        own(Verb::Read, "open_file"),
        own(Verb::Write, "create_file"),
        own(Verb::Edit, "replace_string_in_file"),
        own(Verb::Editor, "str_replace_based_edit_tool"),
        own(Verb::Delete, "delete"),
        own(Verb::Delete, "delete_file"),
        own(Verb::Delete, "remove_file"),
        own(Verb::Move, "move_file"),
        own(Verb::Move, "rename_file"),
        own(Verb::FindText, "search"),
        own(Verb::Fetch, "fetch"),
        own(Verb::WriteTasks, "todo"),
        own(Verb::WriteTasks, "todos"),
        own(Verb::WriteTasks, "set_todos"),
        own(Verb::WriteTasks, "update_todos"),
        own(Verb::WriteTasks, "set_plan"),
    ],
);
