//! `blame`: from a line of a file to the tool call that wrote it, and to why; laid out as `git blame` does it.
//!
//! The host reads the file and asks git; the service finds the call. Without git the sessions alone are searched.

use std::collections::{BTreeMap, BTreeSet};

use stemmata_api::v1::{self, BlamedLine};
use stemmata_model::Timestamp;
use stemmata_service::BlamedCommit;

use crate::args::git::Blame;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::session::title_of;
use crate::output::size::{grouped, percent};
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::time;
use crate::wiring::App;

/// Characters of an entry's id that name it within its session, but for rare ones.
const ENTRY_CHARS: usize = 8;
/// Columns of a day.
const DAY_COLUMNS: usize = 8;
/// Columns of a session's id, where none of them needs more.
const SESSION_COLUMNS: usize = 8;
/// Columns of a client's name, where there is little room for it and where there is enough.
const CLIENT_COLUMNS: (usize, usize) = (7, 11);
/// Columns from which on there is enough.
const WIDE: usize = 120;
/// Columns of a prompt's words in a window of 80 columns, and at most.
const PROMPT_COLUMNS: (usize, usize) = (14, 48);

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
    let ids = answer.lines.iter().filter_map(|line| line.session_id.as_deref()).map(str::len);
    let layout = Layout {
        width: app.console.width,
        session_columns: ids.max().unwrap_or(0).max(SESSION_COLUMNS),
        is_cut: app.console.is_cut(),
        is_verbose: args.verbose,
        now: app.now(),
    };
    app.console.long_text(&layout.shown(&answer, &file.commits))?;
    say_traced(app, &answer);
    Ok(Exit::Done)
}

/// Puts the references that lists show in place of the sessions' ids.
fn shorten(app: &App, answer: &mut v1::Blame) -> Result<(), CliError> {
    let all: BTreeSet<String> = answer.lines.iter().filter_map(|line| line.session_id.clone()).collect();
    let short = app.short_sessions(all.iter().map(String::as_str))?;
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
        let hint = Style::Hint.paint("hint");
        let entry: String = entry.chars().take(ENTRY_CHARS).collect();
        app.console.say(&format!(
            "{hint}: `stemma fork {session} --at {entry}` starts from a call; `stemma blame -v` shows prompts and reasons"
        ));
    }
}

/// How lines are laid out.
#[derive(Debug, Clone, Copy)]
struct Layout {
    width: usize,
    session_columns: usize,
    /// Whether lines are cut to the width: off a terminal a program reads them.
    is_cut: bool,
    is_verbose: bool,
    now: Timestamp,
}

impl Layout {
    /// Returns a line for each line of the file; what a call is stands once, beside its first line or above it.
    fn shown(self, answer: &v1::Blame, blamed: &BTreeMap<u64, BlamedCommit>) -> String {
        let mut text = String::new();
        let mut last: Option<(Option<&str>, Option<&str>)> = None;
        let digits = answer.lines.last().map_or(1, |line| line.line.to_string().len());
        for line in &answer.lines {
            let commit = blamed.get(&line.line);
            let of_git = commit.filter(|_| self.is_verbose || line.call_id.is_none());
            let key = (of_git.map(|commit| commit.id.as_str()), line.call_id.as_deref());
            let is_new = last.replace(key) != Some(key);
            if self.is_verbose {
                self.heading(&mut text, is_new, commit, line);
            } else if is_new {
                text.push_str(&self.gutter(commit, line));
            } else {
                text.push_str(&" ".repeat(self.gutter_width()));
            }
            let number = Style::Faint.paint(&format!("{:>digits$})", line.line));
            let used = if self.is_verbose { 0 } else { self.gutter_width() } + digits + 2;
            let code = line.text.trim_end();
            let code = if self.is_cut { fit(code, self.width.saturating_sub(used)) } else { code.to_owned() };
            put!(text, "{}\n", format!("{number} {code}").trim_end());
        }
        text
    }

    const fn client_columns(self) -> usize {
        if self.width >= WIDE { CLIENT_COLUMNS.1 } else { CLIENT_COLUMNS.0 }
    }

    fn prompt_columns(self) -> usize {
        let (least, most) = PROMPT_COLUMNS;
        if self.width < 80 { 0 } else { (least + (self.width - 80) / 2).min(most) }
    }

    fn gutter_width(self) -> usize {
        let prompt = self.prompt_columns();
        let gap = usize::from(prompt > 0);
        self.client_columns() + self.session_columns + ENTRY_CHARS + DAY_COLUMNS + 4 + prompt + gap
    }

    /// Returns what stands left of the first line of a call: who, which session, the entry to fork from, when, what was asked.
    fn gutter(self, commit: Option<&BlamedCommit>, line: &BlamedLine) -> String {
        let width = self.gutter_width();
        let Some(ctx) = &line.ctx else {
            let told = match commit {
                Some(commit) if commit.is_committed() => {
                    let short: String = commit.id.chars().take(10).collect();
                    format!("git {short} {}", tame(&commit.summary))
                }
                Some(_) => "(not committed)".to_owned(),
                None => "(unknown)".to_owned(),
            };
            let told = fit(&told, width.saturating_sub(1));
            return Style::Faint.paint(&padded(&told, width));
        };
        let session = line.session_id.as_deref().unwrap_or(ctx);
        let entry: String = line.entry.iter().flat_map(|entry| entry.chars()).take(ENTRY_CHARS).collect();
        let day = line.written_at.as_deref().map(|at| day(time::of_text(at), self.now)).unwrap_or_default();
        let column = |style: Style, text: &str, columns: usize| {
            style.paint(&padded(&fit(&tame(text), columns), columns)) + " "
        };
        let mut text =
            column(Style::Subagent, line.client.as_deref().unwrap_or_default(), self.client_columns());
        text.push_str(&column(Style::Id, session, self.session_columns));
        text.push_str(&column(Style::Branch, &entry, ENTRY_CHARS));
        text.push_str(&column(Style::Faint, &day, DAY_COLUMNS));
        if self.prompt_columns() > 0 {
            let asked = line.request.as_deref().map(title_of).unwrap_or_default();
            text.push_str(&column(Style::Plain, &asked, self.prompt_columns()));
        }
        text
    }

    /// Adds what is known of a call above its first line.
    fn heading(self, text: &mut String, is_new: bool, commit: Option<&BlamedCommit>, line: &BlamedLine) {
        if !is_new {
            return;
        }
        let gap = if text.is_empty() { "" } else { "\n" };
        put!(text, "{gap}{}", told(commit, line, if self.is_cut { self.width } else { usize::MAX }));
    }
}

fn padded(text: &str, columns: usize) -> String {
    use unicode_width::UnicodeWidthStr as _;
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

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
            let at: String = field(&line.written_at).chars().take(16).collect();
            let (client, tool, entry) = (field(&line.client), field(&line.tool), field(&line.entry));
            let (at, session) = (at.replace('T', " "), Style::Id.paint(session));
            rows.push(format!("call   {tool} by {client} in {session}, {at}, entry {entry}, {ctx}"));
            let mut row = |name: &str, text: &Option<String>| {
                let text = text.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
                rows.extend(
                    text.map(|text| format!("{name:<7}{}", fit(&tame(&text), width.saturating_sub(7)))),
                );
            };
            row("prompt", &line.request);
            row("reason", &line.reasoning);
        }
        None => rows.push("call   (not written by a captured session)".to_owned()),
    }
    rows.push(String::new());
    rows.join("\n")
}
