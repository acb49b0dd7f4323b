//! Forgetting: one transaction that removes, and a database that is rewritten after it.
//!
//! What has to go everywhere on disk goes here; collecting what nobody needs is `collect`'s.

pub(in crate::sqlite) mod commits;
pub(super) mod contents;
pub(super) mod plan;
mod reword;
pub(super) mod rewrite;

use std::collections::BTreeSet;

use rusqlite::Connection;
use stemmata_model::{CommitId, SessionId, Timestamp};

use self::plan::Row;
use super::ahead::Scan;
use super::packs::Packs;
use super::{ledger, marks, stored};
use crate::error::StoreError;
use crate::maintain::forget::{Forget, Forgotten, Tombstone, api_sessions};
use crate::rules::removal::{self, Unrooting};
use crate::rules::sweep::Lines;

/// Forgets, within a transaction that the caller commits or rolls back. Returns the rows that go from packs, too.
pub(super) fn forget(
    (connection, packs): (&Connection, &Packs),
    secret: &[u8; 32],
    wish: &Forget,
    tombstones: &[Tombstone],
) -> Result<(Forgotten, BTreeSet<i64>), StoreError> {
    let plan = plan::plan(connection, Unrooting::forgetting(wish))?;
    let went =
        ledger::forget::sessions(connection, &session_ids(wish, tombstones), &wish.ledgers, &wish.events)?;
    commits::remove(connection, &plan.gone)?;
    let (holes, asked): (Vec<Row>, Vec<Row>) =
        plan::rows_of(connection, &wish.cut)?.into_iter().partition(|row| row.is_hole);
    let more = match asked.as_slice() {
        [] => Vec::new(),
        asked => removal::cut_too(asked, &|act| plan::each(connection, act))?,
    };
    let cut: Vec<Row> = asked.iter().chain(&more).copied().collect();
    commits::hole(connection, &cut)?;
    let emptied = removal::contents_of(&cut);
    let mut gone: BTreeSet<i64> = removal::contents_of(&plan.gone);
    gone.extend(&went.lines);
    let these = contents::rows_of(connection, wish.lines.iter().flatten())?;
    let lines = Lines::forgetting(wish, &these);
    let (swept, packed) = contents::give_up((connection, packs), Scan::Tables, (gone, &emptied), lines)?;
    let sessions = commits::remove_sessions(connection, &wish.sessions)?;
    // One that came as a hole may have come with what others said of it.
    let has_cleared = commits::silence(connection, &holes)? | commits::clear_sessions(connection, wish)?;
    let reworded = reword::reword_all(connection, &wish.reworded)?;
    let has_dropped = ledger::forget::drop_memories(connection)?;
    let events = went.events + swept.events;
    let ids = |rows: &[Row]| rows.iter().map(|row| row.commit.id).collect::<Vec<CommitId>>();
    let mut forgotten = Forgotten {
        removed: ids(&plan.gone),
        cut: ids(&asked),
        cut_too: ids(&more),
        sealed: Vec::new(),
        kept: plan.kept,
        sessions,
        reworded,
        events,
        contents: swept.contents,
        bytes: swept.bytes,
        copied_out: swept.copied_out,
        unfinished: None,
    };
    let by = Some(wish.by.as_str());
    for row in plan.gone.iter().chain(&cut).filter(|_| wish.is_final) {
        marks::set(connection, (marks::TOMBSTONE, &row.commit.id.to_bytes()), wish.at, by)?;
    }
    // What is a hole already holds nothing that could go, but something could fill it.
    for row in &holes {
        if marks::set(connection, (marks::TOMBSTONE, &row.commit.id.to_bytes()), wish.at, by)? {
            forgotten.sealed.push(row.commit.id);
        }
    }
    forgotten.sealed.sort();
    for tombstone in tombstones.iter().filter(|_| wish.is_final) {
        let (kind, key) = marks::of_tombstone(secret, tombstone);
        marks::set(connection, (kind, &key), wish.at, by)?;
    }
    let has_fewer_events = events > 0 || !wish.ledgers.is_empty();
    let has_less = forgotten.sessions > 0 || has_fewer_events || !plan.gone.is_empty() || !cut.is_empty();
    if has_less {
        stored::set_due(connection, plan.gone.iter().chain(&cut).map(|row| row.commit.row), wish.at)?;
    }
    if swept.any || has_cleared || has_dropped || has_less || reworded > 0 {
        marks::set(connection, (marks::UNFINISHED, &[]), wish.at, by)?;
    }
    Ok((forgotten, packed))
}

/// Forgets a session's events alone, within a transaction that the caller commits or rolls back. Lines that a commit
/// needs stay, and the events lose them. Returns the rows that go from packs, too.
pub(super) fn forget_events(
    (connection, packs): (&Connection, &Packs),
    session: &SessionId,
) -> Result<(u64, BTreeSet<i64>), StoreError> {
    let went = ledger::forget::sessions(connection, std::slice::from_ref(session), &[], &[])?;
    if went.events > 0 {
        marks::set(connection, (marks::UNFINISHED, &[]), Timestamp::EPOCH, None)?;
        stored::set_due(connection, std::iter::empty(), Timestamp::EPOCH)?;
    }
    let going = (went.lines, &BTreeSet::new());
    let (_, packed) = contents::give_up((connection, packs), Scan::Tables, going, Lines::Keep)?;
    Ok((went.events, packed))
}

/// Forgets some events of a ledger alone, and what was made of them, as [`forget_events`] does.
pub(super) fn forget_part(
    (connection, packs): (&Connection, &Packs),
    ledger: i64,
    seqs: &[i64],
) -> Result<(u64, BTreeSet<i64>), StoreError> {
    let went = ledger::forget::part(connection, ledger, seqs)?;
    marks::set(connection, (marks::UNFINISHED, &[]), Timestamp::EPOCH, None)?;
    if went.events > 0 {
        stored::set_due(connection, std::iter::empty(), Timestamp::EPOCH)?;
    }
    let going = (went.lines, &BTreeSet::new());
    let (_, packed) = contents::give_up((connection, packs), Scan::Tables, going, Lines::Keep)?;
    Ok((went.events, packed))
}

/// Says whether a session has events that say something.
pub(super) fn has_events(connection: &Connection, session: &SessionId) -> Result<bool, StoreError> {
    ledger::forget::has_any(connection, session)
}

/// The ids of sessions that go, and those that their keys tell.
fn session_ids(wish: &Forget, tombstones: &[Tombstone]) -> Vec<SessionId> {
    let known = tombstones.iter().filter_map(|tombstone| match tombstone {
        Tombstone::Session(session) => Some(session.clone()),
        Tombstone::Commit(_) | Tombstone::Transcript(_) => None,
    });
    let ids: BTreeSet<SessionId> = known.chain(api_sessions(wish)).collect();
    ids.into_iter().collect()
}

/// Returns the names of sessions that go, beside their transcripts': a copy under another path is the same session.
pub(super) fn tombstones_of(connection: &Connection, wish: &Forget) -> Result<Vec<Tombstone>, StoreError> {
    use super::failure::During;
    use rusqlite::OptionalExtension;
    let mut tombstones = Vec::new();
    for key in &wish.sessions {
        tombstones.push(Tombstone::Transcript(key.clone()));
        let session: Option<String> = connection
            .query_row(
                "SELECT session FROM session WHERE path = ?1 AND machine = ?2",
                [key.path.as_str(), key.machine.as_str()],
                |row| row.get(0),
            )
            .optional()
            .during("reading a session")?;
        let session = session.and_then(|session| stemmata_model::SessionId::new(session).ok());
        tombstones.extend(session.map(Tombstone::Session));
    }
    Ok(tombstones)
}
