//! The limits of one output, and how much of something there is.

use std::str::FromStr;

/// Which part of an output that is too large stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Keep {
    /// The beginning and the end.
    #[default]
    HeadTail,
    /// The beginning.
    Head,
}

impl Keep {
    /// Returns the name used in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HeadTail => "head_tail",
            Self::Head => "head",
        }
    }
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::HeadTail, Self::Head].into_iter().find(|keep| keep.as_str() == text).ok_or_else(|| {
            format!("`{}` is neither `head_tail` nor `head`", crate::reduce::cut::cut(text, 64))
        })
    }
}

/// Limits of one output. A limit of 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// Lines.
    pub lines_max: usize,
    /// Bytes.
    pub bytes_max: usize,
    /// Characters.
    pub chars_max: usize,
    /// Characters above which the whole output is stored apart.
    pub spill_chars: usize,
    /// Which part stays.
    pub keep: Keep,
}

impl Default for OutputLimits {
    fn default() -> Self {
        let chars = 200 * 1_024;
        Self {
            lines_max: 2_000,
            bytes_max: 50 * 1_024,
            chars_max: chars,
            spill_chars: chars,
            keep: Keep::HeadTail,
        }
    }
}

/// How much of a text there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Lines; what follows the last newline is one, also where it is empty.
    pub lines: usize,
    /// Bytes.
    pub bytes: usize,
    /// Characters.
    pub chars: usize,
}

impl Extent {
    /// Measures a text. An empty text has no line.
    pub fn of(text: &str) -> Self {
        let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
        let lines = if text.is_empty() { 0 } else { newlines + 1 };
        Self { lines, bytes: text.len(), chars: text.chars().count() }
    }

    /// Says whether it is within limits.
    pub fn fits(self, limits: &OutputLimits) -> bool {
        let room = Room::of(limits);
        self.lines <= room.lines && self.bytes <= room.bytes && self.chars <= room.chars
    }
}

/// What a text may take. Without a limit it is as much as there can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) lines: usize,
    pub(super) bytes: usize,
    pub(super) chars: usize,
}

impl Room {
    pub(super) const fn of(limits: &OutputLimits) -> Self {
        const fn or_none(limit: usize) -> usize {
            if limit == 0 { usize::MAX } else { limit }
        }
        Self {
            lines: or_none(limits.lines_max),
            bytes: or_none(limits.bytes_max),
            chars: or_none(limits.chars_max),
        }
    }

    /// Returns what is left beside a text on lines of its own. `None` where that text takes more than half: it would be more
    /// than what it is about.
    pub(super) fn beside(self, text: &str) -> Option<Self> {
        let Extent { lines, bytes, chars } = Extent::of(text);
        // The newline between the two.
        let (bytes, chars) = (bytes + 1, chars + 1);
        let fits = bytes <= self.bytes / 2 && chars <= self.chars / 2 && lines <= self.lines / 2;
        let left = |room: usize, taken: usize| if room == usize::MAX { room } else { room - taken };
        fits.then(|| Self {
            lines: left(self.lines, lines),
            bytes: left(self.bytes, bytes),
            chars: left(self.chars, chars),
        })
    }

    /// Returns the smaller of two rooms.
    pub(super) fn at_most(self, other: Self) -> Self {
        Self {
            lines: self.lines.min(other.lines),
            bytes: self.bytes.min(other.bytes),
            chars: self.chars.min(other.chars),
        }
    }
}
