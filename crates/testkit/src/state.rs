//! A service's state in memory: a plain model of the traits, which shows that they can be kept elsewhere.
//!
//! Nothing is durable. Each call takes one lock.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use stemmata_model::{CommitId, JobKind, PointerKey, Principal, Timestamp, TokenId};
use stemmata_store::rules::audit::{Kept, check_entry, cut, cut_entry, cut_from};
use stemmata_store::rules::jobs::{
    JobRow, added, beaten, check_job, check_lease, claimed, ended, is_claimable, is_held,
};
use stemmata_store::rules::tokens::{check_token, is_in_force, is_void, used};
use stemmata_store::state::{
    AUDIT_PAGE_MAX, Audit, AuditCut, AuditEntry, AuditQuery, AuditRetention, Claim, ClaimRequest, Expected,
    FINISHED_JOBS_MAX, GRANTS_MAX, Grant, Grants, Job, JobCost, JobEnd, JobState, Jobs, NewAuditEntry,
    NewJob, NewPointer, NewToken, OPEN_JOBS_MAX, POINTERS_MAX, Pointer, PointerQuery, Pointers,
    STATE_PAGE_MAX, StateError, TOKENS_MAX, Token, TokenHash, Tokens,
};

/// A [`ServiceState`](stemmata_store::state::ServiceState) in memory.
#[derive(Debug, Default)]
pub struct MemoryState(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    tokens: BTreeMap<TokenId, Token>,
    /// By reader and owner.
    grants: BTreeMap<(Principal, Principal), Grant>,
    jobs: BTreeMap<(JobKind, String), JobRow>,
    claims: u64,
    pointers: BTreeMap<PointerKey, Pointer>,
    audit: BTreeMap<u64, NewAuditEntry>,
}

impl MemoryState {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn room(what: &'static str, rows: usize, bound: u64) -> Result<(), StateError> {
    if (rows as u64) < bound { Ok(()) } else { Err(StateError::TooMany { what, bound }) }
}

impl Tokens for MemoryState {
    fn add_token(&self, token: &NewToken) -> Result<(), StateError> {
        check_token(token)?;
        let mut state = self.lock();
        room("tokens", state.tokens.len(), TOKENS_MAX)?;
        if state.tokens.values().any(|known| known.made.id == token.id || known.made.hash == token.hash) {
            return Err(StateError::TokenTaken(token.id.clone()));
        }
        let kept = Token { made: token.clone(), used_at: None, revoked_at: None };
        state.tokens.insert(token.id.clone(), kept);
        Ok(())
    }

    fn token(&self, hash: &TokenHash) -> Result<Option<Token>, StateError> {
        Ok(self.lock().tokens.values().find(|token| token.made.hash == *hash).cloned())
    }

    fn use_token(&self, hash: &TokenHash, now: Timestamp) -> Result<Option<Token>, StateError> {
        let mut state = self.lock();
        let Some(known) = state.tokens.values_mut().find(|token| token.made.hash == *hash) else {
            return Ok(None);
        };
        let Some((token, _)) = used(known.clone(), now) else { return Ok(None) };
        known.clone_from(&token);
        Ok(Some(token))
    }

    fn tokens(&self, after: Option<&TokenId>, rows_max: usize) -> Result<Vec<Token>, StateError> {
        let state = self.lock();
        let tokens = state.tokens.iter().filter(|(id, _)| after.is_none_or(|after| *id > after));
        Ok(tokens.map(|(_, token)| token.clone()).take(rows_max.min(STATE_PAGE_MAX)).collect())
    }

    fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<bool, StateError> {
        let mut state = self.lock();
        let token = state.tokens.get_mut(id).filter(|token| token.revoked_at.is_none());
        Ok(token.map(|token| token.revoked_at = Some(now)).is_some())
    }

    fn valid_tokens(&self, now: Timestamp) -> Result<u64, StateError> {
        Ok(self.lock().tokens.values().filter(|token| !is_void(token, now)).count() as u64)
    }
}

impl Grants for MemoryState {
    fn grant(&self, grant: &Grant) -> Result<(), StateError> {
        let mut state = self.lock();
        let key = (grant.reader.clone(), grant.whose.clone());
        if !state.grants.contains_key(&key) {
            room("grants", state.grants.len(), GRANTS_MAX)?;
        }
        state.grants.insert(key, grant.clone());
        Ok(())
    }

    fn ungrant(&self, whose: &Principal, reader: &Principal) -> Result<bool, StateError> {
        Ok(self.lock().grants.remove(&(reader.clone(), whose.clone())).is_some())
    }

    fn may_read(&self, reader: &Principal, whose: &Principal, now: Timestamp) -> Result<bool, StateError> {
        let state = self.lock();
        let grant = state.grants.get(&(reader.clone(), whose.clone()));
        Ok(grant.is_some_and(|grant| is_in_force(grant, now)))
    }

    fn grants(
        &self,
        after: Option<(&Principal, &Principal)>,
        rows_max: usize,
    ) -> Result<Vec<Grant>, StateError> {
        let state = self.lock();
        let is_after =
            |(reader, whose): &(Principal, Principal)| after.is_none_or(|after| (reader, whose) > after);
        let grants = state.grants.iter().filter(|(key, _)| is_after(key));
        Ok(grants.map(|(_, grant)| grant.clone()).take(rows_max.min(STATE_PAGE_MAX)).collect())
    }
}

impl Pointers for MemoryState {
    fn pointer(&self, key: &PointerKey) -> Result<Option<Pointer>, StateError> {
        Ok(self.lock().pointers.get(key).cloned())
    }

    fn set_pointer(&self, new: &NewPointer) -> Result<Option<CommitId>, StateError> {
        let mut state = self.lock();
        let key = &new.pointer.key;
        let before = state.held(key, new.expected)?;
        if before.is_none() {
            room("pointers", state.pointers.len(), POINTERS_MAX)?;
        }
        state.pointers.insert(key.clone(), new.pointer.clone());
        Ok(before)
    }

    fn delete_pointer(&self, key: &PointerKey, expected: Expected) -> Result<Option<Pointer>, StateError> {
        let mut state = self.lock();
        state.held(key, expected)?;
        Ok(state.pointers.remove(key))
    }

    fn pointers(&self, query: &PointerQuery) -> Result<Vec<Pointer>, StateError> {
        let state = self.lock();
        let is_asked = |key: &PointerKey| {
            key.as_str().starts_with(&query.prefix) && query.after.as_ref().is_none_or(|after| key > after)
        };
        let found = state.pointers.iter().filter(|(key, _)| is_asked(key));
        Ok(found.map(|(_, pointer)| pointer.clone()).take(query.rows_max.min(STATE_PAGE_MAX)).collect())
    }
}

impl State {
    fn held(&self, key: &PointerKey, expected: Expected) -> Result<Option<CommitId>, StateError> {
        let found = self.pointers.get(key).map(|pointer| pointer.commit);
        if expected.holds(found) {
            return Ok(found);
        }
        Err(StateError::PointerMoved { key: key.clone(), found })
    }

    fn held_job(&mut self, claim: &Claim) -> Result<&mut JobRow, StateError> {
        let NewJob { kind, subject, .. } = &claim.job.made;
        let row = self.jobs.get_mut(&(kind.clone(), subject.clone()));
        let row = row.filter(|row| is_held(row, claim.number));
        row.ok_or_else(|| StateError::LeaseLost { kind: kind.clone(), subject: subject.clone() })
    }

    fn listed_jobs(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.jobs.values().map(|row| row.job.clone()).collect();
        jobs.sort_by_key(|job| {
            let ended = job.ended_at.map_or(0, |at| -at.as_micros());
            match job.state {
                JobState::Running => (0, job.made.not_before.as_micros()),
                JobState::Waiting => (1, job.made.not_before.as_micros()),
                JobState::Done | JobState::Failed => (2, ended),
            }
        });
        jobs
    }

    fn add_entry(&mut self, entry: NewAuditEntry) -> u64 {
        let number = self.audit.last_key_value().map_or(0, |(number, _)| *number) + 1;
        self.audit.insert(number, entry);
        number
    }

    fn retain(&mut self, keep: AuditRetention, now: Timestamp) -> Option<AuditCut> {
        let (first, oldest) = self.audit.first_key_value()?;
        let last = *self.audit.last_key_value()?.0;
        let kept = Kept { first: *first, last, oldest_at: oldest.at };
        let from = cut_from(kept, keep, now)?;
        let young = self.audit.iter().find(|(_, entry)| entry.at >= from).map(|(number, _)| *number);
        let cut = cut(kept, young, keep)?;
        self.add_entry(cut_entry(cut, now));
        self.audit = self.audit.split_off(&(cut.through + 1));
        Some(cut)
    }
}

impl Jobs for MemoryState {
    fn add_job(&self, job: &NewJob) -> Result<bool, StateError> {
        check_job(job)?;
        let mut state = self.lock();
        let key = (job.kind.clone(), job.subject.clone());
        let (row, is_new) = added(state.jobs.get(&key).cloned(), job);
        if is_new {
            let is_open = |row: &&JobRow| matches!(row.job.state, JobState::Waiting | JobState::Running);
            room("jobs", state.jobs.values().filter(is_open).count(), OPEN_JOBS_MAX)?;
        }
        state.jobs.insert(key, row);
        Ok(is_new)
    }

    fn claim_job(&self, request: &ClaimRequest) -> Result<Option<Claim>, StateError> {
        check_lease(request.lease_ms)?;
        let mut state = self.lock();
        loop {
            let number = state.claims + 1;
            let free = state.jobs.values_mut().filter(|row| {
                request.kinds.contains(&row.job.made.kind) && is_claimable(&row.job, request.now)
            });
            let Some(row) = free.min_by_key(|row| row.job.made.not_before) else { return Ok(None) };
            *row = claimed(row.clone(), request, number);
            let claim = Claim { job: row.job.clone(), number };
            let is_its = is_held(row, number);
            state.claims = number;
            if is_its {
                return Ok(Some(claim));
            }
        }
    }

    fn beat_job(
        &self,
        claim: &Claim,
        spent: JobCost,
        now: Timestamp,
        lease_ms: u64,
    ) -> Result<(), StateError> {
        check_lease(lease_ms)?;
        let mut state = self.lock();
        let row = state.held_job(claim)?;
        *row = beaten(row.clone(), spent, now, lease_ms);
        Ok(())
    }

    fn end_job(
        &self,
        claim: &Claim,
        end: &JobEnd,
        spent: JobCost,
        now: Timestamp,
    ) -> Result<Job, StateError> {
        let mut state = self.lock();
        let row = state.held_job(claim)?;
        *row = ended(row.clone(), end, spent, now);
        let job = row.job.clone();
        let finished = state.listed_jobs().into_iter().filter(|job| job.ended_at.is_some());
        let finished = finished.filter(|job| matches!(job.state, JobState::Done | JobState::Failed));
        let spared = usize::try_from(FINISHED_JOBS_MAX).unwrap_or(usize::MAX);
        for old in finished.skip(spared) {
            state.jobs.remove(&(old.made.kind, old.made.subject));
        }
        Ok(job)
    }

    fn jobs(&self, rows_max: usize) -> Result<Vec<Job>, StateError> {
        Ok(self.lock().listed_jobs().into_iter().take(rows_max.min(STATE_PAGE_MAX)).collect())
    }
}

impl Audit for MemoryState {
    fn record(&self, entry: &NewAuditEntry) -> Result<u64, StateError> {
        check_entry(entry)?;
        let mut state = self.lock();
        state.retain(AuditRetention::DEFAULT, entry.at);
        Ok(state.add_entry(entry.clone()))
    }

    fn audit(&self, query: &AuditQuery) -> Result<Vec<AuditEntry>, StateError> {
        let state = self.lock();
        let rows = state.audit.range(..query.before.unwrap_or(u64::MAX)).rev();
        let is_asked = |entry: &NewAuditEntry| {
            query.principal.as_ref().is_none_or(|principal| *principal == entry.principal)
                && query.operation.as_ref().is_none_or(|operation| *operation == entry.operation)
        };
        let rows = rows.filter(|(_, entry)| is_asked(entry));
        let rows = rows.map(|(number, entry)| AuditEntry { number: *number, entry: entry.clone() });
        Ok(rows.take(query.rows_max.min(AUDIT_PAGE_MAX)).collect())
    }

    fn retain_audit(&self, keep: AuditRetention, now: Timestamp) -> Result<Option<AuditCut>, StateError> {
        Ok(self.lock().retain(keep, now))
    }
}
