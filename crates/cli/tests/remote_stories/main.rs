//! The stories of the service, told to one behind a socket: what it answers is what it answers in this process.

mod answers;
mod bounds;
#[path = "../../../service/tests/stories/chains.rs"]
mod chains;
mod client;
mod door;
#[path = "../../../service/tests/stories/give_back.rs"]
mod give_back;
#[path = "../../../service/tests/stories/given.rs"]
mod given;
#[path = "../../../service/tests/stories/maintain.rs"]
mod maintain;
mod pressure;
#[path = "../../../service/tests/stories/prompts.rs"]
mod prompts;
#[path = "../../../service/tests/stories/provider.rs"]
mod provider;
#[path = "../../../service/tests/stories/refused.rs"]
mod refused;
#[path = "../../../service/tests/stories/registry.rs"]
mod registry;
#[path = "../../../service/tests/stories/rows.rs"]
mod rows;
#[path = "../../../service/tests/stories/stage.rs"]
mod stage;
#[path = "../../../service/tests/stories/tests.rs"]
mod tests;
#[path = "../../../service/tests/stories/turns.rs"]
mod turns;

use stage::{MISSING, Stage, code};
