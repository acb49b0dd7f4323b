//! Settling: the index takes in commits, in the order in which the store got them.
//!
//! Searches and imports settle new commits, one process at a time; hooks and recorders never do. The index holds nothing that the
//! store does not have, so that it can always be rebuilt.

use std::time::{Duration, Instant};

use stemmata_model::Commit;
use stemmata_prompt::search::TERMS_VERSION;
use stemmata_store::{
    Index, IndexBatch, IndexError, IndexLock, IndexMeta, IndexName, StoreError, StoredAt, Watermark,
};
use stemmata_tokens::UsagePair;

use super::events::are_events_followed;
use super::{SearchStep, StepUnit};
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Commits that are settled in one transaction at most.
const PAGE_COMMITS: usize = 256;

/// Bytes of commits after which a page is full: a whole page is in memory at once.
const PAGE_BYTES: u64 = 8 * 1024 * 1024;

/// The same where settling has a time limit. A page is never broken off, so that a shorter one keeps closer to the limit.
const SHORT_PAGE_BYTES: u64 = 128 * 1024;

/// Sessions that are added in one transaction because they saw commits that are in the index already.
const PAGE_SESSIONS: usize = 64;

/// How often one settling cuts an index because a document was rewritten, before it rebuilds the index.
const REWRITTEN_MAX: u32 = 64;

/// How long settling may take. The next settling goes on with the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleBudget {
    /// At most this long, except that one page is always settled. With `ZERO` nothing is settled and the lock is not taken: the
    /// caller knows that another thread or process settles meanwhile.
    Within(Duration),
    /// All of it.
    All,
}

/// Why an index was not settled, or not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexTrouble {
    /// Another process is settling it.
    Busy,
    /// It was damaged. It is set aside and rebuilt.
    Damaged {
        /// The damage that was found.
        reason: String,
    },
    /// A newer version made it.
    Newer,
    /// It cannot be written.
    ReadOnly,
    /// There is no space left.
    Full,
    /// Another error.
    Failed {
        /// The error's message.
        reason: String,
    },
}

/// What settling did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// Commits that the index took in.
    pub commits: u64,
    /// Whether the index now has everything that the store has.
    pub is_whole: bool,
    /// Why the index does not have everything, or the damage that was found and repaired.
    pub trouble: Option<IndexTrouble>,
}

/// An error while settling. One of the index becomes a note of the answer, one of the store fails the operation.
#[derive(Debug)]
pub(crate) enum SettleError {
    Index(IndexError),
    Engine(EngineError),
}

impl From<IndexError> for SettleError {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

impl<E: Into<EngineError>> From<E> for SettleError {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

impl IndexTrouble {
    /// Returns the trouble with a damaged index that could not be set aside or not be rebuilt.
    fn of_damaged(found: &IndexError, second: &IndexError) -> Self {
        match Self::of(second) {
            Self::Damaged { reason } | Self::Failed { reason } => {
                Self::Failed { reason: format!("{found}, and could not be made again: {reason}") }
            }
            other => other,
        }
    }

    pub(crate) fn of(error: &IndexError) -> Self {
        match error {
            IndexError::Damaged { reason } => Self::Damaged { reason: reason.clone() },
            IndexError::Newer { .. } => Self::Newer,
            IndexError::Moved | IndexError::Storage(StoreError::Locked { .. }) => Self::Busy,
            IndexError::Storage(StoreError::ReadOnly { .. }) => Self::ReadOnly,
            IndexError::Storage(StoreError::Full { .. }) => Self::Full,
            IndexError::Storage(StoreError::Io { source, .. }) => match source.kind() {
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                    Self::ReadOnly
                }
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Self::Full,
                _ => Self::Failed { reason: error.to_string() },
            },
            other => Self::Failed { reason: other.to_string() },
        }
    }
}

/// The progress of settling, and how long it may go on.
pub(super) struct Left<'s, 'a> {
    until: Option<Instant>,
    /// When the page that is being settled began.
    page_began: Instant,
    step: &'s mut SearchStep<'a>,
    commits: u64,
    /// Whether it stops where something is forgotten meanwhile, and whether it did.
    can_stop: bool,
    has_stopped: bool,
}

impl<'s, 'a> Left<'s, 'a> {
    fn until(until: Option<Instant>, step: &'s mut SearchStep<'a>) -> Self {
        Self { until, page_began: Instant::now(), step, commits: 0, can_stop: false, has_stopped: false }
    }

    fn page_bytes(&self) -> u64 {
        if self.until.is_some() { SHORT_PAGE_BYTES } else { PAGE_BYTES }
    }

    /// Counts the commits of a page that was settled, reports the progress, and returns whether to go on: a page that takes as long
    /// as this one has to end in time.
    fn more(&mut self, commits: usize) -> bool {
        self.commits = self.commits.saturating_add(commits as u64);
        let now = Instant::now();
        let next_ends = now.checked_add(now.duration_since(self.page_began));
        self.page_began = now;
        (self.step)(StepUnit::Commits, self.commits, None).is_continue()
            && self.until.is_none_or(|until| next_ends.is_some_and(|ends| ends <= until))
    }
}

impl Engine {
    /// Settles new commits and events, or waits until the thread of [`Engine::keep_settled`] has. Trouble with the index is no error:
    /// searches then read the newest entries from the store.
    ///
    /// # Errors
    /// Store errors.
    pub fn settle_index(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Result<Settled> {
        match self.index.asked.settled(budget, step) {
            Some(settled) => Ok(settled),
            None => self.settle_now(budget, step),
        }
    }

    /// Settles in this thread.
    pub(super) fn settle_now(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Result<Settled> {
        if self.index.dir().is_none() {
            return Ok(Settled { is_whole: true, ..Settled::default() });
        }
        let settled = self.settle_repairing(budget, step);
        self.sweep_after(settled)
    }

    /// Does what came to be due while this process held the lock of the index: a process that forgot something then left it to this one,
    /// however this one ended. Only behind the lock nobody else can be turned away any more.
    fn sweep_after(&self, settled: Result<Settled>) -> Result<Settled> {
        let left = self.sweep_behind_lock();
        let mut settled = settled?;
        let reason = left?;
        settled.trouble = settled.trouble.or(reason.map(|reason| IndexTrouble::Failed { reason }));
        Ok(settled)
    }

    /// Settles; a damaged index is set aside, and another one is begun.
    fn settle_repairing(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Result<Settled> {
        // By the time that this process finds the index damaged, another one may have replaced it.
        let named = self.index.named().unwrap_or_default();
        match self.try_settle(budget, step) {
            Ok(settled) => Ok(settled),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(error @ IndexError::Damaged { .. })) => {
                // The same call sets the damaged index aside and builds another one.
                let again = self.set_aside(named).map_err(SettleError::from);
                match again.and_then(|()| self.try_settle(budget, step)) {
                    Ok(settled) => {
                        Ok(Settled { trouble: settled.trouble.or(Some(IndexTrouble::of(&error))), ..settled })
                    }
                    Err(SettleError::Engine(error)) => Err(error),
                    Err(SettleError::Index(second)) => {
                        let trouble = Some(IndexTrouble::of_damaged(&error, &second));
                        Ok(Settled { trouble, ..Settled::default() })
                    }
                }
            }
            Err(SettleError::Index(error)) => {
                Ok(Settled { trouble: Some(IndexTrouble::of(&error)), ..Settled::default() })
            }
        }
    }

    fn try_settle(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Result<Settled, SettleError> {
        let until = match budget {
            SettleBudget::All => None,
            SettleBudget::Within(time) => Instant::now().checked_add(time),
        };
        // With nothing to settle, a folder that cannot be written or is locked by another process is no trouble.
        if self.index.is_there() && self.is_followed()? {
            return Ok(Settled { is_whole: true, ..Settled::default() });
        }
        if budget == SettleBudget::Within(Duration::ZERO) {
            return Ok(Settled::default());
        }
        let Some(lock) = self.index.lock()? else {
            return Ok(Settled { trouble: Some(IndexTrouble::Busy), ..Settled::default() });
        };
        // Only under the lock no other process can replace the index.
        let Some(index) = self.index.index_locked(self.store.identity()?.store_id, &lock)? else {
            return Ok(Settled::default());
        };
        let mut left = Left { can_stop: true, ..Left::until(until, step) };
        let mut index = self.sweep_locked(index, &lock)?;
        loop {
            let is_whole = self.fold_unseen(&index, &lock, &mut left)?
                && self.fold_into(&index, &lock, &mut left)?
                && self.fold_events(&index, &lock, &mut left)?;
            if !std::mem::take(&mut left.has_stopped) {
                return Ok(Settled { commits: left.commits, is_whole, trouble: None });
            }
            index = self.sweep_locked(index, &lock)?;
        }
    }

    /// Returns whether to settle another page. Not where something was forgotten meanwhile: that comes first, since no other process
    /// can remove it from the index before this one releases the lock.
    pub(super) fn goes_on(&self, left: &mut Left<'_, '_>, commits: usize) -> Result<bool> {
        let is_in_time = left.more(commits);
        left.has_stopped = is_in_time && left.can_stop && !self.store.index_due()?.is_empty();
        Ok(is_in_time && !left.has_stopped)
    }

    /// Returns whether the index has exactly what the store and the ledgers have.
    fn is_followed(&self) -> Result<bool, SettleError> {
        let index = match self.index.index(self.store.identity()?.store_id) {
            Ok(Some(index)) => index,
            Ok(None) | Err(IndexError::OtherStore | IndexError::Older { .. } | IndexError::Moved) => {
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let meta = index.meta()?;
        Ok(meta.terms == TERMS_VERSION
            && !meta.is_unclean
            && self.store.index_due()?.is_empty()
            && self.store.index_unseen(1)?.is_empty()
            && self.is_at_its_place(meta.watermark)?
            && self.page_after(meta.watermark, 0)?.is_empty()
            && are_events_followed(&index, &self.all_ledgers()?)?)
    }

    /// Builds an index beside the present one, and replaces that one once the new one is whole.
    fn make_anew(&self, left: &mut Left<'_, '_>) -> Result<Settled, SettleError> {
        let Some(lock) = self.index.lock_patiently()? else {
            return Ok(Settled { trouble: Some(IndexTrouble::Busy), ..Settled::default() });
        };
        let store_id = self.store.identity()?.store_id;
        let Some(index) = self.index.begin_anew(store_id, &lock)? else {
            return Ok(Settled::default());
        };
        let is_whole = self.fold_into(&index, &lock, left)? && self.fold_events(&index, &lock, left)?;
        if is_whole {
            index.publish(&lock)?;
            // The new index may hold what was forgotten meanwhile; those that were set aside, what was forgotten before.
            if let Some(index) = self.index.index(store_id)? {
                self.sweep_locked(index, &lock)?;
            }
        }
        Ok(Settled { commits: left.commits, is_whole, trouble: None })
    }

    /// Rebuilds the index from the store. Searches use the old one meanwhile.
    ///
    /// # Errors
    /// Store errors; `Locked` while another process holds the index's lock.
    pub fn rebuild_index(&self, step: &mut SearchStep<'_>) -> Result<Settled> {
        let mut left = Left::until(None, step);
        let rebuilt = match self.make_anew(&mut left) {
            Ok(settled) => Ok(settled),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(IndexError::Storage(error))) => Err(error.into()),
            Err(SettleError::Index(error)) => {
                Ok(Settled { trouble: Some(IndexTrouble::of(&error)), ..Settled::default() })
            }
        };
        self.sweep_after(rebuilt)
    }

    /// Adds the commits after the index's watermark. Returns whether all were added.
    fn fold_into(
        &self,
        index: &Index,
        lock: &IndexLock,
        left: &mut Left<'_, '_>,
    ) -> Result<bool, SettleError> {
        let mut meta = self.at_its_place(index, lock)?;
        let mut rewritten = 0;
        loop {
            let page = self.page_after(meta.watermark, left.page_bytes())?;
            let Some((at, last)) = page.last().map(|(at, commit)| (*at, commit.id)) else { break };
            let made = self.feed_page(&page, &index.reader()?)?;
            let batch = IndexBatch {
                expected: meta.watermark,
                next: Watermark { through: Some((at, last)) },
                entries: made.entries,
                commits: made.commits,
                places: made.places,
                ..IndexBatch::default()
            };
            meta = match index.settle(lock, &batch) {
                Err(IndexError::Rewritten { before }) => {
                    rewritten += 1;
                    // Each cut may remove much of the index: after many cuts a rebuild is less work.
                    index.rewind(lock, if rewritten > REWRITTEN_MAX { StoredAt::START } else { before })?
                }
                settled => settled?,
            };
            self.learn(&made.usage, at)?;
            if !self.goes_on(left, page.len())? {
                return Ok(self.page_after(meta.watermark, 0)?.is_empty());
            }
        }
        Ok(true)
    }

    /// Learns from the token counts that models reported, after the commits were indexed. A process that ends between the two loses
    /// these counts, but no count is learned twice.
    fn learn(&self, usage: &[UsagePair], through: StoredAt) -> Result<()> {
        if !usage.is_empty() {
            self.calibration.learn(self.store.identity()?.store_id, usage, through);
        }
        Ok(())
    }

    /// Returns the next commits to settle, at most one page of them.
    fn page_after(&self, watermark: Watermark, bytes_max: u64) -> Result<Vec<(StoredAt, Commit)>> {
        let after = watermark.through.map(|(at, _)| at);
        let mut page = self.store.stored_after(after, PAGE_COMMITS)?;
        let mut bytes = 0_u64;
        let fits = page.iter().take_while(|(_, commit)| {
            let is_first = bytes == 0;
            bytes = bytes.saturating_add(commit.native_bytes);
            is_first || bytes <= bytes_max
        });
        let count = fits.count().max(1);
        page.truncate(count);
        Ok(page)
    }

    /// Returns the state of the index. Where the store has another commit at the index's watermark, the store was restored from an
    /// older copy; the index is emptied then, and settled from the beginning.
    fn at_its_place(&self, index: &Index, lock: &IndexLock) -> Result<IndexMeta, SettleError> {
        let meta = index.meta()?;
        if self.is_at_its_place(meta.watermark)? {
            return Ok(meta);
        }
        index.drop_events(lock)?;
        Ok(index.cut(lock, StoredAt::START)?)
    }

    /// Returns whether the store still has the watermark's commit in the same place.
    fn is_at_its_place(&self, watermark: Watermark) -> Result<bool> {
        let Some((at, id)) = watermark.through else { return Ok(true) };
        let found = self.store.stored_after(Some(at.before()), 1)?;
        Ok(found.first().is_some_and(|(found, commit)| (*found, commit.id) == (at, id)))
    }

    /// Adds sessions that saw commits which are in the index already. Returns whether all were added.
    fn fold_unseen(
        &self,
        index: &Index,
        lock: &IndexLock,
        left: &mut Left<'_, '_>,
    ) -> Result<bool, SettleError> {
        loop {
            let unseen = self.store.index_unseen(PAGE_SESSIONS)?;
            if unseen.is_empty() {
                return Ok(true);
            }
            let watermark = index.meta()?.watermark;
            let mut batch = IndexBatch { expected: watermark, next: watermark, ..IndexBatch::default() };
            for key in &unseen {
                let Some(place) = self.place_of_session(&key.session)? else { continue };
                let mut commits = Vec::new();
                self.each_seen(&key.session, &mut |commit| commits.push(commit.id))?;
                batch.seen.push((batch.places.len(), commits));
                batch.places.push(place);
            }
            index.settle(lock, &batch)?;
            self.store.index_unseen_done(&unseen)?;
            if !self.goes_on(left, 0)? {
                return Ok(self.store.index_unseen(1)?.is_empty());
            }
        }
    }

    /// Sets a damaged index aside, unless another one has replaced it by now.
    pub(super) fn set_aside(&self, named: Option<IndexName>) -> Result<(), IndexError> {
        let Some(named) = named else { return Ok(()) };
        match self.index.lock_patiently()? {
            Some(lock) => self.index.quarantine(&named, self.clock.now(), &lock),
            None => Err(IndexError::Moved),
        }
    }
}
