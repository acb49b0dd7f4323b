//! What is known of models, as data: how they count. Their windows are in `windows`.
//! Not a price list, and nothing is guessed: every figure names its source, and what has none is left out.

use stemmata_model::{BaseCounter, CounterSpec, FactorFrom, Maker};

/// The models whose names begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelRow {
    /// How the names begin, in lower case.
    pub pattern: &'static str,
    /// Who made them.
    pub maker: Maker,
    /// What is counted.
    pub base: BaseCounter,
    /// Parts per thousand of the base's count.
    pub factor_permille: u32,
    /// Where the base and the factor come from.
    pub source: &'static str,
}

impl ModelRow {
    /// Returns the counter of these models before anything was learned.
    pub const fn counter(&self) -> CounterSpec {
        let from = if self.is_exact() { FactorFrom::Exact } else { FactorFrom::Shipped };
        CounterSpec { base: self.base, factor_permille: self.factor_permille, from }
    }

    /// Returns whether the maker published the encoding. Nothing is learned for such models.
    pub const fn is_exact(&self) -> bool {
        matches!(self.maker, Maker::OpenAi)
    }
}

/// The encodings of models by `OpenAI`'s own table.
const TIKTOKEN: &str = "openai/tiktoken 0.14.0, model.py, as in tiktoken-rs 0.12.1";

/// How many o200k tokens a Claude token is.
const CLAUDE: &str = "sammcj/ingest, pull request 65 (2026-08)";

/// The same for models that came after those of the source.
const CLAUDE_LATER: &str = "sammcj/ingest, pull request 65 (2026-08): «Opus 4.7 and later»";

/// Gemini's vocabulary is not in any source that we have.
const GEMINI: &str = "no source: counted as o200k until a factor is learned";

/// The factor of Claude models before Opus 4.7.
const CLAUDE_PERMILLE: u32 = 1_180;

/// The factor of Opus 4.7 and later.
const CLAUDE_LATER_PERMILLE: u32 = 1_530;

/// Every row. The longest pattern that fits wins.
pub const MODELS: &[ModelRow] = &[
    o200k("gpt-5"),
    o200k("codex-mini"),
    o200k("gpt-oss"),
    o200k("o1"),
    o200k("o3"),
    o200k("o4-mini"),
    o200k("gpt-4.1"),
    o200k("gpt-4.5"),
    o200k("gpt-4o"),
    o200k("chatgpt-4o"),
    cl100k("gpt-4"),
    cl100k("gpt-3.5"),
    cl100k("gpt-35"),
    claude("claude", CLAUDE_PERMILLE, CLAUDE),
    claude("claude-opus-4-7", CLAUDE_LATER_PERMILLE, CLAUDE),
    claude("claude-opus-4-8", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-opus-4-9", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-opus-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-sonnet-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-haiku-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-fable", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    claude("claude-mythos", CLAUDE_LATER_PERMILLE, CLAUDE_LATER),
    gemini("gemini"),
];

const fn openai(pattern: &'static str, base: BaseCounter) -> ModelRow {
    ModelRow { pattern, maker: Maker::OpenAi, base, factor_permille: 1_000, source: TIKTOKEN }
}

const fn o200k(pattern: &'static str) -> ModelRow {
    openai(pattern, BaseCounter::O200k)
}

const fn cl100k(pattern: &'static str) -> ModelRow {
    openai(pattern, BaseCounter::Cl100k)
}

const fn claude(pattern: &'static str, factor_permille: u32, source: &'static str) -> ModelRow {
    ModelRow { pattern, maker: Maker::Anthropic, base: BaseCounter::O200k, factor_permille, source }
}

const fn gemini(pattern: &'static str) -> ModelRow {
    let (maker, base) = (Maker::Google, BaseCounter::O200k);
    ModelRow { pattern, maker, base, factor_permille: 1_000, source: GEMINI }
}

/// The longest name that is looked at: names come from foreign transcripts.
pub(crate) const NAME_BYTES_MAX: usize = 256;

/// Finds what is known of a model. A provider's name in front, as in `anthropic/claude-…` or `us.anthropic.claude-…`,
/// is passed over.
pub fn model(name: &str) -> Option<&'static ModelRow> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = name.to_ascii_lowercase();
    MODELS.iter().filter(|row| after(&name, row.pattern).is_some()).max_by_key(|row| row.pattern.len())
}

/// Returns what follows a pattern in a name that begins with it, behind a provider's name.
pub(crate) fn after<'n>(name: &'n str, pattern: &str) -> Option<&'n str> {
    let is_border = |byte: u8| matches!(byte, b'/' | b'.' | b':' | b'@');
    let fits = |(byte, wanted): (&u8, u8)| *byte == wanted || (*byte == b'.' && wanted == b'-');
    let places = std::iter::once(0)
        .chain(name.bytes().zip(1..).filter(|(byte, _)| is_border(*byte)).map(|(_, at)| at));
    let fitting = places.filter_map(|at| name.get(at..));
    let mut rests = fitting
        .filter(|rest| rest.len() >= pattern.len() && rest.as_bytes().iter().zip(pattern.bytes()).all(fits));
    rests.next()?.get(pattern.len()..)
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
