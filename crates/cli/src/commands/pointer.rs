//! `pointer`: names that programs keep for commits.

use stemmata_api::PageRequest;
use stemmata_api::v1::{
    DeletePointerRequest, PointerPage, PointerRequest, PointersRequest, SetPointerRequest,
};

use crate::args::registry::{Pointer, PointerCommand, PointerDelete, PointerList, PointerSet};
use crate::commands::{gather, list, rows};
use crate::errors::{CliError, Exit};
use crate::output::style::{Style, tame};
use crate::output::table::{Column, Table, cell};
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Pointer) -> Result<Exit, CliError> {
    match &args.command {
        None => listed(app, &PointerList { prefix: None, limit: None }),
        Some(PointerCommand::List(args)) => listed(app, args),
        Some(PointerCommand::Show(args)) => {
            let shown = app.service()?.pointer(&PointerRequest { key: args.key.clone() })?;
            app.console.notes(&shown.notes);
            app.answer(&shown, || Ok(format!("{}\n", shown.ctx)))
        }
        Some(PointerCommand::Set(args)) => set(app, args),
        Some(PointerCommand::Delete(args)) => delete(app, args),
    }
}

fn set(app: &App, args: &PointerSet) -> Result<Exit, CliError> {
    let request = SetPointerRequest {
        key: args.key.clone(),
        ctx: app.ctx(&args.reference)?,
        expected: args.expect,
        new: args.new,
    };
    let set = app.service()?.set_pointer(&request)?;
    let ids = app.short_ids([set.pointer.ctx].into_iter().chain(set.previous))?;
    let before = set.previous.map(|previous| format!(", before to {}", ids.cut(previous)));
    let text =
        format!("`{}` points to {}{}", set.pointer.key, ids.cut(set.pointer.ctx), before.unwrap_or_default());
    app.said(&set, &text)
}

fn delete(app: &App, args: &PointerDelete) -> Result<Exit, CliError> {
    let request = DeletePointerRequest { key: args.key.clone(), expected: args.expect };
    let deleted = app.service()?.delete_pointer(&request)?;
    let text = match &deleted.pointer {
        Some(pointer) => format!("Deleted `{}`, which pointed to {}", pointer.key, pointer.ctx),
        None => format!("There is no pointer `{}`", args.key),
    };
    app.said(&deleted, &text)
}

fn listed(app: &App, args: &PointerList) -> Result<Exit, CliError> {
    let service = app.service()?;
    let (pointers, next) = gather(rows(args.limit, app.console.json), None, |limit, after| {
        let page = PageRequest { limit: Some(limit), after };
        let page = service.pointers(&PointersRequest { prefix: args.prefix.clone(), page })?;
        Ok((page.pointers, page.next))
    })?;
    let found = PointerPage { pointers, next };
    if found.pointers.is_empty() && !app.console.json {
        app.console.say("No pointers. `stemma pointer set NAME REF` makes one");
    }
    let exit = app.answer(&found, || {
        let ids = app.short_ids(found.pointers.iter().map(|pointer| pointer.ctx))?;
        let mut table =
            Table::new(&[("", Column::Flexible), ("", Column::Left), ("", Column::Left), ("", Column::Left)]);
        for pointer in &found.pointers {
            table.row(vec![
                cell(Style::Branch, tame(pointer.key.as_str())),
                cell(Style::Id, ids.cut(pointer.ctx)),
                cell(Style::Faint, app.moment(Some(pointer.set_at))),
                cell(Style::Faint, tame(pointer.by.as_str())),
            ]);
        }
        Ok(table.render(app.console.width))
    })?;
    list::say_rest(app, found.next.is_some());
    Ok(exit)
}
