//! `blame`: from a line of a file to the tool call that wrote it, and to why; laid out as `git blame` does it.
//!
//! The host reads the file and asks git; the service finds the call. Without git the sessions alone are searched.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_api::v1::{self, BlamedLine};
use stemmata_model::Timestamp;
use stemmata_service::BlamedCommit;

use crate::args::git::Blame;
use crate::errors::{CliError, Exit};
use crate::output::outline::painted;
use crate::output::put;
use crate::output::session::title_of;
use crate::output::size::{grouped, percent};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::wiring::App;

/// Characters of an entry's id that name it within its session, but for rare ones.
const ENTRY_CHARS: usize = 8;
/// Columns of a block's prompt at most: longer lines are hard to read.
const PROMPT_COLUMNS_MAX: usize = 120;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Blame) -> Result<Exit, CliError> {
    let file = app.host()?.blamed_file(&args.place, &app.environment.current_dir)?;
    let mut answer = app.service()?.blame(&file.request)?;
    file.complete(&mut answer);
    if app.console.json {
        app.console.json(&answer)?;
        return Ok(Exit::Done);
    }
    shorten(app, &mut answer)?;
    let layout = Layout { width: app.console.width, is_verbose: args.verbose, now: app.now() };
    app.console.long_text(&layout.shown(&answer, &file.commits))?;
    say_traced(app, &answer);
    Ok(Exit::Done)
}

/// Puts the references that lists show in place of the sessions' ids.
fn shorten(app: &App, answer: &mut v1::Blame) -> Result<(), CliError> {
    let all: BTreeSet<String> = answer.lines.iter().filter_map(|line| line.session_id.clone()).collect();
    let short = app.short_sessions(&all)?;
    let short: BTreeMap<String, String> = all.into_iter().zip(short).collect();
    for line in &mut answer.lines {
        line.session_id = line.session_id.take().and_then(|id| short.get(&id).cloned());
    }
    Ok(())
}

fn say_traced(app: &App, answer: &v1::Blame) {
    let all = answer.lines.len() as u64;
    let unknown = answer.lines.iter().filter(|line| line.ctx.is_none()).count() as u64;
    let traced = all - unknown;
    let rest = if unknown > 0 { format!("; {} unknown", grouped(unknown)) } else { String::new() };
    let lines = if all == 1 { "line" } else { "lines" };
    let part = percent(traced, all);
    app.console.say(&format!(
        "{} of {} {lines} traced to an agent ({part}){rest}",
        grouped(traced),
        grouped(all)
    ));
    let first =
        answer.lines.iter().find_map(|line| Some((line.session_id.as_deref()?, line.entry.as_deref()?)));
    if let Some((session, entry)) = first {
        let entry: String = entry.chars().take(ENTRY_CHARS).collect();
        app.console.hint(&format!("`stemma fork {session} --at {entry}` starts from a call; `stemma blame -v` shows prompts and reasons"
        ));
    }
}

/// How lines are laid out.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Columns; the largest number where nothing is cut.
    width: usize,
    is_verbose: bool,
    now: Timestamp,
}

/// What a block of lines was written for: by whom in which session and to which prompt, else by which commit of git.
type Block<'l> = (Option<&'l str>, Option<&'l str>, Option<&'l str>);

impl Layout {
    /// Returns each line of the file whole, with the call that wrote it beside the first one; above each block stands what it was
    /// written for.
    fn shown(self, answer: &v1::Blame, blamed: &BTreeMap<u64, BlamedCommit>) -> String {
        let mut text = String::new();
        let (mut last, mut last_block) = (None, None);
        let digits = answer.lines.last().map_or(1, |line| line.line.to_string().len());
        for line in &answer.lines {
            let commit = blamed.get(&line.line);
            let of_git = commit.filter(|_| self.is_verbose || line.call_id.is_none());
            let of_git = of_git.map(|commit| commit.id.as_str());
            let key = (of_git, line.call_id.as_deref());
            let is_new = last.replace(key) != Some(key);
            let block: Block<'_> = (line.session_id.as_deref(), line.request.as_deref(), of_git);
            let is_new_block = last_block.replace(block) != Some(block);
            if self.is_verbose && is_new {
                let gap = if text.is_empty() { "" } else { "\n" };
                put!(text, "{gap}{}", told(commit, line, self.width));
            } else if !self.is_verbose && is_new_block {
                put!(text, "{}\n", self.heading(commit, line));
            }
            if !self.is_verbose {
                let entry = line.entry.as_deref().filter(|_| is_new).unwrap_or_default();
                let entry: String = tame(entry).chars().take(ENTRY_CHARS).collect();
                put!(text, "{} ", Style::Branch.paint(&padded(&entry, ENTRY_CHARS)));
            }
            let number = Style::Faint.paint(&format!("{:>digits$})", line.line));
            put!(text, "{}\n", format!("{number} {}", line.text.trim_end()).trim_end());
        }
        text
    }

    /// Returns the line above a block: session, client, day and what was asked, else what git says of it.
    fn heading(self, commit: Option<&BlamedCommit>, line: &BlamedLine) -> String {
        let Some(ctx) = line.ctx else {
            let told = match commit {
                Some(commit) if commit.is_committed() => {
                    let short: String = commit.id.chars().take(10).collect();
                    format!("git {short} {}", tame(&commit.summary))
                }
                Some(_) => "(not committed)".to_owned(),
                None => "(unknown)".to_owned(),
            };
            return Style::Faint.paint(&fit(&told, self.width));
        };
        let session = line.session_id.as_deref().map_or_else(|| ctx.to_string(), tame);
        let client = tame(line.client.as_deref().unwrap_or_default());
        let day = line.written_at.map(|at| day(at, self.now)).unwrap_or_default();
        let used = [&session, &client, &day].map(|text| text.chars().count() + 2).iter().sum::<usize>();
        let asked = line.request.as_deref().map(title_of).unwrap_or_default();
        let asked = fit(&asked, self.width.saturating_sub(used).min(PROMPT_COLUMNS_MAX));
        let pieces =
            [(Style::Id, session), (Style::Subagent, client), (Style::Faint, day), (Style::Strong, asked)];
        painted(&pieces, "  ")
    }
}

fn padded(text: &str, columns: usize) -> String {
    use unicode_width::UnicodeWidthStr as _;
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

/// Characters of a prompt and of a reason: a plan of many pages would stand above each line.
const WHY_CHARS: usize = 400;

/// Returns the day of a point in time: `14 Feb`, `Feb 2025` in another year.
fn day(at: Timestamp, now: Timestamp) -> String {
    let of = |format: &str, at: Timestamp| {
        jiff::Timestamp::from_microsecond(at.as_micros())
            .map_or_else(|_| "?".to_owned(), |at| at.strftime(format).to_string())
    };
    of(if of("%Y", at) == of("%Y", now) { "%-d %b" } else { "%b %Y" }, at)
}

fn told(commit: Option<&BlamedCommit>, line: &BlamedLine, width: usize) -> String {
    let mut rows = Vec::new();
    match commit {
        Some(commit) if commit.is_committed() => {
            let short: String = commit.id.chars().take(10).collect();
            rows.push(format!("git    {short} {}", fit(&tame(&commit.summary), width.saturating_sub(18))));
        }
        Some(_) => rows.push("git    not committed".to_owned()),
        None => {}
    }
    match &line.ctx {
        Some(ctx) => {
            let field = |text: &Option<String>| tame(text.as_deref().unwrap_or_default());
            let session = line.session_id.as_deref().unwrap_or_default();
            let at = line.written_at.map(|at| at.to_string()).unwrap_or_default();
            let at: String = at.chars().take(16).collect();
            let (client, tool, entry) = (field(&line.client), field(&line.tool), field(&line.entry));
            let (at, session) = (at.replace('T', " "), Style::Id.paint(session));
            rows.push(format!("call   {tool} by {client} in {session}, {at}, entry {entry}, {ctx}"));
            let mut row = |name: &str, text: &Option<String>| {
                let text = text.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
                let columns = width.saturating_sub(7).min(WHY_CHARS);
                rows.extend(text.map(|text| format!("{name:<7}{}", fit(&tame(&text), columns))));
            };
            row("prompt", &line.request);
            row("reason", &line.reasoning);
        }
        None => rows.push("call   (not written by a captured session)".to_owned()),
    }
    rows.push(String::new());
    rows.join("\n")
}
