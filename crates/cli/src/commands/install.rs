//! `install` and `uninstall`: a client's settings get our hooks, or lose them.

use std::path::Path;

use stemmata_api::v1;
use stemmata_service::InstallRequest;

use crate::args::live::Install;
use crate::config::{INJECT, is_on};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs `install`.
pub(crate) fn run(app: &App, args: &Install) -> Result<Exit, CliError> {
    change(app, args, false)
}

/// Runs `uninstall`.
pub(crate) fn remove(app: &App, args: &Install) -> Result<Exit, CliError> {
    change(app, args, true)
}

fn change(app: &App, args: &Install, removes: bool) -> Result<Exit, CliError> {
    let request = InstallRequest {
        runtime: args.runtime.clone(),
        program: app.environment.lasting_program(),
        // What is configured for all clients is for this one too: some hear of a compaction only where they are asked to.
        inject: args.inject || app.config.get(&INJECT).is_some_and(|text| is_on(&text)),
        removes,
        dry_run: args.dry_run,
    };
    let done = app.host()?.install(&request)?;
    let shown = app.environment.shown(Path::new(&done.installed.path));
    if app.console.json || !done.installed.changed {
        let exit = app.said(&done.installed, &format!("{shown}: nothing to change"))?;
        if !app.console.json {
            say_brief(app, &done.installed);
        }
        return Ok(exit);
    }
    let (before, after) = (done.before.as_deref(), done.after.as_deref());
    app.console.text(&diff(&shown, before.unwrap_or_default(), after.unwrap_or_default()))?;
    if args.dry_run {
        app.console.say("Nothing was written (`--dry-run`)");
        say_brief(app, &done.installed);
        return Ok(Exit::Done);
    }
    let copy = done.installed.kept.as_deref().map(|kept| app.environment.shown(Path::new(kept)));
    let copy = copy.map(|kept| format!("; the old one is {kept}")).unwrap_or_default();
    let what = if after.is_some() { "written" } else { "removed" };
    app.console.say(&format!("{shown} {what}{copy}"));
    if let Some(trust) = done.trust {
        app.console.say(trust);
    }
    say_brief(app, &done.installed);
    Ok(Exit::Done)
}

/// Says how the client's agent gets a brief, and how that is turned on.
fn say_brief(app: &App, installed: &v1::Installed) {
    let Some(brief) = &installed.brief else { return };
    let runtime = &installed.runtime;
    app.console.say(&if installed.briefs {
        format!("{runtime} gets a brief of what a compaction loses: {brief}")
    } else {
        format!(
            "{runtime} can get a brief of what a compaction loses ({brief}): `stemma install {runtime} --inject` turns \
             that on"
        )
    });
}

/// Returns the lines that differ: what is common before and after them is left out.
pub(super) fn diff(name: &str, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(left, right)| left == right).count()
    };
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old.iter().skip(head).rev().zip(new.iter().skip(head).rev()));
    let mut text = format!("--- {name}\n+++ {name}\n@@ line {} @@\n", head + 1);
    let changed = |lines: &[&str], sign: char| -> String {
        let end = lines.len().saturating_sub(tail);
        lines.get(head..end).unwrap_or_default().iter().map(|line| format!("{sign}{line}\n")).collect()
    };
    text.push_str(&changed(&old, '-'));
    text.push_str(&changed(&new, '+'));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_what_changes_and_no_more() {
        assert_eq!(diff("f", "a\nb\nc\n", "a\nB\nb2\nc\n"), "--- f\n+++ f\n@@ line 2 @@\n-b\n+B\n+b2\n");
        assert_eq!(diff("f", "", "a\n"), "--- f\n+++ f\n@@ line 1 @@\n+a\n");
    }
}
