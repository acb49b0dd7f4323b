//! Statistics: what is counted, and the answer.

use stemmata_api::v1::{ModelPrice, Stats, StatsRequest, StatsRow};
use stemmata_api::{Control, Problem, Step, Unit};
use stemmata_engine::{Engine, SessionOnly, StatsQuery};

use crate::fault::Fault;
use crate::wire;

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
        prices: request.prices.iter().map(price).collect(),
    };
    let counted = engine.stats(&query, &mut |done, total| {
        control.progress.step(&Step { done, total: Some(total), unit: Unit::Files, item: None });
        !control.is_cancelled()
    })?;
    control.check().map_err(|problem: Box<Problem>| Fault(problem))?;
    Ok(Stats {
        by: request.by,
        rows: counted.rows.iter().map(row).collect(),
        total: row(&counted.total),
        notes: counted.notes.clone(),
    })
}

fn price(price: &ModelPrice) -> stemmata_engine::ModelPrice {
    stemmata_engine::ModelPrice {
        model: price.model.clone(),
        input: price.input_micros,
        output: price.output_micros,
        cache_read: price.cache_read_micros,
        cache_write: price.cache_write_micros,
    }
}

fn row(row: &stemmata_engine::StatsRow) -> StatsRow {
    StatsRow {
        key: row.key.clone(),
        sessions: row.sessions,
        unreported_sessions: row.unreported_sessions,
        active_seconds: u64::try_from(row.active_micros / 1_000_000).unwrap_or(0),
        tokens: row.tokens.map(wire::story::tokens),
        cost_micros: row.cost_micros,
    }
}
