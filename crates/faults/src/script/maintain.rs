//! Steps that keep a store small: packing, forgetting, collecting.

use stemmata_engine::{CaptureOptions, EngineError};
use stemmata_model::Principal;
use stemmata_store::maintain::collect::Collect;
use stemmata_store::maintain::forget::Forget;
use stemmata_store::{PackOptions, Page, SessionFilter, StoreError};

use super::{Act, chain, transcript};
use crate::ledger::Done;

/// How long something stays condemned: 14 days.
const GRACE_US: i64 = 14 * 86_400_000_000;

/// Sessions that are looked through for the one that is meant.
const SESSIONS_MAX: usize = 100;

pub(super) fn pack(act: &Act<'_>) -> anyhow::Result<Done> {
    act.engine.store().pack(&PackOptions::new(act.now()))?;
    Ok(Done::default())
}

pub(super) fn forget(act: &Act<'_>, name: &str) -> anyhow::Result<Done> {
    let gone = chain(act, name)?.to_vec();
    let page = Page { skip: 0, rows_max: SESSIONS_MAX };
    let sessions = act.engine.store().sessions(&SessionFilter::default(), page)?;
    let meant = |path: &str| path.ends_with(&format!("/{name}.jsonl"));
    act.engine.store().forget(&Forget {
        unroot: gone.clone(),
        cut: Vec::new(),
        sessions: sessions.into_iter().map(|session| session.key).filter(|key| meant(&key.path)).collect(),
        even_sighted: false,
        even_pinned: false,
        at: act.now(),
        by: Principal::new("ada@m1/own")?,
        dry_run: false,
    })?;
    Ok(Done { gone, ..Done::default() })
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

fn collect(act: &Act<'_>, name: &str) -> anyhow::Result<()> {
    act.engine.store().collect(&Collect {
        retired: chain(act, name)?.to_vec(),
        now: act.now(),
        grace_us: GRACE_US,
        dry_run: false,
    })?;
    Ok(())
}
