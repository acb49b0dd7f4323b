//! The facet `Maintain` over a store of this machine.

use std::path::Path;

use stemmata_api::v1::{
    ChainCostsRequest, CollectRequest, Du, DuChains, Forget, ForgetRequest, Found, Gc, PackRequest, Packing,
    Scan, ScanRequest, Scrub, ScrubRequest, UnforgetRequest, Unforgotten, Verify,
};
use stemmata_api::{Answer, Control, Maintain, PAGE_ITEMS_MAX, PlanDigest};
use stemmata_engine::{
    CollectOptions, CollectPlan, Engine, ForgetOptions, ForgetPlan, ForgetTarget, ScanPlace, ScanTarget,
    ScrubPlan, ScrubTarget,
};
use stemmata_model::{CommitId, plural, to_u64};
use stemmata_store::{Damage, PackOptions, SessionFilter};

use super::{Local, bad_request};
use crate::digest::{digest_of, hold};
use crate::fault::Fault;
use crate::wire;

/// Damages that are kept for the report; one more than that says the same.
const DAMAGES_MAX: usize = 10_000;

/// Findings of one scan at most.
const FINDINGS_MAX: u64 = 1_000_000;

impl Maintain for Local {
    fn usage(&self) -> Answer<Du> {
        self.with(|engine| Ok(wire::maintain::usage(engine.store().usage()?, engine.index_bytes())))
    }

    fn chain_costs(&self, request: &ChainCostsRequest) -> Answer<DuChains> {
        self.with(|engine| {
            let filter = SessionFilter { project: request.project.clone(), ..SessionFilter::default() };
            let mut costs = engine.store_costs(&filter)?;
            if let Some(limit) = request.limit {
                costs.chains.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            Ok(costs)
        })
    }

    fn pack(&self, request: &PackRequest, control: &Control<'_>) -> Answer<Packing> {
        control.check()?;
        self.with(|engine| {
            let level = request.level.map(i32::try_from).transpose();
            let level = level.map_err(|_| bad_request("level", "no level is so high"))?;
            let before = engine.store().usage()?.physical_bytes;
            let options = PackOptions { level, ..PackOptions::new(self.now()) };
            let packed = engine.pack(&options)?;
            Ok(wire::maintain::packed(&packed, before, engine.store().usage()?.physical_bytes))
        })
    }

    fn verify(&self, control: &Control<'_>) -> Answer<Verify> {
        control.check()?;
        self.with(|engine| {
            let (mut damages, mut unlisted): (Vec<Damage>, u64) = (Vec::new(), 0);
            let looked = engine.store().verify(&mut |damage| {
                if damages.len() < DAMAGES_MAX { damages.push(damage) } else { unlisted += 1 }
            })?;
            // Of a damaged store nobody may be able to say.
            let sidecar_commits = engine.store().usage().map_or(0, |usage| usage.sidecar_commits);
            Ok(Verify { sidecar_commits, ..wire::maintain::verified(&looked, &damages, unlisted) })
        })
    }

    fn scan(&self, request: &ScanRequest, control: &Control<'_>) -> Answer<Scan> {
        control.check()?;
        self.with(|engine| {
            let (target, meant) = match &request.reference {
                Some(reference) => {
                    let (target, meant) = named(engine, reference, request.path.as_deref())?;
                    (ScanTarget::Of(target), meant)
                }
                None => (ScanTarget::All(place(request.after.as_deref())?), None),
            };
            let limit = match request.limit {
                None => PAGE_ITEMS_MAX,
                Some(0) => FINDINGS_MAX,
                Some(limit) => limit.min(FINDINGS_MAX),
            };
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let mut findings = Vec::new();
            let scanned = engine.scan(&target, &mut |found| {
                findings.push(wire::secrets::finding(&found));
                findings.len() < limit && !control.is_cancelled()
            })?;
            control.check()?;
            let is_cut = findings.len() >= limit;
            let next = scanned.last.as_ref().filter(|_| is_cut && request.reference.is_none());
            Ok(Scan {
                meant,
                commits: scanned.commits,
                events: scanned.events,
                bytes: scanned.bytes,
                holes: scanned.holes,
                next: next.map(ToString::to_string),
                complete: scanned.unread.is_empty() && !is_cut,
                unread: scanned.unread,
                findings,
            })
        })
    }

    fn plan_forget(&self, request: &ForgetRequest) -> Answer<Forget> {
        self.with(|engine| {
            Ok(Forget { stores_left: self.stores_left(), ..self.forgetting(engine, request)?.1 })
        })
    }

    fn apply_forget(
        &self,
        request: &ForgetRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<Forget> {
        self.with(|engine| {
            // First, so that nothing is stored between the plan and what is done.
            let _alone = self.alone()?;
            let (planned, shown) = self.forgetting(engine, request)?;
            hold(plan, shown.digest.as_ref())?;
            let deed = self.deed("maintain.apply_forget", forgotten_target(request, &shown), control);
            let act = || Ok(engine.apply_forget(planned)?);
            let done = self.audited(deed, act, |done| {
                let commits = done.forgotten.removed.len() + done.forgotten.cut.len();
                format!("{}, {}", plural(to_u64(commits), "commit"), plural(done.forgotten.events, "event"))
            })?;
            let done = wire::keep::forget(&done, shown.meant, (false, &is_there));
            Ok(Forget { stores_left: self.stores_left(), ..done })
        })
    }

    fn unforget(&self, request: &UnforgetRequest, control: &Control<'_>) -> Answer<Unforgotten> {
        self.with(|engine| {
            let deed = self.deed("maintain.unforget", lifted_target(&request.reference), control);
            let act = || Ok(engine.unforget(&request.reference)?);
            let lifted = self.audited(deed, act, |lifted| plural(*lifted, "tombstone"))?;
            Ok(Unforgotten { lifted })
        })
    }

    fn plan_scrub(&self, request: &ScrubRequest, control: &Control<'_>) -> Answer<Scrub> {
        control.check()?;
        self.with(|engine| Ok(Scrub { stores_left: self.stores_left(), ..scrubbing(engine, request)?.1 }))
    }

    fn apply_scrub(&self, request: &ScrubRequest, plan: &PlanDigest, control: &Control<'_>) -> Answer<Scrub> {
        control.check()?;
        self.with(|engine| {
            let _alone = self.alone()?;
            let (planned, Scrub { meant, digest, .. }) = scrubbing(engine, request)?;
            hold(plan, digest.as_ref())?;
            control.check()?;
            let target =
                meant.as_ref().map_or_else(|| scrubbed_target(request), |meant| meant.ctx.to_string());
            let deed = self.deed("maintain.apply_scrub", target, control);
            let act = || Ok(engine.apply_scrub(planned, self.by())?);
            let done = self.audited(deed, act, |done| {
                format!("{}, {}", plural(done.rewritten, "commit"), plural(done.events_forgotten, "event"))
            })?;
            let done = wire::secrets::scrub(&done, meant, false);
            Ok(Scrub { stores_left: self.stores_left(), ..done })
        })
    }

    fn plan_collect(&self, request: &CollectRequest) -> Answer<Gc> {
        self.with(|engine| {
            // What waits to be packed is no part of the digest: more may come to it at any time, and packing harms nothing.
            let inbox_bytes = engine.store().usage()?.inbox_bytes;
            Ok(Gc { inbox_bytes, ..self.collecting(engine, request)?.1 })
        })
    }

    fn apply_collect(
        &self,
        request: &CollectRequest,
        plan: &PlanDigest,
        control: &Control<'_>,
    ) -> Answer<Gc> {
        control.check()?;
        self.with(|engine| {
            let (planned, Gc { digest, .. }) = self.collecting(engine, request)?;
            hold(plan, digest.as_ref())?;
            let retired = plural(to_u64(planned.report.retired.len()), "session");
            let deed =
                self.deed("maintain.apply_collect", format!("{retired} that retention expires"), control);
            let act = || Ok(engine.apply_collect(planned)?);
            let done = self.audited(deed, act, |done| {
                format!("{} deleted", plural(done.collected.deleted.commits, "commit"))
            })?;
            let packed = engine.pack(&PackOptions::new(self.now()))?;
            Ok(wire::keep::collected(&done, Some(&packed), self.grace_days(request)?))
        })
    }
}

/// Names what is forgotten by ids of commits, which are hashes: of names that are forgotten the store keeps hashes only, and a log that
/// had them would give them away.
fn forgotten_target(request: &ForgetRequest, shown: &Forget) -> String {
    let going = shown.removed.iter().chain(&shown.cut).next();
    match (&request.project, &shown.meant, going) {
        (Some(_), ..) => format!("a project with {}", plural(to_u64(shown.sessions.len()), "session")),
        (None, Some(meant), _) => meant.ctx.to_string(),
        (None, None, Some(going)) => format!("session with {going}"),
        (None, None, None) => "session".to_owned(),
    }
}

/// Names what is allowed again: a commit, and of anything else nothing, as above.
fn lifted_target(reference: &str) -> String {
    let commit = reference.parse::<CommitId>();
    commit.map_or_else(|_| "a forgotten session".to_owned(), |commit| commit.to_string())
}

/// Names what is scrubbed where it is no commit: a session by no name, since it may be forgotten later.
fn scrubbed_target(request: &ScrubRequest) -> String {
    if request.reference.is_some() { "a session" } else { "everything" }.to_owned()
}

/// Returns whether a client still has a transcript. A session in a database is named by a path below it.
fn is_there(path: &str) -> bool {
    Path::new(path).ancestors().take(2).any(Path::is_file)
}

impl Local {
    /// Returns the stores beside this one, which hold what is forgotten here: as their folders are called, for people.
    pub(super) fn stores_left(&self) -> Vec<String> {
        self.home.stores_aside().iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    fn forgetting(&self, engine: &Engine, request: &ForgetRequest) -> Result<(ForgetPlan, Forget), Fault> {
        let (target, meant) = match (&request.reference, &request.project) {
            (Some(reference), None) => named(engine, reference, request.path.as_deref())?,
            (None, Some(project)) => (ForgetTarget::Project(project.clone()), None),
            _ => return Err(bad_request("reference", "either it or `project` is needed")),
        };
        let options = ForgetOptions {
            everywhere: request.everywhere,
            even_pinned: request.even_pinned,
            by: self.by().clone(),
        };
        let plan = engine.plan_forget(&target, &options)?;
        let mut shown = wire::keep::forget(&plan.report, meant, (true, &is_there));
        shown.digest = Some(digest_of("forget", request, &shown));
        Ok((plan, shown))
    }

    fn collecting(&self, engine: &Engine, request: &CollectRequest) -> Result<(CollectPlan, Gc), Fault> {
        let grace_days = self.grace_days(request)?;
        let rules = self.home.options().settings.retention.clone();
        let plan = engine.plan_collect(&CollectOptions { rules, grace_days })?;
        let mut shown = wire::keep::collected(&plan.report, None, grace_days);
        shown.digest = Some(digest_of("collect", &(request, plan.report.collected.which.bytes()), &shown));
        Ok((plan, shown))
    }

    fn grace_days(&self, request: &CollectRequest) -> Result<u32, Fault> {
        let asked = request.grace_days.map(u32::try_from).transpose();
        let asked = asked.map_err(|_| bad_request("grace_days", "the grace is too long"))?;
        Ok(asked.unwrap_or(self.home.options().settings.grace_days))
    }
}

fn scrubbing(engine: &Engine, request: &ScrubRequest) -> Result<(ScrubPlan, Scrub), Fault> {
    let (target, meant) = match (&request.reference, request.all) {
        (None, true) => (ScrubTarget::All, None),
        (Some(reference), false) => match named(engine, reference, request.path.as_deref())? {
            (ForgetTarget::Session(key), meant) => (ScrubTarget::Session(key), meant),
            (ForgetTarget::Commit(id), meant) => (ScrubTarget::Commit(id), meant),
            (ForgetTarget::Project(_), _) => return Err(bad_request("reference", "it names a directory")),
        },
        _ => return Err(bad_request("reference", "either it or `all` is needed")),
    };
    let plan = engine.plan_scrub(&target)?;
    let mut shown = wire::secrets::scrub(&plan.report, meant, true);
    shown.digest = Some(digest_of("scrub", request, &shown));
    Ok((plan, shown))
}

/// Returns what a name means, and the commit where it means one.
fn named(
    engine: &Engine,
    reference: &str,
    path: Option<&str>,
) -> Result<(ForgetTarget, Option<Found>), Fault> {
    let target = engine.target_of(reference, path)?;
    let ForgetTarget::Commit(id) = &target else { return Ok((target, None)) };
    let redirected_from = super::redirected_from(engine, reference, *id)?;
    let meant = Found { ctx: *id, session_id: None, prompt: None, range: None, cut: None, redirected_from };
    Ok((target, Some(meant)))
}

fn place(after: Option<&str>) -> Result<Option<ScanPlace>, Fault> {
    after.map(str::parse).transpose().map_err(|reason: String| bad_request("after", reason))
}
