//! `resolve`: the checkpoint at a point in time.

use stemmata_api::v1::{ResolveRequest, ResolveScope};

use crate::args::browse::Resolve;
use crate::commands::log;
use crate::errors::{CliError, Exit};
use crate::output::time;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resolve) -> Result<Exit, CliError> {
    let at = time::parse(&args.at, app.now())?;
    let found = app.service()?.resolve(&ResolveRequest { scope: scope(app, args)?, at })?;
    let exit = app.answer(&found, || log::commit_table(app, &found.commits))?;
    if found.commits.len() > 1 && !app.console.json {
        app.console.hint("several branches have a commit at that time; `stemma show REF` shows each");
    }
    Ok(exit)
}

fn scope(app: &App, args: &Resolve) -> Result<ResolveScope, CliError> {
    match (&args.principal, &args.session, &args.project) {
        (Some(principal), ..) => Ok(ResolveScope::Principal(principal.to_string())),
        (None, Some(session), _) => Ok(ResolveScope::Session(session.to_string())),
        (None, None, Some(project)) => {
            let path = app.environment.absolute(project);
            Ok(ResolveScope::Project(path.to_string_lossy().into_owned()))
        }
        (None, None, None) => {
            Err(CliError::Usage("give `--principal`, `--session` or `--project`".to_owned()))
        }
    }
}
