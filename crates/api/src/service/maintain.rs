//! Maintenance: size, health, secrets, and what is deleted.

use crate::v1::{
    ChainCostsRequest, CollectRequest, Du, DuChains, Forget, ForgetRequest, Gc, PackRequest, Packing, Scan,
    ScanRequest, Scrub, ScrubRequest, UnforgetRequest, Unforgotten, Verify,
};
use crate::{Answer, Control, PlanDigest};

/// Maintenance.
///
/// What destroys is planned, shown and then applied: `plan_…` changes nothing and answers with a digest; `apply_…` takes the
/// same request and that digest, plans again, and fails with `plan_stale` before it changes anything where the two plans
/// differ. A second `apply_…` of the same plan fails so, too.
pub trait Maintain: Send + Sync {
    /// Returns how much there is, and what it takes.
    ///
    /// # Errors
    /// Only those of the store.
    fn usage(&self) -> Answer<Du>;

    /// Returns what the chains of sessions take, the one that takes most first.
    ///
    /// # Errors
    /// Only those of the store.
    fn chain_costs(&self, request: &ChainCostsRequest) -> Answer<DuChains>;

    /// Packs what waits for it. Idempotent; another process that packs makes it answer `busy`. Cancel-safe: packs that are
    /// finished stay.
    ///
    /// # Errors
    /// `no_room`, `disk_full`, `out_of_bounds`.
    fn pack(&self, request: &PackRequest, control: &Control<'_>) -> Answer<Packing>;

    /// Checks everything that is stored. Damage is no problem but part of the answer. Cancel-safe.
    ///
    /// # Errors
    /// Only those of the store.
    fn verify(&self, control: &Control<'_>) -> Answer<Verify>;

    /// Says what today's rules would find in what is stored. The answer holds no byte of a secret. Cancel-safe.
    ///
    /// # Errors
    /// `secret_rules_bad`, and those of [`find`](super::Chains::find).
    fn scan(&self, request: &ScanRequest, control: &Control<'_>) -> Answer<Scan>;

    /// Says what would be forgotten.
    ///
    /// # Errors
    /// `protected`, and those of [`find`](super::Chains::find).
    fn plan_forget(&self, request: &ForgetRequest) -> Answer<Forget>;

    /// Forgets exactly what this plan says, in one transaction.
    ///
    /// # Errors
    /// `plan_stale`, `not_cleaned`, and those of the plan.
    fn apply_forget(&self, request: &ForgetRequest, plan: &PlanDigest) -> Answer<Forget>;

    /// Removes every tombstone left by the same `forget` and returns their number. It brings no bytes back: what was forgotten
    /// may be imported again.
    ///
    /// # Errors
    /// `nothing_forgotten`.
    fn unforget(&self, request: &UnforgetRequest) -> Answer<Unforgotten>;

    /// Says what would be scrubbed.
    ///
    /// # Errors
    /// `secret_rules_bad`, and those of [`find`](super::Chains::find).
    fn plan_scrub(&self, request: &ScrubRequest, control: &Control<'_>) -> Answer<Scrub>;

    /// Scrubs exactly what this plan says. Cancel-safe up to the transaction that writes.
    ///
    /// # Errors
    /// `plan_stale`, `changed_meanwhile`, `not_cleaned`, and those of the plan.
    fn apply_scrub(&self, request: &ScrubRequest, plan: &PlanDigest, control: &Control<'_>) -> Answer<Scrub>;

    /// Says what retention has expired and what nothing references.
    ///
    /// # Errors
    /// `config_bad`.
    fn plan_collect(&self, request: &CollectRequest) -> Answer<Gc>;

    /// Deletes exactly what this plan says, then packs.
    ///
    /// # Errors
    /// `plan_stale`, and those of the plan.
    fn apply_collect(&self, request: &CollectRequest, plan: &PlanDigest, control: &Control<'_>)
    -> Answer<Gc>;
}
