//! What counts the tokens of a prompt or a pack, as requests name it.

use stemmata_api::v1::Note;
use stemmata_engine::{ChosenCounter, CounterChoice, Engine, EngineError};
use stemmata_model::CounterSpec;

use super::bad_request;
use crate::fault::Fault;

/// Returns the counter that is named; else the best that is known for the model; else the estimate.
pub(super) fn counter(
    engine: &Engine,
    counter: Option<&str>,
    model: Option<&str>,
) -> Result<ChosenCounter, Fault> {
    let choice = match counter {
        Some(counter) => {
            let spec = counter.parse::<CounterSpec>();
            CounterChoice::Exactly(spec.map_err(|error| bad_request("counter", error))?)
        }
        None => CounterChoice::Auto { model: model.map(str::to_owned) },
    };
    Ok(engine.counter(&choice)?)
}

/// Returns the counter as [`counter`] does. A model of which nothing is known is no reason to count nothing: then the estimate
/// counts, and a note says so.
pub(super) fn counter_or_estimate(
    engine: &Engine,
    named: Option<&str>,
    model: Option<&str>,
) -> Result<(ChosenCounter, Option<Note>), Fault> {
    let choice = CounterChoice::Auto { model: model.map(str::to_owned) };
    if named.is_none()
        && let Err(error @ EngineError::ModelUnknown { .. }) = engine.counter(&choice)
    {
        let message = format!("{error}: four characters are counted as a token");
        let note = Note::new("model_unknown", message);
        return Ok((counter(engine, None, None)?, Some(note)));
    }
    Ok((counter(engine, named, model)?, None))
}
