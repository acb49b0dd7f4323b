//! Styles of text: few, named by what they mean, and all readable without colour.
//!
//! Whether they reach the terminal is the console's.

use anstyle::{AnsiColor, Color};

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
            Self::Error => color(AnsiColor::Red).bold(),
        }
    }

    /// Returns the text in this style.
    pub(crate) fn paint(self, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = self.ansi();
        format!("{style}{text}{style:#}")
    }
}

/// Keeps what a terminal shows as it is: control characters of foreign text become spaces, so that a title can
/// neither move the cursor nor break a table.
pub(crate) fn tame(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
