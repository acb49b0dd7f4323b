//! The vault of this machine: how much it holds, and its end. Never a value.

use stemmata_api::v1::{VaultPurgeRequest, VaultPurged, VaultStatus};
use stemmata_api::{Answer, PlanDigest};
use stemmata_engine::{Engine, VaultPurge};

use super::Host;
use crate::digest::{digest_of, hold};
use crate::fault::Fault;
use crate::wire;

impl Host {
    /// Says what the vault holds; none where there is no vault to speak of.
    ///
    /// # Errors
    /// Those of the vault.
    pub fn vault_status(&self) -> Answer<Option<VaultStatus>> {
        self.with_engine(|engine| Ok(engine.vault_status()?.as_ref().map(wire::secrets::vault)))
    }

    /// Says what would be removed from the vault.
    ///
    /// # Errors
    /// Those of the vault and of the store.
    pub fn plan_vault_purge(&self, request: &VaultPurgeRequest) -> Answer<VaultPurged> {
        self.with_engine(|engine| Ok(planned(engine, request)?.1))
    }

    /// Removes exactly what this plan says, for good.
    ///
    /// # Errors
    /// `plan_stale`, and those of the plan.
    pub fn apply_vault_purge(&self, request: &VaultPurgeRequest, plan: &PlanDigest) -> Answer<VaultPurged> {
        self.with_engine(|engine| {
            let (expected, shown) = planned(engine, request)?;
            hold(plan, shown.digest.as_ref())?;
            let gone = engine.vault_purge(purge(request)?, Some(expected))?;
            Ok(VaultPurged { contents: gone.contents, places: gone.places, dry_run: false, digest: None })
        })
    }
}

fn purge(request: &VaultPurgeRequest) -> Result<VaultPurge, Fault> {
    Ok(match (&request.before, request.all) {
        (Some(before), _) => VaultPurge::Before(stemmata_model::Timestamp::parse(before)?),
        (None, true) => VaultPurge::All,
        (None, false) => VaultPurge::Unstored,
    })
}

fn planned(
    engine: &Engine,
    request: &VaultPurgeRequest,
) -> Result<(stemmata_engine::VaultPurged, VaultPurged), Fault> {
    let going = engine.plan_vault_purge(purge(request)?)?;
    let mut shown =
        VaultPurged { contents: going.contents, places: going.places, dry_run: true, digest: None };
    shown.digest = Some(digest_of("vault_purge", &(request, going.which.bytes()), &shown));
    Ok((going, shown))
}
