//! Learns how many tokens a model counts for a token of ours, from what providers report.
//! Not when and from which sessions: that is the engine's.
//!
//! The difference of two consecutive answers' usage is what came between them, so that the system prompt and the tools'
//! schemas, which transcripts do not have, cancel out.

use std::collections::{BTreeMap, HashMap};

use stemmata_model::{BaseCounter, CounterSpec, Entry, EntryKind, FactorFrom, Part, Role, Usage};

use crate::counter::base_count;
use crate::models::{ModelRow, model};

/// What is counted to learn from.
pub const LEARNED_BASE: BaseCounter = BaseCounter::O200k;

/// The least that either side of a pair counts: less says more of what clients add than of the text.
const PAIR_TOKENS_MIN: u64 = 400;

/// Ratios outside of this, in parts per thousand, are no difference in counting: something else was added or dropped.
const RATIO_PERMILLE: std::ops::Range<u64> = 500..3_000;

/// Bins of one percent each, from the least ratio on.
const BIN_STEP: f64 = 1.01;

/// The pairs that a factor needs.
pub const LEARNED_PAIRS_MIN: u64 = 12;

/// The tokens that a factor needs.
pub const LEARNED_TOKENS_MIN: u64 = 20_000;

/// Pairs of a model after which more would hardly move its median: counting them is work.
pub const LEARNED_PAIRS_ENOUGH: u64 = 1_024;

/// How far the quartiles may lie from the median, in parts per thousand of it.
const QUARTILES_PERMILLE: u64 = 200;

/// Weights stop growing here, so that no sum overflows: 2^53, which JSON readers still read exactly.
const WEIGHT_MAX: u64 = 1 << 53;

/// What a model reported for what came between two of its answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsagePair {
    /// The model.
    pub model: String,
    /// Tokens of `LEARNED_BASE`.
    pub counted: u64,
    /// Tokens that were reported.
    pub reported: u64,
}

/// How often each ratio was seen for a model, weighted by the tokens counted. Adding commutes: what is learned does not
/// depend on the order of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ratios {
    bins: BTreeMap<u16, u64>,
    pairs: u64,
}

impl Ratios {
    /// Takes what was kept: bins with their weights, and the pairs that they come from. Bins that cannot be are dropped.
    pub fn from_bins(bins: impl IntoIterator<Item = (u16, u64)>, pairs: u64) -> Self {
        let mut ratios = Self { bins: BTreeMap::new(), pairs: pairs.min(WEIGHT_MAX) };
        for (bin, weight) in bins.into_iter().filter(|(bin, _)| *bin <= bin_of(RATIO_PERMILLE.end)) {
            ratios.weigh(bin, weight);
        }
        ratios
    }

    /// Returns the bins with their weights, in order.
    pub fn bins(&self) -> impl Iterator<Item = (u16, u64)> {
        self.bins.iter().map(|(bin, weight)| (*bin, *weight))
    }

    /// Returns how many pairs were added.
    pub const fn pairs(&self) -> u64 {
        self.pairs
    }

    /// Adds a pair and says whether it was one to learn from.
    pub fn add(&mut self, pair: &UsagePair) -> bool {
        if pair.counted < PAIR_TOKENS_MIN || pair.reported < PAIR_TOKENS_MIN {
            return false;
        }
        let ratio = u128::from(pair.reported) * 1_000 / u128::from(pair.counted);
        let Some(ratio) = u64::try_from(ratio).ok().filter(|ratio| RATIO_PERMILLE.contains(ratio)) else {
            return false;
        };
        self.weigh(bin_of(ratio), pair.counted);
        self.pairs = (self.pairs + 1).min(WEIGHT_MAX);
        true
    }

    fn weigh(&mut self, bin: u16, weight: u64) {
        let held = self.bins.entry(bin).or_default();
        *held = held.saturating_add(weight).min(WEIGHT_MAX);
    }

    /// Returns the weighted median, in parts per thousand, where there is enough to go by and the quartiles agree. The
    /// median, because clients add reminders that transcripts lack: a mean would follow them.
    pub fn factor_permille(&self) -> Option<u32> {
        let total: u128 = self.bins.values().map(|weight| u128::from(*weight)).sum();
        if self.pairs < LEARNED_PAIRS_MIN || total < u128::from(LEARNED_TOKENS_MIN) {
            return None;
        }
        let [low, middle, high] = [1, 2, 3].map(|quarter| self.at(total * quarter / 4));
        let apart = middle * QUARTILES_PERMILLE / 1_000;
        let agree = middle - low <= apart && high - middle <= apart;
        u32::try_from(middle).ok().filter(|_| agree)
    }

    /// Returns the ratio up to which a weight lies.
    fn at(&self, weight: u128) -> u64 {
        let mut below = 0_u128;
        let bin = self.bins.iter().find(|(_, held)| {
            below += u128::from(**held);
            below > weight
        });
        ratio_of(bin.map_or(0, |(bin, _)| *bin))
    }
}

/// Returns the bin of a ratio, in parts per thousand.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "ratios lie between a half and three, which is 180 bins"
)]
fn bin_of(ratio: u64) -> u16 {
    let from = RATIO_PERMILLE.start as f64;
    ((ratio.max(RATIO_PERMILLE.start) as f64 / from).ln() / BIN_STEP.ln()) as u16
}

/// Returns the middle of a bin, in parts per thousand.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bins are 180 at most, whose ratios are three at most"
)]
fn ratio_of(bin: u16) -> u64 {
    (RATIO_PERMILLE.start as f64 * BIN_STEP.powf(f64::from(bin) + 0.5)).round() as u64
}

/// Returns the counter of a model: its own where its maker published it, else what was learned, else what is shipped.
/// `None` where nothing is known of the model and nothing was learned.
pub fn counter_of(name: &str, learned: Option<&Ratios>) -> Option<CounterSpec> {
    let row = model(name);
    if let Some(row) = row.filter(|row| row.is_exact()) {
        return Some(row.counter());
    }
    let factor = learned.and_then(|ratios| Some((ratios.factor_permille()?, ratios.pairs())));
    let learned = factor.map(|(factor_permille, pairs)| CounterSpec {
        base: LEARNED_BASE,
        factor_permille,
        from: FactorFrom::Learned { pairs },
    });
    learned.or_else(|| row.map(ModelRow::counter))
}

/// An answer of a model in one conversation, while its entries are read.
struct Answer<'e> {
    message: Option<&'e str>,
    model: &'e str,
    sent: u64,
    /// Tokens of this answer and of all that came behind it so far; `None` where nothing is learned or something cannot
    /// be counted.
    counted: Option<u64>,
}

/// Returns the pairs in the entries of one commit, of the models that are wanted: counting is what costs.
pub fn usage_pairs(entries: &[Entry], wants: &dyn Fn(&str) -> bool) -> Vec<UsagePair> {
    let mut open: HashMap<Option<&str>, Answer<'_>> = HashMap::new();
    let mut pairs = Vec::new();
    for entry in entries.iter().filter(|entry| entry.meta.visibility.agent) {
        let chain = entry.meta.sidechain.as_deref();
        if matches!(entry.kind, EntryKind::CompactionBoundary | EntryKind::CompactionSummary) {
            open.remove(&chain);
            continue;
        }
        let answered = (entry.role == Role::Assistant).then_some(entry.meta.usage).flatten();
        if let (Some(usage), Some(model)) = (answered, entry.meta.model.as_deref()) {
            let message = entry.meta.message_id.as_deref();
            let sent = sent(usage);
            match open.get_mut(&chain) {
                // One message is spread over several lines, of which the last has the usage that counts.
                Some(answer) if message.is_some() && answer.message == message => answer.sent = sent,
                before => {
                    pairs.extend(before.and_then(|before| before.pair(model, sent)));
                    let counted = wants(model).then_some(0);
                    open.insert(chain, Answer { message, model, sent, counted });
                }
            }
        }
        if let Some(answer) = open.get_mut(&chain).filter(|answer| answer.counted.is_some()) {
            let tokens: Option<u64> = entry.parts.iter().map(part_tokens).sum();
            answer.counted = answer.counted.zip(tokens).map(|(sum, tokens)| sum.saturating_add(tokens));
        }
    }
    pairs
}

impl Answer<'_> {
    fn pair(&self, model: &str, sent: u64) -> Option<UsagePair> {
        let reported = sent.checked_sub(self.sent).filter(|_| self.model == model)?;
        Some(UsagePair { model: model.to_owned(), counted: self.counted?, reported })
    }
}

const fn sent(usage: Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.cache_read_tokens).saturating_add(usage.cache_write_tokens)
}

/// Counts what of a part goes back to the model within a turn; `None` where it is no text.
fn part_tokens(part: &Part) -> Option<u64> {
    let count = |text: &str| Some(base_count(LEARNED_BASE, text));
    match part {
        Part::Text(text) | Part::Thinking { text, .. } | Part::Summary { text, .. } => count(text),
        Part::ToolCall { name, arguments, .. } => Some(count(name)? + count(arguments)?),
        Part::ToolResult { parts, .. } => parts.iter().map(part_tokens).sum(),
        Part::Image { .. } | Part::File { .. } | Part::Opaque { .. } => None,
    }
}

#[cfg(test)]
#[path = "learn_tests.rs"]
mod tests;
