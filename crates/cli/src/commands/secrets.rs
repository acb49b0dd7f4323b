//! `secrets`: which projects' rules for secrets count.

use stemmata_api::v1;
use stemmata_engine::{PROJECT_RULES, check_project_rules, rules_file_hash};
use stemmata_model::Timestamp;

use crate::args::secrets;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::secrets_file::{self, Trusted};
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
    let (path, hash) = check_project_rules(&folder, secrets_file::owner())?;
    let home = app.home()?;
    let mut trusted = secrets_file::trusted(home)?;
    // Of one file only what it says now.
    trusted.retain(|known| known.path != path);
    trusted.push(Trusted { path: path.clone(), hash, at: app.now().as_micros() });
    secrets_file::set_trusted(home, &trusted)?;
    app.console.say(&format!("The rules in {} count from now on, until the file changes", path.display()));
    list_json(app, &trusted)
}

fn distrust(app: &App, args: &secrets::SecretsTrust) -> Result<Exit, CliError> {
    let folder = app.environment.absolute(&args.folder);
    let home = app.home()?;
    let mut trusted = secrets_file::trusted(home)?;
    let count = trusted.len();
    // The file may be gone, and its project too.
    trusted.retain(|known| !folder.ancestors().any(|above| above.join(PROJECT_RULES) == known.path));
    if trusted.len() == count {
        let text = folder.display();
        return Err(CliError::Usage(format!(
            "no rules of {text} are trusted; `stemma secrets list` shows those that are"
        )));
    }
    secrets_file::set_trusted(home, &trusted)?;
    app.console.say("These rules count no more; what was captured with them stays as it is");
    list_json(app, &trusted)
}

fn list(app: &App) -> Result<Exit, CliError> {
    let trusted = secrets_file::trusted(app.home()?)?;
    if app.console.json {
        return list_json(app, &trusted);
    }
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

fn list_json(app: &App, trusted: &[Trusted]) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(&wire(trusted))?;
    }
    Ok(Exit::Done)
}

fn wire(trusted: &[Trusted]) -> v1::TrustedRules {
    let of = |known: &Trusted| v1::TrustedFile {
        path: known.path.to_string_lossy().into_owned(),
        hash: known.hash.clone(),
        trusted_at: Timestamp::from_micros(known.at).to_string(),
        is_current: rules_file_hash(&known.path).as_ref() == Some(&known.hash),
    };
    v1::TrustedRules { trusted: trusted.iter().map(of).collect() }
}
