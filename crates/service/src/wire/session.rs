//! Sessions as wire types.

use stemmata_api::v1;
use stemmata_store::{Session, SessionOrigin};

/// Returns the wire form of a session.
pub fn session(session: &Session) -> v1::Session {
    let (origin, placed_from) = match session.origin {
        SessionOrigin::Imported => ("imported", None),
        SessionOrigin::Placed(ctx) => ("placed", Some(ctx.to_string())),
        SessionOrigin::Api => ("api", None),
    };
    v1::Session {
        session_id: session.session.to_string(),
        path: session.key.path.clone(),
        machine: session.key.machine.to_string(),
        parent_session: session.parent_session.as_ref().map(ToString::to_string),
        format: session.format.to_string(),
        template: session.template.to_string(),
        principal: session.principal.to_string(),
        granularity: session.granularity.to_string(),
        origin: origin.to_owned(),
        placed_from,
        title: session.title.clone(),
        cwd: session.cwd.clone(),
        git_branch: session.git_branch.clone(),
        version: session.version.clone(),
        started_at: session.started_at.map(|point| point.to_string()),
        last_at: session.last_at.map(|point| point.to_string()),
        tip: session.tip.map(|tip| tip.to_string()),
        commits: session.commits,
        messages: session.messages,
        bytes: session.bytes,
        tip_commit: None,
        compactions: None,
        subagents: None,
        copy_of: None,
    }
}
