//! A session as answers have it. What a listing adds to it (references, projects, figures) is not known here.

use stemmata_api::v1;
use stemmata_prompt::title::clean;
use stemmata_runtimes::translate::runtime_of;
use stemmata_store::{Session, SessionOrigin};

use super::turns_of;

/// Returns a stored session for a response. Fields that only listings fill in are absent.
pub fn session_shown(session: &Session) -> v1::Session {
    let (origin, placed_from) = match session.origin {
        SessionOrigin::Imported => ("imported", None),
        SessionOrigin::Placed(ctx) => ("placed", Some(ctx)),
        SessionOrigin::Api => ("api", None),
    };
    v1::Session {
        session_id: session.session.clone(),
        path: session.key.path.clone(),
        machine: session.key.machine.clone(),
        parent_session: session.parent_session.clone(),
        client: runtime_of(&session.format).to_owned(),
        short_id: None,
        turns: turns_of(session),
        forks: None,
        format: session.format.clone(),
        template: session.template.clone(),
        principal: session.principal.clone(),
        granularity: session.granularity,
        origin: origin.to_owned(),
        placed_from,
        title: title_shown(session.title.as_deref()),
        cwd: session.cwd.clone(),
        project: None,
        git_branch: session.git_branch.clone(),
        version: session.version.clone(),
        started_at: session.started_at,
        last_at: session.last_at,
        tip: session.tip,
        commits: session.commits,
        messages: session.messages,
        bytes: session.bytes,
        tip_commit: None,
        compactions: None,
        compactions_cut: None,
        subagents: None,
        copy_of: None,
        prompts: None,
        active_seconds: None,
        outcome: None,
        only_here: None,
        foreign_machine: None,
        stopped: None,
    }
}

/// Cleans a stored title for a response: no control characters; `None` if the title is then empty.
pub fn title_shown(stored: Option<&str>) -> Option<String> {
    stored.map(clean).filter(|title| !title.is_empty())
}
