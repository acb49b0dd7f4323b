//! A chain as a planner sees it: the bytes of each commit, newest first, kept for the emission that follows.
//!
//! Contents are read in pages: a planner asks for one commit at a time, and a store answers many at once for far less.

use std::collections::VecDeque;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use stemmata_model::{ArtifactId, Closure, Commit, CommitId, CommitType, Counts, to_u64};
use stemmata_runtimes::adapter::{Piece, Segment, Segments, SourceError, segment_number};
use stemmata_store::{Commits, StoreError};

use crate::chain::bases::Bases;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, Result};

/// Bytes of one commit that a planner is given at most: planning needs one whole segment in memory.
pub(crate) const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Bytes of segments that are kept in memory between planning and emitting; beyond this they are read again.
const KEPT_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// Commits whose contents are read at once at most. The first page has one, each later one twice as many: a search
/// that ends soon reads little in vain.
const PAGE_COMMITS_MAX: usize = 512;

/// Bytes after which a page is full.
const PAGE_BYTES_FULL: u64 = 8 * 1024 * 1024;

/// Bytes of a page from which several threads read it: decompressing and hashing a long chain takes longer than all else.
const PARALLEL_BYTES_MIN: u64 = 1024 * 1024;

/// Threads that read one page. Each needs a connection to the store, beside the one of the thread that plans.
const READERS: usize = 4;

/// The bytes of some commits, and why those of the next one cannot be read.
type ReadPart = (Vec<Vec<u8>>, Result<(), StoreError>);

/// A page whose bytes are being read, or were.
struct Reading {
    page: Vec<Commit>,
    parts: Vec<Part>,
    /// The forgotten commit that stands in the place of a page.
    hole: Option<CommitId>,
}

enum Part {
    Read(ReadPart),
    Reading(JoinHandle<ReadPart>),
}

impl Drop for Reading {
    /// Waits for the threads: none outlives the chain, which may be dropped before all of it was asked for.
    fn drop(&mut self) {
        for part in self.parts.drain(..) {
            if let Part::Reading(reader) = part {
                drop(reader.join());
            }
        }
    }
}

/// A content of a chain.
struct Known {
    id: ArtifactId,
    /// Its bytes that are part of the chain: of the commit that a base ends in only the first ones are.
    length: usize,
    bytes: Option<Arc<Vec<u8>>>,
}

/// The newest commit of a chain that ends within it.
pub(crate) struct NewestBytes {
    /// How many of its bytes are part of the chain.
    pub first: u64,
    /// What follows them: lines that stand further down and are said before the end.
    pub behind: Vec<u8>,
}

/// The commits of a chain, newest first, with their bytes.
pub(crate) struct ChainSegments<'e> {
    engine: &'e Engine,
    walk: Walk<'e>,
    stop: Option<CommitId>,
    /// Commits that were walked to and whose bytes were not read yet.
    walked: VecDeque<Commit>,
    /// Commits whose bytes were read before the planner asked for them.
    ahead: VecDeque<(Commit, Arc<Vec<u8>>)>,
    /// Whether pages are read ahead.
    is_whole: bool,
    /// The page that is read ahead, or the error of the walk to it.
    reading: Option<Result<Reading>>,
    page_commits: usize,
    commits: Vec<Commit>,
    known: Vec<Known>,
    kept_bytes: u64,
    hole: Option<CommitId>,
    /// The commit that the chain ends above.
    bound: Option<CommitId>,
    /// What goes on behind a root whose history begins in another chain; none where nobody asked for it.
    bases: Option<Bases>,
    /// What stands in the place of the newest commit's bytes; none: all of them.
    newest_bytes: Option<NewestBytes>,
}

impl<'e> ChainSegments<'e> {
    /// Starts at `from`; the commit `stop` is marked where it is met.
    pub(crate) fn new(engine: &'e Engine, from: Option<CommitId>, stop: Option<CommitId>) -> Self {
        Self {
            engine,
            walk: Walk::new(engine.store.as_ref(), from),
            stop,
            walked: VecDeque::new(),
            ahead: VecDeque::new(),
            is_whole: false,
            reading: None,
            page_commits: 1,
            commits: Vec::new(),
            known: Vec::new(),
            kept_bytes: 0,
            hole: None,
            bound: None,
            bases: None,
            newest_bytes: None,
        }
    }

    /// Ends above a commit, where one is given: what is there is not handed out.
    pub(crate) fn above(mut self, bound: Option<CommitId>) -> Self {
        self.bound = bound;
        self
    }

    /// Takes only the first bytes of the newest commit, where their number is given.
    pub(crate) fn within(mut self, newest_bytes: Option<NewestBytes>) -> Self {
        self.newest_bytes = newest_bytes;
        self
    }

    /// Reads the next page while the planner works on the current one: for contexts that begin at the root.
    pub(crate) fn whole(mut self, is_whole: bool) -> Self {
        self.is_whole = is_whole;
        self
    }

    /// Lets go of what was read ahead, once the plan is made.
    pub(crate) fn end_reading_ahead(&mut self) {
        self.reading = None;
    }

    /// Goes on behind a root whose history begins in another session, with the lines of that one.
    pub(crate) fn through_bases(mut self) -> Self {
        self.bases = Some(Bases::default());
        self
    }

    /// Returns what was found behind roots, where somebody asked for it.
    pub(crate) const fn bases(&mut self) -> Option<&mut Bases> {
        self.bases.as_mut()
    }

    /// Returns the commits that were handed out, newest first.
    pub(crate) fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Returns the commit that was forgotten and that the chain ends above, where one was met.
    pub(crate) const fn hole(&self) -> Option<CommitId> {
        self.hole
    }

    /// Returns the counts of the commit whose native content a piece takes whole: counts add up line by line, so nothing
    /// of one that ends with a line needs to be read again.
    pub(crate) fn counts_of(&self, piece: &Piece) -> Option<Counts> {
        let position = piece.segment / 2;
        let commit =
            self.commits.get(position).filter(|_| piece.segment == segment_number(position, false))?;
        (piece.offset == 0 && piece.length == commit.native_bytes).then_some(commit.counts)
    }

    /// Returns the id, and the bytes where they are still in memory, of a numbered content
    /// (`adapter::segment_number`).
    pub(crate) fn content(&self, number: usize) -> (ArtifactId, Option<&[u8]>) {
        match self.known.get(number) {
            Some(known) => (known.id, known.bytes.as_ref().map(|bytes| bytes.as_slice())),
            None => (stemmata_model::artifact_id(b""), None),
        }
    }

    /// Returns the bytes of a numbered content, read again where they were not kept.
    pub(crate) fn load(&self, number: usize) -> Result<Option<Arc<Vec<u8>>>> {
        match self.known.get(number) {
            None => Ok(None),
            Some(Known { bytes: Some(bytes), .. }) => Ok(Some(Arc::clone(bytes))),
            Some(Known { id, length, bytes: None }) => {
                let mut bytes = read_whole(self.engine, *id)?;
                bytes.truncate(*length);
                Ok(Some(Arc::new(bytes)))
            }
        }
    }

    fn keep(&mut self, id: ArtifactId, bytes: Option<&Arc<Vec<u8>>>) {
        let length = bytes.map_or(0, |bytes| to_u64(bytes.len()));
        let fits = self.kept_bytes.saturating_add(length) <= KEPT_BYTES_MAX;
        if fits {
            self.kept_bytes += length;
        }
        let length = bytes.map_or(usize::MAX, |bytes| bytes.len());
        self.known.push(Known { id, length, bytes: bytes.filter(|_| fits).map(Arc::clone) });
    }

    fn advance(&mut self) -> Result<Option<Segment>> {
        let Some((commit, mut native)) = self.read_next()? else { return Ok(None) };
        let mut is_changed = false;
        if let Some(NewestBytes { first, behind }) = self.newest_bytes.take() {
            let first = usize::try_from(first).unwrap_or(usize::MAX);
            is_changed = !behind.is_empty();
            native = Arc::new(native.iter().copied().take(first).chain(behind).collect());
        }
        self.keep(commit.core.native_artifact(), Some(&native));
        if let Some(known) = self.known.last_mut().filter(|_| is_changed) {
            // No content says so, however large it is.
            known.bytes = Some(Arc::clone(&native));
        }
        let prefix = match commit.core.commit_type {
            CommitType::Delta => None,
            CommitType::Compaction | CommitType::Snapshot { .. } if commit.core.native.is_none() => {
                Some(Arc::clone(&native))
            }
            CommitType::Compaction | CommitType::Snapshot { .. } => {
                Some(Arc::new(read_whole(self.engine, commit.core.artifact)?))
            }
        };
        self.keep(commit.core.artifact, prefix.as_ref());
        let segment = Segment {
            commit_type: commit.core.commit_type,
            native,
            prefix,
            is_stop: self.stop == Some(commit.id),
            created_at: commit.core.created_at,
        };
        self.commits.push(commit);
        Ok(Some(segment))
    }

    /// Returns the next commit with its bytes; of one that only a part of is a base, that part.
    fn read_next(&mut self) -> Result<Option<(Commit, Arc<Vec<u8>>)>> {
        loop {
            while self.ahead.is_empty() && self.hole.is_none() {
                let reading = self.reading.take().unwrap_or_else(|| self.read_page(false))?;
                self.hole = reading.hole;
                if reading.page.is_empty() {
                    break;
                }
                self.finish(reading)?;
            }
            let Some((commit, native)) = self.ahead.pop_front() else { return Ok(None) };
            let Some(bases) = &mut self.bases else { return Ok(Some((commit, native))) };
            if bases.ends_above(&commit) {
                return Ok(None);
            }
            let Some(native) = bases.part_of(&commit, native) else { continue };
            if commit.core.parent.is_none()
                && let Some(tip) = bases.behind(self.engine, (&commit, &native), self.commits.len())?
            {
                self.walk = Walk::new(self.engine.store.as_ref(), Some(tip));
                self.page_commits = 1;
                // It was read ahead of the other walk, which ended here.
                self.reading = None;
            }
            return Ok(Some((commit, native)));
        }
    }

    /// Begins to read the bytes of the next page; all of it on threads where it is read ahead.
    fn read_page(&mut self, is_ahead: bool) -> Result<Reading> {
        let (page, hole) = self.walk_page()?;
        let parts = if is_long(&page) { READERS } else { 1 };
        let mut parts = page.chunks(page.len().div_ceil(parts).max(1));
        let mut read = Vec::with_capacity(READERS);
        if let Some(first) = parts.next() {
            if is_ahead {
                read.push(self.spawn(first));
            }
            read.extend(parts.map(|part| self.spawn(part)));
            if !is_ahead {
                read.insert(0, self.read_here(first));
            }
        }
        Ok(Reading { page, parts: read, hole })
    }

    fn spawn(&self, part: &[Commit]) -> Part {
        let (store, wanted) = (Arc::clone(&self.engine.store), wanted(part));
        let reader = thread::Builder::new().name("chain-reader".to_owned());
        // The system may give no thread.
        let spawned = reader.spawn(move || read_part(store.as_ref(), &wanted));
        spawned.map_or_else(|_| self.read_here(part), Part::Reading)
    }

    fn read_here(&self, part: &[Commit]) -> Part {
        Part::Read(read_part(self.engine.store.as_ref(), &wanted(part)))
    }

    /// Takes what was read. What cannot be read is an error only when the planner gets there, for it may never
    /// need it: then it is a page of its own.
    fn finish(&mut self, mut reading: Reading) -> Result<()> {
        let mut page = std::mem::take(&mut reading.page);
        // A plan may end at a snapshot.
        let is_snapshot = |commit: &Commit| matches!(commit.core.commit_type, CommitType::Snapshot { .. });
        let is_read_ahead = self.is_whole && is_long(&page) && !page.iter().any(is_snapshot);
        let mut contents: Vec<Vec<u8>> = Vec::with_capacity(page.len());
        reading.parts.reverse();
        while let Some(part) = reading.parts.pop() {
            let (part, result) = match part {
                Part::Read(part) => part,
                Part::Reading(reader) => reader.join().unwrap_or_else(|panic| resume_unwind(panic)),
            };
            contents.extend(part);
            match result {
                Ok(()) => {}
                Err(error) if page.len() == 1 => return Err(error.into()),
                Err(_) => {
                    self.page_commits = 1;
                    break;
                }
            }
        }
        let unread = page.split_off(contents.len());
        self.ahead.extend(page.into_iter().zip(contents.into_iter().map(Arc::new)));
        unread.into_iter().rev().for_each(|commit| self.walked.push_front(commit));
        if is_read_ahead {
            self.reading = Some(self.read_page(true));
        }
        Ok(())
    }

    /// Returns the commits of the next page, up to a compaction or a snapshot: most contexts begin there. Returns a forgotten
    /// commit instead where one comes next.
    fn walk_page(&mut self) -> Result<(Vec<Commit>, Option<CommitId>)> {
        let mut page: Vec<Commit> = Vec::new();
        let mut bytes = 0_u64;
        while page.len() < self.page_commits && bytes < PAGE_BYTES_FULL {
            let walked = self.walked.pop_front();
            let Some(commit) = walked.map_or_else(|| self.walk.next(), |commit| Ok(Some(commit)))? else {
                break;
            };
            if self.bound == Some(commit.id) {
                self.walked.push_front(commit);
                break;
            }
            let is_hole = commit.closure == Closure::Forgotten;
            let is_too_long = commit.native_bytes > SEGMENT_BYTES_MAX;
            if (is_hole || is_too_long) && !page.is_empty() {
                self.walked.push_front(commit);
                break;
            }
            if is_hole {
                return Ok((page, Some(commit.id)));
            }
            check_length(commit.native_bytes)?;
            bytes = bytes.saturating_add(commit.native_bytes);
            let is_end = commit.core.commit_type != CommitType::Delta;
            page.push(commit);
            if is_end {
                break;
            }
        }
        self.page_commits = (self.page_commits * 2).min(PAGE_COMMITS_MAX);
        Ok((page, None))
    }
}

fn is_long(page: &[Commit]) -> bool {
    page.iter().map(|commit| commit.native_bytes).fold(0, u64::saturating_add) >= PARALLEL_BYTES_MIN
}

/// Returns the contents of commits with their lengths.
fn wanted(part: &[Commit]) -> Vec<(ArtifactId, u64)> {
    part.iter().map(|commit| (commit.core.native_artifact(), commit.native_bytes)).collect()
}

/// Reads contents up to one that cannot be read.
fn read_part(store: &dyn Commits, wanted: &[(ArtifactId, u64)]) -> ReadPart {
    let ids: Vec<ArtifactId> = wanted.iter().map(|(id, _)| *id).collect();
    let mut contents: Vec<Vec<u8>> = Vec::with_capacity(ids.len());
    let read = store.read_contents(&ids, &mut |number, piece| -> io::Result<()> {
        // An empty content hands out no piece.
        for (_, bytes) in wanted.iter().skip(contents.len()).take((number + 1).saturating_sub(contents.len()))
        {
            contents.push(Vec::with_capacity(usize::try_from(*bytes).unwrap_or(0)));
        }
        if let Some(bytes) = contents.last_mut() {
            bytes.extend_from_slice(piece);
        }
        Ok(())
    });
    match read {
        Ok(()) => contents.resize_with(ids.len(), Vec::new),
        // The last one may be cut off.
        Err(_) => drop(contents.pop()),
    }
    (contents, read)
}

impl Segments for ChainSegments<'_> {
    fn next(&mut self) -> Result<Option<Segment>, SourceError> {
        self.advance().map_err(|error| Box::new(error) as SourceError)
    }
}

impl Engine {
    /// Reads contents one after the other, and hands out each whole with its place among them.
    ///
    /// # Errors
    /// What `take` says, and where one of them cannot be read: the ones before it were handed out then.
    pub(crate) fn each_whole(
        &self,
        ids: &[ArtifactId],
        take: &mut dyn FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut whole: (usize, Vec<u8>) = (0, Vec::new());
        let mut failed = None;
        let read = self.store.read_contents(ids, &mut |number, bytes| {
            while whole.0 < number {
                if let Err(error) = take(whole.0, &whole.1) {
                    failed = Some(error);
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
                whole.0 += 1;
                whole.1.clear();
            }
            whole.1.extend_from_slice(bytes);
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        read?;
        while whole.0 < ids.len() {
            take(whole.0, &whole.1)?;
            whole.0 += 1;
            whole.1.clear();
        }
        Ok(())
    }
}

/// Reads a content that a planner needs in one piece.
pub(crate) fn read_whole(engine: &Engine, id: ArtifactId) -> Result<Vec<u8>> {
    read_sized(engine, id, engine.store.content_length(id)?.unwrap_or(0))
}

/// Reads a content whose length is known already, which saves looking it up.
fn read_sized(engine: &Engine, id: ArtifactId, length: u64) -> Result<Vec<u8>> {
    check_length(length)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    engine.store.read_content(id, None, &mut |piece: &[u8]| -> io::Result<()> {
        bytes.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(bytes)
}

fn check_length(length: u64) -> Result<()> {
    if length <= SEGMENT_BYTES_MAX {
        return Ok(());
    }
    let bound =
        StoreError::Bound { what: "a commit's content in bytes", value: length, bound: SEGMENT_BYTES_MAX };
    Err(EngineError::Store(bound))
}
