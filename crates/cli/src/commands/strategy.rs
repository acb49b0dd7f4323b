//! `strategy`: what is wrong with a strategy, and those that come with Stemmata.

use stemmata_api::v1::{
    CheckStrategyRequest, StrategyFinding, StrategyFormat, StrategyReport, StrategyRequest,
};

use crate::args::prompts::{Strategy, StrategyCheck, StrategyCommand};
use crate::commands::assemble::{is_path, text};
use crate::errors::{CliError, Exit};
use crate::output::put;
use crate::output::size::{grouped, plural};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Strategy) -> Result<Exit, CliError> {
    match &args.command {
        StrategyCommand::Check(args) => check(app, args),
        StrategyCommand::Show(args) => {
            let request = StrategyRequest { name: args.name.clone(), format: args.format.into() };
            let found = app.service()?.strategy(&request)?;
            app.answer(&found, || Ok(format!("{}\n", found.text.trim_end())))
        }
        StrategyCommand::List => list(app),
    }
}

fn check(app: &App, args: &StrategyCheck) -> Result<Exit, CliError> {
    let name = args.file.to_string_lossy().into_owned();
    let text = if is_path(app, &name) {
        text(app, &name)?
    } else {
        let request = StrategyRequest { name: name.clone(), format: StrategyFormat::Toml };
        app.service()?.strategy(&request)?.text
    };
    let request = CheckStrategyRequest { text, role: args.role.clone(), ledger: args.ledger.clone() };
    let report = app.service()?.check_strategy(&request)?;
    let report = StrategyReport { file: Some(name.clone()), ..report };
    app.answer(&report, || Ok(told(&name, &report)))?;
    Ok(if report.is_valid { Exit::Done } else { Exit::Failure })
}

fn told(name: &str, report: &StrategyReport) -> String {
    let mut text = String::new();
    let name = tame(name);
    for StrategyFinding { severity, line, column, message, suggestion, .. } in &report.findings {
        let style = if severity == "error" { Style::Error } else { Style::Warning };
        put!(text, "{name}:{line}:{column}: {}: {}\n", style.paint(severity), tame(message));
        if let Some(suggestion) = suggestion {
            put!(text, "  {}: {}\n", Style::Hint.paint("hint"), tame(suggestion));
        }
    }
    let count = |severity: &str| report.findings.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings) = (count("error"), count("warning"));
    let verdict =
        if report.is_valid { Style::Good.paint("can be used") } else { Style::Error.paint("cannot be used") };
    put!(text, "{name} {verdict}: {}, {}\n", plural(errors, "error"), plural(warnings, "warning"));
    text
}

fn list(app: &App) -> Result<Exit, CliError> {
    let found = app.service()?.strategies()?;
    app.answer(&found, || {
        let mut table = Table::new(&[
            ("NAME", Column::Left),
            ("SOURCES", Column::Right),
            ("TOKENS", Column::Right),
            ("FOR WHOM", Column::Flexible),
        ]);
        for one in &found.strategies {
            table.row(vec![
                cell(Style::Strong, one.name.clone()),
                cell(Style::Plain, one.sources.to_string()),
                cell(Style::Plain, grouped(one.max_tokens)),
                cell(Style::Plain, one.about.clone()),
            ]);
        }
        Ok(table.render(app.console.width))
    })
}
