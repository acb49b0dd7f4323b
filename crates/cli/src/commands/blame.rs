//! `blame`: from a line of a file to the tool call that wrote it, and to why.
//!
//! Git says which of its commits a line is of; the service finds the call. Without git the sessions alone are searched.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use stemmata_api::v1::{self, BlameRequest, BlamedLine, KnownLine};
use stemmata_api::{Chains as _, Code, Problem};
use stemmata_service::{BlamedCommit, Repository};

use crate::args::git::Blame;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::style::Style;
use crate::output::table::fit;
use crate::wiring::App;

/// Bytes of a file at most.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Blame) -> Result<Exit, CliError> {
    let (path, wanted) = parse(app, &args.place)?;
    let path = path.canonicalize().map_err(|error| CliError::io("read", &path, error))?;
    let bytes = super::read_input(&path, FILE_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let wanted =
        wanted.map_or(0..lines.len(), |wanted| wanted.start.min(lines.len())..wanted.end.min(lines.len()));
    if wanted.is_empty() {
        return Err(missing(Code::LineNotFound, "line", &args.place));
    }
    let repository = Repository::of(path.parent().unwrap_or(&path));
    let blamed = repository.as_ref().map(|found| found.blame(&path, &wanted)).unwrap_or_default();
    let here = project_of(&path, &app.environment.current_dir);
    let project = repository.map_or(here, |found| found.top);
    let known = blamed
        .iter()
        .filter_map(|(line, commit)| Some(KnownLine { line: number(*line), ctx: commit.context.clone()? }));
    let mut answer = app.service()?.blame(&BlameRequest {
        file: path.to_string_lossy().into_owned(),
        project: project.to_string_lossy().into_owned(),
        lines,
        from_line: number(wanted.start),
        to_line: wanted.end as u64,
        known: known.collect(),
    })?;
    let blamed: BTreeMap<u64, BlamedCommit> =
        blamed.into_iter().map(|(line, commit)| (number(line), commit)).collect();
    for line in &mut answer.lines {
        let commit = blamed.get(&line.line).filter(|commit| commit.is_committed());
        line.git_commit = commit.map(|commit| commit.id.clone());
        line.git_summary = commit.map(|commit| commit.summary.clone());
        line.context_id = commit.and_then(|commit| commit.context.clone());
    }
    let exit = app.answer(&answer, || Ok(shown(&answer, &blamed, app.console.width)))?;
    if !app.console.json {
        say_unknown(app, &answer);
    }
    Ok(exit)
}

/// Returns the number of a line that is counted from 0.
fn number(line: usize) -> u64 {
    line as u64 + 1
}

fn missing(code: Code, what: &str, place: &str) -> CliError {
    Box::new(Problem::new(code, format!("no {what} goes by `{place}`")).with("name", place)).into()
}

/// Returns the directory whose sessions are searched for a file outside of any repository.
fn project_of(file: &Path, current_dir: &Path) -> PathBuf {
    if file.starts_with(current_dir) {
        current_dir.to_owned()
    } else {
        file.parent().unwrap_or(file).to_owned()
    }
}

/// Reads `file`, `file:12` or `file:12-20`; a file that is called so wins.
fn parse(app: &App, place: &str) -> Result<(PathBuf, Option<Range<usize>>), CliError> {
    let whole = app.environment.absolute(Path::new(place));
    if whole.exists() {
        return Ok((whole, None));
    }
    let numbers = place.rsplit_once(':').and_then(|(file, numbers)| {
        let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
        let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
        (1 <= from && from <= to).then(|| (app.environment.absolute(Path::new(file)), from - 1..to))
    });
    numbers
        .map(|(file, range)| (file, Some(range)))
        .ok_or_else(|| missing(Code::BadPlace, "file (FILE, FILE:LINE or FILE:FROM-TO)", place))
}

/// Shows lines that have the same origin together.
fn shown(answer: &v1::Blame, blamed: &BTreeMap<u64, BlamedCommit>, width: usize) -> String {
    let mut text = String::new();
    let mut last: Option<(Option<&str>, Option<&str>)> = None;
    for line in &answer.lines {
        let commit = blamed.get(&line.line);
        let key = (commit.map(|commit| commit.id.as_str()), line.call_id.as_deref());
        if last != Some(key) {
            if last.is_some() {
                text.push('\n');
            }
            text.push_str(&told(commit, line, width));
            last = Some(key);
        }
        let number = Style::Faint.paint(&format!("{:>6}", line.line));
        put!(text, "{number}  {}\n", line.text.trim_end());
    }
    text
}

fn say_unknown(app: &App, answer: &v1::Blame) {
    let unknown = answer.lines.iter().filter(|line| line.ctx.is_none()).count();
    if unknown > 0 {
        let all = answer.lines.len();
        app.console
            .say(&format!("{unknown} of {all} lines were not written by a tool call of a captured session"));
    }
}

fn told(commit: Option<&BlamedCommit>, line: &BlamedLine, width: usize) -> String {
    let mut rows = Vec::new();
    match commit {
        Some(commit) if commit.is_committed() => {
            let short: String = commit.id.chars().take(10).collect();
            rows.push(format!("git   {short} {}", fit(&commit.summary, width.saturating_sub(18))));
        }
        Some(_) => rows.push("git   not committed".to_owned()),
        None => {}
    }
    match &line.ctx {
        Some(ctx) => {
            let cut = |text: &Option<String>, chars: usize| -> String {
                text.iter().flat_map(|text| text.chars()).take(chars).collect()
            };
            let tool = line.tool.as_deref().unwrap_or_default();
            let (session, at) = (cut(&line.session_id, 8), cut(&line.written_at, 16).replace('T', " "));
            rows.push(format!("wrote {tool} in {ctx} ({session}, {at})"));
            let mut row = |name: &str, text: &Option<String>| {
                let text = text.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
                rows.extend(text.map(|text| format!("{name} {}", fit(&text, width.saturating_sub(6)))));
            };
            row("asked", &line.request);
            row("why  ", &line.reasoning);
        }
        None => rows.push("wrote nobody that was captured".to_owned()),
    }
    rows.push(String::new());
    rows.join("\n")
}
