//! What `stats` and `list` read of sessions, kept in the cache so that no transcript is read twice. Not what is made of it, which
//! is that of `verbs::sessions::stats` and `figures`.
//!
//! Numbers and names of models only. Derived: without the file, transcripts are read again. A session is known by its newest
//! commit, so what is kept of one that went on or was forgotten is dropped at the next writing; forgetting deletes the file.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stemmata_api::v1::ReportedTokens;
use stemmata_model::{CommitId, Note, NoteCode};
use stemmata_prompt::story::{Effort, EffortKey, TurnOutcome};
use stemmata_store::{read_bounded, write_file};

use crate::calibration::hex;
use crate::verbs::sessions::figures::SessionFigures;

/// Rows of all sessions at most: some ten thousand long sessions.
const ROWS_MAX: usize = 500_000;

/// Bytes of a model's name at most: it comes from a transcript.
const MODEL_BYTES_MAX: usize = 128;

/// Bytes of the file at most: more than that many rows take.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Chains whose figures are kept at most; beyond that all are read again.
const CHAINS_MAX: usize = 20_000;

/// What was done in a part of a chain.
pub(crate) type Efforts = BTreeMap<EffortKey, Effort>;

/// A part of a chain: its newest commit, and the commit that it begins behind.
pub(crate) type Part = (CommitId, Option<CommitId>);

/// The file as it is written, version 1.
#[derive(Debug, Serialize, Deserialize)]
struct FileV1 {
    /// The store that it was read from and the version that read it: another one may read more of a transcript.
    store: String,
    models: Vec<String>,
    parts: Vec<(String, Option<String>, Vec<RowV1>)>,
}

/// Slot, model, active microseconds, tokens.
type RowV1 = (Option<i64>, Option<usize>, i64, Option<TokensV1>);

/// Input, output, read from the cache and written to it; whether the output is only a part.
type TokensV1 = (u64, u64, u64, u64, bool);

/// The file of figures, version 1: tip, prompts, active microseconds, outcome.
#[derive(Debug, Serialize, Deserialize)]
struct FiguresV1 {
    store: String,
    chains: Vec<(String, u64, i64, Option<String>)>,
}

/// Where an engine keeps what was read; engines without a place keep nothing.
#[derive(Debug, Default)]
pub(crate) struct EffortSlot {
    path: Option<PathBuf>,
}

impl EffortSlot {
    /// Returns the slot in a folder of what may be deleted.
    pub(crate) fn at(cache: &Path) -> Self {
        Self { path: Some(cache.join("stats-v1.json")) }
    }

    /// Returns what was read of a store; nothing where the file is damaged, too, for it can be read again.
    pub(crate) fn load(&self, store_id: [u8; 16]) -> HashMap<Part, Efforts> {
        let file: Option<FileV1> = self.path.as_deref().and_then(file_at);
        file.filter(|file| file.store == reader(store_id)).and_then(FileV1::read).unwrap_or_default()
    }

    /// Keeps what was read. A file that cannot be written is a note: the next call reads again.
    pub(crate) fn keep(&self, store_id: [u8; 16], parts: &HashMap<Part, Efforts>) -> Option<Note> {
        let path = self.path.as_deref()?;
        let written = serde_json::to_vec(&FileV1::of(reader(store_id), parts)).map_err(io::Error::from);
        let trouble = written.and_then(|bytes| write_file(path, &bytes)).err()?;
        let message = format!(
            "what was read for the statistics cannot be kept in `{}` ({trouble}): the next call reads all again",
            path.display()
        );
        Some(Note::new(NoteCode::Degraded, message))
    }

    fn figures_path(&self) -> Option<PathBuf> {
        Some(self.path.as_deref()?.with_file_name("list-v1.json"))
    }

    /// Returns the figures of chains by their tips, as [`EffortSlot::load`] returns efforts.
    pub(crate) fn load_figures(&self, store_id: [u8; 16]) -> HashMap<CommitId, SessionFigures> {
        let file: Option<FiguresV1> = self.figures_path().as_deref().and_then(file_at);
        let Some(file) = file.filter(|file| file.store == reader(store_id)) else { return HashMap::new() };
        let of = |(tip, prompts, active_micros, outcome): (String, u64, i64, Option<String>)| {
            let outcome = outcome.map(|name| TurnOutcome::ALL.into_iter().find(|one| one.as_str() == name));
            let figures = SessionFigures { prompts, active_micros, outcome: outcome.flatten() };
            Some((tip.parse().ok()?, figures))
        };
        file.chains.into_iter().filter_map(of).collect()
    }

    /// Keeps the figures of chains. Where they cannot be kept, the next listing reads again what this one did.
    pub(crate) fn keep_figures(&self, store_id: [u8; 16], figures: &HashMap<CommitId, SessionFigures>) {
        let Some(path) = self.figures_path() else { return };
        let mut chains: Vec<_> = figures
            .iter()
            .map(|(tip, of)| {
                (
                    tip.to_string(),
                    of.prompts,
                    of.active_micros,
                    of.outcome.map(|outcome| outcome.as_str().to_owned()),
                )
            })
            .collect();
        if chains.len() > CHAINS_MAX {
            chains.clear();
        }
        chains.sort_unstable();
        let written =
            serde_json::to_vec(&FiguresV1 { store: reader(store_id), chains }).map_err(io::Error::from);
        if let Err(error) = written.and_then(|bytes| write_file(&path, &bytes)) {
            tracing::debug!(%error, "the figures of a listing are not kept");
        }
    }

    /// Removes what was kept.
    pub(crate) fn forget(&self) -> io::Result<()> {
        for path in self.path.iter().chain(&self.figures_path()) {
            match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads a file; nothing where it is not there, too long or damaged.
fn file_at<F: DeserializeOwned>(path: &Path) -> Option<F> {
    let bytes = read_bounded(path, FILE_BYTES_MAX + 1).ok().flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// How it is counted. Raised with each change of that, so that nothing counted before is kept.
const COUNTED: u32 = 2;

/// Returns what a file is of: a store, and the version that read it.
fn reader(store_id: [u8; 16]) -> String {
    format!("{} {} {COUNTED}", hex(store_id), env!("CARGO_PKG_VERSION"))
}

impl FileV1 {
    fn of(store: String, parts: &HashMap<Part, Efforts>) -> Self {
        let mut file = Self { store, models: Vec::new(), parts: Vec::new() };
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut left = ROWS_MAX;
        let mut sorted: Vec<_> = parts.iter().collect();
        sorted.sort_unstable_by_key(|(part, _)| **part);
        for ((tip, base), efforts) in sorted {
            let is_named = |key: &EffortKey| key.1.as_ref().is_none_or(|name| name.len() <= MODEL_BYTES_MAX);
            if efforts.len() > left || !efforts.keys().all(is_named) {
                continue;
            }
            left -= efforts.len();
            let mut rows = Vec::with_capacity(efforts.len());
            for ((slot, model), effort) in efforts {
                let model = model.as_deref().map(|name| {
                    *known.entry(name).or_insert_with(|| {
                        file.models.push(name.to_owned());
                        file.models.len() - 1
                    })
                });
                let tokens = effort
                    .tokens
                    .map(|of| (of.input, of.output, of.cache_read, of.cache_write, of.output_partial));
                rows.push((*slot, model, effort.active_micros, tokens));
            }
            file.parts.push((tip.to_string(), base.map(|base| base.to_string()), rows));
        }
        file
    }

    /// Returns nothing where an id is none, or a row names a model that is not there.
    fn read(self) -> Option<HashMap<Part, Efforts>> {
        let row = |(slot, model, active_micros, tokens): RowV1| {
            let model = model.map(|index| self.models.get(index).cloned().ok_or(())).transpose().ok()?;
            let tokens = tokens.map(|(input, output, cache_read, cache_write, output_partial)| {
                ReportedTokens { input, output, cache_read, cache_write, output_partial }
            });
            Some(((slot, model), Effort { active_micros, answers: 0, tokens }))
        };
        let part = |(tip, base, rows): (String, Option<String>, Vec<RowV1>)| {
            let base = base.map(|base| base.parse()).transpose().ok()?;
            Some(((tip.parse().ok()?, base), rows.into_iter().map(row).collect::<Option<Efforts>>()?))
        };
        self.parts.into_iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: [u8; 16] = [7; 16];

    fn parts() -> HashMap<Part, Efforts> {
        let tokens =
            ReportedTokens { input: 1, output: 2, cache_read: 3, cache_write: 4, output_partial: true };
        let effort = Effort { active_micros: 5, answers: 0, tokens: Some(tokens) };
        let rows = [((Some(9), Some("m".to_owned())), effort), ((None, None), Effort::default())];
        let (tip, base) = (CommitId::from_bytes([1; 16]), CommitId::from_bytes([2; 16]));
        let long = ((Some(1), Some("x".repeat(MODEL_BYTES_MAX + 1))), effort);
        HashMap::from([
            ((tip, Some(base)), rows.into_iter().collect()),
            ((base, None), Efforts::from([long])),
        ])
    }

    #[test]
    fn what_stats_read_is_kept_for_its_store_and_without_long_names() {
        let folder = tempfile::tempdir().unwrap();
        let slot = EffortSlot::at(folder.path());
        assert_eq!(slot.keep(STORE, &parts()), None);
        let mut wanted = parts();
        wanted.retain(|(_, base), _| base.is_some());
        assert_eq!(slot.load(STORE), wanted);
        assert!(slot.load([8; 16]).is_empty(), "another store's figures are not ours");
        let figures =
            SessionFigures { prompts: 3, active_micros: 5, outcome: Some(TurnOutcome::TestsPassed) };
        let figures = HashMap::from([(CommitId::from_bytes([1; 16]), figures)]);
        slot.keep_figures(STORE, &figures);
        assert_eq!((slot.load_figures(STORE), slot.load_figures([8; 16])), (figures, HashMap::new()));
        slot.forget().unwrap();
        slot.forget().unwrap();
        assert!(slot.load(STORE).is_empty() && slot.load_figures(STORE).is_empty());
    }

    #[test]
    fn a_damaged_file_of_efforts_is_read_as_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (slot, path) = (EffortSlot::at(folder.path()), folder.path().join("stats-v1.json"));
        let store = reader(STORE);
        let no_model = format!(
            r#"{{"store":"{store}","models":[],"parts":[["{}",null,[[1,0,2,null]]]]}}"#,
            CommitId::from_bytes([1; 16])
        );
        for bad in [b"".as_slice(), b"[]", b"\xff\0", no_model.as_bytes()] {
            write_file(&path, bad).unwrap();
            assert!(slot.load(STORE).is_empty(), "{bad:?}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert!(slot.load(STORE).is_empty());
        assert!(slot.keep(STORE, &parts()).unwrap().message.contains("stats-v1.json"));
    }
}
