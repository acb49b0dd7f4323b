//! Names in a store in memory: every look-up looks at every row.

use std::collections::BTreeMap;

use stemmata_model::{ArtifactId, ArtifactPrefix, CommitId, CommitPrefix, SessionId};
use stemmata_store::{IdPart, Link, LinkKind, Names, Session, StoreError};

use super::{MemoryStore, forget};

impl Names for MemoryStore {
    fn session_ids(&self, part: IdPart<'_>, limit: usize) -> Result<Vec<(SessionId, u64)>, StoreError> {
        let mut counts: BTreeMap<String, (SessionId, u64)> = BTreeMap::new();
        for (_, session) in self.lock().sessions.iter() {
            let id = &session.session;
            if part.is_of(id.as_str()) && !session.is_sidecar() {
                counts.entry(id.to_string()).or_insert_with(|| (id.clone(), 0)).1 += 1;
            }
        }
        Ok(counts.into_values().take(limit).collect())
    }

    fn commits_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        let state = self.lock();
        let found = state.commits.range(prefix.low..=prefix.high);
        Ok(found.map(|(id, _)| *id).take(limit).collect())
    }

    fn artifacts_in(&self, prefix: ArtifactPrefix, limit: usize) -> Result<Vec<ArtifactId>, StoreError> {
        let (low, high) = prefix.range();
        let state = self.lock();
        Ok(state.contents.range(low..=high).map(|(id, _)| *id).take(limit).collect())
    }

    fn tombstones_in(&self, prefix: CommitPrefix, limit: usize) -> Result<Vec<CommitId>, StoreError> {
        Ok(forget::tombstones_in(&self.lock(), prefix, limit))
    }

    fn sessions_of(&self, id: &SessionId, limit: usize) -> Result<Vec<Session>, StoreError> {
        let state = self.lock();
        let own = state.sessions.iter().map(|(_, session)| session).filter(|session| session.session == *id);
        let mut found: Vec<Session> = own.cloned().collect();
        found.sort_by_key(|session| std::cmp::Reverse(session.last_at));
        found.truncate(limit);
        Ok(found)
    }

    fn unused_sessions(&self, limit: usize) -> Result<Vec<Session>, StoreError> {
        let state = self.lock();
        let all = state.sessions.iter().map(|(_, session)| session);
        let unused = all.filter(|session| session.is_unused());
        Ok(unused.take(limit).cloned().collect())
    }

    fn copies(&self, limit: usize) -> Result<Vec<Link>, StoreError> {
        let state = self.lock();
        let all = state.links.iter().map(|(link, ())| link);
        let copies = all.filter(|link| link.kind == LinkKind::DerivedFrom && link.entry.is_some());
        Ok(copies.take(limit).cloned().collect())
    }

    fn tags(&self, beginning: &str, limit: usize) -> Result<Vec<(String, CommitId)>, StoreError> {
        let state = self.lock();
        let mut found: BTreeMap<String, CommitId> = BTreeMap::new();
        for (commit, tag) in state.tags().filter(|(_, tag)| tag.starts_with(beginning)) {
            found.entry(tag).or_insert(commit);
        }
        Ok(found.into_iter().take(limit).collect())
    }
}
