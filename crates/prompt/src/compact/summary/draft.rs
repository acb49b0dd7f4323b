//! A summary that is being written: its sections, what is left of its size, and why each line is there.

use stemmata_model::quote::{begins_section, begins_something, is_line_break, quoted, visible};

use super::counted::hash;
use super::table::Table;
use crate::compact::names::each_name;

/// A part of a summary, in the order of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Section {
    /// Entries that somebody pinned, verbatim.
    Pins,
    /// What users said, verbatim; long texts in pieces.
    Prompts,
    /// Tasks that are not done.
    Tasks,
    /// Files that were changed.
    Files,
    /// Commands with their last status.
    Commands,
    /// Lines that report errors.
    Errors,
    /// Sentences of the assistant.
    Notes,
    /// Names by the file that they belong to, and lines that show how.
    Names,
}

impl Section {
    /// Every section, in the order of the text.
    pub const ALL: [Self; 8] = [
        Self::Pins,
        Self::Prompts,
        Self::Tasks,
        Self::Files,
        Self::Commands,
        Self::Errors,
        Self::Notes,
        Self::Names,
    ];

    /// Returns the name used in JSON output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Says why a line of the section is kept.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Pins => "it is pinned",
            Self::Prompts => "a user said it",
            Self::Tasks => "the task is not done",
            Self::Files => "the file was changed",
            Self::Commands => "the command was run",
            Self::Errors => "the line reports an error",
            Self::Notes => "the sentence has a decision, a result or important names",
            Self::Names => "the names are likely to be needed again and are no longer in the window",
        }
    }

    /// Whether a line is the title of a section, without its marks.
    pub(in crate::compact) fn is_title(line: &str) -> bool {
        let bare = |line: &str| line.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase();
        let line = bare(line);
        Self::ALL.iter().any(|section| bare(section.title()) == line)
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Pins => "## Pinned, verbatim",
            Self::Prompts => "## User, verbatim",
            Self::Tasks => "## Open tasks",
            Self::Files => "## Files",
            Self::Commands => "## Commands",
            Self::Errors => "## Errors",
            Self::Notes => "## Notes",
            Self::Names => "## Names",
        }
    }
}

/// A line of a summary and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Where it stands; [`Section::reason`] says why.
    pub section: Section,
    /// The number of the entry that it was taken from, the last one where there are several.
    pub entry: u64,
}

pub(super) struct Draft<'n> {
    pub left: usize,
    numbers: &'n [u64],
    sections: [(Vec<String>, usize, u32); 8],
    kept: Vec<Kept>,
}

impl<'n> Draft<'n> {
    pub(super) fn new(chars: usize, numbers: &'n [u64]) -> Self {
        Self { left: chars, numbers, sections: Default::default(), kept: Vec::new() }
    }

    /// Returns the number of an entry.
    pub(super) fn number(&self, entry: usize) -> u64 {
        number(self.numbers, entry)
    }

    /// Returns the characters that a section may still take, of so many in all.
    pub(super) fn room(&self, section: Section, chars: usize) -> usize {
        chars.saturating_sub(self.sections[section as usize].1).min(self.left)
    }

    /// Adds a line where it fits into the section and the summary, and marks its names as shown; else counts it as dropped.
    pub(super) fn add(&mut self, table: &mut Table<'_>, line: (Section, usize, &str), chars: usize) -> bool {
        let (section, entry, text) = line;
        let text = own(section, text);
        if !self.takes(section, &text, chars) {
            return false;
        }
        text.lines().for_each(|line| show(table, line));
        self.keep(section, entry, text);
        true
    }

    /// Adds a line whose names are marked already.
    pub(super) fn push(&mut self, (section, entry, text): (Section, usize, String), chars: usize) {
        let text = own(section, &text);
        if self.takes(section, &text, chars) {
            self.keep(section, entry, text);
        }
    }

    /// Takes the characters of a line where it fits; else counts it as dropped.
    fn takes(&mut self, section: Section, text: &str, chars: usize) -> bool {
        let title = if self.sections[section as usize].0.is_empty() { section.title().len() + 1 } else { 0 };
        let cost = text.chars().count() + 1 + title;
        if cost > self.room(section, chars) {
            self.drop_one(section);
            return false;
        }
        self.left -= cost;
        self.sections[section as usize].1 += cost;
        true
    }

    fn keep(&mut self, section: Section, entry: usize, text: String) {
        let number = self.number(entry);
        self.sections[section as usize].0.push(text);
        self.kept.push(Kept { section, entry: number });
    }

    pub(super) fn drop_one(&mut self, section: Section) {
        self.drop_many(section, 1);
    }

    pub(super) fn drop_many(&mut self, section: Section, count: usize) {
        let dropped = &mut self.sections[section as usize].2;
        *dropped = dropped.saturating_add(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Turns round the lines of a section behind its first ones.
    pub(super) fn reverse_behind(&mut self, section: Section, first: usize) {
        if let Some(later) = self.sections[section as usize].0.get_mut(first..) {
            later.reverse();
        }
    }

    /// Returns the text below its heading, where each line comes from, and how many lines each section left out.
    pub(super) fn finish(self, heading: &str) -> (String, Vec<Kept>, Vec<(Section, u32)>) {
        let mut text = heading.to_owned();
        for (section, (lines, ..)) in Section::ALL.iter().zip(&self.sections) {
            if !lines.is_empty() {
                text.push_str(section.title());
                text.push('\n');
            }
            for line in lines {
                text.push_str(line);
                text.push('\n');
            }
        }
        let dropped =
            Section::ALL.iter().zip(&self.sections).map(|(section, (.., count))| (*section, *count));
        (text, self.kept, dropped.filter(|(_, count)| *count > 0).collect())
    }
}

/// Returns the number of an entry: its own, else its place.
pub(super) fn number(numbers: &[u64], entry: usize) -> u64 {
    numbers.get(entry).copied().unwrap_or((entry as u64).saturating_add(1))
}

/// Returns a text as a line of a section; what was said verbatim keeps its lines, which are quoted already. A file's name and a line
/// of a tool's output begin their lines: one that looks like a heading, a tag or a record of ours is quoted.
fn own(section: Section, text: &str) -> String {
    let shown = |line: &str| visible(&line.replace('\t', " "));
    if matches!(section, Section::Pins | Section::Prompts) {
        return text.split('\n').map(shown).collect::<Vec<_>>().join("\n");
    }
    let line = shown(&text.replace(is_line_break, " "));
    let has_mark = !matches!(section, Section::Files | Section::Names);
    let is_record = line.trim_start().starts_with(['$', '!']);
    let is_forged = if has_mark { begins_section(&line) } else { begins_something(&line) || is_record };
    if is_forged { format!("> {}", line.trim_start()) } else { line }
}

/// Returns a text of somebody, to be kept word by word: as it is where it has one line, else quoted line by line.
pub(super) fn verbatim(text: &str) -> String {
    let quote = quoted(text);
    let quote = quote.trim_end();
    let only = quote.strip_prefix("> ").filter(|line| !line.contains('\n'));
    only.unwrap_or(quote).to_owned()
}

/// Returns what [`verbatim`] returned, whole or cut, with the number of its entry.
pub(super) fn numbered(number: u64, verbatim: &str) -> String {
    let between = if verbatim.starts_with("> ") { '\n' } else { ' ' };
    format!("@{number}:{between}{verbatim}")
}

/// Marks the names of a line as shown.
fn show(table: &mut Table<'_>, line: &str) {
    each_name(line, "", &mut |name| {
        if let Some(id) = table.find(hash(name.text.bytes())) {
            table.show(id);
        }
    });
}
