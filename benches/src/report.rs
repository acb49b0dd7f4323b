//! The table that people read, line by line as it is measured, and the same as JSON.
//! Not a judge of what is good: each line brings its own target.

mod figure;
mod line;

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

pub(crate) use figure::Figure;
pub(crate) use line::{Line, Target};

/// Columns that the table takes at most: two of them fit beside each other on a wide screen, one on any.
const COLUMNS_MAX: usize = 110;

/// One row of the table: what was done, and its lines.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// What the command line calls it.
    pub name: &'static str,
    /// What the row is about, in words.
    pub title: String,
    /// How it was measured, and on what.
    pub notes: Vec<String>,
    /// The figures.
    pub lines: Vec<Line>,
}

/// A run being printed.
#[derive(Debug)]
pub(crate) struct Report {
    command: String,
    about: Vec<String>,
    sections: Vec<Section>,
}

impl Report {
    /// Prints the first lines: the command, the machine, the data.
    pub(crate) fn begin(command: &str, about: &[String]) -> Self {
        say(&format!("$ {command}"));
        for line in about {
            say(&wrapped(line, 2));
        }
        Self { command: command.to_owned(), about: about.to_vec(), sections: Vec::new() }
    }

    /// Prints a row and keeps it.
    pub(crate) fn section(&mut self, section: Section) {
        say("");
        say(&format!("{} — {}", section.name, section.title));
        for note in &section.notes {
            say(&wrapped(note, 2));
        }
        say(&line::heading());
        for line in &section.lines {
            say(&line.to_string());
        }
        self.sections.push(section);
    }

    /// Prints the sum, and writes the figures for machines where that was asked for.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn end(self, json: Option<&Path>) -> anyhow::Result<()> {
        let judged: Vec<&Line> = self
            .sections
            .iter()
            .flat_map(|section| &section.lines)
            .filter(|line| line.met().is_some())
            .collect();
        let met = judged.iter().filter(|line| line.met() == Some(true)).count();
        say("");
        say(&format!("{met} of {} targets met; a ratio is ours ÷ the peer's of the same run", judged.len()));
        let Some(path) = json else { return Ok(()) };
        let file = std::fs::File::create(path).with_context(|| format!("creating {}", path.display()))?;
        serde_json::to_writer_pretty(file, &self.to_json())
            .with_context(|| format!("writing {}", path.display()))
    }

    fn to_json(&self) -> Value {
        let section = |section: &Section| {
            json!({
                "row": section.name,
                "title": section.title,
                "notes": section.notes,
                "lines": section.lines.iter().map(Line::to_json).collect::<Vec<_>>(),
            })
        };
        json!({
            "command": self.command,
            "about": self.about,
            "rows": self.sections.iter().map(section).collect::<Vec<_>>(),
        })
    }
}

/// Prints a line on stdout.
pub(crate) fn say(line: &str) {
    // Whoever closes stdout wants no more lines; the file for machines is written all the same.
    drop(writeln!(std::io::stdout().lock(), "{line}"));
}

/// Prints a line on stderr.
pub(crate) fn complain(line: &str) {
    // Nothing is left to complain to when stderr is closed; the exit code tells.
    drop(writeln!(std::io::stderr().lock(), "{line}"));
}

/// Breaks a text between words so that it fits the table, indented.
fn wrapped(text: &str, indent: usize) -> String {
    let margin = " ".repeat(indent);
    let mut lines = vec![margin.clone()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > indent && last + 1 + word.chars().count() > COLUMNS_MAX {
            lines.push(margin.clone());
        }
        if let Some(line) = lines.last_mut() {
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_broken_between_words() {
        let text = "word ".repeat(60);
        let lines = wrapped(&text, 2);
        assert!(lines.lines().all(|line| line.chars().count() <= COLUMNS_MAX && line.starts_with("  word")));
        assert_eq!(lines.split_whitespace().count(), 60);
    }

    #[test]
    fn every_line_fits() {
        assert!(line::heading().chars().count() <= COLUMNS_MAX);
    }
}
