//! `du --chains`: what each session's chain takes, and what it shares with chains that began earlier.
//!
//! Which chain a commit counts for is the engine's.

use stemmata_api::v1;
use stemmata_engine::{ChainBytes, ChainCost};
use stemmata_model::CommitId;
use stemmata_store::SessionFilter;

use crate::args::maintain::Du;
use crate::commands::list::{nothing, say_cut};
use crate::commands::rows;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::session;
use crate::output::size::{self, many};
use crate::output::style::Style;
use crate::output::table::{Cell, Column, Table, cell};
use crate::wiring::App;
use stemmata_service::wire;

/// Runs the command.
pub(super) fn run(app: &App, args: &Du) -> Result<Exit, CliError> {
    let project = args.project.as_ref().map(|project| app.environment.absolute(project));
    let filter = SessionFilter {
        project: project.map(|path| path.to_string_lossy().into_owned()),
        ..SessionFilter::default()
    };
    let mut costs = app.engine()?.chain_costs(&filter)?;
    let total = total(&costs);
    let wanted = rows(args.limit, app.console.json);
    let is_cut = costs.len() > wanted;
    costs.truncate(wanted);
    if app.console.json {
        app.console
            .json(&v1::DuChains { chains: costs.iter().map(wire::maintain::chain_cost).collect(), total })?;
        return Ok(Exit::Done);
    }
    if costs.is_empty() {
        nothing(app, filter.project.as_deref());
        return Ok(Exit::Done);
    }
    app.console.long_text(&told(app, &costs, &total)?)?;
    if is_cut {
        say_cut(app);
    }
    Ok(Exit::Done)
}

fn total(costs: &[ChainCost]) -> v1::DuTotal {
    let copies = || costs.iter().filter(|cost| cost.copy_of.is_some());
    let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let sum = |of: fn(&ChainBytes) -> u64| costs.iter().map(|cost| of(&cost.own)).sum();
    v1::DuTotal {
        chains: count(costs.len()),
        commits: sum(|bytes| bytes.commits),
        logical_bytes: sum(|bytes| bytes.logical_bytes),
        stored_bytes: sum(|bytes| bytes.stored_bytes),
        packed_bytes: sum(|bytes| bytes.packed_bytes),
        copies: count(copies().count()),
        copies_logical_bytes: copies().map(|cost| cost.own.logical_bytes).sum(),
        copies_stored_bytes: copies().map(|cost| cost.own.stored_bytes).sum(),
    }
}

fn told(app: &App, costs: &[ChainCost], total: &v1::DuTotal) -> Result<String, CliError> {
    let originals: Vec<CommitId> = costs.iter().filter_map(|cost| cost.copy_of).collect();
    let ids = ShortIds::of(app.engine()?, &originals)?;
    let mut table = Table::new(&[
        ("SESSION", Column::Left),
        ("STORED", Column::Right),
        ("CAPTURED", Column::Right),
        ("", Column::Right),
        ("SHARED", Column::Right),
        ("TITLE", Column::Flexible),
    ]);
    for cost in costs {
        table.row(row(ids, cost));
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
    text.push_str(
        "What several chains hold counts for the one that began first; for the others it is shared.\n",
    );
    Ok(text)
}

fn row(ids: ShortIds, cost: &ChainCost) -> Vec<Cell> {
    let mark = match (&cost.session.parent_session, cost.copy_of) {
        (Some(_), _) => "⚙ ".to_owned(),
        (None, Some(original)) => format!("⑂ {}: ", ids.text(original)),
        (None, None) => String::new(),
    };
    let shared = match cost.shared.logical_bytes {
        0 => String::new(),
        shared => size::bytes(shared),
    };
    vec![
        cell(Style::Id, session::short(&cost.session)),
        cell(Style::Strong, size::bytes(cost.own.stored_bytes)),
        cell(Style::Plain, size::bytes(cost.own.logical_bytes)),
        cell(Style::Faint, size::percent(cost.own.stored_bytes, cost.own.logical_bytes)),
        cell(Style::Plain, shared),
        cell(Style::Plain, format!("{mark}{}", session::title(&cost.session))),
    ]
}
