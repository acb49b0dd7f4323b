//! `secrets`: which projects' rules for secrets count.

use stemmata_api::v1;
use stemmata_engine::{TrustedRules, rules_file_hash};
use stemmata_model::Timestamp;

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
    let folder = app.environment.absolute(&args.folder);
    let path = app.home()?.trust_rules(&folder)?;
    app.console.say(&format!("The rules in {} count from now on, until the file changes", path.display()));
    list_json(app)
}

fn distrust(app: &App, args: &secrets::SecretsTrust) -> Result<Exit, CliError> {
    let folder = app.environment.absolute(&args.folder);
    if !app.home()?.distrust_rules(&folder)? {
        let text = folder.display();
        return Err(CliError::Usage(format!(
            "no rules of {text} are trusted; `stemma secrets list` shows those that are"
        )));
    }
    app.console.say("These rules count no more; what was captured with them stays as it is");
    list_json(app)
}

fn list(app: &App) -> Result<Exit, CliError> {
    if app.console.json {
        return list_json(app);
    }
    let trusted = app.home()?.trusted_rules()?;
    let mut text = String::new();
    for known in wire(&trusted).trusted {
        let state = if known.is_current { "" } else { "  (changed or gone: does not count)" };
        put!(
            text,
            "{}  {}{state}\n",
            known.trusted_at,
            app.environment.shown(std::path::Path::new(&known.path))
        );
    }
    if text.is_empty() {
        text.push_str("No project's rules are trusted.\n");
    }
    app.console.text(&text)?;
    Ok(Exit::Done)
}

fn list_json(app: &App) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(&wire(&app.home()?.trusted_rules()?))?;
    }
    Ok(Exit::Done)
}

fn wire(trusted: &[TrustedRules]) -> v1::TrustedRules {
    let of = |known: &TrustedRules| v1::TrustedFile {
        path: known.path.to_string_lossy().into_owned(),
        hash: known.hash.clone(),
        trusted_at: Timestamp::from_micros(known.at).to_string(),
        is_current: rules_file_hash(&known.path).as_ref() == Some(&known.hash),
    };
    v1::TrustedRules { trusted: trusted.iter().map(of).collect() }
}
