//! What a process that lives long does in the background, as jobs of the service's state: others see it, and it is done once.
//!
//! What packing is, and when it is due, is `packing`'s.

use std::sync::Arc;

use stemmata_model::JobKind;
use stemmata_store::state::{ClaimRequest, Job, JobCost, JobEnd, JobTries, Jobs, NewJob};
use stemmata_store::{Packed, StoreError};

use super::Home;
use crate::error::Result;
use crate::packing::{KeepPacked, PackKeeper};
use crate::ports::Clock;

/// The kind of the job that packs.
const PACK: &str = "pack";

/// What it packs.
const STORE: &str = "store";

/// Attempts in a row. The next growth of the inbox begins anew, so that few are enough.
const TRIES: JobTries = JobTries { attempts_max: 3, backoff_ms: 60_000 };

/// How long nobody else packs, and a process that died holds it up. A packing that takes longer may be claimed once more: then the
/// store says that it is busy.
const LEASE_MS: u64 = 10 * 60 * 1000;

impl Home {
    /// Packs as [`Engine::keep_packed`](crate::Engine::keep_packed) does, each time as the job `pack` of `store`. `told` gets each
    /// job as it ended, nothing where another process does it or where it failed a moment ago, and why there is none.
    ///
    /// # Errors
    /// As [`Home::engine`], [`Home::state`] and `keep_packed`.
    pub fn keep_packed(
        &self,
        holder: String,
        options: KeepPacked,
        mut told: impl FnMut(Result<Option<Job>>) + Send + 'static,
    ) -> Result<PackKeeper> {
        let (state, clock) = (self.state()?, Arc::clone(&self.options.clock));
        self.engine()?.keep_packed_by(options, move |pack| {
            told(packed_as_job(state.as_ref(), clock.as_ref(), &holder, pack));
        })
    }
}

fn packed_as_job(
    jobs: &(impl Jobs + ?Sized),
    clock: &dyn Clock,
    holder: &str,
    pack: &dyn Fn() -> std::result::Result<Packed, StoreError>,
) -> Result<Option<Job>> {
    let now = clock.now();
    let kind = JobKind::new(PACK).expect("a short name");
    let (added_at, not_before, subject) = (now, now, STORE.to_owned());
    jobs.add_job(&NewJob { kind: kind.clone(), subject, added_at, not_before, tries: TRIES, budget: None })?;
    let request = ClaimRequest { kinds: vec![kind], holder: holder.to_owned(), now, lease_ms: LEASE_MS };
    let Some(claim) = jobs.claim_job(&request)? else { return Ok(None) };
    let end = match pack() {
        Ok(_) => JobEnd::Done,
        Err(error) => JobEnd::Failed { error: error.to_string() },
    };
    let ended = clock.now();
    let busy_us = ended.as_micros().saturating_sub(now.as_micros());
    let spent = JobCost { busy_ms: u64::try_from(busy_us / 1000).unwrap_or(0), ..JobCost::NONE };
    Ok(Some(jobs.end_job(&claim, &end, spent, ended)?))
}

#[cfg(test)]
mod tests {
    use stemmata_model::Timestamp;
    use stemmata_store::state::JobState;
    use stemmata_testkit::state::MemoryState;

    use super::*;

    struct Still(i64);

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_micros(self.0 * 1_000_000)
        }
    }

    const FAILS: &dyn Fn() -> std::result::Result<Packed, StoreError> =
        &|| Err(StoreError::Full { operation: "packing" });

    const PACKS: &dyn Fn() -> std::result::Result<Packed, StoreError> = &|| Ok(Packed::default());

    #[test]
    fn a_packing_is_a_job_that_is_done_once_and_tried_again_later() {
        let jobs = MemoryState::default();
        let at = |second, holder, pack| {
            let job = packed_as_job(&jobs, &Still(second), holder, pack).expect("a state that works");
            job.map(|job| (job.state, job.attempts))
        };
        assert_eq!(at(0, "one", PACKS), Some((JobState::Done, 1)));
        assert_eq!(at(1, "one", PACKS), Some((JobState::Done, 1)), "each growth is a job");
        assert_eq!(at(2, "one", FAILS), Some((JobState::Waiting, 1)));
        assert_eq!(at(3, "two", PACKS), None, "it failed a moment ago");
        let within = &|| {
            assert_eq!(at(62, "two", PACKS), None, "one does it");
            Ok(Packed::default())
        };
        assert_eq!(at(62, "one", within), Some((JobState::Waiting, 0)), "what came meanwhile is done next");
        assert_eq!(at(63, "two", PACKS), Some((JobState::Done, 1)));
        let [job] = &jobs.jobs(9).expect("a read")[..] else { panic!("one job") };
        assert_eq!((job.holder.as_deref(), job.error.as_deref()), (Some("two"), None));
    }
}
