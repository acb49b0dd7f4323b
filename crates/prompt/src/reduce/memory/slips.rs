//! Errors that are about how a command was written, not about the project.

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
