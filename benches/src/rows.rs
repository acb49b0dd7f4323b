//! The rows of the table, one file each.
//! Not their output: `report` prints.

mod assemble;
mod bytes;
mod checkpoint;
mod compaction;
mod copies;
mod fork;
mod hook;
mod import;
mod ledger;
mod packed;
mod read;
mod recall;
mod retrieval;
mod scrub;
mod search;
mod service;
mod sessions;
mod surface;
mod tokens;
mod translate;

use std::path::{Path, PathBuf};

use crate::arguments::{self, Arguments};
use crate::machine;
use crate::report::Section;

/// A row by the name that the command line uses, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Row {
    /// A durable checkpoint of a turn.
    Checkpoint,
    /// What a thousand checkpoints take on disk.
    Bytes,
    /// What they take once they are packed.
    Packed,
    /// What copies made by clients take, packed.
    Copies,
    /// `native` and `materialize` of long chains.
    Read,
    /// Naming a point of a long session, and placing it.
    Fork,
    /// A folder of transcripts.
    Import,
    /// A hook's call on transcripts of several sizes.
    Hook,
    /// Reading a format, and turning it into another.
    Translate,
    /// Counting tokens.
    Tokens,
    /// Looking for secrets.
    Scrub,
    /// A ledger of events.
    Ledger,
    /// The prompt of a turn.
    Assemble,
    /// Many small sessions.
    Sessions,
    /// How good the answers of a search are.
    Retrieval,
    /// The search index.
    Search,
    /// Packs of what fits a task.
    Recall,
    /// What a summary keeps of what is needed again.
    Compaction,
    /// What people wait for.
    Surface,
    /// The same calls over HTTP.
    Service,
}

impl Row {
    /// Every row.
    pub(crate) const ALL: [Self; 20] = [
        Self::Checkpoint,
        Self::Bytes,
        Self::Packed,
        Self::Copies,
        Self::Read,
        Self::Fork,
        Self::Import,
        Self::Hook,
        Self::Translate,
        Self::Tokens,
        Self::Scrub,
        Self::Ledger,
        Self::Assemble,
        Self::Sessions,
        Self::Retrieval,
        Self::Search,
        Self::Recall,
        Self::Compaction,
        Self::Surface,
        Self::Service,
    ];

    /// Returns what it is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Bytes => "bytes",
            Self::Packed => "packed",
            Self::Copies => "copies",
            Self::Read => "read",
            Self::Fork => "fork",
            Self::Import => "import",
            Self::Hook => "hook",
            Self::Translate => "translate",
            Self::Tokens => "tokens",
            Self::Scrub => "scrub",
            Self::Ledger => "ledger",
            Self::Assemble => "assemble",
            Self::Sessions => "sessions",
            Self::Retrieval => "retrieval",
            Self::Search => "search",
            Self::Recall => "recall",
            Self::Compaction => "compaction",
            Self::Surface => "surface",
            Self::Service => "service",
        }
    }

    /// Finds a row by its name.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn parse(name: &str) -> anyhow::Result<Self> {
        let row = Self::ALL.into_iter().find(|row| row.name() == name);
        row.ok_or_else(|| anyhow::anyhow!("no row `{name}`\n\n{}", arguments::USAGE))
    }

    /// Measures the row at every size.
    ///
    /// # Errors
    /// When something fails that should not; a bad figure is no error.
    pub(crate) fn run(self, bench: &Bench) -> anyhow::Result<Section> {
        match self {
            Self::Checkpoint => checkpoint::run(bench),
            Self::Bytes => bytes::run(bench),
            Self::Packed => packed::run(bench),
            Self::Copies => copies::run(bench),
            Self::Read => read::run(bench),
            Self::Fork => fork::run(bench),
            Self::Import => import::run(bench),
            Self::Hook => hook::run(bench),
            Self::Translate => translate::run(bench),
            Self::Tokens => tokens::run(bench),
            Self::Scrub => scrub::run(bench),
            Self::Ledger => ledger::run(bench),
            Self::Assemble => assemble::run(bench),
            Self::Sessions => sessions::run(bench),
            Self::Retrieval => retrieval::run(bench),
            Self::Search => search::run(bench),
            Self::Recall => recall::run(bench),
            Self::Compaction => compaction::run(bench),
            Self::Surface => surface::run(bench),
            Self::Service => service::run(bench),
        }
    }
}

/// What all rows share: the sizes and the data.
#[derive(Debug)]
pub(crate) struct Bench {
    scales: Vec<u32>,
    are_scales_named: bool,
    corpus: Option<PathBuf>,
    files: Vec<PathBuf>,
}

impl Bench {
    /// Looks at what there is to measure with.
    ///
    /// # Errors
    /// In a build without optimization, whose figures would say nothing.
    pub(crate) fn new(arguments: &Arguments) -> anyhow::Result<Self> {
        anyhow::ensure!(!cfg!(debug_assertions), "built without optimization: use `cargo xtask bench`");
        let are_scales_named = arguments.scale_max.is_some();
        Ok(Self {
            scales: arguments.scales(),
            are_scales_named,
            corpus: arguments::corpus(),
            files: arguments.files.clone(),
        })
    }

    /// Returns the lines below the command: the machine and the data.
    pub(crate) fn about(&self) -> Vec<String> {
        let data = match &self.corpus {
            Some(_) => "recorded sessions where a row says so, else made-up ones",
            None => "made-up sessions (STEMMATA_CORPUS is not set)",
        };
        vec![machine::about(), format!("data: {data}; sizes {}", self.sizes())]
    }

    fn sizes(&self) -> String {
        let names: Vec<String> = self.scales.iter().map(|scale| format!("{scale}×")).collect();
        names.join(", ")
    }

    /// Returns the sizes to measure at, the first of them 1.
    pub(crate) fn scales(&self) -> &[u32] {
        &self.scales
    }

    /// Returns the sizes up to `scale_max` for a row whose larger sizes take minutes: only the first unless the caller named
    /// a scale.
    pub(crate) fn scales_named(&self, scale_max: u32) -> impl Iterator<Item = u32> {
        let scales: &[u32] = if self.are_scales_named { &self.scales } else { &[1] };
        scales.iter().copied().filter(move |scale| *scale <= scale_max)
    }

    /// Returns the transcripts that were named.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the folder of recorded sessions.
    pub(crate) fn corpus(&self) -> Option<&Path> {
        self.corpus.as_deref()
    }
}
