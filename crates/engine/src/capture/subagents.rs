//! Links a subagent's chain to the commit and the entry that started it.

use stemmata_model::{CommitId, EntryId, Timestamp};
use stemmata_store::{Link, LinkKind, Page, Session, SessionFilter, Write};

use crate::capture::import::ImportReport;
use crate::chain::segments::read_whole;
use crate::chain::walk::Walk;
use crate::engine::Engine;
use crate::error::Result;

/// Commits after the one at the subagent's start that are searched for the entry that names it: a subagent's
/// result is written when it ends, which may be some turns later.
const SEARCHED_COMMITS_MAX: usize = 64;

impl Engine {
    /// Links every new subagent of an import to its parent session, where that is stored.
    pub(crate) fn link_subagents(&self, report: &ImportReport) -> Result<()> {
        let mut links = Vec::new();
        for imported in &report.sessions {
            let session = &imported.captured.session;
            if imported.captured.new_commits > 0 && session.parent_session.is_some() {
                links.extend(self.subagent_link(session)?.map(Write::Link));
            }
        }
        if !links.is_empty() {
            self.store.commit_batch(links)?;
        }
        Ok(())
    }

    fn subagent_link(&self, session: &Session) -> Result<Option<Link>> {
        let (Some(parent), Some(tip), Some(started)) =
            (&session.parent_session, session.tip, session.started_at)
        else {
            return Ok(None);
        };
        let filter = SessionFilter {
            session_prefix: Some(parent.as_str().to_owned()),
            main_only: true,
            ..SessionFilter::default()
        };
        let candidates = self.store.sessions(&filter, Page { skip: 0, rows_max: 16 })?;
        let Some(parent_tip) =
            candidates.iter().find(|known| &known.session == parent).and_then(|known| known.tip)
        else {
            return Ok(None);
        };
        let Some(from) = self.root_of(tip)? else {
            return Ok(None);
        };
        let agent = session.session.as_str().trim_start_matches("agent-").to_owned();
        let (to, entry) = self.starter(parent_tip, started, &agent)?;
        Ok(Some(Link { from, kind: LinkKind::Subagent, to, entry }))
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
            let entries = Self::adapter(&commit.core.format, "read")?.decode(&bytes).entries;
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
    !needle.is_empty() && haystack.windows(needle.len()).any(|window| window == needle)
}
