//! Who summarizes in a session of turns: the model that is configured, as long as it answers, else rules.
//!
//! How an answer is checked and cut is `stemmata_prompt`'s.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stemmata_model::{Entry, Note, NoteCode, Timestamp};
use stemmata_prompt::compact::{
    Checked, Known, SummarizeError, Summarizer, SummaryAsked, SummaryOf, checked,
};
use stemmata_prompt::tool_output::{LLM_OUTPUT_CHARS_MAX, ToolResultText, heuristic_summary, llm_input};
use stemmata_prompt::window::{NextSummary, Progress, ToolSummaryStrategy};

use super::act::Work;
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::publish::scrub_text;

/// How long a model is left alone that failed three times in a row: a server that is down costs each call of a turn all of its
/// timeouts. After that it is asked again, as what was wrong may be mended.
const PAUSE_US: i64 = 60 * 60 * 1_000_000;

/// What the summarizer of a session came to so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Summaries {
    progress: Progress,
    failed_at: Option<Timestamp>,
}

impl Summaries {
    /// Returns the model, unless it failed too often a short while ago.
    pub(super) fn model<'m>(
        &self,
        model: Option<&'m dyn Summarizer>,
        now: Timestamp,
    ) -> Option<&'m dyn Summarizer> {
        let is_recent =
            self.failed_at.is_some_and(|at| now.as_micros() < at.as_micros().saturating_add(PAUSE_US));
        let is_left_alone = self.progress.next_summary() == NextSummary::Deterministic && is_recent;
        model.filter(|_| !is_left_alone)
    }

    /// Remembers what came of asking.
    pub(super) fn see(&mut self, has_worked: bool, now: Timestamp) {
        if has_worked {
            *self = Self::default();
        } else {
            self.progress.summarizer_failed();
            self.failed_at = Some(now);
        }
    }

    /// Reads what [`Summaries::to_data`] wrote.
    pub(super) fn of_data(data: Option<&Value>) -> Self {
        let of = |key: &str| data.and_then(|data| data.get(key));
        let failures = of("failures").and_then(Value::as_u64).unwrap_or(0);
        let failed_at = of("failed_us").and_then(Value::as_i64).map(Timestamp::from_micros);
        let progress = Progress::default().with_failures(usize::try_from(failures).unwrap_or(usize::MAX));
        Self { progress, failed_at }
    }

    pub(super) fn to_data(&self) -> Value {
        json!({ "failures": self.progress.failures(), "failed_us": self.failed_at.map(Timestamp::as_micros) })
    }
}

/// A summary of archived results.
#[derive(Clone)]
struct Answer {
    text: String,
    /// Whether the model wrote it.
    is_of_model: bool,
    /// Why rules had to, or what of the model's was left out.
    note: Option<Note>,
}

/// What a model said in one call of a turn.
#[derive(Default)]
pub(super) struct Asked {
    /// Summaries by what was asked.
    known: BTreeMap<String, Answer>,
    /// Whether its client failed: the next question would end as this one.
    is_down: bool,
}

impl Engine {
    /// Summarizes archived results: by a model where the configuration says so and one is there, else by rules.
    pub(super) fn results_summary(
        &self,
        work: &mut Work<'_>,
        (results, entries): (&[ToolResultText<'_>], &[Entry]),
    ) -> Result<String> {
        let guard = work.guarding.guard;
        let by_rules = heuristic_summary(results);
        let wanted =
            guard.summarizer.filter(|_| guard.config.compact().tool_summary == ToolSummaryStrategy::Llm);
        let input = llm_input(results);
        let known = work.guarding.asked.borrow().known.get(&input).cloned();
        let answer = match (known, work.known.summaries.model(wanted, work.now)) {
            (Some(known), _) => known,
            (None, None) => {
                work.notes.extend(wanted.map(|model| {
                    let message = format!(
                        "results of tools are summarized by rules: `{}` failed several times, and is asked again in an hour",
                        model.name()
                    );
                    Note::new(NoteCode::Degraded, message)
                }));
                return Ok(by_rules);
            }
            (None, Some(_)) if work.guarding.asked.borrow().is_down => return Ok(by_rules),
            (None, Some(model)) => {
                let answer = self.asked_summary(work, (model, &input), (entries, by_rules))?;
                work.guarding.asked.borrow_mut().known.insert(input, answer.clone());
                answer
            }
        };
        work.known.summaries.see(answer.is_of_model, work.now);
        work.notes.extend(answer.note);
        Ok(answer.text)
    }

    /// Asks a model. No transaction of the store is open meanwhile.
    fn asked_summary(
        &self,
        work: &Work<'_>,
        (model, input): (&dyn Summarizer, &str),
        (entries, by_rules): (&[Entry], String),
    ) -> Result<Answer> {
        let asked = SummaryAsked {
            of: SummaryOf::ToolResults,
            block: "",
            conversation: input,
            focus: None,
            chars_max: LLM_OUTPUT_CHARS_MAX,
        };
        let answer = model.summarize(&asked);
        let is_down = matches!(answer, Err(SummarizeError::Failed { .. }));
        work.guarding.asked.borrow_mut().is_down |= is_down;
        // What tools printed is a stranger's text: a sentence that names what they did not is not theirs.
        let known = Known { entries, numbers: &[], root: "" };
        match answer.and_then(|answer| checked(&answer, &known, LLM_OUTPUT_CHARS_MAX)) {
            Ok(Checked { text: summary, dropped, .. }) => {
                let scrubber = self.scrubber_of_ledger(&work.turn.ledger)?;
                let note = (!dropped.is_empty()).then(|| {
                    let message = format!(
                        "sentences of the summary of `{}` of archived results were left out, which the results do not \
                         support: {}",
                        model.name(),
                        dropped.len()
                    );
                    Note::new(NoteCode::Degraded, message)
                });
                Ok(Answer { text: scrub_text(&scrubber, summary, &mut 0)?, is_of_model: true, note })
            }
            Err(error) => {
                let message = format!(
                    "results of tools were summarized by rules, since the summary of `{}` could not be used: {error}",
                    model.name()
                );
                let note = Some(Note::new(NoteCode::Degraded, message));
                Ok(Answer { text: by_rules, is_of_model: false, note })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Summarizer for Silent {
        fn name(&self) -> &'static str {
            "silent"
        }

        fn window_tokens(&self) -> Option<u64> {
            None
        }

        fn summarize(&self, _: &SummaryAsked<'_>) -> std::result::Result<String, SummarizeError> {
            Err(SummarizeError::Empty)
        }
    }

    #[test]
    fn a_model_that_failed_three_times_in_a_row_is_left_alone_for_an_hour() {
        let at = |us: i64| Timestamp::from_micros(us);
        let mut summaries = Summaries::default();
        for failure in 0..3 {
            assert!(summaries.model(Some(&Silent), at(failure)).is_some());
            summaries.see(false, at(failure));
            summaries = Summaries::of_data(Some(&summaries.to_data()));
        }
        assert!(summaries.model(Some(&Silent), at(PAUSE_US + 1)).is_none());
        assert!(summaries.model(Some(&Silent), at(PAUSE_US + 2)).is_some());
        summaries.see(false, at(PAUSE_US + 2));
        assert!(summaries.model(Some(&Silent), at(PAUSE_US + 3)).is_none());
        summaries.see(true, at(2 * PAUSE_US + 3));
        assert!(summaries.model(Some(&Silent), at(2 * PAUSE_US + 3)).is_some());
        assert!(Summaries::of_data(None).model(Some(&Silent), at(0)).is_some());
    }
}
