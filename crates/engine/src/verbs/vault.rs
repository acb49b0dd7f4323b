//! `vault`: what is kept of what was replaced, and its end. What a vault is, is `crate::vault`'s.

use std::collections::HashSet;

use stemmata_model::{ArtifactId, Closure, CommitId, Timestamp};

use crate::engine::Engine;
use crate::error::Result;
use crate::vault::{Kept, Vault, VaultPurged, VaultStatus};

/// Commits that are looked up at once.
const PAGE_COMMITS: usize = 1_000;

/// What is to be removed from a vault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultPurge {
    /// Everything, the key included.
    All,
    /// What was kept before a time.
    Before(Timestamp),
    /// Values of commits that are not stored any more.
    Unstored,
}

impl Engine {
    /// Refuses where the vault could keep nothing now: another process is at it, or it does not open. Asked before anything is
    /// stored that can be stored later: what is stored without its values never gets them.
    ///
    /// # Errors
    /// `Vault` says why.
    pub fn check_vault(&self) -> Result<()> {
        Ok(self.vault.as_ref().map_or(Ok(()), |vault| vault.check_free())?)
    }

    /// Says what the vault holds, never a value; none where there is no vault to speak of.
    ///
    /// # Errors
    /// `Vault` where it does not open.
    pub fn vault_status(&self) -> Result<Option<VaultStatus>> {
        Ok(self.vault.as_ref().map(|vault| vault.status()).transpose()?)
    }

    /// Says which values would be removed, and changes nothing.
    ///
    /// # Errors
    /// As [`Engine::vault_purge`].
    pub fn plan_vault_purge(&self, purge: VaultPurge) -> Result<VaultPurged> {
        let Some(vault) = &self.vault else { return Ok(VaultPurged::default()) };
        Ok(match purge {
            // One that does not open goes as it is, and says nothing of what it holds.
            VaultPurge::All => vault.removable(&|_, _| true).unwrap_or_default(),
            VaultPurge::Before(time) => vault.removable(&|_, kept_at| kept_at < time)?,
            VaultPurge::Unstored => {
                let dead = self.unstored_in(vault)?;
                vault.removable(&|content, _| dead.contains(&content))?
            }
        })
    }

    /// Removes values, for good. Where a plan said something else, nothing goes.
    ///
    /// # Errors
    /// `Vault` where it does not open, and `PlanMoved` in it; store errors. `VaultPurge::All` works on a vault that does not
    /// open, too.
    pub fn vault_purge(&self, purge: VaultPurge, planned: Option<VaultPurged>) -> Result<VaultPurged> {
        let Some(vault) = &self.vault else { return Ok(VaultPurged::default()) };
        Ok(match purge {
            VaultPurge::All => vault.remove_all(planned)?,
            VaultPurge::Before(time) => vault.remove(&|_, kept_at| kept_at < time, planned)?,
            VaultPurge::Unstored => {
                let dead = self.unstored_in(vault)?;
                vault.remove(&|content, _| dead.contains(&content), planned)?
            }
        })
    }

    /// Removes values of what is not stored any more: after a commit was forgotten, scrubbed or collected.
    pub(crate) fn purge_unstored(&self) -> Result<VaultPurged> {
        let Some(vault) = &self.vault else { return Ok(VaultPurged::default()) };
        let dead = self.unstored_in(vault)?;
        if dead.is_empty() {
            return Ok(VaultPurged::default());
        }
        Ok(vault.remove(&|content, _| dead.contains(&content), None)?)
    }

    /// Returns the contents that values are kept of, and that are not stored any more.
    fn unstored_in(&self, vault: &Vault) -> Result<HashSet<ArtifactId>> {
        // Named first: what is kept while commits are looked up is not among them.
        let mut dead: HashSet<ArtifactId> = vault.contents()?;
        let mut after: Option<CommitId> = None;
        while !dead.is_empty() {
            let page = self.store.commits_after(after, PAGE_COMMITS)?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            for commit in page.iter().filter(|commit| commit.closure != Closure::Forgotten) {
                dead.remove(&commit.core.native_artifact());
            }
        }
        Ok(dead)
    }

    /// Keeps what was replaced in commits that are stored. Returns what to tell where it could not.
    pub(crate) fn keep(&self, kept: &[Kept]) -> Option<String> {
        let vault = self.vault.as_ref().filter(|vault| vault.keeps() && !kept.is_empty())?;
        let mut is_stored = |id: CommitId| {
            let commit = self.store.commit(id).ok().flatten();
            commit.is_some_and(|commit| commit.closure != Closure::Forgotten)
        };
        match vault.keep(kept, self.clock.now(), &mut is_stored) {
            Ok(0) => None,
            Ok(beyond) => Some(format!("{beyond} replaced values were too many or too long for the vault")),
            Err(error) => Some(format!("the redacted values were not kept: {error}")),
        }
    }

    /// Keeps for a content what is kept of another one that it begins with, so far.
    pub(crate) fn keep_beginning(
        &self,
        (commit, content): (CommitId, ArtifactId),
        of: ArtifactId,
        bytes: u64,
    ) {
        let Some(vault) = self.vault.as_ref().filter(|vault| vault.keeps()) else { return };
        // A vault that does not open says so to whoever wants something from it.
        let reader = vault.read().ok().flatten().filter(|reader| reader.knows(of));
        let Some(mut values) = reader.and_then(|mut reader| reader.values(of).ok()).map(|found| found.values)
        else {
            return;
        };
        values.retain(|value| value.offset.saturating_add(u64::from(value.instead_bytes)) <= bytes);
        let kept = Kept::of(commit, content, values.into());
        // Told where a session is placed with its secrets: how many placeholders stay.
        let _told_there = self.keep(kept.as_slice());
    }
}
