//! `materialize`: the conversation as an agent should know it.

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use stemmata_model::{
    Bytes, Closure, CommitId, Counts, Entry, EntryId, FormatId, Losses, Note, NoteCode, ParseIdError,
    Timestamp, plural, to_u64,
};
use stemmata_runtimes::adapter::{Adapter, ContextPlan, Piece, PlanStop, Shape};
use stemmata_runtimes::handoff;

use crate::capture::ingest::source_error;
use crate::chain::segments::{ChainSegments, NewestBytes};
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Refusal, Result};
use crate::verbs::count::LineCounter;

/// Where a materialization stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// At the nearest compaction or snapshot.
    #[default]
    Compaction,
    /// At the root: all real entries, compaction summaries skipped.
    Root,
    /// At this ancestor, inclusive.
    Ancestor(CommitId),
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compaction => formatter.write_str("compaction"),
            Self::Root => formatter.write_str("root"),
            Self::Ancestor(ancestor) => ancestor.fmt(formatter),
        }
    }
}

impl FromStr for Stop {
    type Err = ParseIdError;

    fn from_str(text: &str) -> std::result::Result<Self, ParseIdError> {
        match text {
            "compaction" => Ok(Self::Compaction),
            "root" => Ok(Self::Root),
            ancestor => ancestor.parse().map(Self::Ancestor),
        }
    }
}

/// How well a materialization keeps what it was made from; the first is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The stored format is the one that was asked for.
    Native,
    /// Another version of the same runtime's format.
    Upgraded,
    /// Another runtime's format, with its structure.
    Transcoded,
    /// A narrative: who said what, calls and results in short.
    Rendered,
    /// The stored bytes with a description: their format is not known.
    Raw,
}

impl Tier {
    /// Returns the name used in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Upgraded => "upgraded",
            Self::Transcoded => "transcoded",
            Self::Rendered => "rendered",
            Self::Raw => "raw",
        }
    }
}

/// What a materialization is, beside its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Materialized {
    /// The format of the bytes.
    pub format: FormatId,
    /// Bytes written.
    pub bytes: Bytes,
    /// Entries, messages and estimated tokens of the result.
    pub counts: Counts,
    /// How well it keeps what it was made from.
    pub tier: Tier,
    /// Commits that were read.
    pub commits_read: u64,
    /// Entries left out because they are on abandoned branches.
    pub abandoned_entries: u64,
    /// Compactions that were skipped.
    pub skipped_compactions: u64,
    /// Entries that visibility lines hide from the model.
    pub hidden_entries: u64,
    /// Entries that got another parent: (entry, new parent).
    pub reparented: Vec<(EntryId, Option<EntryId>)>,
    /// What a translation changed and dropped; none where nothing was translated.
    pub losses: Option<Losses>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

/// Where a context's bytes go.
type Sink<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// A context to write: a plan and the chain that it points into.
pub(crate) struct PlannedContext<'e> {
    pub plan: ContextPlan,
    pub chain: ChainSegments<'e>,
    pub adapter: &'static dyn Adapter,
    /// Where what was written of each piece begins, and the number of its segment.
    starts: Vec<(u64, usize)>,
}

impl Engine {
    /// Writes the context of a commit (none: the empty context) up to a stop, in a format (none: the stored one).
    /// Pure: the same commit and parameters give the same bytes.
    ///
    /// # Errors
    /// `NoAncestor` for a stop that is not on the way to the root, `Format` for a translation that this version
    /// does not have, store errors.
    pub fn materialize(
        &self,
        ctx: Option<CommitId>,
        format: Option<&FormatId>,
        stop: Stop,
        out: &mut dyn Write,
    ) -> Result<Materialized> {
        let Some(ctx) = ctx else {
            return Ok(Self::empty(format));
        };
        if let Some(target) = self.other_format(ctx, format, stop)? {
            let translated = self.translate(ctx, target, stop)?;
            out.write_all(&translated.bytes).map_err(write_failed)?;
            return Ok(translated.made);
        }
        let mut context = self.plan_context(ctx, stop)?;
        let (bytes, counts) = context.write(&mut |piece: &[u8]| out.write_all(piece))?;
        Ok(context.finish(bytes, counts))
    }

    /// Writes the context of a commit by the best tier that works for all of its way to the stop: as `materialize`; as a
    /// narrative of so many tokens where `handoff-v1` is asked for; as stored bytes with a description where one of the
    /// formats on the way is not known.
    ///
    /// # Errors
    /// As `materialize`.
    pub fn materialize_best(
        &self,
        ctx: Option<CommitId>,
        format: Option<&FormatId>,
        (stop, budget_tokens): (Stop, u64),
        out: &mut dyn Write,
    ) -> Result<Materialized> {
        let Some(known) = ctx else { return self.materialize(ctx, format, stop, out) };
        let is_told = format.is_some_and(|format| format.as_str() == handoff::FORMAT);
        if let Some(format) = format.filter(|_| !is_told) {
            Self::adapter(format, FormatUse::Write)?;
        }
        if let Some(unknown) = self.unknown_format(known, stop)? {
            return self.raw(known, stop, &unknown, out);
        }
        if is_told {
            return self.rendered(known, stop, budget_tokens, out);
        }
        self.materialize(ctx, format, stop, out)
    }

    /// Returns the adapter to translate with: where another format was asked for than the one that is stored, or where
    /// the way to the stop leads through several.
    pub(crate) fn other_format(
        &self,
        ctx: CommitId,
        format: Option<&FormatId>,
        stop: Stop,
    ) -> Result<Option<&'static dyn Adapter>> {
        let commit = self.store.commit(ctx)?.ok_or(stemmata_store::StoreError::CommitMissing(ctx))?;
        let wanted = format.unwrap_or(&commit.core.format);
        let is_stored = commit.core.format == *wanted;
        if is_stored && (stop == Stop::Compaction || self.eras(ctx, stop)?.len() == 1) {
            return Ok(None);
        }
        Self::adapter(wanted, FormatUse::Write).map(Some)
    }

    fn empty(format: Option<&FormatId>) -> Materialized {
        let own = FormatId::new("stemmata-v1").expect("a constant name is a name");
        Materialized {
            format: format.cloned().unwrap_or(own),
            bytes: Bytes(0),
            counts: Counts::default(),
            tier: Tier::Native,
            commits_read: 0,
            abandoned_entries: 0,
            skipped_compactions: 0,
            hidden_entries: 0,
            reparented: Vec::new(),
            losses: None,
            notes: Vec::new(),
        }
    }

    /// Plans a context.
    pub(crate) fn plan_context(&self, ctx: CommitId, stop: Stop) -> Result<PlannedContext<'_>> {
        self.plan_context_within(ctx, stop, None)
    }

    /// Plans a context of which the newest commit has only its first bytes, where their number is given.
    pub(crate) fn plan_context_within(
        &self,
        ctx: CommitId,
        stop: Stop,
        newest_bytes: Option<NewestBytes>,
    ) -> Result<PlannedContext<'_>> {
        let commit = self.store.commit(ctx)?.ok_or(stemmata_store::StoreError::CommitMissing(ctx))?;
        if commit.closure == Closure::Forgotten {
            return Err(stemmata_store::StoreError::Forgotten(ctx).into());
        }
        let adapter = Self::adapter(&commit.core.format, FormatUse::Read)?;
        let (plan_stop, marked) = match stop {
            Stop::Compaction => (PlanStop::Compaction, None),
            Stop::Root => (PlanStop::Root, None),
            Stop::Ancestor(ancestor) => {
                self.check_ancestor(ancestor, ctx)?;
                (PlanStop::Ancestor, Some(ancestor))
            }
        };
        let chain = ChainSegments::new(self, Some(ctx), marked).within(newest_bytes);
        Self::plan_chain(adapter, chain, plan_stop)
    }

    /// Plans a context of commits of one format, down to the one above `bound`.
    pub(crate) fn plan_era(
        &self,
        adapter: &'static dyn Adapter,
        (ctx, bound): (CommitId, Option<CommitId>),
        (stop, marked): (PlanStop, Option<CommitId>),
    ) -> Result<PlannedContext<'_>> {
        Self::plan_chain(adapter, ChainSegments::new(self, Some(ctx), marked).above(bound), stop)
    }

    fn plan_chain<'e>(
        adapter: &'static dyn Adapter,
        chain: ChainSegments<'e>,
        stop: PlanStop,
    ) -> Result<PlannedContext<'e>> {
        let mut chain = chain.through_bases().whole(stop == PlanStop::Root);
        let mut plan = adapter.plan_context(&mut chain, stop).map_err(source_error)?;
        chain.end_reading_ahead();
        if let Some(bases) = chain.bases() {
            bases.settle(&mut plan);
        }
        Ok(PlannedContext { plan, chain, adapter, starts: Vec::new() })
    }

    pub(crate) fn check_ancestor(&self, stop: CommitId, ctx: CommitId) -> Result<()> {
        let mut walk = crate::chain::walk::Walk::new(self.store.as_ref(), Some(ctx));
        let mut looked = 0;
        while let Some(commit) = walk.next()? {
            looked += 1;
            if commit.id == stop {
                return Ok(());
            }
        }
        Err(EngineError::NoAncestor { ctx, stop, looked })
    }
}

impl PlannedContext<'_> {
    /// Hands the context's bytes to `sink`, and counts what is in them.
    pub(crate) fn write(&mut self, sink: &mut Sink<'_>) -> Result<(Bytes, Counts)> {
        let mut counter = LineCounter::new(self.adapter);
        let bytes = self.write_pieces(Some(&mut counter), sink)?;
        Ok((bytes, counter.finish().counts))
    }

    /// As `write`, for who asks for no counts.
    pub(crate) fn write_uncounted(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        self.write_pieces(None, sink).map(|_| ())
    }

    fn write_pieces(&mut self, mut counter: Option<&mut LineCounter>, sink: &mut Sink<'_>) -> Result<Bytes> {
        let mut bytes = Bytes(0);
        let mut ends_with_newline = true;
        let has_lines = self.adapter.shape() == Shape::Lines;
        for piece in &self.plan.pieces {
            self.starts.push((bytes.0, piece.segment));
            let content = self.chain.load(piece.segment)?.ok_or_else(outside_the_chain)?;
            // Two records must never share a line: a cut tail is closed before what follows it.
            let join: &[u8] = if ends_with_newline || !has_lines { b"" } else { b"\n" };
            let runs = piece_runs(piece, &content)?;
            let mut counting = counter.as_deref_mut();
            // What a plan replaces is parents and pointers, which nobody counts.
            if let Some(counter) = &mut counting
                && counter.is_between_lines()
                && let Some(counts) = self.chain.counts_of(piece)
                && content.ends_with(b"\n")
            {
                counter.add(counts);
                counting = None;
            }
            for run in std::iter::once(join).chain(runs) {
                if run.is_empty() {
                    continue;
                }
                sink(run).map_err(write_failed)?;
                if let Some(counter) = &mut counting {
                    counter.bytes(run);
                }
                bytes += Bytes::of(run);
                ends_with_newline = run.last() == Some(&b'\n');
            }
        }
        Ok(bytes)
    }

    /// Gives entries of what was written the time of their commit, where no entry of it has a time of its own: arrays of API
    /// messages have none. Formats that need a time, and who reads them, would else make it 1970.
    pub(crate) fn date(&self, entries: &mut [Entry]) {
        let position = |entry: &Entry| {
            let behind = self.starts.partition_point(|(start, _)| *start <= entry.native.offset);
            behind.checked_sub(1).and_then(|at| self.starts.get(at)).map(|(_, segment)| segment / 2)
        };
        let is_dated = |entry: &&Entry| entry.timestamp.is_some();
        let dated: HashSet<usize> = entries.iter().filter(is_dated).filter_map(position).collect();
        for entry in entries.iter_mut().filter(|entry| entry.timestamp.is_none()) {
            let commit = position(entry).filter(|at| !dated.contains(at));
            let commit = commit.and_then(|at| self.chain.commits().get(at));
            // A root without any time of its own carries the start of 1970.
            entry.timestamp = commit.map(|commit| commit.core.created_at).filter(|at| *at > Timestamp::EPOCH);
        }
    }

    pub(crate) fn finish(mut self, bytes: Bytes, counts: Counts) -> Materialized {
        let notes = self.notes();
        Materialized {
            format: self.adapter.format(),
            bytes,
            counts,
            tier: Tier::Native,
            commits_read: to_u64(self.chain.commits().len()),
            abandoned_entries: self.plan.abandoned_entries,
            skipped_compactions: self.plan.skipped_compactions,
            hidden_entries: self.plan.hidden_entries,
            reparented: self.plan.reparented,
            losses: None,
            notes,
        }
    }

    /// Takes out what the user should know.
    pub(crate) fn notes(&mut self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut self.plan.notes);
        if self.plan.abandoned_entries > 0 {
            notes.push(Note::new(
                NoteCode::AbandonedBranch,
                format!("{} of abandoned branches left out", plural(self.plan.abandoned_entries, "entry")),
            ));
        }
        if self.plan.recovered > 0 {
            notes.push(Note::new(
                NoteCode::MissingParent,
                format!(
                    "{} had a missing parent; attached to the previous entry",
                    plural(self.plan.recovered, "entry")
                ),
            ));
        }
        if self.plan.hidden_entries > 0 {
            let message = format!("{} hidden from the model", plural(self.plan.hidden_entries, "entry"));
            notes.push(Note::new(NoteCode::Degraded, message));
        }
        if let Some(hole) = self.chain.hole() {
            notes.push(Note::new(
                NoteCode::Forgotten,
                format!("the context begins after {hole}, which was forgotten"),
            ));
        }
        notes
    }
}

fn write_failed(source: io::Error) -> EngineError {
    EngineError::Store(stemmata_store::StoreError::Sink(source))
}

fn outside_the_chain() -> EngineError {
    EngineError::Refused {
        what: Refusal::Materialize,
        reasons: vec!["its plan points outside the chain's bytes".to_owned()],
    }
}

/// Splits a piece into runs of bytes: kept ranges of the content, and replacements between them.
fn piece_runs<'a>(piece: &'a Piece, content: &'a [u8]) -> Result<Vec<&'a [u8]>> {
    let outside = outside_the_chain;
    let start = usize::try_from(piece.offset).map_err(|_| outside())?;
    let length = usize::try_from(piece.length).map_err(|_| outside())?;
    let whole = content.get(start..).and_then(|rest| rest.get(..length)).ok_or_else(outside)?;
    let mut runs = Vec::with_capacity(piece.edits.len() * 2 + 1);
    let mut at = 0;
    for edit in &piece.edits {
        let from = usize::try_from(edit.offset).map_err(|_| outside())?;
        let to = from.saturating_add(usize::try_from(edit.length).map_err(|_| outside())?);
        runs.push(whole.get(at..from).ok_or_else(outside)?);
        runs.push(&edit.with);
        at = to;
    }
    runs.push(whole.get(at..).ok_or_else(outside)?);
    Ok(runs)
}
