//! The facet `GiveBack` over a store of this machine.

use std::io::{self, Read, Write};

use stemmata_api::v1::{
    ArtifactReadRequest, ArtifactText, BUNDLE_COMMITS_MAX, BundleExportRequest, BundleExported, BundleHave,
    BundleHaveRequest, BundleImportRequest, BundleImported, BundleShowRequest, BundleShown,
    CheckpointContext, CheckpointFileMade, CheckpointFileRequest, ExportRequest, Exported,
    HANDOFF_TOKENS_DEFAULT, Handoff, HandoffReader, HandoffRequest, MaterializeRequest, Materialized, Native,
    NativeRequest, NativeSize, NativeSizeRequest, PlacementRecorded, PreparePlacementRequest,
    PreparedPlacement, RecordPlacementRequest, Sidecars, SidecarsRequest, SummarizeRequest, Summarized,
};
use stemmata_api::{Answer, ByteSource, Code, Control, GiveBack, Problem, Step, Unit};
use stemmata_engine::prompt::story::ChangeForm;
use stemmata_engine::{
    BundleImportOptions, BundleLimits, BundleSelection, BundleSource, Engine, HANDOFF_TOKENS_MIN,
};
use stemmata_model::FormatId;

use super::summarize::summarize;
use super::{Local, artifact, bad_request, checkpoint_file, ctx, stop};
use crate::fault::Fault;
use crate::wire;

// What a command line or a page says of them has to hold.
const _: () = assert!(BUNDLE_COMMITS_MAX == stemmata_engine::BUNDLE_COMMITS_MAX);
const _: () = assert!(HANDOFF_TOKENS_DEFAULT == stemmata_engine::HANDOFF_TOKENS_DEFAULT);

/// Passes bytes on until the caller cancels, and says how many there were.
struct Controlled<'a, 'c, T: ?Sized> {
    inner: &'a mut T,
    control: &'a Control<'c>,
    done: u64,
}

impl<T: ?Sized> Controlled<'_, '_, T> {
    /// Fails once the caller has cancelled. Of the kinds of errors, some would be tried again.
    fn check(&self) -> io::Result<()> {
        self.control.check().map_err(io::Error::other)
    }

    fn step(&mut self, bytes: usize) {
        self.done = self.done.saturating_add(bytes as u64);
        self.control.progress.step(&Step { done: self.done, total: None, unit: Unit::Bytes, item: None });
    }
}

impl Write for Controlled<'_, '_, dyn Write + '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        let written = self.inner.write(bytes)?;
        self.step(written);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// A bundle as the engine reads one.
struct Source<'a, 'c> {
    bytes: &'a dyn ByteSource,
    control: &'a Control<'c>,
}

impl BundleSource for Source<'_, '_> {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        self.control.check().map_err(io::Error::other)?;
        self.bytes.read_at(at, into)
    }
}

impl Local {
    /// Runs a use case that the caller may cancel, and says so where he did.
    fn controlled<T>(
        &self,
        control: &Control<'_>,
        act: impl FnOnce(&Engine) -> Result<T, Fault>,
    ) -> Answer<T> {
        control.check()?;
        let done = self.with(act);
        if done.is_err() {
            control.check()?;
        }
        done
    }

    /// Runs a use case that writes.
    fn writing<T>(
        &self,
        out: &mut dyn Write,
        control: &Control<'_>,
        act: impl FnOnce(&Engine, &mut dyn Write) -> Result<T, Fault>,
    ) -> Answer<T> {
        let mut out = Controlled { inner: out, control, done: 0 };
        self.controlled(control, |engine| act(engine, &mut out))
    }
}

impl GiveBack for Local {
    fn native(&self, request: &NativeRequest, out: &mut dyn Write, control: &Control<'_>) -> Answer<Native> {
        self.writing(out, control, |engine, out| {
            let id = ctx(engine, &request.ctx)?;
            let bytes = match (request.from, request.to) {
                (Some(from), Some(to)) if from > to => {
                    return Err(bad_request("to", "the range ends before it begins"));
                }
                (None, None) => engine.native(id, out)?,
                (from, to) => engine.native_range(id, from.unwrap_or(0)..to.unwrap_or(u64::MAX), out)?,
            };
            Ok(Native { ctx: id, bytes: bytes.0, path: None })
        })
    }

    fn native_size(&self, request: &NativeSizeRequest) -> Answer<NativeSize> {
        self.with(|engine| {
            let id = ctx(engine, &request.ctx)?;
            Ok(NativeSize { ctx: id, bytes: engine.native_size(id)?.map(|bytes| bytes.0) })
        })
    }

    fn sidecars(&self, request: &SidecarsRequest) -> Answer<Sidecars> {
        self.with(|engine| Ok(wire::sidecar::sidecars(&engine.sidecars(ctx(engine, &request.ctx)?)?)))
    }

    fn materialize(
        &self,
        request: &MaterializeRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Materialized> {
        self.writing(out, control, |engine, out| {
            let id = request.ctx.as_deref().map(|text| ctx(engine, text)).transpose()?;
            let stop = stop(engine, &request.stop)?;
            let format = request.format.as_deref().map(FormatId::new).transpose()?;
            let budget = enough(request.budget_tokens.unwrap_or(HANDOFF_TOKENS_DEFAULT))?;
            let made = match id.zip(request.at.as_deref()) {
                Some(at) => engine.materialize_at(at, format.as_ref(), (stop, budget), out)?,
                None => engine.materialize_best(id, format.as_ref(), (stop, budget), out)?,
            };
            Ok(wire::context::materialized(id, stop, &made))
        })
    }

    fn export(
        &self,
        request: &ExportRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Exported> {
        self.writing(out, control, |engine, out| {
            let id = ctx(engine, &request.ctx)?;
            let stop = stop(engine, &request.stop)?;
            let prompts = request.prompts.as_ref().map(|range| range.from..=range.through);
            Ok(engine.export(id, (request.form, stop, prompts), out)?)
        })
    }

    fn handoff(
        &self,
        request: &HandoffRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<Handoff> {
        let budget = enough(request.budget_tokens).map_err(|fault| fault.0)?;
        self.writing(out, control, |engine, out| {
            let id = ctx(engine, &request.ctx)?;
            let stop = stop(engine, &request.stop)?;
            let made = match request.reader {
                HandoffReader::Agent => engine.handoff_best(id, stop, budget, out)?,
                HandoffReader::Pr => engine.handoff_change(id, ChangeForm::PullRequest, out)?,
                HandoffReader::Commit => engine.handoff_change(id, ChangeForm::Commit, out)?,
            };
            Ok(wire::context::handoff(id, stop, budget, &made))
        })
    }

    fn summarize(&self, request: &SummarizeRequest) -> Answer<Summarized> {
        self.with(|engine| summarize(engine, request))
    }

    fn read_artifact(&self, request: &ArtifactReadRequest) -> Answer<ArtifactText> {
        self.with(|engine| artifact::read(engine, request))
    }

    fn checkpoint_file(
        &self,
        request: &CheckpointFileRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<CheckpointFileMade> {
        let rules = self.home.options().settings.window;
        let now = self.now();
        self.writing(out, control, |engine, out| checkpoint_file::write(engine, request, (&rules, now), out))
    }

    fn load_checkpoint_file(&self, content: &mut dyn Read) -> Answer<CheckpointContext> {
        self.with(|engine| checkpoint_file::load(engine, content, self.by()))
    }

    fn prepare_placement(&self, request: &PreparePlacementRequest) -> Answer<PreparedPlacement> {
        self.with(|engine| {
            let (id, stop) = (ctx(engine, &request.ctx)?, stop(engine, &request.stop)?);
            let (runtime, at) = (request.runtime.as_deref(), request.at.as_deref());
            let prepared = if request.dry_run {
                engine.preview_placement(id, runtime, stop, at)?
            } else {
                engine.prepare_placement(id, runtime, stop, at)?
            };
            Ok(wire::place::prepared(&prepared))
        })
    }

    fn record_placement(&self, request: &RecordPlacementRequest) -> Answer<PlacementRecorded> {
        self.with(|engine| {
            engine.record_placement(&wire::place::record_of(request)?)?;
            Ok(PlacementRecorded { ctx: request.ctx })
        })
    }

    fn export_bundle(
        &self,
        request: &BundleExportRequest,
        out: &mut dyn Write,
        control: &Control<'_>,
    ) -> Answer<BundleExported> {
        self.writing(out, control, |engine, out| {
            let what = selection(engine, &request.commits, request.project.as_deref(), request.all)?;
            Ok(engine.export_bundle(&what, &request.have, out)?)
        })
    }

    fn import_bundle(
        &self,
        request: &BundleImportRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleImported> {
        self.controlled(control, |engine| {
            let options = BundleImportOptions {
                limits: limits(request.commits_max, request.content_bytes_max),
                dry_run: request.dry_run,
                ..BundleImportOptions::default()
            };
            Ok(engine.import_bundle(&Source { bytes: source, control }, &options)?)
        })
    }

    fn show_bundle(
        &self,
        request: &BundleShowRequest,
        source: &dyn ByteSource,
        control: &Control<'_>,
    ) -> Answer<BundleShown> {
        self.controlled(control, |_| {
            let limits = limits(request.commits_max, request.content_bytes_max);
            Ok(Engine::show_bundle(&Source { bytes: source, control }, limits)?)
        })
    }

    fn bundle_have(&self, request: &BundleHaveRequest) -> Answer<BundleHave> {
        self.with(|engine| {
            let what = selection(engine, &request.commits, request.project.as_deref(), request.all)?;
            Ok(BundleHave { commits: engine.bundle_have(&what)? })
        })
    }
}

/// Refuses a budget that a handoff's frame alone would take up.
fn enough(budget: u64) -> Result<u64, Fault> {
    if budget >= HANDOFF_TOKENS_MIN {
        return Ok(budget);
    }
    let reason = format!(
        "a budget of {budget} tokens is too small: it is at least {HANDOFF_TOKENS_MIN}, as the frame takes some"
    );
    Err(Problem::new(Code::BudgetTooSmall, reason).into())
}

fn selection(
    engine: &Engine,
    commits: &[String],
    project: Option<&str>,
    all: bool,
) -> Result<BundleSelection, Fault> {
    if usize::from(all) + usize::from(project.is_some()) + usize::from(!commits.is_empty()) > 1 {
        return Err(bad_request("commits", "only one of `commits`, `project` and `all` says what to take"));
    }
    if all {
        return Ok(BundleSelection::All);
    }
    if let Some(project) = project {
        return Ok(BundleSelection::Project(project.to_owned()));
    }
    if commits.is_empty() {
        return Err(bad_request("commits", "it is empty, and neither `project` nor `all` is set"));
    }
    let commits: Result<_, _> = commits.iter().map(|text| ctx(engine, text)).collect();
    Ok(BundleSelection::Commits(commits?))
}

fn limits(commits_max: Option<u64>, content_bytes_max: Option<u64>) -> BundleLimits {
    BundleLimits {
        commits_max: commits_max.unwrap_or(BUNDLE_COMMITS_MAX),
        content_bytes_max,
        ..BundleLimits::default()
    }
}
