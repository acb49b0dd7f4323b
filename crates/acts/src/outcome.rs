//! How a call ended: well, with an error of one line, or so that it says nothing.
//!
//! Exit codes come in the text, in each runtime's words; where a pipe hides them, the output tells.

use crate::act::Act;
use crate::command;
use crate::editor;
use crate::read::Answer;

/// Characters of an error's line that are looked at.
const LINE_CHARS_MAX: usize = 800;
/// Bytes at the beginning and at the end of a result that are looked at.
const LOOKED_AT_BYTES: usize = 24 * 1024;
/// Bytes at either end within which an exit code stands.
const CODE_BYTES: usize = 400;

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No answer is there.
    Open,
    /// Well.
    Passed,
    /// With an error.
    Failed {
        /// The line that tells most; empty where there is none.
        why: String,
    },
    /// A person or a rule refused it: it did not run.
    Refused,
    /// Somebody stopped it: it may have done something.
    Stopped,
    /// It still runs.
    Running {
        /// How later calls name it.
        handle: Option<String>,
    },
    /// The answer does not say.
    Unclear,
}

/// By which words an answer is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    /// The words of a command. Where it runs checks, such as tests, its output reports failures too.
    Command {
        /// Whether it does.
        is_checking: bool,
    },
    /// The words of a tool that changes files: some runtimes say only there that a patch failed.
    Change,
    /// Any other tool: only its runtime's error flag counts. The text may be a file's and says nothing.
    Tool,
}

/// What says that a person or a rule refused a call.
const REFUSED: &[&str] = &["The user doesn't want to", "user rejected", "rejected by user"];

/// What says so only where the answer is marked as an error: licences begin with these words.
const NOT_PERMITTED: &[&str] = &["Permission to use", "permission to use"];

/// What says that somebody stopped a call.
const STOPPED: &[&str] = &[
    "[Request interrupted",
    "Sibling tool call errored",
    "aborted by user",
    "Operation aborted",
    "User aborted",
    "Command aborted",
    "Script terminated",
];

/// What says that a call still runs, and stands before the name that later calls have for it.
const RUNNING: &[&str] = &[
    "Command running in background with ID: ",
    "Command running in background",
    "Process running with session ID ",
    "Script running with cell ID ",
    "<status>running</status>",
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
    "<exit_code>",
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

/// Returns by which words the answer of a call is judged that does this.
pub fn judged(acts: &[Act]) -> Judged {
    let commands = acts.iter().filter_map(|act| match act {
        Act::Command(command) => Some(command),
        _ => None,
    });
    let checks =
        commands.map(|command| command::parts(&command.line).iter().any(|part| command::is_checking(part)));
    match checks.reduce(|one, other| one || other) {
        Some(is_checking) => Judged::Command { is_checking },
        None if acts.iter().any(Act::changes_a_file) => Judged::Change,
        None => Judged::Tool,
    }
}

/// Judges an answer.
pub fn outcome(judged: Judged, answer: &Answer<'_>) -> Outcome {
    let (head, tail) = ends(&answer.text);
    let begin = clip_end(head, CODE_BYTES);
    let says = |marks: &[&str]| marks.iter().any(|mark| begin.contains(mark));
    let is_command = matches!(judged, Judged::Command { .. });
    let is_marked = answer.is_error
        || judged != Judged::Tool && begin.starts_with("Script failed")
        || begin.starts_with(editor::REFUSED)
        || judged == Judged::Change && {
            let first = begin.lines().next().unwrap_or_default();
            CODES.iter().any(|words| first.starts_with(words)) && code_in(first).is_some_and(|code| code != 0)
        };
    if !is_command && !is_marked {
        return Outcome::Passed;
    }
    if says(REFUSED) || answer.is_error && says(NOT_PERMITTED) {
        return Outcome::Refused;
    }
    if says(STOPPED) {
        return Outcome::Stopped;
    }
    if let Some((_, after)) = RUNNING.iter().find_map(|mark| begin.split_once(mark)) {
        return Outcome::Running { handle: handle(after) };
    }
    let Judged::Command { is_checking } = judged else {
        let first = head.lines().map(cleaned).find(|line| says_something(line));
        return Outcome::Failed { why: first.unwrap_or_default() };
    };
    let code = exit_code(&answer.text);
    // The line would be of what was printed before the tests ran; ends come first.
    let failed = || Outcome::Failed { why: telling(head, tail) };
    match code {
        Some(0) if is_checking && marked(head, tail) => failed(),
        Some(0) => Outcome::Passed,
        // What finds nothing says one and prints nothing.
        Some(1) if telling(head, tail).is_empty() => Outcome::Unclear,
        Some(_) => failed(),
        None if is_marked || (is_checking && marked(head, tail)) => failed(),
        None => Outcome::Passed,
    }
}

/// Returns the exit code that an answer of a command says.
pub fn exit_code(answer: &str) -> Option<i64> {
    let (head, tail) = ends(answer);
    code_in(clip_end(head, CODE_BYTES)).or_else(|| code_in(clip_start(tail, CODE_BYTES)))
}

/// Returns the name of what still runs.
fn handle(after: &str) -> Option<String> {
    let word = after.split_whitespace().next()?.trim_end_matches(['.', ')', ',']);
    (!word.is_empty()).then(|| word.to_owned())
}

/// Says whether something that went well as a whole still could not do what it was to do with a file.
pub fn complains_of_files(text: &str) -> bool {
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
pub fn error_line(text: &str) -> String {
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

fn code_in(text: &str) -> Option<i64> {
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
    let all = head.lines().chain(tail.lines()).flat_map(|line| line.split("\\n"));
    let lines: Vec<String> = all.map(cleaned).filter(|line| says_something(line)).collect();
    let first = |marks: &[&str]| lines.iter().find(|line| marks.iter().any(|mark| line.contains(mark)));
    let [surest, others @ ..] = TELLING else { return String::new() };
    let found = first(surest)
        .or_else(|| lines.iter().find(|line| is_placed(line)))
        .or_else(|| others.iter().find_map(|marks| first(marks)))
        .or_else(|| lines.last());
    found.cloned().unwrap_or_default()
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
    let line = line.strip_prefix("Output: ").unwrap_or(line);
    let mut out = String::with_capacity(line.len());
    let mut characters = line.chars().take(LINE_CHARS_MAX).peekable();
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
    if out.contains("tool_use_error>") {
        out = out.replace("<tool_use_error>", "").replace("</tool_use_error>", "");
    }
    out.trim().to_owned()
}

/// Leaves out lines that are of the client, and of no letters.
fn says_something(line: &str) -> bool {
    let is_client = CODES.iter().any(|words| line.starts_with(words))
        || line.contains("exited with code ")
        || [
            "Chunk ID:",
            "Wall time",
            "Output:",
            "Original token count",
            "Script completed",
            "Script failed",
            "Total output lines",
            "<untrusted_context>",
            "</untrusted_context>",
            "Process Group PGID:",
            "Background PIDs:",
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

#[cfg(test)]
mod tests;
