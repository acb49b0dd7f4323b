//! The guard of a context window over what is stored: how full a context is, and what would be pruned of it and why.
//!
//! What is pruned is decided in `stemmata_prompt::guard`. Nothing is changed here.

mod given;
mod live;

use std::collections::BTreeSet;

use stemmata_model::{Entry, EntryId, FormatId, Note, NoteCode, Reason, Timestamp, TokenCounter, Tokens};
use stemmata_prompt::guard::derive::{DeriveRequest, Derived, derive};
use stemmata_prompt::guard::{
    ContentType, ContextOverflow, Decision, Form, Item, ItemCounters, PrunePlan, PruneRequest, Ratio,
    TaskGraph, TriggerFacts, Window, Zone, checkpoint_reasons, item_counters, plan_prune, plan_to_target,
};
use stemmata_prompt::window::{
    Estimated, EstimatedFrom, Measure, Unbelievable, entry_tokens, estimate, held_tokens,
};

pub use given::{GivenEntries, GivenWanted, Shrunk};
pub use live::{LiveWindow, known_window, window_within_model};
pub(crate) use live::{drop_old_usage, is_seen};

use stemmata_tokens::window;

use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::ledger::WorkTold;

/// What stands for the system prompt and the tools, which a reported usage counts and no entry holds: no client and no caller
/// names an entry so.
const OVERHEAD: &str = "(stemmata: system prompt and tools)";

/// How a window is to be judged.
#[derive(Clone, Copy)]
pub struct GuardWanted<'a> {
    /// Its limits.
    pub window: &'a Window,
    /// What counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// What the system prompt and the tools take, where no usage says it.
    pub overhead: Tokens,
    /// Tasks completed so far.
    pub tasks_completed: u64,
    /// What is about to be done.
    pub next_operation: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
}

/// What happens to an entry, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedItem {
    /// The decision. Its size is the entry's share of what the window takes.
    pub decision: Decision,
    /// Its number in the chain; none of what the chain has not.
    pub ordinal: Option<u64>,
    /// Whether a person asked for it to stay.
    pub is_pinned: bool,
    /// Its tool group: a number that its other members share.
    pub group: Option<u32>,
}

/// How full a window is, and the plan of a prune.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// How full it is.
    pub zone: Zone,
    /// The part of the limit that is in use.
    pub ratio: Ratio,
    /// What it takes.
    pub tokens: Tokens,
    /// Whether that rests on reported usage, rather than on a count alone.
    pub is_reported: bool,
    /// What of it no entry holds: the system prompt and the tools.
    pub overhead: Tokens,
    /// What it would take after the prune.
    pub tokens_after: Tokens,
    /// How much would be pruned; `None` where even the smallest context is larger than the window.
    pub form: Option<Form>,
    /// Why a checkpoint would be made now.
    pub triggers: Vec<Reason>,
    /// The smallest context, where it does not fit the window.
    pub overflow: Option<ContextOverflow>,
    /// A decision for each entry, oldest first.
    pub items: Vec<GuardedItem>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

impl LiveWindow {
    /// Judges the window. The same window and wishes give the same answer.
    ///
    /// # Errors
    /// `Refused` for a window of more turns than can be judged.
    pub fn guard(&self, wanted: &GuardWanted<'_>) -> Result<Guarded> {
        let sizes = Sizes::of(&self.entries, wanted.counter, (wanted.overhead, self.largest_window()));
        let weighed = Weighed::of((&self.entries, &self.pins), sizes, wanted.counter, &self.told)?;
        let request = weighed.request(wanted.window, wanted.now);
        let (plan, overflow) = match plan_prune(request) {
            Ok(plan) => (plan, None),
            Err(overflow) => (plan_to_target(request), Some(overflow)),
        };
        Ok(self.guarded(wanted, (&weighed.items, &weighed.sizes), (plan, overflow)))
    }

    /// Returns what the entries of the window take, as [`LiveWindow::guard`] counts them: without the system prompt and the tools.
    pub fn entry_tokens(&self, counter: &dyn TokenCounter) -> Tokens {
        let sizes = Sizes::of(&self.entries, counter, (Tokens(0), self.largest_window()));
        sizes.entries.into_iter().sum()
    }

    /// Returns what the entries of another context of the same window take.
    ///
    /// # Errors
    /// `Format` for one that nothing reads.
    pub fn entry_tokens_of(format: &FormatId, context: &[u8], counter: &dyn TokenCounter) -> Result<Tokens> {
        let entries = Engine::adapter(format, FormatUse::Read)?.decode(context).entries;
        Ok(entries.iter().filter(|entry| is_seen(entry)).map(|entry| entry_tokens(entry, counter)).sum())
    }

    /// Returns what the window can hold at most by what is known of it: nobody's wish, and the larger of the two that may say it.
    fn largest_window(&self) -> Option<Tokens> {
        // A report that is larger than an assumed window refutes the assumption, not the report.
        let of_model = self.model.as_deref().and_then(window).filter(|known| !known.is_assumed);
        let of_model = of_model.map(|known| known.tokens);
        let known = known_window(&self.runtime, None).map(|(_, known)| known.tokens);
        [self.window_tokens, of_model].into_iter().flatten().max().or(known).map(Tokens)
    }

    fn guarded(
        &self,
        wanted: &GuardWanted<'_>,
        (items, sizes): (&[Item], &Sizes),
        (plan, overflow): (PrunePlan, Option<ContextOverflow>),
    ) -> Guarded {
        let zone = wanted.window.zone(sizes.tokens);
        let left_aside = sizes.left_aside.map(|why| Note::new(NoteCode::Degraded, why.message()));
        let triggers = checkpoint_reasons(
            wanted.window,
            &TriggerFacts {
                size: sizes.tokens,
                phase_changed: false,
                tasks_completed: wanted.tasks_completed,
                milestones_kept: 0,
                next_operation: wanted.next_operation,
                // What is judged is stored already.
                last_checkpoint: wanted.now,
                now: wanted.now,
                is_emergency: zone == Zone::Critical,
            },
        );
        let behind_overhead = items.len() - self.entries.len();
        let decided = plan.decisions.into_iter().zip(items).skip(behind_overhead);
        let items = decided.zip(&self.ordinals).map(|((decision, item), ordinal)| GuardedItem {
            decision,
            ordinal: *ordinal,
            is_pinned: item.is_pinned,
            group: item.group,
        });
        Guarded {
            zone,
            ratio: Ratio::of(sizes.tokens, wanted.window.limit()),
            tokens: sizes.tokens,
            is_reported: sizes.is_reported,
            overhead: sizes.overhead,
            tokens_after: plan.after,
            form: overflow.is_none().then_some(plan.form),
            triggers,
            overflow,
            items: items.collect(),
            notes: self.notes.iter().cloned().chain(left_aside).collect(),
        }
    }
}

/// Says whether the largest entry of an overflow is the system prompt and the tools, which is no entry.
pub fn is_overhead(id: &EntryId) -> bool {
    id.as_str() == OVERHEAD
}

fn overhead_item(size: Tokens) -> Item {
    let id = EntryId::new(OVERHEAD).expect("a constant name is a name");
    Item { content: ContentType::SystemPrompt, ..Item::new(id, size) }
}

/// A window with what decides about each entry, which can be judged by several limits.
pub(crate) struct Weighed {
    /// The system prompt and the tools, where they take something, and an item for each entry.
    items: Vec<Item>,
    tasks: TaskGraph,
    sizes: Sizes,
}

impl Weighed {
    /// Weighs the entries of a window by their sizes and by the tasks and hints that callers sent.
    pub(crate) fn of(
        (entries, pins): (&[Entry], &BTreeSet<EntryId>),
        sizes: Sizes,
        counter: &dyn TokenCounter,
        told: &WorkTold,
    ) -> Result<Self> {
        let counters: Vec<ItemCounters> = entries.iter().map(|entry| item_counters(entry, counter)).collect();
        let mut hints = told.hints(entries);
        for (hint, entry) in hints.iter_mut().zip(entries) {
            hint.is_pinned = pins.contains(&entry.id);
        }
        let Derived { mut items, tasks } = derive(DeriveRequest {
            entries,
            counters: &counters.iter().collect::<Vec<_>>(),
            hints: &hints,
            tasks: told.given(),
        })
        .map_err(|error| EngineError::Refused {
            what: Refusal::GuardWindow,
            reasons: vec![error.to_string()],
        })?;
        for (item, size) in items.iter_mut().zip(&sizes.entries) {
            item.size = *size;
        }
        let overhead = (sizes.overhead > Tokens(0)).then(|| overhead_item(sizes.overhead));
        items.splice(0..0, overhead);
        Ok(Self { items, tasks, sizes })
    }

    /// Asks for a plan.
    pub(crate) fn request<'a>(&'a self, window: &'a Window, now: Timestamp) -> PruneRequest<'a> {
        PruneRequest { window, items: &self.items, tasks: &self.tasks, now }
    }
}

/// What a window takes, and each entry of it.
#[derive(Debug, Clone)]
pub(crate) struct Sizes {
    pub(crate) tokens: Tokens,
    pub(crate) overhead: Tokens,
    pub(crate) entries: Vec<Tokens>,
    pub(crate) is_reported: bool,
    /// Why a reported size was left aside.
    pub(crate) left_aside: Option<Unbelievable>,
}

impl Sizes {
    /// Takes in that the request took more than was known: no entry holds the rest.
    pub(crate) fn raise_to(&mut self, requested: Tokens) {
        let more = requested.saturating_sub(self.tokens);
        (self.tokens, self.overhead) = (self.tokens + more, self.overhead + more);
    }

    /// Counts a window without what was reported.
    pub(crate) fn counted(window: &[Entry], counter: &dyn TokenCounter, overhead: Tokens) -> Self {
        let entries: Vec<Tokens> = window.iter().map(|entry| entry_tokens(entry, counter)).collect();
        let tokens = overhead + entries.iter().copied().sum();
        Self { tokens, overhead, entries, is_reported: false, left_aside: None }
    }

    /// Reported usage is of the whole request: what is more than the entries count is the system prompt and the tools. Where it is
    /// less, the count was too high (a provider drops earlier thinking), and the entries share what was reported.
    /// A report that cannot be the size of a window is left aside; `largest` is what the window holds, where that is known.
    pub(crate) fn of(
        window: &[Entry],
        counter: &dyn TokenCounter,
        (overhead, largest): (Tokens, Option<Tokens>),
    ) -> Self {
        let mut entries: Vec<Tokens> = window.iter().map(|entry| entry_tokens(entry, counter)).collect();
        let size_at = |at: usize| entries.get(at).copied().unwrap_or_default();
        let held = |at: usize| window.get(at).map_or(Tokens(0), |entry| held_tokens(entry, counter));
        let measure = Measure { entries: window, counted: &size_at, held: &held, system: overhead, largest };
        let Estimated { tokens, from, left_aside } = estimate(measure);
        let EstimatedFrom::Usage { entry } = from else {
            let overhead = tokens.saturating_sub(entries.iter().copied().sum());
            return Self { tokens, overhead, entries, is_reported: false, left_aside };
        };
        let behind: Tokens = entries.iter().skip(entry + 1).copied().sum();
        let reported = tokens.saturating_sub(behind);
        let before: Tokens = entries.iter().take(entry + 1).copied().sum();
        if before > reported {
            for size in entries.iter_mut().take(entry + 1) {
                let share = u128::from(size.0) * u128::from(reported.0) / u128::from(before.0);
                *size = Tokens(u64::try_from(share).unwrap_or(u64::MAX));
            }
        }
        let entries_sum: Tokens = entries.iter().copied().sum();
        let overhead = tokens.saturating_sub(entries_sum);
        Self { tokens, overhead, entries, is_reported: true, left_aside }
    }
}
