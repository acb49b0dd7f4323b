//! `watch`: the same as `import`, while clients write.
//!
//! When to look at what is the engine's agenda to say; what a look does is an import's. Here are the clock, what is
//! heard, and what a person is told.

mod ears;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use stemmata_api::v1;
use stemmata_engine::{
    Agenda, CaptureOptions, Engine, EngineError, ErrorKind, ImportFailure, ImportedSession, KeepPacked, Look,
    Looked, WatchPace,
};
use stemmata_model::Trigger;

use crate::args::live::Watch;
use crate::commands::import;
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size::{many, plural};
use crate::output::style::Style;
use crate::output::table::fit;
use crate::signals;
use crate::wiring::App;
use ears::{Ears, Heard};
use stemmata_service::wire;

/// Milliseconds between two looks where files cannot be watched.
const POLL_MS: u64 = 5_000;

/// Sessions at most whose open turns are kept in mind; an import keeps the others'.
const OPEN_MAX: usize = 4_096;

/// Columns of a session's title in a line.
const TITLE_COLUMNS: usize = 60;

/// Runs the command, until it is asked to end.
pub(crate) fn run(app: &App, args: &Watch) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    import::hold_quota(app, app.host()?)?;
    let (ears, heard) = Ears::new(args.poll.is_some());
    let stop = ears.stop();
    let _listening = signals::listen(move || stop.ask())
        .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    // Kept until the end: packing that goes on is waited for.
    let _packing = engine.keep_packed(KeepPacked::default(), |packed| {
        if let Err(error) = packed {
            tracing::warn!(%error, "nothing was packed");
        }
    })?;
    let mut watch = Watching {
        app,
        named: args.paths.iter().map(|path| app.environment.absolute(path)).collect(),
        options: CaptureOptions {
            granularity: app.settings.granularity,
            leaf: app.settings.provisional.keeps(Trigger::TurnBoundary, false),
            ..CaptureOptions::live(Trigger::TurnBoundary)
        },
        poll_ms: args.poll.map(|seconds| u64::from(seconds) * 1_000),
        ears,
        began: Instant::now(),
        open: BTreeSet::new(),
        failed: BTreeMap::new(),
        commits: 0,
        is_told: false,
    };
    watch.go_on(&heard)?;
    let commits = many(watch.commits, "commit");
    app.console.say(&format!("Stopped; {commits} captured while watching"));
    Ok(Exit::Done)
}

struct Watching<'a> {
    app: &'a App,
    /// What was named; nothing: the homes of clients, as they come and go.
    named: Vec<PathBuf>,
    options: CaptureOptions,
    /// How often to look, where somebody said so.
    poll_ms: Option<u64>,
    ears: Ears,
    began: Instant,
    /// Files that were captured without what their open turns hold: that is kept once they are silent.
    open: BTreeSet<PathBuf>,
    /// Files whose last look failed: how often in a row, and what was told of it.
    failed: BTreeMap<PathBuf, (u32, String)>,
    commits: u64,
    is_told: bool,
}

impl Watching<'_> {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn go_on(&mut self, heard: &Receiver<Heard>) -> Result<(), CliError> {
        let mut agenda = Agenda::new(self.pace(), self.now_ms());
        loop {
            // What was heard while nothing could be taken in, before what it is about.
            let mut is_over = self.ears.is_asked_to_stop();
            while let Ok(what) = heard.try_recv() {
                is_over |= self.hear(&mut agenda, what);
            }
            if self.ears.has_missed() {
                agenda.missed(self.now_ms());
            }
            if is_over {
                break;
            }
            if let Some(look) = agenda.take(self.now_ms()) {
                self.look(&mut agenda, &look)?;
                continue;
            }
            let wait_ms = agenda.next_ms().saturating_sub(self.now_ms()).max(1);
            let is_over = match heard.recv_timeout(Duration::from_millis(wait_ms)) {
                Ok(what) => self.hear(&mut agenda, what),
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if is_over {
                break;
            }
        }
        // What was heard of is captured before the end; everything else the next start finds.
        let rest = agenda.take_all();
        if rest.is_empty() { Ok(()) } else { self.look(&mut agenda, &Look::At(rest)) }
    }

    /// Takes in what was heard; returns whether it was to stop.
    fn hear(&self, agenda: &mut Agenda, what: Heard) -> bool {
        match what {
            Heard::Changed(path) => agenda.changed(&path, self.now_ms()),
            Heard::Missed => agenda.missed(self.now_ms()),
            Heard::Stop => return true,
        }
        false
    }

    fn pace(&self) -> WatchPace {
        match (self.poll_ms, self.ears.trouble()) {
            (Some(every_ms), _) => WatchPace::polled(every_ms),
            (None, Some(_)) => WatchPace::polled(POLL_MS),
            (None, None) => WatchPace::heard(),
        }
    }

    fn roots(&self) -> Vec<PathBuf> {
        if self.named.is_empty() {
            self.app.homes().existing().into_iter().map(|home| home.transcripts).collect()
        } else {
            self.named.clone()
        }
    }

    fn look(&mut self, agenda: &mut Agenda, look: &Look) -> Result<(), CliError> {
        let roots = self.roots();
        if *look == Look::Everything {
            // Before the look, so that what changes during it is heard.
            self.ears.listen_to(&roots);
            agenda.keep_pace(self.pace(), self.now_ms());
            import::hold_quota(self.app, self.app.host()?)?;
        }
        // Somebody may have excluded something since, or written rules. A hook takes these at once, and the two must not take
        // turns in making a chain each.
        let home = self.app.home()?;
        let renewed = home.renewed().map_err(CliError::from).and_then(|engine| {
            if *look == Look::Everything {
                self.app.take_up()?;
            }
            Ok(engine)
        });
        let engine = match renewed {
            Ok(engine) => engine,
            Err(error) => {
                // What cannot be read may hold rules: nothing is taken in without them.
                self.app.console.warn(&format!("everything will be looked at again: {error}"));
                return Ok(());
            }
        };
        let threads = if self.is_told { 1 } else { self.app.settings.import_threads };
        let looked = self.patient(engine.look(look, &roots, &self.options, threads))?;
        let Some(mut looked) = looked else { return Ok(()) };
        if !self.options.leaf {
            let again = self.close_silent(&engine, &looked.failures)?;
            looked.failures.extend(again);
        }
        for captured in &looked.captured {
            if !self.options.leaf && self.open.len() < OPEN_MAX {
                self.open.insert(captured.path.clone());
            }
            self.failed.remove(&captured.path);
            self.commits = self.commits.saturating_add(captured.captured.new_commits);
            self.tell(captured)?;
        }
        let failing: Vec<&PathBuf> = looked.failures.iter().map(|failure| &failure.path).collect();
        match look {
            Look::Everything => self.failed.retain(|path, _| failing.contains(&path)),
            Look::At(paths) => {
                self.failed.retain(|path, _| failing.contains(&path) || !paths.contains(path));
            }
        }
        for failure in &looked.failures {
            let failures = self.fail(failure);
            agenda.failed(&failure.path, failures, self.now_ms());
        }
        if !self.is_told {
            self.is_told = true;
            self.say_begun(&roots);
        }
        Ok(())
    }

    /// Returns what a look found, and nothing where somebody else holds the store for long, or its disk is full: both end,
    /// and watching goes on.
    fn patient(&self, looked: Result<Looked, EngineError>) -> Result<Option<Looked>, CliError> {
        match looked {
            Err(error) if matches!(error.kind(), ErrorKind::Locked | ErrorKind::Full) => {
                self.app.console.warn(&format!("everything will be looked at again: {error}"));
                Ok(None)
            }
            looked => Ok(Some(looked?)),
        }
    }

    /// Keeps what sessions held that ended without saying so. What fails is tried again at the next look.
    fn close_silent(
        &mut self,
        engine: &Engine,
        failures: &[ImportFailure],
    ) -> Result<Vec<ImportFailure>, CliError> {
        let has_failed = |path: &PathBuf| failures.iter().any(|failure| failure.path == *path);
        let silent = self.open.iter().filter(|path| !has_failed(path) && engine.is_silent(path));
        let silent: Vec<PathBuf> = silent.cloned().collect();
        if silent.is_empty() {
            return Ok(Vec::new());
        }
        let options = CaptureOptions { trigger: Trigger::SessionEnd, leaf: true, ..self.options.clone() };
        let looked = self.patient(engine.look(&Look::At(silent.clone()), &[], &options, 1))?;
        let Some(looked) = looked else { return Ok(Vec::new()) };
        let has_failed = |path: &PathBuf| looked.failures.iter().any(|failure| failure.path == *path);
        self.open.retain(|path| !silent.contains(path) || has_failed(path));
        Ok(looked.failures)
    }

    /// Counts a failure, tells what is new about it, and returns how often this file failed in a row.
    fn fail(&mut self, failure: &ImportFailure) -> u32 {
        let said = match failure.error.kind() {
            // How long it was waited for is another number each time.
            ErrorKind::Locked => "another process holds the store".to_owned(),
            _ => failure.error.to_string(),
        };
        let (failures, before) = self.failed.get(&failure.path).cloned().unwrap_or_default();
        let failures = failures.saturating_add(1);
        if before != said {
            let path = self.app.environment.shown(&failure.path);
            self.app.console.warn(&format!("{path} was not captured and will be tried again: {said}"));
        }
        self.failed.insert(failure.path.clone(), (failures, said));
        failures
    }

    fn say_begun(&self, roots: &[PathBuf]) {
        let shown: Vec<String> = roots.iter().map(|root| self.app.environment.shown(root)).collect();
        let folders =
            if shown.is_empty() { "for the first session of a client".to_owned() } else { shown.join(", ") };
        let how = match (self.poll_ms, self.ears.trouble()) {
            (Some(every_ms), _) => format!(" every {} s", every_ms / 1_000),
            (None, Some(trouble)) => {
                self.app.console.warn(&format!(
                    "changes cannot be heard of, so everything is looked at every {} s: {trouble}",
                    POLL_MS / 1_000
                ));
                String::new()
            }
            (None, None) => String::new(),
        };
        self.app.console.say(&format!("Watching {folders}{how}; Ctrl-C ends it"));
    }

    fn tell(&self, imported: &ImportedSession) -> Result<(), CliError> {
        let known = &imported.captured.session;
        tracing::info!(command = "watch", commits = imported.captured.new_commits, "captured");
        if self.app.console.json {
            return self.app.console.json_line(&v1::Watched {
                path: imported.path.to_string_lossy().into_owned(),
                session_id: known.session.to_string(),
                format: known.format.to_string(),
                tip: known.tip.map(|tip| tip.to_string()),
                new_commits: imported.captured.new_commits,
                commits: known.commits,
                bytes_redacted: imported.captured.bytes_redacted,
                notes: wire::notes(&imported.captured.notes),
            });
        }
        self.app.console.notes(&imported.captured.notes);
        let new = usize::try_from(imported.captured.new_commits).unwrap_or(usize::MAX);
        self.app.console.text(&format!(
            "{}  {}  «{}»  {}\n",
            Style::Good.paint(&plural(new, "new commit")),
            session::short_id(known.session.as_str()),
            fit(&session::title_of(known.title.as_deref().unwrap_or_default()), TITLE_COLUMNS),
            self.app.environment.shown(&imported.path)
        ))
    }
}
