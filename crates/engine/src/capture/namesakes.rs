//! Sessions of one id: which are one conversation, which were moved, and what a transcript held before another took its place.
//!
//! A client gives a session one id, and files of that id are copies of it; but a user renames the folder of a project, and
//! clients have overwritten one session's transcript with another one's. What tells is what the chains share.

mod cut;
mod older;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::Path;

use stemmata_model::{Closure, Commit, CommitId, SessionId, Trigger};
use stemmata_runtimes::adapter::Adapter;
use stemmata_store::{ANCHORS_MAX, Link, LinkKind, Placement, Session, SessionKey, StoreError, Write};

use crate::capture::anchors::Anchored;
use crate::capture::copies::SHARED_MIN;
use crate::capture::homes::{RuntimeHome, find};
use crate::capture::kept::is_session_kept;
use crate::capture::options::CaptureOptions;
use crate::capture::said::Sought;
use crate::capture::source::{look, plain_name};
use crate::chain::beside::{PAGE_COMMITS, key_of_sighting};
use crate::chain::rest::is_of_content;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{EngineError, FormatUse, Result};
use crate::scrubbing::is_document;

/// What stands between a transcript's path and the first commit of what it held before: the key of that conversation.
const BEFORE: &str = ".before-";

/// Sessions of one id that are looked at.
const NAMESAKES_MAX: usize = 256;

/// Links and sightings of one commit that are looked at.
const LOOKED_AT_MAX: usize = 256;

/// Commits that hold one anchor and are looked at.
const HOLDERS_MAX: usize = 64;

/// Returns the path of a session's transcript. If another conversation was written over it, the session's own key is that path
/// with an ending; here the ending is cut off.
pub fn transcript_of(session: &Session) -> &Path {
    Path::new(overwritten(&session.key.path).unwrap_or(&session.key.path))
}

/// Returns the path of the transcript that was overwritten, where a key is that of what it held before.
pub(crate) fn overwritten(path: &str) -> Option<&str> {
    let (path, root) = path.rsplit_once(BEFORE)?;
    root.parse::<CommitId>().is_ok().then_some(path)
}

impl Engine {
    /// Returns whether two sessions of one id are one conversation, or begin as one: they share their first commit, or one is a
    /// client's copy of the other or of what the other was copied from.
    pub(crate) fn is_same_conversation(&self, one: &Session, other: &Session) -> Result<bool> {
        let (Some(first), Some(second)) = (one.tip, other.tip) else { return Ok(true) };
        if first == second {
            return Ok(true);
        }
        if one.key != other.key
            && one.key.machine == other.key.machine
            && transcript_of(one) == transcript_of(other)
        {
            // One of them is what the transcript held before, and holds no more: another conversation, or only more of this one.
            return Ok(self.is_cut(one, other)? || self.is_cut(other, one)?);
        }
        let (Some(first), Some(second)) = (self.root_of(first)?, self.root_of(second)?) else {
            return Ok(true);
        };
        if first == second {
            return Ok(true);
        }
        // An open look at a first turn, which a closed one covers, is a root of its own.
        let is_covered = |id| -> Result<bool> {
            Ok(self.store.commit(id)?.is_none_or(|commit| commit.closure != Closure::Closed))
        };
        if is_covered(first)? || is_covered(second)? {
            return Ok(true);
        }
        let (from_first, from_second) = (self.origin_of(first)?, self.origin_of(second)?);
        let is_shared = from_first.is_some() && from_first == from_second;
        Ok(is_shared || from_first == Some(second) || from_second == Some(first))
    }

    /// Returns whether a session is the same conversation as one of these.
    pub(crate) fn is_one_of(&self, session: &Session, others: &[Session]) -> Result<bool> {
        for other in others {
            if self.is_same_conversation(session, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the root of what a chain was copied from.
    fn origin_of(&self, root: CommitId) -> Result<Option<CommitId>> {
        let links = self.store.links(root, LOOKED_AT_MAX)?;
        let is_copy =
            |link: &&Link| link.from == root && link.kind == LinkKind::DerivedFrom && link.entry.is_some();
        match links.iter().find(is_copy) {
            Some(link) => self.root_of(link.to),
            None => Ok(None),
        }
    }

    /// Returns the sessions of the id of one that are the same conversation, itself among them.
    pub(crate) fn same_conversation(&self, session: &Session) -> Result<Vec<Session>> {
        let mut copies = Vec::new();
        for other in self.store.sessions_of(&session.session, NAMESAKES_MAX)? {
            if other.key == session.key || self.is_same_conversation(session, &other)? {
                copies.push(other);
            }
        }
        Ok(copies)
    }

    /// Returns what a session's transcript held before another conversation took its place, the newest first.
    pub(crate) fn held_before(&self, key: &SessionKey, of: &Session) -> Result<Vec<Session>> {
        let mut all = self.store.sessions_of(&of.session, NAMESAKES_MAX)?;
        let path = overwritten(&key.path).unwrap_or(&key.path);
        all.retain(|other| other.key.machine == key.machine && overwritten(&other.key.path) == Some(path));
        Ok(all)
    }

    /// Returns the session that holds a commit which was seen in a transcript: what the transcript held before, where the commit is
    /// of that.
    pub(crate) fn session_seen_at(&self, key: &SessionKey, commit: CommitId) -> Result<Option<Session>> {
        let Some(session) = self.store.session(key)? else { return Ok(None) };
        self.conversation_of(session, commit).map(Some)
    }

    /// Returns the session that holds a commit: this one, or what its transcript held before.
    pub(crate) fn conversation_of(&self, session: Session, commit: CommitId) -> Result<Session> {
        let before = self.held_before(&session.key, &session)?;
        if before.is_empty() {
            return Ok(session);
        }
        // What a document held before is a commit of its chain.
        if let Some(held) = before.iter().find(|other| other.tip == Some(commit)) {
            return Ok(held.clone());
        }
        let root = self.root_of(commit)?;
        let shares_root = |of: &Session| -> Result<bool> {
            Ok(of.tip.map(|tip| self.root_of(tip)).transpose()?.flatten() == root)
        };
        let is_own = shares_root(&session)?;
        if is_own && self.is_in_chain(commit, session.tip)? {
            return Ok(session);
        }
        let mut of_root = None;
        for other in before {
            if !shares_root(&other)? {
                continue;
            }
            if self.is_in_chain(commit, other.tip)? {
                return Ok(other);
            }
            // An open look at a turn stands beside the chain.
            of_root.get_or_insert(other);
        }
        Ok(of_root.filter(|_| !is_own).unwrap_or(session))
    }

    /// Returns whether a commit is in a chain.
    fn is_in_chain(&self, id: CommitId, tip: Option<CommitId>) -> Result<bool> {
        let Some(wanted) = self.store.commit(id)? else { return Ok(false) };
        let mut walk = Walk::new(self.store.as_ref(), tip);
        while let Some(commit) = walk.next()?.filter(|commit| commit.depth >= wanted.depth) {
            if commit.id == id {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the session that a commit was seen in first, of those that are known still.
    pub(crate) fn session_of_sightings(&self, commit: CommitId) -> Result<Option<Session>> {
        // Nearly always it is the first; a transcript that was moved is seen in two places.
        for limit in [1, LOOKED_AT_MAX] {
            let sightings = self.store.sightings(commit, limit)?;
            for sighting in &sightings {
                if let Some(session) = self.session_seen_at(&key_of_sighting(sighting), commit)? {
                    return Ok(Some(session));
                }
            }
            if sightings.len() < limit {
                break;
            }
        }
        Ok(None)
    }
}

/// What a reading of a transcript from its start came to, where something else was read from it before.
pub(crate) struct Replaced<'a> {
    /// The session as it was.
    pub before: &'a Session,
    /// The newest commit of what was read before, and is not in the new chain.
    pub newest: CommitId,
    /// The newest commit of what was read now.
    pub now: Option<CommitId>,
    /// What the new chain is found by.
    pub anchored: &'a [Anchored],
    /// Whether lines can no longer be read that could be: no client does that.
    pub is_damaged: bool,
}

impl Engine {
    /// Returns the row under which a conversation stays listed after another one was written over its transcript, or over what
    /// followed their common beginning. If no turn is missing, the client only rewrote one conversation, and there is no such row.
    pub(crate) fn taken_place_of(&self, replaced: &Replaced<'_>, is_apart: bool) -> Result<Option<Write>> {
        let before = replaced.before;
        let root = if is_apart { self.root_apart(replaced)? } else { None };
        let id = root.map_or_else(|| self.turn_lost(replaced), |root| Ok(Some(root)))?;
        let (Some(tip), Some(id)) = (before.tip, id) else { return Ok(None) };
        // What was left of a cut is a row's already.
        for other in self.held_before(&before.key, before)? {
            if self.is_cut(before, &other)? {
                return Ok(None);
            }
        }
        let key = SessionKey { path: format!("{}{BEFORE}{id}", before.key.path), ..before.key.clone() };
        Ok(Some(Write::Session(Box::new(Session { key, tip: Some(tip), ..before.clone() }))))
    }

    /// Returns the root of what was read before, where that shares no records with what was read now.
    fn root_apart(&self, replaced: &Replaced<'_>) -> Result<Option<CommitId>> {
        let Some(root) = self.root_of(replaced.newest)? else { return Ok(None) };
        let hashes: Vec<u64> =
            replaced.anchored.iter().flat_map(|known| known.hashes.iter().copied()).collect();
        if hashes.is_empty() {
            // Without ids of records nothing tells a rewritten conversation from another one.
            return Ok(None);
        }
        let mut shared = 0;
        let mut roots = HashMap::new();
        for chunk in hashes.chunks(ANCHORS_MAX) {
            for (_, holder) in self.store.anchored(chunk, HOLDERS_MAX)? {
                let of = match roots.get(&holder) {
                    Some(root) => *root,
                    None => *roots.entry(holder).or_insert(self.root_of(holder)?),
                };
                shared += usize::from(of == Some(root));
            }
        }
        Ok((shared < SHARED_MIN).then_some(root))
    }

    /// Returns the newest commit of what was read before, where something that was said behind the common beginning is missing now.
    fn turn_lost(&self, replaced: &Replaced<'_>) -> Result<Option<CommitId>> {
        let Replaced { newest, now, is_damaged, .. } = *replaced;
        let is_lost =
            is_damaged || self.is_lost(newest, now)? == Some(true) || self.is_cut_short(replaced)?;
        Ok(is_lost.then_some(newest))
    }

    /// Says whether the last turn was cut: what is left of its lines is their beginning. A document has fewer messages then, and says
    /// nothing else.
    fn is_cut_short(&self, replaced: &Replaced<'_>) -> Result<bool> {
        let Some(now) = replaced.now else { return Ok(false) };
        let (Some(before), Some(left)) = (self.store.commit(replaced.newest)?, self.store.commit(now)?)
        else {
            return Ok(false);
        };
        if before.core.parent != left.core.parent || before.core.format != left.core.format {
            return Ok(false);
        }
        if is_document(&left.core.format) {
            let is_less = left.counts.messages < before.counts.messages;
            return Ok(is_less && self.is_lost(now, Some(replaced.newest))? == Some(false));
        }
        if left.native_bytes >= before.native_bytes {
            return Ok(false);
        }
        let whole = read_whole(self, before.core.native_artifact())?;
        Ok(whole.starts_with(&read_whole(self, left.core.native_artifact())?))
    }

    /// Returns whether a chain lacks something that another one says behind their common beginning; `None` where that cannot be read.
    pub(crate) fn is_lost(&self, newest: CommitId, now: Option<CommitId>) -> Result<Option<bool>> {
        let (old, _) = self.states_behind(Some(newest), &HashSet::new())?;
        let known: HashSet<CommitId> = old.iter().map(|commit| commit.id).collect();
        let (new, common) = self.states_behind(now, &known)?;
        let mut sought = Sought::default();
        for commit in old.iter().take_while(|commit| Some(commit.id) != common) {
            if commit.counts.messages > 0
                && !self.with_records(commit, |adapter, bytes| sought.add(adapter, bytes))?
            {
                return Ok(None);
            }
        }
        for commit in &new {
            if !self.with_records(commit, |adapter, bytes| sought.look_in(adapter, bytes))? {
                return Ok(None);
            }
        }
        Ok(Some(sought.lost().groups > 0))
    }

    /// Returns the commits of a chain, the newest first, and the known one that they stand on. Before a document nothing stands: it
    /// holds all that was said.
    fn states_behind(
        &self,
        tip: Option<CommitId>,
        known: &HashSet<CommitId>,
    ) -> Result<(Vec<Commit>, Option<CommitId>)> {
        let mut behind = Vec::new();
        let mut walk = Walk::new(self.store.as_ref(), tip);
        while let Some(commit) = walk.next()? {
            if known.contains(&commit.id) {
                return Ok((behind, Some(commit.id)));
            }
            let is_document = is_document(&commit.core.format);
            behind.push(commit);
            if is_document {
                break;
            }
        }
        Ok((behind, None))
    }

    /// Hands out a commit's bytes with what reads them; returns false where either is not there.
    fn with_records(&self, commit: &Commit, take: impl FnOnce(&dyn Adapter, &[u8])) -> Result<bool> {
        let Ok(adapter) = Self::adapter(&commit.core.format, FormatUse::Read) else { return Ok(false) };
        match read_whole(self, commit.core.native_artifact()) {
            Err(EngineError::Store(error)) if is_of_content(&error) => Ok(false),
            read => {
                take(adapter, &read?);
                Ok(true)
            }
        }
    }

    /// Captures transcripts in clients' homes that have the names of some that are gone and were not read yet: they may have been moved.
    /// Returns the sessions whose transcripts are still gone, as [`Engine::only_here`] gives them.
    ///
    /// # Errors
    /// Store errors.
    pub fn take_in_moved(&self, homes: &[RuntimeHome]) -> Result<Vec<Session>> {
        let listed = || {
            let mut gone = Vec::new();
            self.only_here(&mut |session| gone.push(session)).map(|()| gone)
        };
        let gone = listed()?;
        let names: HashSet<&OsStr> = gone.iter().filter_map(|one| transcript_of(one).file_name()).collect();
        let mut has_read = false;
        for home in homes.iter().filter(|_| !names.is_empty()) {
            for file in find(std::slice::from_ref(&home.transcripts)).files {
                let is_named = plain_name(&file.path).file_name().is_some_and(|name| names.contains(name));
                if !is_named || self.store.session(&self.session_key(&file.path))?.is_some() {
                    continue;
                }
                match self.capture(&file.path, &CaptureOptions::live(Trigger::Explicit)) {
                    Ok(_) => has_read = true,
                    Err(error) => {
                        tracing::debug!(%error, "a transcript that may have been moved was not read");
                    }
                }
            }
        }
        if has_read { listed() } else { Ok(gone) }
    }

    /// Returns what we placed as a session whose transcript is no more where it was placed.
    pub(crate) fn moved_placement(&self, key: &SessionKey, of: &SessionId) -> Result<Option<Placement>> {
        for other in self.store.sessions_of(of, NAMESAKES_MAX)? {
            if other.key != *key && other.key.machine == key.machine && is_moved(Path::new(&other.key.path)) {
                let placement = self.store.placement(&other.key.machine, &other.key.path)?;
                if placement.is_some() {
                    return Ok(placement);
                }
            }
        }
        Ok(None)
    }

    /// Removes what is known of sessions twice: what a transcript held before and holds again, and sessions whose transcripts were
    /// moved to where this one is, or into an archive.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) fn leave_namesakes(&self, session: &Session) -> Result<()> {
        let Some(tip) = session.tip else { return Ok(()) };
        let others = self.store.sessions_of(&session.session, NAMESAKES_MAX)?;
        let mut batch = Vec::new();
        for other in others.into_iter().filter(|other| other.key != session.key) {
            if other.key.machine != session.key.machine || overwritten(&session.key.path).is_some() {
                continue;
            }
            let is_gone = match overwritten(&other.key.path) {
                Some(path) => path == session.key.path,
                None => is_moved(Path::new(&other.key.path)),
            };
            if !is_gone {
                continue;
            }
            if let Some(covered) = self.holds_all_of(tip, &other)? {
                self.see_again(&other.key, &session.key)?;
                batch.extend(covered.map(|commit| Write::Cover { commit }));
                batch.push(Write::Leave(other.key));
            }
        }
        if !batch.is_empty() {
            self.commit_batch(batch)?;
        }
        Ok(())
    }

    /// Records that all that was seen in a transcript was seen in it where it is now: also what it does not hold any more.
    fn see_again(&self, from: &SessionKey, to: &SessionKey) -> Result<()> {
        let mut seen = Vec::new();
        self.each_seen(from, &mut |commit| seen.push(commit.id))?;
        for page in seen.chunks(PAGE_COMMITS) {
            let mut batch = Vec::new();
            for commit in page.iter().copied() {
                for mut sighting in self.store.sightings(commit, LOOKED_AT_MAX)? {
                    if key_of_sighting(&sighting) == *from
                        && let Some(source) = &mut sighting.source
                    {
                        source.path.clone_from(&to.path);
                        batch.push(Write::Sighting { commit, sighting: Box::new(sighting) });
                    }
                }
            }
            if !batch.is_empty() {
                self.commit_batch(batch)?;
            }
        }
        Ok(())
    }

    /// Says whether a chain has all that a session held; and which open look at a turn it has in a commit of its own.
    #[expect(clippy::option_option, reason = "whether it holds all, and what is covered by that")]
    fn holds_all_of(&self, tip: CommitId, other: &Session) -> Result<Option<Option<CommitId>>> {
        let Some(other) = other.tip else { return Ok(Some(None)) };
        let Some(last) = self.store.commit(other)? else { return Ok(None) };
        if is_document(&last.core.format) {
            let holds_all = tip == other || self.is_lost(other, Some(tip))? == Some(false);
            return Ok(holds_all.then_some(None));
        }
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut above: Option<Commit> = None;
        while let Some(commit) = walk.next()? {
            if commit.id == other {
                return Ok(Some(None));
            }
            let is_beside = Some(commit.id) == last.core.parent;
            if is_beside {
                break;
            }
            above = Some(commit);
        }
        // What was open then is the beginning of a commit that stands in its place.
        let Some(above) = above.filter(|above| above.core.parent == last.core.parent) else {
            return Ok(None);
        };
        if last.closure == Closure::Closed || above.native_bytes < last.native_bytes {
            return Ok(None);
        }
        let whole = read_whole(self, above.core.native_artifact())?;
        let open = read_whole(self, last.core.native_artifact());
        let open = match open {
            Err(EngineError::Store(StoreError::ContentMissing(_) | StoreError::ContentForgotten(_))) => {
                return Ok(None);
            }
            open => open?,
        };
        Ok(whole.starts_with(&open).then_some(Some(other)))
    }
}

/// Returns whether a transcript that was a file no longer exists at its path.
fn is_moved(path: &Path) -> bool {
    path.is_absolute() && !is_session_kept(path) && look(path).is_none()
}
