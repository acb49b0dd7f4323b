//! `diff`: what a compaction lost.

use stemmata_api::v1::{CommitRequest, Diff};

use crate::args::browse;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::put;
use crate::output::size::{many, plural};
use crate::output::style::{Style, tame};
use crate::output::table::{fit, fit_end};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &browse::Diff) -> Result<Exit, CliError> {
    let diff = app.service()?.diff(&CommitRequest { ctx: app.ctx(&args.reference)? })?;
    let ids = app.short_ids([diff.compaction.as_str(), &diff.before])?;
    let exit = app.answer(&diff, || Ok(told(app, &diff, ids)))?;
    if !app.console.json {
        let hint = Style::Hint.paint("hint");
        app.console.say(&format!(
            "{hint}: nothing is gone for good: `stemma resume {}` carries on from before the compaction",
            ids.cut(&diff.before)
        ));
    }
    Ok(exit)
}

fn told(app: &App, diff: &Diff, ids: ShortIds) -> String {
    let mut text = format!(
        "{} {} replaced what {} knew: {} gone, {} kept\n",
        Style::Compaction.paint("◆"),
        ids.painted(&diff.compaction),
        ids.painted(&diff.before),
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
    let decisions = diff.lost_decisions.iter().map(|said| ("-", fit(&tame(said), width)));
    list("Decisions no longer said", decisions.collect());
    let entries = diff
        .lost_entries
        .iter()
        .map(|entry| ("-", fit(&tame(&format!("{:<9} {}", entry.role, entry.text)), width)));
    list("Entries gone", entries.collect());
    text
}
