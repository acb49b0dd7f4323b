//! The Unicode classes that the encodings' patterns name, one byte a scalar value.
//! Not a Unicode library: the ranges are those of `regex-syntax`, read once.

use std::collections::HashMap;
use std::sync::OnceLock;

/// A letter that may come before the lower-case part of a word: `Lu`, `Lt`, `Lm`, `Lo`, `M`.
pub(crate) const HEAD: u8 = 1;
/// A letter that may belong to the lower-case part of a word: `Ll`, `Lm`, `Lo`, `M`.
pub(crate) const TAIL: u8 = 2;
/// Any letter: `L`. Marks are no letters, though they may be part of a word.
pub(crate) const LETTER: u8 = 4;
/// Any number: `N`.
pub(crate) const NUMBER: u8 = 8;
/// White space.
pub(crate) const SPACE: u8 = 16;
/// Carriage return or line feed; both are white space, too.
pub(crate) const NEWLINE: u8 = 32;
/// A character. The end of a text has no bit, so every test for a class fails there.
pub(crate) const SOME: u8 = 64;

const SCALARS: usize = 0x11_0000;
const BLOCK: usize = 256;

/// The classes as the patterns spell them, with the bits that they set.
const PATTERNS: &[(&str, u8)] = &[
    (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", HEAD),
    (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", TAIL),
    (r"\p{L}", LETTER),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\r\n]", NEWLINE),
];

/// The bits of every scalar value, in two stages: most blocks are alike.
pub(crate) struct Classes {
    blocks: Vec<u16>,
    bits: Vec<[u8; BLOCK]>,
}

impl Classes {
    /// Returns the one table; the first call builds it.
    pub(crate) fn get() -> &'static Self {
        static CLASSES: OnceLock<Classes> = OnceLock::new();
        CLASSES.get_or_init(Self::build)
    }

    /// Returns the bits of the character that begins at `at` and its length in bytes, or zeros at the end.
    #[inline]
    pub(crate) fn at(&self, text: &str, at: usize) -> (u8, usize) {
        match text.as_bytes().get(at) {
            None => (0, 0),
            Some(byte) if byte.is_ascii() => (self.bits[0][usize::from(*byte)], 1),
            Some(_) => text
                .get(at..)
                .and_then(|rest| rest.chars().next())
                .map_or((0, 0), |character| (self.of(character), character.len_utf8())),
        }
    }

    fn of(&self, character: char) -> u8 {
        let scalar = character as usize;
        self.bits[usize::from(self.blocks[scalar / BLOCK])][scalar % BLOCK]
    }

    fn build() -> Self {
        let mut flat = vec![SOME; SCALARS];
        for (pattern, bit) in PATTERNS {
            let parsed = regex_syntax::parse(pattern).expect("the patterns are constants");
            let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) = parsed.kind()
            else {
                unreachable!("every pattern is one class")
            };
            for range in class.ranges() {
                flat[range.start() as usize..=range.end() as usize].iter_mut().for_each(|bits| *bits |= bit);
            }
        }
        let mut known: HashMap<[u8; BLOCK], u16> = HashMap::new();
        let mut bits = Vec::new();
        let blocks = flat.as_chunks::<BLOCK>().0.iter().map(|block| {
            *known.entry(*block).or_insert_with(|| {
                bits.push(*block);
                u16::try_from(bits.len() - 1).expect("there are 4,352 blocks")
            })
        });
        let blocks = blocks.collect();
        Self { blocks, bits }
    }
}
