//! Settling: the index follows the store, in the order of storing.
//!
//! Searches and imports settle what is new, one process at a time; hooks and recorders never do. All of it comes from the store,
//! so that an index can always be made anew.

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

/// Bytes of commits after which a page is full: what of it is in memory at once.
const PAGE_BYTES: u64 = 8 * 1024 * 1024;

/// The same where there is little time: a page that was begun is ended.
const SHORT_PAGE_BYTES: u64 = 512 * 1024;

/// Sessions that are added in one transaction because they saw commits of before.
const PAGE_SESSIONS: usize = 64;

/// How often an index is cut because a document was rewritten, before it is made anew.
const REWRITTEN_MAX: u32 = 64;

/// How long settling may take. What is left is the next one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleBudget {
    /// At most so long; a page that was begun is ended. None at all where there is no time: somebody else settles meanwhile, and
    /// must find the lock free.
    Within(Duration),
    /// All of it.
    All,
}

/// Why an index was not settled, or not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexTrouble {
    /// Another process settles it.
    Busy,
    /// It was damaged, is set aside and made again.
    Damaged {
        /// What was found.
        reason: String,
    },
    /// A newer version made it.
    Newer,
    /// It cannot be written.
    ReadOnly,
    /// There is no space left.
    Full,
    /// Something else.
    Failed {
        /// What.
        reason: String,
    },
}

/// What settling did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settled {
    /// Commits that the index took in.
    pub commits: u64,
    /// Whether nothing is left.
    pub is_whole: bool,
    /// Why something is left, or what was found.
    pub trouble: Option<IndexTrouble>,
}

/// What goes wrong while settling: with the index, which is told, or with the store, which is an error.
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

impl From<EngineError> for SettleError {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for SettleError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl IndexTrouble {
    /// Returns the trouble with an index that was found damaged and could not be set aside, or not be made again.
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

/// What a settling may still take.
pub(super) struct Left<'s, 'a> {
    until: Option<Instant>,
    step: &'s mut SearchStep<'a>,
    commits: u64,
}

impl Left<'_, '_> {
    fn page_bytes(&self) -> u64 {
        if self.until.is_some() { SHORT_PAGE_BYTES } else { PAGE_BYTES }
    }

    /// Counts commits that were settled, reports the progress, and returns whether to go on.
    pub(super) fn more(&mut self, commits: usize) -> bool {
        self.commits = self.commits.saturating_add(commits as u64);
        (self.step)(StepUnit::Commits, self.commits, None).is_continue()
            && self.until.is_none_or(|until| Instant::now() < until)
    }
}

impl Engine {
    /// Has the index take in what is new in the store. Trouble with the index is no error: search does without.
    ///
    /// # Errors
    /// Store errors.
    pub fn settle_index(&self, budget: SettleBudget, step: &mut SearchStep<'_>) -> Result<Settled> {
        if self.index.dir().is_none() {
            return Ok(Settled { is_whole: true, ..Settled::default() });
        }
        // Another process may have set it aside by the time that this one has found it damaged.
        let named = self.index.named().unwrap_or_default();
        match self.try_settle(budget, step) {
            Ok(settled) => Ok(settled),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(error @ IndexError::Damaged { .. })) => {
                // What was found while it was read is set aside now, and made again by the same call.
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
        // A folder that cannot be written, or that another process writes, is no trouble where nothing is to be done.
        if self.index.is_there() && self.is_followed()? {
            return Ok(Settled { is_whole: true, ..Settled::default() });
        }
        if budget == SettleBudget::Within(Duration::ZERO) {
            return Ok(Settled::default());
        }
        let Some(lock) = self.index.lock()? else {
            return Ok(Settled { trouble: Some(IndexTrouble::Busy), ..Settled::default() });
        };
        // Only now nobody else puts another index in its place.
        let Some(index) = self.index.index_locked(self.store.identity()?.store_id, &lock)? else {
            return Ok(Settled::default());
        };
        let mut left = Left { until, step, commits: 0 };
        let index = self.sweep_locked(index, &lock)?;
        let is_whole = self.fold_unseen(&index, &lock, &mut left)?
            && self.fold_into(&index, &lock, &mut left)?
            && self.fold_events(&index, &lock, &mut left)?;
        Ok(Settled { commits: left.commits, is_whole, trouble: None })
    }

    /// Says whether the index has all that the store and the log have, and nothing else.
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

    /// Makes an index beside the one that there is, and puts it in its place once it is whole.
    fn make_anew(&self, left: &mut Left<'_, '_>) -> Result<Settled, SettleError> {
        let Some(lock) = self.index.lock_patiently()? else {
            return Ok(Settled { trouble: Some(IndexTrouble::Busy), ..Settled::default() });
        };
        let due = self.store.index_due()?;
        let Some(index) = self.index.begin_anew(self.store.identity()?.store_id, &lock)? else {
            return Ok(Settled::default());
        };
        let is_whole = self.fold_into(&index, &lock, left)? && self.fold_events(&index, &lock, left)?;
        if is_whole {
            index.publish(&lock)?;
            if !due.is_empty() {
                // What was forgotten before it was begun is not in it, but may be in damaged ones that are kept.
                index.clean(&lock)?;
                self.store.index_done(&due)?;
            }
        }
        Ok(Settled { commits: left.commits, is_whole, trouble: None })
    }

    /// Makes the index anew, whatever there is; searches go on with the old one meanwhile.
    ///
    /// # Errors
    /// Store errors; `Locked` where another process has the index.
    pub fn rebuild_index(&self, step: &mut SearchStep<'_>) -> Result<Settled> {
        let mut left = Left { until: None, step, commits: 0 };
        match self.make_anew(&mut left) {
            Ok(settled) => Ok(settled),
            Err(SettleError::Engine(error)) => Err(error),
            Err(SettleError::Index(IndexError::Storage(error))) => Err(error.into()),
            Err(SettleError::Index(error)) => {
                Ok(Settled { trouble: Some(IndexTrouble::of(&error)), ..Settled::default() })
            }
        }
    }

    /// Folds what the store has after the index's watermark into it. Returns whether nothing is left.
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
                    // Each cut may go far back: after many it is less work to begin anew.
                    index.rewind(lock, if rewritten > REWRITTEN_MAX { StoredAt(0) } else { before })?
                }
                settled => settled?,
            };
            self.learn(&made.usage, at)?;
            if !left.more(page.len()) {
                return Ok(self.page_after(meta.watermark, 0)?.is_empty());
            }
        }
        Ok(true)
    }

    /// Takes down what models reported, after the index has the commits: what a process that dies between has read is not
    /// learned, and nothing is twice.
    fn learn(&self, usage: &[UsagePair], through: StoredAt) -> Result<()> {
        if !usage.is_empty() {
            self.calibration.learn(self.store.identity()?.store_id, usage, through);
        }
        Ok(())
    }

    /// Returns the next commits of the feed, as many as are settled at once.
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

    /// Returns the state of an index whose watermark is what the store has there. Where it is not, the store is an older copy
    /// of itself, and all is folded again.
    fn at_its_place(&self, index: &Index, lock: &IndexLock) -> Result<IndexMeta, SettleError> {
        let meta = index.meta()?;
        if self.is_at_its_place(meta.watermark)? {
            return Ok(meta);
        }
        index.drop_events(lock)?;
        Ok(index.cut(lock, StoredAt(0))?)
    }

    /// Says whether the last commit that the index has looked at is where it was.
    fn is_at_its_place(&self, watermark: Watermark) -> Result<bool> {
        let Some((at, id)) = watermark.through else { return Ok(true) };
        let before = at.0.checked_sub(1).filter(|before| *before > 0).map(StoredAt);
        let found = self.store.stored_after(before, 1)?;
        Ok(found.first().is_some_and(|(found, commit)| (*found, commit.id) == (at, id)))
    }

    /// Adds sessions to the index that saw commits which it had passed. Returns whether none is left.
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
            if !left.more(0) {
                return Ok(self.store.index_unseen(1)?.is_empty());
            }
        }
    }

    /// Sets an index aside that was found damaged, unless the folder names another one by now.
    pub(super) fn set_aside(&self, named: Option<IndexName>) -> Result<(), IndexError> {
        let Some(named) = named else { return Ok(()) };
        match self.index.lock_patiently()? {
            Some(lock) => self.index.quarantine(&named, self.clock.now(), &lock),
            None => Err(IndexError::Moved),
        }
    }
}
