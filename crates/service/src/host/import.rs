//! Imports of what clients keep on this machine, and of files that somebody names.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stemmata_api::{Answer, Control, Step, Unit, v1};
use stemmata_engine::{
    CaptureOptions, Engine, EngineError, FileState, HeldBack, ImportProgress, SettleBudget,
    clients::{self, Client},
};
use stemmata_model::Granularity;
use stemmata_store::PackOptions;

use super::Host;
use crate::fault::{Fault, problem_of, with_causes};
use crate::wire;

/// Settling takes at most this share of the import's own time, so that an import with search takes at most half as long again as
/// one without: opening the index and the last page come on top.
const SETTLE_SHARE: f64 = 0.35;

/// Settling may always take this long. A new turn takes less, so that an import of one turn leaves nothing to settle.
const SETTLE_MIN: Duration = Duration::from_millis(20);

/// What trouble with making briefs is kept as.
const BRIEFS: &str = "briefs";

/// Who reads what an import left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    /// A person: what was shown is not new to the next import.
    Person,
    /// A program, or nobody.
    Program,
}

/// What to import, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// Files, and folders of transcripts.
    pub paths: Vec<PathBuf>,
    /// Whether somebody named these, and expects them to be read.
    pub are_named: bool,
    /// Whether files are read from their start, even where nothing changed.
    pub full: bool,
    /// How often a commit is closed; none: as configured.
    pub granularity: Option<Granularity>,
    /// How many are read at once; none: as configured.
    pub threads: Option<u8>,
    /// Whether the briefs of these sessions are made, for hooks to hand over.
    pub briefs: bool,
    /// Who reads the answer.
    pub reader: Reader,
}

/// What is about to be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surveyed {
    /// Transcripts, but for those that are held back.
    pub transcripts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that were never read.
    pub new: u64,
    /// Those that changed since they were read.
    pub changed: u64,
    /// Those that somebody does not want captured.
    pub held_back: u64,
    /// Bytes of all files that are looked at.
    pub looked_bytes: u64,
    /// What is there and not read, or not understood.
    pub unread: Vec<v1::LeftOut>,
}

impl Surveyed {
    /// Says whether there is any transcript, also one that is held back.
    pub fn is_any(&self) -> bool {
        self.transcripts + self.held_back > 0 || self.unread.iter().any(v1::LeftOut::may_be_session)
    }
}

impl Host {
    /// Returns the folders in which clients of this machine keep transcripts.
    pub fn clients_folders(&self) -> Vec<PathBuf> {
        self.machine.clients.existing().into_iter().map(|home| home.transcripts).collect()
    }

    /// Returns where clients' transcripts are looked for, each with the client's name.
    pub fn looked_in(&self) -> Vec<(&'static str, PathBuf)> {
        let folder = |client: &Client| {
            let path = self.machine.clients.config_dir(client)?;
            Some((client.shown, path.join(client.home?.transcripts.first()?)))
        };
        clients::at_home().filter_map(folder).collect()
    }

    /// Says what an import of these would read.
    ///
    /// # Errors
    /// Only those of the store.
    pub fn survey(&self, paths: &[PathBuf]) -> Answer<Surveyed> {
        self.with_engine(|engine| {
            let survey = engine.survey_all(paths)?;
            let mut found = Surveyed { unread: wire::import::unread(&survey), ..Surveyed::default() };
            for file in survey.files {
                found.looked_bytes = found.looked_bytes.saturating_add(file.bytes);
                match file.state {
                    FileState::New => found.new += 1,
                    FileState::Changed => found.changed += 1,
                    FileState::Unchanged => {}
                    FileState::HeldBack => {
                        found.held_back += 1;
                        continue;
                    }
                    FileState::Unknown | FileState::Other => continue,
                }
                found.transcripts += 1;
                found.bytes = found.bytes.saturating_add(file.bytes);
            }
            Ok(found)
        })
    }

    /// Refuses where the store is as large as its owner lets it become; returns a warning before that. Imports and watching refuse by
    /// themselves.
    ///
    /// # Errors
    /// `quota_reached`, with what would make room; those of the store.
    pub fn hold_quota(&self) -> Answer<Option<String>> {
        self.with(|home| Ok(home.hold_quota()?.and_then(wire::quota::warning)))
    }

    /// Captures files. What goes wrong with one of them is part of the answer. Progress is told in bytes and in files, from
    /// several threads.
    ///
    /// # Errors
    /// `quota_reached`; `paused` where somebody named files and capture is paused; those of the store.
    pub fn import(&self, request: &ImportRequest, control: &Control<'_>) -> Answer<v1::Import> {
        control.check()?;
        self.hold_quota()?;
        self.with_engine(|engine| {
            let paused = engine.policy().paused(self.now()).filter(|_| request.are_named);
            if let (Some(pause), Some(path)) = (paused, request.paths.first()) {
                let reason = HeldBack::Paused(pause.clone());
                return Err(EngineError::HeldBack { path: path.clone(), reason }.into());
            }
            let settings = &self.home.options().settings;
            let options = CaptureOptions {
                granularity: request.granularity.unwrap_or(settings.granularity),
                full: request.full,
                ..CaptureOptions::import()
            };
            let threads = request.threads.map_or(settings.import_threads, usize::from);
            let (began, read) = (Instant::now(), AtomicU64::new(0));
            let report = engine.import(&request.paths, &options, threads, &|step: &ImportProgress<'_>| {
                let bytes = read.fetch_add(step.bytes, Ordering::Relaxed).saturating_add(step.bytes);
                control.progress.step(&Step { done: bytes, total: None, unit: Unit::Bytes, item: None });
                let (done, total) = (step.done as u64, Some(step.files as u64));
                let item = step.path.to_str();
                control.progress.step(&Step { done, total, unit: Unit::Files, item });
            })?;
            if request.briefs {
                self.prepare_briefs(engine, &request.paths)?;
            }
            let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let mut shown = self.home.shown_files();
            let mut imported = wire::import::import(&report, elapsed_ms, &mut shown);
            if request.reader == Reader::Person {
                wire::import::leave_out_known(&mut imported, &mut shown);
                shown.keep();
            }
            Ok(imported)
        })
    }

    /// Makes the briefs of sessions. Nobody sees what this process says, so that trouble is kept for `status`.
    fn prepare_briefs(&self, engine: &Engine, paths: &[PathBuf]) -> Result<(), Fault> {
        for path in paths {
            match engine.prepare_brief(path) {
                Ok(_) => self.home.calls().went_well(BRIEFS, Some(path.as_path())),
                Err(error) => {
                    let reason = format!("a brief was not made: {}", with_causes(&problem_of(&error)));
                    self.keep_trouble(BRIEFS, Some(path.clone()), reason).map_err(Fault)?;
                }
            }
        }
        Ok(())
    }

    /// Settles the search index after an import, for at most a share of the time that the import took. The next search settles the
    /// rest, and reports trouble with the index.
    ///
    /// # Errors
    /// Those of the store.
    pub fn settle_after_import(&self, imported: &v1::Import) -> Answer<()> {
        self.with_engine(|engine| {
            let share = Duration::from_millis(imported.totals.elapsed_ms).mul_f64(SETTLE_SHARE);
            let budget = SettleBudget::Within(share.max(SETTLE_MIN));
            engine.settle_index(budget, &mut |_, _, _| ControlFlow::Continue(()))?;
            Ok(())
        })
    }

    /// Packs what an import left, where that is much. Returns what was done; none where nothing was.
    ///
    /// # Errors
    /// As [`pack`](stemmata_api::Maintain::pack).
    pub fn pack_after_import(&self) -> Answer<Option<v1::Packing>> {
        let Some(inbox_bytes_min) = self.home.options().settings.pack_after_import_bytes else {
            return Ok(None);
        };
        self.with_engine(|engine| {
            let options = PackOptions { inbox_bytes_min, ..PackOptions::new(self.now()) };
            let before = engine.store().usage()?;
            if before.inbox_bytes < inbox_bytes_min {
                return Ok(None);
            }
            let packed = engine.pack(&options)?;
            let now = engine.store().usage()?.physical_bytes;
            Ok((packed.contents > 0).then(|| wire::maintain::packed(&packed, before.physical_bytes, now)))
        })
    }
}
