//! How a call ended: well, with an error of one line, or so that it says nothing.
//!
//! Exit codes come in the text, in each runtime's words; where a pipe hides them, the output tells.

use super::words::line;

/// Characters of an error's line at most.
pub(super) const ERROR_CHARS_MAX: usize = 200;
/// Bytes at the beginning and at the end of a result that are looked at.
const LOOKED_AT_BYTES: usize = 24 * 1024;
/// Bytes at either end within which an exit code stands.
const CODE_BYTES: usize = 400;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Well.
    Passed,
    /// With an error.
    Failed(String),
    /// It did not end, or somebody stopped it.
    Unknown,
}

/// What says that somebody stopped a call, or that it still runs.
const STOPPED: &[&str] = &[
    "The user doesn't want to",
    "[Request interrupted",
    "Sibling tool call errored",
    "user rejected",
    "rejected by user",
    "Command running in background",
    "Process running with session ID",
    "Script running with cell ID",
    "aborted by user",
    "Operation aborted",
    "User aborted",
    "Command aborted",
    "Permission to use",
    "permission to use",
];

/// What an exit code stands after.
const CODES: &[&str] = &[
    "exited with code ",
    "Exit code ",
    "Exit code: ",
    "exit code ",
    "Exit Code: ",
    "\"exit_code\":",
    "exit status ",
];

/// What tools for building and testing say when something failed.
const MARKERS: &[&str] = &[
    "test result: FAILED",
    "error: could not compile",
    "--- FAIL",
    "FAIL\t",
    "panicked at",
    "** (CompileError)",
    "npm ERR!",
    "npm error",
    "ERROR task failed",
    "BUILD FAILED",
    "Tests failed",
    "error TS",
    "error[E",
    "Found errors",
    "FAILED (",
    "ELIFECYCLE",
    "not ok ",
    "SyntaxError:",
    "compilation failed",
    "make: ***",
    "Traceback (most recent call last)",
];

/// Words of lines that say what went wrong, the surest first.
const TELLING: &[&[&str]] = &[
    &[
        "error[",
        "error TS",
        "--- FAIL",
        "panicked at",
        "CompileError",
        "fatal:",
        "undefined:",
        "SyntaxError",
        "not ok ",
        "FAILED",
    ],
    &["error:", "Error:", "ERROR", "cannot ", "Cannot ", "failed", "Failed", "FAIL"],
    &["not found", "No such file", "denied", "Error", "error", "unknown", "invalid", "Invalid"],
];

/// Judges a result. A checking command is one whose output tells of failures.
pub(super) fn of(is_error: bool, text: &str, is_checking: bool) -> Outcome {
    let (head, tail) = ends(text);
    let begin = clip_end(head, CODE_BYTES);
    if STOPPED.iter().any(|mark| begin.contains(mark)) {
        return Outcome::Unknown;
    }
    let code = exit_code(begin).or_else(|| exit_code(clip_start(tail, CODE_BYTES)));
    // The line would be of what was printed before the tests ran; ends come first.
    let failed = || Outcome::Failed(telling(head, tail));
    match code {
        Some(0) if is_checking && marked(head, tail) => failed(),
        Some(0) => Outcome::Passed,
        // What finds nothing says one and prints nothing.
        Some(1) if telling(head, tail).is_empty() => Outcome::Unknown,
        Some(_) => failed(),
        None if is_error || (is_checking && marked(head, tail)) => failed(),
        None => Outcome::Passed,
    }
}

/// Judges the result of a tool that runs no command: it failed where its runtime says so, and says why first.
pub(super) fn of_tool(is_error: bool, text: &str) -> Outcome {
    if !is_error {
        return Outcome::Passed;
    }
    let (head, _) = ends(text);
    if STOPPED.iter().any(|mark| clip_end(head, CODE_BYTES).contains(mark)) {
        return Outcome::Unknown;
    }
    let first = head.lines().map(cleaned).find(|line| says(line));
    Outcome::Failed(line(&first.unwrap_or_default(), ERROR_CHARS_MAX))
}

/// What shells and programs say of a command that was not meant so: its words were wrong, and nothing of the project is.
const SLIPS: &[&str] = &[
    "command not found",
    "unknown flag",
    "unknown shorthand flag",
    "unknown option",
    "unrecognized option",
    "unrecognized argument",
    "unrecognized subcommand",
    "unexpected argument",
    "invalid option",
    "illegal option",
    "flag provided but not defined",
    "no such command",
    "no such subcommand",
    "missing script:",
    "is not a git command",
    "not a git repository",
    "did not match any file",
    "no matches found:",
    "parse error near",
    "unexpected eof while looking",
    "syntax error near unexpected token",
    "could not determine which binary to run",
    "can't open file",
    "file has not been read yet",
    "has been modified since read",
    "string to replace not found",
    "could not find the exact text",
    "no changes to make",
    "no changes made to",
    "file does not exist",
    "eisdir",
];

/// Programs whose word that a file is not there is about the words of a command.
const SPEAKERS: &[&str] = &[
    "zsh",
    "bash",
    "sh",
    "/bin/sh",
    "/bin/bash",
    "(eval)",
    "cd",
    "ls",
    "cat",
    "sed",
    "awk",
    "head",
    "tail",
    "grep",
    "rg",
    "find",
    "wc",
    "rm",
    "mv",
    "cp",
    "mkdir",
    "chmod",
    "stat",
    "python",
    "python3",
    "node",
    "ln",
];

/// Says whether the line of an error is about how a command was written, not about the project.
pub(super) fn is_slip(why: &str) -> bool {
    let why = why.to_lowercase();
    let speaker = why.split(':').next().unwrap_or_default().trim();
    let speaks = SPEAKERS.contains(&speaker);
    let is_missing = ["no such file or directory", "permission denied", "not a directory", "is a directory"];
    SLIPS.iter().any(|words| why.contains(words))
        || (speaks && is_missing.iter().any(|words| why.contains(words)))
        || why.starts_with("usage:")
}

/// Says whether something that went well as a whole still could not do what it was to do with a file.
pub(super) fn complains_of_files(text: &str) -> bool {
    let (head, tail) = ends(text);
    let words = [
        "No such file or directory",
        "Permission denied",
        "permission denied",
        "cannot ",
        "mv: ",
        "cp: ",
        "rm: ",
    ];
    [head, tail].into_iter().any(|text| words.iter().any(|words| text.contains(words)))
}

/// Returns the line of an error's text that tells most.
pub(super) fn error_line(text: &str) -> String {
    let (head, tail) = ends(text);
    telling(head, tail)
}

fn ends(text: &str) -> (&str, &str) {
    let head = clip_end(text, LOOKED_AT_BYTES);
    let rest = text.get(head.len()..).unwrap_or_default();
    (head, if rest.is_empty() { head } else { clip_start(rest, LOOKED_AT_BYTES) })
}

fn clip_end(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn clip_start(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    let start = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    text.get(start..).unwrap_or_default()
}

fn exit_code(text: &str) -> Option<i64> {
    CODES.iter().find_map(|words| {
        let (_, after) = text.split_once(words)?;
        let digits: String =
            after.trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '-').take(6).collect();
        digits.parse().ok()
    })
}

fn marked(head: &str, tail: &str) -> bool {
    [head, tail].into_iter().any(|text| MARKERS.iter().any(|mark| text.contains(mark)))
}

fn telling(head: &str, tail: &str) -> String {
    let tail = if std::ptr::eq(head, tail) { "" } else { tail };
    // What came as JSON has the marks of line ends in place of them.
    let lines = || {
        let all = head.lines().chain(tail.lines()).flat_map(|line| line.split("\\n"));
        all.map(cleaned).filter(|line| says(line))
    };
    let first = |marks: &[&str]| lines().find(|line| marks.iter().any(|mark| line.contains(mark)));
    let [surest, others @ ..] = TELLING else { return String::new() };
    let found = first(surest)
        .or_else(|| lines().find(|line| is_placed(line)))
        .or_else(|| others.iter().find_map(|marks| first(marks)))
        .or_else(|| lines().last());
    line(&found.unwrap_or_default(), ERROR_CHARS_MAX)
}

/// `src/a.rs:12: …`, as compilers and linters write.
fn is_placed(line: &str) -> bool {
    let Some((path, rest)) = line.split_once(':') else { return false };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    path.contains('.')
        && !path.contains(' ')
        && digits > 0
        && rest.get(digits..).is_some_and(|rest| rest.starts_with(':'))
}

/// Takes away what colours a line and the marks that clients set around errors.
fn cleaned(line: &str) -> String {
    // What a program wraps around what a command said.
    let line = line.split_once("\"output\":\"").map_or(line, |(_, output)| output);
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars().take(4 * ERROR_CHARS_MAX).peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            if characters.next_if_eq(&'[').is_some() {
                for code in characters.by_ref() {
                    if code.is_ascii_alphabetic() {
                        break;
                    }
                }
            }
        } else if !character.is_control() || character == '\t' {
            out.push(character);
        }
    }
    out.replace("<tool_use_error>", "").replace("</tool_use_error>", "").trim().to_owned()
}

/// Leaves out lines that are of the client, and of no letters.
fn says(line: &str) -> bool {
    let is_client = CODES.iter().any(|words| line.starts_with(words) || line.contains("exited with code "))
        || [
            "Chunk ID:",
            "Wall time",
            "Output:",
            "Original token count",
            "Script completed",
            "Script failed",
            "Total output lines",
            "$ ",
            "> ",
            "=== RUN",
            "ok ",
            "?  ",
            "at ",
        ]
        .iter()
        .any(|begin| line.starts_with(begin));
    !is_client && line.chars().any(char::is_alphabetic)
}
