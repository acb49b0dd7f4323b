//! `exclude`, `pause` and `unpause`: what is not captured.
//!
//! What an exclusion means for a session is the engine's.

use std::path::Path;

use stemmata_api::v1;
use stemmata_engine::CapturePolicy;
use stemmata_model::Timestamp;

use crate::args::maintain::{Exclude, Pause, Unpause};
use crate::errors::{CliError, Exit};
use crate::output::style::Style;
use crate::output::{put, time};
use crate::wiring::App;

/// Runs `exclude`.
pub(crate) fn run(app: &App, args: &Exclude) -> Result<Exit, CliError> {
    let home = app.home()?;
    let Some(given) = &args.path else { return show(app, &home.policy()?) };
    let rule = rule_of(app, given);
    let policy = home.change_policy(|policy| {
        let is_known = policy.excluded.contains(&rule);
        if args.remove {
            if !is_known {
                return Err(CliError::Usage(format!(
                    "`{rule}` is not excluded; `stemma exclude --list` shows what is"
                )));
            }
            policy.excluded.retain(|known| *known != rule);
        } else if !is_known {
            policy.excluded.push(rule.clone());
        }
        Ok(())
    })?;
    show(app, &policy)
}

/// Returns what is kept of an exclusion: a whole path, or a pattern of one.
fn rule_of(app: &App, given: &str) -> String {
    if given.starts_with("**") {
        return given.to_owned();
    }
    let path = app.environment.absolute(Path::new(given));
    // A link is excluded by where it leads: that is what transcripts name.
    let real = if given.contains(['*', '?']) { path } else { std::fs::canonicalize(&path).unwrap_or(path) };
    real.to_string_lossy().into_owned()
}

/// Runs `pause`.
pub(crate) fn pause(app: &App, args: &Pause) -> Result<Exit, CliError> {
    let policy = app.home()?.change_policy(|policy| {
        let until = args.duration.as_deref().map(|text| end_of(app, text)).transpose()?;
        let project = args.project.as_deref().map(|path| real(app, path));
        policy
            .pauses
            .retain(|pause| pause.project != project && pause.until.is_none_or(|until| until > app.now()));
        policy.pauses.push(stemmata_engine::Pause { project, until });
        Ok::<(), CliError>(())
    })?;
    show(app, &policy)
}

/// Runs `unpause`.
pub(crate) fn unpause(app: &App, args: &Unpause) -> Result<Exit, CliError> {
    let policy = app.home()?.change_policy(|policy| {
        let project = args.project.as_deref().map(|path| real(app, path));
        policy.pauses.retain(|pause| project.is_some() && pause.project != project);
        Ok::<(), CliError>(())
    })?;
    show(app, &policy)
}

fn real(app: &App, path: &Path) -> std::path::PathBuf {
    let path = app.environment.absolute(path);
    std::fs::canonicalize(&path).unwrap_or(path)
}

/// Returns when a time from now is over.
fn end_of(app: &App, text: &str) -> Result<Timestamp, CliError> {
    let bad = || CliError::Usage(format!("`{text}` is no length of time: use `30m`, `2h`, `3d`"));
    if !text.starts_with(|first: char| first.is_ascii_digit()) || text.contains(['-', ':']) {
        return Err(bad());
    }
    let now = app.now();
    let ago = time::parse(text, now).map_err(|_| bad())?;
    let length = now.as_micros().saturating_sub(ago.as_micros());
    Ok(Timestamp::from_micros(now.as_micros().saturating_add(length)))
}

fn show(app: &App, policy: &CapturePolicy) -> Result<Exit, CliError> {
    if app.console.json {
        let pause = |pause: &stemmata_engine::Pause| v1::Pause {
            project: pause.project.as_ref().map(|path| path.to_string_lossy().into_owned()),
            until: pause.until.map(|until| until.to_string()),
        };
        app.console.json(&v1::Exclusions {
            excluded: policy.excluded.clone(),
            pauses: policy.pauses.iter().map(pause).collect(),
        })?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    if policy.is_empty() {
        text.push_str("Everything is captured.\n");
    }
    for rule in &policy.excluded {
        put!(text, "{}  {}\n", Style::Faint.paint("excluded"), app.environment.shown(Path::new(rule)));
    }
    for pause in &policy.pauses {
        put!(text, "{}    {pause}\n", Style::Faint.paint("paused"));
    }
    app.console.text(&text)?;
    Ok(Exit::Done)
}
