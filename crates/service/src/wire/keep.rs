//! What expires and deletes, as wire types.

use stemmata_api::v1;
use stemmata_engine::{Branch, CollectReport, ForgetReport};

use crate::wire;
use stemmata_store::maintain::collect::Amount;
use stemmata_store::maintain::forget::Kept;
use stemmata_store::{Packed, Session};

/// Returns the wire form of what was forgotten, or would be.
pub(crate) fn forget(
    report: &ForgetReport,
    meant: Option<v1::Found>,
    (dry_run, is_there): (bool, &dyn Fn(&str) -> bool),
) -> v1::Forget {
    let name = |session: &Option<Session>| session.as_ref().map(|session| session.session.clone());
    let title = |session: &Option<Session>| {
        session.as_ref().and_then(|session| wire::session::title(session.title.as_deref()))
    };
    let done = &report.forgotten;
    let sessions: Vec<Session> =
        report.sessions.iter().filter(|session| !session.is_sidecar()).cloned().collect();
    // That a file is beside another transcript too is why its commit stays.
    let is_conversation = |branch: &&Branch| !branch.session.as_ref().is_some_and(Session::is_sidecar);
    v1::Forget {
        dry_run,
        sidecars: u64::try_from(report.sessions.len() - sessions.len()).unwrap_or(u64::MAX),
        sidecar_commits: report.sidecar_commits(),
        titles: titles(&sessions),
        stores_left: Vec::new(),
        transcripts_left: sessions
            .iter()
            .map(|one| one.key.path.clone())
            .filter(|path| is_there(path))
            .collect(),
        sessions: sessions.iter().map(|session| session.session.clone()).collect(),
        meant,
        removed: done.removed.clone(),
        cut: done.cut.clone(),
        cut_too: done.cut_too.clone(),
        sealed: done.sealed.clone(),
        kept: done.kept.iter().map(kept).collect(),
        branches: report
            .branches
            .iter()
            .filter(is_conversation)
            .map(|branch| v1::ForgetBranch {
                from: branch.from,
                first: branch.first,
                session_id: name(&branch.session),
                title: title(&branch.session),
            })
            .collect(),
        copies: report
            .copies
            .iter()
            .map(|copy| v1::ForgetCopy {
                root: copy.root,
                commits: copy.commits.clone(),
                session_id: name(&copy.session),
                title: title(&copy.session),
            })
            .collect(),
        spared: report.spared.clone(),
        without_outputs: u64::try_from(report.without_outputs).unwrap_or(u64::MAX),
        ledgers: report.ledgers.clone(),
        events: done.events,
        contents: done.contents,
        bytes: done.bytes,
        unfinished: done.unfinished.clone(),
        digest: None,
    }
}

/// Returns the titles of sessions; empty where one has none.
pub(crate) fn titles(sessions: &[Session]) -> Vec<String> {
    sessions
        .iter()
        .map(|session| wire::session::title(session.title.as_deref()).unwrap_or_default())
        .collect()
}

/// Returns the wire form of what was collected, or would be: then nothing was packed.
pub(crate) fn collected(report: &CollectReport, packed: Option<&Packed>, grace_days: u32) -> v1::Gc {
    let amount = |amount: Amount| v1::CollectedAmount {
        commits: amount.commits,
        contents: amount.contents,
        bytes: amount.bytes,
    };
    let done = &report.collected;
    let moved = packed.copied().unwrap_or_default();
    v1::Gc {
        dry_run: packed.is_none(),
        grace_days: u64::from(grace_days),
        retired: report
            .retired
            .iter()
            .map(|retired| v1::RetiredSession {
                session_id: retired.session.session.clone(),
                title: wire::session::title(retired.session.title.as_deref()),
                because: retired.because.clone(),
            })
            .collect(),
        sidecars: report.sidecars,
        provisional: report.provisional,
        condemned: amount(done.condemned),
        waiting: amount(done.waiting),
        deleted: amount(done.deleted),
        revived: done.revived,
        kept: done.kept.iter().map(kept).collect(),
        packed_contents: moved.contents,
        inbox_bytes: moved.inbox_bytes,
        pack_bytes: moved.pack_bytes,
        packing_busy: moved.busy,
        bytes_freed: done.bytes_freed,
        unfinished: report.unfinished.clone(),
        digest: None,
    }
}

/// Returns the wire form of a commit that stays.
pub(crate) fn kept(kept: &Kept) -> v1::Kept {
    v1::Kept { id: kept.commit, because: kept.because.as_str().to_owned() }
}
