//! The command as its users meet it: the real binary in a made-up home.
//! Not the rules of the engine, which has tests of its own.

mod bad_input;
mod browse;
mod contract;
mod give;
mod import;
mod settings;
mod stage;
mod story;
