//! `migrate`: brings a store to the version that this program needs, and back.
//!
//! Steps that only add something are done by every command that opens the store.

use std::path::PathBuf;

use stemmata_api::v1;
use stemmata_engine::Home;
use stemmata_store::SqliteStore;
use stemmata_store::maintain::migrate::{MigrationPlan, MigrationStep, RolledBack, StepKind};

use crate::args::maintain::Migrate;
use crate::commands::backup::compact;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{many, plural};
use crate::output::style::Style;
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Migrate) -> Result<Exit, CliError> {
    let home = app.home()?;
    let plan = SqliteStore::migration_plan(&home.store_dir(), &home.store_options())?;
    if args.rollback {
        return roll_back(app, home, &plan, args.leave_commits);
    }
    if args.dry_run || plan.steps.is_empty() {
        return show(app, &wire::maintain::migration(&plan, None, None), &planned(&plan));
    }
    let backup = backup_of(home, plan.found);
    let done = SqliteStore::migrate(&home.store_dir(), &backup, &home.store_options())?;
    let backup = done.backup.unwrap_or(backup);
    let mut text = planned(&done.plan);
    let verified = done.verified.unwrap_or_default();
    put!(
        text,
        "{}: {} and {} verified; the store from before is {}\n",
        Style::Good.paint("Migrated"),
        many(verified.commits, "commit"),
        many(verified.contents, "content"),
        app.environment.shown(&backup)
    );
    show(app, &wire::maintain::migration(&done.plan, Some(backup), Some(plan.newest)), &text)
}

/// Returns where the backup of a version is: beside the store, named by the version.
fn backup_of(home: &Home, version: u32) -> PathBuf {
    home.dir().join(format!("store.v{version}"))
}

fn roll_back(app: &App, home: &Home, plan: &MigrationPlan, leave: bool) -> Result<Exit, CliError> {
    let backup = backup_of(home, plan.found.saturating_sub(1));
    let aside = home.dir().join(format!("store.before-rollback-{}", compact(app.now())));
    let done = SqliteStore::roll_back(&home.store_dir(), &backup, &aside, leave, &home.store_options())?;
    let (text, now) = match &done {
        RolledBack::Undone { from, to } => {
            (format!("{} from version {from} to {to}\n", Style::Good.paint("Rolled back")), *to)
        }
        RolledBack::Restored { aside, lost_commits } => {
            let text = format!(
                "{}: the backup of version {} is the store again\n  the newer store, with {} that only it has, is now {}\n",
                Style::Good.paint("Rolled back"),
                plan.found.saturating_sub(1),
                many(*lost_commits, "commit"),
                app.environment.shown(aside)
            );
            (text, plan.found.saturating_sub(1))
        }
    };
    show(app, &wire::maintain::migration(plan, None, Some(now)), &text)?;
    app.console.say(&format!(
        "{}: use the older `stemma` now; this one brings the store up to date again when it opens it",
        Style::Hint.paint("hint")
    ));
    Ok(Exit::Done)
}

fn show(app: &App, result: &v1::Migration, text: &str) -> Result<Exit, CliError> {
    if app.console.json {
        app.console.json(result)?;
    } else {
        app.console.text(text)?;
    }
    Ok(Exit::Done)
}

fn planned(plan: &MigrationPlan) -> String {
    if plan.steps.is_empty() {
        return format!("The store has version {} and is up to date.\n", plan.found);
    }
    let mut text = format!(
        "The store has version {}, this program {}: {}\n",
        plan.found,
        plan.newest,
        plural(plan.steps.len(), "step")
    );
    for step in &plan.steps {
        put!(text, "  {}  {} ({})\n", step.to, step.about, kind(step));
    }
    text
}

const fn kind(step: &MigrationStep) -> &'static str {
    match step.kind {
        StepKind::Additive => "adds only",
        StepKind::Rewriting => "rewrites",
    }
}
