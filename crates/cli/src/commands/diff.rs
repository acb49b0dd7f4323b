//! `diff`: what a compaction lost, or what two chains have that the other has not.

use stemmata_api::v1::{ChainSide, CompareRequest, Comparison, Diff, LastCompactionRequest, SessionError};

use crate::args::browse;
use crate::commands::launch::quoted;
use crate::commands::uncompact;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::outline::{self, painted};
use crate::output::put;
use crate::output::session;
use crate::output::size::{many, plural};
use crate::output::style::{Style, tame};
use crate::output::table::{fit, fit_end};
use crate::wiring::App;
use stemmata_model::CommitId;

/// Prompts of one side that people see without `--details`.
const PROMPTS_MAX: usize = 5;

/// Runs the command.
pub(crate) fn run(app: &App, args: &browse::Diff) -> Result<Exit, CliError> {
    match &args.other {
        None => lost(app, args),
        Some(other) => compared(app, args, other),
    }
}

/// Lines under headings.
struct Lists {
    text: String,
    width: usize,
}

impl Lists {
    fn new(app: &App, text: String) -> Self {
        Self { text, width: app.console.width.saturating_sub(4) }
    }

    fn add(&mut self, title: &str, lines: impl IntoIterator<Item = (&'static str, String)>) {
        let mut lines = lines.into_iter().peekable();
        if lines.peek().is_some() {
            put!(self.text, "\n{}\n", Style::Strong.paint(title));
        }
        for (mark, line) in lines {
            put!(self.text, "  {mark} {line}\n");
        }
    }

    fn fit(&self, text: &str) -> String {
        fit(&tame(text), self.width)
    }

    fn file(&self, path: &str) -> String {
        fit_end(&tame(path), self.width)
    }
}

fn lost(app: &App, args: &browse::Diff) -> Result<Exit, CliError> {
    let found = app.service()?.find(&app.reference(&args.reference))?;
    let session = found.session_id.as_ref().map(ToString::to_string);
    let diff = app.service()?.diff(&LastCompactionRequest { ctx: app.told(&found).to_string(), session })?;
    app.console.notes(&diff.notes);
    let ids = app.short_ids([diff.compaction, diff.before])?;
    let exit = app.answer(&diff, || {
        let mut lists = Lists::new(app, summary(&diff, ids));
        if args.details {
            details(&mut lists, &diff);
        }
        Ok(lists.text)
    })?;
    if !app.console.json {
        let resume = uncompact::resume_command(app, diff.before, &ids.cut(diff.before))?;
        if !args.details {
            app.console.hint(&format!("`stemma diff {} --details` lists them", quoted(&args.reference)));
        }
        app.console
            .hint(&format!("nothing is gone for good: `{resume}` continues from before the compaction"));
    }
    Ok(exit)
}

/// Returns the counts of what is gone.
fn summary(diff: &Diff, ids: ShortIds) -> String {
    let mut text = format!(
        "{} {} replaced what {} knew: {} gone, {} kept\n",
        Style::Compaction.paint("◆"),
        ids.painted(diff.compaction),
        ids.painted(diff.before),
        plural(diff.lost_entries.len(), "entry"),
        many(diff.kept_entries, "entry"),
    );
    let unsure = match diff.unsure_files.len() {
        0 => String::new(),
        count => format!(", and {} that commands may have touched", plural(count, "path")),
    };
    let files = plural(diff.lost_files.len(), "file");
    put!(
        text,
        "No longer named: {files} of {} that tools worked on{unsure}",
        diff.lost_files.len() + diff.kept_files.len()
    );
    for (count, word) in [
        (diff.lost_commands.len(), "command"),
        (diff.lost_errors.len(), "error"),
        (diff.lost_decisions.len(), "decision"),
    ] {
        put!(text, "; {}", plural(count, word));
    }
    text.push('\n');
    text
}

fn details(lists: &mut Lists, diff: &Diff) {
    let gone = diff.lost_files.iter().map(|path| ("-", lists.file(path)));
    let kept = diff.kept_files.iter().map(|path| (" ", lists.file(path)));
    let unsure = diff.unsure_files.iter().map(|path| ("?", lists.file(path)));
    let doubt = if diff.unsure_files.is_empty() { "" } else { ", ? perhaps touched and no longer named" };
    let files: Vec<_> = gone.chain(unsure).chain(kept).collect();
    lists.add(&format!("Files worked on (- no longer named{doubt})"), files);
    let said = |all: &[String]| -> Vec<_> { all.iter().map(|text| ("-", lists.fit(text))).collect() };
    let (commands, errors, decisions) =
        (said(&diff.lost_commands), said(&diff.lost_errors), said(&diff.lost_decisions));
    let entries =
        diff.lost_entries.iter().map(|entry| ("-", lists.fit(&format!("{:<9} {}", entry.role, entry.text))));
    let entries: Vec<_> = entries.collect();
    lists.add("Commands no longer named", commands);
    lists.add("Errors no longer said", errors);
    lists.add("Decisions no longer said", decisions);
    lists.add("Entries gone", entries);
}

fn compared(app: &App, args: &browse::Diff, other: &str) -> Result<Exit, CliError> {
    let request = CompareRequest { first: app.ctx(&args.reference)?, second: app.ctx(other)? };
    let found = app.service()?.compare(&request)?;
    let ids = app.short_ids([found.first.ctx, found.second.ctx].into_iter().chain(found.ancestor))?;
    let exit = app.answer(&found, || {
        let mut lists = Lists::new(app, parted(&found, ids));
        for (named, side) in [(args.reference.as_str(), &found.first), (other, &found.second)] {
            side_of(&mut lists, side, &label(named, side.ctx, ids), args.details);
        }
        Ok(lists.text)
    })?;
    if !app.console.json && !args.details {
        let (one, other) = (quoted(&args.reference), quoted(other));
        app.console.hint(&format!(
            "`stemma diff {one} {other} --details` lists files, commands, errors and decisions"
        ));
    }
    Ok(exit)
}

/// Says where two chains parted.
fn parted(found: &Comparison, ids: ShortIds) -> String {
    match found.ancestor {
        Some(ancestor) if ancestor == found.first.ctx && ancestor == found.second.ctx => {
            format!("Both are {}\n", ids.painted(ancestor))
        }
        Some(ancestor) => format!("Both continue from {}\n", ids.painted(ancestor)),
        None => "They share no commit; entries that both have are left out\n".to_owned(),
    }
}

/// Returns what a side is called: what was typed, and which commit that means.
fn label(named: &str, ctx: CommitId, ids: ShortIds) -> String {
    let id = ids.painted(ctx);
    // Whoever typed an id need not read it twice.
    if ctx.to_string().starts_with(named) {
        id
    } else {
        format!("{} ({id})", Style::Strong.paint(&tame(named)))
    }
}

fn side_of(lists: &mut Lists, side: &ChainSide, label: &str, is_detailed: bool) {
    if side.commits == 0 && side.entries == 0 {
        put!(lists.text, "\nOnly {label}: nothing\n");
        return;
    }
    let mut counts = vec![many(side.commits, "commit"), many(side.entries, "entry")];
    counts.push(plural(side.prompts.len(), "prompt"));
    counts.extend(Some(painted(&outline::files(&side.files), " ")).filter(|files| !files.is_empty()));
    counts.push(plural(side.commands.len(), "command"));
    if side.tests_passed + side.tests_failed > 0 {
        counts.push(format!("tests {} ✓ {} ✗", side.tests_passed, side.tests_failed));
    }
    let open = side.errors.iter().filter(|error| !error.resolved).count();
    counts.push(format!("{} ({open} open)", plural(side.errors.len(), "error")));
    counts.push(plural(side.decisions.len(), "decision"));
    put!(lists.text, "\nOnly {label}: {}\n", counts.join(", "));
    let listed = if is_detailed { usize::MAX } else { PROMPTS_MAX };
    for prompt in side.prompts.iter().take(listed) {
        let line = fit(&session::title_of(prompt), lists.width);
        put!(lists.text, "  {} {line}\n", Style::Branch.paint("❯"));
    }
    if side.prompts.len() > listed {
        put!(lists.text, "  … and {} more\n", side.prompts.len() - listed);
    }
    if !is_detailed {
        return;
    }
    let files: Vec<_> = side
        .files
        .iter()
        .map(|file| {
            let lines = painted(&outline::lines(file.added, file.removed), " ");
            ("+", format!("{} {lines}", lists.file(&file.path)).trim_end().to_owned())
        })
        .collect();
    let said = |all: &[String]| -> Vec<_> { all.iter().map(|text| ("+", lists.fit(text))).collect() };
    let (commands, decisions) = (said(&side.commands), said(&side.decisions));
    let errors: Vec<_> = side.errors.iter().map(|error| ("+", lists.fit(&failed(error)))).collect();
    let commits = side.git_commits.iter().map(|made| {
        ("+", lists.fit(&format!("{} {}", made.hash.as_deref().unwrap_or("(no hash)"), made.subject)))
    });
    let commits: Vec<_> = commits.collect();
    lists.add("Files changed", files);
    lists.add("Commands run", commands);
    lists.add("Commits of git", commits);
    lists.add("Errors", errors);
    lists.add("Decisions", decisions);
}

fn failed(error: &SessionError) -> String {
    let end = if error.resolved { "fixed" } else { "open" };
    format!("{}: {} ({end})", error.what, error.text)
}
