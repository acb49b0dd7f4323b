//! `secrets`: which projects' rules for secrets count.

use crate::args::secrets;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &secrets::Secrets) -> Result<Exit, CliError> {
    match &args.command {
        secrets::SecretsCommand::Trust(args) => trust(app, args),
        secrets::SecretsCommand::Distrust(args) => distrust(app, args),
        secrets::SecretsCommand::List(_) => list(app),
    }
}

fn trust(app: &App, args: &secrets::SecretsTrust) -> Result<Exit, CliError> {
    let path = app.host()?.trust_rules(&app.environment.absolute(&args.folder))?;
    changed(app, &format!("The rules in {} count from now on, until the file changes", path.display()))
}

fn distrust(app: &App, args: &secrets::SecretsTrust) -> Result<Exit, CliError> {
    app.host()?.distrust_rules(&app.environment.absolute(&args.folder))?;
    changed(app, "These rules no longer apply; what was captured with them is not changed")
}

fn changed(app: &App, told: &str) -> Result<Exit, CliError> {
    app.console.say(told);
    if app.console.json { list(app) } else { Ok(Exit::Done) }
}

fn list(app: &App) -> Result<Exit, CliError> {
    let rules = app.host()?.trusted_rules()?;
    app.answer(&rules, || {
        let mut text = String::new();
        for known in &rules.trusted {
            let state = if known.is_current { "" } else { "  (changed or gone: does not count)" };
            let path = app.environment.shown(std::path::Path::new(&known.path));
            put!(text, "{}  {path}{state}\n", known.trusted_at);
        }
        if text.is_empty() {
            text.push_str("No project's rules are trusted.\n");
        }
        Ok(text)
    })
}
