//! Shell commands: what of them makes two runs the same, and which of them prove something.
//!
//! How a line is taken apart is decided in `shell`.

use crate::shell;

/// Parts of a command at most.
pub const PARTS_MAX: usize = 6;

/// Programs that only look, move or wait: what they say is neither an error nor a proof.
const LOOKING: &[&str] = &[
    "cd", "ls", "cat", "head", "tail", "grep", "rg", "find", "fd", "sed", "awk", "wc", "which", "pwd",
    "echo", "printf", "export", "set", "source", "sleep", "true", "false", "test", "[", "stat", "file",
    "diff", "tree", "env", "date", "wait", "type", "command", "du", "df", "ps", "kill", "pkill", "pgrep",
    "lsof", "jq", "xxd", "od", "less", "more", "sort", "uniq", "cut", "tr", "basename", "dirname",
    "realpath", "readlink", "man", "open", "read", "for", "if", "then", "else", "fi", "do", "done", "while",
    "rm", "mkdir", "touch", "cp", "mv", "ln", "chmod", "tmux", "nl", "column", "curl", "wget", "printenv",
    "uname", "whoami", "tee", "xargs", "unset", "local", "return", "exit", "break", "continue", "case",
    "esac", "function", "{", "}", "(", ")", "!",
];

/// Subcommands of `git` and `gh` that only look.
const LOOKING_SUBCOMMANDS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "branch",
    "remote",
    "rev-parse",
    "ls-files",
    "grep",
    "config",
    "stash",
    "describe",
    "cat-file",
    "ls-tree",
    "reflog",
    "fetch",
    "view",
    "list",
    "checks",
    "api",
    "run",
    "issue",
    "search",
    "add",
    "worktree",
    "merge-base",
    "for-each-ref",
    "ls-remote",
    "check-ignore",
    "tag",
    "rev-list",
    "pr",
];

/// Programs whose output tells of failures whatever their exit code is, since that is often a pipe's.
const CHECKING: &[&str] = &[
    "cargo",
    "go",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "npx",
    "bunx",
    "mix",
    "pytest",
    "make",
    "mise",
    "gradle",
    "gradlew",
    "./gradlew",
    "mvn",
    "dotnet",
    "tsc",
    "tsgo",
    "node",
    "deno",
    "golangci-lint",
    "eslint",
    "ruff",
    "mypy",
    "just",
    "vitest",
    "jest",
    "biome",
    "rspec",
    "bundle",
    "rake",
    "swift",
    "ctest",
    "cmake",
    "bazel",
    "zig",
    "tox",
    "nox",
    "bats",
    "phpunit",
    "flutter",
    "hk",
];

/// Programs that run tests and do nothing else.
const TESTING: &[&str] = &[
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "rspec",
    "minitest",
    "ctest",
    "phpunit",
    "bats",
    "tox",
    "nox",
    "karma",
    "cypress",
    "playwright",
    "gotestsum",
    "cucumber",
    "unittest",
    "nosetests",
    "ExUnit",
];

/// Words of a runner's command that say what it runs: behind them are names of files and filters.
const TEST_WORDS_MAX: usize = 4;

/// Flags that change what is printed and nothing else.
const NEUTRAL_FLAGS: &[&str] = &[
    "-v",
    "-vv",
    "--verbose",
    "-q",
    "--quiet",
    "--no-color",
    "--silent",
    "-s",
    "--color=always",
    "--color=never",
];

/// Returns the parts of a command line that may prove something, each without what does not matter; none where it only
/// looks.
pub fn parts(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for command in shell::commands(line).into_iter().filter(|command| !command.is_piped) {
        let Some(part) = part(&command.words) else { continue };
        if !found.contains(&part) {
            found.push(part);
        }
        if found.len() == PARTS_MAX {
            break;
        }
    }
    found
}

/// Says whether a part is of a program whose output tells of failures.
pub fn is_checking(part: &str) -> bool {
    let program = part.split(' ').next().unwrap_or_default();
    CHECKING.contains(&program) || part.starts_with("python -m") || part.starts_with("python3 -m")
}

/// Words behind a program that say what it fetches: what follows is a name.
const INSTALLING: [&str; 9] =
    ["install", "i", "ci", "add", "remove", "uninstall", "update", "info", "upgrade"];

/// Flags by which runners run no test.
const NOT_RUNNING: [&str; 5] = ["--no-run", "--collect-only", "--listTests", "--list", "--co"];

/// Says whether a part fetches a program or lists what there is, and runs nothing of it.
pub fn runs_nothing(part: &str) -> bool {
    let mut words = part.split(' ').skip(1).peekable();
    words.peek().is_some_and(|word| INSTALLING.contains(word))
        || words.any(|word| NOT_RUNNING.contains(&word))
}

/// Says whether a part runs tests: a program that does nothing else, or a runner that is told to.
pub fn is_testing(part: &str) -> bool {
    let mut words = part.split(' ');
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or(program);
    let words: Vec<&str> = words.collect();
    if runs_nothing(part) {
        return false;
    }
    if TESTING.contains(&program) {
        return true;
    }
    let is_runner = CHECKING.contains(&program)
        || matches!(program, "python" | "python3" | "uv" | "poetry" | "sh" | "bash");
    is_runner && words.iter().take(TEST_WORDS_MAX).any(|word| TESTING.contains(word) || is_test_word(word))
}

/// `test`, `nextest`, `test:unit`, `run-tests`, `integration-test`; no flag and no path.
fn is_test_word(word: &str) -> bool {
    let is_name = !word.starts_with('-') && !word.contains(['/', '.', '=']);
    is_name
        && word
            .split([':', '-', '_'])
            .any(|piece| matches!(piece, "test" | "tests" | "nextest" | "unittest" | "testing"))
        || word == "--test"
}

fn part(words: &[String]) -> Option<String> {
    let mut words = words.iter().map(String::as_str).peekable();
    loop {
        let word = words.peek()?;
        let is_assignment = word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
        });
        if is_assignment
            || matches!(*word, "sudo" | "time" | "exec" | "nohup" | "env" | "then" | "do" | "else")
        {
            words.next();
        } else if matches!(*word, "timeout" | "gtimeout") {
            words.next();
            words.next();
        } else {
            break;
        }
    }
    let program = words.next()?;
    let rest: Vec<&str> = words.collect();
    let subcommand = rest.first().copied().unwrap_or_default();
    let is_looking = LOOKING.contains(&program)
        || (matches!(program, "git" | "gh" | "jj" | "bd") && LOOKING_SUBCOMMANDS.contains(&subcommand))
        || program.starts_with(['#', '$', '<', '>', '"', '\'', '-']);
    if is_looking {
        return None;
    }
    let mut out = program.to_owned();
    if program == "git" && subcommand == "commit" {
        // Messages differ from one try to the next.
        return Some("git commit".to_owned());
    }
    for word in rest {
        if NEUTRAL_FLAGS.contains(&word) || word.starts_with("-count=") {
            continue;
        }
        out.push(' ');
        out.push_str(if word.contains(char::is_whitespace) { "…" } else { word });
    }
    Some(out)
}
