//! Words that are code: paths, hosts, flags, commands; and what calls were given. Not whether somebody said them.

use serde_json::Value;
use stemmata_model::Part;

use super::claims::says_outcome;

/// Programs that a sentence names as such.
const PROGRAMS: &[&str] = &[
    "npm",
    "npx",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "cargo",
    "rustc",
    "rustup",
    "git",
    "gh",
    "docker",
    "podman",
    "kubectl",
    "helm",
    "terraform",
    "sudo",
    "ssh",
    "scp",
    "rsync",
    "curl",
    "wget",
    "pip",
    "pip3",
    "poetry",
    "uv",
    "pytest",
    "tox",
    "brew",
    "apt",
    "apt-get",
    "systemctl",
    "psql",
    "mysql",
    "mvn",
    "gradle",
    "bash",
    "zsh",
    "sh",
    "rm",
    "chmod",
    "chown",
    "reboot",
    "make",
    "go",
    "python",
    "python3",
    "node",
];
/// Words before a command that ran.
const RAN: &[&str] = &["ran", "executed", "invoked", "ran:", "executed:"];
/// Words behind one.
const WAS_RUN: &[&str] = &["run", "executed", "invoked", "ausgeführt"];
/// Words that no command has: the sentence goes on.
const PROSE: &[&str] = &[
    "and",
    "or",
    "to",
    "in",
    "on",
    "with",
    "for",
    "again",
    "twice",
    "once",
    "then",
    "which",
    "but",
    "after",
    "before",
    "at",
    "as",
    "the",
    "a",
    "so",
    "from",
    "successfully",
    "is",
    "was",
    "it",
    "now",
    "und",
    "without",
];
/// Words of a line that is a command and nothing else.
const COMMAND_WORDS_MAX: usize = 4;
/// Files without an extension that everybody knows by name, beside those that end in `file`.
const FILES: &[&str] = &[
    "README",
    "LICENSE",
    "LICENCE",
    "CHANGELOG",
    "NOTICE",
    "CODEOWNERS",
    "AUTHORS",
    "COPYING",
    "CONTRIBUTING",
];

/// Whether a word is a path, a file, a host, a flag or a code such as `E0308`, and no prose such as `and/or`.
pub(super) fn is_code(word: &str) -> bool {
    let parts = || word.split('/').filter(|part| !part.is_empty());
    let is_path = ["/", "~/", "./", "../"].iter().any(|start| word.starts_with(start)) || word.contains('\\');
    let is_folder = word.contains('/')
        && (parts().count() > 2 || !word.chars().all(|char| char.is_alphabetic() || char == '/'));
    let is_flag = word.trim_start_matches('-').len() < word.len()
        && word.trim_start_matches('-').starts_with(|char: char| char.is_ascii_alphabetic());
    let is_plain = word.chars().all(|char| char.is_ascii_alphanumeric());
    let has_digits = is_plain
        && word.starts_with(|char: char| char.is_ascii_alphabetic())
        && word.contains(|char: char| char.is_ascii_digit());
    is_path
        || is_folder && !word.starts_with(|char: char| char.is_ascii_digit())
        || is_flag
        || has_digits
        || is_file(word)
        || is_host(word)
}

/// `.env`, `Makefile`, `LICENSE`.
fn is_file(word: &str) -> bool {
    let is_hidden = word
        .strip_prefix('.')
        .is_some_and(|rest| rest.len() > 1 && rest.starts_with(|char: char| char.is_ascii_lowercase()));
    let is_made = word.starts_with(|char: char| char.is_ascii_uppercase())
        && word.ends_with("file")
        && !matches!(word, "Profile" | "File")
        && word.chars().all(char::is_alphabetic);
    is_hidden || is_made || FILES.contains(&word)
}

/// `example.com`, and no `e.g` or `end.Next`.
fn is_host(word: &str) -> bool {
    let mut parts = word.split('.');
    let last = parts.next_back().unwrap_or_default();
    let is_part =
        |part: &str| part.len() > 1 && part.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
    let is_last = last.len() > 1 && last.chars().all(|char| char.is_ascii_lowercase());
    word.contains('.') && is_last && parts.all(is_part)
}

/// Whether a piece of code is a command.
pub(super) fn is_command(code: &str) -> bool {
    code.split_whitespace().next().is_some_and(|word| PROGRAMS.contains(&word) || word.starts_with("./"))
}

/// Returns what a sentence writes as a line of a shell, or what is nothing but a command.
pub(super) fn commands_said(claim: &str) -> impl Iterator<Item = &str> {
    let bare = claim
        .trim()
        .trim_start_matches(|char: char| "-*•> ".contains(char))
        .trim_end_matches(['.', ',', ';']);
    let words = || bare.split_whitespace();
    let is_alone = is_command(bare)
        && (2..=COMMAND_WORDS_MAX).contains(&words().count())
        && !words().any(|word| PROSE.contains(&word) || says_outcome(word));
    shell_line(claim).into_iter().chain(is_alone.then_some(bare))
}

/// Returns a line of a shell without its sign; its status may stand behind it.
fn shell_line(claim: &str) -> Option<&str> {
    let bare = claim.trim_start_matches(|char: char| char.is_whitespace() || "-*•>".contains(char));
    let line = bare.strip_prefix("$ ")?;
    Some(line.rsplit_once(" → ").map_or(line, |(line, _)| line).trim())
}

/// Returns the commands of which a sentence says that they ran.
pub(super) fn runs_said(claim: &str) -> impl Iterator<Item = &str> {
    let mut found: Vec<&str> = shell_line(claim).into_iter().collect();
    let word_at = |text: &'_ str| text.split_whitespace().next().map(str::to_lowercase);
    // In code: `x` between what says that it ran and what it ran.
    let pieces: Vec<&str> = claim.split('`').collect();
    for three in pieces.windows(3).step_by(2) {
        let [before, code, after] = *three else { continue };
        let last = before.split_whitespace().next_back().unwrap_or_default().to_lowercase();
        let mut behind = after
            .split_whitespace()
            .filter(|word| !matches!(*word, "was" | "were" | "has" | "been" | "wurde"));
        let is_run = RAN.contains(&last.as_str())
            || word_at(after).is_some_and(|word| matches!(word.as_str(), "was" | "were" | "has" | "wurde"))
                && behind.next().is_some_and(|word| WAS_RUN.contains(&word.trim_end_matches(['.', ','])));
        let code = code.trim().trim_start_matches("$ ");
        found.extend((is_run && is_command(code)).then_some(code));
    }
    let mut from = 0;
    let mut is_behind = false;
    for word in claim.split_whitespace() {
        let at = claim.get(from..).and_then(|rest| rest.find(word)).unwrap_or_default() + from;
        from = at + word.len();
        let bare = word.trim_end_matches(['.', ',', ';', ':']);
        if is_behind && is_command(bare) {
            // Its first words name what it does.
            let rest = claim.get(from..).unwrap_or_default();
            let next = rest.split_whitespace().next().unwrap_or_default();
            let next = next.trim_end_matches(['.', ',', ';', ':', ')']);
            let is_part = word == bare && !next.is_empty() && !next.contains('`') && !PROSE.contains(&next);
            let end = if is_part { rest.find(next).map(|start| from + start + next.len()) } else { None };
            found.extend(claim.get(at..end.unwrap_or(at + bare.len())));
        }
        is_behind = RAN.contains(&word.to_lowercase().as_str());
    }
    found.into_iter()
}

/// Returns a path without the number of a line behind it.
pub(super) fn without_line(word: &str) -> &str {
    let path = word.trim_end_matches(|char: char| char.is_ascii_digit() || char == ':');
    if path.contains('/') && word.get(path.len()..).is_some_and(|rest| rest.starts_with(':')) {
        path
    } else {
        word
    }
}

/// Returns the texts in the arguments of calls.
pub(super) fn argument_texts(parts: &[Part]) -> Vec<String> {
    let mut found = Vec::new();
    for part in parts {
        let Part::ToolCall { arguments, .. } = part else { continue };
        let mut values: Vec<Value> = serde_json::from_str(arguments).into_iter().collect();
        while let Some(value) = values.pop() {
            match value {
                Value::String(text) => found.push(text),
                Value::Array(within) => values.extend(within),
                Value::Object(within) => values.extend(within.into_iter().map(|(_, value)| value)),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    found
}
