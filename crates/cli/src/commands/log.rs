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

/// Columns of a tag.
const NAME_COLUMNS: usize = 20;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Log) -> Result<Exit, CliError> {
    let Some(reference) = &args.reference else {
        return list::run(app, &args.list, Some(SessionDetails::CountsAndTip));
    };
    let page = history::page(app, reference, 0, args.list.limit)?;
    let exit = app.answer(&page, || commit_table(app, &page.commits))?;
    list::say_rest(app, page.next_skip.is_some());
    Ok(exit)
}

/// Returns commits one line each: mark, id, when, size, summary, tags.
pub(crate) fn commit_table(app: &App, shown: &[Commit]) -> Result<String, CliError> {
    let ids = app.short_ids(shown.iter().map(|commit| commit.id.as_str()))?;
    let mut table = Table::new(&[
        ("", Column::Left),
        ("", Column::Left),
        ("", Column::Right),
        ("", Column::Flexible),
        ("", Column::Left),
    ]);
    for commit in shown {
        let (mark, style) = mark(commit);
        table.row(vec![
            pieces(&[(style, mark.to_owned()), (Style::Id, ids.cut(&commit.id))]),
            cell(Style::Faint, time::ago(time::of_text(&commit.created_at), app.now())),
            cell(Style::Faint, size::bytes(commit.native_bytes)),
            cell(Style::Plain, tame(&commit.summary.text)),
            pieces(&names(commit, NAME_COLUMNS)),
        ]);
    }
    Ok(table.render(app.console.list_width()))
}
