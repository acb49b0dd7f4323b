//! `blame`: from a line of a file to the tool call that wrote it, and to why.
//!
//! Git says which of its commits a line is of; the engine finds the call. Without git the sessions alone are searched.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};

use stemmata_api::v1;
use stemmata_engine::{BlameQuery, EngineError, LineOrigin, Wanted, project_of};
use stemmata_model::CommitId;

use crate::args::git::Blame;
use crate::commands::git::{BlamedCommit, Repository};
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
        let text = args.place.clone();
        return Err(EngineError::NotFound { what: Wanted::Line, text }.into());
    }
    let repository = Repository::of(app, path.parent().unwrap_or(&path));
    let blamed = repository.as_ref().map(|found| found.blame(&path, &wanted)).unwrap_or_default();
    let engine = app.engine()?;
    let mut known: HashMap<usize, CommitId> = HashMap::new();
    for (line, commit) in &blamed {
        if let Some(ctx) = commit.context.as_deref().and_then(|noted| engine.find(noted).ok()) {
            known.insert(*line, ctx);
        }
    }
    let here = project_of(&path, &app.environment.current_dir);
    let project = repository.as_ref().map_or(here, |found| found.top.clone());
    let query = BlameQuery { file: &path, project: &project, lines: &lines, wanted, known: &known };
    let origins = engine.blame(&query)?;
    let origins: HashMap<usize, LineOrigin> =
        origins.into_iter().map(|origin| (origin.line, origin)).collect();
    if app.console.json {
        app.console.json(&wire(&path, &query, (&blamed, &origins)))?;
    } else {
        show(app, &query, (&blamed, &origins))?;
    }
    Ok(Exit::Done)
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
        .ok_or_else(|| EngineError::NotFound { what: Wanted::File, text: place.to_owned() }.into())
}

type Blamed<'a> = (&'a BTreeMap<usize, BlamedCommit>, &'a HashMap<usize, LineOrigin>);

/// Shows lines that have the same origin together.
fn show(app: &App, query: &BlameQuery<'_>, (blamed, origins): Blamed<'_>) -> Result<(), CliError> {
    let mut text = String::new();
    let mut last: Option<(Option<&str>, Option<&str>)> = None;
    let width = app.console.width;
    for line in query.wanted.clone() {
        let (commit, origin) = (blamed.get(&line), origins.get(&line));
        let key = (commit.map(|commit| commit.id.as_str()), origin.map(|origin| origin.call_id.as_str()));
        if last != Some(key) {
            if last.is_some() {
                text.push('\n');
            }
            text.push_str(&told(commit, origin, width));
            last = Some(key);
        }
        let content = query.lines.get(line).map(String::as_str).unwrap_or_default();
        let number = Style::Faint.paint(&format!("{:>6}", line + 1));
        put!(text, "{number}  {}\n", content.trim_end());
    }
    app.console.long_text(&text)?;
    let unknown = query.wanted.clone().filter(|line| !origins.contains_key(line)).count();
    if unknown > 0 {
        let all = query.wanted.len();
        app.console
            .say(&format!("{unknown} of {all} lines were not written by a tool call of a captured session"));
    }
    Ok(())
}

fn told(commit: Option<&BlamedCommit>, origin: Option<&LineOrigin>, width: usize) -> String {
    let mut rows = Vec::new();
    match commit {
        Some(commit) if commit.is_committed() => {
            let short: String = commit.id.chars().take(10).collect();
            rows.push(format!("git   {short} {}", fit(&commit.summary, width.saturating_sub(18))));
        }
        Some(_) => rows.push("git   not committed".to_owned()),
        None => {}
    }
    match origin {
        Some(origin) => {
            let at =
                origin.at.map(|at| at.to_string().chars().take(16).collect::<String>().replace('T', " "));
            let session: String = origin.session.chars().take(8).collect();
            rows.push(format!(
                "wrote {} in {} ({session}, {})",
                origin.tool,
                origin.ctx,
                at.unwrap_or_default()
            ));
            let mut row = |name: &str, text: &Option<String>| {
                let text = text.as_deref().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
                rows.extend(text.map(|text| format!("{name} {}", fit(&text, width.saturating_sub(6)))));
            };
            row("asked", &origin.request);
            row("why  ", &origin.reasoning);
        }
        None => rows.push("wrote nobody that was captured".to_owned()),
    }
    rows.push(String::new());
    rows.join("\n")
}

fn wire(path: &Path, query: &BlameQuery<'_>, (blamed, origins): Blamed<'_>) -> v1::Blame {
    let lines = query.wanted.clone().map(|line| {
        let commit = blamed.get(&line).filter(|commit| commit.is_committed());
        let origin = origins.get(&line);
        v1::BlamedLine {
            line: u64::try_from(line + 1).unwrap_or(u64::MAX),
            text: query.lines.get(line).cloned().unwrap_or_default(),
            git_commit: commit.map(|commit| commit.id.clone()),
            git_summary: commit.map(|commit| commit.summary.clone()),
            context_id: commit.and_then(|commit| commit.context.clone()),
            ctx: origin.map(|origin| origin.ctx.to_string()),
            via: origin.map(|origin| if origin.is_noted { "trailer" } else { "search" }.to_owned()),
            session_id: origin.map(|origin| origin.session.clone()).filter(|session| !session.is_empty()),
            entry: origin.map(|origin| origin.entry.clone()),
            call_id: origin.map(|origin| origin.call_id.clone()),
            tool: origin.map(|origin| origin.tool.clone()),
            written_at: origin.and_then(|origin| origin.at).map(|at| at.to_string()),
            request: origin.and_then(|origin| origin.request.clone()),
            reasoning: origin.and_then(|origin| origin.reasoning.clone()),
        }
    });
    v1::Blame { path: path.to_string_lossy().into_owned(), lines: lines.collect() }
}
