//! How long the windows of models are, as data. Not what a client makes of a window, and not how models count.

/// The window of the models whose names begin alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRow {
    /// How the names begin, in lower case. `-` also fits the `.` that some providers write.
    pub pattern: &'static str,
    /// Tokens of the window.
    pub tokens: u64,
    /// Where that is said.
    pub source: &'static str,
    /// Whether the row is of a family: its window is only assumed for the models that no other row names.
    pub is_family: bool,
}

/// A window that is known, or assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWindow {
    /// Its tokens.
    pub tokens: u64,
    /// Where that is said.
    pub source: &'static str,
    /// Whether it is the window of other models of the family, since nobody said this one's.
    pub is_assumed: bool,
}

impl KnownWindow {
    /// Returns one that somebody said.
    pub const fn said(tokens: u64, source: &'static str) -> Self {
        Self { tokens, source, is_assumed: false }
    }

    /// Returns whose window it is and where that is said, for a person.
    pub fn told(&self, of: &str) -> String {
        let assumed = if self.is_assumed { "assumed, as of its family: " } else { "" };
        format!("{of}: {assumed}{}", self.source)
    }
}

/// A window that many models have. What a context takes is compared with it where its own window is not known.
pub const COMMON_WINDOW_TOKENS: u64 = 200_000;

const TIKTOKEN_RS: &str = "platform.openai.com/docs/models, as in tiktoken-rs 0.12.1";
const OPENAI: &str = "developers.openai.com/api/docs/models, as on vercel.com/ai-gateway/models";
const LITELLM: &str = "litellm, model_prices_and_context_window.json (2026-07): input and output";
/// Claude Code opens only 200,000 tokens of these with some plans, and its transcripts do not say so.
const CLAUDE: &str = "platform.claude.com/docs/en/models (Claude Code: 200000 in some plans)";
const CLAUDE_BEFORE: &str = "platform.claude.com/docs/en/models";
/// The API names the same limit (issue 6678 of Gemini CLI).
const GEMINI_CLI: &str = "google-gemini/gemini-cli, tokenLimits.ts, by ai.google.dev/gemini-api/docs/models";
const GEMINI: &str = "docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini";
const XAI: &str = "docs.x.ai/developers/models";
const VERCEL: &str = "vercel.com/ai-gateway/models";
const DEEPSEEK: &str = "api-docs.deepseek.com/quick_start/pricing";

/// Every row. The longest pattern that fits wins.
pub const WINDOWS: &[WindowRow] = &[
    // An unknown one gets the smallest that the family's current models have: too small a window is noticed early.
    family("gpt", 400_000, OPENAI),
    row("gpt-6", 1_050_000, OPENAI),
    row("gpt-6.1", 1_050_000, OPENAI),
    row("gpt-5.6", 1_050_000, OPENAI),
    row("gpt-5.5", 1_050_000, OPENAI),
    row("gpt-5.4-mini", 400_000, TIKTOKEN_RS),
    row("gpt-5.4-nano", 400_000, TIKTOKEN_RS),
    row("gpt-5.4", 1_050_000, TIKTOKEN_RS),
    row("gpt-5.3-codex-spark", 128_000, TIKTOKEN_RS),
    row("gpt-5.3", 400_000, LITELLM),
    row("gpt-5.2", 400_000, LITELLM),
    row("gpt-5.1", 400_000, LITELLM),
    row("gpt-5", 400_000, TIKTOKEN_RS),
    row("gpt-5-chat", 128_000, LITELLM),
    row("codex-mini", 200_000, TIKTOKEN_RS),
    row("gpt-oss", 131_072, TIKTOKEN_RS),
    row("o1-mini", 128_000, TIKTOKEN_RS),
    row("o1-preview", 128_000, TIKTOKEN_RS),
    row("o1", 200_000, TIKTOKEN_RS),
    row("o3", 200_000, TIKTOKEN_RS),
    row("o4-mini", 200_000, TIKTOKEN_RS),
    row("gpt-4.1", 1_047_576, TIKTOKEN_RS),
    row("gpt-4.5", 128_000, TIKTOKEN_RS),
    row("gpt-4o", 128_000, TIKTOKEN_RS),
    row("chatgpt-4o", 128_000, TIKTOKEN_RS),
    row("gpt-4-turbo", 128_000, TIKTOKEN_RS),
    row("gpt-4-0125", 128_000, TIKTOKEN_RS),
    row("gpt-4-1106", 128_000, TIKTOKEN_RS),
    row("gpt-4-32k", 32_768, TIKTOKEN_RS),
    row("gpt-4", 8_192, TIKTOKEN_RS),
    row("gpt-3.5", 16_385, TIKTOKEN_RS),
    row("gpt-35", 16_385, TIKTOKEN_RS),
    family("claude", 200_000, CLAUDE_BEFORE),
    // The newest of these lines all take a million: their next ones are taken for no smaller.
    family("claude-fable", 1_000_000, CLAUDE),
    family("claude-mythos", 1_000_000, CLAUDE),
    family("claude-opus", 1_000_000, CLAUDE),
    family("claude-sonnet", 1_000_000, CLAUDE),
    family("claude-haiku", 1_000_000, CLAUDE),
    row("claude-3-5", 200_000, CLAUDE_BEFORE),
    row("claude-3-7", 200_000, CLAUDE_BEFORE),
    row("claude-3", 200_000, CLAUDE_BEFORE),
    row("claude-opus-4", 200_000, CLAUDE_BEFORE),
    row("claude-opus-4-0", 200_000, CLAUDE_BEFORE),
    row("claude-opus-4-1", 200_000, CLAUDE_BEFORE),
    row("claude-opus-4-5", 200_000, CLAUDE_BEFORE),
    row("claude-opus-4-6", 1_000_000, CLAUDE),
    row("claude-opus-4-7", 1_000_000, CLAUDE),
    row("claude-opus-4-8", 1_000_000, CLAUDE),
    row("claude-opus-5", 1_000_000, CLAUDE),
    row("claude-opus-5-5", 1_000_000, CLAUDE),
    row("claude-sonnet-4", 200_000, CLAUDE_BEFORE),
    row("claude-sonnet-4-0", 200_000, CLAUDE_BEFORE),
    row("claude-sonnet-4-5", 200_000, CLAUDE_BEFORE),
    row("claude-sonnet-4-6", 1_000_000, CLAUDE),
    row("claude-sonnet-5", 1_000_000, CLAUDE),
    row("claude-sonnet-5-5", 1_000_000, CLAUDE),
    row("claude-haiku-4-5", 200_000, CLAUDE_BEFORE),
    row("claude-haiku-5", 1_000_000, CLAUDE),
    row("claude-haiku-5-5", 1_000_000, CLAUDE),
    row("claude-fable-5", 1_000_000, CLAUDE),
    row("claude-fable-5-1", 1_000_000, CLAUDE),
    row("claude-fable-5-2", 1_000_000, CLAUDE),
    row("claude-mythos-5", 1_000_000, CLAUDE),
    row("claude-mythos-5-1", 1_000_000, CLAUDE),
    family("gemini", 1_048_576, GEMINI_CLI),
    row("gemini-2.0-flash", 1_048_576, "ai.google.dev/gemini-api/docs/models"),
    row("gemini-2.5-pro", 1_048_576, GEMINI_CLI),
    row("gemini-2.5-flash", 1_048_576, GEMINI_CLI),
    row("gemini-3-pro", 1_048_576, GEMINI_CLI),
    row("gemini-3-flash", 1_048_576, GEMINI_CLI),
    row("gemini-3.1-pro", 1_048_576, LITELLM),
    row("gemini-3.1-flash-lite", 1_048_576, LITELLM),
    row("gemini-3.5-flash", 1_048_576, LITELLM),
    row("gemini-3.6-flash", 1_048_576, GEMINI),
    row("grok-4", 256_000, VERCEL),
    row("grok-4.3", 1_000_000, XAI),
    row("grok-4.5", 500_000, XAI),
    row("grok-4.6", 500_000, XAI),
    row("deepseek-v4", 1_000_000, DEEPSEEK),
    row("kimi-k3", 1_048_576, VERCEL),
    row("kimi-k3.1", 1_048_576, VERCEL),
    row("glm-5.3", 1_048_576, VERCEL),
    row("minimax-m2", 205_000, VERCEL),
];

/// Models for images, speech and embeddings take less than those that they are named after.
const OTHER_KINDS: &[&str] = &["-image", "-tts", "-audio", "-live", "-realtime", "-embedding"];

/// What Claude Code appends to the names of models for which it opens the long window.
const LONG: (&str, KnownWindow) =
    ("[1m]", KnownWindow::said(1_000_000, "the name ends with `[1m]`, by which Claude Code means a million"));

const fn row(pattern: &'static str, tokens: u64, source: &'static str) -> WindowRow {
    WindowRow { pattern, tokens, source, is_family: false }
}

const fn family(pattern: &'static str, tokens: u64, source: &'static str) -> WindowRow {
    WindowRow { is_family: true, ..row(pattern, tokens, source) }
}

/// Finds the window of a model. A model that no row names gets the window of its family or of another version, which is then
/// only assumed; a provider's name in front is passed over.
pub fn window(name: &str) -> Option<KnownWindow> {
    if name.len() > super::models::NAME_BYTES_MAX {
        return None;
    }
    let name = name.to_ascii_lowercase();
    if OTHER_KINDS.iter().any(|kind| name.contains(kind)) {
        return None;
    }
    let fitting = WINDOWS.iter().filter_map(|row| Some((row, super::models::after(&name, row.pattern)?)));
    let (row, rest) = fitting.max_by_key(|(row, _)| row.pattern.len())?;
    if name.ends_with(LONG.0) {
        return Some(LONG.1);
    }
    let is_assumed = row.is_family || is_version(rest);
    Some(KnownWindow { tokens: row.tokens, source: row.source, is_assumed })
}

/// Returns whether a name goes on with the number of a version, as `-9` or `.7-codex`: a row of that version is missing. A date
/// and a size, as `-20251101` and `-20b`, are none.
fn is_version(rest: &str) -> bool {
    let Some(number) = rest.strip_prefix(['-', '.']) else { return false };
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let ends = number.as_bytes().get(digits).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    (1..=2).contains(&digits) && ends
}

#[cfg(test)]
#[path = "windows_tests.rs"]
mod tests;
