//! Sessions as wire types.

use stemmata_api::v1;
use stemmata_engine::{Engine, SessionFigures, SessionRow, StoppedReading};
use stemmata_store::Session;

use crate::fault::Fault;
use crate::wire;

pub(crate) use stemmata_engine::{session_shown as session, title_shown as title};

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

/// Returns the wire form of a session with the reference that means it.
pub(crate) fn named(engine: &Engine, of: &Session) -> Result<v1::Session, Fault> {
    let short_id = Some(engine.reference_to(of)?);
    Ok(v1::Session { short_id, project: engine.project_name(of)?, ..session(of) })
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
