//! Entries that a program hands over to be judged: what is cut, archived, compacted and pruned of them, and what is left.
//!
//! Nothing is read from the store and nothing is written. Where a session of turns is guarded, the same decisions are taken in the
//! calls of its turns (`ledger::turn::guard`).

use std::collections::{BTreeSet, HashSet};

use stemmata_api::v1::{GuardArchived, GuardCompaction, GuardCut, TurnPruned, TurnTask};
use stemmata_model::{Entry, EntryId, Note, NoteCode, Part, Role, Timestamp, TokenCounter, Tokens};
use stemmata_prompt::compact::summary::{Limits, Size, summary};
use stemmata_prompt::guard::{plan_prune, plan_to_target};
use stemmata_prompt::tool_output::{
    Extent, OutputLimits, archived_results, heuristic_summary, normalize, plan_archive, summary_message,
    text_of, with_text,
};
use stemmata_prompt::window::{
    Due, Paired, WindowConfig, entry_tokens, named_apart, paired, summary_entry, tool_summary_entry,
};

use super::{GuardWanted, Guarded, LiveWindow, Sizes, Weighed, is_seen};
use crate::engine::Engine;
use crate::error::Result;
use crate::ledger::{CALLS_NAMED_APART, EntryHint, WorkTold, gone, said_of};
use crate::verbs::compact::recent_of;

/// A summary takes an eighth of the window at most, as in a turn.
const SUMMARY_SHARE: u64 = 8;

/// Entries of a program.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenEntries<'a> {
    /// The entries, oldest first, each with an id of its own.
    pub entries: Vec<Entry>,
    /// What the program knows of them.
    pub hints: Vec<EntryHint>,
    /// The current task.
    pub task: Option<&'a TurnTask>,
    /// Tasks that are done, in the order in which they began.
    pub completed: &'a [String],
}

/// How entries of a program are judged.
#[derive(Clone, Copy)]
pub struct GivenWanted<'a> {
    /// The limits of their window.
    pub config: &'a WindowConfig,
    /// What counts tokens.
    pub counter: &'a dyn TokenCounter,
    /// What the system prompt and the tools take, where no usage says it.
    pub overhead: Tokens,
    /// Tasks completed so far.
    pub tasks_completed: u64,
    /// What is about to be done.
    pub next_operation: Option<&'a str>,
    /// Whether they are compacted by rules where that is due.
    pub compacts: bool,
    /// The time.
    pub now: Timestamp,
}

/// What becomes of entries.
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    /// How full the window is with the entries as they were given, and the plan of a prune of what is left of them.
    pub guarded: Guarded,
    /// Entries that the model does not see.
    pub hidden_entries: u64,
    /// Outputs of tools that are cut.
    pub cut: Vec<GuardCut>,
    /// Results above the cutoff.
    pub archived: Vec<GuardArchived>,
    /// Whether a compaction is due.
    pub due: Due,
    /// The compaction, where one is made.
    pub compaction: Option<GuardCompaction>,
    /// What is pruned.
    pub pruned: Vec<TurnPruned>,
    /// What the model is to be given; nothing where even the smallest context does not fit.
    pub entries: Vec<Entry>,
}

/// Entries on their way, with the share of the window that each takes.
struct Shrinking<'a> {
    wanted: &'a GivenWanted<'a>,
    entries: Vec<Entry>,
    sizes: Sizes,
    /// Entries that stay as they are.
    essential: BTreeSet<EntryId>,
    notes: Vec<Note>,
}

impl Engine {
    /// Judges entries of a program, and says what is left of them. Changes nothing; the same entries, limits and time give the same.
    ///
    /// In this order: outputs of tools are cut to the configured limits, results above the cutoff are archived, the beginning is
    /// compacted where that is due and wanted, and what is above the target then is pruned.
    ///
    /// # Errors
    /// `Refused` for more turns than can be judged, and for tasks that depend on each other in a circle.
    pub fn shrink(&self, given: GivenEntries<'_>, wanted: &GivenWanted<'_>) -> Result<Shrunk> {
        let GivenEntries { entries, hints, task, completed } = given;
        let (seen, hidden): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_seen);
        let Paired { entries, closed, left_out } = paired(seen);
        let limit = wanted.config.window().limit();
        let before = Sizes::of(&entries, wanted.counter, (wanted.overhead, Some(limit)));
        let essential =
            hints.iter().filter(|hint| hint.is_essential).map(|hint| hint.entry.clone()).collect();
        let closed = said_of(
            &closed,
            NoteCode::SyntheticResult,
            "tool calls have no result although the conversation continues: a marked one stands for it",
        );
        let notes = closed.into_iter().chain(said_of(
            &left_out,
            NoteCode::OrphanResult,
            "results answer no call, or one that is answered: they are left out",
        ));
        let sizes = before.clone();
        let mut work = Shrinking { wanted, entries, sizes, essential, notes: notes.collect() };
        let cut = work.cut(&OutputLimits { spill_chars: 0, ..self.outputs.limits });
        let archived = work.archive();
        let due = wanted.config.compact().due(Some(limit), work.sizes.tokens, work.entries.len());
        let compaction = if due.is_due && wanted.compacts { work.compact() } else { None };
        let prompt = work.entries.iter().rev().find(|entry| entry.is_prompt()).map(|entry| &entry.id);
        let told = WorkTold::given_by((task, completed), &hints, prompt)?;
        let (guarded, pruned, entries) = work.prune(&before, &told)?;
        let hidden_entries = u64::try_from(hidden.len()).unwrap_or(u64::MAX);
        Ok(Shrunk { guarded, hidden_entries, cut, archived, due, compaction, pruned, entries })
    }
}

impl Shrinking<'_> {
    /// Counts an entry anew: what was reported was of another window.
    fn count(&mut self, at: usize) {
        let tokens = self.entries.get(at).map(|entry| entry_tokens(entry, self.wanted.counter));
        if let Some((size, tokens)) = self.sizes.entries.get_mut(at).zip(tokens) {
            *size = tokens;
        }
        self.sum();
    }

    fn sum(&mut self) {
        self.sizes.tokens = self.sizes.overhead + self.sizes.entries.iter().copied().sum();
        self.sizes.is_reported = false;
    }

    /// Puts one entry in the place of others: where the first of them stood.
    fn replace(&mut self, gone: &BTreeSet<usize>, entry: Entry) {
        let Some(first) = gone.first().copied() else { return };
        let size = entry_tokens(&entry, self.wanted.counter);
        let mut at = 0..;
        self.entries.retain(|_| !at.next().is_some_and(|at| gone.contains(&at)));
        let mut at = 0..;
        self.sizes.entries.retain(|_| !at.next().is_some_and(|at| gone.contains(&at)));
        self.entries.insert(first, entry);
        self.sizes.entries.insert(first, size);
        self.sum();
    }

    /// Cuts outputs of tools to their limits.
    fn cut(&mut self, limits: &OutputLimits) -> Vec<GuardCut> {
        let mut cut = Vec::new();
        for at in 0..self.entries.len() {
            let Some(entry) = self.entries.get_mut(at).filter(|entry| entry.role == Role::Tool) else {
                continue;
            };
            let (id, before) = (entry.id.clone(), cut.len());
            for part in &mut entry.parts {
                match part {
                    Part::ToolResult { call_id, parts, .. } => {
                        let Some((text, mut made)) = smaller(&id, &text_of(parts), limits) else { continue };
                        *parts = with_text(parts, &text);
                        made.call = Some(call_id.clone());
                        cut.push(made);
                    }
                    Part::Text(text) => {
                        let Some((smaller, made)) = smaller(&id, text, limits) else { continue };
                        *text = smaller;
                        cut.push(made);
                    }
                    _ => {}
                }
            }
            if cut.len() > before {
                self.count(at);
            }
        }
        cut
    }

    /// Archives results above the cutoff, and puts a summary by rules in the place of each batch.
    fn archive(&mut self) -> Vec<GuardArchived> {
        let cutoff = self.wanted.config.compact().visible_results();
        let is_kept =
            |at: usize| self.entries.get(at).is_some_and(|entry| self.essential.contains(&entry.id));
        let plan = plan_archive(&self.entries, &is_kept, cutoff);
        let mut archived = Vec::new();
        // From the end, so that the places of the others hold.
        for batch in plan.batches.iter().rev() {
            let results = archived_results(&self.entries, batch);
            let text = summary_message(&results, &heuristic_summary(&results));
            let places: BTreeSet<usize> = batch.iter().flat_map(|group| &group.entries).copied().collect();
            let ids: Vec<EntryId> =
                places.iter().filter_map(|at| self.entries.get(*at)).map(|entry| entry.id.clone()).collect();
            let Some(summary) = ids.first().map(|first| self.name("archive", first)) else { continue };
            self.replace(&places, tool_summary_entry(summary.clone(), text));
            archived.push(GuardArchived {
                entries: ids,
                summary,
                reason: format!("more than {cutoff} results of tools"),
            });
        }
        archived.reverse();
        archived
    }

    /// Puts a summary by rules in the place of the beginning, where that makes the window smaller.
    fn compact(&mut self) -> Option<GuardCompaction> {
        let limit = self.wanted.config.window().limit();
        let keep = self.wanted.config.compact().keep_recent(Some(limit));
        let to = match recent_of(&self.entries, keep) {
            Ok(to) => to,
            Err(error) => {
                self.leave(&error.to_string());
                return None;
            }
        };
        let covered = self.entries.get(..to).unwrap_or_default();
        let pinned: Vec<usize> = (0..to)
            .filter(|at| covered.get(*at).is_some_and(|entry| self.essential.contains(&entry.id)))
            .collect();
        let limits = Limits { size: Size::Tokens(Tokens(limit.0 / SUMMARY_SHARE)), ..Limits::default() };
        let text = summary(&self.entries, to, &pinned, &limits).text;
        let covers: Vec<EntryId> = covered.iter().map(|entry| entry.id.clone()).collect();
        let id = self.name("summary", covers.first()?);
        let entry = summary_entry(id.clone(), text.clone(), covers.clone());
        let before = self.sizes.tokens;
        let covered: Tokens = self.sizes.entries.iter().take(to).copied().sum();
        if text.is_empty() || entry_tokens(&entry, self.wanted.counter) >= covered {
            self.leave("a summary would not be smaller than what it stands for");
            return None;
        }
        self.replace(&(0..to).collect(), entry);
        let tokens_after = self.sizes.tokens.0;
        Some(GuardCompaction { covers, summary: id, tokens_before: before.0, tokens_after })
    }

    fn leave(&mut self, why: &str) {
        self.notes.push(Note::new(NoteCode::Degraded, format!("the entries are not compacted: {why}")));
    }

    /// Returns a name for what stands in the place of others: the same for the same entries, and no other one's.
    fn name(&self, what: &str, first: &EntryId) -> EntryId {
        let taken: HashSet<&str> = self.entries.iter().map(|entry| entry.id.as_str()).collect();
        let names = (0_usize..).map(|number| match number {
            0 => format!("{what}-{first}"),
            number => format!("{what}-{first}-{number}"),
        });
        let free = names.take(taken.len() + 1).find(|name| !taken.contains(name.as_str()));
        free.and_then(|name| EntryId::new(name).ok()).unwrap_or_else(|| first.clone())
    }

    /// Plans a prune of what is left, and carries it out.
    fn prune(self, before: &Sizes, told: &WorkTold) -> Result<(Guarded, Vec<TurnPruned>, Vec<Entry>)> {
        let Self { wanted, entries, sizes, mut notes, .. } = self;
        let window = wanted.config.window();
        let weighed = Weighed::of((&entries, &BTreeSet::new()), sizes, wanted.counter, told)?;
        let request = weighed.request(window, wanted.now);
        let (plan, overflow) = match plan_prune(request) {
            Ok(plan) => (plan, None),
            Err(overflow) => (plan_to_target(request), Some(overflow)),
        };
        let pruned = if overflow.is_none() { gone(&plan) } else { Vec::new() };
        let left: HashSet<&EntryId> = pruned.iter().map(|pruned| &pruned.entry).collect();
        let is_left = |entry: &&Entry| overflow.is_none() && !left.contains(&entry.id);
        let mut kept: Vec<Entry> = entries.iter().filter(is_left).cloned().collect();
        notes.extend(said_of(&named_apart(&mut kept), NoteCode::Conflict, CALLS_NAMED_APART));
        let live = LiveWindow::given(entries, notes);
        let asked = GuardWanted {
            window,
            counter: wanted.counter,
            overhead: wanted.overhead,
            tasks_completed: wanted.tasks_completed,
            next_operation: wanted.next_operation,
            now: wanted.now,
        };
        Ok((live.guarded(&asked, (&weighed.items, before), (plan, overflow)), pruned, kept))
    }
}

/// Returns an output within its limits, and what was cut of it; none where it is.
fn smaller(entry: &EntryId, output: &str, limits: &OutputLimits) -> Option<(String, GuardCut)> {
    let normalized = normalize(output.as_bytes(), limits);
    let whole = normalized.cut?.whole;
    let text = normalized.text.into_owned();
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let cut = GuardCut {
        entry: entry.clone(),
        call: None,
        before_chars: count(whole.chars),
        after_chars: count(Extent::of(&text).chars),
        reason: above(whole, limits),
    };
    Some((text, cut))
}

/// Says which limits an output is above.
fn above(whole: Extent, limits: &OutputLimits) -> String {
    let rows = [
        (whole.lines, limits.lines_max, "lines"),
        (whole.bytes, limits.bytes_max, "bytes"),
        (whole.chars, limits.chars_max, "characters"),
    ];
    let named = rows.iter().filter(|(is, max, _)| *max > 0 && is > max);
    let named: Vec<String> = named.map(|(is, max, what)| format!("{is} {what} of at most {max}")).collect();
    named.join(", ")
}

impl LiveWindow {
    /// Returns the window of entries that are in no chain.
    fn given(entries: Vec<Entry>, notes: Vec<Note>) -> Self {
        Self {
            ctx: None,
            ordinals: vec![None; entries.len()],
            pins: BTreeSet::new(),
            hidden_entries: 0,
            model: None,
            runtime: String::new(),
            window_tokens: None,
            told: WorkTold::default(),
            entries,
            notes,
        }
    }
}
