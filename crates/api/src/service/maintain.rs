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
/// differ. A second `apply_…` of the same plan fails so, too. What destroys, and `unforget`, is in the audit log
/// ([`Registry::audit`](super::Registry::audit)): a row before, without which nothing is done, and one after.
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
    fn apply_forget(
        &self,
        request: &ForgetRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<Forget>;

    /// Removes every tombstone left by the same `forget` and returns their number. It brings no bytes back: what was forgotten
    /// may be imported again.
    ///
    /// # Errors
    /// `nothing_forgotten`.
    fn unforget(&self, request: &UnforgetRequest, control: &Control<'_>) -> Answer<Unforgotten>;

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

/// The operations of [`Maintain`], each beside its method.
#[expect(missing_docs, reason = "a row is documented at the method of its name")]
pub mod rows {
    use crate::operation::Scope::{Manage, Read};
    use crate::operation::{Apply, EmptyRequest, Op, Repeat, Row};
    use crate::v1;

    /// All of them.
    pub static ALL: &[&dyn Row] = &[
        &USAGE,
        &CHAIN_COSTS,
        &PACK,
        &VERIFY,
        &SCAN,
        &PLAN_FORGET,
        &APPLY_FORGET,
        &UNFORGET,
        &PLAN_SCRUB,
        &APPLY_SCRUB,
        &PLAN_COLLECT,
        &APPLY_COLLECT,
    ];

    pub static USAGE: Op<EmptyRequest, v1::Du> =
        Op::get("maintain.usage", "/v1/usage", Read, |s, _, _| s.usage()).shown_by(&["du"]);
    pub static CHAIN_COSTS: Op<v1::ChainCostsRequest, v1::DuChains> =
        Op::get("maintain.chain_costs", "/v1/usage/chains", Read, |s, q, _| s.chain_costs(q))
            .shown_by(&["du --chains"]);
    pub static PACK: Op<v1::PackRequest, v1::Packing> =
        Op::post("maintain.pack", "/v1/pack", Manage, Repeat::Same, |s, q, c| s.pack(q, c))
            .shown_by(&["pack"]);
    pub static VERIFY: Op<EmptyRequest, v1::Verify> =
        Op::ask("maintain.verify", "/v1/verify", Manage, |s, _, c| s.verify(c)).shown_by(&["verify"]);
    pub static SCAN: Op<v1::ScanRequest, v1::Scan> =
        Op::ask("maintain.scan", "/v1/scan", Manage, |s, q, c| s.scan(q, c)).shown_by(&["scan"]);
    pub static PLAN_FORGET: Op<v1::ForgetRequest, v1::Forget> =
        Op::ask("maintain.plan_forget", "/v1/forget/plan", Manage, |s, q, _| s.plan_forget(q));
    pub static APPLY_FORGET: Op<Apply<v1::ForgetRequest>, v1::Forget> =
        Op::apply("maintain.apply_forget", "/v1/forget", &["forget"], |s, q, c| {
            s.apply_forget(&q.request, &q.plan, c)
        });
    pub static UNFORGET: Op<v1::UnforgetRequest, v1::Unforgotten> =
        Op::post("maintain.unforget", "/v1/unforget", Manage, Repeat::Same, |s, q, c| s.unforget(q, c))
            .shown_by(&["forget --undo"]);
    pub static PLAN_SCRUB: Op<v1::ScrubRequest, v1::Scrub> =
        Op::ask("maintain.plan_scrub", "/v1/scrub/plan", Manage, |s, q, c| s.plan_scrub(q, c));
    pub static APPLY_SCRUB: Op<Apply<v1::ScrubRequest>, v1::Scrub> =
        Op::apply("maintain.apply_scrub", "/v1/scrub", &["scrub"], |s, q, c| {
            s.apply_scrub(&q.request, &q.plan, c)
        });
    pub static PLAN_COLLECT: Op<v1::CollectRequest, v1::Gc> =
        Op::ask("maintain.plan_collect", "/v1/collect/plan", Manage, |s, q, _| s.plan_collect(q));
    pub static APPLY_COLLECT: Op<Apply<v1::CollectRequest>, v1::Gc> =
        Op::apply("maintain.apply_collect", "/v1/collect", &["gc"], |s, q, c| {
            s.apply_collect(&q.request, &q.plan, c)
        });
}
