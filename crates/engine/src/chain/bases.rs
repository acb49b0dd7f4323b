//! What stands behind the root of a chain whose history begins in another session: some clients fork a session by
//! pointing into its parent, and copy nothing.
//!
//! The client points at a byte of the parent's file. We go by the number of the line, which stays the same where the file
//! was written anew or secrets in it were replaced. Nothing of it is part of a commit: a fork is the same commits whether
//! its parent is here or not.

use std::collections::HashSet;
use std::sync::Arc;

use stemmata_model::{Commit, CommitId, CommitType, FormatId, Note, NoteCode, to_u64};
use stemmata_runtimes::adapter::{ContextPlan, Edit, segment_number};
use stemmata_runtimes::clients::{Forks, HistoryBase, of_format};
use stemmata_store::{Page, Session, SessionFilter};

use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Forks of forks that are followed at most: far more than anybody makes, and a bound against sessions that point at
/// each other.
const BASES_MAX: usize = 64;

/// Sessions of one id that are looked at: the same on several machines, and copies of its file.
const CANDIDATES_MAX: usize = 16;

/// What is known of the bases of a chain that is being read, newest first.
#[derive(Debug, Default)]
pub(crate) struct Bases {
    /// The base that is being read, while lines behind its end may still come, and how.
    open: Option<(HistoryBase, &'static Forks)>,
    /// The greatest number of its lines so far.
    last: Option<u64>,
    threads: HashSet<String>,
    /// Headers that say that their history begins elsewhere, though it stands ahead of them now: (position, bytes).
    pointers: Vec<(usize, std::ops::Range<usize>)>,
    notes: Vec<Note>,
}

impl Bases {
    /// Returns what of a commit is part of the chain: all of it, or the lines ahead of where a base ends; none where
    /// that is nothing.
    pub(crate) fn part_of(&mut self, commit: &Commit, native: Arc<Vec<u8>>) -> Option<Arc<Vec<u8>>> {
        let Some((open, forks)) = &self.open else { return Some(native) };
        let found = (forks.before)(&native, open.end_ordinal);
        self.last = found.last.max(self.last);
        // Numbers ascend: what is older than a line of the base is part of it as a whole.
        let is_met = found.last.is_some() || !matches!(commit.core.commit_type, CommitType::Delta);
        if found.has_later && found.bytes == 0 {
            return None;
        }
        if is_met {
            self.close();
        }
        if found.bytes == native.len() {
            return Some(native);
        }
        Some(Arc::new(native.get(..found.bytes).unwrap_or_default().to_vec()))
    }

    /// Returns whether a commit is older than what a fork's own client wrote: a translation stands for it.
    pub(crate) fn ends_above(&self, commit: &Commit) -> bool {
        !self.threads.is_empty() && forks_of(commit).is_none()
    }

    /// Says where a base's lines end too early.
    fn close(&mut self) {
        let Some((base, _)) = self.open.take() else { return };
        let wanted = base.end_ordinal.saturating_sub(1);
        if self.last.is_none_or(|last| last < wanted) {
            let message = format!(
                "its history goes up to line {wanted} of session {}, of which only {} lines are here",
                base.thread,
                self.last.map_or(0, |last| last + 1)
            );
            self.notes.push(Note::new(NoteCode::MissingParent, message));
        }
    }

    /// Looks behind a root, which is read as the one at `position`. Returns the tip of the session that goes on there.
    pub(crate) fn behind(
        &mut self,
        engine: &Engine,
        (root, native): (&Commit, &[u8]),
        position: usize,
    ) -> Result<Option<CommitId>> {
        self.close();
        let Some((base, forks)) = base_of(root, native) else { return Ok(None) };
        if self.threads.len() >= BASES_MAX || !self.threads.insert(base.thread.clone()) {
            let message =
                format!("its history begins in session {}, which leads back to itself", base.thread);
            self.notes.push(Note::new(NoteCode::MissingParent, message));
            return Ok(None);
        }
        let Some(session) = engine.session_of_thread(&base.thread, &root.core.format)? else {
            let message = format!(
                "its history begins in session {} (lines before {}), which is not stored: what was said there is \
                 missing here until that session is imported",
                base.thread, base.end_ordinal
            );
            self.notes.push(Note::new(NoteCode::MissingParent, message));
            return Ok(None);
        };
        self.pointers.extend((forks.base_span)(first_line(native)).map(|span| (position, span)));
        self.open = Some((base, forks));
        self.last = None;
        Ok(session.tip)
    }

    /// Adds to a plan what was found: notes, and that the headers of forks point nowhere any more.
    pub(crate) fn settle(&mut self, plan: &mut ContextPlan) {
        // Nothing of the last one was met where its session's lines all stand behind its end.
        self.close();
        plan.notes.append(&mut self.notes);
        for (position, span) in &self.pointers {
            let (start, end) = (to_u64(span.start), to_u64(span.end));
            let holds = |offset: u64, length: u64| offset <= start && end <= offset + length;
            let piece = plan.pieces.iter_mut().find(|piece| {
                piece.segment == segment_number(*position, false) && holds(piece.offset, piece.length)
            });
            if let Some(piece) = piece {
                let edit = Edit { offset: start - piece.offset, length: end - start, with: b"null".to_vec() };
                let at = piece.edits.partition_point(|other| other.offset < edit.offset);
                piece.edits.insert(at, edit);
            }
        }
    }
}

impl Engine {
    /// Finds the session of a thread of the client of a format: this store's own, and the longest of several.
    fn session_of_thread(&self, thread: &str, format: &FormatId) -> Result<Option<Session>> {
        let filter = SessionFilter { session_prefix: Some(thread.to_owned()), ..SessionFilter::default() };
        let found = self.store.sessions(&filter, Page { skip: 0, rows_max: CANDIDATES_MAX })?;
        let candidates = found.into_iter().filter(|known| {
            known.session.as_str() == thread
                && known.tip.is_some()
                && of_format(&known.format) == of_format(format)
        });
        Ok(candidates.max_by_key(|known| (self.identity.is_ours(&known.key.machine), known.messages)))
    }

    /// Returns the commit of another session that the history of a chain ends in, where its root says so and that
    /// session is stored.
    pub(crate) fn base_commit(&self, root: CommitId) -> Result<Option<CommitId>> {
        let Some(root) = self.store.commit(root)? else { return Ok(None) };
        if forks_of(&root).is_none() || root.closure == stemmata_model::Closure::Forgotten {
            return Ok(None);
        }
        let native = crate::chain::segments::read_whole(self, root.core.native_artifact())?;
        let Some((base, forks)) = base_of(&root, &native) else { return Ok(None) };
        let session = self.session_of_thread(&base.thread, &root.core.format)?;
        let mut walk = Walk::new(self.store.as_ref(), session.and_then(|session| session.tip));
        while let Some(commit) = walk.next()? {
            if commit.closure == stemmata_model::Closure::Forgotten {
                break;
            }
            let native = crate::chain::segments::read_whole(self, commit.core.native_artifact())?;
            if (forks.before)(&native, base.end_ordinal).last.is_some() {
                return Ok(Some(commit.id));
            }
        }
        Ok(None)
    }
}

/// Returns how the forks of the client that wrote a commit point into other sessions; `None` where they are copies.
fn forks_of(commit: &Commit) -> Option<&'static Forks> {
    of_format(&commit.core.format)?.forks
}

fn base_of(root: &Commit, native: &[u8]) -> Option<(HistoryBase, &'static Forks)> {
    let forks = forks_of(root)?;
    Some(((forks.base)(first_line(native))?, forks))
}

fn first_line(bytes: &[u8]) -> &[u8] {
    let end = memchr::memchr(b'\n', bytes).unwrap_or(bytes.len());
    bytes.get(..end).unwrap_or_default()
}
