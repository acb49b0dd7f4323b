//! Places that name a client: the product files outside a client's own folder that know one by name.
//! Not about what they know of it: a name in code or in a string is all that is looked for.

use std::collections::BTreeSet;

use super::lines::{Counted, product};
use super::table::{render, row};
use crate::tidy::source::Source;

/// The folder in which each client has its files.
const RUNTIMES: &str = "crates/runtimes/src/";

/// A client as its files are told from all others.
struct Client {
    name: &'static str,
    /// Its folder below `RUNTIMES`.
    folder: &'static str,
    /// What begins its files in `clients` below `RUNTIMES`.
    stem: &'static str,
    /// Parts of an identifier, in a row, that are its name.
    names: &'static [&'static [&'static str]],
}

const CLIENTS: [Client; 5] = [
    Client {
        name: "claude-code",
        folder: "claude_code",
        stem: "claude",
        names: &[&["claude"], &["claudecode"]],
    },
    Client { name: "codex", folder: "codex", stem: "codex", names: &[&["codex"]] },
    Client { name: "pi", folder: "pi", stem: "pi", names: &[&["pi"]] },
    Client { name: "gemini", folder: "gemini", stem: "gemini", names: &[&["gemini"]] },
    Client {
        name: "opencode",
        folder: "opencode",
        stem: "opencode",
        names: &[&["opencode"], &["open", "code"]],
    },
];

impl Client {
    fn owns(&self, path: &str) -> bool {
        let Some(inside) = path.strip_prefix(RUNTIMES) else { return false };
        let behind = |stem: &str, path: &str| path.strip_prefix(stem).and_then(|rest| rest.chars().next());
        let in_folder = matches!(behind(self.folder, inside), Some('/' | '.'));
        let clients = inside.strip_prefix("clients/");
        let in_clients = clients.and_then(|inside| behind(self.stem, inside));
        in_folder || in_clients.is_some_and(|next| !next.is_ascii_alphanumeric())
    }

    fn is_in(&self, parts: &[String]) -> bool {
        self.names.iter().any(|name| parts.windows(name.len()).any(|some| some == *name))
    }

    /// Returns the lines of a file that name it, counted from 1.
    fn lines(&self, words: &[Word]) -> BTreeSet<usize> {
        words.iter().filter(|word| self.is_in(&word.parts)).map(|word| word.line).collect()
    }
}

/// A word of code or of a string, in parts: `ClaudeCode` and `claude_code` are `claude`, `code`.
struct Word {
    line: usize,
    parts: Vec<String>,
}

/// A file outside a client's folder, and the lines that name the client.
struct Place<'a> {
    path: &'a str,
    lines: BTreeSet<usize>,
}

/// Returns the number of files for each client by crate, and of files that name any.
pub(super) fn table(files: &[Counted<'_>]) -> String {
    let places = places(files);
    let crates: BTreeSet<&str> = product(files).map(Counted::package).collect();
    let mut heading = vec!["crate"];
    heading.extend(CLIENTS.iter().map(|client| client.name));
    heading.push("any");
    let numbers = |folder: &str| {
        let within = |place: &&Place<'_>| place.path.starts_with(folder);
        let mut numbers: Vec<usize> = places.iter().map(|of| of.iter().filter(within).count()).collect();
        let any: BTreeSet<&str> = places.iter().flatten().filter(within).map(|place| place.path).collect();
        numbers.push(any.len());
        numbers
    };
    let rows = crates.iter().map(|name| (*name, numbers(&format!("{name}/"))));
    let mut rows: Vec<Vec<String>> = rows
        .filter(|(_, numbers)| numbers.iter().any(|number| *number > 0))
        .map(|(name, numbers)| row(name, &numbers))
        .collect();
    rows.push(row("sum", &numbers("")));
    render(&heading, &rows)
}

/// Returns the files of each client with the number of lines that name it.
pub(super) fn list(files: &[Counted<'_>]) -> String {
    let parts = CLIENTS.iter().zip(places(files)).map(|(client, places)| {
        let lines = places.iter().map(|place| format!("  {}  {}\n", place.path, place.lines.len()));
        format!("{}: {} files\n{}", client.name, places.len(), lines.collect::<String>())
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// Returns the places of each client, in the order of `CLIENTS`.
fn places<'a>(files: &[Counted<'a>]) -> Vec<Vec<Place<'a>>> {
    let mut places: Vec<Vec<Place<'a>>> = CLIENTS.iter().map(|_| Vec::new()).collect();
    for file in product(files) {
        let words = words(&file.source);
        for (client, places) in CLIENTS.iter().zip(&mut places) {
            let lines = client.lines(&words);
            if !lines.is_empty() && !client.owns(file.source.path) {
                places.push(Place { path: file.source.path, lines });
            }
        }
    }
    places
}

/// Returns the words of what ships: code and strings, without comments and tests.
fn words(source: &Source<'_>) -> Vec<Word> {
    let code = source.production.lines().enumerate().flat_map(|(at, line)| split(at + 1, line));
    let literals = source.literals().into_iter().filter(|(at, _)| !source.in_tests(*at));
    let in_literals = literals.flat_map(|(at, text)| {
        let first = source.line(at);
        // The letter of an escape is no part of the word behind it.
        let text = ["\\n", "\\r", "\\t"].iter().fold(text, |text, escape| text.replace(escape, "  "));
        let lines = text.lines().enumerate().map(|(at, line)| split(first + at, line));
        lines.flatten().collect::<Vec<Word>>()
    });
    code.chain(in_literals).collect()
}

/// Returns the words of one line.
fn split(line: usize, text: &str) -> Vec<Word> {
    let words = text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    words.filter(|word| !word.is_empty()).map(|word| Word { line, parts: parts(word) }).collect()
}

/// Returns the parts of an identifier in lower case. A run of capitals is one part, but for the last of them where
/// small letters go on: `JSONLine` is `json`, `line`.
fn parts(word: &str) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    let mut parts = vec![String::new()];
    for (at, character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let is_small = |character: Option<&char>| character.is_some_and(|character| character.is_lowercase());
        let follows_small = before.is_some_and(|before| before.is_lowercase() || before.is_numeric());
        let follows_capital = before.is_some_and(|before| before.is_uppercase());
        let hump = character.is_uppercase()
            && (follows_small || (follows_capital && is_small(characters.get(at + 1))));
        if hump || *character == '_' {
            parts.push(String::new());
        }
        if *character != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(character.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clients that a made-up file names.
    fn named(text: &'static str) -> Vec<&'static str> {
        let words = words(&Source::new("crates/engine/src/made_up.rs", text));
        let found = CLIENTS.iter().filter(|client| !client.lines(&words).is_empty());
        found.map(|client| client.name).collect()
    }

    #[test]
    fn a_client_is_named_by_words_of_code_and_strings() {
        let rows: [(&str, &[&str]); 11] = [
            ("use crate::claude_code::ClaudeCode;", &["claude-code"]),
            ("const A: &str = \"~/.claude\";", &["claude-code"]),
            (
                "const CODEX_HOME: u8 = 1; struct OpenCode; fn gemini_cli() {}",
                &["codex", "gemini", "opencode"],
            ),
            ("let a = pi::RUNTIME;", &["pi"]),
            ("let a = \"stemma install\\npi\";", &["pi"]),
            ("let a = r\"~/.pi/agent\"; // of it", &["pi"]),
            ("let pieces = API + copied(PiB) + \"pilot\" + \"spin\";", &["pi"]),
            ("let pieces = API + copied(pib) + \"pilot\" + \"spin\";", &[]),
            ("// claude\n/// codex\nfn f() {} /* pi */", &[]),
            ("#[cfg(test)]\nmod tests { const A: &str = \"gemini\"; fn codex() {} }", &[]),
            ("let a = \"codecs\" + openly_coded;", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(named(text), expected, "in {text:?}");
        }
    }

    #[test]
    fn a_clients_own_files_are_its_folder_and_its_files_among_the_clients() {
        let rows = [
            ("crates/runtimes/src/pi/read.rs", true),
            ("crates/runtimes/src/pi.rs", true),
            ("crates/runtimes/src/clients/pi.rs", true),
            ("crates/runtimes/src/clients/pi/hooks.rs", true),
            ("crates/runtimes/src/clients/pi_hooks.rs", true),
            ("crates/runtimes/src/clients/pieces.rs", false),
            ("crates/runtimes/src/pieces.rs", false),
            ("crates/engine/src/pi/read.rs", false),
        ];
        for (path, expected) in rows {
            let pi = CLIENTS.iter().find(|client| client.name == "pi").unwrap();
            assert_eq!(pi.owns(path), expected, "of {path}");
        }
    }

    #[test]
    fn a_file_is_listed_with_the_lines_that_name_the_client() {
        let made_up = [
            ("crates/engine/src/a.rs", "use b::codex;\nlet a = \"codex \\\n codex\";\nlet b = Codex;\n"),
            ("crates/runtimes/src/codex/read.rs", "let a = \"codex\";\n"),
            ("crates/engine/src/a_tests.rs", "let a = \"codex\";\n"),
        ];
        let tree = crate::tidy::tree::Tree::made_up(&made_up);
        let files = super::super::lines::count(&tree);
        assert!(list(&files).contains("codex: 1 files\n  crates/engine/src/a.rs  3\n\npi: 0 files\n"));
        assert!(table(&files).ends_with("sum                      0      1   0       0         0    1\n"));
    }
}
