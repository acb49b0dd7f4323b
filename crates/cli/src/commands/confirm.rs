//! Asks before what deletes or replaces something: one behaviour of `--yes` and `--dry-run` for all such commands.

use std::io::BufRead;
use std::path::Path;

use stemmata_api::{Answer, Code, PlanDigest};

use crate::errors::CliError;
use crate::wiring::App;

/// Something that a person confirms first.
pub(crate) struct Final<'a> {
    /// Why it is confirmed: `forgetting deletes for good what is stored`.
    pub(crate) what: &'a str,
    /// What would happen, for who is asked.
    pub(crate) plan: &'a str,
    /// Whether nothing would happen, so that there is nothing to ask.
    pub(crate) is_nothing: bool,
    /// The question.
    pub(crate) question: &'a str,
    /// What is said to who answers no.
    pub(crate) declined: &'a str,
}

/// How often something is planned again that nobody is asked about, where others write at the same time.
const PLANS_MAX: usize = 5;

/// Plans something and does what was planned. Where others write in between, it is planned again: nobody was shown the plan.
///
/// # Errors
/// Those of both.
pub(crate) fn unasked<P, T>(
    plan: impl Fn() -> Answer<P>,
    digest: impl Fn(&P) -> Option<&PlanDigest>,
    apply: impl Fn(&PlanDigest) -> Answer<T>,
) -> Answer<T> {
    let both = || apply(&shown(digest(&plan()?)));
    for _ in 1..PLANS_MAX {
        match both() {
            Err(problem) if problem.is(Code::PlanStale) => {}
            done => return done,
        }
    }
    both()
}

/// Returns the name of a plan that was shown.
pub(crate) fn shown(digest: Option<&PlanDigest>) -> PlanDigest {
    digest.cloned().unwrap_or_else(|| PlanDigest::new(""))
}

/// Shows a person what would happen and asks; returns whether to go on.
///
/// # Errors
/// `Usage` where nobody can be asked; `Output`.
pub(crate) fn confirmed(app: &App, act: &Final<'_>) -> Result<bool, CliError> {
    if app.console.json || !app.environment.stdout_is_terminal {
        let what = act.what;
        return Err(CliError::Usage(format!("{what}: check it with `--dry-run`, then confirm with `--yes`")));
    }
    app.console.text(act.plan)?;
    if act.is_nothing {
        return Ok(false);
    }
    if !asked(app, act.question)? {
        app.console.say(act.declined);
        return Ok(false);
    }
    Ok(true)
}

/// Names the stores beside this one, which hold what goes from it.
pub(crate) fn told_stores_left(app: &App, paths: &[String], dry_run: bool) -> String {
    let verb = if dry_run { "Would stay" } else { "Stays" };
    let line = |path: &String| {
        let path = app.environment.shown(Path::new(path));
        format!(
            "{verb} on disk: {path}, the store from before a restore or migration: delete it when it is not needed\n"
        )
    };
    paths.iter().map(line).collect()
}

/// Warns where a store could not clean its files of what is gone. An answer in JSON says it itself.
pub(crate) fn warn_unfinished(app: &App, unfinished: Option<&str>) {
    if let Some(reason) = unfinished.filter(|_| !app.console.json) {
        app.console
            .warn_always(&format!("some of it may still be on the disk: {reason}; `stemma gc` tries again"));
    }
}

fn asked(app: &App, question: &str) -> Result<bool, CliError> {
    app.console.text(question)?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).map_err(CliError::Output)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
