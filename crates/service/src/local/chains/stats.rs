//! Statistics: what is counted, and the answer.

use stemmata_api::v1::{Stats, StatsRequest};
use stemmata_api::{Control, Problem, Step, Unit};
use stemmata_engine::{Engine, SessionOnly, StatsQuery};

use crate::fault::Fault;

pub(super) fn stats(engine: &Engine, request: &StatsRequest, control: &Control<'_>) -> Result<Stats, Fault> {
    let query = StatsQuery {
        by: request.by,
        only: SessionOnly {
            client: request.client.as_deref().map(|name| engine.client_named(name)).transpose()?,
            since: request.since,
            until: request.until,
            projects: request.project.as_deref().map(|name| engine.project_scope(name)).transpose()?,
            ..SessionOnly::default()
        },
        utc_offset_minutes: request.utc_offset_minutes,
        prices: request.prices.clone(),
    };
    let counted = engine.stats(&query, &mut |done, total| {
        control.progress.step(&Step { done, total: Some(total), unit: Unit::Files, item: None });
        !control.is_cancelled()
    })?;
    control.check().map_err(|problem: Box<Problem>| Fault(problem))?;
    Ok(counted)
}
