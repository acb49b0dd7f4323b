//! A context in another runtime's format, and the commit that it becomes when it goes on there.
//!
//! What is kept, changed or dropped is decided in `stemmata_runtimes::translate`.

use stemmata_model::{
    Bytes, Closure, CommitCore, CommitId, CommitType, Counts, Entry, FormatId, Granularity, Losses, Note,
    NoteCode, artifact_id,
};
use stemmata_runtimes::adapter::{Adapter, PlanStop};
use stemmata_runtimes::clients::is_unreadable_to_others;
use stemmata_runtimes::translate::{runtime_of, translate_from};
use stemmata_store::StoreError;

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::verbs::count::count;
use crate::verbs::materialize::{Materialized, PlannedContext, Stop, Tier};

/// Bytes of a context that is translated at most: it is held in memory, some times over.
const TRANSLATED_BYTES_MAX: usize = 1 << 30;

/// A part of a chain that was written in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Era {
    /// Its newest commit.
    pub tip: CommitId,
    pub format: FormatId,
    /// The snapshot that begins it and restates what is older; none for the oldest.
    pub bound: Option<CommitId>,
}

/// Entries of several eras, oldest first.
struct Gathered {
    entries: Vec<Entry>,
    report: Losses,
    made: Materialized,
}

impl Gathered {
    fn append(&mut self, newer: Self) {
        self.entries.extend(newer.entries);
        self.report.append(newer.report);
        self.made.commits_read += newer.made.commits_read;
        self.made.abandoned_entries += newer.made.abandoned_entries;
        self.made.skipped_compactions += newer.made.skipped_compactions;
        self.made.hidden_entries += newer.made.hidden_entries;
        self.made.notes.extend(newer.made.notes);
    }
}

/// What becomes of a summary that only its provider can read, where a context begins with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seals {
    /// It stays: the context is that of the client which has it.
    Kept,
    /// What it stands for is read instead: the context leaves the provider.
    Opened,
}

/// What is said where a context begins at the root for the sake of such a summary.
pub(crate) const FROM_THE_ROOT: &str =
    "the context begins at the root: only the provider can read the summary of its compaction";

/// Returns whether a context begins with a summary that only its provider can read: to begin there would lose all that it stands
/// for.
pub(crate) fn is_lost_to_others(stop: PlanStop, entries: &[Entry]) -> bool {
    stop == PlanStop::Compaction && entries.iter().any(is_unreadable_to_others)
}

/// Makes each entry the child of the one before: eras know nothing of each other.
fn link(entries: &mut [Entry]) {
    let mut before = None;
    for entry in entries {
        entry.parent = before.replace(entry.id.clone());
    }
}

/// Returns where an era's part of a context begins; `index` counts from the oldest.
pub(crate) const fn era_stop(stop: Stop, index: usize, newest: usize) -> (PlanStop, Option<CommitId>) {
    match stop {
        Stop::Compaction if newest == 0 => (PlanStop::Compaction, None),
        Stop::Ancestor(ancestor) if index == 0 => (PlanStop::Ancestor, Some(ancestor)),
        Stop::Compaction | Stop::Root | Stop::Ancestor(_) => (PlanStop::Root, None),
    }
}

/// A context in another format.
pub(crate) struct TranslatedContext {
    pub bytes: Vec<u8>,
    pub made: Materialized,
}

impl Engine {
    /// Translates the context of a commit. Pure: the same commit and parameters give the same bytes.
    pub(crate) fn translate(
        &self,
        ctx: CommitId,
        target: &'static dyn Adapter,
        stop: Stop,
    ) -> Result<TranslatedContext> {
        self.translate_with(ctx, target, (stop, Seals::Opened))
    }

    /// As [`Engine::translate`], with summaries that only their provider can read as `seals` says.
    pub(crate) fn translate_with(
        &self,
        ctx: CommitId,
        target: &'static dyn Adapter,
        (stop, seals): (Stop, Seals),
    ) -> Result<TranslatedContext> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        if commit.closure == Closure::Forgotten {
            return Err(StoreError::Forgotten(ctx).into());
        }
        if let Stop::Ancestor(ancestor) = stop {
            self.check_ancestor(ancestor, ctx)?;
        }
        let mut gathered: Option<Gathered> = None;
        let eras = self.eras(ctx, stop)?;
        let newest = eras.len() - 1;
        if let [era] = eras.as_slice()
            && let Some(upgraded) = self.upgrade(era, era_stop(stop, 0, 0), target)?
        {
            return Ok(upgraded);
        }
        for (index, era) in eras.iter().rev().enumerate() {
            let part = self.translate_era(era, (era_stop(stop, index, newest), seals), target)?;
            match &mut gathered {
                Some(whole) => whole.append(part),
                None => gathered = Some(part),
            }
        }
        let mut gathered = gathered.ok_or(StoreError::CommitMissing(ctx))?;
        link(&mut gathered.entries);
        let bytes = target.encode(&gathered.entries);
        let is_same_runtime = runtime_of(&commit.core.format) == runtime_of(&target.format());
        let mut made = gathered.made;
        made.format = target.format();
        made.bytes = Bytes::of(&bytes);
        made.counts = count(target, &bytes, &mut made.notes).counts;
        made.tier = if is_same_runtime && newest == 0 { Tier::Upgraded } else { Tier::Transcoded };
        // Of lines that are not there any more.
        made.reparented = Vec::new();
        made.losses = Some(gathered.report);
        Ok(TranslatedContext { bytes, made })
    }

    /// Gives a context in another format of the runtime that wrote it, where the formats have a way field by field.
    fn upgrade(
        &self,
        era: &Era,
        stop: (PlanStop, Option<CommitId>),
        target: &'static dyn Adapter,
    ) -> Result<Option<TranslatedContext>> {
        if runtime_of(&era.format) != runtime_of(&target.format()) {
            return Ok(None);
        }
        let source = Self::adapter(&era.format, FormatUse::Read)?;
        let (native, context, counts) = self.native_of_era(source, era, stop)?;
        let mut made = context.finish(Bytes::of(&native), counts);
        let Some(bytes) = target.upgrade(&era.format, &native) else { return Ok(None) };
        let kept = made.counts.messages;
        made.format = target.format();
        made.bytes = Bytes::of(&bytes);
        made.counts = count(target, &bytes, &mut made.notes).counts;
        made.tier = Tier::Upgraded;
        made.losses = Some(Losses::whole(&era.format, &target.format(), kept));
        Ok(Some(TranslatedContext { bytes, made }))
    }

    /// Translates what one runtime wrote of a chain.
    fn translate_era(
        &self,
        era: &Era,
        (mut stop, seals): ((PlanStop, Option<CommitId>), Seals),
        target: &'static dyn Adapter,
    ) -> Result<Gathered> {
        let source = Self::adapter(&era.format, FormatUse::Read)?;
        let read = |stop| self.entries_of_era(source, (era, stop), &|native| source.told(native).entries);
        let (mut entries, mut made) = read(stop)?;
        let is_other = runtime_of(&era.format) != runtime_of(&target.format());
        if is_other && seals == Seals::Opened && is_lost_to_others(stop.0, &entries) {
            stop = (PlanStop::Root, None);
            (entries, made) = read(stop)?;
            made.notes.push(Note::new(NoteCode::Degraded, FROM_THE_ROOT));
        }
        let translated = translate_from(stop.0, entries, &era.format, &target.format());
        made.skipped_compactions += translated.skipped_compactions;
        Ok(Gathered { entries: translated.entries, report: translated.report, made })
    }

    /// Returns the entries of what one runtime wrote of a context, each with a time where one is known.
    pub(crate) fn entries_of_era(
        &self,
        source: &'static dyn Adapter,
        (era, stop): (&Era, (PlanStop, Option<CommitId>)),
        decode: &dyn Fn(&[u8]) -> Vec<Entry>,
    ) -> Result<(Vec<Entry>, Materialized)> {
        let (native, context, counts) = self.native_of_era(source, era, stop)?;
        let mut entries = decode(&native);
        context.date(&mut entries);
        Ok((entries, context.finish(Bytes::of(&native), counts)))
    }

    /// Returns the bytes of what one runtime wrote of a context, and what is in them.
    fn native_of_era(
        &self,
        source: &'static dyn Adapter,
        era: &Era,
        stop: (PlanStop, Option<CommitId>),
    ) -> Result<(Vec<u8>, PlannedContext<'_>, Counts)> {
        let mut context = self.plan_era(source, (era.tip, era.bound), stop)?;
        let mut native = Vec::new();
        let (_, counts) = context.write(&mut |piece: &[u8]| {
            if native.len() + piece.len() > TRANSLATED_BYTES_MAX {
                return Err(std::io::Error::other(format!(
                    "a context of more than {TRANSLATED_BYTES_MAX} bytes cannot be translated"
                )));
            }
            native.extend_from_slice(piece);
            Ok(())
        })?;
        Ok((native, context, counts))
    }

    /// Returns the parts of a chain that were written in one format each, newest first, down to a stop. A change of
    /// format is a snapshot that restates what stands below it in another.
    pub(crate) fn eras(&self, ctx: CommitId, stop: Stop) -> Result<Vec<Era>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(ctx));
        let mut eras: Vec<Era> = Vec::new();
        let mut above: Option<CommitId> = None;
        while let Some(commit) = walk.next()? {
            let is_other = eras.last().is_none_or(|era| era.format != commit.core.format);
            if is_other {
                if let Some(era) = eras.last_mut() {
                    era.bound = above;
                }
                eras.push(Era { tip: commit.id, format: commit.core.format.clone(), bound: None });
            }
            let is_end = match stop {
                Stop::Compaction => commit.core.commit_type != CommitType::Delta,
                Stop::Root => commit.closure == Closure::Forgotten,
                Stop::Ancestor(ancestor) => ancestor == commit.id,
            };
            if is_end {
                break;
            }
            above = Some(commit.id);
        }
        // A snapshot with nothing above it in its format is an era of no entries of its own.
        eras.retain(|era| era.bound != Some(era.tip));
        Ok(eras)
    }

    /// Stores the context of a commit in another runtime's format, as a snapshot below it: what goes on there has it as
    /// its parent. The same commit and format give the same snapshot.
    ///
    /// # Errors
    /// As `materialize`, and store errors.
    pub fn translated_snapshot(
        &self,
        ctx: CommitId,
        target: &'static dyn Adapter,
        stop: Stop,
    ) -> Result<(CommitId, Materialized)> {
        let commit = self.store.commit(ctx)?.ok_or(StoreError::CommitMissing(ctx))?;
        let TranslatedContext { bytes, made } = self.translate(ctx, target, stop)?;
        if made.counts.messages == 0 {
            return Err(EngineError::Refused {
                what: Refusal::Translate,
                reasons: vec![format!("nothing of {ctx} can be said in `{}`", target.format())],
            });
        }
        let core = CommitCore {
            parent: Some(ctx),
            // It stands for all that is older, in another format: nothing below it is read for its sake.
            commit_type: CommitType::Snapshot { restated_entries: 0 },
            artifact: artifact_id(&bytes),
            native: None,
            format: target.format(),
            template: target.splitter(Granularity::Turn, None).template(),
            created_at: commit.core.created_at,
        };
        let id = self.put_snapshot(core, (commit.rules, made.counts), &bytes)?;
        Ok((id, made))
    }
}
