//! `tree`: a chain and everything that branches off it, at a glance.

use std::path::Path;

use stemmata_api::v1::{LatestSessionRequest, Session, TreeRequest};
use stemmata_model::CommitId;

use crate::args::browse::Tree;
use crate::errors::{CliError, Exit};
use crate::output::draw::Drawing;
use crate::output::session;
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::turns::TurnDrawing;
use crate::wiring::App;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Tree) -> Result<Exit, CliError> {
    let here = match &args.reference {
        Some(reference) => app.commit(reference)?,
        None => latest(app)?,
    };
    let folded = args.collapse && !app.console.json;
    let (turns, copies) = (!args.collapse, args.copies);
    let tree = app.service()?.tree(&TreeRequest { ctx: here.to_string(), folded, turns, copies })?;
    let exit = app.answer(&tree, || {
        let ids = app.short_ids(tree.nodes.iter().map(|node| node.id))?;
        let head = tree.session.as_ref().map_or_else(|| Ok(String::new()), |session| header(app, session))?;
        let (now, width) = (app.now(), app.console.width);
        if args.collapse {
            return Ok(head + &Drawing { here, ids, now, width }.render(&tree));
        }
        Ok(head + &TurnDrawing { here, ids, now, width }.render(&tree))
    })?;
    let is_read = args.collapse || tree.nodes.iter().any(|node| node.turns.is_some());
    if !is_read && !app.console.json {
        app.console.warn("the turns cannot be read: commits are shown by their summaries");
    }
    if tree.is_cut && !app.console.json {
        app.console.warn("the tree is larger than what is drawn");
    }
    Ok(exit)
}

fn latest(app: &App) -> Result<CommitId, CliError> {
    let here = app.environment.current_dir.to_string_lossy().into_owned();
    let session =
        app.service()?.latest_session(&LatestSessionRequest { project: Some(here), or_any: true })?;
    session.tip.map_or_else(|| app.commit(session.session_id.as_str()), Ok)
}

/// Says which session the root was captured in.
fn header(app: &App, session: &Session) -> Result<String, CliError> {
    let cwd = session.cwd.as_deref().map(|cwd| app.environment.shown(Path::new(cwd)));
    let id = app.short_sessions([&session.session_id])?.concat();
    let line = format!("{}  {id}  {}", session::title(session), cwd.unwrap_or_default());
    Ok(format!("{}\n", Style::Strong.paint(&fit(&tame(&line), app.console.width))))
}
