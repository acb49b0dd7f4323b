//! `children`: the commits that continue one.

use stemmata_api::PageRequest;
use stemmata_api::v1::{Children, ChildrenRequest};

use crate::args::browse;
use crate::commands::{ROWS_MAX, gather, log};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &browse::Children) -> Result<Exit, CliError> {
    let of = app.commit(&args.reference)?;
    let service = app.service()?;
    let (commits, next) = gather(ROWS_MAX, None, |limit, after| {
        let page = PageRequest { limit: Some(limit), after };
        let page = service.children(&ChildrenRequest { ctx: of.to_string(), page })?;
        Ok((page.commits, page.next))
    })?;
    if commits.is_empty() && !app.console.json {
        app.console.say(&format!("Nothing continues {of}: it is a tip."));
    }
    let children = Children { of, commits, next };
    app.answer(&children, || log::commit_table(app, &children.commits))
}
