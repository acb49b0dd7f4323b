//! The command as its users meet it: the real binary in a made-up home.
//! Not the rules of the engine, which has tests of its own.

#![expect(clippy::unwrap_used, reason = "a test ends where its stage is not as it was set")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests write plain files and have an environment of their own"
)]

mod artifacts;
mod bad_input;
mod beside;
mod beside_the_store;
mod blame;
mod branches;
mod browse;
mod bundle;
mod checkpoint_files;
mod codex;
mod compacting;
mod contract;
mod doctor;
mod give;
mod handoff;
mod idle_copies;
mod import;
mod keeping;
mod ledger;
mod letting_go;
mod listing;
mod live;
mod moved;
mod next_steps;
mod one_project;
mod packaging;
mod pick;
mod prompts;
mod python;
mod recover;
mod repair;
mod resume;
mod run;
mod screen;
mod scrub;
mod search;
mod search_filters;
mod search_go_on;
mod serve;
mod settings;
mod setup;
mod shown;
mod sidecars;
mod stage;
mod start;
mod story;
mod streams;
mod terminal;
mod trust;
mod undo;
mod watch;
mod way_out;
mod widths;
mod window;
mod window_summaries;
