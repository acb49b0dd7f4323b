//! `install` and `uninstall`: a client's settings get our hooks, or lose them.

use std::path::Path;

use stemmata_api::v1::{Installed, InstalledAll};
use stemmata_service::{InstallChange, InstallRequest, clients};

use crate::args::live::{Install, Uninstall};
use crate::commands::forget::vault_told;
use crate::config::{INJECT, is_on};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::many;
use crate::wiring::App;

/// What to change, and how it is shown.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub(crate) struct Manner {
    /// Whether our hooks are taken out.
    pub(crate) removes: bool,
    /// Whether hooks may tell the agent what was lost.
    pub(crate) inject: bool,
    /// Whether the lines are shown.
    pub(crate) diff: bool,
    /// Whether nothing is changed.
    pub(crate) dry_run: bool,
}

/// Runs `install`.
pub(crate) fn run(app: &App, args: &Install) -> Result<Exit, CliError> {
    let manner = Manner { removes: false, inject: args.inject, diff: args.diff, dry_run: args.dry_run };
    match &args.runtime {
        Some(client) => one(app, client, manner),
        None => all(app, &app.host()?.hook_clients(), manner),
    }
}

/// Runs `uninstall`.
pub(crate) fn remove(app: &App, args: &Uninstall) -> Result<Exit, CliError> {
    let manner = Manner { removes: true, inject: false, diff: args.diff, dry_run: args.dry_run };
    match &args.runtime {
        Some(client) => one(app, client, manner),
        None => all(app, &app.host()?.hooked_clients(), manner),
    }
}

fn one(app: &App, client: &str, manner: Manner) -> Result<Exit, CliError> {
    let done = change(app, client, manner)?;
    if app.console.json {
        app.console.json(&done.installed)?;
        return Ok(Exit::Done);
    }
    app.console.text(&told(app, &done, manner))?;
    say_dry_run(app, manner);
    say_brief(app, &done.installed);
    Ok(Exit::Done)
}

/// Changes the settings of several clients. One that cannot be changed keeps no other from it.
fn all(app: &App, clients: &[&str], manner: Manner) -> Result<Exit, CliError> {
    let mut done = Vec::new();
    let mut failed = None;
    for client in clients {
        match change(app, client, manner) {
            Ok(change) => done.push(change),
            Err(error) => {
                app.console.warn(&error.problem().detail);
                failed.get_or_insert(error);
            }
        }
    }
    let without_brief: Vec<&str> =
        if manner.removes { Vec::new() } else { clients::hookless().map(|client| client.id).collect() };
    let completions =
        if manner.removes { app.host()?.remove_completions(manner.dry_run)? } else { Vec::new() };
    let vault = manner
        .removes
        .then(|| app.host()?.remove_vault(manner.dry_run).map_err(CliError::from))
        .transpose()?;
    let vault = vault.filter(|vault| vault.path.is_some());
    let completions: Vec<String> =
        completions.iter().map(|path| path.to_string_lossy().into_owned()).collect();
    if app.console.json {
        let clients = done.into_iter().map(|done| done.installed).collect();
        let without_brief = without_brief.iter().map(|client| (*client).to_owned()).collect();
        app.console.json(&InstalledAll { clients, without_brief, completions, vault })?;
    } else {
        let text: String = done.iter().map(|done| told(app, done, manner)).collect();
        let nothing = if manner.removes { "No client has hooks of ours\n" } else { "No client was found\n" };
        let clients = if clients.is_empty() { nothing } else { &text };
        let vault = vault.as_ref().map(|vault| vault_told(app, vault)).unwrap_or_default();
        app.console.text(&format!("{clients}{}{vault}", removed(app, &completions, manner)))?;
        say_dry_run(app, manner);
        if manner.removes && !manner.dry_run {
            say_what_stays(app);
        }
        say_briefs(app, done.iter().map(|done| &done.installed), &without_brief);
    }
    failed.map_or(Ok(Exit::Done), Err)
}

/// Changes the settings of one client.
pub(super) fn change(app: &App, client: &str, manner: Manner) -> Result<InstallChange, CliError> {
    let request = InstallRequest {
        runtime: client.to_owned(),
        program: app.environment.lasting_program(),
        // What is configured for all clients is for this one too: some hear of a compaction only where they are asked to.
        inject: manner.inject || app.config.get(&INJECT).is_some_and(|text| is_on(&text)),
        removes: manner.removes,
        dry_run: manner.dry_run,
    };
    Ok(app.host()?.install(&request)?)
}

/// Describes in one line what changed, with the lines where they are wanted.
pub(super) fn told(app: &App, done: &InstallChange, manner: Manner) -> String {
    let Installed { path, changed, hooks, kept, .. } = &done.installed;
    let shown = app.environment.shown(Path::new(path));
    if !changed {
        return format!("{shown}: nothing to change\n{}", removed(app, &done.installed.removed, manner));
    }
    let (before, after) = (done.before.as_deref(), done.after.as_deref());
    let verb = match (before, after, manner.dry_run) {
        (None, _, false) => "Created",
        (None, _, true) => "Would create",
        (_, None, false) => "Removed",
        (_, None, true) => "Would remove",
        (_, _, false) => "Updated",
        (_, _, true) => "Would update",
    };
    let what = match (hooks, manner.removes) {
        (0, _) => "hooks brought up to date".to_owned(),
        (_, false) => format!("{} added", many(*hooks, "hook")),
        (_, true) => format!("{} removed", many(*hooks, "hook")),
    };
    let copy = kept.as_deref().map(|kept| format!("; backup: {}", app.environment.shown(Path::new(kept))));
    let mut text = format!("{verb} {shown} ({what}{})\n", copy.unwrap_or_default());
    text.push_str(&removed(app, &done.installed.removed, manner));
    if manner.diff {
        text.push_str(&diff(&shown, before.unwrap_or_default(), after.unwrap_or_default()));
    }
    if let Some(trust) = done.trust {
        put!(text, "{trust}\n");
    }
    text
}

/// Says what goes that `install` or `setup` had made beside the settings.
fn removed(app: &App, paths: &[String], manner: Manner) -> String {
    let verb = if manner.dry_run { "Would remove" } else { "Removed" };
    let line = |path: &String| format!("{verb} {}\n", app.environment.shown(Path::new(path)));
    paths.iter().map(line).collect()
}

/// Says where what was captured stays, and how to delete it.
fn say_what_stays(app: &App) {
    let Some(folder) = app.environment.data_dir().filter(|folder| folder.is_dir()) else { return };
    let shown = app.environment.shown(&folder);
    app.console.say(&format!(
        "What was captured stays in {shown}; deleting that folder deletes it for good (`stemma backup DIR` copies it first)"
    ));
    app.console.say("Hooks of git repositories stay, too: `stemma git uninstall` in each one removes them");
}

fn say_dry_run(app: &App, manner: Manner) {
    if manner.dry_run {
        app.console.say("Nothing was written (`--dry-run`)");
    }
}

/// Says how the client's agent gets a brief, and how that is turned on.
fn say_brief(app: &App, installed: &Installed) {
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

/// Says whose agents get a brief, whose could, and whose can't: a line for each kind of client.
fn say_briefs<'a>(app: &App, done: impl Iterator<Item = &'a Installed>, without: &[&str]) {
    let (on, off): (Vec<&Installed>, Vec<&Installed>) =
        done.filter(|installed| installed.brief.is_some()).partition(|installed| installed.briefs);
    let names = |of: &[&Installed]| {
        of.iter().map(|installed| installed.runtime.as_str()).collect::<Vec<_>>().join(", ")
    };
    if !on.is_empty() {
        app.console.say(&format!("Agents that get a brief of what a compaction loses: {}", names(&on)));
    }
    if !off.is_empty() {
        app.console.say(&format!(
            "Agents that can get a brief of what a compaction loses: {} (`stemma install --inject` turns that on)",
            names(&off)
        ));
    }
    if !without.is_empty() {
        app.console.say(&format!(
            "Agents that can get none, since their clients have no hooks: {}, and programs under `stemma run`",
            without.join(", ")
        ));
    }
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
