//! What is known of models, as data: how they count, and how long their windows are.
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
    /// Tokens of the window, and where that comes from.
    pub window: Option<(u64, &'static str)>,
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

/// The windows of models by `OpenAI`'s own pages.
const OPENAI: &str = "platform.openai.com/docs/models, as in tiktoken-rs 0.12.1";

/// How many o200k tokens a Claude token is.
const CLAUDE: &str = "sammcj/ingest, pull request 65 (2026-08)";

/// The same for models that came after those of the source.
const CLAUDE_LATER: &str = "sammcj/ingest, pull request 65 (2026-08): «Opus 4.7 and later»";

/// Gemini's vocabulary is not in any source that we have.
const GEMINI: &str = "no source: counted as o200k until a factor is learned";

/// The windows of Gemini models by Gemini CLI's own table. The API names the same limit (its issue 6678).
const GEMINI_WINDOW: &str =
    "google-gemini/gemini-cli, tokenLimits.ts, by ai.google.dev/gemini-api/docs/models";

/// The window that Claude Code shows.
const CLAUDE_WINDOW: &str = "Claude Code 2.1 on a model of 200k, tried against a stand-in provider";

/// The factor of Claude models before Opus 4.7.
const CLAUDE_PERMILLE: u32 = 1_180;

/// The factor of Opus 4.7 and later.
const CLAUDE_LATER_PERMILLE: u32 = 1_530;

/// Every row. The longest pattern that fits wins.
pub const MODELS: &[ModelRow] = &[
    o200k("gpt-5.4-mini", Some(400_000)),
    o200k("gpt-5.4-nano", Some(400_000)),
    o200k("gpt-5.4", Some(1_050_000)),
    o200k("gpt-5.3-codex-spark", Some(128_000)),
    o200k("gpt-5", Some(400_000)),
    o200k("codex-mini", Some(200_000)),
    o200k("gpt-oss", Some(131_072)),
    o200k("o1-mini", Some(128_000)),
    o200k("o1-preview", Some(128_000)),
    o200k("o1", Some(200_000)),
    o200k("o3", Some(200_000)),
    o200k("o4-mini", Some(200_000)),
    o200k("gpt-4.1", Some(1_047_576)),
    o200k("gpt-4.5", Some(128_000)),
    o200k("gpt-4o", Some(128_000)),
    o200k("chatgpt-4o", Some(128_000)),
    cl100k("gpt-4-turbo", Some(128_000)),
    cl100k("gpt-4-0125", Some(128_000)),
    cl100k("gpt-4-1106", Some(128_000)),
    cl100k("gpt-4-32k", Some(32_768)),
    cl100k("gpt-4", Some(8_192)),
    cl100k("gpt-3.5", Some(16_385)),
    cl100k("gpt-35", Some(16_385)),
    claude("claude", CLAUDE_PERMILLE, CLAUDE, Some((200_000, CLAUDE_WINDOW))),
    claude("claude-opus-4-7", CLAUDE_LATER_PERMILLE, CLAUDE, None),
    claude("claude-opus-4-8", CLAUDE_LATER_PERMILLE, CLAUDE_LATER, None),
    claude("claude-opus-4-9", CLAUDE_LATER_PERMILLE, CLAUDE_LATER, None),
    claude("claude-opus-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER, None),
    claude("claude-sonnet-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER, None),
    claude("claude-haiku-5", CLAUDE_LATER_PERMILLE, CLAUDE_LATER, None),
    gemini("gemini", None),
    gemini("gemini-2.5-pro", Some((1_048_576, GEMINI_WINDOW))),
    gemini("gemini-2.5-flash", Some((1_048_576, GEMINI_WINDOW))),
    gemini("gemini-3-pro", Some((1_048_576, GEMINI_WINDOW))),
    gemini("gemini-3-flash", Some((1_048_576, GEMINI_WINDOW))),
    // Models for images and speech take less than those that they are named after.
    gemini("gemini-2.5-flash-image", None),
    gemini("gemini-2.5-flash-preview-tts", None),
    gemini("gemini-2.5-pro-preview-tts", None),
    gemini("gemini-3-pro-image", None),
];

const fn openai(pattern: &'static str, base: BaseCounter, window: Option<u64>) -> ModelRow {
    let window = match window {
        Some(tokens) => Some((tokens, OPENAI)),
        None => None,
    };
    ModelRow { pattern, maker: Maker::OpenAi, base, factor_permille: 1_000, source: TIKTOKEN, window }
}

const fn o200k(pattern: &'static str, window: Option<u64>) -> ModelRow {
    openai(pattern, BaseCounter::O200k, window)
}

const fn cl100k(pattern: &'static str, window: Option<u64>) -> ModelRow {
    openai(pattern, BaseCounter::Cl100k, window)
}

const fn claude(
    pattern: &'static str,
    factor_permille: u32,
    source: &'static str,
    window: Option<(u64, &'static str)>,
) -> ModelRow {
    ModelRow { pattern, maker: Maker::Anthropic, base: BaseCounter::O200k, factor_permille, source, window }
}

const fn gemini(pattern: &'static str, window: Option<(u64, &'static str)>) -> ModelRow {
    let (maker, base) = (Maker::Google, BaseCounter::O200k);
    ModelRow { pattern, maker, base, factor_permille: 1_000, source: GEMINI, window }
}

/// The longest name that is looked at: names come from foreign transcripts.
const NAME_BYTES_MAX: usize = 256;

/// Finds what is known of a model. A provider's name in front, as in `anthropic/claude-…` or `us.anthropic.claude-…`,
/// is passed over.
pub fn model(name: &str) -> Option<&'static ModelRow> {
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let fits = |row: &&ModelRow| {
        name.match_indices(row.pattern).any(|(at, _)| {
            let before = name.as_bytes().get(..at).and_then(<[u8]>::last);
            before.is_none_or(|byte| matches!(byte, b'/' | b'.' | b':' | b'@'))
        })
    };
    MODELS.iter().filter(fits).max_by_key(|row| row.pattern.len())
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
