//! A search that takes long: how far it is on standard error, where a person watches, and Ctrl-C.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stemmata_api::{CancelToken, Control, Progress, Step, Unit};

use crate::errors::CliError;
use crate::output::size::{self, many};
use crate::signals;
use crate::wiring::App;

/// Runs a search, shows how far it is, and cancels it when this process is asked to end.
pub(crate) fn watched<T>(
    app: &App,
    search: impl FnOnce(&Control<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    // Opening the store, which the first call does, is not cancelled: what others left is captured whole.
    app.service()?;
    let cancel = CancelToken::default();
    let asked = cancel.clone();
    let _listening = signals::listen(move || asked.cancel())
        .map_err(|source| CliError::io("listen for signals in", Path::new("this process"), source))?;
    let line = Line::new(app);
    let found = search(&Control { progress: &line, cancel: Some(&cancel), ..Control::none() });
    line.bar.finish_and_clear();
    found
}

/// A line that says how far a search is.
struct Line {
    bar: ProgressBar,
}

impl Line {
    fn new(app: &App) -> Self {
        let is_watched = app.console.err.is_terminal && !app.console.quiet;
        let target = if is_watched { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Self { bar }
    }
}

impl Progress for Line {
    fn step(&self, step: &Step<'_>) {
        self.bar.set_message(match step.unit {
            Unit::Bytes => format!("looked through {}; Ctrl-C ends it", size::bytes(step.done)),
            Unit::Commits => format!("indexing new commits: {}", many(step.done, "commit")),
            Unit::Files => many(step.done, "file"),
            Unit::Events => many(step.done, "event"),
        });
        self.bar.tick();
    }
}
