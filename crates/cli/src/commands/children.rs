//! `children`: the commits that continue one.

use stemmata_api::v1::{Children, ChildrenRequest};
use stemmata_api::{PageRequest, read_field};

use crate::args::browse;
use crate::commands::{ROWS_MAX, gather, log};
use crate::errors::{CliError, Exit};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &browse::Children) -> Result<Exit, CliError> {
    let ctx = app.ctx(&args.reference)?;
    let service = app.service()?;
    let (commits, next) = gather(ROWS_MAX, None, |limit, after| {
        let page = PageRequest { limit: Some(limit), after };
        let page = service.children(&ChildrenRequest { ctx: ctx.clone(), page })?;
        Ok((page.commits, page.next))
    })?;
    if commits.is_empty() && !app.console.json {
        app.console.say(&format!("Nothing continues {ctx}: it is a tip."));
    }
    let children = Children { of: read_field("ctx", &ctx)?, commits, next };
    app.answer(&children, || log::commit_table(app, &children.commits))
}
