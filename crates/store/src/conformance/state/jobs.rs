//! Jobs: claimed once, tried as often as they may be, never lost.

use std::sync::Mutex;
use std::thread;

use super::{MakeState, at, job, kind};
use crate::error::StoreError;
use crate::state::{
    Claim, ClaimRequest, FINISHED_JOBS_MAX, JOB_SUBJECT_BYTES_MAX, Job, JobCost, JobEnd, JobState, JobTries,
    Jobs, LEASE_MS_MAX, NewJob, ServiceState, StateError,
};

const NONE: JobCost = JobCost::NONE;

fn request(now: i64) -> ClaimRequest {
    ClaimRequest { kinds: vec![kind("k")], holder: "p1".to_owned(), now: at(now), lease_ms: 60_000 }
}

fn claim(state: &dyn ServiceState, now: i64) -> Option<Claim> {
    state.claim_job(&request(now)).expect("a claim")
}

fn failed(error: &str) -> JobEnd {
    JobEnd::Failed { error: error.to_owned() }
}

fn states(state: &dyn Jobs) -> Vec<(String, JobState)> {
    let jobs = state.jobs(99).expect("a read");
    jobs.into_iter().map(|job| (job.made.subject, job.state)).collect()
}

pub(super) fn check_claims(make: MakeState<'_>) {
    let state = make();
    assert!(claim(&*state, 0).is_none());
    assert!(state.add_job(&NewJob { not_before: at(20), ..job("later") }).expect("added"));
    assert!(state.add_job(&NewJob { not_before: at(5), ..job("b") }).expect("added"));
    assert!(state.add_job(&NewJob { kind: kind("other"), ..job("a") }).expect("added"));
    assert!(claim(&*state, 4).is_none(), "neither its time nor its kind");
    let first = claim(&*state, 5).expect("its time has come");
    assert_eq!((first.job.made.subject.as_str(), first.job.attempts), ("b", 1));
    assert_eq!((first.job.begun_at, first.job.leased_until), (Some(at(5)), Some(at(65))));
    assert!(claim(&*state, 6).is_none(), "one holder at a time");
    let spent = JobCost { tokens: 7, micro_dollars: 1, busy_ms: 3 };
    state.beat_job(&first, spent, at(60), 60_000).expect("still its");
    assert!(claim(&*state, 119).is_some_and(|second| second.job.made.subject == "later"), "prolonged");
    let done = state.end_job(&first, &JobEnd::Done, spent, at(61)).expect("still its");
    let sum = JobCost { tokens: 14, micro_dollars: 2, busy_ms: 6 };
    assert_eq!((done.state, done.spent, done.ended_at), (JobState::Done, sum, Some(at(61))));
    let error = state.end_job(&first, &JobEnd::Done, NONE, at(62)).expect_err("it has ended");
    assert!(matches!(error, StateError::LeaseLost { .. }), "{error}");
    let expected = [("later", JobState::Running), ("a", JobState::Waiting), ("b", JobState::Done)];
    assert_eq!(states(&*state), expected.map(|(subject, state)| (subject.to_owned(), state)));
    assert_eq!(state.jobs(1).expect("a read").len(), 1);
}

pub(super) fn check_failures(make: MakeState<'_>) {
    let state = make();
    state.add_job(&job("a")).expect("added");
    let end = |now, end: &JobEnd| -> Job {
        let claim = claim(&*state, now).expect("it waits");
        state.end_job(&claim, end, NONE, at(now)).expect("ended")
    };
    let once = end(0, &failed("no disk"));
    assert_eq!((once.state, once.made.not_before), (JobState::Waiting, at(10)));
    assert_eq!(once.error.as_deref(), Some("no disk"));
    assert!(!state.add_job(&job("a")).expect("it waits"));
    assert!(claim(&*state, 9).is_none(), "who adds it does not cut its pause short");
    let put_off = end(10, &JobEnd::Later { not_before: at(15) });
    assert_eq!((put_off.state, put_off.attempts, put_off.made.not_before), (JobState::Waiting, 1, at(15)));
    assert_eq!(end(15, &failed("no disk")).made.not_before, at(35), "the pause is twice as long");
    let last = end(35, &failed("no luck"));
    assert_eq!((last.state, last.attempts, last.error.as_deref()), (JobState::Failed, 3, Some("no luck")));
    assert!(claim(&*state, 10_000).is_none());

    let budget = Some(JobCost { tokens: 10, ..NONE });
    state.add_job(&NewJob { budget, ..job("b") }).expect("added");
    let costly = claim(&*state, 40).expect("it waits");
    let spent = JobCost { tokens: 10, ..NONE };
    let ended = state.end_job(&costly, &failed("a refusal"), spent, at(41)).expect("ended");
    assert_eq!((ended.state, ended.attempts), (JobState::Failed, 1), "its budget is spent");
    assert!(ended.error.is_some_and(|error| error.contains("budget") && error.contains("a refusal")));
}

/// A process dies, or stands still for longer than its lease.
pub(super) fn check_lost_leases(make: MakeState<'_>) {
    let state = make();
    state.add_job(&NewJob { tries: JobTries { attempts_max: 2, backoff_ms: 0 }, ..job("a") }).expect("added");
    let lost = claim(&*state, 0).expect("it waits");
    assert!(claim(&*state, 59).is_none());
    let next = claim(&*state, 60).expect("the lease is over");
    assert_eq!((next.job.attempts, next.number > lost.number), (2, true));
    let refusals = [
        state.beat_job(&lost, NONE, at(61), 1).expect_err("lost"),
        state.end_job(&lost, &JobEnd::Done, NONE, at(61)).expect_err("lost"),
    ];
    assert!(refusals.iter().all(|error| matches!(error, StateError::LeaseLost { .. })), "{refusals:?}");
    assert!(claim(&*state, 120).is_none(), "it was begun as often as it may be");
    let [job] = &state.jobs(9).expect("a read")[..] else { panic!("one job") };
    assert_eq!((job.state, job.ended_at), (JobState::Failed, Some(at(120))));
    assert!(job.error.as_ref().is_some_and(|error| error.contains("ended without")), "{job:?}");

    // A clock that goes back by a day does not hold a job up for a day.
    state.add_job(&super::job("b")).expect("added");
    claim(&*state, 100_000).expect("it waits");
    assert!(claim(&*state, 13_600).is_some());
}

pub(super) fn check_added_again(make: MakeState<'_>) {
    let state = make();
    assert!(state.add_job(&NewJob { not_before: at(50), ..job("a") }).expect("added"));
    assert!(!state.add_job(&NewJob { not_before: at(30), ..job("a") }).expect("it waits"));
    assert!(!state.add_job(&NewJob { not_before: at(40), ..job("a") }).expect("it waits"));
    assert!(claim(&*state, 29).is_none());
    let running = claim(&*state, 30).expect("the earlier time counts");
    assert!(!state.add_job(&job("a")).expect("it runs"));
    let ended = state.end_job(&running, &JobEnd::Done, NONE, at(31)).expect("ended");
    assert_eq!((ended.state, ended.attempts), (JobState::Waiting, 0), "what came meanwhile is done next");
    let running = claim(&*state, 31).expect("it waits again");
    let ended = state.end_job(&running, &JobEnd::Done, NONE, at(32)).expect("ended");
    assert_eq!(ended.state, JobState::Done);
    assert!(state.add_job(&NewJob { added_at: at(40), ..job("a") }).expect("added"));
    let anew = claim(&*state, 40).expect("it begins anew");
    assert_eq!((anew.job.attempts, anew.job.made.added_at, anew.job.ended_at), (1, at(40), None));
    let error = state.end_job(&running, &JobEnd::Done, NONE, at(41)).expect_err("an older claim");
    assert!(matches!(error, StateError::LeaseLost { .. }), "{error}");
}

pub(super) fn check_bounds(make: MakeState<'_>) {
    let state = make();
    for bad in [
        job(""),
        job(&"x".repeat(JOB_SUBJECT_BYTES_MAX + 1)),
        NewJob { tries: JobTries { attempts_max: 0, backoff_ms: 0 }, ..job("a") },
    ] {
        let error = state.add_job(&bad).expect_err("out of bounds");
        assert!(
            matches!(error, StateError::Storage(StoreError::Bound { .. } | StoreError::Empty { .. })),
            "{error}"
        );
    }
    let long = ClaimRequest { lease_ms: LEASE_MS_MAX + 1, ..request(0) };
    let error = state.claim_job(&long).expect_err("too long");
    assert!(matches!(error, StateError::Storage(StoreError::Bound { .. })), "{error}");
    for number in 0..FINISHED_JOBS_MAX + 2 {
        let second = i64::try_from(number).expect("a small number");
        state.add_job(&job(&number.to_string())).expect("added");
        let claim = claim(&*state, second).expect("it waits");
        state.end_job(&claim, &JobEnd::Done, NONE, at(second)).expect("ended");
    }
    let kept = state.jobs(usize::MAX).expect("a read");
    assert_eq!(u64::try_from(kept.len()), Ok(FINISHED_JOBS_MAX));
    assert_eq!(kept.first().map(|job| job.made.subject.clone()), Some((FINISHED_JOBS_MAX + 1).to_string()));
}

/// Threads that look for work at the same time: each job is done once.
pub(super) fn check_races(make: MakeState<'_>) {
    let state = make();
    for number in 0..40 {
        state.add_job(&job(&format!("{number:02}"))).expect("added");
    }
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(claim) = claim(&*state, 0) {
                    done.lock().expect("no panic").push(claim.job.made.subject.clone());
                    state.end_job(&claim, &JobEnd::Done, NONE, at(1)).expect("its own");
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort();
    assert_eq!(done, (0..40).map(|number| format!("{number:02}")).collect::<Vec<_>>());
}
