//! Results of tools above the cutoff: which ones the guard archives in a call, and what stands in their place.
//!
//! Which groups go is decided in `stemmata_prompt::tool_output`, and what else the guard does in `act`.

use std::collections::{BTreeSet, HashSet};

use stemmata_model::{Entry, EntryId, FormatId, Timestamp, topics};
use stemmata_prompt::tool_output::{archived_results, plan_archive, summary_message};
use stemmata_prompt::window::entry_tokens;
use stemmata_runtimes::captured::visibility::{self, ShowAs};

use super::act::Work;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::guard::Sizes;
use crate::ledger::turn::{FORMAT, TurnOf};

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
        let cutoff = work.guarding.guard.config.compact().visible_results();
        if !work.archives() {
            return Ok(());
        }
        let is_pinned = |at: usize| entries.get(at).is_some_and(|entry| kept.contains(&entry.id));
        let plan = plan_archive(entries, &is_pinned, cutoff);
        if plan.batches.is_empty() {
            return Ok(());
        }
        let mut lines = Vec::new();
        for (number, batch) in (0..).zip(&plan.batches) {
            let results = archived_results(entries, batch);
            let members = batch.iter().flat_map(|group| &group.entries).filter_map(|at| entries.get(*at));
            let members: Vec<Entry> = members.cloned().collect();
            let summary = self.results_summary(work, (&results, &members))?;
            // Two summaries of one moment have two ids.
            let at = Timestamp::from_micros(work.now.as_micros().saturating_add(number));
            lines.push(visibility::tool_summary_line(&summary_message(&results, &summary), at));
        }
        let archived: BTreeSet<usize> = plan.entries().collect();
        let named = archived.iter().filter_map(|at| entries.get(*at)).map(|entry| entry.id.clone());
        work.archived = named.collect();
        let reason = format!("more than {cutoff} results of tools");
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
}
