//! `log`: sessions, as `list` shows them; with a REF, the turns behind it.

use stemmata_api::v1::{Commit, SessionDetails};

use crate::args::browse::Log;
use crate::commands::{history, list};
use crate::errors::{CliError, Exit};
use crate::output::commit::{mark, names};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell, pieces};
use crate::output::{size, time};
use crate::wiring::App;
use stemmata_model::Timestamp;

/// Columns of a tag.
const NAME_COLUMNS: usize = 20;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Log) -> Result<Exit, CliError> {
    let Some(reference) = &args.reference else {
        return list::run(app, &args.list, Some(SessionDetails::CountsAndTip));
    };
    let page = history::page(app, reference, 0, args.list.limit, true)?;
    let exit = app.answer(&page, || commit_table(app, &page.commits))?;
    list::say_rest(app, page.next_skip.is_some());
    Ok(exit)
}

/// Returns commits one line each: the number of its prompt where prompts are numbered, mark, id, when, size, summary, tags.
pub(crate) fn commit_table(app: &App, shown: &[Commit]) -> Result<String, CliError> {
    let ids = app.short_ids(shown.iter().map(|commit| commit.id))?;
    let is_numbered = shown.iter().any(|commit| commit.prompt.is_some());
    let columns = [
        ("", Column::Left),
        ("", Column::Left),
        ("", Column::Right),
        ("", Column::Flexible),
        ("", Column::Left),
    ];
    let number = is_numbered.then_some(("", Column::Right));
    let mut table = Table::new(&number.into_iter().chain(columns).collect::<Vec<_>>());
    for commit in shown {
        let (mark, style) = mark(commit);
        let number = commit.prompt.map(|number| number.to_string()).unwrap_or_default();
        let cells = [
            pieces(&[(style, mark.to_owned()), (Style::Id, ids.cut(commit.id))]),
            cell(Style::Faint, written(app, commit.created_at)),
            cell(Style::Faint, size::bytes(commit.native_bytes)),
            cell(Style::Plain, tame(&commit.summary.text)),
            pieces(&names(commit, if app.console.is_cut() { NAME_COLUMNS } else { usize::MAX })),
        ];
        table.row(is_numbered.then(|| cell(Style::Strong, number)).into_iter().chain(cells).collect());
    }
    Ok(table.render(app.console.width))
}

/// Returns when a commit was made, as far as its records say so.
fn written(app: &App, created_at: Timestamp) -> String {
    let moment = app.moment(Some(created_at));
    let is_to_come = time::is_to_come(created_at, app.now());
    if is_to_come { format!("{moment} (in the future)") } else { moment }
}
