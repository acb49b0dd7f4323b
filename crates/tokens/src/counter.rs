//! Exact counts: an encoding, and the counter of a model that has it or comes close to it.
//! Not which model has which encoding: `models` says that.

use std::sync::OnceLock;

use stemmata_model::{BaseCounter, CounterSpec, Estimate, Margin, TokenCounter, Tokens};

use crate::merge::Merger;
use crate::split::{Pattern, Pieces};
use crate::vocabulary::Vocabulary;

/// The most that a vocabulary may unpack to.
const VOCABULARY_BYTES_MAX: usize = 4 << 20;

/// A byte-pair encoding of `OpenAI`'s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `o200k_base`: GPT-4o and later.
    O200k,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 2] = [Self::O200k, Self::Cl100k];

    /// Counts the tokens of a text. Special tokens such as `<|endoftext|>` count as the text they are: a conversation
    /// that mentions them is no end of a text.
    ///
    /// The first call unpacks the vocabulary, which takes milliseconds and stays for the life of the process.
    pub fn count(self, text: &str) -> u64 {
        self.measure(text).tokens
    }

    /// Returns whether a count has loaded the vocabulary.
    pub fn is_loaded(self) -> bool {
        self.cell().get().is_some()
    }

    /// Counts, and says how much work that was.
    pub(crate) fn measure(self, text: &str) -> Measured {
        let mut pieces = Pieces::new(text, self.pattern());
        let mut merger = Merger::new(self.vocabulary());
        let mut tokens = 0;
        for piece in pieces.by_ref() {
            tokens += merger.count(piece.as_bytes()) as u64;
        }
        Measured { tokens, steps: pieces.steps() + merger.steps() }
    }

    pub(crate) const fn pattern(self) -> Pattern {
        match self {
            Self::O200k => Pattern::O200k,
            Self::Cl100k => Pattern::Cl100k,
        }
    }

    pub(crate) fn vocabulary(self) -> &'static Vocabulary {
        self.cell().get_or_init(|| {
            Vocabulary::unpack(self.packed(), VOCABULARY_BYTES_MAX)
                .expect("a test pins the bytes of the vocabulary")
        })
    }

    pub(crate) const fn packed(self) -> &'static [u8] {
        match self {
            Self::O200k => include_bytes!("../data/o200k.zst"),
            Self::Cl100k => include_bytes!("../data/cl100k.zst"),
        }
    }

    fn cell(self) -> &'static OnceLock<Vocabulary> {
        static O200K: OnceLock<Vocabulary> = OnceLock::new();
        static CL100K: OnceLock<Vocabulary> = OnceLock::new();
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }
}

/// A count and its cost.
pub(crate) struct Measured {
    pub tokens: u64,
    #[cfg_attr(not(test), expect(dead_code, reason = "the law about hostile texts reads it"))]
    pub steps: u64,
}

/// Counts tokens of a text by a base, without a factor.
pub fn base_count(base: BaseCounter, text: &str) -> u64 {
    match base {
        BaseCounter::Estimate => Estimate.count(text).0,
        BaseCounter::Utf16 => (text.encode_utf16().count() as u64).div_ceil(4),
        BaseCounter::O200k => Encoding::O200k.count(text),
        BaseCounter::Cl100k => Encoding::Cl100k.count(text),
    }
}

/// The counter that a spec names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Which it is.
    pub spec: CounterSpec,
}

impl TokenCounter for Counter {
    fn count(&self, text: &str) -> Tokens {
        self.spec.scale(base_count(self.spec.base, text))
    }

    fn margin(&self) -> Margin {
        self.spec.margin()
    }

    fn name(&self) -> String {
        self.spec.to_string()
    }
}

#[cfg(test)]
#[path = "counter_tests.rs"]
mod tests;
