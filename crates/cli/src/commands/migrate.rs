//! `migrate`: brings a store to the version that this program needs, and back.
//!
//! Steps that only add something are done by every command that opens the store.

use stemmata_api::v1::{Migration, MigrationStep};

use crate::args::maintain::Migrate;
use crate::commands::confirm::{Final, confirmed};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{many, plural};
use crate::output::style::Style;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Migrate) -> Result<Exit, CliError> {
    let host = app.host()?;
    if args.rollback {
        return roll_back(app, args);
    }
    let plan = host.plan_migration()?;
    let Some(digest) = plan.digest.as_ref().filter(|_| !args.dry_run) else {
        return app.answer(&plan, || Ok(planned(&plan)));
    };
    if !args.yes && !may_rewrite(app, &planned(&plan), "Migrate the store? [y/N] ")? {
        return Ok(Exit::Done);
    }
    let done = host.apply_migration(digest)?;
    app.answer(&done, || {
        let mut text = planned(&done);
        if let Some(backup) = &done.backup {
            put!(
                text,
                "{}: {} and {} verified; the store from before is {}\n",
                Style::Good.paint("Migrated"),
                many(done.commits.unwrap_or(0), "commit"),
                many(done.contents.unwrap_or(0), "content"),
                app.environment.shown(backup.as_ref())
            );
        }
        Ok(text)
    })
}

/// Asks a person whether the store may be brought to another version.
fn may_rewrite(app: &App, plan: &str, question: &str) -> Result<bool, CliError> {
    let what = "migrating rewrites the store";
    let act = Final { what, plan, is_nothing: false, question, declined: "Nothing was changed." };
    confirmed(app, &act)
}

fn roll_back(app: &App, args: &Migrate) -> Result<Exit, CliError> {
    let host = app.host()?;
    if args.dry_run || !args.yes {
        let plan = host.plan_roll_back()?;
        let text = planned(&plan);
        if args.dry_run {
            return app.answer(&plan, || Ok(text));
        }
        if !may_rewrite(app, &text, "Roll back? [y/N] ")? {
            return Ok(Exit::Done);
        }
    }
    let done = &host.roll_back(args.leave_commits)?;
    let exit = app.answer(done, || {
        let back = Style::Good.paint("Rolled back");
        let (from, to) = (done.found, done.now);
        let Some(aside) = &done.aside else { return Ok(format!("{back} from version {from} to {to}\n")) };
        Ok(format!(
            "{back}: the backup of version {to} is the store again\n  the newer store, with {} that only it has, is now {}\n",
            many(done.lost_commits.unwrap_or(0), "commit"),
            app.environment.shown(aside.as_ref())
        ))
    })?;
    app.console
        .hint("use the older `stemma` now; this one brings the store up to date again when it opens it");
    Ok(exit)
}

fn planned(plan: &Migration) -> String {
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

fn kind(step: &MigrationStep) -> &str {
    match step.kind.as_str() {
        "additive" => "adds only",
        "rewriting" => "rewrites",
        "rollback" => "goes back",
        other => other,
    }
}
