//! Styles of text: few, named by what they mean, and all readable without colour.
//!
//! Whether they reach the terminal is the console's.

use anstyle::{AnsiColor, Color};

use crate::output::screen;
pub(crate) use crate::output::screen::tame;

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As it is.
    Plain,
    /// An id that can be copied.
    Id,
    /// Something that helps reading and may be overlooked.
    Faint,
    /// A heading, or the one thing to see.
    Strong,
    /// What was searched for.
    Hit,
    /// A compaction.
    Compaction,
    /// A branch or a tag.
    Branch,
    /// A tip whose turn is open.
    Open,
    /// A subagent.
    Subagent,
    /// All is well.
    Good,
    /// The word `note`.
    Note,
    /// The word `hint`.
    Hint,
    /// The word `warning`.
    Warning,
    /// The word `error`.
    Error,
}

impl Style {
    fn ansi(self) -> anstyle::Style {
        let plain = anstyle::Style::new();
        let color = |color: AnsiColor| plain.fg_color(Some(Color::Ansi(color)));
        match self {
            Self::Plain => plain,
            Self::Id => color(AnsiColor::Yellow),
            Self::Faint => plain.dimmed(),
            Self::Strong => plain.bold(),
            Self::Compaction => color(AnsiColor::Magenta),
            Self::Branch => color(AnsiColor::Cyan),
            Self::Open => color(AnsiColor::Blue),
            Self::Subagent | Self::Good => color(AnsiColor::Green),
            Self::Note | Self::Hint => color(AnsiColor::Cyan).bold(),
            Self::Warning => color(AnsiColor::Yellow).bold(),
            Self::Error | Self::Hit => color(AnsiColor::Red).bold(),
        }
    }

    /// Every style, with the character that marks it.
    const CODES: [(Self, char); 14] = [
        (Self::Plain, '0'),
        (Self::Id, 'i'),
        (Self::Faint, 'f'),
        (Self::Strong, 's'),
        (Self::Hit, 'm'),
        (Self::Compaction, 'c'),
        (Self::Branch, 'b'),
        (Self::Open, 'o'),
        (Self::Subagent, 'a'),
        (Self::Good, 'g'),
        (Self::Note, 'n'),
        (Self::Hint, 'h'),
        (Self::Warning, 'w'),
        (Self::Error, 'e'),
    ];

    /// Returns the character that marks this style.
    pub(crate) fn code(self) -> char {
        Self::CODES.iter().find(|(style, _)| *style == self).map_or('0', |(_, code)| *code)
    }

    /// Returns the style that a character marks.
    pub(crate) fn of_code(code: char) -> Option<Self> {
        Self::CODES.iter().find(|(_, known)| *known == code).map(|(style, _)| *style)
    }

    /// Returns what begins this style on a terminal; the plain one ends any.
    pub(crate) fn sequence(self) -> String {
        if self == Self::Plain {
            anstyle::Reset.render().to_string()
        } else {
            self.ansi().render().to_string()
        }
    }

    /// Returns the text in this style, for a console.
    pub(crate) fn paint(self, text: &str) -> String {
        if self == Self::Plain || text.is_empty() { text.to_owned() } else { screen::mark(self, text) }
    }
}
