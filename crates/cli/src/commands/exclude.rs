//! `exclude`, `pause` and `unpause`: what is not captured.

use std::path::Path;

use stemmata_api::v1;
use stemmata_model::Timestamp;
use stemmata_service::PolicyChange;

use crate::args::maintain::{Exclude, ExcludeCommand, Pause, Unpause};
use crate::errors::{CliError, Exit};
use crate::output::style::Style;
use crate::output::{put, time};
use crate::wiring::App;

/// Runs `exclude`.
pub(crate) fn run(app: &App, args: &Exclude) -> Result<Exit, CliError> {
    let rule = |given: &str| if given.starts_with("**") { given.to_owned() } else { app.path_of(given) };
    let change = match (&args.command, &args.path) {
        (Some(ExcludeCommand::Add(add)), _) => Some(PolicyChange::Exclude(rule(&add.path))),
        (Some(ExcludeCommand::Remove(gone)), _) => Some(PolicyChange::Include(rule(&gone.path))),
        (Some(ExcludeCommand::List), _) | (None, None) => None,
        (None, Some(path)) if args.remove => Some(PolicyChange::Include(rule(path))),
        (None, Some(path)) => Some(PolicyChange::Exclude(rule(path))),
    };
    let missing = match &change {
        Some(PolicyChange::Exclude(rule)) if !rule.contains('*') && !Path::new(rule).exists() => {
            Some(rule.clone())
        }
        _ => None,
    };
    let exit = change_policy(app, change)?;
    if let Some(missing) = missing {
        let shown = app.environment.shown(Path::new(&missing));
        app.console.say(&format!(
            "{}: there is no {shown} now; the rule counts once it is there",
            Style::Note.paint("note")
        ));
    }
    Ok(exit)
}

/// Runs `pause`.
pub(crate) fn pause(app: &App, args: &Pause) -> Result<Exit, CliError> {
    let until =
        args.duration.as_deref().or(args.length.as_deref()).map(|text| end_of(app, text)).transpose()?;
    let project = args.project.as_ref().map(|path| app.environment.absolute(path));
    change_policy(app, Some(PolicyChange::Pause(project, until)))
}

/// Runs `unpause`.
pub(crate) fn unpause(app: &App, args: &Unpause) -> Result<Exit, CliError> {
    let project = args.project.as_ref().map(|path| app.environment.absolute(path));
    let policy = app.host()?.policy(Some(PolicyChange::Unpause(project)))?;
    app.answer(&policy, || {
        let on = if policy.pauses.is_empty() && !policy.excluded.is_empty() {
            "Capture is on, but for:\n"
        } else {
            ""
        };
        Ok(format!("{on}{}", told(app, &policy)))
    })
}

/// Returns when a time from now is over.
fn end_of(app: &App, text: &str) -> Result<Timestamp, CliError> {
    let bad = || CliError::Usage(format!("`{text}` is not a length of time; use `30m`, `2h` or `3d`"));
    if !text.starts_with(|first: char| first.is_ascii_digit()) || text.contains(['-', ':']) {
        return Err(bad());
    }
    let now = app.now();
    let ago = time::parse(text, now).map_err(|_| bad())?;
    let length = now.as_micros().saturating_sub(ago.as_micros());
    Ok(Timestamp::from_micros(now.as_micros().saturating_add(length)))
}

fn change_policy(app: &App, change: Option<PolicyChange>) -> Result<Exit, CliError> {
    let policy = app.host()?.policy(change)?;
    app.answer(&policy, || Ok(told(app, &policy)))
}

fn told(app: &App, policy: &v1::Exclusions) -> String {
    let mut text = String::new();
    if policy.excluded.is_empty() && policy.pauses.is_empty() {
        text.push_str("Everything is captured.\n");
    }
    for rule in &policy.excluded {
        put!(text, "{}  {}\n", Style::Faint.paint("excluded"), app.environment.shown(Path::new(rule)));
    }
    for pause in pauses(app, policy) {
        put!(text, "{}    {pause}\n", Style::Faint.paint("paused"));
    }
    text
}

/// Says what holds capture back now. A file that cannot be read holds everything back, and is no reason to answer nothing.
pub(super) fn pauses_now(app: &App) -> Result<Vec<String>, CliError> {
    Ok(match app.host()?.policy(None) {
        Ok(policy) => pauses(app, &policy),
        Err(problem) => vec![format!("nothing is captured: {}", problem.detail)],
    })
}

/// Says of each pause what it holds back, and until when.
fn pauses(app: &App, policy: &v1::Exclusions) -> Vec<String> {
    let line = |pause: &v1::Pause| {
        let below = pause.project.as_ref().map(|project| format!(" below {project}")).unwrap_or_default();
        let until = pause.until.map(|until| app.moment(Some(until)));
        format!("capture is paused{below} until {}", until.as_deref().unwrap_or("`stemma unpause`"))
    };
    policy.pauses.iter().map(line).collect()
}
