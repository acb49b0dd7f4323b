//! What no compaction may lose: what is pinned, word by word, and every entry, by its id.
//! Not what a summary is likely to need.

use std::collections::HashMap;
use std::path::PathBuf;

use stemmata_engine::{CompactOf, CompactWanted, CompactWith, Engine, EngineError, Stop};
use stemmata_model::{CommitId, Entry, EntryId, Granularity};
use stemmata_prompt::compact::summary::{Limits, Size, Window, compose, pins as pinned};

use super::Measured;
use crate::report::{Figure, Line, Target};
use crate::{scratch, stores};

/// From one pin of a session to the next, in prompts.
const PIN_EVERY: usize = 5;

/// Pins of a session take this share of its summary at most, in thousandths: nobody pins more than fits.
const PINS_SHARE: usize = 500;

const ALL: Target = Target::AtLeast(Figure::Percent(100.0));

/// Counts the pinned prompts that summaries of a tenth hold word by word.
pub(super) fn pins(all: &[Measured]) -> Line {
    let (mut kept, mut of) = (0_u32, 0_u32);
    let limits = Limits { size: Size::Share(100), ..Limits::default() };
    for one in all {
        for (cut, demand) in &one.cuts {
            let entries = one.session.entries.get(..cut.compacted).unwrap_or_default();
            let prompts = entries.iter().enumerate().filter(|(_, entry)| entry.is_prompt());
            let places: Vec<usize> = prompts.step_by(PIN_EVERY).map(|(at, _)| at).collect();
            // Four characters are a token.
            let mut chars_left = demand.tokens_of_others * 4 / 10 * PINS_SHARE / 1_000;
            let mut pins = pinned(entries, places.into_iter());
            pins.retain(|pin| {
                let chars = pin.text.chars().count();
                let fits = chars <= chars_left && !pin.text.trim().is_empty();
                chars_left -= if fits { chars } else { 0 };
                fits
            });
            let known = one.counted.get(..cut.now).unwrap_or_default();
            let window = Window {
                entries: known,
                recent_from: cut.compacted,
                pins: &pins,
                numbers: &[],
                commit: None,
            };
            let text = compose(&window, &limits).text;
            let is_there = |text: &str, pin: &str| {
                let plain: String = pin
                    .chars()
                    .map(|char| if char.is_control() && char != '\n' { ' ' } else { char })
                    .collect();
                text.contains(plain.trim_end())
            };
            of += u32::try_from(pins.len()).unwrap_or(u32::MAX);
            kept += u32::try_from(pins.iter().filter(|pin| is_there(&text, &pin.text)).count()).unwrap_or(0);
        }
    }
    Line::ours(1, format!("pins kept, of {of}"), share(kept, of)).target(ALL)
}

/// Compacts every session, and counts the entries that can still be read by their ids.
pub(super) fn recoverable(all: &[Measured]) -> anyhow::Result<Line> {
    let folder = scratch::folder()?;
    let engine = stores::engine(&folder.path().join("store"))?;
    let (mut kept, mut of) = (0_u32, 0_u32);
    for one in all {
        let file = PathBuf::from(&one.session.name);
        for tip in stores::import(&engine, std::slice::from_ref(&file), Granularity::Turn)?.tips {
            let wanted = CompactWanted::new(CompactWith::Heuristic);
            let made = match engine.compact(&CompactOf::Branch(tip), &wanted) {
                Ok(made) => made.id,
                // So short a session has nothing to compact.
                Err(EngineError::Refused { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let (before, after) = (entries(&engine, tip)?, entries(&engine, made)?);
            let known: HashMap<&EntryId, &Entry> = after.iter().map(|entry| (&entry.id, entry)).collect();
            let is_there =
                |entry: &&Entry| known.get(&entry.id).is_some_and(|found| found.parts == entry.parts);
            of += u32::try_from(before.len()).unwrap_or(u32::MAX);
            kept += u32::try_from(before.iter().filter(is_there).count()).unwrap_or(0);
        }
    }
    Ok(Line::ours(1, format!("recoverable by id, of {of} entries"), share(kept, of)).target(ALL))
}

fn entries(engine: &Engine, ctx: CommitId) -> anyhow::Result<Vec<Entry>> {
    Ok(engine.numbered_entries(ctx, Stop::Root)?.entries)
}

fn share(part: u32, of: u32) -> Figure {
    Figure::Percent(if of == 0 { 100.0 } else { 100.0 * f64::from(part) / f64::from(of) })
}
