//! Counters of tokens: which one a turn gets, and what it counted before.
//! Not the counting, which is `stemmata_tokens`'.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use stemmata_model::{BaseCounter, CounterSpec, Margin, Note, TokenCounter, Tokens};
use stemmata_prompt::strategy::nearest;
use stemmata_tokens::{MODELS, base_count, counter_of};

use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Texts whose counts are remembered at most. A conversation that grew by an entry then costs that entry.
const REMEMBERED_MAX: usize = 65_536;

/// Shorter texts are counted again: that takes no longer than to hash them and to wait for the lock.
const REMEMBERED_BYTES_MIN: usize = 256;

/// Which counter is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CounterChoice {
    /// This one: it gives the same counts again.
    Exactly(CounterSpec),
    /// The best that is known for a model; the estimate without one.
    Auto {
        /// The model's name, as its maker or a transcript spells it.
        model: Option<String>,
    },
}

/// A counter, fixed: what is learned later does not change it.
#[derive(Debug, Clone)]
pub struct ChosenCounter {
    /// Which it is. As a text it goes with the prompt, and gives the same prompt again.
    pub spec: CounterSpec,
    /// Why it is not a better one.
    pub notes: Vec<Note>,
    counts: Arc<Counts>,
}

impl TokenCounter for ChosenCounter {
    fn count(&self, text: &str) -> Tokens {
        self.spec.scale(self.counts.count(self.spec.base, text))
    }

    fn margin(&self) -> Margin {
        self.spec.margin()
    }

    fn name(&self) -> String {
        self.spec.to_string()
    }
}

impl Engine {
    /// Returns the counter of a turn. A vocabulary is loaded by the first count, not here.
    ///
    /// # Errors
    /// `ModelUnknown` for a model of which nothing is known and nothing was learned; store errors.
    pub fn counter(&self, choice: &CounterChoice) -> Result<ChosenCounter> {
        let (spec, notes) = match choice {
            CounterChoice::Exactly(spec) => (*spec, Vec::new()),
            CounterChoice::Auto { model: None } => (CounterSpec::ESTIMATE, Vec::new()),
            CounterChoice::Auto { model: Some(model) } => self.counter_for(model)?,
        };
        Ok(ChosenCounter { spec, notes, counts: Arc::clone(&self.counts) })
    }

    fn counter_for(&self, model: &str) -> Result<(CounterSpec, Vec<Note>)> {
        let learned = self.calibration.load(self.store.identity()?.store_id);
        let spec = counter_of(model, learned.as_ref().and_then(|learned| learned.of(model)));
        let spec = spec.ok_or_else(|| EngineError::ModelUnknown {
            model: model.chars().take(SHOWN_CHARS_MAX).collect(),
            near: nearest(model, MODELS.iter().map(|row| row.pattern)),
        })?;
        Ok((spec, self.calibration.trouble().into_iter().collect()))
    }
}

/// The most of an unknown model's name that an error repeats.
const SHOWN_CHARS_MAX: usize = 64;

type Remembered = HashMap<(BaseCounter, [u8; 16]), u64>;

/// What was counted before, in two generations: when the younger one is full the older one goes.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    generations: Mutex<[Remembered; 2]>,
}

impl Counts {
    fn count(&self, base: BaseCounter, text: &str) -> u64 {
        let is_vocabulary = matches!(base, BaseCounter::O200k | BaseCounter::Cl100k);
        if !is_vocabulary || text.len() < REMEMBERED_BYTES_MIN {
            return base_count(base, text);
        }
        let hash = blake3::hash(text.as_bytes());
        let key = (base, *hash.as_bytes().first_chunk().expect("a hash has 32 bytes"));
        if let Some(count) = self.known(&key) {
            return count;
        }
        // Counted without the lock: two threads may count the same text, neither waits for the other.
        let count = base_count(base, text);
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *generations;
        if young.len() >= REMEMBERED_MAX / 2 {
            *old = std::mem::take(young);
        }
        young.insert(key, count);
        count
    }

    fn known(&self, key: &(BaseCounter, [u8; 16])) -> Option<u64> {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.iter().find_map(|remembered| remembered.get(key).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_counts_are_those_of_the_text_and_bounded() {
        let counts = Counts::default();
        let text = |number: usize| format!("{number} {}", "word ".repeat(REMEMBERED_BYTES_MIN / 5));
        for number in (0..1_000).chain(0..1_000) {
            for base in BaseCounter::ALL {
                assert_eq!(counts.count(base, &text(number)), base_count(base, &text(number)));
            }
        }
        assert_eq!(counts.generations.lock().unwrap()[0].len(), 2_000, "two bases have a vocabulary");
        let full = |generation: u8| {
            let key =
                |at: u128| (BaseCounter::O200k, (at + u128::from(generation) * (1 << 100)).to_be_bytes());
            (0..REMEMBERED_MAX as u128 / 2).map(key).map(|key| (key, 1)).collect::<Remembered>()
        };
        *counts.generations.lock().unwrap() = [full(1), full(2)];
        counts.count(BaseCounter::O200k, &text(1));
        let sizes = counts.generations.lock().unwrap().each_ref().map(HashMap::len);
        assert_eq!(sizes, [1, REMEMBERED_MAX / 2], "the older generation goes");
    }
}
