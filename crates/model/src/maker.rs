//! Who makes models, as far as it matters here: whose signatures, encrypted reasoning and images a conversation holds.
//! Not a table of models, which is `stemmata-tokens`'.

/// A maker of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Maker {
    /// `OpenAI`.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google.
    Google,
}

/// How the names of models begin, and who makes those.
const NAMES: &[(&str, Maker)] = &[
    ("claude", Maker::Anthropic),
    ("gpt", Maker::OpenAi),
    ("o1", Maker::OpenAi),
    ("o3", Maker::OpenAi),
    ("o4", Maker::OpenAi),
    ("codex", Maker::OpenAi),
    ("gemini", Maker::Google),
];

impl Maker {
    /// Returns who makes a model; `None` where its name does not say. A provider's name may stand ahead of it, as in `openai/gpt-5`.
    pub fn of_model(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or(model);
        NAMES.iter().find(|(start, _)| name.starts_with(start)).map(|(_, maker)| *maker)
    }

    /// Returns its name, as people write it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Anthropic => "Anthropic",
            Self::Google => "Google",
        }
    }

    /// Returns its name, as most programs write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Google => "google",
        }
    }
}
