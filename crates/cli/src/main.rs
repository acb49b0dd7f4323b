//! The command `stemma`: reads the environment once, runs one command, turns an error into an exit code.
//!
//! No rule of the product stands in this crate: commands call the engine and show what it says.

mod advice;
mod app;
mod args;
mod commands;
mod config;
mod environment;
mod errors;
mod file_events;
mod logging;
mod model;
mod output;
mod pick;
mod reference;
mod signals;
mod socket;
mod wiring;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(app::run(std::env::args_os(), &environment::Environment::read()).code())
}
