//! The engine over a SQLite store, set up as the product sets it up.
//! Not the memory backend: what is measured must be durable.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use stemmata_engine::{
    CaptureOptions, CheckpointRequest, Engine, Identity, RandomIds, SearchAnswer, SearchFilter, SearchForm,
    SearchQuery, SettleBudget, Settled, SystemClock,
};
use stemmata_model::{CommitId, FormatId, Granularity, MachineId, SessionId, Template, Trigger};
use stemmata_store::{Patience, SqliteOptions, SqliteStore, Store};

use crate::machine;

/// The format of made-up sessions.
pub(crate) const CLAUDE_FORMAT: &str = "claude-code-v1";

/// Opens the store of a folder and puts an engine over it.
///
/// # Errors
/// When the store cannot be opened.
pub(crate) fn engine(folder: &Path) -> anyhow::Result<Engine> {
    let store = SqliteStore::open(folder, SqliteOptions::default()).context("opening the store")?;
    let store: Arc<dyn Store> = Arc::new(store);
    let identity = Identity {
        machine: MachineId::new("be9c".repeat(8))?,
        machine_label: "bench".to_owned(),
        user: "bench".to_owned(),
        former: Vec::new(),
    };
    Ok(Engine::over(store, Arc::new(SystemClock), Arc::new(RandomIds), identity))
}

/// Opens the store of a folder, with the search index of another.
///
/// # Errors
/// When the store cannot be opened.
pub(crate) fn indexed(store: &Path, index: &Path) -> anyhow::Result<Engine> {
    Ok(engine(store)?.with_index(index, Patience::each(Duration::from_secs(1))))
}

/// Has the index take in what is new.
///
/// # Errors
/// The engine's, and trouble with the index.
pub(crate) fn settle(engine: &Engine, budget: SettleBudget) -> anyhow::Result<Settled> {
    let settled = engine.settle_index(budget, &mut |_, _, _| ControlFlow::Continue(()))?;
    anyhow::ensure!(settled.trouble.is_none(), "{:?}", settled.trouble);
    Ok(settled)
}

/// Returns the query for words, as the command line asks it.
pub(crate) fn query(text: &str, hits_max: usize) -> SearchQuery {
    SearchQuery {
        text: text.to_owned(),
        form: SearchForm::Words,
        filter: SearchFilter::default(),
        is_unfinished: false,
        is_spread: false,
        hits_max,
        budget: SettleBudget::All,
    }
}

/// Searches.
///
/// # Errors
/// The engine's.
pub(crate) fn search(engine: &Engine, query: &SearchQuery) -> anyhow::Result<SearchAnswer> {
    Ok(engine.search(query, &mut |_, _, _| ControlFlow::Continue(()))?)
}

/// A session that grows by checkpoints, each on the one before.
pub(crate) struct Thread<'e> {
    engine: &'e Engine,
    session: SessionId,
    format: FormatId,
    template: Template,
    tip: Option<CommitId>,
}

impl<'e> Thread<'e> {
    /// Starts an empty session.
    ///
    /// # Errors
    /// When a name is no name.
    pub(crate) fn new(engine: &'e Engine, session: &str, format: &str) -> anyhow::Result<Self> {
        Ok(Self {
            engine,
            session: SessionId::new(session)?,
            format: FormatId::new(format)?,
            template: Template::new("bench/main")?,
            tip: None,
        })
    }

    /// Returns the newest commit.
    pub(crate) fn tip(&self) -> Option<CommitId> {
        self.tip
    }

    /// Adds a delta.
    ///
    /// # Errors
    /// The engine's.
    pub(crate) fn checkpoint(&mut self, bytes: &[u8]) -> anyhow::Result<CommitId> {
        let request = CheckpointRequest {
            parent: self.tip,
            trigger: Trigger::TurnBoundary,
            ..CheckpointRequest::delta(
                bytes.to_vec(),
                self.format.clone(),
                self.template.clone(),
                self.session.clone(),
            )
        };
        let done = self.engine.checkpoint(&request)?;
        self.tip = Some(done.id);
        Ok(done.id)
    }
}

/// Imports paths with as many threads as there are CPUs and returns the number of commits; a file that fails
/// fails the run.
///
/// # Errors
/// The first failure.
pub(crate) fn import(
    engine: &Engine,
    paths: &[PathBuf],
    granularity: Granularity,
) -> anyhow::Result<Imported> {
    let options = CaptureOptions { granularity, ..CaptureOptions::import() };
    let report = engine.import(paths, &options, machine::cpus(), &|_| {})?;
    if let Some(failure) = report.failures.into_iter().next() {
        return Err(failure.error).with_context(|| format!("importing {}", failure.path.display()));
    }
    let mut imported = Imported::default();
    for session in &report.sessions {
        imported.tips.extend(session.captured.session.tip);
        imported.commits += session.captured.new_commits;
        imported.bytes_in += session.captured.bytes_in;
        imported.files.push(session.path.clone());
    }
    Ok(imported)
}

/// What an import found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Imported {
    /// The newest commit of each session.
    pub tips: Vec<CommitId>,
    /// Commits that were new.
    pub commits: u64,
    /// Bytes of the transcripts.
    pub bytes_in: u64,
    /// The transcripts, each with a session.
    pub files: Vec<PathBuf>,
}
