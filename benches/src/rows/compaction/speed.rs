//! How long a prune and a compaction of a long made-up window take, and how much memory beyond their input.
//! Not how long the window takes to be read: its counters are held.

use anyhow::Context as _;
use stemmata_model::{Entry, Estimate, Timestamp, Tokens};
use stemmata_prompt::compact::summary::{Limits, Size, Window as Compacted, compose, count};
use stemmata_prompt::guard::derive::{DeriveRequest, Derived, derive};
use stemmata_prompt::guard::{ItemCounters, PruneRequest, Window, WindowSettings, item_counters, plan_prune};

use crate::input::claude_session;
use crate::machine;
use crate::measure::{Times, spent};
use crate::report::{Figure, Line, Target};

/// Entries of the window, and the bytes of the made-up session that has as many.
const ENTRIES: usize = 10_000;
const BYTES: u64 = 40_000_000;

/// Times that each is made, after one that warms up.
const ROUNDS: usize = 20;

/// The most time that each may take, in the middle.
const TIME: Target = Target::AtMost(Figure::Seconds(0.010));

/// The most memory that they may take beyond their input.
const MEMORY: Target = Target::AtMost(Figure::Bytes(10_000_000.0));

pub(super) fn lines() -> anyhow::Result<Vec<Line>> {
    let entries = window()?;
    let cold = spent(|| Ok(count(&entries)))?;
    let counted = count(&entries);
    let limits = Limits { size: Size::Share(100), ..Limits::default() };
    let recent_from = entries.len() * 85 / 100;
    let compacted = Compacted { entries: &counted, recent_from, pins: &[], numbers: &[], commit: None };
    let counters: Vec<ItemCounters> = entries.iter().map(|entry| item_counters(entry, &Estimate)).collect();
    let counters: Vec<&ItemCounters> = counters.iter().collect();
    let request = DeriveRequest { entries: &entries, counters: &counters, hints: &[], tasks: None };
    let Derived { items, tasks } = derive(request)?;
    let tokens: Tokens = items.iter().map(|item| item.size).sum();
    // The window is full: as much as can be is pruned.
    let limit = Window::new(WindowSettings::of(tokens))?;
    let now = entries.iter().filter_map(|entry| entry.timestamp).max().unwrap_or(Timestamp::from_micros(0));
    let prune = PruneRequest { window: &limit, items: &items, tasks: &tasks, now };
    let of = |what: &str| format!("{what} of {} entries, counters held", entries.len());
    let (pruned, pruned_bytes) = repeated(&|| anyhow::Ok(plan_prune(prune).is_ok()))?;
    let (made, made_bytes) = repeated(&|| anyhow::Ok(compose(&compacted, &limits)))?;
    let derived = spent(|| Ok(derive(request)?))?;
    let mut lines = vec![
        Line::ours(1, of("prune"), Figure::time(pruned)).target(TIME),
        Line::ours(1, of("compaction"), Figure::time(made)).target(TIME),
        Line::ours(1, "compaction, counters made first", Figure::time(cold.cpu)),
        Line::ours(1, "prune, items derived first", Figure::time(derived.cpu)),
    ];
    if let Some(bytes) = pruned_bytes.zip(made_bytes).map(|(prune, made)| prune.max(made)) {
        lines.push(Line::ours(1, "memory of both beyond their input", Figure::bytes(bytes)).target(MEMORY));
    }
    Ok(lines)
}

fn window() -> anyhow::Result<Vec<Entry>> {
    let text = claude_session(7, BYTES)?;
    let (adapter, _) =
        stemmata_runtimes::registry::detect(text.get(..65_536).unwrap_or(&text)).context("a format")?;
    let mut entries = adapter.decode(&text).entries;
    entries.retain(|entry| entry.meta.visibility.agent);
    entries.truncate(ENTRIES);
    Ok(entries)
}

/// Returns the time on a CPU in the middle of several rounds, and the most memory that a round took on top of what was there; none
/// where this machine cannot say it.
fn repeated<T>(act: &dyn Fn() -> anyhow::Result<T>) -> anyhow::Result<(std::time::Duration, Option<u64>)> {
    let before = machine::reset_peak_memory().then(machine::peak_memory_bytes).flatten();
    act()?;
    let bytes = before.zip(machine::peak_memory_bytes()).map(|(before, after)| after.saturating_sub(before));
    let times: Vec<_> = (0..ROUNDS).map(|_| Ok(spent(act)?.cpu)).collect::<anyhow::Result<_>>()?;
    Ok((Times::new(times).median(), bytes))
}
