//! `du --chains`: what each session's chain takes, and what it shares with chains that began earlier.

use stemmata_api::v1::{ChainCostsRequest, DuChain, DuChains, SessionsRequest};

use crate::args::maintain::Du;
use crate::commands::list::{nothing, say_cut};
use crate::commands::{ROWS_MAX, rows};
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::{Cell, Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(super) fn run(app: &App, args: &Du) -> Result<Exit, CliError> {
    let project = args.project.as_ref().map(|project| app.environment.absolute(project));
    let project = project.map(|path| path.to_string_lossy().into_owned());
    let wanted = rows(args.limit, app.console.json);
    let limit = (wanted < ROWS_MAX).then(|| u64::try_from(wanted).unwrap_or(u64::MAX));
    let request = ChainCostsRequest { project, limit };
    let costs = app.service()?.chain_costs(&request)?;
    if costs.chains.is_empty() && !app.console.json {
        nothing(app, &SessionsRequest { project: request.project.clone(), ..SessionsRequest::all() });
        return Ok(Exit::Done);
    }
    let exit = app.answer(&costs, || told(app, &costs))?;
    if !app.console.json && costs.total.chains > u64::try_from(costs.chains.len()).unwrap_or(u64::MAX) {
        say_cut(app);
    }
    Ok(exit)
}

fn told(app: &App, costs: &DuChains) -> Result<String, CliError> {
    let DuChains { chains, total, sidecars } = costs;
    let ids = app.short_ids(chains.iter().filter_map(|cost| cost.copy_of))?;
    let mut table = Table::new(&[
        ("SESSION", Column::Left),
        ("STORED", Column::Right),
        ("CAPTURED", Column::Right),
        ("", Column::Right),
        ("SHARED", Column::Right),
        ("TITLE", Column::Flexible),
    ]);
    let sessions = app.short_sessions(chains.iter().map(|cost| &cost.session_id))?;
    for (cost, session) in chains.iter().zip(sessions) {
        table.row(row(ids, session, cost));
    }
    let mut text = table.render(app.console.width);
    let sum = format!(
        "\n{} captured in {}, which take {} ({}); metadata and indexes come on top\n",
        size::bytes(total.logical_bytes),
        many(total.chains, "chain"),
        size::bytes(total.stored_bytes),
        size::percent(total.stored_bytes, total.logical_bytes),
    );
    text.push_str(&sum);
    if total.copies > 0 {
        let copies = if total.copies == 1 { "copy" } else { "copies" };
        let line = format!(
            "Of these, {} ⑂ {copies} of other chains: {} captured, which take {} ({})\n",
            size::count(total.copies),
            size::bytes(total.copies_logical_bytes),
            size::bytes(total.copies_stored_bytes),
            size::percent(total.copies_stored_bytes, total.copies_logical_bytes),
        );
        text.push_str(&line);
    }
    if sidecars.files > 0 {
        let line = format!(
            "{} beside the transcripts: {} captured, which take {} ({})\n",
            many(sidecars.files, "file"),
            size::bytes(sidecars.logical_bytes),
            size::bytes(sidecars.stored_bytes),
            size::percent(sidecars.stored_bytes, sidecars.logical_bytes),
        );
        text.push_str(&line);
    }
    text.push_str(
        "What several chains hold counts for the one that began first; for the others it is shared.\n",
    );
    Ok(text)
}

fn row(ids: ShortIds, session: String, cost: &DuChain) -> Vec<Cell> {
    let mark = match (&cost.parent_session, cost.copy_of) {
        (Some(_), _) => "⚙ ".to_owned(),
        (None, Some(original)) => format!("⑂ {}: ", ids.cut(original)),
        (None, None) => String::new(),
    };
    let shared = match cost.shared_logical_bytes {
        0 => String::new(),
        shared => size::bytes(shared),
    };
    vec![
        cell(Style::Id, session),
        cell(Style::Strong, size::bytes(cost.stored_bytes)),
        cell(Style::Plain, size::bytes(cost.logical_bytes)),
        cell(Style::Faint, size::percent(cost.stored_bytes, cost.logical_bytes)),
        cell(Style::Plain, shared),
        cell(Style::Plain, format!("{mark}{}", session::title_of(cost.title.as_deref().unwrap_or_default()))),
    ]
}
