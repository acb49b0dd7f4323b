//! Links a subagent's chain to the commit and the entry that started it, and a fork's to where its history goes on.

use std::collections::HashSet;

use stemmata_model::{CommitId, EntryId, SessionId, Timestamp, to_u64};
use stemmata_runtimes::clients::{of_format, subagent_prefix};
use stemmata_store::{
    BATCH_WRITES_MAX, Link, LinkKind, PAGE_ROWS_MAX, Page, Session, SessionFilter, SessionKey, Write,
};

use crate::capture::import::ImportReport;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::{FormatUse, Result};

/// Commits after the one at the subagent's start that are searched for the entry that names it: a subagent's
/// result is written when it ends, which may be some turns later.
const SEARCHED_COMMITS_MAX: usize = 64;

/// Links of a subagent's root that are looked at.
const LINKS_MAX: usize = 64;

/// A subagent that wrote nothing for so long is not at work any more: an hour.
const SILENT_MICROS: i64 = 3_600_000_000;

/// Returns the sessions among which subagents of some parents are: some clients name a subagent's session as any other.
fn subagents(of: &[&Session]) -> SessionFilter {
    let is_plain = of
        .iter()
        .any(|parent| of_format(&parent.format).is_some_and(|client| client.names_subagents_plainly));
    let session_prefix = subagent_prefix().filter(|_| !is_plain).map(str::to_owned);
    SessionFilter { session_prefix, ..SessionFilter::default() }
}

impl Engine {
    /// Links the subagents of an import to their parent sessions, where these are stored: those that are new, and
    /// those whose parent has news, for it may be the news that names them.
    pub(crate) fn link_subagents(&self, report: &ImportReport) -> Result<()> {
        let news = report.sessions.iter().filter(|imported| imported.captured.new_commits > 0);
        let (own, mains): (Vec<&Session>, Vec<&Session>) =
            news.map(|imported| &imported.captured.session).partition(|known| known.parent_session.is_some());
        let mut links = Vec::new();
        let points =
            |known: &&&Session| of_format(&known.format).is_some_and(|client| client.forks.is_some());
        for session in mains.iter().chain(&own).filter(points) {
            links.extend(self.fork_link(session)?.map(Write::Link));
        }
        for session in &own {
            links.extend(self.subagent_link(session)?.map(Write::Link));
        }
        let parents: HashSet<&SessionId> = mains.iter().map(|main| &main.session).collect();
        let done: HashSet<&SessionKey> = own.iter().map(|session| &session.key).collect();
        let filter = subagents(&mains);
        let mut skip = 0;
        while !parents.is_empty() {
            let page = self.store.sessions(&filter, Page { skip, rows_max: PAGE_ROWS_MAX })?;
            skip += to_u64(page.len());
            let is_of = |session: &&Session| {
                session.parent_session.as_ref().is_some_and(|parent| parents.contains(parent))
            };
            for session in page.iter().filter(is_of).filter(|session| !done.contains(&session.key)) {
                links.extend(self.subagent_link(session)?.map(Write::Link));
            }
            if page.len() < PAGE_ROWS_MAX {
                break;
            }
        }
        for batch in links.chunks(BATCH_WRITES_MAX) {
            self.commit_batch(batch.to_vec())?;
        }
        Ok(())
    }

    /// Returns the link of a fork that points into its parent's file instead of copying it. Links are a set: one that
    /// is there stays one.
    fn fork_link(&self, session: &Session) -> Result<Option<Link>> {
        let Some(root) = session.tip.map(|tip| self.root_of(tip)).transpose()?.flatten() else {
            return Ok(None);
        };
        let base = self.base_commit(root)?;
        Ok(base.map(|to| Link { from: root, kind: LinkKind::DerivedFrom, to, entry: None }))
    }

    /// Returns the link that a subagent lacks. One that names no entry is made only when none will: when the parent
    /// has gone on beyond the subagent's end, or is long silent.
    fn subagent_link(&self, session: &Session) -> Result<Option<Link>> {
        let (Some(parent), Some(tip), Some(started)) =
            (&session.parent_session, session.tip, session.started_at)
        else {
            return Ok(None);
        };
        let filter =
            SessionFilter { session_prefix: Some(parent.as_str().to_owned()), ..SessionFilter::default() };
        let candidates = self.store.sessions(&filter, Page { skip: 0, rows_max: 16 })?;
        let Some(parent) = candidates.iter().find(|known| known.session == *parent) else { return Ok(None) };
        let (Some(parent_tip), Some(from)) = (parent.tip, self.root_of(tip)?) else { return Ok(None) };
        let links = self.store.links(from, LINKS_MAX)?;
        let mut known = links.iter().filter(|link| link.from == from && link.kind == LinkKind::Subagent);
        let known = known.clone().find(|link| link.entry.is_some()).or_else(|| known.next());
        if known.is_some_and(|link| link.entry.is_some()) {
            return Ok(None);
        }
        let agent =
            session.session.as_str().trim_start_matches(subagent_prefix().unwrap_or_default()).to_owned();
        let (to, entry) = self.starter(parent_tip, started, &agent)?;
        let silent_since = session.last_at.map(|last| self.clock.now().as_micros() - last.as_micros());
        let is_over =
            parent.last_at > session.last_at || silent_since.is_none_or(|micros| micros > SILENT_MICROS);
        let is_wanted = entry.is_some() || (known.is_none() && is_over);
        Ok(is_wanted.then_some(Link { from, kind: LinkKind::Subagent, to, entry }))
    }

    /// Finds the commit and the entry of a parent chain that names a subagent, else the commit that was open
    /// when it started.
    fn starter(&self, tip: CommitId, started: Timestamp, agent: &str) -> Result<(CommitId, Option<EntryId>)> {
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut later = Vec::new();
        while let Some(commit) = walk.next()? {
            let is_before = commit.core.created_at < started;
            if is_before {
                break;
            }
            later.push(commit);
        }
        let open = later.last().map_or(tip, |commit| commit.id);
        for commit in later.iter().rev().take(SEARCHED_COMMITS_MAX) {
            let bytes = read_whole(self, commit.core.native_artifact())?;
            if !contains(&bytes, agent.as_bytes()) {
                continue;
            }
            let entries = Self::adapter(&commit.core.format, FormatUse::Read)?.decode(&bytes).entries;
            let named = entries.iter().find(|entry| {
                let start = usize::try_from(entry.native.offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(usize::try_from(entry.native.length).unwrap_or(0));
                let raw = bytes.get(start..end).unwrap_or_default();
                entry.answers().next().is_some() && contains(raw, agent.as_bytes())
            });
            if let Some(entry) = named {
                return Ok((commit.id, Some(entry.id.clone())));
            }
        }
        Ok((open, None))
    }

    /// Returns the root of a chain.
    pub(crate) fn root_of(&self, tip: CommitId) -> Result<Option<CommitId>> {
        let mut walk = Walk::new(self.store.as_ref(), Some(tip));
        let mut root = None;
        while let Some(commit) = walk.next()? {
            root = Some(commit.id);
        }
        Ok(root)
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && memchr::memmem::find(haystack, needle).is_some()
}
