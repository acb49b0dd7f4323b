//! `summarize`: the entries of a context with their numbers, for a summary of its beginning.
//!
//! What the summary keeps is decided in `stemmata_prompt::compact`; nothing is stored here.

use std::collections::HashMap;

use stemmata_model::{CommitId, Entry, EntryId, FormatId};
use stemmata_runtimes::captured;

use crate::engine::Engine;
use crate::error::{FormatUse, Result};
use crate::verbs::materialize::Stop;
use crate::verbs::translate::Seals;

/// The entries of a context.
#[derive(Debug, Clone, PartialEq)]
pub struct NumberedEntries {
    /// The entries, as `materialize` writes them in `stemmata-v1`.
    pub entries: Vec<Entry>,
    /// The number of each in its chain, from 1: [`around`](Engine::around) takes it. An entry that stands for others has the number of
    /// the one before it.
    pub numbers: Vec<u64>,
}

impl Engine {
    /// Returns the entries of a context, the same as its `stemmata-v1` form has, and the number of each in its chain.
    ///
    /// # Errors
    /// As [`materialize`](Self::materialize).
    pub fn numbered_entries(&self, ctx: CommitId, stop: Stop) -> Result<NumberedEntries> {
        let (entries, _) = self.told_entries(ctx, (stop, Seals::Opened))?;
        let mut known: HashMap<EntryId, Vec<u64>> = HashMap::new();
        self.each_entry(ctx, &mut |number, entry| known.entry(entry.id).or_default().push(number))?;
        let mut numbers = Vec::with_capacity(entries.len());
        // From the end: what is read begins somewhere in the chain, and ends where that does. So each copy of an id has its own
        // number, whatever follows it.
        for entry in entries.iter().rev() {
            let own = known.get_mut(&entry.id);
            numbers.push(own.and_then(|own| if own.len() > 1 { own.pop() } else { own.first().copied() }));
        }
        let mut last = 1;
        let numbers = numbers.into_iter().rev().map(|number| {
            last = number.unwrap_or(last);
            last
        });
        Ok(NumberedEntries { numbers: numbers.collect(), entries })
    }

    /// Returns the entries of a context, the same as its `stemmata-v1` form has, and how many are hidden from the model.
    pub(crate) fn told_entries(
        &self,
        ctx: CommitId,
        (stop, seals): (Stop, Seals),
    ) -> Result<(Vec<Entry>, u64)> {
        let format = FormatId::new(captured::ENTRIES)?;
        let mut bytes = Vec::new();
        let made = match self.other_format(ctx, Some(&format), stop)? {
            Some(target) => {
                let translated = self.translate_with(ctx, target, (stop, seals))?;
                bytes = translated.bytes;
                translated.made
            }
            None => self.materialize(Some(ctx), Some(&format), stop, &mut bytes)?,
        };
        Ok((Self::adapter(&format, FormatUse::Read)?.decode(&bytes).entries, made.hidden_entries))
    }
}
