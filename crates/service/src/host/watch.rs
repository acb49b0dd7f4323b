//! Watching: the same as an import, while clients write.
//!
//! When to look at what is the engine's agenda to say; what a look does is an import's. Who watches hears of changes and tells
//! a person.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stemmata_api::{Answer, Kind, v1};
use stemmata_engine::{
    Agenda, CaptureOptions, Engine, EngineError, ImportFailure, ImportedSession, KeepPacked, Listen, Look,
    PackKeeper, TakeUpLimits, WatchPace, database_of_log, listen_at,
};
use stemmata_model::Trigger;

use super::Host;
use crate::fault::{Fault, problem_of};
use crate::wire;

/// Milliseconds between two looks at everything where changes cannot be heard of.
pub const WATCH_POLL_MS: u64 = 5_000;

/// Sessions at most whose open turns are kept in mind; an import keeps the others'.
const OPEN_MAX: usize = 4_096;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchRequest {
    /// Files and folders; none: the homes of clients, as they come and go.
    pub paths: Vec<PathBuf>,
    /// Milliseconds between two looks at everything, where somebody said so.
    pub poll_ms: Option<u64>,
}

/// Where to listen, to hear of changes of something that is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedPlace {
    /// What is watched.
    pub root: PathBuf,
    /// The folder to listen to.
    pub folder: PathBuf,
    /// Whether all below it counts, too.
    pub is_deep: bool,
}

/// What is to be looked at now.
#[derive(Debug)]
pub struct Due(Look);

impl Due {
    /// Says whether it is all that is watched.
    pub fn is_everything(&self) -> bool {
        self.0 == Look::Everything
    }
}

/// What a look found.
#[derive(Debug, Default)]
pub struct LookedAt {
    /// Whether there was a look at all; else everything is looked at again later.
    pub is_done: bool,
    /// Sessions with new commits, each with its title.
    pub captured: Vec<(v1::Watched, Option<String>)>,
    /// Files that were not captured and will be tried again, each with a reason that was not given the last time.
    pub failed: Vec<(PathBuf, String)>,
    /// What else went wrong.
    pub trouble: Vec<String>,
    /// A warning that the store is nearly as large as it may become.
    pub quota: Option<String>,
}

/// Something that is being watched. What grows meanwhile is packed, for as long as it is kept.
pub struct Watching<'a> {
    host: &'a Host,
    request: WatchRequest,
    options: CaptureOptions,
    agenda: Agenda,
    began: Instant,
    /// Files that were captured without what their open turns hold: that is kept once they are silent.
    open: BTreeSet<PathBuf>,
    /// Files whose last look failed: how often in a row, and what was told of it.
    failed: BTreeMap<PathBuf, (u32, String)>,
    has_looked: bool,
    _packing: PackKeeper,
}

impl Host {
    /// Begins to watch. `unpacked` is told in another thread why nothing could be packed.
    ///
    /// # Errors
    /// Those of the store; where there can be no thread.
    pub fn watch(
        &self,
        request: WatchRequest,
        unpacked: impl Fn(String) + Send + 'static,
    ) -> Answer<Watching<'_>> {
        let settings = &self.home.options().settings;
        let packing = self.with_engine(|engine| {
            Ok(engine.keep_packed(KeepPacked::default(), move |packed| {
                if let Err(error) = packed {
                    unpacked(error.to_string());
                }
            })?)
        })?;
        Ok(Watching {
            host: self,
            agenda: Agenda::new(pace(&request, true), 0),
            request,
            options: CaptureOptions {
                granularity: settings.granularity,
                leaf: settings.provisional.keeps(Trigger::TurnBoundary, false),
                ..CaptureOptions::live(Trigger::TurnBoundary)
            },
            began: Instant::now(),
            open: BTreeSet::new(),
            failed: BTreeMap::new(),
            has_looked: false,
            _packing: packing,
        })
    }
}

fn pace(request: &WatchRequest, is_heard: bool) -> WatchPace {
    match request.poll_ms {
        Some(every_ms) => WatchPace::polled(every_ms),
        None if is_heard => WatchPace::heard(),
        None => WatchPace::polled(WATCH_POLL_MS),
    }
}

impl Watching<'_> {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns what is watched just now.
    pub fn roots(&self) -> Vec<PathBuf> {
        if self.request.paths.is_empty() { self.host.clients_folders() } else { self.request.paths.clone() }
    }

    /// Returns where to listen. Before each look at everything, so that what changes during it is heard.
    pub fn places(&self) -> Vec<WatchedPlace> {
        let of = |root: PathBuf| match listen_at(&root) {
            Listen::Below(folder) => Some(WatchedPlace { root, folder, is_deep: true }),
            Listen::Beside(folder) => Some(WatchedPlace { root, folder, is_deep: false }),
            Listen::Nothing => None,
        };
        self.roots().into_iter().filter_map(of).collect()
    }

    /// Says whether changes are heard of.
    pub fn hears(&mut self, is_heard: bool) {
        self.agenda.keep_pace(pace(&self.request, is_heard), self.now_ms());
    }

    /// Hears that a file or a folder changed. A database's news are in its log first.
    pub fn changed(&mut self, path: &Path) {
        let now_ms = self.now_ms();
        self.agenda.changed(database_of_log(path).as_deref().unwrap_or(path), now_ms);
    }

    /// Hears that something changed which nobody can name.
    pub fn missed(&mut self) {
        self.agenda.missed(self.now_ms());
    }

    /// Returns what is due, and takes it off.
    pub fn due(&mut self) -> Option<Due> {
        self.agenda.take(self.now_ms()).map(Due)
    }

    /// Returns how long nothing is due, unless something is heard.
    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.agenda.next_ms().saturating_sub(self.now_ms()).max(1))
    }

    /// Returns what was heard of and not looked at yet, for the end; everything else the next start finds.
    pub fn rest(&mut self) -> Option<Due> {
        let rest = self.agenda.take_all();
        (!rest.is_empty()).then_some(Due(Look::At(rest)))
    }

    /// Looks at what is due, with exclusions and rules as they are now: a hook takes these at once, and the two must not take
    /// turns in making a chain each. A store that another process holds for long, or whose disk is full, is no end: both pass.
    ///
    /// # Errors
    /// `quota_reached` before everything is looked at; those of the store.
    pub fn look(&mut self, due: &Due) -> Answer<LookedAt> {
        let mut looked = LookedAt::default();
        if due.is_everything() {
            looked.quota = self.host.hold_quota()?;
        }
        self.try_look(&due.0, &mut looked).map_err(|fault| fault.0)?;
        Ok(looked)
    }

    fn try_look(&mut self, look: &Look, told: &mut LookedAt) -> Result<(), Fault> {
        let home = &self.host.home;
        let renewed = home.renewed().and_then(|engine| {
            if *look == Look::Everything {
                let left = home.take_up(TakeUpLimits::COMMAND)?;
                told.trouble.extend(left.iter().map(ToString::to_string));
            }
            Ok(engine)
        });
        let engine = match renewed {
            Ok(engine) => engine,
            Err(error) => {
                // What cannot be read may hold rules: nothing is taken in without them.
                told.trouble.push(later(&error));
                return Ok(());
            }
        };
        let threads = if self.has_looked { 1 } else { home.options().settings.import_threads };
        let looked = patient(engine.look(look, &self.roots(), &self.options, threads), told)?;
        let Some(mut looked) = looked else { return Ok(()) };
        (told.is_done, self.has_looked) = (true, true);
        if !self.options.leaf {
            let again = self.close_silent(&engine, &looked.failures, told)?;
            looked.failures.extend(again);
        }
        for captured in &looked.captured {
            if !self.options.leaf && self.open.len() < OPEN_MAX {
                self.open.insert(captured.path.clone());
            }
            self.failed.remove(&captured.path);
            told.captured.push(watched(captured));
        }
        let is_failing = |path: &PathBuf| looked.failures.iter().any(|failure| failure.path == *path);
        match look {
            Look::Everything => self.failed.retain(|path, _| is_failing(path)),
            Look::At(paths) => self.failed.retain(|path, _| is_failing(path) || !paths.contains(path)),
        }
        for failure in looked.failures {
            self.fail(failure, told);
        }
        Ok(())
    }

    /// Keeps what sessions held that ended without saying so. What fails is tried again at the next look.
    fn close_silent(
        &mut self,
        engine: &Engine,
        failures: &[ImportFailure],
        told: &mut LookedAt,
    ) -> Result<Vec<ImportFailure>, Fault> {
        let has_failed = |path: &PathBuf| failures.iter().any(|failure| failure.path == *path);
        let silent = self.open.iter().filter(|path| !has_failed(path) && engine.is_silent(path));
        let silent: Vec<PathBuf> = silent.cloned().collect();
        if silent.is_empty() {
            return Ok(Vec::new());
        }
        let options = CaptureOptions { trigger: Trigger::SessionEnd, leaf: true, ..self.options.clone() };
        let looked = patient(engine.look(&Look::At(silent.clone()), &[], &options, 1), told)?;
        let Some(looked) = looked else { return Ok(Vec::new()) };
        let has_failed = |path: &PathBuf| looked.failures.iter().any(|failure| failure.path == *path);
        self.open.retain(|path| !silent.contains(path) || has_failed(path));
        Ok(looked.failures)
    }

    /// Counts a failure, and tells what is new about it.
    fn fail(&mut self, ImportFailure { path, error }: ImportFailure, told: &mut LookedAt) {
        let said = match problem_of(&error).kind {
            // How long it was waited for is another number each time.
            Kind::Locked => "another process holds the store".to_owned(),
            _ => error.to_string(),
        };
        let (failures, before) = self.failed.get(&path).cloned().unwrap_or_default();
        let failures = failures.saturating_add(1);
        if before != said {
            told.failed.push((path.clone(), said.clone()));
        }
        let now_ms = self.now_ms();
        self.agenda.failed(&path, failures, now_ms);
        self.failed.insert(path, (failures, said));
    }
}

fn later(error: &EngineError) -> String {
    format!("everything will be checked again: {error}")
}

/// Returns what a look found, and nothing where somebody else holds the store for long, or its disk is full.
fn patient<T>(looked: Result<T, EngineError>, told: &mut LookedAt) -> Result<Option<T>, Fault> {
    match looked {
        Err(error) if matches!(problem_of(&error).kind, Kind::Locked | Kind::Full) => {
            told.trouble.push(later(&error));
            Ok(None)
        }
        looked => Ok(Some(looked?)),
    }
}

fn watched(imported: &ImportedSession) -> (v1::Watched, Option<String>) {
    let known = &imported.captured.session;
    let watched = v1::Watched {
        path: imported.path.to_string_lossy().into_owned(),
        session_id: known.session.clone(),
        format: known.format.clone(),
        tip: known.tip,
        new_commits: imported.captured.new_commits,
        commits: known.commits,
        bytes_redacted: imported.captured.bytes_redacted,
        notes: imported.captured.notes.clone(),
    };
    (watched, wire::session::title(known.title.as_deref()))
}

impl std::fmt::Debug for Watching<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watching").field("request", &self.request).finish_non_exhaustive()
    }
}
