//! Effort: when an agent worked, which models answered, and the tokens that the provider reported, by quarter hours.
//!
//! Not what was done: that is `session`'s.

use std::collections::{BTreeMap, HashMap};

use stemmata_api::v1::ReportedTokens;
use stemmata_model::{Entry, EntryKind, Estimate, Role, Timestamp, Usage};

use super::outline::IDLE_MICROS;
use crate::window::held_tokens;

/// Microseconds of a slot: a quarter of an hour, for the offsets of all time zones are multiples of it.
pub const SLOT_MICROS: i64 = 15 * 60 * 1_000_000;

/// An answer that holds more than this, and more than [`PARTIAL_TIMES`] what it reports, was reported before it was finished.
const HELD_TOKENS_MIN: u64 = 40;

/// See [`HELD_TOKENS_MIN`]: an estimate is never that far off.
const PARTIAL_TIMES: u64 = 4;

/// One such answer of so many makes the sum wrong enough to say so.
const ANSWERS_PER_PARTIAL: u64 = 20;

/// Returns what one answer reports.
const fn reported(usage: Usage) -> ReportedTokens {
    ReportedTokens {
        input: usage.input_tokens,
        output: usage.output_tokens,
        cache_read: usage.cache_read_tokens,
        cache_write: usage.cache_write_tokens,
        output_partial: false,
    }
}

/// Raises each number to another's, and returns by how much.
fn raise(known: &mut ReportedTokens, to: ReportedTokens) -> ReportedTokens {
    let more = ReportedTokens {
        input: to.input.saturating_sub(known.input),
        output: to.output.saturating_sub(known.output),
        cache_read: to.cache_read.saturating_sub(known.cache_read),
        cache_write: to.cache_write.saturating_sub(known.cache_write),
        output_partial: false,
    };
    known.add(more);
    more
}

/// When, in slots since 1970, and with which model. Entries without a time have no slot.
pub type EffortKey = (Option<i64>, Option<String>);

/// What was done in a slot with a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Microseconds of work: gaps of more than [`IDLE_MICROS`] are left out. A gap counts where it ends.
    pub active_micros: i64,
    /// Answers.
    pub answers: u64,
    /// Tokens that the provider reported. Absent where the transcript has none.
    pub tokens: Option<ReportedTokens>,
}

/// Folds entries, the first one first.
#[derive(Debug, Clone, Default)]
pub struct EffortFold {
    last_at: Option<Timestamp>,
    span: Option<(Timestamp, Timestamp)>,
    model: Option<String>,
    named: HashMap<String, (EffortKey, ReportedTokens)>,
    /// Estimated tokens of the words and calls of each named answer.
    held: HashMap<String, u64>,
    /// What the others report, and what they hold.
    unnamed: Vec<(u64, u64)>,
    rows: BTreeMap<EffortKey, Effort>,
}

impl EffortFold {
    /// Takes the next entry.
    pub fn add(&mut self, entry: &Entry) {
        let named = entry.meta.model.as_ref().filter(|model| !model.starts_with('<'));
        if let Some(model) = named.filter(|model| self.model.as_ref() != Some(model)) {
            self.model = Some(model.clone());
        }
        // Some clients name the model where a turn begins, and not with each answer.
        let is_synthetic = entry.meta.model.is_some() && named.is_none();
        let is_said = named.is_some() || (entry.kind == EntryKind::Message && self.model.is_some());
        let is_answer = entry.role == Role::Assistant && is_said && !is_synthetic;
        if entry.role == Role::Assistant {
            let held = held_tokens(entry, &Estimate).0;
            match (&entry.meta.message_id, entry.meta.usage) {
                (Some(id), _) => *self.held.entry(id.clone()).or_default() += held,
                (None, Some(usage)) => self.unnamed.push((usage.output_tokens, held)),
                (None, None) => {}
            }
        }
        let slot = entry.timestamp.or(self.last_at).map(|at| at.as_micros().div_euclid(SLOT_MICROS));
        let active_micros = entry.timestamp.map_or(0, |at| self.gap_to(at));
        if !is_answer && active_micros == 0 && entry.meta.usage.is_none() {
            return;
        }
        let key = (slot, self.model.clone());
        let row = self.rows.entry(key.clone()).or_default();
        row.answers += u64::from(is_answer);
        row.active_micros = row.active_micros.saturating_add(active_micros);
        let Some(usage) = entry.meta.usage.map(reported) else { return };
        let (key, more) = match &entry.meta.message_id {
            // One message over several lines says its tokens on each, and the last line says most.
            Some(id) => {
                let (key, known) = self.named.entry(id.clone()).or_insert((key, ReportedTokens::NONE));
                (key.clone(), raise(known, usage))
            }
            None => (key, usage),
        };
        self.rows.entry(key).or_default().tokens.get_or_insert(ReportedTokens::NONE).add(more);
    }

    /// Tells whether the client wrote down only a part of what was answered.
    fn is_output_partial(&self) -> bool {
        let of_named =
            |(id, held): (&String, &u64)| (self.named.get(id).map_or(0, |(_, known)| known.output), *held);
        let all = self.held.iter().map(of_named).chain(self.unnamed.iter().copied());
        let (mut long, mut partial) = (0_u64, 0_u64);
        for (output, held) in all.filter(|(_, held)| *held >= HELD_TOKENS_MIN) {
            long += 1;
            partial += u64::from(output.saturating_mul(PARTIAL_TIMES) < held);
        }
        partial > 0 && partial * ANSWERS_PER_PARTIAL >= long
    }

    /// Returns the first and the last time.
    pub const fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Returns what was done. What came before the first answer is its model's.
    pub fn finish(self) -> BTreeMap<EffortKey, Effort> {
        let is_output_partial = self.is_output_partial();
        let (unnamed, mut rows): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.rows.into_iter().partition(|((_, model), _)| model.is_none());
        let first = rows.keys().next().and_then(|(_, model)| model.clone());
        for ((slot, _), effort) in unnamed {
            let row: &mut Effort = rows.entry((slot, first.clone())).or_default();
            row.active_micros = row.active_micros.saturating_add(effort.active_micros);
            row.answers += effort.answers;
            if let Some(tokens) = effort.tokens {
                row.tokens.get_or_insert(ReportedTokens::NONE).add(tokens);
            }
        }
        // A client logs all of its answers in one way, so what the long ones show holds for each row.
        for tokens in rows.values_mut().filter_map(|row| row.tokens.as_mut()) {
            tokens.output_partial = is_output_partial;
        }
        rows
    }

    /// Returns how long was worked until a point in time, and goes on from it.
    fn gap_to(&mut self, at: Timestamp) -> i64 {
        let gap = self.last_at.map_or(0, |last| at.as_micros().saturating_sub(last.as_micros()));
        // Records of two agents at once come out of order. What is long before the last one begins anew: the head of a session
        // that was copied is younger than what it heads.
        self.last_at = if gap < -IDLE_MICROS { Some(at) } else { self.last_at.max(Some(at)) };
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        if (0..=IDLE_MICROS).contains(&gap) { gap } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use stemmata_model::{EntryId, Part};

    use super::*;

    fn said(role: Role, minute: i64, model: Option<&str>, output: Option<(&str, u64)>) -> Entry {
        let mut entry = Entry::said(EntryId::new("e").unwrap(), role, vec![Part::Text("x".to_owned())]);
        entry.timestamp = Some(Timestamp::from_micros(minute * 60_000_000));
        entry.meta.model = model.map(str::to_owned);
        entry.meta.message_id = output.map(|(id, _)| id.to_owned());
        entry.meta.usage = output.map(|(_, tokens)| Usage {
            input_tokens: 0,
            output_tokens: tokens,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
        });
        entry
    }

    #[test]
    fn a_head_that_is_younger_than_what_it_heads_hides_no_work() {
        let mut fold = EffortFold::default();
        for minute in [200, 10, 12, 11, 14] {
            fold.add(&said(Role::User, minute, None, None));
        }
        let active: i64 = fold.finish().values().map(|row| row.active_micros).sum();
        assert_eq!(active, 4 * 60_000_000);
    }

    #[test]
    fn effort_counts_a_gap_where_it_ends_and_a_message_once() {
        let mut fold = EffortFold::default();
        for entry in [
            said(Role::User, 13, None, None),
            said(Role::Assistant, 14, Some("a"), Some(("m", 2))),
            said(Role::Assistant, 16, Some("a"), Some(("m", 7))),
            said(Role::User, 40, None, None),
            said(Role::Assistant, 41, Some("b"), Some(("n", 1))),
            said(Role::Assistant, 41, Some("<synthetic>"), None),
        ] {
            fold.add(&entry);
        }
        assert_eq!(
            fold.span().map(|(first, last)| (last.as_micros() - first.as_micros()) / 60_000_000),
            Some(28)
        );
        let rows = fold.finish();
        let told: Vec<_> = rows
            .iter()
            .map(|((slot, model), row)| {
                let output = row.tokens.map(|tokens| tokens.output);
                (
                    slot.unwrap(),
                    model.as_deref().unwrap(),
                    row.active_micros / 60_000_000,
                    row.answers,
                    output,
                )
            })
            .collect();
        assert_eq!(told, [(0, "a", 1, 1, Some(7)), (1, "a", 2, 1, None), (2, "b", 1, 1, Some(1))]);
    }
}
