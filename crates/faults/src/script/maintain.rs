//! Steps that keep a store small: packing, forgetting, collecting.

use stemmata_engine::{
    CaptureOptions, CollectOptions, EngineError, ForgetOptions, ForgetTarget, RetentionRules,
};
use stemmata_model::{Principal, SessionId};
use stemmata_store::{PackOptions, Page, SessionFilter, SessionKey, StoreError};

use super::{Act, chain, project, transcript};
use crate::ledger::Done;

/// How long something stays condemned.
const GRACE_DAYS: u32 = 14;

/// Sessions that are looked through for the one that is meant.
const SESSIONS_MAX: usize = 100;

pub(super) fn pack(act: &Act<'_>) -> anyhow::Result<Done> {
    act.engine.pack(&PackOptions::new(act.now()))?;
    Ok(Done::default())
}

pub(super) fn forget(act: &Act<'_>, name: &str) -> anyhow::Result<Done> {
    let gone = chain(act, name)?.to_vec();
    let page = Page { skip: 0, rows_max: SESSIONS_MAX };
    let sessions = act.engine.store().sessions(&SessionFilter::default(), page)?;
    // Where transcripts lie is another place in every run.
    let meant = |key: &SessionKey| key.path.ends_with(&format!("/{name}.jsonl"));
    if let Some(key) = sessions.into_iter().map(|session| session.key).find(meant) {
        act.engine.forget(&ForgetTarget::Session(key), &options()?)?;
    }
    Ok(Done { gone, ..Done::default() })
}

pub(super) fn forget_commit(act: &Act<'_>, name: &str) -> anyhow::Result<Done> {
    let gone = chain(act, name)?.to_vec();
    for id in &gone {
        act.engine.forget(&ForgetTarget::Commit(*id), &options()?)?;
    }
    Ok(Done { gone, ..Done::default() })
}

/// Forgets the rest of the events of the session that was forgotten before.
pub(super) fn forget_events(act: &Act<'_>) -> anyhow::Result<Done> {
    act.engine.log().forget_events(&SessionId::new("third")?)?;
    Ok(Done { events_forgotten: true, ..Done::default() })
}

fn options() -> anyhow::Result<ForgetOptions> {
    let by = Principal::new("ada@m1/own")?;
    Ok(ForgetOptions { everywhere: false, even_pinned: false, by })
}

/// What was forgotten does not come back.
pub(super) fn import_forgotten(act: &Act<'_>, name: &str, lines_max: usize) -> anyhow::Result<Done> {
    let path = transcript(act, name, lines_max)?;
    match act.engine.capture(&path, &CaptureOptions::import()) {
        Ok(_) | Err(EngineError::Store(StoreError::Forgotten(_))) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Done { gone: chain(act, name)?.to_vec(), ..Done::default() })
}

pub(super) fn condemn(act: &Act<'_>, name: &str) -> anyhow::Result<Done> {
    collect(act, name)?;
    Ok(Done::default())
}

pub(super) fn delete(act: &Act<'_>, name: &str) -> anyhow::Result<Done> {
    collect(act, name)?;
    Ok(Done { gone: chain(act, name)?.to_vec(), ..Done::default() })
}

/// Retention lets go of what was worked on in one project, and of nothing else.
fn collect(act: &Act<'_>, name: &str) -> anyhow::Result<()> {
    let rules = RetentionRules { projects: vec![(project(name), 1)], ..RetentionRules::default() };
    act.engine.collect(&CollectOptions { rules, grace_days: GRACE_DAYS })?;
    Ok(())
}
