//! `watch`: the same as `import`, while clients write.
//!
//! When to look at what, and what a look does, is the host's. Here is what is heard, and what a person is told.

mod ears;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError};

use stemmata_api::v1;
use stemmata_service::{Due, WATCH_POLL_MS, WatchRequest, Watching};

use crate::args::live::Watch;
use crate::errors::{CliError, Exit};
use crate::output::session;
use crate::output::size::{many, plural};
use crate::output::style::Style;
use crate::signals;
use crate::wiring::App;
use ears::{Ears, Heard};

/// Columns of a session's title in a line.
const TITLE_COLUMNS: usize = 60;

/// Runs the command, until it is asked to end.
pub(crate) fn run(app: &App, args: &Watch) -> Result<Exit, CliError> {
    let host = app.opened_host()?;
    let (ears, heard) = Ears::new(args.poll.is_some());
    let stop = ears.stop();
    let _listening = signals::listen(move || stop.ask())
        .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    let request = WatchRequest {
        paths: args.paths.iter().map(|path| app.environment.absolute(path)).collect(),
        poll_ms: args.poll.map(|seconds| u64::from(seconds) * 1_000),
    };
    let polls_s = args.poll;
    let watching = host.watch(request, |error| tracing::warn!(error, "nothing was packed"))?;
    let mut watch = Watcher { app, watching, polls_s, ears, commits: 0, is_told: false };
    watch.go_on(&heard)?;
    let commits = many(watch.commits, "commit");
    app.console.say(&format!("Stopped; {commits} captured while watching"));
    Ok(Exit::Done)
}

struct Watcher<'a> {
    app: &'a App,
    watching: Watching<'a>,
    /// How often everything is looked at, where somebody said so.
    polls_s: Option<u32>,
    ears: Ears,
    commits: u64,
    is_told: bool,
}

impl Watcher<'_> {
    fn go_on(&mut self, heard: &Receiver<Heard>) -> Result<(), CliError> {
        loop {
            // What was heard while nothing could be taken in, before what it is about.
            let mut is_over = self.ears.is_asked_to_stop();
            while let Ok(what) = heard.try_recv() {
                is_over |= self.hear(what);
            }
            if self.ears.has_missed() {
                self.watching.missed();
            }
            if is_over {
                break;
            }
            if let Some(due) = self.watching.due() {
                self.look(&due)?;
                continue;
            }
            let is_over = match heard.recv_timeout(self.watching.wait()) {
                Ok(what) => self.hear(what),
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            if is_over {
                break;
            }
        }
        // What was heard of is captured before the end.
        self.watching.rest().map_or(Ok(()), |rest| self.look(&rest))
    }

    /// Takes in what was heard; returns whether it was to stop.
    fn hear(&mut self, what: Heard) -> bool {
        match what {
            Heard::Changed(path) => self.watching.changed(&path),
            Heard::Missed => self.watching.missed(),
            Heard::Stop => return true,
        }
        false
    }

    fn look(&mut self, due: &Due) -> Result<(), CliError> {
        let app = self.app;
        if due.is_everything() {
            self.ears.listen_to(&self.watching.places());
            self.watching.hears(self.ears.trouble().is_none());
        }
        let looked = self.watching.look(due)?;
        let quota = looked.quota.iter().filter(|_| !app.console.quiet);
        quota.chain(&looked.trouble).for_each(|told| app.console.warn(told));
        for (captured, title) in &looked.captured {
            self.commits = self.commits.saturating_add(captured.new_commits);
            self.tell(captured, title.as_deref())?;
        }
        for (path, reason) in &looked.failed {
            let path = app.environment.shown(path);
            app.console.warn(&format!("{path} was not captured and will be tried again: {reason}"));
        }
        if looked.is_done && !self.is_told {
            self.is_told = true;
            self.say_begun(&self.watching.roots());
        }
        Ok(())
    }

    fn say_begun(&self, roots: &[PathBuf]) {
        let shown: Vec<String> = roots.iter().map(|root| self.app.environment.shown(root)).collect();
        let folders =
            if shown.is_empty() { "for the first session of a client".to_owned() } else { shown.join(", ") };
        let how = self.polls_s.map(|every| format!(" every {every} s")).unwrap_or_default();
        if let (None, Some(trouble)) = (self.polls_s, self.ears.trouble()) {
            self.app.console.warn(&format!(
                "file-system events are not available, so everything is checked every {} s: {trouble}",
                WATCH_POLL_MS / 1_000
            ));
        }
        self.app.console.say(&format!("Watching {folders}{how}; Ctrl-C ends it"));
    }

    fn tell(&self, captured: &v1::Watched, title: Option<&str>) -> Result<(), CliError> {
        tracing::info!(command = "watch", commits = captured.new_commits, "captured");
        if self.app.console.json {
            return self.app.console.json_line(captured);
        }
        self.app.console.notes(&captured.notes);
        let new = usize::try_from(captured.new_commits).unwrap_or(usize::MAX);
        let ids = self.app.short_sessions([&captured.session_id])?;
        self.app.console.text(&format!(
            "{}  {}  «{}»  {}\n",
            Style::Good.paint(&plural(new, "new commit")),
            ids.concat(),
            self.app.console.fit(&session::title_of(title.unwrap_or_default()), TITLE_COLUMNS),
            self.app.environment.shown(Path::new(&captured.path))
        ))
    }
}
