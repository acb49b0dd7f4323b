//! The seam's part for upkeep over the database: forgetting and collecting, each a transaction and what follows it on disk.
//!
//! What goes is decided in `crate::rules`; what can be done with the files is `packs`', `repair`'s and `backup`'s.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use stemmata_model::{CommitId, LedgerId, SessionId, Timestamp};

use super::ahead::Ahead;
use super::failure::During;
use super::ledger::forget as events;
use super::open::{SqliteOptions, wait_for_locks};
use super::packs::Packs;
use super::packs::rewrite::{Garbage, Policy, Swap};
use super::{SqliteStore, backup, collect, forget, marks, packs, rewrite, shrink, waited};
use crate::error::{StoreError, with_causes};
use crate::ledger::{BATCH_EVENTS_MAX, Places};
use crate::maintain::backup::BackedUp;
use crate::maintain::collect::{Amount, Collect, Collected};
use crate::maintain::costs::{ContentCost, Counted};
use crate::maintain::forget::{Forget, Forgotten, Tombstone};
use crate::maintain::pack::{PackOptions, Packed};
use crate::maintain::repair::{RepairOutcome, RepairSource};
use crate::patience::Patience;
use crate::rules;
use crate::rules::bounds::check_costed;
use crate::seam::{Damage, OnDisk, Store, Upkeep, Verified};

/// How long the log is tried to be emptied while others read it.
const LOG_WAIT: Duration = Duration::from_secs(2);

/// How long whoever writes packs is waited for: packing a whole store takes longer than any write.
const PACKS_WAIT_MS: u64 = 60_000;

/// How often what goes is planned again, where somebody writes at the same time.
const SWAPS_MAX: usize = 5;

/// What happens within a transaction, and which rows go from packs by it.
type Act<'a, T> = dyn Fn(&Connection) -> Result<(T, BTreeSet<i64>), StoreError> + 'a;

const STALE: &str = "letting go of what was planned";

/// Ends a transaction, so that nothing of it is done.
fn stale() -> StoreError {
    StoreError::Backend { operation: STALE, source: "others wrote at the same time, again and again".into() }
}

fn is_stale(error: &StoreError) -> bool {
    matches!(error, StoreError::Backend { operation: STALE, .. })
}

impl Store for SqliteStore {}

impl Upkeep for SqliteStore {
    fn forget(&self, wish: &Forget) -> Result<Forgotten, StoreError> {
        self.maintaining("forgetting", || {
            let act = |connection: &Connection| {
                self.within(connection, None, |tables| wish.checked(rules::forget::forget(tables, wish)?))
            };
            if wish.dry_run {
                return self.planned(&act).map(|(forgotten, _)| forgotten);
            }
            let (mut forgotten, unfinished) = self.let_go(&act, wish.at)?;
            forgotten.unfinished = unfinished;
            Ok(forgotten)
        })
    }

    fn collect(&self, wish: &Collect) -> Result<Collected, StoreError> {
        self.maintaining("collecting", || {
            // A plan may be wrong by what another collection deletes meanwhile; a deletion must not.
            let lock = if wish.dry_run { None } else { Some(self.packs.lock_patiently(PACKS_WAIT_MS)?) };
            let ahead = self.read(|reader| {
                let snapshot =
                    reader.connection().unchecked_transaction().during("reading what is needed")?;
                Ahead::read(&snapshot)
            })?;
            let act = |connection: &Connection| {
                self.within(connection, Some(&ahead), |tables| {
                    wish.checked(rules::collect::collect(tables, wish)?)
                })
            };
            if wish.dry_run {
                return self.planned(&act).map(|(collected, _)| collected);
            }
            let before = self.physical_bytes();
            let mut collected = self.swap((&act, Garbage::Half), wish.now)?;
            collected.files_removed = packs::remove_leftovers(&self.maintained())?;
            drop(lock);
            if collected.deleted != Amount::default() || collected.files_removed > 0 {
                shrink::shrink(&self.maintained())?;
                collected.bytes_freed = before.saturating_sub(self.physical_bytes());
            }
            Ok(collected)
        })
    }

    fn condemned(&self) -> Result<Amount, StoreError> {
        self.read(|reader| collect::condemned(reader.connection()))
    }

    fn costs(&self, of: &[CommitId], counted: &mut Counted) -> Result<Vec<ContentCost>, StoreError> {
        check_costed(of)?;
        self.read(|reader| reader.costs(of, counted))
    }

    fn lift(&self, of: &Tombstone) -> Result<u64, StoreError> {
        let mark = marks::of_tombstone(&self.identity.secret, of);
        self.maintaining("lifting tombstones", || {
            self.group.maintain(|connection| marks::lift(connection, &mark))
        })
    }

    fn verify(&self, found: &mut dyn FnMut(Damage)) -> Result<Verified, StoreError> {
        let mut verified = self.read(|reader| Ok(reader.verify(found)))?;
        self.verify_log(&mut verified, found)?;
        Ok(verified)
    }

    fn on_disk(&self) -> Option<&dyn OnDisk> {
        Some(self)
    }
}

impl OnDisk for SqliteStore {
    fn pack(&self, options: &PackOptions) -> Result<Packed, StoreError> {
        self.maintaining("packing", || packs::pack(&self.maintained(), options))
    }

    fn repair(&self, from: &[RepairSource<'_>]) -> Result<RepairOutcome, StoreError> {
        self.maintaining("repairing", || self.repair_all(from))
    }

    fn backup(&self, to: &Path) -> Result<BackedUp, StoreError> {
        backup::backup(&self.path, &self.options, to).map_err(|error| waited(error, &self.options))
    }
}

impl SqliteStore {
    /// Does something that only a store does which was opened for maintenance.
    fn maintaining<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.hold_open(operation)?;
        if !self.options.open_for.maintains() {
            return Err(StoreError::Refused {
                what: operation,
                path: self.path.display().to_string(),
                reason: "hooks leave maintenance to commands".to_owned(),
            });
        }
        act().map_err(|error| waited(error, &self.options))
    }

    /// Sets or removes marks of what an index has to do.
    pub(super) fn mark_for_index(
        &self,
        act: &dyn Fn(&Connection) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.maintaining("cleaning an index", || self.group.maintain(act))
    }

    /// Forgets the events of a session, or ends what an earlier forgetting could not.
    pub(super) fn forget_session(&self, session: &SessionId) -> Result<u64, StoreError> {
        let (has_events, is_due) = self.read(|reader| {
            let connection = reader.connection();
            Ok((events::has_any(connection, session)?, rewrite::is_due(connection)?))
        })?;
        let (events, unfinished) = if has_events {
            let act = |connection: &Connection| {
                let went = events::session(connection, session)?;
                self.within(connection, None, |tables| forget::lose_lines(tables, went, false))
            };
            self.let_go(&act, Timestamp::EPOCH)?
        } else if is_due {
            let _lock = self.packs.lock_patiently(PACKS_WAIT_MS)?;
            (0, self.clean())
        } else {
            (0, None)
        };
        unfinished.map_or(Ok(events), |reason| Err(StoreError::Unclean { reason }))
    }

    /// Forgets some events of a ledger, and what was made of them, a part at a time; or ends what an earlier forgetting
    /// could not.
    pub(super) fn forget_parts(&self, ledger: &LedgerId, places: &Places) -> Result<u64, StoreError> {
        let (found, is_due) = self.read(|reader| {
            let connection = reader.connection();
            let found = match events::places_of(connection, ledger, places)? {
                Some((row, seqs)) if seqs.is_empty() && !events::has_folded(connection, row)? => None,
                found => found,
            };
            Ok((found, rewrite::is_due(connection)?))
        })?;
        if found.is_none() && !is_due {
            return Ok(0);
        }
        let _lock = self.packs.lock_patiently(PACKS_WAIT_MS)?;
        let mut forgotten = 0;
        if let Some((row, seqs)) = found {
            // The newest first: what was made of the others is found again as long as they are there.
            let mut parts: Vec<&[i64]> = seqs.rchunks(BATCH_EVENTS_MAX).collect();
            if parts.is_empty() {
                parts.push(&[]);
            }
            for part in parts {
                let act = |connection: &Connection| {
                    let went = events::part(connection, row, part)?;
                    self.within(connection, None, |tables| forget::lose_lines(tables, went, true))
                };
                forgotten += self.swap((&act, Garbage::All), Timestamp::EPOCH)?;
            }
        }
        self.clean().map_or(Ok(forgotten), |reason| Err(StoreError::Unclean { reason }))
    }

    /// Lets something be forgotten, and cleans the files of it. Returns what is left to do there, too.
    fn let_go<T>(&self, act: &Act<'_, T>, at: Timestamp) -> Result<(T, Option<String>), StoreError> {
        let lock = self.packs.lock_patiently(PACKS_WAIT_MS)?;
        // Also where nothing goes from packs: one may hold what is in the inbox, since packing was interrupted.
        let done = self.swap((act, Garbage::All), at)?;
        let unfinished = self.clean();
        drop(lock);
        Ok((done, unfinished))
    }

    /// Cleans the files of what was forgotten, and returns what stood in the way. The caller holds the lock of packs.
    fn clean(&self) -> Option<String> {
        let left = packs::remove_leftovers(&self.maintained()).err();
        let cleaned = self.group.with_writer(|writer| {
            let connection = writer.synced()?;
            let is_due = rewrite::is_due(connection)?;
            let done = if is_due { rewrite::run(connection, LOG_WAIT) } else { Ok(None) };
            let marked = if left.is_some() {
                // The database is clean, and somebody has to come again.
                marks::set(connection, (marks::UNFINISHED, marks::LOG_ONLY), Timestamp::EPOCH, None).map(drop)
            } else {
                Ok(())
            };
            wait_for_locks(writer.connection_mut(), self.options.patience()).during("emptying the log")?;
            marked.and(done)
        });
        match cleaned {
            Ok(None) => left.map(|error| format!("packs could not be removed ({})", with_causes(&error))),
            Ok(reason) => reason,
            Err(error) => Some(with_causes(&error)),
        }
    }

    /// Finds out what would happen.
    fn planned<T>(&self, act: &Act<'_, T>) -> Result<(T, BTreeSet<i64>), StoreError> {
        self.group.with_writer(|writer| writer.rehearse(act))
    }

    /// Finds out what would happen, rewrites packs without what goes from them, and then lets it happen. The caller
    /// holds the lock of packs.
    fn swap<T>(&self, (act, garbage): (&Act<'_, T>, Garbage), at: Timestamp) -> Result<T, StoreError> {
        for _ in 1..SWAPS_MAX {
            match self.swap_once((act, garbage), at) {
                Err(error) if is_stale(&error) => {}
                done => return done,
            }
        }
        self.swap_once((act, garbage), at)
    }

    fn swap_once<T>(&self, (act, garbage): (&Act<'_, T>, Garbage), at: Timestamp) -> Result<T, StoreError> {
        let (_, planned) = self.planned(act)?;
        let policy = Policy { garbage, level: None };
        let rewrite = packs::rewrite::prepare(&self.maintained(), &planned, policy)?;
        self.group.maintain(|connection| {
            let (done, packed) = act(connection)?;
            // Somebody wrote meanwhile: what goes from packs is not what was prepared.
            if packed != planned {
                return Err(stale());
            }
            if rewrite.is_empty() {
                return Ok(done);
            }
            match packs::rewrite::apply(connection, &rewrite, at)? {
                Swap::Done => Ok(done),
                Swap::Stale => Err(stale()),
            }
        })
    }

    pub(super) fn tombstones_among(
        &self,
        connection: &Connection,
        of: &[Tombstone],
    ) -> Result<Vec<Tombstone>, StoreError> {
        if !marks::Present::load(connection)?.tombstones {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for tombstone in of {
            let (kind, key) = marks::of_tombstone(&self.identity.secret, tombstone);
            if marks::at(connection, kind, &key)?.is_some() {
                found.push(tombstone.clone());
            }
        }
        Ok(found)
    }
}

/// Ends what a crash interrupted, unless another process is in the way: then it, or the next opening, does.
pub(super) fn finish_forgetting(connection: &mut Connection, packs: &Packs, options: &SqliteOptions) {
    if !rewrite::is_due(connection).unwrap_or(false) {
        return;
    }
    let Ok(Some(_lock)) = packs.lock() else {
        return;
    };
    let finished = wait_for_locks(connection, Patience::each(Duration::ZERO))
        .during("opening the store")
        .and_then(|()| rewrite::run(connection, Duration::ZERO));
    // Where it did not work the mark is still there; the store itself is sound.
    drop(finished);
    let _patient = wait_for_locks(connection, options.patience());
}
