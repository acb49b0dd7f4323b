//! Sessions as wire types.

use stemmata_api::v1;
use stemmata_engine::prompt::title::clean;
use stemmata_engine::{Engine, SessionFigures, SessionRow, StoppedReading, runtime_of, turns_of};
use stemmata_store::{Session, SessionOrigin};

use crate::fault::Fault;
use crate::wire;

/// Returns the wire form of a session of a listing.
pub(crate) fn listed(row: &SessionRow) -> v1::Session {
    v1::Session {
        short_id: Some(row.reference.clone()),
        project: row.project.clone(),
        forks: (row.folded > 0).then_some(row.folded),
        tip_commit: row.tip.as_ref().map(wire::commit::commit),
        compactions: row.counts.map(|counts| counts.compactions),
        compactions_cut: row.counts.and_then(|counts| counts.is_cut.then_some(true)),
        subagents: row.counts.map(|counts| counts.subagents),
        copy_of: row.copied_from,
        foreign_machine: row.foreign_machine.clone(),
        stopped: row.stopped.as_ref().map(stopped),
        ..session(&row.session)
    }
}

/// Returns a title as every response holds it: clean, and none where nothing is left.
pub(crate) fn title(stored: Option<&str>) -> Option<String> {
    stored.map(clean).filter(|title| !title.is_empty())
}

/// Returns the wire form of a session with the reference that means it.
pub(crate) fn named(engine: &Engine, of: &Session) -> Result<v1::Session, Fault> {
    let short_id = Some(engine.reference_to(of)?);
    Ok(v1::Session { short_id, project: engine.project_name(of)?, ..session(of) })
}

/// Returns the wire form of a session.
pub(crate) fn session(session: &Session) -> v1::Session {
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
        title: title(session.title.as_deref()),
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

/// Adds what a session's chain comes to, where it was read.
pub(crate) fn add_figures(session: &mut v1::Session, figures: Option<&SessionFigures>) {
    session.prompts = figures.map(|figures| figures.prompts);
    session.active_seconds =
        figures.map(|figures| u64::try_from(figures.active_micros / 1_000_000).unwrap_or(0));
    session.outcome = figures.and_then(|figures| figures.outcome).map(|outcome| outcome.as_str().to_owned());
}

/// Returns the wire form of where reading stopped.
pub(crate) fn stopped(stopped: &StoppedReading) -> v1::StoppedReading {
    let StoppedReading { line, read_bytes, bytes } = *stopped;
    v1::StoppedReading { line, read_bytes, bytes, what: stopped.describe() }
}

/// Returns what is left of a session in its transcript, where that was cut.
pub(crate) fn cut(engine: &Engine, session: &Session) -> Result<Option<v1::CutTranscript>, Fault> {
    if let Some(left) = engine.left_of(session)? {
        let (path, messages) = (left.key.path, left.messages);
        return Ok(Some(v1::CutTranscript { path, messages, of: session.messages, whole: None }));
    }
    let whole = engine.larger_before(session)?;
    Ok(whole.map(|whole| v1::CutTranscript {
        path: session.key.path.clone(),
        messages: session.messages,
        of: whole.messages,
        whole: whole.tip,
    }))
}
