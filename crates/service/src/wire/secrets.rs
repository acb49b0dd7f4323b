//! Found, replaced and kept secrets as wire types.

use stemmata_api::v1;
use stemmata_engine::{FoundIn, Holder, ScrubReport, SecretFound};
use stemmata_store::Session;

/// Returns the wire form of one finding of a scan.
pub(crate) fn finding(found: &SecretFound) -> v1::ScanFinding {
    let (mut commit, mut ledger, mut event, mut session_id, mut state) = (None, None, None, None, None);
    match &found.holder {
        Holder::Commit(id) => commit = Some(*id),
        Holder::Event { ledger: of, seq, session } => {
            (ledger, event) = (Some(of.clone()), Some(*seq));
            session_id = Some(session.clone());
        }
        Holder::State { ledger: of, name } => (ledger, state) = (Some(of.clone()), Some(name.clone())),
    }
    let (line, field) = match found.place {
        FoundIn::Line(line) => (Some(line), None),
        FoundIn::Session(field) | FoundIn::Event(field) => (None, Some(field.to_owned())),
        FoundIn::Annotation | FoundIn::State => (None, None),
    };
    v1::ScanFinding {
        commit,
        ledger,
        event,
        session_id,
        state,
        line,
        field,
        entry: found.entry.clone(),
        kind: found.kind.clone(),
        bytes: found.bytes,
        fingerprint: found.fingerprint.clone(),
    }
}

/// Returns the wire form of what was scrubbed, or would be.
pub(crate) fn scrub(report: &ScrubReport, meant: Option<v1::Found>, dry_run: bool) -> v1::Scrub {
    let redirect = |(from, to): &(stemmata_model::CommitId, stemmata_model::CommitId)| v1::ScrubRedirect {
        from: *from,
        to: *to,
    };
    let conversations = report.sessions.iter().filter(|session| !session.is_sidecar());
    let sessions: Vec<Session> = conversations.cloned().collect();
    v1::Scrub {
        dry_run,
        meant,
        looked_at: report.looked_at,
        kinds: report
            .kinds
            .iter()
            .map(|(kind, count)| v1::ScrubKind { kind: kind.clone(), findings: *count })
            .collect(),
        dirty: report.dirty,
        events_looked_at: report.events_looked_at,
        events: report.events,
        events_forgotten: report.events_forgotten,
        ledgers: report.ledgers.clone(),
        unread: report.unread.clone(),
        rewritten: report.rewritten,
        redirects: report.redirects.iter().map(redirect).collect(),
        sidecars: (report.sessions.len() - sessions.len()) as u64,
        sessions: sessions.iter().map(|session| session.session.clone()).collect(),
        titles: super::keep::titles(&sessions),
        contents: report.forgotten.contents,
        bytes: report.forgotten.bytes,
        stores_left: Vec::new(),
        unfinished: report.forgotten.unfinished.clone(),
        digest: None,
    }
}
