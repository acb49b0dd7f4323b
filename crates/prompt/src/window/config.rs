//! The configuration of one window: zones, compaction and tool output together, checked once so that they cannot contradict
//! each other.

use std::str::FromStr;

use stemmata_api::v1::WindowLimit;
use stemmata_model::Tokens;
use thiserror::Error;

use super::split::KeepRecent;
use crate::guard::{Window, WindowError, WindowSettings, Zone};
use crate::tool_output::OutputLimits;

/// How results of tools are summarized when they are archived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum ToolSummaryStrategy {
    /// By a model; by rules where that fails.
    Llm,
    /// By rules.
    Heuristic,
    /// They are not archived.
    Off,
}

impl ToolSummaryStrategy {
    /// Returns the name used in configuration.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl FromStr for ToolSummaryStrategy {
    type Err = WindowConfigError;

    /// Upper and lower case and white space around a name are the same to it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.trim().to_lowercase();
        [Self::Llm, Self::Heuristic, Self::Off]
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
            .ok_or_else(|| WindowConfigError::Strategy { name: text.chars().take(NAME_CHARS_MAX).collect() })
    }
}

/// Characters of a bad name that an error repeats.
const NAME_CHARS_MAX: usize = 64;

/// What a reserve of 0 stands for, as in the implementation of seed 003.
const RESERVE_DEFAULT: Tokens = Tokens(16_384);

/// When and how a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactSettings {
    /// Messages at which compaction is due where no limit of tokens is known.
    pub messages_max: usize,
    /// The limit of tokens where the window is not known or not larger than the reserve; 0 is none.
    pub tokens_max: Tokens,
    /// Entries that are kept, where no tokens are given.
    pub keep_recent: usize,
    /// Tokens that are kept; at most half of the limit.
    pub keep_recent_tokens: Tokens,
    /// Tokens of the window that are left for the answer; 0 is the default.
    pub reserve_tokens: Tokens,
    /// Visible results of tools; what is above is archived. 0 or less archives none.
    pub tool_call_cutoff: i64,
    /// How archived results are summarized.
    pub tool_summary: ToolSummaryStrategy,
    /// Whether compaction begins by itself. Recovery after an overflow compacts anyway.
    pub is_automatic: bool,
}

impl Default for CompactSettings {
    fn default() -> Self {
        Self {
            messages_max: 50,
            tokens_max: Tokens(8_000),
            keep_recent: 5,
            keep_recent_tokens: Tokens(20_000),
            reserve_tokens: RESERVE_DEFAULT,
            tool_call_cutoff: 10,
            tool_summary: ToolSummaryStrategy::Llm,
            is_automatic: true,
        }
    }
}

/// Where a limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LimitFrom {
    /// The window without the reserve.
    ContextWindow,
    /// The setting.
    MaxTokens,
    /// There is none.
    None,
}

impl LimitFrom {
    /// Returns the name used in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The limit of tokens that holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EffectiveLimit {
    /// The limit.
    pub tokens: Option<Tokens>,
    /// Where it comes from.
    pub from: LimitFrom,
    /// What is kept of the end: the setting, at most half of the limit.
    pub keep_recent_tokens: Tokens,
}

/// Whether compaction is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Whether it is.
    pub is_due: bool,
    /// Why, or why not.
    pub reason: String,
}

impl CompactSettings {
    /// Returns the limit for a window, which may not be known. The setting is never above the window.
    pub fn limit(&self, window: Option<Tokens>) -> EffectiveLimit {
        let reserve = if self.reserve_tokens == Tokens(0) { RESERVE_DEFAULT } else { self.reserve_tokens };
        let window = window.filter(|window| *window > Tokens(0));
        let left = window.map(|window| window.saturating_sub(reserve)).filter(|left| *left > Tokens(0));
        let set = Some(self.tokens_max).filter(|set| *set > Tokens(0));
        let (tokens, from) = match (left, set) {
            (Some(left), _) => (Some(left), LimitFrom::ContextWindow),
            (None, Some(set)) => (Some(window.map_or(set, |window| window.min(set))), LimitFrom::MaxTokens),
            (None, None) => (None, LimitFrom::None),
        };
        let half = tokens.map(|tokens| Tokens(tokens.0 / 2));
        let keep_recent_tokens =
            half.map_or(self.keep_recent_tokens, |half| half.min(self.keep_recent_tokens));
        EffectiveLimit { tokens, from, keep_recent_tokens }
    }

    /// Returns what is kept of the end: tokens where they are set, else entries.
    pub fn keep_recent(&self, window: Option<Tokens>) -> KeepRecent {
        if self.keep_recent_tokens > Tokens(0) {
            KeepRecent::Tokens(self.limit(window).keep_recent_tokens)
        } else {
            KeepRecent::Entries(self.keep_recent)
        }
    }

    /// Returns how many results of tools the model sees at most: what is above is archived. 0 archives none.
    pub fn visible_results(&self) -> i64 {
        match self.tool_summary {
            ToolSummaryStrategy::Off => 0,
            ToolSummaryStrategy::Llm | ToolSummaryStrategy::Heuristic => self.tool_call_cutoff.max(0),
        }
    }

    /// Decides whether a conversation is to be compacted by itself.
    pub fn due(&self, window: Option<Tokens>, estimate: Tokens, messages: usize) -> Due {
        if !self.is_automatic {
            return Due { is_due: false, reason: "automatic compaction is off".to_owned() };
        }
        let limit = self.limit(window);
        let reaches = |is_due| if is_due { "reach" } else { "are below" };
        let Some(tokens) = limit.tokens else {
            let is_due = messages >= self.messages_max;
            let reason = format!("{messages} messages {} {}", reaches(is_due), self.messages_max);
            return Due { is_due, reason };
        };
        let is_due = estimate >= tokens;
        let from = limit.from.as_str();
        Due { is_due, reason: format!("{estimate} {} the limit of {tokens} ({from})", reaches(is_due)) }
    }
}

/// All that can be set of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowConfigSettings {
    /// Zones, pruning and checkpoints.
    pub window: WindowSettings,
    /// Compaction.
    pub compact: CompactSettings,
    /// Output of tools.
    pub output: OutputLimits,
}

/// Why settings contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WindowConfigError {
    /// The zones, or the triggers of checkpoints.
    #[error(transparent)]
    Window(#[from] WindowError),
    /// Compaction would always be due.
    #[error("compaction at 0 messages would always be due: set at least 1")]
    Messages,
    /// A compaction would keep nothing.
    #[error(
        "a compaction would keep nothing of the end: set `keep_recent_tokens`, or a `keep_recent` of at least 1 message"
    )]
    KeepNothing,
    /// No strategy has this name.
    #[error("`{name}` is no way to summarize results of tools: use `llm`, `heuristic` or `off`")]
    Strategy {
        /// The name, cut.
        name: String,
    },
}

/// Limits of one window that fit each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowConfig {
    window: Window,
    compact: CompactSettings,
    output: OutputLimits,
}

/// Bytes of a result for each token of the window. A token is about four bytes of text, so that one result takes half of the
/// window at most, whatever its own limit is.
const OUTPUT_BYTES_PER_TOKEN: u64 = 2;

impl WindowConfig {
    /// Checks settings.
    ///
    /// # Errors
    /// As [`WindowConfigError`] says, the first that holds.
    pub fn new(settings: WindowConfigSettings) -> Result<Self, WindowConfigError> {
        let WindowConfigSettings { window, compact, mut output } = settings;
        let window = Window::new(window)?;
        if compact.messages_max == 0 {
            return Err(WindowConfigError::Messages);
        }
        if compact.keep_recent == 0 && compact.keep_recent_tokens == Tokens(0) {
            return Err(WindowConfigError::KeepNothing);
        }
        let half = window.limit().0.saturating_mul(OUTPUT_BYTES_PER_TOKEN);
        let half = usize::try_from(half).unwrap_or(usize::MAX);
        output.bytes_max = if output.bytes_max == 0 { half } else { output.bytes_max.min(half) };
        Ok(Self { window, compact, output })
    }

    /// Returns zones, target and triggers.
    pub const fn window(&self) -> &Window {
        &self.window
    }

    /// Returns when and how the conversation is compacted.
    pub const fn compact(&self) -> &CompactSettings {
        &self.compact
    }

    /// Returns the limits of tool output: the settings, and bytes for half of the window at most.
    pub const fn output(&self) -> &OutputLimits {
        &self.output
    }

    /// Returns where compaction is due, for this window.
    pub fn limit(&self) -> EffectiveLimit {
        self.compact.limit(Some(self.window.limit()))
    }

    /// Returns every limit in the order in which they act.
    pub fn explain(&self) -> Vec<WindowLimit> {
        let lines = "a result of a tool is cut before it is stored";
        let output = &self.output;
        let visible = usize::try_from(self.compact.visible_results()).unwrap_or(0);
        let mut rows = vec![
            counted("output_lines", output.lines_max, "lines", lines),
            counted("output_bytes", output.bytes_max, "bytes", lines),
            counted("output_chars", output.chars_max, "chars", lines),
            counted("output_spill", output.spill_chars, "chars", "a larger result is stored apart"),
            counted("tool_call_cutoff", visible, "results", self.archives()),
            self.zone_row("warning", Zone::Warning, "an alert, a line in the log"),
            self.zone_row("danger", Zone::Danger, "a checkpoint, and a plan of what to prune"),
            self.zone_row("critical", Zone::Critical, "a checkpoint, and the window is pruned"),
            tokens("target", self.window.target(), "what pruning aims at"),
        ];
        rows.extend(self.compaction_rows());
        rows.push(tokens("window", self.window.limit(), "the provider refuses more"));
        rows
    }

    fn zone_row(&self, name: &str, zone: Zone, acts: &str) -> WindowLimit {
        let begins = u128::from(self.window.limit().0) * u128::from(self.window.threshold_permille(zone));
        tokens(name, Tokens(u64::try_from(begins.div_ceil(1_000)).unwrap_or(u64::MAX)), acts)
    }

    /// Returns where compaction is due, and what it keeps.
    fn compaction_rows(&self) -> Vec<WindowLimit> {
        let (window, compact, limit) = (self.window.limit(), &self.compact, self.limit());
        let acts = if compact.is_automatic {
            "the conversation is compacted after the turn"
        } else {
            "nothing by itself: `auto_compact` is off"
        };
        let at = limit.tokens.unwrap_or_default();
        let mut rows = match limit.from {
            LimitFrom::ContextWindow => vec![
                tokens("reserve_tokens", window.saturating_sub(at), "left for the answer"),
                tokens("compact_at", at, acts),
            ],
            LimitFrom::MaxTokens => vec![tokens("max_tokens", at, acts)],
            LimitFrom::None => vec![counted("max_messages", compact.messages_max, "messages", acts)],
        };
        let keeps = "what a compaction keeps of the end";
        rows.push(match compact.keep_recent(Some(window)) {
            KeepRecent::Tokens(kept) => tokens("keep_recent_tokens", kept, keeps),
            KeepRecent::Entries(kept) => counted("keep_recent", kept, "messages", keeps),
        });
        rows
    }

    fn archives(&self) -> &'static str {
        match (self.compact.visible_results(), self.compact.tool_summary) {
            (0, _) | (_, ToolSummaryStrategy::Off) => "no result is archived",
            (_, ToolSummaryStrategy::Llm) => {
                "older results are archived, and summarized by a model if there is one"
            }
            (_, ToolSummaryStrategy::Heuristic) => "older results are archived, and summarized by rules",
        }
    }
}

fn tokens(name: &str, value: Tokens, acts: &str) -> WindowLimit {
    limit(name, value.0, "tokens", acts)
}

fn counted(name: &str, value: usize, unit: &str, acts: &str) -> WindowLimit {
    limit(name, u64::try_from(value).unwrap_or(u64::MAX), unit, acts)
}

fn limit(name: &str, value: u64, unit: &str, acts: &str) -> WindowLimit {
    WindowLimit { name: name.to_owned(), value, unit: unit.to_owned(), acts: acts.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(limit: u64) -> WindowConfigSettings {
        WindowConfigSettings {
            window: WindowSettings::of(Tokens(limit)),
            compact: CompactSettings::default(),
            output: OutputLimits::default(),
        }
    }

    #[test]
    fn the_defaults_are_those_of_seed_003() {
        let seed = CompactSettings {
            messages_max: 50,
            tokens_max: Tokens(8_000),
            keep_recent: 5,
            keep_recent_tokens: Tokens(20_000),
            reserve_tokens: Tokens(16_384),
            tool_call_cutoff: 10,
            tool_summary: ToolSummaryStrategy::Llm,
            is_automatic: true,
        };
        assert_eq!(CompactSettings::default(), seed);
    }

    #[test]
    fn the_setting_is_never_above_the_window() {
        let limit = CompactSettings::default().limit(Some(Tokens(4_000)));
        assert_eq!((limit.tokens, limit.from), (Some(Tokens(4_000)), LimitFrom::MaxTokens));
        assert_eq!(limit.keep_recent_tokens, Tokens(2_000));
        let mut settings = CompactSettings::default();
        assert_eq!(settings.keep_recent(Some(Tokens(4_000))), KeepRecent::Tokens(Tokens(2_000)));
        settings.keep_recent_tokens = Tokens(0);
        assert_eq!(settings.keep_recent(Some(Tokens(4_000))), KeepRecent::Entries(5));
    }

    #[test]
    fn settings_that_contradict_each_other_are_typed_errors() {
        assert!(WindowConfig::new(settings(100_000)).is_ok());
        let empty = WindowConfig::new(settings(0));
        assert_eq!(empty, Err(WindowConfigError::Window(WindowError::Empty)));
        let mut none = settings(100_000);
        none.compact.messages_max = 0;
        assert_eq!(WindowConfig::new(none), Err(WindowConfigError::Messages));
        let mut none = settings(100_000);
        (none.compact.keep_recent, none.compact.keep_recent_tokens) = (0, Tokens(0));
        assert_eq!(WindowConfig::new(none), Err(WindowConfigError::KeepNothing));
        let unknown = "weird".parse::<ToolSummaryStrategy>();
        assert_eq!(unknown, Err(WindowConfigError::Strategy { name: "weird".to_owned() }));
        assert_eq!(" OFF ".parse(), Ok(ToolSummaryStrategy::Off));
    }

    #[test]
    fn one_result_takes_half_of_a_small_window_at_most() {
        let bytes = |limit, set| {
            let mut settings = settings(limit);
            settings.output.bytes_max = set;
            WindowConfig::new(settings).map(|config| config.output().bytes_max)
        };
        assert_eq!(bytes(1_000, 51_200), Ok(2_000));
        assert_eq!(bytes(1_000, 0), Ok(2_000));
        assert_eq!(bytes(1_000_000, 51_200), Ok(51_200));
    }

    #[test]
    fn the_limits_are_explained_in_the_order_in_which_they_act() {
        let rows = WindowConfig::new(settings(100_000)).expect("limits").explain();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let wanted = "output_lines output_bytes output_chars output_spill tool_call_cutoff warning danger critical target \
                      reserve_tokens compact_at keep_recent_tokens window";
        assert_eq!(names.join(" "), wanted);
        let behind_target = |limit, change: &dyn Fn(&mut CompactSettings)| {
            let mut settings = settings(limit);
            change(&mut settings.compact);
            let rows = WindowConfig::new(settings).expect("limits").explain();
            let target = rows.iter().position(|row| row.name == "target").expect("a target");
            rows[target + 1..]
                .iter()
                .map(|row| format!("{} {}", row.name, row.value))
                .collect::<Vec<_>>()
                .join(", ")
        };
        assert_eq!(behind_target(10_000, &|_| {}), "max_tokens 8000, keep_recent_tokens 4000, window 10000");
        let by_messages = |compact: &mut CompactSettings| {
            (compact.tokens_max, compact.keep_recent_tokens) = (Tokens(0), Tokens(0));
        };
        assert_eq!(behind_target(10_000, &by_messages), "max_messages 50, keep_recent 5, window 10000");
        let value = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.value);
        assert_eq!((value("danger"), value("compact_at")), (Some(85_000), Some(83_616)));
    }

    proptest! {
        #[test]
        fn a_limit_is_within_the_window_and_keeps_at_most_half(window in 1..1_000_000_u64, set: u64, reserve: u64, keep: u64) {
            let settings = CompactSettings {
                tokens_max: Tokens(set),
                reserve_tokens: Tokens(reserve),
                keep_recent_tokens: Tokens(keep),
                ..CompactSettings::default()
            };
            let limit = settings.limit(Some(Tokens(window)));
            if let Some(tokens) = limit.tokens {
                prop_assert!(tokens.0 > 0 && tokens <= Tokens(window));
                prop_assert!(limit.keep_recent_tokens.0 <= tokens.0 / 2);
                prop_assert!(settings.due(Some(Tokens(window)), tokens, 0).is_due);
                prop_assert!(!settings.due(Some(Tokens(window)), Tokens(tokens.0 - 1), 1_000).is_due);
            }
        }
    }
}
