//! Packs: candidate pieces of a prompt, each with a full and a compact form, and what bounds them.
//!
//! Not how they are chosen.

use stemmata_model::{Chars, TokenCounter, Tokens};

use crate::select::Item;
use crate::strategy::{Priority, SectionKind};

/// A candidate piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pack {
    /// What names it in the trace. Two packs may have one name: packs are told apart by their place.
    pub id: String,
    /// The section that it belongs to: the `id` of a [`SectionBudget`]; without one the whole budget is its section's.
    pub section: String,
    /// How much it matters.
    pub priority: Priority,
    /// Its whole text.
    pub full: String,
    /// A shorter text that may stand for it; empty where there is none.
    pub compact: String,
    /// Where it stands in the prompt; its place in the list where packs are equal.
    pub order: usize,
    /// Whether it is cut last where even required packs have to be.
    pub preserve: bool,
    /// What its text is made of.
    pub items: Vec<Item>,
    /// Whether messages that its source selects were left out by a bound.
    pub is_cut: bool,
    /// Whether its source selects the message that began the turn, which closes the prompt instead.
    pub has_trigger: bool,
}

impl Pack {
    /// Makes a required pack that has one form.
    pub fn fixed(id: &str, full: String) -> Self {
        Self {
            id: id.to_owned(),
            section: id.to_owned(),
            priority: Priority::Required,
            full,
            compact: String::new(),
            order: 0,
            preserve: false,
            items: Vec::new(),
            is_cut: false,
            has_trigger: false,
        }
    }
}

/// What a section may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionBudget {
    /// Its name.
    pub id: String,
    /// What it is.
    pub kind: SectionKind,
    /// What it may take before unused budget is lent.
    pub cap: Tokens,
    /// What is kept free for it until it had its turn.
    pub floor: Tokens,
}

/// What counts as a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LengthUnit {
    /// A Unicode scalar value, as everywhere in Stemmata.
    Scalars,
    /// A UTF-16 code unit, as in the implementation of seed 000. For its vectors only.
    Utf16,
}

impl LengthUnit {
    /// Returns the length of a text.
    pub fn length(self, text: &str) -> Chars {
        match self {
            Self::Scalars => Chars::of(text),
            Self::Utf16 => Chars(u64::try_from(text.encode_utf16().count()).unwrap_or(u64::MAX)),
        }
    }

    /// Returns the longest beginning of a text that has at most so many characters and ends between two.
    pub(super) fn prefix(self, text: &str, chars: Chars) -> &str {
        let mut left = chars.0;
        let end = text.char_indices().find_map(|(at, letter)| {
            let width = match self {
                Self::Scalars => 1,
                Self::Utf16 => u64::try_from(letter.len_utf16()).unwrap_or(1),
            };
            match left.checked_sub(width) {
                Some(rest) => {
                    left = rest;
                    None
                }
                None => Some(at),
            }
        });
        text.get(..end.unwrap_or(text.len())).unwrap_or(text)
    }
}

/// What bounds a prompt.
#[derive(Clone, Copy)]
pub struct PackLimits<'a> {
    /// Tokens that it may have; none is no bound.
    pub max_tokens: Option<Tokens>,
    /// Characters that it may have, whatever a token is; none is no bound.
    pub chars_max: Option<Chars>,
    /// What a character is.
    pub unit: LengthUnit,
    /// Counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// What sections may take; the order means nothing.
    pub sections: &'a [SectionBudget],
}
