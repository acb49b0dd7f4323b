//! The facet `Search` over a store of this machine.

use std::ops::ControlFlow;

use stemmata_api::v1::{
    EntriesRequest, EntryPage, HITS_DEFAULT, HITS_MAX, IndexBuilt, IndexStatus, SearchHits, SearchRequest,
};
use stemmata_api::{Answer, Code, Control, Problem, Search, Step, Unit};
use stemmata_engine::StepUnit;

use super::Local;
use crate::wire;

impl Search for Local {
    fn search(&self, request: &SearchRequest, control: &Control<'_>) -> Answer<SearchHits> {
        control.check()?;
        let hits = self.with(|engine| {
            let limit = request.limit.unwrap_or(HITS_DEFAULT).min(HITS_MAX);
            let query = wire::search::query(request, limit)?;
            let found = engine.search(&query, &mut |unit, done, total| {
                let unit = match unit {
                    StepUnit::Bytes => Unit::Bytes,
                    StepUnit::Commits => Unit::Commits,
                };
                control.progress.step(&Step { done, total, unit, item: None });
                if control.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok(wire::search::hits(&found))
        })?;
        control.check()?;
        Ok(hits)
    }

    fn entries(&self, _: &EntriesRequest) -> Answer<EntryPage> {
        Err(not_supported("entries around one cannot be read yet"))
    }

    fn index_status(&self) -> Answer<IndexStatus> {
        Err(not_supported("there is no index yet"))
    }

    fn rebuild_index(&self, _: &Control<'_>) -> Answer<IndexBuilt> {
        Err(not_supported("there is no index yet"))
    }
}

fn not_supported(detail: &str) -> Box<Problem> {
    Box::new(Problem::new(Code::NotSupported, detail))
}
