//! Shell commands: what of them makes two runs the same, and which of them prove something.
//!
//! No shell: quotes, pipes and `&&` are read, nothing is expanded.

use crate::reduce::cut::cut;

/// Characters of a command's part at most.
pub(super) const PART_CHARS_MAX: usize = 160;
/// Parts of a command at most.
pub(super) const PARTS_MAX: usize = 6;
/// Bytes of a command that are looked at.
const COMMAND_BYTES_MAX: usize = 16 * 1024;

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
pub(super) fn parts(line: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for segment in segments(line) {
        let Some(part) = part(&segment) else { continue };
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
pub(super) fn is_checking(part: &str) -> bool {
    let program = part.split(' ').next().unwrap_or_default();
    CHECKING.contains(&program) || part.starts_with("python -m") || part.starts_with("python3 -m")
}

/// Says whether success of these parts resolves a failure of those: each is there again, or, of a checking program, a
/// run of at least as much.
pub(super) fn covers(success: &[String], failure: &[String]) -> bool {
    !failure.is_empty()
        && failure.iter().all(|failed| success.iter().any(|passed| covers_part(passed, failed)))
}

fn covers_part(passed: &str, failed: &str) -> bool {
    if passed == failed {
        return true;
    }
    if !is_checking(passed) {
        return false;
    }
    let (passed, failed): (Vec<&str>, Vec<&str>) = (passed.split(' ').collect(), failed.split(' ').collect());
    if passed.first() != failed.first() {
        return false;
    }
    let is_subset = passed.len() >= 2 && passed.iter().all(|word| failed.contains(word));
    let is_all = passed.get(1) == failed.get(1)
        && passed.iter().any(|word| matches!(*word, "./..." | "--workspace" | "--all"));
    is_subset || is_all
}

/// Returns the files that a command line removes by name.
pub(super) fn removed(line: &str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folder = String::new();
    for segment in segments(line) {
        let words: Vec<&str> = segment.iter().map(String::as_str).collect();
        let rest = match words.as_slice() {
            ["cd", to] if to.starts_with('/') => {
                folder = format!("{}/", to.trim_end_matches('/'));
                continue;
            }
            ["cd", to] => {
                folder.push_str(to.trim_end_matches('/'));
                folder.push('/');
                continue;
            }
            ["rm", rest @ ..] | ["git", "rm", rest @ ..] => rest,
            _ => continue,
        };
        let (flags, names): (Vec<&str>, Vec<&str>) = rest.iter().partition(|word| word.starts_with('-'));
        // What is removed with all below it is a folder.
        if flags.iter().any(|flag| flag.contains('r') || flag.contains('R')) {
            continue;
        }
        let is_plain = |name: &&str| {
            !name.contains(['*', '$', '?', '{', '`', '~', '>', '<'])
                && !name.ends_with('/')
                && name.contains(['/', '.'])
        };
        let placed = |name: &str| {
            if name.starts_with(['/', '~']) { name.to_owned() } else { format!("{folder}{name}") }
        };
        paths.extend(names.into_iter().filter(is_plain).map(placed));
    }
    paths.truncate(PARTS_MAX);
    paths
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
    Some(cut(&out, PART_CHARS_MAX))
}

/// Returns the words of each simple command: of a pipe the first; without redirections, and nothing after the beginning
/// of a document.
fn segments(line: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut is_piped, mut quote, mut escaped, mut is_word) = (false, None, false, false);
    let mut characters =
        line.char_indices().take_while(|(at, _)| *at < COMMAND_BYTES_MAX).map(|(_, c)| c).peekable();
    let end_word = |word: &mut String, words: &mut Vec<String>, is_word: &mut bool, is_piped: bool| {
        let ended = std::mem::take(word);
        if *is_word && !is_piped {
            words.push(ended);
        }
        *is_word = false;
    };
    while let Some(character) = characters.next() {
        if escaped {
            escaped = false;
            if character != '\n' {
                word.push(character);
                is_word = true;
            }
            continue;
        }
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some('"') | None, '\\') => escaped = true,
            (Some(_), _) => word.push(character),
            (None, '"' | '\'') => (quote, is_word) = (Some(character), true),
            (None, '<') if characters.peek() == Some(&'<') => break,
            (None, '|') if characters.peek() != Some(&'|') => {
                end_word(&mut word, &mut words, &mut is_word, is_piped);
                is_piped = true;
            }
            (None, '&') if word.ends_with('>') || characters.peek() == Some(&'>') => word.push(character),
            (None, '&' | ';' | '|' | '\n') => {
                end_word(&mut word, &mut words, &mut is_word, is_piped);
                if !words.is_empty() {
                    found.push(std::mem::take(&mut words));
                }
                is_piped = false;
            }
            (None, _) if character.is_whitespace() => end_word(&mut word, &mut words, &mut is_word, is_piped),
            (None, _) => {
                word.push(character);
                is_word = true;
            }
        }
    }
    end_word(&mut word, &mut words, &mut is_word, is_piped);
    if !words.is_empty() {
        found.push(words);
    }
    found.into_iter().map(without_redirections).filter(|words| !words.is_empty()).collect()
}

fn without_redirections(words: Vec<String>) -> Vec<String> {
    let mut kept = Vec::new();
    let mut skips = false;
    for word in words {
        let is_redirection =
            word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&').starts_with(['>', '<']);
        // A bare arrow points to the next word.
        let points = is_redirection && word.ends_with(['>', '<']);
        if !skips && !is_redirection {
            kept.push(word);
        }
        skips = points;
    }
    kept
}
