//! `uncompact`: the context from before the nearest compaction.

use stemmata_api::Control;
use stemmata_api::v1::{self, Materialized, Uncompacted};
use stemmata_model::CommitId;

use crate::args::give::Uncompact;
use crate::commands::materialize;
use crate::errors::{CliError, Exit};
use crate::output::file::Target;
use crate::output::style::Style;
use crate::wiring::{App, runtime_of};

/// Runs the command.
pub(crate) fn run(app: &App, args: &Uncompact) -> Result<Exit, CliError> {
    let service = app.service()?;
    let found = service.find(&app.reference(&args.reference))?;
    let session = found.session_id.as_ref().map(ToString::to_string);
    let before = service
        .before_compaction(&v1::LastCompactionRequest { ctx: app.told(&found).to_string(), session })?;
    app.console.notes(&before.notes);
    let short = app.short_ids([before.id])?.cut(before.id);
    let id = format!("{}\n", Style::Id.paint(&short));
    let Some(out) = &args.out else {
        let resume = resume_command(app, before.id, &short)?;
        let told = format!("{}: `{resume}` continues from there", Style::Hint.paint("hint"));
        return show(app, &before, &id, &told);
    };
    let request = v1::MaterializeRequest {
        at: None,
        ctx: Some(before.id.to_string()),
        stop: "compaction".to_owned(),
        format: None,
        budget_tokens: None,
    };
    let target = Target::of(out);
    let made =
        target.write(&app.temp_files(), |out| Ok(service.materialize(&request, out, &Control::none())?))?;
    app.console.notes(&made.notes);
    let Some(path) = target.path() else { return Ok(Exit::Done) };
    let told = format!("{} written to {path}", materialize::told(&made));
    let context = Some(Materialized { path: Some(path), ..made });
    show(app, &Uncompacted { context, ..before }, &id, &told)
}

/// Returns the command that continues a commit, whose id it shows as `short`.
pub(crate) fn resume_command(app: &App, ctx: CommitId, short: &str) -> Result<String, CliError> {
    let commit = app.service()?.show(&v1::ShowRequest { ctx: ctx.to_string(), entries: false })?;
    Ok(App::resume_command(short, runtime_of(&commit.format)))
}

fn show(app: &App, done: &Uncompacted, id: &str, told: &str) -> Result<Exit, CliError> {
    if !app.console.json {
        app.console.text(id)?;
    }
    app.said(done, told)
}
