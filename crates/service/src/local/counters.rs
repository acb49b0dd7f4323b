//! What counts the tokens of a prompt or a pack, as requests name it.

use stemmata_engine::{ChosenCounter, CounterChoice, Engine};
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
