//! `tree`: a chain and everything that branches off it, at a glance.

use std::collections::HashMap;

use stemmata_api::v1;
use stemmata_engine::{Engine, HistoryRow};
use stemmata_model::CommitId;
use stemmata_store::{LinkKind, Session, SessionKey};

use crate::args::browse::Tree;
use crate::errors::{CliError, Exit};
use crate::output::commit::ShortIds;
use crate::output::draw::{self, Drawing, Subagent};
use crate::output::size::many;
use crate::output::style::{Style, tame};
use crate::output::table::fit;
use crate::output::{session, time};
use crate::wiring::App;
use stemmata_service::wire;

/// Links of a commit that its line looks at.
const LINKS_MAX: usize = 8;

/// Nodes that become JSON at once: what is known of all of them would be in memory twice.
const PAGE_NODES: usize = 512;

/// Runs the command.
pub(crate) fn run(app: &App, args: &Tree) -> Result<Exit, CliError> {
    let engine = app.engine()?;
    let ctx = match &args.reference {
        Some(reference) => app.find(reference)?,
        None => latest(app, engine)?,
    };
    let tree = engine.tree(ctx)?;
    if app.console.json {
        return as_json(app, engine, &tree);
    }
    let drawing = Drawing::of(&tree, ctx);
    let drawn = drawing.commits();
    let ids = ShortIds::of(engine, &drawn)?;
    let mut labels = HashMap::new();
    for row in engine.describe(&drawn)? {
        labels.insert(row.commit.id, label(app, ids, &row));
    }
    let subagents = subagents(engine, &tree)?;
    let mut text = header(app, engine, &tree)?;
    text.push_str(&drawing.render(&labels, &subagents, ids, app.console.width));
    app.console.long_text(&text)?;
    if tree.is_cut {
        app.console.warn("the tree is larger than what is drawn");
    }
    Ok(Exit::Done)
}

fn latest(app: &App, engine: &Engine) -> Result<CommitId, CliError> {
    let here = engine.latest_session(Some(&app.environment.current_dir.to_string_lossy()));
    let session = here.or_else(|_| engine.latest_session(None))?;
    session.tip.map_or_else(|| app.find(session.session.as_str()), Ok)
}

/// Says which session the root was captured in.
fn header(app: &App, engine: &Engine, tree: &stemmata_engine::Tree) -> Result<String, CliError> {
    let Some(root) = tree.nodes.first() else { return Ok(String::new()) };
    let Some(session) = session_of(engine, root.commit.id)? else { return Ok(String::new()) };
    let cwd = session.cwd.as_deref().map(|cwd| app.environment.shown(std::path::Path::new(cwd)));
    let line =
        format!("{}  {}  {}", session::title(&session), session::short(&session), cwd.unwrap_or_default());
    Ok(format!("{}\n", Style::Strong.paint(&fit(&tame(&line), app.console.width))))
}

fn session_of(engine: &Engine, id: CommitId) -> Result<Option<Session>, CliError> {
    let first = engine.store().sightings(id, 1)?.into_iter().next();
    let key = first.and_then(|sighting| {
        let source = sighting.source?;
        Some(SessionKey { machine: sighting.machine, path: source.path })
    });
    Ok(key.map(|key| engine.store().session(&key)).transpose()?.flatten())
}

fn label(app: &App, ids: ShortIds, row: &HistoryRow) -> draw::Label {
    let id = row.commit.id;
    let mut tail: Vec<(Style, String)> =
        row.annotations.tags.iter().map(|tag| (Style::Branch, format!("#{}", tame(tag)))).collect();
    if row.annotations.pinned {
        tail.push((Style::Faint, "pinned".to_owned()));
    }
    for link in row.links.iter().take(LINKS_MAX) {
        if link.kind == LinkKind::DerivedFrom && link.from == id {
            tail.push((Style::Faint, format!("⑂ copy of {}", ids.text(link.to))));
        }
    }
    draw::Label {
        id: ids.text(id),
        when: time::ago(row.commit.core.created_at, app.now()),
        summary: tame(&row.summary.text),
        tail,
    }
}

/// Finds the subagents that commits of the tree started.
fn subagents(
    engine: &Engine,
    tree: &stemmata_engine::Tree,
) -> Result<HashMap<CommitId, Vec<Subagent>>, CliError> {
    let mut found: HashMap<CommitId, Vec<Subagent>> = HashMap::new();
    for node in &tree.nodes {
        for link in
            node.links.iter().filter(|link| link.kind == LinkKind::Subagent && link.to == node.commit.id)
        {
            let session = session_of(engine, link.from)?;
            let title = match &session {
                Some(session) => {
                    format!("{} ({})", session::title(session), many(session.messages, "message"))
                }
                None => "(not imported)".to_owned(),
            };
            let tip = session.and_then(|session| session.tip).unwrap_or(link.from);
            found.entry(node.commit.id).or_default().push(Subagent { tip, title });
        }
    }
    Ok(found)
}

fn as_json(app: &App, engine: &Engine, tree: &stemmata_engine::Tree) -> Result<Exit, CliError> {
    let mut nodes = Vec::with_capacity(tree.nodes.len());
    for page in tree.nodes.chunks(PAGE_NODES) {
        let ids: Vec<CommitId> = page.iter().map(|node| node.commit.id).collect();
        nodes
            .extend(engine.describe(&ids)?.iter().zip(page).map(|(row, node)| wire::commit::node(row, node)));
    }
    app.console.json(&v1::Tree { nodes, is_cut: tree.is_cut })?;
    Ok(Exit::Done)
}
