//! The facet `Search` over a store of this machine.

use std::ops::ControlFlow;
use std::time::Instant;

use stemmata_api::v1::{
    EntriesRequest, EntryPage, HITS_DEFAULT, HITS_MAX, IndexBuilt, IndexStatus, SearchHits, SearchRequest,
};
use stemmata_api::{Answer, Control, Search, Step, Unit};
use stemmata_engine::{SettleBudget, StepUnit};

use super::{Local, around};
use crate::fault::Fault;
use crate::wire;

impl Search for Local {
    fn search(&self, request: &SearchRequest, control: &Control<'_>) -> Answer<SearchHits> {
        control.check()?;
        let hits = self.with(|engine| {
            let limit = match request.limit {
                None => HITS_DEFAULT,
                Some(0) => HITS_MAX,
                Some(limit) => limit.min(HITS_MAX),
            };
            let mut query = wire::search::query(request, limit);
            if let Some(client) = &mut query.filter.client {
                *client = engine.client_named(client)?;
            }
            for project in &request.filter.project {
                let scope = engine.project_scope(project)?;
                query.filter.projects = Some(match query.filter.projects.take() {
                    Some(known) => known.and(scope),
                    None => scope,
                });
            }
            let found =
                engine.search(&query, &mut |unit, done, total| heard(control, unit, (done, total)))?;
            let mut hits = wire::search::hits(&found);
            let wants_more = request.limit.is_some_and(|limit| limit == 0 || limit > HITS_MAX);
            if wants_more && hits.hits.len() as u64 >= HITS_MAX {
                hits.notes.push(wire::search::cut(HITS_MAX));
            }
            Ok(hits)
        })?;
        control.check()?;
        Ok(hits)
    }

    fn entries(&self, request: &EntriesRequest) -> Answer<EntryPage> {
        self.with(|engine| around::entries(engine, request))
    }

    fn index_status(&self) -> Answer<IndexStatus> {
        self.with(|engine| Ok(engine.index_report()?))
    }

    fn settle_index(&self, control: &Control<'_>) -> Answer<IndexStatus> {
        control.check()?;
        let status = self.with(|engine| {
            let behind = engine.index_report()?.behind_commits;
            let settled = engine.settle_index(SettleBudget::All, &mut |unit, done, _| {
                heard(control, unit, (done, Some(behind).filter(|behind| *behind >= done)))
            })?;
            let notes = settled.trouble.iter().map(wire::search::trouble).collect();
            Ok(IndexStatus { notes, ..engine.index_report()? })
        })?;
        control.check()?;
        Ok(status)
    }

    fn rebuild_index(&self, control: &Control<'_>) -> Answer<IndexBuilt> {
        control.check()?;
        let began = Instant::now();
        let built = self.with(|engine| {
            let settled =
                engine.rebuild_index(&mut |unit, done, total| heard(control, unit, (done, total)))?;
            control.check()?;
            if let Some(trouble) = &settled.trouble {
                return Err(Fault::from(wire::search::not_built(trouble)));
            }
            let report = engine.index_report()?;
            let elapsed_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            Ok(IndexBuilt { entries: report.entries, bytes: report.bytes, elapsed_ms })
        })?;
        Ok(built)
    }
}

/// Tells how far a search is, and says whether it goes on.
fn heard(control: &Control<'_>, unit: StepUnit, (done, total): (u64, Option<u64>)) -> ControlFlow<()> {
    let unit = match unit {
        StepUnit::Bytes => Unit::Bytes,
        StepUnit::Commits => Unit::Commits,
    };
    // A search that only asks whether to go on has done nothing of this unit.
    if done > 0 {
        control.progress.step(&Step { done, total, unit, item: None });
    }
    if control.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
