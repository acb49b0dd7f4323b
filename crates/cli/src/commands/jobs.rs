//! `jobs`: what a service does in the background.

use stemmata_api::v1::{Job, JobState, JobsRequest};
use stemmata_model::{Timestamp, to_u64};

use crate::args::registry::Jobs;
use crate::commands::rows;
use crate::errors::{CliError, Exit};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Jobs) -> Result<Exit, CliError> {
    let limit = Some(to_u64(rows(args.limit, app.console.json)));
    let found = app.service()?.jobs(&JobsRequest { limit })?;
    if found.jobs.is_empty() && !app.console.json {
        app.console.say("No jobs. `stemma serve` packs the store in the background");
    }
    app.answer(&found, || {
        if found.jobs.is_empty() {
            return Ok(String::new());
        }
        let mut table = Table::new(&[
            ("job", Column::Left),
            ("state", Column::Left),
            ("when", Column::Left),
            ("tries", Column::Right),
            ("", Column::Flexible),
        ]);
        for job in &found.jobs {
            let (state, at, style) = state(job);
            table.row(vec![
                cell(Style::Branch, tame(format!("{} {}", job.kind, job.subject))),
                cell(style, state),
                cell(Style::Faint, app.moment(at)),
                cell(Style::Plain, format!("{}/{}", job.attempts, job.attempts_max)),
                cell(Style::Faint, tame(job.error.as_deref().or(job.holder.as_deref()).unwrap_or_default())),
            ]);
        }
        Ok(table.render(app.console.width))
    })
}

/// Returns the state of a job in a word, since when or until when, and how it looks.
const fn state(job: &Job) -> (&'static str, Option<Timestamp>, Style) {
    match job.state {
        JobState::Waiting => ("waits until", Some(job.not_before), Style::Plain),
        JobState::Running => ("runs since", job.begun_at, Style::Plain),
        JobState::Done => ("done", job.ended_at, Style::Plain),
        JobState::Failed => ("failed", job.ended_at, Style::Error),
    }
}
