//! Made-up source files in the languages that agents meet most, and edits of them.
//! Not compilable programs: they only have to look and compress like code.

use crate::rng::Rng;

use super::expand;
use super::grammar::choices;

/// A programming language of made-up code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// TypeScript.
    TypeScript,
    /// Python.
    Python,
    /// Elixir.
    Elixir,
    /// A shell script.
    Shell,
    /// Markdown.
    Markdown,
    /// Configuration: TOML, YAML or JSON.
    Config,
}

impl Language {
    /// All languages.
    pub const ALL: [Self; 8] = [
        Self::Rust,
        Self::Go,
        Self::TypeScript,
        Self::Python,
        Self::Elixir,
        Self::Shell,
        Self::Markdown,
        Self::Config,
    ];

    /// Draws a language, the common ones more often.
    pub fn draw(rng: &mut Rng) -> Self {
        match rng.range(0, 19) {
            0..=4 => Self::TypeScript,
            5..=8 => Self::Go,
            9..=12 => Self::Rust,
            13..=14 => Self::Python,
            15 => Self::Elixir,
            16 => Self::Shell,
            17..=18 => Self::Markdown,
            _ => Self::Config,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Go => "go",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::Elixir => "elixir",
            Self::Shell => "shell",
            Self::Markdown => "markdown",
            Self::Config => "config",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Rust => "crates/‹noun#1|kebab›/src/‹noun#2|snake›.rs",
            Self::Go => "‹dir›/‹noun#1|snake›/‹noun#2|snake›.go",
            Self::TypeScript => "packages/‹noun#1|kebab›/src/‹noun#2|kebab›-‹noun#3|kebab›.ts",
            Self::Python => "‹project|snake›/‹noun#1|snake›/‹noun#2|snake›.py",
            Self::Elixir => "lib/‹project|snake›/‹noun#1|snake›.ex",
            Self::Shell => "scripts/‹verb›-‹noun|kebab›.sh",
            Self::Markdown => "docs/‹noun|kebab›-‹noun|kebab›.md",
            Self::Config => "config/‹noun|kebab›.toml",
        }
    }
}

/// A made-up file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Where it lies, relative to the project.
    pub path: String,
    /// Its text, ending in a newline.
    pub text: String,
    /// What it is written in.
    pub language: Language,
}

/// Makes a file of at least so many lines.
pub fn source_file(rng: &mut Rng, language: Language, lines: usize) -> SourceFile {
    let path = expand(rng, language.path());
    let mut text = expand(rng, choices(&format!("head_{}", language.name()))[0]);
    while text.lines().count() < lines {
        let template = rng.pick(choices(&format!("code_{}", language.name())));
        text.push('\n');
        text.push_str(&expand(rng, template));
    }
    SourceFile { path, text, language }
}

/// Makes an edit: a passage of two to seven lines that stands in the file, and what replaces it.
pub fn edit(rng: &mut Rng, file: &SourceFile) -> (String, String) {
    let lines: Vec<&str> = file.text.lines().collect();
    let start = rng.index(lines.len().saturating_sub(7));
    let length = 2 + rng.index(6);
    let old = lines.iter().skip(start).take(length).copied().collect::<Vec<_>>();
    let template = rng.pick(choices(&format!("code_{}", file.language.name())));
    let added = expand(rng, template);
    let kept = old.len() / 2;
    let mut new: Vec<&str> = old.iter().take(kept).copied().collect();
    new.extend(added.lines().take(1 + rng.index(8)));
    new.extend(old.iter().skip(kept + rng.index(2)));
    (old.join("\n"), new.join("\n"))
}
