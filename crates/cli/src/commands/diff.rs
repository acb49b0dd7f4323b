//! `diff`: what a compaction lost.

use stemmata_engine::CompactionDiff;

use crate::args::browse::Diff;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{many, plural};
use crate::output::style::{Style, tame};
use crate::output::table::{fit, fit_end};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Diff) -> Result<Exit, CliError> {
    let ctx = app.find(&args.reference)?;
    let engine = app.engine()?;
    let diff = engine.diff(ctx)?;
    if app.console.json {
        app.console.json(&wire::context::diff(diff))?;
        return Ok(Exit::Done);
    }
    let ids = ShortIds::of(engine, &[diff.compaction, diff.before])?;
    app.console.long_text(&told(app, &diff, ids))?;
    let hint = Style::Hint.paint("hint");
    app.console.say(&format!(
        "{hint}: nothing is gone for good: `stemma resume {}` carries on from before the compaction",
        ids.text(diff.before)
    ));
    Ok(Exit::Done)
}

fn told(app: &App, diff: &CompactionDiff, ids: ShortIds) -> String {
    let mut text = format!(
        "{} {} replaced what {} knew: {} gone, {} kept\n",
        Style::Compaction.paint("◆"),
        ids.shown(diff.compaction),
        ids.shown(diff.before),
        plural(diff.lost_entries.len(), "entry"),
        many(diff.kept_entries, "entry"),
    );
    let width = app.console.width.saturating_sub(4);
    let mut list = |title: &str, lines: Vec<(&str, String)>| {
        if !lines.is_empty() {
            put!(text, "\n{}\n", Style::Strong.paint(title));
        }
        for (mark, line) in lines {
            put!(text, "  {mark} {line}\n");
        }
    };
    let file = |file: &String| fit_end(&tame(file), width);
    let gone = diff.lost_files.iter().map(|path| ("-", file(path)));
    let kept = diff.kept_files.iter().map(|path| (" ", file(path)));
    let unsure = diff.unsure_files.iter().map(|path| ("?", file(path)));
    let doubt = if diff.unsure_files.is_empty() { "" } else { ", ? perhaps touched and no longer named" };
    list(&format!("Files worked on (- no longer named{doubt})"), gone.chain(unsure).chain(kept).collect());
    let commands = diff.lost_commands.iter().map(|command| ("-", fit(&tame(command), width)));
    list("Commands no longer named", commands.collect());
    let entries = diff
        .lost_entries
        .iter()
        .map(|entry| ("-", fit(&tame(&format!("{:<9} {}", entry.role.as_str(), entry.text)), width)));
    list("Entries gone", entries.collect());
    text
}
