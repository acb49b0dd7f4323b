//! `show SESSION`: a session at a glance.

use std::path::Path;

use stemmata_api::v1::{Commit, RedactedKind, ReportedTokens, SessionError, SessionOverview};

use crate::args::browse::Show;
use crate::errors::CliError;
use crate::output::outline::{self, moment, painted};
use crate::output::put;
use crate::output::session;
use crate::output::size::{count, grouped, many};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, fit, fit_end, pieces};
use crate::output::time;
use crate::wiring::App;

/// Files, commits, errors and subagents that people see without `--full`.
const LISTED_MAX: usize = 8;
/// Columns of a command or a file of an error.
const WHAT_COLUMNS: usize = 32;
/// Columns that a prompt keeps where others are left out for it.
const PROMPT_COLUMNS_MIN: usize = 24;
/// What a narrow terminal leaves out of the prompts, in this order.
const LEFT_OUT: &[&str] = &["WHEN", "TOOK", "CALLS", "OUTCOME"];
/// Columns of the names on the left.
const NAME_WIDTH: usize = 11;

/// Returns a session as text.
pub(super) fn render(app: &App, args: &Show, commit: &Commit) -> Result<String, CliError> {
    let Some(overview) = &commit.overview else { return Ok(String::new()) };
    if args.prompts {
        return Ok(prompts(overview));
    }
    let tips = overview.subagents.iter().map(|started| started.subagent.tip);
    let turns = overview.turns.iter().map(|turn| turn.ctx);
    let ids = app.short_ids(tips.chain(turns))?;
    let listed_max = if args.full { usize::MAX } else { LISTED_MAX };
    let is_whole = args.full || !app.console.is_cut();
    let mut page = Page { text: String::new(), width: app.console.width, listed_max, is_whole };
    page.head(app, overview)?;
    page.times(app, overview);
    page.work(overview);
    let room = page.room();
    let errors = overview.errors.iter().map(|failed| error(app, failed, room)).collect();
    let fixed = overview.errors.iter().filter(|error| error.resolved).count() as u64;
    page.list("errors", &counted(overview.errors.len() as u64, fixed), errors);
    let subagents = overview.subagents.iter().map(|started| {
        let (title, messages) = started.subagent.session.as_ref().map_or_else(
            || ("(not imported)".to_owned(), String::new()),
            |session| (session::title(session), format!("({})", many(session.messages, "message"))),
        );
        let id = (Style::Id, ids.cut(started.subagent.tip));
        outline::row(&[id, (Style::Plain, title), (Style::Faint, messages)], 1, room)
    });
    page.secrets(&overview.redacted);
    page.list("subagents", &many(overview.subagents.len() as u64, "subagent"), subagents.collect());
    page.turns(app, overview);
    Ok(page.text)
}

/// Returns what people said, whole and numbered.
fn prompts(overview: &SessionOverview) -> String {
    let mut text = String::new();
    for turn in &overview.turns {
        let (Some(number), Some(prompt)) = (turn.number, &turn.prompt) else { continue };
        let gap = if text.is_empty() { "" } else { "\n" };
        put!(text, "{gap}{}\n{}\n", Style::Faint.paint(&format!("{number}.")), prompt.trim_end());
    }
    text
}

/// The text of an overview.
struct Page {
    text: String,
    width: usize,
    listed_max: usize,
    /// Whether prompts are shown to their end.
    is_whole: bool,
}

impl Page {
    /// Returns the columns behind the names.
    fn room(&self) -> usize {
        self.width.saturating_sub(NAME_WIDTH)
    }

    fn line(&mut self, name: &str, value: &str) {
        put!(self.text, "{}{value}\n", Style::Faint.paint(&format!("{name:<NAME_WIDTH$}")));
    }

    /// Adds a heading with what belongs to it, cut to the width and to so many lines.
    fn list(&mut self, name: &str, head: &str, rows: Vec<String>) {
        if rows.is_empty() {
            return;
        }
        self.line(name, head);
        let more = rows.len().saturating_sub(self.listed_max);
        for row in rows.into_iter().take(self.listed_max) {
            self.line("", &row);
        }
        if more > 0 {
            self.line("", &Style::Faint.paint(&format!("… and {more} more (`--full` lists all)")));
        }
    }

    fn head(&mut self, app: &App, overview: &SessionOverview) -> Result<(), CliError> {
        let of = &overview.session;
        put!(self.text, "{}\n", Style::Strong.paint(&fit(&session::title(of), self.width)));
        let client = tame(session::client(of));
        let version = of.version.as_deref().map(|version| format!(" {}", tame(version))).unwrap_or_default();
        let id = app.short_sessions([&of.session_id])?.concat();
        let mut second = vec![(Style::Id, id), (Style::Plain, format!("{client}{version}"))];
        second.extend(of.cwd.as_deref().map(|cwd| (Style::Plain, app.environment.shown(Path::new(cwd)))));
        // A detached head is no branch that says anything.
        let branch = of.git_branch.as_deref().filter(|branch| *branch != "HEAD");
        second.extend(branch.map(|branch| (Style::Branch, format!("⎇ {}", tame(branch)))));
        put!(self.text, "{}\n\n", painted(&second, " · "));
        Ok(())
    }

    fn times(&mut self, app: &App, overview: &SessionOverview) {
        let (Some(began), Some(mut ended)) = (overview.began_at, overview.ended_at) else { return };
        let is_wrong = time::is_to_come(ended, app.now());
        if is_wrong && let Some(last) = overview.session.last_at {
            ended = last;
        }
        let micros = ended.as_micros().saturating_sub(began.as_micros());
        let whole = outline::span(u64::try_from(micros / 1_000_000).unwrap_or(0));
        let active = outline::span(overview.active_seconds);
        self.line("when", &format!("{} to {}", moment(began, app.now()), moment(ended, app.now())));
        if is_wrong {
            let note = "a record is of the future: the end is the last one before it";
            self.line("", &Style::Faint.paint(note));
        }
        let time = if whole == active {
            whole
        } else {
            format!("{whole}, of which {active} active (without pauses over 10 min)")
        };
        self.line("time", &time);
    }

    fn work(&mut self, overview: &SessionOverview) {
        if !overview.models.is_empty() {
            self.line("models", &tame(overview.models.join(", ")));
        }
        let told = tokens(overview.tokens, overview.counted_tokens);
        ["tokens", ""].iter().zip(told).for_each(|(name, line)| self.line(name, &line));
        let mut files: Vec<_> = overview.files.iter().collect();
        files.sort_by_key(|file| (std::cmp::Reverse(file.added + file.removed), &file.path));
        let room = self.room();
        let rows = files.iter().map(|file| {
            let mut pieces = outline::lines(file.added, file.removed);
            let used: usize = pieces.iter().map(|(_, text)| text.chars().count() + 1).sum();
            // Of a path, the end says more.
            let path = fit_end(&tame(&file.path), room.saturating_sub(used));
            pieces.insert(0, (Style::Plain, path));
            painted(&pieces, " ")
        });
        let rows = rows.collect();
        self.list("files", &painted(&outline::files(&overview.files), " "), rows);
        let commits = overview.git_commits.iter().map(|made| {
            let hash = made.hash.as_deref().unwrap_or("(hash not shown)");
            let subject = (Style::Plain, tame(&made.subject));
            outline::row(&[(Style::Id, tame(hash)), subject], 1, room)
        });
        let commits = commits.collect();
        self.list("git", &many(overview.git_commits.len() as u64, "commit"), commits);
        if let Some(is_passed) = overview.is_last_test_passed {
            let last = if is_passed { Style::Good.paint("passed") } else { Style::Error.paint("failed") };
            let (green, red) = (overview.tests_passed, overview.tests_failed);
            let runs = many(green + red, "run");
            self.line("tests", &format!("{runs}: {green} passed, {red} failed; the last one {last}"));
        }
    }

    /// Says which secrets were replaced, and that they are still where the client wrote them.
    fn secrets(&mut self, kinds: &[RedactedKind]) {
        let all: u64 = kinds.iter().map(|of| of.count).sum();
        if all == 0 {
            return;
        }
        let name = |of: &RedactedKind| match of.count {
            1 => tame(&of.kind),
            count => format!("{} ×{}", tame(&of.kind), grouped(count)),
        };
        let kinds = kinds.iter().map(name).collect::<Vec<_>>().join(", ");
        let replaced = Style::Warning.paint(&format!("{} replaced", many(all, "secret")));
        self.line("secrets", &format!("{replaced} ({kinds})"));
        let next = "still in the client's own file: rotate them; `stemma scan --clients` lists them";
        self.line("", &Style::Faint.paint(next));
    }

    fn turns(&mut self, app: &App, overview: &SessionOverview) {
        if overview.turns.is_empty() {
            return;
        }
        let mut table = Table::new(&[
            ("#", Column::Right),
            ("WHEN", Column::Left),
            ("TOOK", Column::Right),
            ("CALLS", Column::Right),
            ("OUTCOME", Column::Left),
            ("PROMPT", Column::Flexible),
        ]);
        for turn in &overview.turns {
            let did = &turn.outline;
            let began = did.began_at.map(|at| moment(at, app.now()));
            let calls: u64 = did.tools.values().sum();
            let prompt = session::prompt(turn, self.is_whole)
                .unwrap_or_else(|| "(before the first prompt)".to_owned());
            table.row(vec![
                cell(Style::Id, turn.number.map(|number| number.to_string()).unwrap_or_default()),
                cell(Style::Faint, began.unwrap_or_default()),
                cell(Style::Faint, outline::took(did).unwrap_or_default()),
                cell(Style::Plain, if calls > 0 { calls.to_string() } else { String::new() }),
                pieces(&outline::outcome(did, turn.prompt.is_some())),
                cell(Style::Plain, prompt),
            ]);
        }
        let table = table.narrowed(LEFT_OUT, PROMPT_COLUMNS_MIN, self.width);
        put!(self.text, "\n{}", table.render(self.width));
    }
}

/// Says which tokens a session took: what was reported, of all requests together, and what its entries take.
fn tokens(reported: Option<ReportedTokens>, counted: u64) -> Vec<String> {
    let whole = format!("about {} in the whole session (estimated)", count(counted));
    let Some(tokens) = reported else { return vec![whole] };
    let sent = tokens.input + tokens.cache_read + tokens.cache_write;
    let cached = if tokens.cache_read > 0 {
        format!(" ({} from the cache)", count(tokens.cache_read))
    } else {
        String::new()
    };
    let out = if tokens.output_partial {
        "out: not reported reliably".to_owned()
    } else {
        format!("{} out", count(tokens.output))
    };
    vec![format!("{} in{cached}, {out} (reported, all requests)", count(sent)), whole]
}

/// Counts errors: `1 error, fixed`, `5 errors, 3 fixed`.
fn counted(errors: u64, fixed: u64) -> String {
    let all = many(errors, "error");
    match fixed {
        0 => all,
        1 if errors == 1 => format!("{all}, fixed"),
        fixed if fixed == errors => format!("{all}, all fixed"),
        fixed => format!("{all}, {fixed} fixed"),
    }
}

fn error(app: &App, error: &SessionError, width: usize) -> String {
    let times = if error.times > 1 { format!("×{}", error.times) } else { String::new() };
    let what = app.console.fit(&tame(&error.what), WHAT_COLUMNS.min(width / 4));
    let what = if what.is_empty() { what } else { format!("{what}:") };
    let place = error.prompt.map(|number| format!("(prompt {number})")).unwrap_or_default();
    let columns = if app.console.is_cut() { WHAT_COLUMNS.min(width / 5) } else { usize::MAX };
    let path = |file: &str| fit_end(&tame(file), columns);
    let end = match (error.resolved, error.fixed_by.as_slice()) {
        (false, _) => (Style::Error, "✗ open".to_owned()),
        (true, []) => (Style::Good, "✓ passed later".to_owned()),
        (true, [file]) => (Style::Good, format!("✓ fixed by {}", path(file))),
        (true, [file, others @ ..]) => {
            (Style::Good, format!("✓ fixed by {} and {} more", path(file), others.len()))
        }
    };
    let pieces = [
        (Style::Strong, what),
        (Style::Plain, tame(&error.text)),
        (Style::Faint, times),
        (Style::Faint, place),
        end,
    ];
    outline::row(&pieces, 1, width)
}
