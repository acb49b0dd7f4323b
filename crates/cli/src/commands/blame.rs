//! `blame`: from a line of a file to the tool call that wrote it, and to why.
//!
//! The host reads the file and asks git; the service finds the call. Without git the sessions alone are searched.

use std::collections::BTreeMap;

use stemmata_api::v1::{self, BlamedLine};
use stemmata_service::BlamedCommit;

use crate::args::git::Blame;
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::style::Style;
use crate::output::table::fit;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Blame) -> Result<Exit, CliError> {
    let file = app.host()?.blamed_file(&args.place, &app.environment.current_dir)?;
    let mut answer = app.service()?.blame(&file.request)?;
    file.complete(&mut answer);
    let exit = app.answer(&answer, || Ok(shown(&answer, &file.commits, app.console.width)))?;
    if !app.console.json {
        say_unknown(app, &answer);
    }
    Ok(exit)
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
