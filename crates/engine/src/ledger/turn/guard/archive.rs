//! Results of tools above the cutoff: which ones the guard archives in a call, and what stands in their place.
//!
//! Which groups go is decided in `stemmata_prompt::tool_output`, and what else the guard does in `act`.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{Entry, EntryId, FormatId, Note, NoteCode, Timestamp, topics};
use stemmata_prompt::compact::SummaryAsked;
use stemmata_prompt::tool_output::{
    ToolResultText, archived_results, heuristic_summary, llm_input, llm_summary, plan_archive,
    summary_message,
};
use stemmata_prompt::window::{ToolSummaryStrategy, entry_tokens};
use stemmata_runtimes::captured::visibility::{self, ShowAs};

use super::TurnGuard;
use super::act::Work;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::guard::Sizes;
use crate::ledger::publish::scrub_text;
use crate::ledger::turn::{FORMAT, TurnOf};

/// Summaries of a model that may fail one after the other: then the session goes on without it.
const SUMMARY_FAILURES_MAX: u8 = 3;

/// Characters that a model's summary of results may have.
const SUMMARY_CHARS_MAX: usize = 1_200;

impl Engine {
    /// Returns the entries that are not archived: pins, what somebody had shown again lately, and ids that two entries have,
    /// since hiding one would hide both.
    pub(super) fn never_archived(
        &self,
        turn: &TurnOf,
        (entries, pins): (&[Entry], &BTreeSet<EntryId>),
        last: u64,
    ) -> Result<BTreeSet<EntryId>> {
        let mut seen = HashSet::new();
        let twice = entries.iter().map(|entry| &entry.id).filter(|id| !seen.insert(*id)).cloned();
        let shown = self.shown_lately(turn, last)?.into_iter().filter(|(_, is_hidden)| !is_hidden);
        Ok(twice.chain(shown.map(|(id, _)| id)).chain(pins.iter().cloned()).collect())
    }

    /// Archives results above the cutoff, and puts summaries in their place.
    pub(super) fn archive(
        &self,
        work: &mut Work<'_>,
        entries: &mut Vec<Entry>,
        (kept, sizes): (&BTreeSet<EntryId>, &mut Sizes),
    ) -> Result<()> {
        let compact = *work.guarding.guard.config.compact();
        if compact.tool_summary == ToolSummaryStrategy::Off || !work.archives() {
            return Ok(());
        }
        let is_pinned = |at: usize| entries.get(at).is_some_and(|entry| kept.contains(&entry.id));
        let plan = plan_archive(entries, &is_pinned, compact.tool_call_cutoff);
        if plan.batches.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (number, batch) in (0..).zip(&plan.batches) {
            let results = archived_results(entries, batch);
            let summary = self.results_summary(work, &results)?;
            // Two summaries of one moment have two ids.
            let at = Timestamp::from_micros(work.now.as_micros().saturating_add(number));
            lines.push(visibility::tool_summary_line(&summary_message(&results, &summary), at));
        }
        let archived: BTreeSet<usize> = plan.entries().collect();
        let named = archived.iter().filter_map(|at| entries.get(*at)).map(|entry| entry.id.clone());
        work.archived = named.collect();
        let reason = format!("more than {} results of tools", compact.tool_call_cutoff);
        work.hide(&work.archived.clone(), ShowAs::Archived, &reason);
        work.tool_summaries = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        let mut at = 0..;
        entries.retain(|_| !at.next().is_some_and(|at| archived.contains(&at)));
        let mut at = 0..;
        sizes.entries.retain(|_| !at.next().is_some_and(|at| archived.contains(&at)));
        let adapter = Self::adapter(&FormatId::new(FORMAT)?, FormatUse::Read)?;
        for line in lines {
            for entry in adapter.decode(&line).entries {
                sizes.entries.push(entry_tokens(&entry, work.guarding.guard.counter));
                entries.push(entry);
            }
            work.push_line(topics::TOOL_SUMMARY, &line);
        }
        sizes.tokens = sizes.overhead + sizes.entries.iter().copied().sum();
        sizes.is_reported = false;
        Ok(())
    }

    /// Summarizes archived results: by a model where the configuration says so and one is there, else by rules.
    fn results_summary(&self, work: &mut Work<'_>, results: &[ToolResultText<'_>]) -> Result<String> {
        let TurnGuard { config, summarizer, .. } = *work.guarding.guard;
        let by_rules = heuristic_summary(results);
        let Some(summarizer) =
            summarizer.filter(|_| config.compact().tool_summary == ToolSummaryStrategy::Llm)
        else {
            return Ok(by_rules);
        };
        if work.known.summary_failures >= SUMMARY_FAILURES_MAX {
            let message = format!(
                "results of tools were summarized by rules: {} failed {SUMMARY_FAILURES_MAX} times in this session",
                summarizer.name()
            );
            work.notes.push(Note::new(NoteCode::Degraded, message));
            return Ok(by_rules);
        }
        let input = llm_input(results);
        let known = work.guarding.summaries.borrow().get(&input).cloned();
        if let Some((summary, note)) = known {
            work.summarized(note.is_none());
            work.notes.extend(note);
            return Ok(summary);
        }
        let asked = SummaryAsked {
            block: &by_rules,
            conversation: &input,
            focus: None,
            chars_max: SUMMARY_CHARS_MAX,
        };
        let (summary, note) = match summarizer.summarize(&asked).map(|answer| llm_summary(&answer)) {
            Ok(Some(summary)) => {
                let ledger = self.log.ledger(&work.turn.ledger)?;
                (scrub_text(&self.scrubber_in(ledger.as_ref())?, summary, &mut 0)?, None)
            }
            failed => {
                let why = failed.err().map_or_else(|| "it is empty".to_owned(), |error| error.to_string());
                let message = format!(
                    "results of tools were summarized by rules, since the summary of {} could not be used: {why}",
                    summarizer.name()
                );
                (by_rules, Some(Note::new(NoteCode::Degraded, message)))
            }
        };
        work.summarized(note.is_none());
        work.notes.extend(note.clone());
        work.guarding.summaries.borrow_mut().insert(input, (summary.clone(), note));
        Ok(summary)
    }
}

impl Work<'_> {
    /// Counts the summaries of a model that failed one after the other.
    const fn summarized(&mut self, by_model: bool) {
        self.known.summary_failures =
            if by_model { 0 } else { self.known.summary_failures.saturating_add(1) };
    }
}
