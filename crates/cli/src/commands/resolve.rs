//! `resolve`: the checkpoint at a point in time.

use stemmata_api::v1;
use stemmata_store::ResolveScope;

use crate::args::browse::Resolve;
use crate::commands::children;
use crate::errors::{CliError, Exit};
use crate::output::style::Style;
use crate::output::time;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Resolve) -> Result<Exit, CliError> {
    let at = time::parse(&args.at, app.now())?;
    let engine = app.engine()?;
    let found = engine.resolve(&scope(app, args)?, at)?;
    let mut commits = Vec::new();
    for id in &found {
        commits.extend(engine.store().commit(*id)?);
    }
    if app.console.json {
        let commits = wire::commit::commits(engine, &commits)?;
        app.console.json(&v1::Resolved { at: at.to_string(), commits })?;
        return Ok(Exit::Done);
    }
    app.console.text(&children::lines(app, &commits)?)?;
    if commits.len() > 1 {
        let hint = Style::Hint.paint("hint");
        app.console.say(&format!(
            "{hint}: these share that time on different branches; `stemma show REF` tells them apart"
        ));
    }
    Ok(Exit::Done)
}

fn scope(app: &App, args: &Resolve) -> Result<ResolveScope, CliError> {
    match (&args.principal, &args.session, &args.project) {
        (Some(principal), ..) => Ok(ResolveScope::Principal(principal.clone())),
        (None, Some(session), _) => Ok(ResolveScope::Session(session.clone())),
        (None, None, Some(project)) => {
            let path = app.environment.absolute(project);
            Ok(ResolveScope::Project(path.to_string_lossy().into_owned()))
        }
        (None, None, None) => {
            Err(CliError::Usage("give `--principal`, `--session` or `--project`".to_owned()))
        }
    }
}
